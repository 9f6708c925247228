from dataclasses import replace

import joblib
import numpy as np
import pytest
from joblib import Parallel
from numpy.testing import assert_array_equal
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold, TimeSeriesSplit

from sosbands import BandRegressor, KernelBand
from sosbands.learning.cross_fitting import shares
from sosbands.learning.plan import Rules
from sosbands.learning.scale_rows import ScaleRows
from sosbands.learning.search import GUESS_WEIGHTS, BandSearch, climb, tune
from sosbands.learning.standardize import Affine
from tests.regressors import regressor


def wave(n=60, seed=0, columns=1):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, columns))
    return X, np.sin(6 * X[:, 0]) + (0.1 + X[:, 0]) * rng.normal(size=n)


def rows(n=60, columns=1, skewed=False, own_mean=True, **parameters):
    """Residuals whose size grows with the first input, by the rules of a `KernelBand`."""
    rng = np.random.default_rng(0)
    Z = rng.uniform(-1.7, 1.7, size=(n, columns))
    noise = rng.exponential(size=n) - 1 if skewed else rng.standard_normal(n)
    residuals = (0.1 + np.abs(Z[:, 0])) * noise
    return ScaleRows(
        Z=Z,
        residuals=residuals,
        outputs=residuals,
        folds=list(KFold(3).split(Z)),
        rules=Rules(KernelBand(**parameters), own_mean=own_mean),
        process=None,
        n_inputs=columns,
        lengthscale="hsic",
        weights=np.ones(columns),
    )


def searched(shape=1.0, **parameters):
    return tune(rows(**parameters), np.asarray(shape), n_jobs=None)


# What is tried


def test_the_middle_is_tried_then_other_weights_of_the_width_and_other_sizes():
    tuning = searched(symmetric=True)
    given = rows(symmetric=True).rules
    sizes, factors = given.sizes(60, 1), given.width_factors(60)
    middle, *by_factor = tuning.trials[:3]
    assert middle.lengthscale == pytest.approx(sizes[2])
    assert [trial.width_factor for trial in (middle, *by_factor)] == [3.0, 1.0, 10.0]
    assert {trial.lengthscale for trial in by_factor} == {middle.lengthscale}
    others = tuning.trials[3:6]
    assert [trial.lengthscale for trial in others] == pytest.approx([*sizes[:2], sizes[3]])
    assert {trial.width_factor for trial in others} == {factors[1]}
    assert tuning.chosen is tuning.trials[-1]
    assert len(tuning.trials) == 7
    assert (tuning.criterion, tuning.n_rows) == ("hsic", 60)


def test_the_chosen_average_has_the_averages_of_what_was_tried():
    tuning = searched(symmetric=True, lengthscale=1.0)
    *tried, chosen = tuning.trials
    for figure in ("criterion", "interval_score", "skewness"):
        found = [getattr(trial, figure) for trial in tried]
        assert min(found) <= getattr(chosen, figure) <= max(found)


def test_the_weight_is_in_units_of_the_smallest_one_for_as_many_rows():
    tuning = searched(symmetric=True)
    for trial in tuning.trials:
        assert trial.width_weight == pytest.approx(10.0 * trial.width_factor)


# Choices by averages


def test_the_lengthscale_is_an_average_of_those_that_are_as_good_as_the_best():
    given = rows(symmetric=True, width_weight=10.0)
    tuning = tune(given, np.asarray(1.0), n_jobs=None)
    *tried, chosen = tuning.trials
    search = BandSearch(given, Parallel())  # the first one starts the others
    found = {t: search._outcome(search._problem(t.lengthscale), 1.0, True)[0] for t in tried}
    tried.sort(key=lambda trial: trial.lengthscale)
    fits = [found[trial] for trial in tried]
    good = shares(fits, lambda fit: fit.dependence("hsic")) * shares(
        fits, lambda fit: -fit.interval_score()
    )
    logs = np.log([trial.lengthscale for trial in tried])
    assert chosen.lengthscale == pytest.approx(float(np.exp(good @ logs / good.sum())))
    assert tried[0].lengthscale <= chosen.lengthscale <= tried[-1].lengthscale
    assert tuning.chosen is chosen


