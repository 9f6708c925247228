"""Nothing hangs on rounding: what must not matter does not move intervals.

The same with all data sets is ``python -m benchmarks stability``.
"""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.changes import CHANGES, FORMS, MEANS, Rows, ends, move
from sosbands.datasets import case

# Where two lengthscales are equal but for rounding, or a likelihood is flat, digits are lost.
USUAL = 1e-6


def rounded_rows() -> tuple[np.ndarray, np.ndarray]:
    """Inputs on a grid, many of them equal, and outputs in round numbers: ties of all kinds."""
    rng = np.random.default_rng(3)
    X = np.column_stack([rng.integers(0, 6, 240), rng.integers(0, 4, 240) / 4, np.zeros(240)])
    y = np.round(X[:, 0] + (0.2 + X[:, 1]) * rng.normal(size=240), 1)
    return X, y


DATA = {
    "case 1": case(1).sample(150, random_state=1),
    "case 2, d = 5": case(2, dimension=5).sample(300, random_state=1),
    "round numbers": rounded_rows(),
    "many rows": case(4, dimension=3).sample(500, random_state=1),
}


@pytest.fixture(scope="module", params=DATA)
def rows(request: pytest.FixtureRequest) -> Rows:
    return Rows.of(*DATA[request.param], seed=0)


@pytest.fixture(scope="module", params=MEANS)
def reference(request: pytest.FixtureRequest, rows: Rows) -> tuple[str, np.ndarray]:
    return request.param, ends(rows, request.param)


@pytest.mark.parametrize("change", CHANGES)
def test_changes_that_mean_nothing_do_not_move_intervals(rows, reference, change):
    mean, intervals = reference
    assert move(ends(CHANGES[change](rows, 0), mean), intervals) <= USUAL


@pytest.mark.parametrize("form", FORMS)
def test_the_same_numbers_in_another_form_give_the_same_intervals(rows, reference, form):
    mean, intervals = reference
    # Sums of a model over columns in another order of memory may round otherwise.
    assert move(ends(rows, mean, FORMS[form]), intervals) <= 1e-9


def test_the_number_of_processes_does_not_matter(rows, reference):
    mean, intervals = reference
    assert move(ends(rows, mean, n_jobs=2), intervals) <= 1e-12


def test_a_change_that_matters_is_seen(rows):
    """The measure can fail."""
    other = CHANGES["1e-13"](rows, 0)
    other.given_outputs[rows.train[0]] += np.ptp(rows.y)
    assert move(ends(other, MEANS[0]), ends(rows, MEANS[0])) > 1e-3
