"""Nested bands learned together ÷ one after the other: interval scores and time.

One convex problem has the sum of the soft objectives of all levels, with gⱼ ≥ 0 in every level
k ≥ j; it is stated in CVXPY and solved by Clarabel. From the inside out, `solve_nested` solves a
problem for each level. Both go around the true mean, with the same features and weights, and are
calibrated by the same rows.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from benchmarks.record import Record
from sosbands import BandProblem, Gaussian, Newton
from sosbands.conformal import NestedFamily, SplitCalibration
from sosbands.core.nested import solve_nested
from sosbands.datasets import case
from sosbands.metrics import interval_score

Array = npt.NDArray[np.float64]

CASES, SEEDS, ROWS, NEW_ROWS = (1, 2, 3, 4), range(5), 150, 2000
LEVELS, SCORED = (0.2, 0.5, 0.9), (0.5, 0.9)
RANK, WIDTH_WEIGHT, LENGTHSCALE = 12, 50.0, 1.0


def run(full: bool) -> Iterator[Record]:
    """Scores at two levels, and the time."""
    found = np.array([measured(number, seed) for number in CASES for seed in SEEDS])
    notes = f"cases 1 to 4, n = {ROWS}, rank {RANK}, levels {LEVELS}"
    for k, level in enumerate(SCORED):
        ratio = float(np.exp(np.mean(np.log(found[:, 0, k] / found[:, 1, k]))))
        name = f"levels learned together ÷ one after the other, interval score at {level:g}"
        yield Record(name, ratio, seeds=SEEDS, notes=notes)
    ratio = float(np.median(found[:, 0, -1] / found[:, 1, -1]))
    name = "levels learned together (Clarabel) ÷ one after the other (Newton), time"
    yield Record(name, ratio, seeds=SEEDS, notes=notes)


def measured(number: int, seed: int) -> list[list[float]]:
    """Scores at every level and seconds, of both ways."""
    truth = case(number)
    X, y = truth.sample(ROWS, random_state=seed)
    problem = BandProblem.from_data(
        X,
        y,
        mean=truth.mean,
        scale_kernel=Gaussian(LENGTHSCALE, offset=1.0),
        width_weight=WIDTH_WEIGHT,
        training_coverage=LEVELS[-1],
        symmetric=False,
        max_rank=RANK,
    )
    start = time.perf_counter()
    matrices = together(problem)
    middle = time.perf_counter()
    nested = solve_nested(problem, LEVELS, Newton(tol=1e-6))
    end = time.perf_counter()

    def joint_widths(X: Array) -> Array:
        rows, _ = problem.features.features.rows_and_norms(X)
        added = [[np.einsum("ij,jk,ik->i", rows, A, rows) for A in level] for level in matrices]
        return np.cumsum(np.maximum(added, 0.0), axis=0).transpose(2, 0, 1)

    X_cal, y_cal = truth.sample(ROWS, random_state=1000 + seed)
    X_new, y_new = truth.sample(NEW_ROWS, random_state=2000 + seed)
    out = []
    for widths, seconds in ((joint_widths, middle - start), (nested.widths, end - middle)):
        families = [
            NestedFamily.of(truth.mean(rows), widths(rows), power=1.0, typical=1.0)
            for rows in (X_cal, X_new)
        ]
        q = SplitCalibration(families[0].scores(y_cal)).quantiles(SCORED)
        scores = interval_score(y_new, families[1].intervals(q), SCORED)
        out.append([*scores.tolist(), seconds])
    return out


def together(problem: BandProblem) -> list[list[Array]]:
    """A of every level, (low, up), from one problem for all of them."""
    import cvxpy as cp

    rows, r, b, n = problem.features.rows, problem.residuals, problem.width_weight, problem.n
    size = rows.shape[1]
    matrices = [[cp.Variable((size, size), PSD=True) for _ in range(2)] for _ in LEVELS]
    terms = []
    for side, sign in enumerate((-1.0, 1.0)):
        width = 0
        for level, pair in zip(LEVELS, matrices, strict=True):
            A = pair[side]
            width = width + cp.sum(cp.multiply(rows @ A, rows), axis=1)
            price = 2 * b / (n * (1 - level))
            terms += [b / n * cp.sum(width), price * cp.sum(cp.pos(sign * r - width))]
            penalty = problem.ridge_penalty * cp.sum_squares(cp.vec(A, order="F"))
            terms += [problem.trace_penalty * cp.trace(A), penalty]
    cp.Problem(cp.Minimize(sum(terms))).solve(solver="CLARABEL")
    return [[A.value for A in pair] for pair in matrices]
