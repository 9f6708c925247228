import threading
from typing import ClassVar

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor
from threadpoolctl import threadpool_info, threadpool_limits

from sosbands import BandProblem, Gaussian, Newton
from sosbands.core.threads import few_threads, one_blas_thread, one_openmp_thread
from tests.regressors import regressor


def threads(kind):
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == kind]


@pytest.fixture(autouse=True)
def two_threads():
    """Libraries may have been told to use one thread from the start."""
    with threadpool_limits(2):
        yield


def test_overlapping_threads_give_blas_its_threads_back():
    before = threads("blas")
    first, second = one_blas_thread(), one_blas_thread()
    first.__enter__()
    second.__enter__()
    assert set(threads("blas")) == {1}
    first.__exit__(None, None, None)
    assert set(threads("blas")) == {1}
    second.__exit__(None, None, None)
    assert threads("blas") == before


def test_openmp_is_held_to_one_thread_in_every_thread_that_asks():
    before, inside = threads("openmp"), threading.Barrier(2)
    found = []

    def ask():
        with one_openmp_thread():
            inside.wait()
            found.append(threads("openmp"))
            inside.wait()

    others = [threading.Thread(target=ask) for _ in range(2)]
    for other in others:
        other.start()
    for other in others:
        other.join()
    assert found == [[1] * len(before)] * 2
    assert threads("openmp") == before


def test_many_rows_leave_blas_its_threads():
    before = threads("blas")
    with few_threads(1000):
        assert set(threads("blas") + threads("openmp")) == {1}
    with few_threads(1001):
        assert threads("blas") == before
        assert set(threads("openmp")) == {1}


class Watching(HistGradientBoostingRegressor):
    seen: ClassVar = []

    def fit(self, X, y):
        self.seen.append(threads("openmp"))
        return super().fit(X, y)

    def predict(self, X):
        self.seen.append(threads("openmp"))
        return super().predict(X)


def test_models_are_fitted_and_predict_in_one_openmp_thread():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    y = X[:, 0] + rng.normal(size=80)
    fixed = {"lengthscale": 1.0, "width_weight": 10.0, "random_state": 0}
    regressor(Watching(max_iter=2), **fixed).fit(X, y).predict_interval(X[:1])
    assert len(Watching.seen) > 10
    assert {count for seen in Watching.seen for count in seen} == {1}


def test_an_error_inside_a_solve_gives_blas_its_threads_back(monkeypatch):
    before = threads("blas")
    rng = np.random.default_rng(0)
    problem = BandProblem.from_data(
        rng.normal(size=(40, 1)), rng.normal(size=40), scale_kernel=Gaussian(1.0)
    )

    def broken(*_):
        raise FloatingPointError("broken")

    monkeypatch.setattr("sosbands.core.solvers.base.repair", broken)
    with pytest.raises(FloatingPointError) as error:
        Newton().solve(problem)
    assert threads("blas") == before  # while the error's traceback keeps the frames alive
    assert "broken" in str(error.value)
