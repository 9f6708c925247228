import joblib
import numpy as np
import pytest
from joblib import Parallel
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold, TimeSeriesSplit

from sosbands import BandProblem, BandRegressor, Gaussian, Newton
from sosbands.dependence import distance_correlation, hsic, mutual_information
from sosbands.learning.search import BandSearch, CrossFit, Progress, cross_fit
from sosbands.metrics import interval_score


def wave(n=60, seed=0, columns=1):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, columns))
    return X, np.sin(6 * X[:, 0]) + (0.1 + X[:, 0]) * rng.normal(size=n)


def problem(n=60, lengthscale=0.3, **changes):
    X, y = wave(n)
    settings = {"mean": np.zeros(n), "width_weight": 10.0, "training_coverage": 0.9}
    return BandProblem.from_data(X, y, scale_kernel=Gaussian(lengthscale), **(settings | changes))


def folds(n=60, k=3):
    return list(KFold(k).split(np.zeros((n, 1))))


def pair(n=200, seed=0, sides=1):
    rng = np.random.default_rng(seed)
    scales = rng.uniform(0.5, 2.0, size=(n, sides))
    return CrossFit(
        scales.mean(axis=1) * rng.normal(size=n), scales[:, 0] if sides == 1 else scales
    )


# Criteria


@pytest.mark.parametrize("power", [1, 2])
def test_the_criterion_compares_sizes_of_residuals_with_scales(power):
    fit = pair()
    sizes, scales = np.abs(fit.residuals) ** power, fit.scales**power
    assert fit.dependence("hsic", power=power) == pytest.approx(hsic(sizes, scales))
    assert fit.dependence("distance_correlation", power=power) == pytest.approx(
        distance_correlation(sizes, scales)
    )
    assert fit.dependence("mutual_information", power=power) == pytest.approx(
        mutual_information(sizes, scales, random_state=0)
    )


def test_a_two_sided_scale_is_compared_by_its_middle():
    fit = pair(sides=2)
    expected = hsic(np.abs(fit.residuals), fit.scales.mean(axis=1))
    assert fit.dependence("hsic") == pytest.approx(expected)


def test_the_interval_score_of_a_calibrated_band_by_hand():
    fit = CrossFit(np.array([1.0, -2.0, 3.0]), np.array([1.0, 1.0, 2.0]))
    # Scores 1, 2, 1.5; their median 1.5 gives ±1.5, ±1.5, ±3, and the second row is missed by 0.5.
    expected = (3 + 3 + 2 / 0.5 * 0.5 + 6) / 3
    assert fit.interval_score(0.5) == pytest.approx(expected)


def test_the_interval_score_of_a_two_sided_band_by_hand():
    fit = CrossFit(np.array([1.0, -2.0, 3.0]), np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 4.0]]))
    # Scores 1, 1, −1; their median 1 gives [−2, 1], [−2, 2], [−1, 5].
    bounds = np.array([[-2.0, 1.0], [-2.0, 2.0], [-1.0, 5.0]])
    assert fit.interval_score(0.5) == pytest.approx(interval_score(fit.residuals, bounds, 0.5))
    assert fit.interval_score(0.5) == pytest.approx(13 / 3)


@pytest.mark.parametrize("factor", [1e-6, 7.0, 1e6])
def test_the_size_of_the_scale_leaves_the_interval_score_alone_but_not_hsic(factor):
    fit = pair()
    larger = CrossFit(fit.residuals, factor * fit.scales)
    assert larger.interval_score() == pytest.approx(fit.interval_score(), rel=1e-9)
    assert larger.dependence("hsic") == pytest.approx(factor * fit.dependence("hsic"))


def test_a_scale_that_is_true_beats_one_that_is_shuffled():
    fit = pair(1000)
    shuffled = CrossFit(fit.residuals, np.random.default_rng(1).permutation(fit.scales))
    assert fit.interval_score() < shuffled.interval_score()
    for criterion in ("hsic", "distance_correlation", "mutual_information"):
        assert fit.dependence(criterion) > shuffled.dependence(criterion)


