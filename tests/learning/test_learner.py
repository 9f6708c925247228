import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold, TimeSeriesSplit

from sosbands import BandProblem, Gaussian, KernelBand, KernelMean, Newton
from sosbands.learning.fit_parameters import NOTHING_TOLD
from sosbands.learning.learner import BandLearner
from sosbands.learning.progress import Progress
from sosbands.learning.standardize import Affine


def prepared(learner, X, y):
    folds = learner.folds(X, y, None)
    return learner._prepared(X, y, None, folds, NOTHING_TOLD, mean=None)


def wave(n=60, columns=1, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, columns))
    return X, 3 + np.sin(6 * X[:, 0]) + (0.1 + X[:, 0]) * rng.normal(size=n)


def learner(estimator=None, *, cv=5, remove_outliers=None, **parameters):
    fixed = {"symmetric": True, "lengthscale": 1.0, "width_weight": 10.0}
    return BandLearner(
        estimator=KernelMean() if estimator is None else estimator,
        band=KernelBand(**(fixed | parameters)),
        transformer=None,
        cv=cv,
        remove_outliers=remove_outliers,
        limits=("auto", "auto"),
        n_jobs=None,
        progress=Progress(),
        seed=0,
    )


@pytest.mark.parametrize("symmetric", [True, False])
def test_the_band_solves_the_problem_of_the_residuals_in_standard_units(symmetric):
    X, y = wave()
    fixed = {"prediction_weight": 0.0, "difficulty": None, "caution": 0.0, "tol": 1e-7}
    fixed["training_coverage"] = 0.8 if symmetric else 0.9
    folds = KFold(5)
    learned = learner(LinearRegression(), cv=folds, symmetric=symmetric, **fixed).learn(X, y, None)
    held_out = np.empty(60)
    for train, test in folds.split(X):
        held_out[test] = LinearRegression().fit(X[train], y[train]).predict(X[test])
    residuals = y - held_out
    # Residuals beyond ten times what one per cent of them exceed would be cut: here there are none.
    size = np.sqrt(np.mean(residuals**2))
    problem = BandProblem.from_data(
        Affine.of(X)(X),
        residuals / size,
        scale_kernel=Gaussian(1.0, offset=1.0),
        width_weight=10.0,
        trace_penalty=1.0,
        ridge_penalty=1.0,
        training_coverage=0.8 if symmetric else 0.9,
        symmetric=symmetric,
    )
    expected = Newton(tol=1e-7).solve(problem)
    new, _ = wave(20, seed=1)
    mean, scale = learned.band.mean_and_scale(new)
    assert_allclose(mean, LinearRegression().fit(X, y).predict(new))
    assert_allclose(scale, size * expected.scale(Affine.of(X)(new)), rtol=1e-2)
    assert learned.band.residual_size == pytest.approx(size)
    (stage,) = learned.solution.stages
    assert stage.primal_value == pytest.approx(expected.primal_value, rel=1e-4)


def test_a_joint_mean_covers_outputs_and_not_residuals():
    X, y = wave()
    learned = learner(joint_mean=True).learn(X, y, None)
    assert learned.band.unit == 1.0
    assert learned.band.residual_size == pytest.approx(y.std())
    assert learned.band.functions.mean is not None
    assert_allclose(np.sort(learned.solution.problem.targets), np.sort((y - y.mean()) / y.std()))


@pytest.mark.parametrize("estimator", [None, LinearRegression()])
def test_residuals_of_a_kernel_mean_are_out_of_fold_only_if_rows_are_not_exchangeable(estimator):
    X, y = wave(40)
    by_number = prepared(learner(estimator, cv=5), X, y)
    by_splitter = learner(estimator, cv=KFold(5, shuffle=True, random_state=0))
    by_splitter = prepared(by_splitter, X, y)
    same = np.allclose(by_number.mean.predictions, by_splitter.mean.predictions)
    assert same is (estimator is not None)  # the folds of a number are those of a shuffled KFold


def test_rows_are_put_in_an_order_of_their_own_with_all_that_belongs_to_them():
    X, y = wave(40)
    rows = prepared(learner(LinearRegression(), cv=KFold(4)), X, y)
    assert np.all(np.diff(rows.y) >= 0)
    place = np.array([int(np.flatnonzero(X[:, 0] == b)[0]) for b in rows.B[:, 0]])
    assert_array_equal(y[place], rows.y)
    for (train, test), (before, held_out) in zip(rows.folds, KFold(4).split(X), strict=True):
        assert set(place[test]) == set(held_out)
        expected = LinearRegression().fit(X[before], y[before]).predict(X[place[test]])
        assert_allclose(rows.mean.predictions[test], expected)
        assert set(place[train]) == set(before)


def test_rows_that_no_fold_holds_out_do_not_train_the_band():
    X, y = wave(60)
    learned = learner(LinearRegression(), cv=TimeSeriesSplit(3)).learn(X, y, None)
    assert learned.solution.problem.n == 45
    assert learned.n_outliers == 0


def test_outliers_are_counted_and_left_out():
    X, y = wave(60)
    y[:3] += 1e4
    mean = DummyRegressor(strategy="median")
    learned = learner(mean, remove_outliers=30.0).learn(X, y, None)
    assert learned.n_outliers == 3
    assert learned.solution.problem.n == 57
    with pytest.raises(ValueError, match=r"remove_outliers=1e-09 leaves \d of 60 rows .* raise it"):
        learner(mean, remove_outliers=1e-9).learn(X, y, None)


def test_a_soft_band_sees_wild_residuals_cut_off_and_a_hard_one_does_not():
    X, y = wave(100)
    y[5] += 1e6
    mean = DummyRegressor(strategy="median")
    soft = learner(mean).learn(X, y, None).solution.problem.targets
    hard = learner(mean, training_coverage=1.0).learn(X, y, None).solution.problem.targets
    # Ten times what one per cent of 100 residuals exceed, the second largest of them.
    sizes = np.sort(np.abs(soft))
    assert sizes[-1] == pytest.approx(10 * sizes[-2])
    assert np.abs(hard).max() / np.sort(np.abs(hard))[-2] > 1e4


def test_predictions_that_are_right_but_for_rounding_leave_nothing():
    X = np.linspace(1, 2, 30)[:, None]
    learned = learner(LinearRegression()).learn(X, 3 * X[:, 0], None)
    assert not learned.solution.problem.targets.any()
    assert learned.tuning is None
    assert_array_equal(learned.band.mean_and_scale(X)[1], 0)


def test_given_values_are_not_tuned():
    X, y = wave()
    assert learner().learn(X, y, None).tuning is None
    assert learner(lengthscale="hsic").learn(X, y, None).tuning is not None
    assert learner(width_weight="auto").learn(X, y, None).tuning is not None


def test_a_lengthscale_is_one_for_each_input_or_one_for_all_that_is_seen():
    X, y = wave(60, columns=2)

    def found(lengthscale):
        around = learner(LinearRegression(), lengthscale=lengthscale, difficulty=None)
        return around.learn(X, y, None).solution.problem.scale_kernels[0].lengthscale

    assert found([0.5, 2.0]) == (0.5, 2.0, 1.0)
    assert found([0.5, 2.0, 3.0]) == (0.5, 2.0, 3.0)
    with pytest.raises(ValueError, match="lengthscale has 4 entries for 2 inputs"):
        found([1.0] * 4)
