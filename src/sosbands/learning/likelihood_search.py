"""Maximum likelihood of a Gaussian process: the search for its lengthscales and its nugget.

A few hundred rows find the maximum from several starts, more rows correct it. Steps are those of
Newton's method with the average information, which the evidence gives at no cost, and with what
earlier steps have shown of the curvature.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy.linalg import LinAlgError, lapack

from sosbands.core.features import factorize
from sosbands.core.kernels import Smooth
from sosbands.learning.evidence import DenseEvidence, Evidence, low_rank_evidence
from sosbands.types import Array, Indices, Lengthscale

# Rows that rank starts, that find a maximum, that compare several and correct it first, and that
# correct it (densely, or by landmarks).
_RANKING, _COARSE, _MIDDLE, _DENSE_ROWS, _LOW_RANK_ROWS = 75, 150, 350, 800, 6000
# Iterations from each of several starts, to a maximum, and of its correction. With twice as many
# from each start and more rows to compare ends by, errors of the kernel mean on the eight
# development sets were the same within .13 %.
_SHORT, _LONG, _CORRECTION = 3, 50, 20
# Landmarks correct if what they leave out is this small a fraction of the noise.
_LANDMARKS, _LANDMARK_TOL, _UNEXPLAINED = 256, 1e-6, 1e-3
# Lengthscales, in standard deviations of a column (the upper one times √d), and nuggets.
_LENGTHSCALES, _NUGGETS = (0.02, 100.0), (1e-5, 1e6)
# Evidence that is no gain, and that a search with no idea of θ finds in white noise (200 rows).
_NO_GAIN, _CHANCE = 0.01, 2.0
# Starts whose evidence differs by less are equal, and rounding must not choose among them.
_SAME_EVIDENCE = 1e-6
# Evidence that is not worth a step. A step that promises no more than so many times as much is
# taken, but what could follow is not asked for, two thirds of the work. With a tenth of it
# intervals around the kernel mean scored the same within .3 % (development sets, seeds 30 to 37).
_NO_STEP, _LAST = 1e-2, 10.0
# The longest step (factors of e), the least damping and curvature, steps that are remembered, and
# how much of the expected curvature must have been seen on the way.
_LONGEST, _DAMPING, _LEAST_CURVATURE, _MEMORY, _SEEN = 1.5, 1e-2, 1e-3, 4, 0.05


@dataclass(frozen=True, eq=False)
class LikelihoodSearch:
    """Maximum likelihood in (log θ, log η), with Z in units of its spread or of a known θ.

    `family` is the kernel, of lengthscale one.
    """

    Z: Array
    y: Array
    v: Array
    unit: Array
    known: bool
    spread: float | None
    family: Smooth

    def kernel(self, parameters: Array) -> Smooth:
        """The kernel of (log θ, log η), in the units of X."""
        theta = self.unit * np.exp(parameters[:-1])
        return replace(self.family, lengthscale=plain(theta if self.unit.ndim else theta[0]))

    def run(
        self, n_starts: int, rng: np.random.Generator, most: int | None
    ) -> tuple[Array, float, int]:
        """The best parameters, their evidence, and the number of rows that it is about.

        Looks at so many rows at most.
        """
        if n_starts < 1:
            raise ValueError(f"n_starts must be at least 1, got {n_starts!r}: give a positive one")
        if not self.y.any():
            return self._starts(1)[0], np.inf, len(self.y)
        order = np.arange(len(self.y))
        if len(order) > _COARSE:
            order = rng.permutation(order)[:most]
        coarse, used = self._dense(order[:_COARSE]), min(len(order), _COARSE)
        middle = self._dense(order[:_MIDDLE]) if len(order) > used else coarse
        best = self._best_end(coarse, middle, self._starts(n_starts))
        if self.unit.size > 1 and not self.known:
            starts = self._separate_starts(best, n_starts, self._dense(order[:_RANKING]))
            best = self._best_end(coarse, middle, starts)
        best, gained = self._ascend(coarse, best, _LONG)
        if len(order) > used:
            best, gained, used = self._correct(middle, best, order)
        # White noise also fits a kernel whose lengthscale is tiny, but no mean should follow it.
        noise, plain = np.append(best[:-1], np.log(_NUGGETS[1])), self._noise_value(order[:used])
        least = _CHANCE if self.spread is None and not self.known else _NO_GAIN
        return (best, gained, used) if gained > plain + least else (noise, plain, used)

    def _best_end(self, coarse: DenseEvidence, middle: DenseEvidence, starts: list[Array]) -> Array:
        """Where the best of several short searches ends, by the evidence of more rows."""
        ends = [self._ascend(coarse, start, _SHORT)[0] for start in starts]
        return max(ends, key=lambda end: middle.value(end) - self._penalty(end))

    def _correct(
        self, middle: DenseEvidence, best: Array, order: Indices
    ) -> tuple[Array, float, int]:
        """A few iterations with more rows, by landmarks if these can stand for the kernel."""
        best, value = self._ascend(middle, best, _CORRECTION)
        if len(order) <= _MIDDLE:
            return best, value, len(order)
        for _ in range(2):  # the second time with the landmarks of a better θ
            rows = order[:_LOW_RANK_ROWS]
            landmarks = self._landmarks(best, rows) if len(rows) > _DENSE_ROWS else None
            if landmarks is None:
                break
            at_rows = partial(low_rank_evidence, Z=self.Z[rows], y=self.y[rows], v=self.v[rows])
            evidence = partial(at_rows, landmarks=landmarks, kernel=self.family)
            best, value = self._ascend(evidence, best, _CORRECTION)
        else:
            return best, value, len(rows)
        rows = order[:_DENSE_ROWS]
        return *self._ascend(self._dense(rows), best, _CORRECTION), len(rows)

    def _landmarks(self, best: Array, rows: Indices) -> Array | None:
        """Rows that can stand for all of them; None if too many would be needed."""
        theta = np.exp(best[:-1]) * np.ones(self.Z.shape[1])
        kernel = replace(self.family, lengthscale=plain(theta))
        made = factorize(kernel, self.Z[rows], tol=_LANDMARK_TOL, max_rank=_LANDMARKS)
        enough = made.trace_residual <= _UNEXPLAINED * np.exp(best[-1])
        return made.features.landmarks if enough else None

    def _noise_value(self, rows: Indices) -> float:
        """The evidence of noise alone."""
        n, y, v = len(rows), self.y[rows], self.v[rows]
        return -0.5 * float(n * np.log(2 * np.pi * np.mean(y**2 / v)) + n + np.sum(np.log(v)))

    def _dense(self, rows: Indices) -> DenseEvidence:
        return DenseEvidence(self.Z[rows], self.y[rows], self.v[rows], self.family)

    def _starts(self, count: int) -> list[Array]:
        """From smooth and noisy to rough and precise: the evidence may peak at either end."""
        widest = 0.0 if self.known else np.log(1.5 * np.sqrt(self.Z.shape[1]))
        narrower = np.log(0.1) * (not self.known) * np.linspace(0, 1, count)
        return list(np.column_stack([widest + narrower, np.log(np.geomspace(1.0, 0.01, count))]))

    def _separate_starts(self, common: Array, count: int, few: DenseEvidence) -> list[Array]:
        """The best common θ, and the best of those that are short in one input and long in others.

        A rough dependence on one input of many hides from every common lengthscale. Inputs that
        these few rows cannot tell apart, such as a category and its opposite, are short together;
        those that do not vary among them, such as a rare category, say nothing here.
        """
        d = self.unit.size
        varying = np.eye(d)[np.ptp(few.Z, axis=0) > 0]
        short = [np.where(varying, theta, 1.5 * np.sqrt(d)) for theta in (0.1, 0.4)]
        single = np.log(np.column_stack([np.vstack(short), np.full(2 * len(varying), 0.2)]))
        values = np.array([few.value(start) for start in single])
        order = np.argsort(-values, kind="stable")
        ends = 1 + np.flatnonzero(np.diff(values[order]) < -_SAME_EVIDENCE)
        ranked = [single[alike].min(axis=0) for alike in np.split(order, ends) if len(alike)]
        return [np.append(np.full(d, common[0]), common[1]), *ranked[:count]]

    def _ascend(self, evidence: Evidence, start: Array, iterations: int) -> tuple[Array, float]:
        """A quasi-Newton method from the average information on, damped, within bounds.

        It ends where a step promises far less evidence than data can tell. The parameters, and
        their evidence.
        """
        low, high = self._limits(len(start))
        x, damping = np.clip(start, low, high), _DAMPING
        changes: list[tuple[Array, Array]] = []
        value, slope, information = self._penalised(evidence, x)
        for _ in range(iterations):
            free = ~(((x <= low) & (slope < 0)) | ((x >= high) & (slope > 0)))
            # Positive before it is corrected, and so afterwards: inputs that are constant among
            # these rows have no information.
            known = information + _LEAST_CURVATURE * np.eye(len(x))
            matrix = _secant(known, changes)[np.ix_(free, free)]
            matrix.flat[:: len(matrix) + 1] *= 1 + damping
            if not free.any():
                break
            step = np.zeros(len(x))
            # Without SciPy's checks, which take longer than a small system.
            _, step[free], failed = lapack.dposv(matrix, slope[free])
            if failed:
                raise LinAlgError("the information is not positive definite")
            promise = float(slope @ step)
            if not promise > _NO_STEP:
                break
            moved = np.clip(x + step * min(1.0, _LONGEST / np.abs(step).max()), low, high)
            if promise <= _LAST * _NO_STEP and isinstance(evidence, DenseEvidence):
                last = evidence.value(moved) - self._penalty(moved)
                if last > value:
                    x, value = moved, last
                break
            found = self._penalised(evidence, moved)
            changes.append((moved - x, slope - found[1]))
            if found[0] > value:
                x, (value, slope, information) = moved, found
                damping = max(0.1 * damping, _DAMPING)
            else:
                damping *= 10
        return x, value + self._penalty(x)

    def _penalised(self, evidence: Evidence, parameters: Array) -> tuple[float, Array, Array]:
        """The evidence with the density of θ a priori."""
        value, slope, curvature = evidence(parameters)
        if self.spread is None:
            return value, slope, curvature
        away = self._away(parameters)
        pull = np.append(away / self.spread, 0.0)
        prior = np.append((away != 0) * self.spread**-2, 0.0)
        return value - self._penalty(parameters), slope - pull, curvature + np.diag(prior)

    def _penalty(self, parameters: Array) -> float:
        if self.spread is None:
            return 0.0
        away = self._away(parameters)
        return 0.5 * float(away @ away)

    def _away(self, parameters: Array) -> Array:
        """How far log θ is from its mean a priori, in standard deviations.

        Of a single input no θ is too long: it makes a straight line. Of several, those that matter
        little would have no end to theirs.
        """
        d, spread = self.Z.shape[1], self.spread or np.inf
        away: Array = (parameters[:-1] - 0.5 * np.log(d)) / spread
        return np.minimum(away, 0.0) if d == 1 else away

    def _limits(self, count: int) -> tuple[Array, Array]:
        """Least and largest parameters."""
        widest = _LENGTHSCALES[1] * np.sqrt(self.Z.shape[1])
        lengthscales = (1.0, 1.0) if self.known else (_LENGTHSCALES[0], widest)
        # The second bound keeps the condition number of the final fit below 10¹².
        least = max(_NUGGETS[0], 1e-12 * float(np.sum(1 / self.v)))
        ends = zip(lengthscales, (least, _NUGGETS[1]), strict=True)
        low, high = (np.log(np.append(np.full(count - 1, end), last)) for end, last in ends)
        return low, high


def _secant(matrix: Array, changes: Sequence[tuple[Array, Array]]) -> Array:
    """The matrix, changed until it maps every step to the change of slope that was seen (BFGS)."""
    for step, change in changes[-_MEMORY:]:
        image, seen = matrix @ step, float(step @ change)
        if seen > _SEEN * float(step @ image) > 0:
            new, old = np.outer(change, change) / seen, np.outer(image, image) / (step @ image)
            matrix = matrix + new - old
    return matrix


def plain(lengthscale: Array | float) -> Lengthscale:
    """A number, or a tuple of numbers: what kernels take."""
    if np.ndim(lengthscale) == 0:
        return float(lengthscale)
    return tuple(np.asarray(lengthscale).tolist())