def test_scales_of_zero_do_not_decide_alone():
    fit = pair()
    scales = fit.scales.copy()
    scales[0] = 0.0
    assert np.isfinite(CrossFit(fit.residuals, scales).interval_score())
    assert np.isfinite(CrossFit(fit.residuals, 0 * scales).interval_score())


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("joint", [True, False])
def test_cross_fitting_evaluates_what_was_held_out(joint, symmetric):
    mean = {"mean_kernel": Gaussian(0.2), "mean_bound": 5.0} if joint else {}
    whole = problem(symmetric=symmetric, **(mean | ({"mean": None} if joint else {})))
    fit, _ = cross_fit(whole, folds(), [Newton(tol=1e-6)] * len(folds()), Parallel())
    X, y = wave()
    for train, test in folds():
        part = BandProblem.from_data(
            X[train],
            y[train],
            scale_kernel=Gaussian(0.3),
            width_weight=10.0,
            training_coverage=0.9,
            symmetric=symmetric,
            **(mean or {"mean": np.zeros(len(train))}),
        )
        solution = Newton(tol=1e-6).solve(part)
        residuals = y[test] - (solution.mean(X[test]) if joint else 0.0)
        assert_allclose(fit.residuals[test], residuals, atol=1e-2)
        assert_allclose(fit.scales[test], solution.scale(X[test]), rtol=0.05, atol=1e-2)


# The search


def searched(sizes=(0.5, 1.0, 2.0), *, shape=0.3, per_input=False, refine=0, columns=1, **changes):
    X, y = wave(columns=columns)

    def state(lengthscale):
        kernel = Gaussian(lengthscale)
        return BandProblem.from_data(
            X, y, scale_kernel=kernel, mean=np.zeros(60), width_weight=1.0, training_coverage=0.9
        )

    settings = {
        "state": state,
        "folds": folds(),
        "solver": Newton(tol=1e-2),
        "width_weights": [10.0],
        "coverages": {True: 0.9, False: 0.8},
        "sides": [True],
        "criterion": "hsic",
        "power": 1,
        "parallel": Parallel(),
        "progress": Progress(0, "", False),
    }
    search = BandSearch(**(settings | changes))
    return search.run(np.asarray(shape), sizes, per_input=per_input, refine=refine)


def test_the_criterion_chooses_the_lengthscale():
    tuning = searched()
    assert [trial.lengthscale for trial in tuning.trials] == [0.15, 0.3, 0.6]
    assert tuning.chosen is max(tuning.trials, key=lambda trial: trial.criterion)
    assert tuning.criterion == "hsic"
    assert tuning.n_rows == 60


def test_the_interval_score_chooses_the_weight():
    tuning = searched(width_weights=[3.0, 10.0, 30.0])
    lengthscale = tuning.chosen.lengthscale
    tried = [trial for trial in tuning.trials if trial.lengthscale == lengthscale]
    assert sorted(trial.width_weight for trial in tried) == [3.0, 10.0, 30.0]
    best = min(trial.interval_score for trial in tried)
    assert tuning.chosen.interval_score <= 1.05 * best


def test_a_second_side_has_its_own_coverage_and_must_score_better():
    tuning = searched(sides=[True, False])
    *one_sided, two_sided = tuning.trials
    assert [trial.symmetric for trial in tuning.trials] == [True, True, True, False]
    assert (one_sided[0].training_coverage, two_sided.training_coverage) == (0.9, 0.8)
    best = max(one_sided, key=lambda trial: trial.criterion)
    if two_sided.interval_score > best.interval_score:
        assert tuning.chosen is best


def test_refinement_looks_for_more_of_the_criterion_within_the_bounds():
    tuning = searched(refine=6)
    tried = [trial.lengthscale for trial in tuning.trials]
    assert 3 < len(tried) <= 9
    assert min(tried) >= 0.15 * (1 - 1e-9)
    assert max(tried) <= 0.6 * (1 + 1e-9)
    assert tuning.chosen.criterion == max(trial.criterion for trial in tuning.trials)


def test_refinement_may_move_every_input_for_itself():
    tuning = searched(shape=[0.3, 0.6], per_input=True, refine=8, columns=2)
    ratios = {round(l[1] / l[0], 6) for l in (trial.lengthscale for trial in tuning.trials)}
    assert len(ratios) > 1
    together = searched(shape=[0.3, 0.6], per_input=False, refine=8, columns=2)
    for trial in together.trials:
        assert trial.lengthscale[1] / trial.lengthscale[0] == pytest.approx(2.0)


