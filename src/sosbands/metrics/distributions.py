"""How good predictive quantiles and distribution functions are.

Quantiles have shape (n, k), with a column for each of k levels in (0, 1).
"""

import numpy as np
from numpy.typing import ArrayLike

from sosbands.metrics.checks import Seed, levels_of, mean_of, outputs
from sosbands.types import Array

# The levels that stand for a whole distribution: 0.05, 0.10, …, 0.95.
_LEVELS = tuple(k / 20 for k in range(1, 20))


def pinball_loss(
    y: ArrayLike,
    quantiles: ArrayLike,
    levels: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
) -> float | Array:
    """The mean of p (y − q)₊ + (1 − p)(q − y)₊ for each level p.

    Smaller is better; the conditional p-quantile is best. A central interval of level 1 − α has
    the interval score (2/α) (loss at α/2 + loss at 1 − α/2).

    Parameters
    ----------
    y : array of shape (n,)
    quantiles : array of shape (n,) or (n, k)
        Finite or infinite.
    levels : float, or k floats
        In (0, 1).
    sample_weight : array of shape (n,), optional
        The weights of the mean.

    Returns
    -------
    float, or array of shape (k,)

    Examples
    --------
    >>> from sosbands.metrics import pinball_loss
    >>> pinball_loss([0.0, 2.0], [1.0, 1.0], 0.75)
    0.5
    >>> pinball_loss([0.0, 2.0], [[0.0, 1.0], [0.0, 1.0]], [0.25, 0.75])
    array([0.25, 0.5 ])
    """
    return mean_of(_losses(y, quantiles, levels), sample_weight)


def crps(
    y: ArrayLike,
    quantiles: ArrayLike,
    levels: ArrayLike = _LEVELS,
    *,
    sample_weight: ArrayLike | None = None,
) -> float:
    """The continuous ranked probability score, from quantiles: twice their mean pinball loss.

    Over all levels in (0, 1) that would be the score itself, ∫(F(t) − 1{y ≤ t})² dt; the default
    levels approximate it. Compare scores of the same levels alone.

    Parameters
    ----------
    y : array of shape (n,)
    quantiles : array of shape (n, k)
        Such as ``model.predict_quantiles(X, levels)``.
    levels : k floats, default 0.05, 0.10, …, 0.95
        In (0, 1); each counts the same.
    sample_weight : array of shape (n,), optional
        The weights of the mean over the rows.

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np
    >>> from sosbands.metrics import crps
    >>> levels = np.arange(1, 20) / 20
    >>> round(crps([0.5, 0.1], [levels, levels]), 4)  # of the uniform law on (0, 1)
    0.1711
    """
    Q = np.asarray(quantiles)
    if Q.ndim != 2:
        raise ValueError(f"quantiles must have shape (n, k), a column per level, got {Q.shape}")
    return float(np.mean(2 * np.asarray(pinball_loss(y, Q, levels, sample_weight=sample_weight))))


def pit(cdf: ArrayLike, upper: ArrayLike | None = None, *, random_state: Seed = None) -> Array:
    """The probability integral transform of outputs: F(y), or a uniform draw between two bounds.

    Values of a right F are uniform on (0, 1): a histogram that is high at both ends means that
    distributions are too narrow, one that is high in the middle that they are too wide, and a
    slope that they lie too low or too high. If k of m calibration scores are at most that of a new
    row and none is equal, a conformal F is only known to lie between k/(m + 1) and
    (k + 1)/(m + 1); drawn between these, the transform is exactly uniform for exchangeable rows.

    Parameters
    ----------
    cdf : array of shape (n,)
        F(y), such as ``model.predict_cdf(X, y)``, or its lower bound; in [0, 1].
    upper : array of shape (n,), optional
        The upper bound of F(y), not below `cdf`.
    random_state : int, Generator or None
        Draws between the bounds.

    Returns
    -------
    array of shape (n,)

    Examples
    --------
    >>> import numpy as np
    >>> from sosbands.metrics import pit
    >>> k, m = np.array([0, 3, 9]), 9  # scores at most that of each row, and all
    >>> pit(k / (m + 1), (k + 1) / (m + 1), random_state=0).round(3)
    array([0.064, 0.327, 0.904])
    """
    lower = np.asarray(cdf, dtype=np.float64)
    top = lower if upper is None else np.asarray(upper, dtype=np.float64)
    if lower.ndim != 1 or not lower.size or top.shape != lower.shape:
        raise ValueError(
            f"cdf and upper must hold one number for each row, got shapes {lower.shape} and "
            f"{top.shape}: give F(y), or both bounds of it, as flat arrays"
        )
    if not np.all((lower >= 0) & (lower <= top) & (top <= 1)):
        raise ValueError(
            "cdf and upper must be probabilities with cdf ≤ upper, got others or NaN: give values "
            "of a distribution function"
        )
    if upper is None:
        return lower
    drawn: Array = lower + (top - lower) * np.random.default_rng(random_state).random(len(lower))
    return drawn


def _losses(y: ArrayLike, quantiles: ArrayLike, levels: ArrayLike) -> Array:
    """The loss of each row, and at each level: the shape of the quantiles."""
    Q = np.asarray(quantiles, dtype=np.float64)
    if Q.ndim not in (1, 2) or Q.size == 0 or np.any(np.isnan(Q)):
        raise ValueError(
            f"quantiles must be numbers of shape (n,) or (n, k), got shape {Q.shape} or NaN: give "
            "a column for each level"
        )
    if np.shape(levels) != Q.shape[1:]:
        raise ValueError(
            f"levels must hold one number for each column of the quantiles, {Q.shape[1:]}, got "
            f"{np.shape(levels)}: name the levels that the quantiles were predicted for"
        )
    p, t = levels_of(levels, Q), outputs(y, Q)
    losses: Array = np.where(t > Q, p, p - 1) * np.where(t == Q, 0.0, t - Q)
    return losses
