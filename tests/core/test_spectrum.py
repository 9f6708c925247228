import numpy as np
from numpy.testing import assert_allclose

from sosbands.core.spectrum import matrix_root, spectrum


def test_a_matrix_that_defeats_divide_and_conquer_is_decomposed_all_the_same(monkeypatch):
    def defeated(_):
        raise np.linalg.LinAlgError("Eigenvalues did not converge")

    M = np.random.default_rng(0).standard_normal((60, 60))  # too large for QR iteration
    M = M + M.T
    monkeypatch.setattr(np.linalg, "eigh", defeated)
    values, vectors = spectrum(M)
    assert_allclose((vectors * values) @ vectors.T, M, atol=1e-12)


def test_a_root_squared_is_the_matrix():
    V = np.random.default_rng(0).standard_normal((6, 3))  # of rank 3
    R = matrix_root(V @ V.T)
    assert_allclose(R.T @ R, V @ V.T, atol=1e-12)
