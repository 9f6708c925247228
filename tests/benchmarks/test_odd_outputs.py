"""The true quantiles of simulated outputs, against draws from their stories."""

import numpy as np
import pytest

from benchmarks.odd_outputs import CAP, OUTPUTS

X = np.array([[0.1, 0.2], [0.5, 0.9], [0.95, 0.5]])
LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
DRAWS = 20_000


def zero_inflated(x, rng):
    π = 0.79 / (1 + np.exp(-4 * (x[1] - 0.5))) + 0.105
    return np.where(rng.random(DRAWS) < π, 0, 1 + rng.poisson(2 + 8 * x[0], DRAWS))


def bimodal(x, rng):
    side = np.where(rng.random(DRAWS) < 0.3 + 0.4 * x[1], 1, -1)
    middle = np.sin(2 * np.pi * x[0]) + side * (0.5 + 1.5 * x[0])
    return middle + 0.3 * rng.standard_normal(DRAWS)


def capped(x, rng):
    return np.minimum(3 * x[0] + (0.3 + 0.7 * x[1]) * rng.standard_normal(DRAWS), CAP)


STORIES = {"zero-inflated": zero_inflated, "bimodal": bimodal, "capped": capped}


@pytest.mark.parametrize("name", OUTPUTS)
def test_quantiles_are_those_of_draws_from_the_story(name):
    rng = np.random.default_rng(0)
    bound = 5 * np.sqrt(0.25 / DRAWS)
    for x in X:
        drawn = STORIES[name](x, rng)
        for p in LEVELS:
            (q,) = OUTPUTS[name].quantile(x[None], np.array([p]))
            # A whole interval of levels may share a quantile.
            assert np.mean(drawn <= q + 1e-9) > p - bound
            assert np.mean(drawn < q - 1e-9) < p + bound


@pytest.mark.parametrize("name", OUTPUTS)
def test_intervals_of_true_quantiles_cover_at_least_their_level(name):
    output = OUTPUTS[name]
    rows, y = output.sample(5000, random_state=1)
    for level in (0.5, 0.9):
        lower, upper = output.interval(rows, level).T
        covered = np.mean((lower <= y) & (y <= upper))
        assert covered > level - 5 * np.sqrt(level * (1 - level) / 5000)
