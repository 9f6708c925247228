from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesRegressor, HistGradientBoostingRegressor
from sklearn.model_selection import GroupKFold, KFold, TimeSeriesSplit
from sklearn.utils.estimator_checks import parametrize_with_checks

from sosbands import BandRegressor, KernelBand, StackedMean, load, save
from sosbands.learning import stacking
from sosbands.learning.folds import renumbered

NAMES = ["kernel mean", "boosted trees", "extra trees", "ridge"]
CHEAP = KernelBand(symmetric=True, lengthscale=1.0, width_weight=10.0)


@pytest.fixture
def quick(monkeypatch):
    """Few trees."""

    def boosting(n, seed, names):
        return HistGradientBoostingRegressor(
            max_iter=5, min_samples_leaf=5, categorical_features=names, random_state=seed
        )

    def extra_trees(n, seed, names):
        return ExtraTreesRegressor(5, min_samples_leaf=2, random_state=seed)

    bases = dict(stacking.BASES)
    for name, make in (("boosted trees", boosting), ("extra trees", extra_trees)):
        bases[name] = replace(bases[name], make=make)
    monkeypatch.setattr(stacking, "BASES", bases)
    return bases


@pytest.mark.parametrize(
    ("rows", "trees", "leaves"),
    [(499, 100, 31), (500, 600, 15), (6000, 600, 30), (20_000, 600, 63)],
)
def test_many_rows_have_more_and_smaller_trees_that_grow_with_their_number(rows, trees, leaves):
    model = stacking.BASES["boosted trees"].make(rows, 0, None)
    assert (model.max_iter, model.max_leaf_nodes) == (trees, leaves)


def wave(n=60, seed=0, noise=0.5):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 2))
    return X, np.sin(6 * X[:, 0]) + 2 * (X[:, 1] > 0.5) + noise * rng.normal(size=n)


def messy(n=80):
    """Numbers, names and dates, some of them missing."""
    X, y = wave(n)
    table = pd.DataFrame(X, columns=["dose", "age"])
    table["colour"] = np.where(X[:, 1] > 0.5, "red", "blue")
    table["day"] = pd.date_range("2020-01-01", periods=n, freq="D")
    table.loc[::7, "dose"] = np.nan
    table.loc[::9, "colour"] = None
    table.loc[::11, "day"] = pd.NaT
    return table, y


# The average


@parametrize_with_checks(
    [StackedMean()],
    expected_failed_checks=lambda _: {
        "check_sample_weight_equivalence_on_dense_data": "a repeated row can be on both sides of a "
        "fold, a weighted one cannot"
    },
)
def test_every_check_of_scikit_learn_passes(estimator, check, quick):
    check(estimator)


def test_the_prediction_is_the_weighted_sum_of_those_of_the_regressors(quick):
    X, y = wave(120)
    mean = StackedMean(random_state=0).fit(X, y)
    assert list(mean.weights_) == NAMES
    assert min(mean.weights_.values()) >= 0
    assert_allclose(sum(mean.weights_.values()), 1)
    positive = [name for name, weight in mean.weights_.items() if weight > 0]
    assert list(mean.estimators_) == positive
    assert len(positive) > 1
    Z = mean.units_(X)
    parts = [
        mean.weights_[name] * mean.estimators_[name].predict(X if "trees" in name else Z)
        for name in positive
    ]
    assert_allclose(mean.predict(X), np.sum(parts, axis=0), rtol=1e-12)


def test_predictions_of_a_row_do_not_know_its_output(quick):
    X, y = wave()
    folds = list(KFold(3).split(X))
    first, _ = StackedMean().fit_held_out(X, y, folds, weights=None, seed=0)
    known = StackedMean().fit(X, y)
    assert np.mean((first - y) ** 2) > 1.2 * np.mean((known.predict(X) - y) ** 2)


def test_the_order_of_rows_does_not_matter(quick):
    X, y = wave()
    folds, order = list(KFold(3).split(X)), np.random.default_rng(1).permutation(len(y))
    settings = {"weights": None, "seed": 0}
    mean, other = StackedMean(), StackedMean()
    first, _ = mean.fit_held_out(X, y, folds, **settings)
    own = renumbered(folds, order, len(y))
    second, _ = other.fit_held_out(X[order], y[order], own, **settings)
    assert_allclose(second, first[order], rtol=1e-9, atol=1e-9)
    assert_allclose(other.predict(X), mean.predict(X), rtol=1e-9, atol=1e-9)


def test_the_number_of_jobs_does_not_matter(quick):
    X, y = wave()
    expected = StackedMean(random_state=0).fit(X, y).predict(X)
    with parallel_config("threading"):
        assert_array_equal(StackedMean(random_state=0, n_jobs=2).fit(X, y).predict(X), expected)


def test_the_output_of_a_row_without_weight_does_not_matter(quick):
    X, y = wave()
    weights = np.random.default_rng(0).uniform(0.5, 2, len(y))
    weights[:5] = 0
    expected = StackedMean(random_state=0).fit(X, y, weights)
    assert expected.weights_ != StackedMean(random_state=0).fit(X, y).weights_
    y[:5] = 1e6
    assert_allclose(
        StackedMean(random_state=0).fit(X, y, weights).predict(X), expected.predict(X), rtol=1e-9
    )