def test_the_weight_is_an_average_in_which_smaller_ones_count_more():
    given = rows(symmetric=True, lengthscale=1.0)
    tuning = tune(given, np.asarray(1.0), n_jobs=None)
    *tried, chosen = tuning.trials
    search = BandSearch(given, Parallel())
    found = {t: search._outcome(search._problem(1.0), t.width_factor, True)[0] for t in tried}
    tried.sort(key=lambda trial: trial.width_factor)
    fits = [found[trial] for trial in tried]
    good = shares(fits, lambda fit: -fit.interval_score()) * [1, 0.5, 0.25]
    factors = [trial.width_factor for trial in tried]
    assert factors == [1.0, 3.0, 10.0]
    assert chosen.width_factor == pytest.approx(np.exp(good @ np.log(factors) / good.sum()))


def test_a_choice_hardly_changes_with_the_last_digits_of_the_data():
    given = rows(symmetric=True)
    before = tune(given, np.asarray(1.0), n_jobs=None).chosen
    given.residuals[:] *= 1 + 1e-9 * np.random.default_rng(7).standard_normal(60)
    after = tune(given, np.asarray(1.0), n_jobs=None).chosen
    assert after.lengthscale == pytest.approx(before.lengthscale, rel=1e-3)
    assert after.width_factor == pytest.approx(before.width_factor, rel=1e-3)


# Sides


def test_two_sides_are_tried_where_residuals_are_skewed_and_have_their_own_coverage():
    tuning = searched(n=300, skewed=True, width_weight=10.0, lengthscale=1.0)
    one, two = tuning.trials[-2:]
    assert (one.symmetric, two.symmetric) == (True, False)
    assert one.skewness > 0.1
    assert (one.training_coverage, two.training_coverage) == (0.8, 0.9)
    margin = 1 - 0.2 / np.sqrt(300)
    assert tuning.chosen is (two if two.interval_score < margin * one.interval_score else one)
    assert tuning.chosen is two


def test_two_sides_are_not_tried_where_residuals_are_not_skewed():
    tuning = searched(n=300, width_weight=10.0, lengthscale=1.0)
    assert tuning.chosen.skewness < 0.1
    assert {trial.symmetric for trial in tuning.trials} == {True}


# HSIC alone, as in the paper


def test_hsic_alone_chooses_the_best_of_all_that_were_tried():
    tuning = searched(anisotropy="hsic", symmetric=True, width_weight=10.0)
    tried = [trial.lengthscale for trial in tuning.trials]
    assert len(tried) > 6
    assert min(tried) >= 0.1 * (1 - 1e-9)
    assert max(tried) <= 3.2 * (1 + 1e-9)
    assert tuning.chosen.criterion == max(trial.criterion for trial in tuning.trials)


def test_hsic_alone_moves_every_input_for_itself():
    shape = [0.5, 1.0]
    alone = searched(shape, columns=2, anisotropy="hsic", symmetric=True, width_weight=10.0)
    ratios = {round(l[1] / l[0], 6) for l in (trial.lengthscale for trial in alone.trials)}
    assert len(ratios) > 1
    together = searched(shape, columns=2, symmetric=True, width_weight=10.0)
    for trial in together.trials:
        assert trial.lengthscale[1] / trial.lengthscale[0] == pytest.approx(2.0)


def test_climbing_finds_the_top_of_a_hill_within_its_budget():
    tried = []

    def gain(x):
        tried.append(x.copy())
        return -float(np.sum((x - [0.3, -0.2]) ** 2))

    climb(gain, np.zeros(2), [(-1.0, 1.0)] * 2, 25)
    assert len(tried) <= 25
    best = max(tried, key=lambda x: -np.sum((x - [0.3, -0.2]) ** 2))
    assert np.abs(best - [0.3, -0.2]).max() < 0.05


# The estimator


def test_the_whole_path_is_kept_and_becomes_a_table():
    X, y = wave(40)
    model = BandRegressor(None, random_state=0).fit(X, y)
    tuning = model.tuning_
    frame = tuning.to_frame()
    assert len(frame) == len(tuning.trials)
    assert frame["chosen"].sum() == 1
    chosen = frame[frame["chosen"]].iloc[0]
    assert chosen["lengthscale"] == tuning.chosen.lengthscale == model.lengthscale_
    assert model.width_weight_ == pytest.approx(chosen["width_factor"] * 10)  # of 28 rows
    assert chosen["symmetric"] == model.symmetric_
    numbers = frame[["criterion", "interval_score", "width_weight", "training_coverage"]]
    assert np.all(np.isfinite(numbers.to_numpy(dtype=float)))


