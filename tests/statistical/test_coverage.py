"""Marginal coverage of every calibration on the paper's cases, counted over fresh data sets.

Each replication draws rows to learn from, rows to calibrate with and one new row, and notes whether
its intervals hold the output. `make statistical` counts 2000 replications, `make test` a twentieth.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.stats import binom

from sosbands import BandRegressor
from sosbands.conformal import guarantee, order_rank
from sosbands.datasets import case
from tests.regressors import regressor

LEVELS = (0.5, 0.8, 0.9, 0.95)
TRAIN, CALIBRATE, FOLDS = 30, 39, 3
CASES = (1, 2, 3, 4, 5)
MODES = ("symmetric", "two-sided", "localized", "groups", "weights", "cv+")
# Over all cases, modes, levels and both tails.
ERROR = 1e-3 / (len(CASES) * len(MODES) * len(LEVELS) * 2)


@dataclass(frozen=True)
class Draw:
    """One data set and one new row."""

    X: np.ndarray
    y: np.ndarray
    X_cal: np.ndarray
    y_cal: np.ndarray
    X_new: np.ndarray
    y_new: np.ndarray


@pytest.mark.filterwarnings("ignore:a level of:UserWarning")  # groups may be small
@pytest.mark.parametrize("number", CASES)
def test_intervals_cover_as_often_as_they_promise(number, replications):
    hits = {mode: np.zeros(len(LEVELS), dtype=int) for mode in MODES}
    for seed in range(replications):
        for mode, covered in outcomes(number, seed):
            hits[mode] += covered
    for mode in MODES:
        for level, count in zip(LEVELS, hits[mode], strict=True):
            seen = f"case {number}, {mode}, level {level}: {count} of {replications}"
            assert binom.cdf(count, replications, promised(mode, level)) > ERROR, seen
            if mode in ("symmetric", "two-sided"):  # exactly k/(m + 1): not more often either
                assert binom.sf(count - 1, replications, promised(mode, level)) > ERROR, seen


def promised(mode: str, level: float) -> float:
    """The probability that is guaranteed."""
    if mode in ("symmetric", "two-sided"):
        return order_rank(level, CALIBRATE) / (CALIBRATE + 1)
    return guarantee(level, TRAIN + CALIBRATE, FOLDS) if mode == "cv+" else level


def outcomes(number: int, seed: int) -> Iterator[tuple[str, np.ndarray]]:
    """Whether the new output is inside, for each mode and level."""
    draw = drawn(number, seed)
    shifted = drawn(number, seed, tilt=tilt)
    for mode, symmetric in (("symmetric", True), ("two-sided", False)):
        model = band(symmetric=symmetric, calibration=None).fit(draw.X, draw.y)
        model.conformalize(draw.X_cal, draw.y_cal)
        yield mode, covered(model, draw)
        if not symmetric:
            continue
        model.set_params(calibration="localized").conformalize(draw.X_cal, draw.y_cal)
        yield "localized", covered(model, draw)
        names = draw.X_cal[:, 0] > np.median(draw.X[:, 0])
        model.conformalize(draw.X_cal, draw.y_cal, groups=names)
        yield "groups", covered(model, draw, groups=draw.X_new[:, 0] > np.median(draw.X[:, 0]))
        model.conformalize(draw.X_cal, draw.y_cal, weights=tilt)
        yield "weights", covered(model, shifted)
    X, y = np.vstack([draw.X, draw.X_cal]), np.concatenate([draw.y, draw.y_cal])
    yield "cv+", covered(band(symmetric=True, calibration="cv+").fit(X, y), draw)


def covered(model: BandRegressor, draw: Draw, **companions: np.ndarray) -> np.ndarray:
    intervals = model.predict_interval(draw.X_new, LEVELS, **companions)[0]
    return (intervals[0] <= draw.y_new) & (draw.y_new <= intervals[1])


def drawn(number: int, seed: int, tilt=None) -> Draw:
    """Rows to learn from, to calibrate with, and a new one, perhaps from tilted inputs."""
    source, rng = case(number), np.random.default_rng([seed, number])
    X, y = source.sample(TRAIN + CALIBRATE, random_state=rng)
    X_new = source.sample_inputs(1, random_state=rng)
    if tilt is not None:
        # One of many candidates, with a probability in proportion to its likelihood ratio.
        candidates = source.sample_inputs(2000, random_state=rng)
        ratio = tilt(candidates)
        X_new = candidates[[rng.choice(len(candidates), p=ratio / ratio.sum())]]
    y_new = source.sample_outputs(X_new, random_state=rng)
    return Draw(X[:TRAIN], y[:TRAIN], X[TRAIN:], y[TRAIN:], X_new, y_new)


def tilt(X: np.ndarray) -> np.ndarray:
    """A likelihood ratio between 1 and 3, up to a factor."""
    return 1 + 2 / (1 + np.exp(-2 * X[:, 0]))


def band(**parameters) -> BandRegressor:
    """A band that has nothing to tune."""
    return regressor(
        lengthscale=1.0,
        mean_lengthscale=0.7,
        width_weight=10.0,
        cv=FOLDS,
        tol=1e-2,
        random_state=0,
        **parameters,
    )