def test_names_dates_and_missing_values_are_taken(quick):
    table, y = messy()
    mean = StackedMean(random_state=0).fit(table, y)
    assert np.all(np.isfinite(mean.predict(table)))
    new = table[:3].assign(colour=["green", None, "red"], day=pd.NaT)
    assert np.all(np.isfinite(mean.predict(new)))
    assert mean.score(table, y) > 0.5


@pytest.mark.parametrize("left_out", ["kernel mean", "extra trees"])
def test_a_regressor_for_which_there_are_too_many_rows_is_left_out(quick, monkeypatch, left_out):
    X, y = wave()
    fewer = {**quick, left_out: replace(quick[left_out], most_rows=59)}
    monkeypatch.setattr(stacking, "BASES", fewer)
    mean = StackedMean(random_state=0).fit(X, y)
    assert list(mean.weights_) == [name for name in NAMES if name != left_out]
    assert_allclose(sum(mean.weights_.values()), 1)
    assert left_out in StackedMean(random_state=0).fit(X[1:], y[1:]).weights_


def skewed(n):
    """Inputs of different sizes, whose ranks say more than they do."""
    rng = np.random.default_rng(0)
    X = 10 ** rng.uniform(-3, 3, size=(n, 2))
    return X, np.sin(np.log(X[:, 0])) + np.log10(X[:, 1]) + 0.1 * rng.normal(size=n)


def test_many_rows_have_a_kernel_mean_of_ranks(quick, tmp_path):
    X, y = skewed(500)
    mean = StackedMean(random_state=0).fit(X, y)
    assert mean.centre_["kernel mean of ranks"] > 0.5
    seen = mean.ranks_(mean.units_(X))
    assert_allclose(np.sort(seen[:, 0]), np.arange(0.5, 500) / 500, atol=0.03)
    views = {"numbers": mean.units_(X), "ranks": seen, "codes": X}
    parts = {
        name: model.predict(views[quick[name].sees])
        for name, model in mean.estimators_.items()
        if name != "extra trees"
    }
    centre = sum(share * parts[name] for name, share in mean.centre_.items())
    trees = mean.estimators_["extra trees"]
    parts["extra trees"] = centre + trees.predict(np.column_stack([X, centre]))
    total = sum(mean.weights_[name] * part for name, part in parts.items())
    assert mean.unit_ == 2  # y has a standard deviation of 1.9
    assert_allclose(mean.predict(X), 2 * total, rtol=1e-12)
    save(mean, tmp_path / "m.skops")
    assert_array_equal(load(tmp_path / "m.skops").predict(X), mean.predict(X))


