"""The excess risk of the target coverage: how well a classifier tells which rows are missed."""

from collections.abc import Callable, Mapping
from numbers import Integral
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sosbands.metrics.checks import (
    Seed,
    covered_rows,
    each,
    inputs,
    levels_of,
    mean_of,
)
from sosbands.types import Array, Mask

# Probabilities that a logarithm is taken of are at least this.
_LEAST = 1e-6
# Small trees and few small steps: scikit-learn's defaults overfit a few hundred rows, and what that
# costs hides what they find.
_TREES: Mapping[str, Any] = MappingProxyType(
    {"max_iter": 50, "learning_rate": 0.05, "max_leaf_nodes": 8}
)


def ert(
    X: ArrayLike,
    y: ArrayLike,
    intervals: ArrayLike,
    level: ArrayLike,
    *,
    loss: str = "l1",
    classifier: Any = None,
    n_folds: int = 5,
    sample_weight: ArrayLike | None = None,
    random_state: Seed = None,
) -> float | Array:
    """The excess risk of the target coverage (Braun, Holzmüller, Jordan and Bach, 2025), a float.

    Z says whether an interval holds its y. If intervals cover alike everywhere, nothing predicts Z
    better than the level p itself. A classifier ĥ(x) of Z, cross-fitted, is compared with that:
    E ℓ(p, Z) − E ℓ(ĥ(X), Z), with a proper loss ℓ. In expectation this is at most

    - E|P(Z = 1 | X) − p| for ``loss="l1"``, whose ℓ(h, z) = sign(h − p)(p − z),
    - E(P(Z = 1 | X) − p)² for ``"brier"``, whose ℓ(h, z) = (h − z)²,
    - the mean Kullback–Leibler divergence for ``"log"``, −z log h − (1 − z) log(1 − h),

    and reaches it if the classifier finds P(Z = 1 | X). Smaller is better. About zero or below
    means that this classifier has found nothing; few rows seldom allow more. The definition is that
    of arXiv:2512.11779, and of covmetrics and MAPIE.

    Parameters
    ----------
    X : array of shape (n, d)
    y : array of shape (n,)
    intervals : array of shape (n, 2) or (n, 2, k)
    level : float, or k floats
        In (0, 1).
    loss : {"l1", "brier", "log"}
    classifier : estimator with fit and predict_proba, optional
        A clone learns each fold. By default boosted trees, with few leaves and small steps.
    n_folds : int
        From 2 to n.
    sample_weight : array of shape (n,), optional
        The weights of the mean; the classifier does not see them.
    random_state : int, Generator or None
        The folds, and the default classifier.

    Returns
    -------
    float, or array of shape (k,)

    Examples
    --------
    >>> import numpy as np
    >>> from sosbands.metrics import ert
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(2000, 1))
    >>> y = (0.2 + X[:, 0]) * rng.standard_normal(2000)
    >>> same = np.tile([-1.18, 1.18], (2000, 1))  # covers 90 %, but not everywhere
    >>> adapted = 1.645 * (0.2 + X) * [-1, 1]
    >>> both = np.stack([same, adapted], axis=2)
    >>> ert(X, y, both, 0.9, random_state=0).round(2)
    array([0.09, 0.01])
    """
    covered = covered_rows(y, intervals)
    rows, p = inputs(X, len(covered)), levels_of(level, covered)
    if loss not in tuple(_LOSSES):
        raise ValueError(f"loss must be one of {', '.join(_LOSSES)}, got {loss!r}")
    if not isinstance(n_folds, Integral) or not 2 <= n_folds <= len(rows):
        raise ValueError(f"n_folds must be from 2 to the {len(rows)} rows, got {n_folds!r}")
    if classifier is not None and not hasattr(classifier, "predict_proba"):
        raise ValueError(
            f"classifier must have fit and predict_proba, got {classifier!r}: give a classifier "
            "that predicts probabilities, or None for boosted trees"
        )
    seed = int(np.random.default_rng(random_state).integers(2**31))
    made = _boosted(seed) if classifier is None else classifier

    def one(hit: Mask, target: Array) -> float:
        h, z = _cross_fitted(made, rows, hit, n_folds, seed), hit.astype(np.float64)
        t = np.full(len(z), float(target))
        gain = _LOSSES[loss](t, z, t) - _LOSSES[loss](h, z, t)
        return float(mean_of(gain, sample_weight))

    return each(one, covered, p)


def _cross_fitted(classifier: Any, X: Array, hit: Mask, n_folds: int, seed: int) -> Array:
    """P(Z = 1 | x) for each row, by a classifier that has not seen its fold."""
    from sklearn.base import clone
    from sklearn.model_selection import KFold

    h = np.empty(len(hit))
    for train, rest in KFold(n_folds, shuffle=True, random_state=seed).split(X):
        share = hit[train].mean()
        if share in (0, 1):  # one class is nothing to learn from
            h[rest] = share
        else:
            learned = clone(classifier).fit(X[train], hit[train])
            h[rest] = learned.predict_proba(X[rest])[:, 1]
    return h


def _boosted(seed: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(**_TREES, random_state=seed)


def _l1(h: Array, z: Array, p: Array) -> Array:
    loss: Array = np.sign(h - p) * (p - z)
    return loss


def _brier(h: Array, z: Array, p: Array) -> Array:
    loss: Array = (h - z) ** 2
    return loss


def _log(h: Array, z: Array, p: Array) -> Array:
    likelihood = np.clip(np.where(z == 1, h, 1 - h), _LEAST, 1)
    loss: Array = -np.log(likelihood)
    return loss


# ℓ(h, z), given the level p.
_LOSSES: Mapping[str, Callable[[Array, Array, Array], Array]] = MappingProxyType(
    {"l1": _l1, "brier": _brier, "log": _log}
)
