"""Tune the scores of any model with a mean and a scale, by the criterion that tunes bands."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, get_args

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike
from scipy.stats import qmc
from sklearn.base import clone
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing

from sosbands.learning.cross_fitting import Criterion, dependence
from sosbands.learning.parameters import check_choice
from sosbands.learning.progress import Progress
from sosbands.learning.search import climb
from sosbands.types import Array, Indices

MeanAndScale: TypeAlias = Callable[[Any, Any], tuple[Array, Array]]


@dataclass(frozen=True)
class ScoreTuning:
    """Every parameter setting that was tried, its criterion, and the best one."""

    trials: tuple[tuple[dict[str, float], float], ...]
    best_params: dict[str, float]
    best_criterion: float


def tune_score(
    estimator: Any,
    X: Any,
    y: ArrayLike,
    bounds: Mapping[str, tuple[float, float]],
    *,
    mean_and_scale: MeanAndScale | None = None,
    criterion: Criterion = "hsic",
    cv: Any = 5,
    max_evaluations: int = 30,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> ScoreTuning:
    """Tune hyperparameters of any model with a mean and a scale: make HSIC(|r|, scale) largest.

    The criterion of Proposition 4, for any scores |y − m(x)|/σ(x), out of fold, pooled.

    Parameters
    ----------
    estimator : estimator
        Cloned and fitted on every fold, in parallel by `n_jobs`; folds are those of `cv`.
    X, y : array-like
        Pre-training rows; calibration rows must not be among them.
    bounds : dict of name to (low, high)
        The positive parameters to tune, searched in logarithms; ``"scale__bandwidth"`` works.
    mean_and_scale : callable, optional
        (fitted model, X) ↦ mean and scale. Default: ``model.predict(X, return_std=True)``.
    criterion : {"hsic", "distance_correlation", "mutual_information"}
    max_evaluations : int
        Settings to try; a line on standard error counts them if `verbose`.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process import GaussianProcessRegressor
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from sosbands import tune_score
    >>> X = np.random.default_rng(0).uniform(size=(40, 1))
    >>> process = GaussianProcessRegressor(RBF(0.3), alpha=0.1, optimizer=None)
    >>> found = tune_score(
    ...     process, X, np.sin(6 * X[:, 0]), {"alpha": (0.01, 1.0)}, max_evaluations=4
    ... )
    >>> 0.01 <= found.best_params["alpha"] <= 1.0
    True
    """
    limits = _checked_bounds(bounds)
    check_choice("criterion", criterion, get_args(Criterion))
    if max_evaluations < 1:
        raise ValueError(f"max_evaluations must be at least 1, got {max_evaluations!r}")
    y, told = np.asarray(y, dtype=np.float64), mean_and_scale or _predicted_std
    folds, trials = list(check_cv(cv).split(X, y)), list[tuple[dict[str, float], float]]()
    progress = Progress(verbose > 0)
    with progress.phase("tuning", max_evaluations), Parallel(n_jobs=n_jobs) as parallel:

        def gain(logarithms: Array) -> float:
            params = dict(zip(bounds, np.exp(logarithms).tolist(), strict=True))
            model = clone(estimator).set_params(**params)
            parts = parallel(delayed(_held_out)(model, X, y, fold, told) for fold in folds)
            trials.append((params, dependence(criterion, *np.concatenate(parts, axis=1))))
            progress.step()
            return trials[-1][1]

        _search(gain, limits, max_evaluations)
    return ScoreTuning(tuple(trials), *max(trials, key=lambda trial: trial[1]))


def _search(
    gain: Callable[[Array], float], limits: list[tuple[float, float]], evaluations: int
) -> None:
    """Points that fill the box first, then a trust-region search from the best of them on."""
    first = max(evaluations // 2, 1)
    grid = _spread_points(limits, first)
    values = [gain(point) for point in grid]
    if evaluations > first:
        climb(gain, grid[int(np.argmax(values))], limits, evaluations - first)


def _held_out(
    model: Any, X: Any, y: Array, fold: tuple[Indices, Indices], evaluate: MeanAndScale
) -> tuple[Array, Array]:
    """Sizes of residuals, and scales, of held-out rows."""
    train, test = fold
    model = clone(model)
    model.fit(_safe_indexing(X, train), y[train])
    mean, scale = evaluate(model, _safe_indexing(X, test))
    return np.abs(y[test] - mean), np.asarray(scale, dtype=np.float64)


def _predicted_std(model: Any, X: Any) -> tuple[Array, Array]:
    mean, std = model.predict(X, return_std=True)
    return np.asarray(mean), np.asarray(std)


def _checked_bounds(bounds: Mapping[str, tuple[float, float]]) -> list[tuple[float, float]]:
    """In logarithms."""
    if not bounds:
        raise ValueError(f"bounds must name at least one parameter, got {bounds!r}")
    for name, (low, high) in bounds.items():
        if not 0 < low < high < np.inf:
            raise ValueError(
                f"bounds of {name} must satisfy 0 < low < high < inf, got {(low, high)!r}"
            )
    return [(float(np.log(low)), float(np.log(high))) for low, high in bounds.values()]


def _spread_points(limits: Sequence[tuple[float, float]], count: int) -> Array:
    """Points that fill a box evenly: Halton's, or an even grid of one dimension."""
    low, high = np.transpose(limits)
    if len(limits) == 1:
        return np.asarray(low + (np.arange(count) + 0.5)[:, None] / count * (high - low))
    unit = qmc.Halton(len(limits), scramble=False).random(count + 1)[1:]
    return np.asarray(low + unit * (high - low))
