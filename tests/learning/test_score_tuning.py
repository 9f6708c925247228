import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.model_selection import KFold

from sosbands import tune_score
from sosbands.dependence import hsic


def wave(n):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(n, 1))
    return X, np.sin(6 * X[:, 0]) + (0.1 + X[:, 0]) * rng.normal(size=n)


class Kernel(RegressorMixin, BaseEstimator):
    """Zero, and the size of y smoothed with a bandwidth."""

    def __init__(self, bandwidth=1.0):
        self.bandwidth = bandwidth

    def fit(self, X, y):
        self.X_, self.sizes_ = X, np.abs(y)
        return self

    def predict(self, X, return_std=False):
        w = np.exp(-(((X[:, :1] - self.X_[:, 0]) / self.bandwidth) ** 2) / 2) + 1e-300
        scale = w @ self.sizes_ / w.sum(axis=1)
        return (np.zeros(len(X)), scale) if return_std else np.zeros(len(X))


def noise(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 1))
    return X, (0.2 + np.sin(6 * X[:, 0]) ** 2) * rng.normal(size=n)


def test_hsic_finds_the_bandwidth_of_any_score():
    X, y = noise()
    found = tune_score(Kernel(), X, y, {"bandwidth": (1e-4, 10.0)}, max_evaluations=20)
    assert 0.01 < found.best_params["bandwidth"] < 0.3
    assert len(found.trials) <= 20
    assert found.best_criterion == max(value for _, value in found.trials)
    assert dict(found.trials[0][0]).keys() == {"bandwidth"}
    model = Kernel().set_params(**found.best_params)
    assert model.bandwidth == found.best_params["bandwidth"]


def test_criteria_of_other_scores_are_out_of_fold():
    X, y = noise(60)
    found = tune_score(Kernel(), X, y, {"bandwidth": (0.05, 0.5)}, cv=KFold(3), max_evaluations=4)
    for params, value in found.trials:
        sizes, scales = [], []
        for train, test in KFold(3).split(X):
            mean, scale = Kernel(**params).fit(X[train], y[train]).predict(X[test], return_std=True)
            sizes.append(np.abs(y[test] - mean))
            scales.append(scale)
        assert value == pytest.approx(hsic(np.concatenate(sizes), np.concatenate(scales)))


def test_several_parameters_stay_within_their_bounds():
    X, y = wave(40)
    model = GaussianProcessRegressor(RBF(0.3) + WhiteKernel(0.1), optimizer=None)
    bounds = {"kernel__k1__length_scale": (0.05, 2.0), "kernel__k2__noise_level": (0.01, 1.0)}
    found = tune_score(model, X, y, bounds, cv=3, max_evaluations=12)
    for params, _ in found.trials:
        for name, (low, high) in bounds.items():
            assert low * (1 - 1e-9) <= params[name] <= high * (1 + 1e-9)
    assert found.best_params.keys() == bounds.keys()


def test_the_mean_and_the_scale_may_come_from_a_function():
    X, y = noise(100)

    def constant(model, X):
        return np.zeros(len(X)), np.ones(len(X))

    found = tune_score(
        Kernel(), X, y, {"bandwidth": (0.1, 1.0)}, mean_and_scale=constant, max_evaluations=2
    )
    assert found.best_criterion == 0


@pytest.mark.parametrize("criterion", ["distance_correlation", "mutual_information"])
def test_other_criteria_tune_other_scores(criterion):
    X, y = noise()
    bounds = {"bandwidth": (1e-4, 10.0)}
    found = tune_score(Kernel(), X, y, bounds, criterion=criterion, max_evaluations=12)
    assert found.best_params["bandwidth"] < 1.0


def test_other_scores_are_tuned_alike_by_any_number_of_processes(capfd):
    X, y = noise(60)
    bounds = {"alpha": (0.01, 1.0)}
    process = GaussianProcessRegressor(RBF(0.3), optimizer=None)  # that processes can import
    alone = tune_score(process, X, y, bounds, max_evaluations=6)
    assert capfd.readouterr() == ("", "")
    together = tune_score(process, X, y, bounds, max_evaluations=6, n_jobs=2, verbose=1)
    assert together == alone
    out, err = capfd.readouterr()
    assert out == ""
    assert "tuning" in err


@pytest.mark.parametrize("pair", [(0.0, 1.0), (2.0, 1.0), (1.0, 1.0), (1.0, np.inf), (np.nan, 1)])
def test_bounds_must_be_positive_and_ordered(pair):
    X, y = noise(30)
    with pytest.raises(ValueError, match="bounds of bandwidth must satisfy 0 < low < high < inf"):
        tune_score(Kernel(), X, y, {"bandwidth": pair})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"criterion": "pearson"}, "criterion must be one of"),
        ({"max_evaluations": 0}, "max_evaluations .*got .*0"),
        ({"bounds": {}}, "bounds must"),
    ],
)
def test_settings_of_the_search_that_mean_nothing_are_refused(changes, message):
    X, y = noise(30)
    settings = {"bounds": {"bandwidth": (0.1, 1.0)}, "max_evaluations": 4} | changes
    with pytest.raises(ValueError, match=message):
        tune_score(Kernel(), X, y, **settings)
