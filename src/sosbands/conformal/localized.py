"""Quantiles in which nearby rows count more, and the bandwidth that says how near they must be."""

import math
from collections.abc import Sequence
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist
from scipy.special import ndtri

from sosbands.conformal.calibration import BandRows, Calibration, Companion
from sosbands.conformal.ranks import SLACK, ascending, checked_levels, picked
from sosbands.types import Array

# Entries of the largest temporary: 8 MB of floats.
_BLOCK_ENTRIES = 1 << 20
# Rows among which a bandwidth is chosen, and its range in units of the distance between them. At
# the upper end all weights are equal up to the slack, and the calibration is that of one split.
_BANDWIDTH_ROWS = 1000
_BANDWIDTHS = (1e-4, 1e15)
# What SplitMix64 counts in: 2⁶⁴ divided by the golden ratio.
_STEP = np.uint64(0x9E3779B97F4A7C15)


class LocalizedCalibration(Calibration):
    """Nearby rows count more: randomly localized conformal prediction (Hore and Barber, 2025).

    A new row x draws x̃ = x + h·g, g ~ N(0, I), and calibration row j weighs
    H(xⱼ, x̃) = exp(−‖xⱼ − x̃‖²/(2h²)); the new row itself, whose score is thought to be +∞ (the atom
    of the weighted distribution), weighs H(x, x̃). The draw is what makes the marginal
    guarantee exact; it is the same for all levels.

    Attributes
    ----------
    inputs : array of shape (m, d)
        The calibration rows, in units in which one bandwidth suits all columns.
    bandwidth : float
        h > 0; see `effective_bandwidth`.
    seed : int
        With what a row holds it decides the row's draw: the same one in every table, and another
        one for every row that differs, so that draws average out however rows are served. They do
        not where rows are equal: few distinct inputs have few draws, and the coverage of one seed
        is off by as much.

    Examples
    --------
    >>> import numpy as np
    >>> from sosbands.conformal import LocalizedCalibration
    >>> inputs = np.linspace(0, 1, 200)[:, None]
    >>> local = LocalizedCalibration(inputs[:, 0], inputs, bandwidth=0.05, seed=0)
    >>> left, right = local.quantiles([0.9], np.array([[0.1], [0.9]]))[:, 0]
    >>> bool(left < right)  # scores grow from left to right
    True
    """

    name: ClassVar = "localized"
    closed: ClassVar = None

    def __init__(self, scores: ArrayLike, inputs: ArrayLike, bandwidth: float, seed: int) -> None:
        if not 0 < bandwidth < np.inf:
            raise ValueError(
                f"bandwidth must be positive and finite, got {bandwidth}: use effective_bandwidth"
            )
        self.scores, self.inputs = ascending(scores, inputs=_checked_inputs(inputs))
        self.bandwidth = bandwidth
        self.seed = seed

    @classmethod
    def of(cls, rows: BandRows, y: Array, companion: Companion, seed: int) -> Self:
        """With the bandwidth that suits so many rows of the band."""
        bandwidth = effective_bandwidth(rows.band.typical_inputs, len(y))
        return cls(rows.family.scores(y), rows.local_inputs, bandwidth, seed)

    def with_rows(self, rows: BandRows, y: Array, companion: Companion) -> Self:
        """With a bandwidth that suits all rows."""
        more = self.extended(rows.family.scores(y), rows.local_inputs)
        bandwidth = effective_bandwidth(rows.band.typical_inputs, more.size)
        return type(self)(more.scores, more.inputs, bandwidth, self.seed)

    @classmethod
    def beside(cls, rows: BandRows, companion: Companion) -> tuple[Array]:
        """The inputs, in units of the band."""
        return (rows.local_inputs,)

    def extended(self, scores: ArrayLike, inputs: ArrayLike) -> Self:
        """With the scores and the inputs of further rows, and the same bandwidth."""
        joined = np.concatenate([self.inputs, inputs])
        return type(self)(np.concatenate([self.scores, scores]), joined, self.bandwidth, self.seed)

    def quantiles(self, levels: Sequence[float], inputs: Array) -> Array:
        """The weighted quantiles at the new rows, shape (n, len(levels))."""
        levels, _ = checked_levels(levels, name="levels")
        X = _checked_inputs(inputs, self.inputs.shape[1])
        q = np.empty((len(X), len(levels)))
        size = max(1, _BLOCK_ENTRIES // len(self.scores))
        for start in range(0, len(X), size):
            rows = slice(start, start + size)
            q[rows] = self._block_quantiles(levels, X[rows])
        return q

    def _block_quantiles(self, levels: Sequence[float], X: Array) -> Array:
        drawn = X + self.bandwidth * normals_of(X, self.seed)
        unit = 2 * self.bandwidth**2
        own = np.sum((X - drawn) ** 2, axis=1) / unit
        mass = cdist(drawn, self.inputs, "sqeuclidean")
        mass /= unit
        # The largest weight of a row is one, so that they do not all vanish.
        nearest = np.minimum(mass.min(axis=1), own)
        np.exp(np.subtract(nearest[:, None], mass, out=mass), out=mass)
        np.cumsum(mass, axis=1, out=mass)
        total = mass[:, -1] + np.exp(nearest - own)
        index = [np.sum(mass < (p * (1 - SLACK) * total)[:, None], axis=1) for p in levels]
        return picked(self.scores, np.stack(index, axis=1))


def effective_bandwidth(inputs: Array, rows: int, *, target: float | None = None) -> float:
    """The bandwidth h at which a typical new row is judged by about `target` of `rows` rows.

    The effective number is (Σw)²/Σw², with the weights that `LocalizedCalibration` uses, the atom
    among them: among many inputs all rows are equally far, and only the atom shows that they are
    too far. The median over a sample of the pre-training rows stands for the typical row.

    Parameters
    ----------
    inputs : array of shape (p, d)
        Pre-training rows. Calibration rows would break the guarantee.
    rows : int
        m, the number of calibration rows.
    target : float, optional
        Default: max(50, m^(2/3)). A level of 0.9 needs nine rows everywhere, and with a median of
        fifty few places have less; of many rows, m^(2/3) is the rate of neighbours that balances
        bias and variance for a smooth function of two inputs.

    Returns
    -------
    float
        h. If no h reaches the target, so large an h that all rows weigh the same, as in
        `SplitCalibration`.

    Examples
    --------
    >>> import numpy as np
    >>> from sosbands.conformal import effective_bandwidth
    >>> inputs = np.random.default_rng(0).normal(size=(200, 1))
    >>> effective_bandwidth(inputs, 100) > effective_bandwidth(inputs, 10_000)
    True
    """
    X = _checked_inputs(inputs)
    goal = max(50.0, rows ** (2 / 3)) if target is None else target
    if len(X) > _BANDWIDTH_ROWS:
        X = X[np.random.default_rng(0).choice(len(X), _BANDWIDTH_ROWS, replace=False)]
    squares = cdist(X, X, "sqeuclidean")
    spread = math.sqrt(squares.mean())
    if spread == 0:
        return 1.0
    g = normals_of(X, 0)
    tilt = np.sum(g * X, axis=1)[:, None] - g @ X.T
    low, high = (math.log(spread * c) for c in _BANDWIDTHS)
    while high - low > 1e-3:
        middle = (low + high) / 2
        enough = _effective_rows(squares, tilt, math.exp(middle), rows) >= goal
        low, high = (low, middle) if enough else (middle, high)
    return math.exp(high)


def normals_of(rows: Array, seed: int) -> Array:
    """Standard normal numbers, one for each entry, that depend on the seed and the row alone.

    The entries of a row, rounded to 2⁻²⁰ so that their last digits seldom matter, are hashed to the
    seed of a SplitMix64 stream (Steele, Lea and Flood, 2014). Of its 64-bit words the first 52
    bits, centred in (0, 1), go through the normal quantile function.

    Examples
    --------
    >>> import numpy as np
    >>> from sosbands.conformal import normals_of
    >>> rows = np.array([[1.0, 2.0], [3.0, 4.0]])
    >>> bool((normals_of(rows, 0)[1] == normals_of(rows[1:], 0)[0]).all())  # a row has its own draw
    True
    """
    with np.errstate(over="ignore"):
        entries = np.round(np.asarray(rows, dtype=np.float64) * 2.0**20) + 0.0  # -0 is 0
    state = _mixed(np.full(len(entries), seed, dtype=np.uint64))
    for column in entries.T:
        state = _mixed((state ^ np.ascontiguousarray(column).view(np.uint64)) + _STEP)
    steps = np.arange(1, entries.shape[1] + 1, dtype=np.uint64) * _STEP
    words = _mixed(state[:, None] + steps)
    uniform = ((words >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52
    return np.asarray(ndtri(uniform))


def _mixed(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """SplitMix64's finaliser: every bit of the result depends on every bit of the word."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def _effective_rows(squares: Array, tilt: Array, h: float, rows: int) -> float:
    """Median of (Σw)²/Σw², from log w/w₀ = −‖xᵢ − xⱼ‖²/(2h²) − gᵢᵀ(xᵢ − xⱼ)/h, w₀ the atom's."""
    log_ratio = -squares / (2 * h**2) - tilt / h
    np.fill_diagonal(log_ratio, -np.inf)
    peak = np.maximum(log_ratio.max(axis=1), 0.0)
    w, atom = np.exp(log_ratio - peak[:, None]), np.exp(-peak)
    factor = rows / (len(w) - 1)
    total = factor * w.sum(axis=1) + atom
    return float(np.median(total**2 / (factor * np.sum(w**2, axis=1) + atom**2)))


def _checked_inputs(inputs: ArrayLike, columns: int | None = None) -> Array:
    X = np.asarray(inputs, dtype=np.float64)
    if X.ndim != 2 or X.shape[1] != (columns or X.shape[1]) or not np.all(np.isfinite(X)):
        raise ValueError(
            f"inputs must be finite in the shape (n, {columns or 'd'}), got shape {X.shape}, NaN "
            "or infinity: impute or drop those rows"
        )
    return X
