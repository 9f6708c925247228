"""The exact selection among scores in many places, against sorting them all."""

import math
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from sosbands.dask import selection
from sosbands.dask.selection import Scores, selected, whole_units

RNG = np.random.default_rng(0)
M = 200_000
LISTS = {
    "smooth": RNG.exponential(size=M),
    "ties": RNG.integers(0, 7, M).astype(float),
    "one value": np.full(M, 3.0),
    "infinite": np.where(RNG.random(M) < 0.5, np.inf, RNG.normal(size=M)),
    "signed": np.where(RNG.random(M) < 0.1, -np.inf, RNG.normal(size=M)),
    "sorted": np.sort(RNG.normal(size=M)),
    "heavy": RNG.standard_cauchy(M),
}


class Places:
    """Lists in places, with a count of the passes over them."""

    def __init__(self, values, cuts=(0, 10, 10, 70_000, M), units=None):
        parts = [slice(a, b) for a, b in pairwise(cuts)]
        self.places = [Scores(values[p], None if units is None else units[p]) for p in parts]
        self.passes = Counter()
        self.sent = 0

    def __call__(self, function, *arguments):
        self.passes[function.__name__] += 1
        answers = [function(place, *arguments) for place in self.places]
        for answer in answers:
            self.sent += sum(
                len(getattr(one, "sent", one).values)
                for one in answer
                if getattr(one, "sent", one) is not None
            )
        return answers


def read(place):
    return {"scores": place}


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize("sample", [64, 1000, 1 << 16])
def test_the_kth_smallest_is_that_of_the_sorted_scores(name, sample, monkeypatch):
    monkeypatch.setattr(selection, "_LEAST_SAMPLE", sample)
    values = LISTS[name]
    ranks = [1, 2, 1000, M // 2, int(0.9 * M), M - 1, M]
    found = selected(Places(values), read, [("scores", k) for k in ranks], {"scores": M})
    assert found == np.sort(values)[np.array(ranks) - 1].tolist()


@pytest.mark.parametrize("name", ["smooth", "ties", "infinite"])
def test_too_many_scores_in_a_bracket_take_another_round(name, monkeypatch):
    monkeypatch.setattr(selection, "_LEAST_SAMPLE", 100)
    monkeypatch.setattr(selection, "_MOST_SENT", 50)
    values, places = LISTS[name], Places(LISTS[name])
    assert selected(places, read, [("scores", 150_000)], {"scores": M}) == [
        np.sort(values)[149_999]
    ]


def test_a_rank_beyond_all_scores_is_infinite():
    wanted = [("scores", M + 1), ("nothing", 1)]
    assert selected(Places(LISTS["smooth"]), read, wanted, {"scores": M}) == [math.inf] * 2


def test_few_passes_bring_few_scores():
    places = Places(LISTS["smooth"])
    selected(places, read, [("scores", int(0.9 * M))], {"scores": M})
    assert places.passes == {"_sampled": 1, "_cut": 1}
    assert places.sent < 0.6 * M  # at 10⁸ scores, of which 2·10⁵ are in the sample, one in 200


@pytest.mark.parametrize("sample", [64, 5000])
@pytest.mark.parametrize("name", ["smooth", "ties", "infinite"])
def test_weighted_quantiles_are_those_of_sorted_scores(name, sample, monkeypatch):
    monkeypatch.setattr(selection, "_LEAST_SAMPLE", sample)
    values, weights = LISTS[name], RNG.exponential(size=M) ** 3
    units = whole_units(weights, weights.max())
    total = sum(units.tolist())
    order = np.argsort(values, kind="stable")
    cumulated = np.cumsum(units[order].astype(object))
    targets = [1, total // 3, int(0.9 * total), total]
    found = selected(
        Places(values, units=units),
        read,
        [("scores", t) for t in targets],
        {"scores": M},
        {"scores": total},
    )
    slow = [values[order][np.argmax(cumulated >= t)] for t in targets]
    assert found == slow


def test_masses_are_exact_beyond_64_bits():
    units = whole_units(np.ones(1000), 1.0)
    assert Scores(np.zeros(1000), units).mass == 1000 * 2**62
