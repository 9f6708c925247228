"""The dual value itself, the slow twin of the gaps that certificates hold."""

import numpy as np
import pytest

from sosbands.core.dual import penalty, width_cost
from sosbands.core.spectrum import spectrum


@pytest.fixture(scope="session")
def dual_value():
    """The function (problem, basis, Γ, θ) ↦ D(Γ, θ)."""
    return dense_dual_value


def dense_dual_value(problem, basis, multipliers, theta):
    """D(Γ, θ) over all rows, for any solver's multipliers of shape (sides, n).

    For λ₂ = 0 it is −∞ unless M ⪯ 0; `shrunk` multipliers have that. Gaps are measured by
    `sosbands.core.gap`, which does not subtract the fit from itself.
    """
    value = mean_value(problem, basis, multipliers, theta)
    for part, gamma in zip(basis.scales, multipliers, strict=True):
        value -= penalty(problem, gamma, part.rows, width_cost(problem, part.gram))
    return value


def mean_value(problem, basis, multipliers, theta):
    """min_z of the mean's part of the Lagrangian; −∞ where it has no minimum."""
    y, a = problem.targets, problem.mean_weight / problem.n
    if problem.symmetric:
        weights, linear = a + multipliers[0], (a + multipliers[0]) * y
        constant = float(weights @ y**2)
    else:
        delta = multipliers[1] - multipliers[0]
        weights, linear = np.full(problem.n, a), a * y + 0.5 * delta
        constant = a * float(y @ y) + float(delta @ y)
    if basis.mean is None:
        return constant
    rows = basis.mean.rows
    used = np.flatnonzero(weights)
    gram = (rows[used].T * weights[used]) @ rows[used]
    eigenvalues, vectors = spectrum(gram)
    curvature = np.maximum(eigenvalues, 0.0) + theta
    slope = vectors.T @ (rows.T @ linear)
    noise = np.finfo(float).eps * len(gram) * max(float(curvature[-1]), np.finfo(float).tiny)
    flat = curvature <= noise
    if np.any(np.abs(slope[flat]) > np.sqrt(noise) * (1 + np.abs(slope).max(initial=0.0))):
        return -np.inf
    gain = float(np.sum(slope[~flat] ** 2 / curvature[~flat]))
    return constant - gain - (theta * problem.mean_bound if theta else 0.0)