def test_the_whole_path_is_kept_and_becomes_a_table():
    X, y = wave(40)
    model = BandRegressor(random_state=0).fit(X, y)
    tuning = model.tuning_
    frame = tuning.to_frame()
    assert len(frame) == len(tuning.trials)
    assert frame["chosen"].sum() == 1
    chosen = frame[frame["chosen"]].iloc[0]
    assert chosen["lengthscale"] == tuning.chosen.lengthscale == model.lengthscale_
    assert chosen["symmetric"] == model.symmetric_
    numbers = frame[["criterion", "interval_score", "width_weight", "training_coverage"]]
    assert np.all(np.isfinite(numbers.to_numpy(dtype=float)))


def test_given_values_are_not_searched():
    X, y = wave(40)
    fixed = BandRegressor(lengthscale=0.7, symmetric=True, random_state=0).fit(X, y)
    assert {np.ravel(trial.lengthscale)[0] for trial in fixed.tuning_.trials} == {0.7}
    assert {trial.symmetric for trial in fixed.tuning_.trials} == {True}
    weighted = BandRegressor(width_weight=20.0, symmetric=False, random_state=0).fit(X, y)
    assert {trial.width_weight for trial in weighted.tuning_.trials} == {20.0}
    assert {trial.symmetric for trial in weighted.tuning_.trials} == {False}
    assert len({trial.lengthscale for trial in weighted.tuning_.trials}) > 2


@pytest.mark.parametrize("criterion", ["hsic", "distance_correlation", "mutual_information"])
@pytest.mark.parametrize("anisotropy", ["likelihood", "hsic", "none"])
def test_every_criterion_tunes_every_shape(criterion, anisotropy):
    X, y = wave(30, columns=2)
    model = BandRegressor(
        symmetric=True,
        width_weight=10.0,
        mean_lengthscale=1.0,
        criterion=criterion,
        anisotropy=anisotropy,
        calibration=None,
        cv=2,
        random_state=0,
    ).fit(X, y)
    assert model.tuning_.criterion == criterion
    assert np.size(model.lengthscale_) == 2
    if anisotropy == "none":
        assert model.lengthscale_[0] == pytest.approx(model.lengthscale_[1])


def test_tuning_does_not_see_calibration_rows():
    X, y = wave(50)
    settings = {"symmetric": True, "random_state": 0, "cv": TimeSeriesSplit(3)}
    first = BandRegressor(calibration_size=15, **settings).fit(X, y)
    X[35:], y[35:] = 2.0, 100.0
    second = BandRegressor(calibration_size=15, **settings).fit(X, y)
    assert first.tuning_.trials == second.tuning_.trials


# Processes


@pytest.mark.parametrize("estimator", [None, Ridge()])
def test_the_result_does_not_depend_on_the_number_of_processes(estimator):
    X, y = wave(60, columns=2)
    settings = {"random_state": 0, "cv": 3, "mean_lengthscale": 1.0}
    alone = BandRegressor(estimator, **settings).fit(X, y)
    together = BandRegressor(estimator, n_jobs=2, **settings).fit(X, y)
    assert together.tuning_.trials == alone.tuning_.trials
    assert_array_equal(together.predict_interval(X), alone.predict_interval(X))


def test_any_backend_of_joblib_will_do():
    X, y = wave(40)
    settings = {"random_state": 0, "cv": 3, "symmetric": True, "width_weight": 10.0}
    alone = BandRegressor(**settings).fit(X, y)
    for backend in ("threading", "sequential", "loky"):
        with joblib.parallel_config(backend=backend, n_jobs=2):
            other = BandRegressor(**settings).fit(X, y)
        assert other.tuning_.trials == alone.tuning_.trials


# Progress


def test_progress_counts_its_steps_on_standard_error(capfd):
    for verbose in (True, False):
        progress = Progress(2, "label", verbose)
        progress.step()
        progress.step()
        progress.close()
        out, err = capfd.readouterr()
        assert out == ""
        assert ("label" in err and "2/2" in err and err.endswith("\n")) == verbose
