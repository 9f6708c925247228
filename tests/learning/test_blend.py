import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import TimeSeriesSplit

from sosbands import BandRegressor, KernelBand, KernelMean, load, save
from sosbands.learning import blend as module
from sosbands.learning.blend import Blend, blended
from sosbands.learning.encoding import BandInputs
from sosbands.learning.folds import cross_fitting_folds
from sosbands.learning.input_ranks import InputRanks
from sosbands.learning.means import Mean, OutOfSample
from sosbands.learning.prepared_rows import PreparedRows
from sosbands.learning.stacking_weights import stacking_weights
from sosbands.learning.standardize import VaryingInputs
from tests.regressors import regressor

FIXED = {"lengthscale": 1.0, "width_weight": 10.0, "random_state": 0}
LIMITS = {"search_rows": 500, "max_rank": 200}


def wave(n=60, seed=0):
    """A smooth output that no line follows."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 2))
    return X, 3 + np.sin(6 * X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=n)


def prepared(n=40, predictions=None, weights=None):
    X, y = wave(n)
    folds = cross_fitting_folds(X, y, cv=4, groups=None, seed=0)
    encoding, seen = BandInputs.learn(X, y, None, folds)
    known = 3 + 2 * X[:, 1] if predictions is None else predictions
    mean = OutOfSample(Mean(LinearRegression(), False), known)
    return PreparedRows(encoding, VaryingInputs.of(seen.B), seen, y, folds, mean, weights)


def halfway(Z, rows):
    """Inputs between their numbers and their ranks."""
    return 0.5 * (Z + np.sqrt(12) * InputRanks.of(rows.inputs(rows.B))(Z))


def slow_means(rows, folds):
    """What kernel means with the lengthscales of all rows predict without each fold."""
    Z = halfway(rows.inputs(rows.B), rows)
    whole = KernelMean(random_state=0).fit(Z, rows.y, rows.weights)
    return whole.held_out(Z, rows.y, folds, rows.weights), whole


@pytest.mark.parametrize("exchangeable", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_a_blend_is_the_best_average_out_of_sample(exchangeable, weighted):
    weights = np.random.default_rng(1).uniform(1, 3, 40) if weighted else None
    rows = prepared(weights=weights)
    got, blend = blended(rows, KernelMean(random_state=0), exchangeable=exchangeable, **LIMITS)
    own, whole = slow_means(rows, None if exchangeable else rows.folds)
    P = np.column_stack([rows.mean.predictions, own])
    w = stacking_weights(P, rows.y, weights)
    assert 0.5 < blend.weight < 1
    assert_allclose(blend.weight, w[1])
    assert_allclose(got.mean.predictions, P @ w)
    assert got.mean.mean is rows.mean.mean
    new = rows.inputs(rows.B)[:5]
    expected = w[0] * rows.mean.predictions[:5] + w[1] * whole.predict(halfway(new, rows))
    assert_allclose(blend(rows.mean.predictions[:5], new), expected)


def test_many_rows_have_a_rough_kernel():
    kernels = []
    for n in (499, 500):
        band = regressor(LinearRegression(), calibration=None, **FIXED).fit(*wave(n)).band_
        kernels.append(band.blend.kernel_mean.kernel)
    assert kernels == ["gaussian", "matern32"]


def test_with_many_rows_ranks_count_more():
    shares = []
    for n in (499, 500):
        rows = prepared(n)
        model = KernelMean(lengthscale=1.0, random_state=0)
        _, blend = blended(rows, model, exchangeable=True, **LIMITS)
        Z = rows.inputs(rows.B)
        numbers, ranks = (1 - blend.rank_share) * Z, blend.rank_share * InputRanks.of(Z)(Z)
        own = model.predict(numbers + np.sqrt(12) * ranks)
        expected = (1 - blend.weight) * rows.mean.predictions + blend.weight * own
        assert_allclose(blend(rows.mean.predictions, Z), expected)
        shares.append(blend.rank_share)
    assert shares == [0.5, 0.7]


def test_what_helps_nothing_is_no_blend():
    rows = prepared(predictions=wave(40)[1])
    got, blend = blended(rows, KernelMean(random_state=0), exchangeable=True, **LIMITS)
    assert blend is None
    assert got is rows


def test_rows_that_no_fold_holds_out_stay_unknown():
    predictions = 3 + 2 * wave(40)[0][:, 1]
    predictions[:7] = np.nan
    rows = prepared(predictions=predictions)
    got, blend = blended(rows, KernelMean(random_state=0), exchangeable=True, **LIMITS)
    assert blend is not None
    assert_array_equal(np.isnan(got.mean.predictions), np.arange(40) < 7)


@pytest.mark.parametrize("n", [60, 150])
@pytest.mark.parametrize("frozen", [True, False])
def test_intervals_go_around_a_blend_and_predictions_stay_those_of_the_model(n, frozen):
    model = LinearRegression()
    if frozen:
        model = FrozenEstimator(model.fit(*wave(60, seed=7)))
    band = regressor(model, calibration=None, **FIXED)
    if frozen:
        with pytest.warns(UserWarning, match="frozen"):
            band.fit(*wave(n))
    else:
        band.fit(*wave(n))
    new, y = wave(200, seed=1)
    assert isinstance(band.band_.blend, Blend)
    assert_array_equal(band.predict(new), band.estimator_.predict(new))
    band.conformalize(*wave(40, seed=2))
    C = band.predict_interval(new, 0.8)
    assert np.mean((C[:, 0] <= y) & (y <= C[:, 1])) > 0.6
    assert np.mean(C[:, 1] - C[:, 0]) < 0.5 * np.std(y - band.predict(new)) * 2.56
    assert_array_equal(band.predict_quantiles(new, [0.5])[:, 0] > C[:, 0], True)


@pytest.mark.parametrize(
    ("estimator", "parameters"),
    [
        (None, {}),
        ("auto", {}),
        (LinearRegression(), {"symmetric": True}),
        (LinearRegression(), {"centre_penalty": None}),
        (LinearRegression(), {"training_coverage": 0.9}),
    ],
)
def test_there_is_no_blend_where_bands_go_around_the_mean(estimator, parameters):
    model = BandRegressor(estimator, band=KernelBand(**parameters), random_state=0).fit(*wave(60))
    assert model.band_.blend is None


def test_rows_in_order_are_left_out_by_their_folds(monkeypatch):
    asked, held_out = [], KernelMean.held_out
    monkeypatch.setattr(
        KernelMean,
        "held_out",
        lambda self, *rows, **k: asked.append(rows[2]) or held_out(self, *rows, **k),
    )
    X, y = wave(80)
    regressor(LinearRegression(), cv=TimeSeriesSplit(4), **FIXED).fit(X, y)
    regressor(LinearRegression(), **FIXED).fit(X, y, groups=np.arange(80) // 4)
    regressor(LinearRegression(), **FIXED).fit(X, y)
    assert [folds is None for folds in asked] == [False, False, True]


def test_bands_without_a_fold_know_nothing_of_it(monkeypatch):
    seen, original = [], module.blended
    X, y = wave(60)

    def spied(rows, model, **how):
        seen.append((set(rows.y), model.searches))
        return original(rows, model, **how)

    monkeypatch.setattr("sosbands.learning.learner.blended", spied)
    regressor(LinearRegression(), calibration="cv+", cv=4, **FIXED).fit(X, y)
    *parts, (whole, searches) = seen
    assert [len(rows) for rows, _ in parts] == [45] * 4
    assert all(searched for _, searched in parts)
    assert (whole, searches) == (set(y), False)  # it takes over what the others found


def test_a_file_holds_the_blend(tmp_path):
    X, y = wave(80)
    trees = HistGradientBoostingRegressor(max_iter=5, random_state=0)
    model = regressor(trees, **FIXED).fit(X, y)
    assert model.band_.blend is not None
    save(model, tmp_path / "model.skops")
    again = load(tmp_path / "model.skops")
    assert_array_equal(again.predict_interval(X, 0.5), model.predict_interval(X, 0.5))