def test_given_values_are_not_searched():
    X, y = wave(40)
    fixed = regressor(lengthscale=0.7, symmetric=True, random_state=0).fit(X, y)
    assert {np.ravel(trial.lengthscale)[0] for trial in fixed.tuning_.trials} == {0.7}
    assert {trial.symmetric for trial in fixed.tuning_.trials} == {True}
    weighted = regressor(width_weight=20.0, symmetric=False, random_state=0).fit(X, y)
    assert {trial.width_weight for trial in weighted.tuning_.trials} == {20.0}
    assert {trial.symmetric for trial in weighted.tuning_.trials} == {False}
    assert len({trial.lengthscale for trial in weighted.tuning_.trials}) > 2


@pytest.mark.parametrize("criterion", ["hsic", "distance_correlation", "mutual_information"])
@pytest.mark.parametrize("anisotropy", ["likelihood", "hsic", "none"])
def test_every_criterion_tunes_every_shape(criterion, anisotropy):
    X, y = wave(30, columns=2)
    model = regressor(
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
    first = regressor(calibration_size=15, **settings).fit(X, y)
    X[35:], y[35:] = 2.0, 100.0
    second = regressor(calibration_size=15, **settings).fit(X, y)
    assert first.tuning_.trials == second.tuning_.trials


# Processes


@pytest.mark.parametrize("estimator", [None, Ridge()])
def test_the_result_does_not_depend_on_the_number_of_processes(estimator):
    X, y = wave(60, columns=2)
    settings = {"random_state": 0, "cv": 3, "mean_lengthscale": 1.0}
    alone = regressor(estimator, **settings).fit(X, y)
    together = regressor(estimator, n_jobs=2, **settings).fit(X, y)
    assert together.tuning_.trials == alone.tuning_.trials
    assert_array_equal(together.predict_interval(X), alone.predict_interval(X))


def test_any_backend_of_joblib_will_do():
    X, y = wave(40)
    settings = {"random_state": 0, "cv": 3, "symmetric": True, "width_weight": 10.0}
    alone = regressor(**settings).fit(X, y)
    for backend in ("threading", "sequential", "loky"):
        with joblib.parallel_config(backend=backend, n_jobs=2):
            other = regressor(**settings).fit(X, y)
        assert other.tuning_.trials == alone.tuning_.trials


# The first guess of the size of residuals


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize(("noise", "weight"), [(0.0, 0.5), (2.0, 0.0)])
def test_a_guess_counts_as_much_as_it_helps(noise, weight, symmetric):
    """The size jumps where no smooth scale can follow; the guess knows that, or very little."""
    rng, made = np.random.default_rng(0), rows(300, symmetric=symmetric, own_mean=False)
    sizes = np.where(np.sin(20 * made.Z[:, 0]) > 0, 1.0, 0.05)
    logs = np.log(sizes) + noise * rng.standard_normal(300)
    units = Affine.of(logs)
    given = replace(
        made,
        Z=np.column_stack([made.Z, units(logs)]),
        residuals=sizes * rng.standard_normal(300),
        weights=np.ones(2),
        guess_units=units,
    )
    # A scale that hardly sees the guess itself.
    found = tune(given, np.array([1.0, 1e3]), n_jobs=None)
    assert found.guess_weight == pytest.approx(weight, abs=0.02)
    assert min(GUESS_WEIGHTS) <= found.guess_weight <= max(GUESS_WEIGHTS)


@pytest.mark.parametrize(("far", "least", "most"), [(20.0, 4.0, 8.0), (0.02, 0.25, 0.7)])
def test_bands_get_wider_away_from_the_data_as_much_as_it_helps(far, least, most):
    """Residuals of rows that are far from all others are larger, or smaller, than usual."""
    made = rows(300, columns=2, symmetric=True)
    distances = np.where(np.arange(300) % 10 == 0, 2.0, 0.1)
    given = replace(made, distances=distances)
    wild = replace(given, residuals=given.residuals * np.where(distances > 1, far, 1.0))
    unknown = np.where(np.arange(300) % 3 == 0, np.nan, distances)
    for known in (wild, replace(wild, distances=unknown)):
        assert least <= tune(known, np.array([3.0, 3.0]), n_jobs=None).caution <= most


def test_caution_that_is_given_is_not_searched():
    given = replace(rows(columns=2, caution=0.7), distances=np.ones(60))
    assert tune(given, np.ones(2), n_jobs=None).caution == pytest.approx(0.7)