def wave_and_step():
    """What a smooth mean leaves is for trees."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(500, 2))
    return X, 20 * np.sin(6 * X[:, 0]) + 3 * (X[:, 1] > 0.5) + 0.1 * rng.normal(size=500)


def test_extra_trees_of_many_rows_go_around_the_kernel_means(quick, tmp_path):
    X, y = wave_and_step()
    mean = StackedMean(random_state=0).fit(X, y)
    assert mean.weights_["extra trees"] > 0.1
    assert_allclose(sum(mean.centre_.values()), 1)
    trees = mean.estimators_["extra trees"]
    assert trees.n_features_in_ == 3
    assert mean.unit_ == 16  # y has a standard deviation of 14
    assert np.ptp(trees.predict(np.column_stack([X, y / 16]))) < 0.3 * np.ptp(y / 16)
    few = StackedMean(random_state=0).fit(X[1:], y[1:])
    assert few.centre_ == {}
    assert all(model.n_features_in_ == 2 for model in few.estimators_.values())
    save(mean, tmp_path / "m.skops")
    assert_array_equal(load(tmp_path / "m.skops").predict(X), mean.predict(X))


@pytest.mark.parametrize("power", [-400, -20, 30, 400])
def test_units_of_a_power_of_two_change_no_digit(quick, power):
    X, y = wave_and_step()
    mean, other = StackedMean(random_state=0).fit(X, y), StackedMean(random_state=0)
    assert sum(weight > 0.01 for weight in mean.weights_.values()) >= 3
    other.fit(X, 2.0**power * y)
    assert other.unit_ == 2.0**power * mean.unit_
    assert_array_equal(other.predict(X) / 2.0**power, mean.predict(X))


def test_few_rows_have_none(quick):
    X, y = skewed(499)
    mean = StackedMean(random_state=0).fit(X, y)
    assert list(mean.weights_) == NAMES
    assert mean.ranks_ is None
    assert mean.predict(X).shape == (499,)


# Inside a band


def test_a_band_goes_around_the_stack_unless_told_otherwise(quick):
    X, y = wave(80)
    model = BandRegressor(band=CHEAP, random_state=0).fit(X, y)
    assert model.estimator == "auto"
    assert isinstance(model.estimator_, StackedMean)
    assert list(model.estimator_.weights_) == NAMES
    assert_array_equal(model.predict(X), model.estimator_.predict(X))
    named = BandRegressor(StackedMean(), band=CHEAP, random_state=0).fit(X, y)
    assert_array_equal(named.predict_interval(X), model.predict_interval(X))
    assert clone(model).estimator == "auto"


def test_parameters_of_auto_are_refused_in_one_sentence():
    with pytest.raises(ValueError, match=r"^estimator__cv is a parameter of estimator, which is "):
        BandRegressor().set_params(estimator__cv=3)
    with pytest.raises(ValueError, match=r"'auto': pass estimator=StackedMean\(\)$"):
        BandRegressor().set_params(estimator__cv=3)
    model = BandRegressor().set_params(estimator=StackedMean(), estimator__cv=3)
    assert model.estimator.cv == 3


def test_another_name_is_refused_in_one_sentence():
    with pytest.raises(ValueError, match=r"^estimator must be \"auto\", .* got 'other'$"):
        BandRegressor("other").fit(*wave())


@pytest.mark.parametrize("calibration", ["split", "cv+", "localized", None])
def test_any_table_and_calibration_will_do(quick, calibration, tmp_path):
    table, y = messy()
    settings = {"calibration": calibration, "cv": 3, "random_state": 0}
    model = BandRegressor(band=CHEAP, **settings).fit(table, y)
    if calibration is None:
        model.conformalize(table, y)
    intervals = model.predict_interval(table, 0.8)
    assert np.mean((intervals[:, 0] <= y) & (y <= intervals[:, 1])) >= 0.7
    save(model, tmp_path / "m.skops")
    other = load(tmp_path / "m.skops")
    assert_array_equal(other.predict_interval(table, 0.8), intervals)
    assert_array_equal(other.predict(table), model.predict(table))
    assert other.estimator_.weights_ == model.estimator_.weights_


def test_a_stack_alone_can_be_saved(quick, tmp_path):
    table, y = messy()
    mean = StackedMean(random_state=0).fit(table, y)
    save(mean, tmp_path / "m.skops")
    assert_array_equal(load(tmp_path / "m.skops").predict(table), mean.predict(table))


def test_rows_in_time_order_are_predicted_from_the_past(quick):
    X, y = wave(90)
    model = BandRegressor(band=CHEAP, cv=TimeSeriesSplit(3), random_state=0).fit(X, y)
    assert model.n_train_ == 63
    assert np.all(np.isfinite(model.predict_interval(X)))


@pytest.mark.parametrize("cv", [3, GroupKFold(3)])
def test_rows_of_a_group_stay_together(quick, cv, monkeypatch):
    X, y = wave(90)
    groups = np.arange(90) % 15
    X[:, 1] = groups  # so that folds can be told
    seen = []
    inner = StackedMean.fit_held_out

    def spied(self, X, y, folds, **settings):
        seen.extend((set(X[train, 1]), set(X[test, 1])) for train, test in folds)
        return inner(self, X, y, folds, **settings)

    monkeypatch.setattr(StackedMean, "fit_held_out", spied)
    BandRegressor(band=CHEAP, cv=cv, random_state=0).fit(X, y, groups=groups)
    assert len(seen) == 3
    assert all(train.isdisjoint(test) for train, test in seen)


def test_trees_do_not_choose_by_the_rounding_of_kernel_means():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 6, (500, 3)) / 4
    X = np.column_stack([X, X[:, 0] + X[:, 1], X[:, 2] > 0.5])  # splits that part rows alike
    y, trees = rng.normal(size=500), ExtraTreesRegressor(20, min_samples_leaf=2, random_state=0)
    folds = list(KFold(5).split(X))
    rows = stacking._Rows({"codes": X}, y, folds, stacking.FitParameters.of_weights(None))
    centre = rng.normal(size=500)
    shaken = centre * (1 + 1e-14 * rng.normal(size=500))
    one, other = (rows._part("extra trees", clone(trees), 1, c)[1] for c in (centre, shaken))
    assert_allclose(other, one, atol=1e-12)


@pytest.mark.parametrize("known", [1, 2, 3])
def test_a_column_whose_few_values_are_all_in_one_fold_does_no_harm(known):
    rng = np.random.default_rng(known)
    X = rng.normal(size=(120, 2))
    y = X[:, 0] + rng.normal(size=120)
    sparse = np.full(120, np.nan)
    sparse[:known] = 1.0 + np.arange(known)
    X = np.column_stack([X, sparse])
    others = np.arange(known, 120)
    folds = [(others, np.arange(known)), (np.setdiff1d(np.arange(120), others[:40]), others[:40])]
    mean = StackedMean(cv=folds, random_state=0).fit(X, y)
    assert np.all(np.isfinite(mean.predict(X)))


def test_numbers_beyond_32_bits_are_the_largest_to_trees():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 2))
    y = X[:, 0] + rng.normal(size=100)
    X[3, 1] = 1e39
    mean = StackedMean(random_state=0).fit(X, y)
    assert np.all(np.isfinite(mean.predict(np.array([[0.0, 1e300], [0.0, -1e300]]))))
