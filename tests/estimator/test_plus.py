import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold, PredefinedSplit
from sklearn.tree import DecisionTreeRegressor

from sosbands import BandRegressor
from sosbands.learning import learner
from sosbands.learning.difficulty import Difficulty
from tests.estimator.models import band, fitted, ranked, wave


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("estimator", [None, LinearRegression()])
def test_plus_intervals_come_from_bands_that_never_saw_the_fold(estimator, symmetric):
    X, y = wave(45)
    settings = {"cv": KFold(3), "symmetric": symmetric, "random_state": 5}
    model = band(estimator, calibration="cv+", **settings).fit(X, y)
    new, _ = wave(10, seed=3)
    lower, upper = [], []
    for train, test in KFold(3).split(X):
        settings["cv"] = PredefinedSplit(train // 15)  # its folds are the other ones
        part = band(estimator, calibration=None, **settings).fit(X[train], y[train])
        scores = part.band_.at(X[test]).family.scores(y[test])
        ends = part.band_.at(new).family.intervals(scores)
        lower += list(ends[:, 0].T)
        upper += list(ends[:, 1].T)
        if symmetric:  # written out
            mean, scale = part.predict(X[test]), part.predict_scale(X[test])
            q = np.abs(y[test] - mean) / scale
            assert_allclose(
                ends[:, 1].T,
                part.predict(new) + np.outer(q, part.predict_scale(new)),
                rtol=1e-8,
                atol=1e-8,
            )
    centre = model.band_.at(new).family.centre
    for level in (0.3, 0.9):
        low = -np.array([ranked(-column, level) for column in np.transpose(lower)])
        high = np.array([ranked(column, level) for column in np.transpose(upper)])
        expected = np.minimum(low, centre), np.maximum(high, centre)
        assert_allclose(model.predict_interval(new, level), np.transpose(expected), rtol=1e-8)


@pytest.mark.parametrize("estimator", [None, LinearRegression()])
@pytest.mark.parametrize(("folds", "search_rows"), [(2, 500), (3, 500), (3, 12)])
def test_what_is_learned_without_a_plus_fold_does_not_see_the_fold(
    estimator, folds, search_rows, monkeypatch
):
    monkeypatch.setattr(learner, "_PART_ROWS", search_rows)
    X, y = wave(30)
    model = BandRegressor(estimator, calibration="cv+", cv=KFold(folds), random_state=0)
    X[3], y[3] = 50.0, 1e3  # in the first fold, with the largest score
    before = model.fit(X, y).calibration_.scores_by_fold[0]
    X[3], y[3] = 70.0, 9e3
    after = model.fit(X, y).calibration_.scores_by_fold[0]
    assert_allclose(after[:-1], before[:-1], rtol=1e-8)
    assert after[-1] > 2 * before[-1]


class Counting(LinearRegression):
    """Counts its fits."""

    fits = 0

    def fit(self, X, y, sample_weight=None):
        Counting.fits += 1
        return super().fit(X, y)


@pytest.mark.parametrize(("folds", "fits"), [(2, 9), (3, 7), (5, 16)])
def test_bands_without_a_fold_share_the_fits_of_a_regressor(folds, fits):
    X, y = wave(60)
    Counting.fits = 0
    band(Counting(), calibration="cv+", cv=folds, difficulty=None).fit(X, y)
    assert Counting.fits == fits


def test_every_row_trains_and_calibrates_a_plus_model():
    X, y = wave(50)
    model = band(LinearRegression(), calibration="cv+", cv=4).fit(X, y)
    assert sum(map(len, model.calibration_.scores_by_fold)) == 50
    intervals = model.predict_interval(X, [0.02, 0.5, 0.9])
    mean = model.predict(X)[:, None]
    assert np.all((intervals[:, 0] <= mean) & (mean <= intervals[:, 1]))
    whole = band(LinearRegression(), calibration=None, cv=4).fit(X, y)
    assert_array_equal(model.predict(X), whole.predict(X))
    with pytest.warns(UserWarning, match="needs at least 99 calibration rows"):
        assert np.all(np.isinf(model.predict_interval(X, 0.99)))


def test_a_plus_model_may_be_calibrated_like_any_other():
    X, y = wave(60, seed=1)
    new, outputs = wave(40, seed=2)
    model = band(LinearRegression(), calibration="cv+", cv=3).fit(X, y)
    with pytest.raises(ValueError, match=r'"cv\+" has no rows to add to'):
        model.partial_conformalize(new, outputs)
    expected = fitted(LinearRegression(), cv=3).conformalize(new, outputs).predict_interval(new)
    assert_array_equal(model.conformalize(new, outputs).predict_interval(new), expected)


def test_the_band_of_all_rows_takes_over_what_the_bands_without_a_fold_chose():
    X, y = wave(90)
    model = BandRegressor(None, calibration="cv+", cv=3, random_state=0).fit(X, y)
    tuning = model.tuning_
    assert tuning.chosen is tuning.trials[-1]
    assert len(tuning.trials) > 3 * 5
    assert model.lengthscale_ == tuning.chosen.lengthscale


def test_quantiles_that_too_few_rows_calibrate_are_told_as_quantiles():
    model = band(calibration="cv+", cv=3).fit(*wave(60))
    with pytest.warns(UserWarning, match="a quantile of 0.001 needs .* quantiles without them"):
        assert model.predict_quantiles([[0.0]], 0.001) == -np.inf


class CountedTree(DecisionTreeRegressor):
    """Counts its fits, and keeps the rows of each."""

    fits: list[int] = []  # noqa: RUF012

    def fit(self, X, y, **settings):
        self.fits.append(len(y))
        return super().fit(X, y, **settings)


def test_the_band_of_all_rows_takes_the_guesses_of_those_without_a_fold():
    X, y = wave(60)
    guess = CountedTree(max_depth=2, random_state=0)
    CountedTree.fits.clear()
    model = band(LinearRegression(), calibration="cv+", cv=KFold(3), difficulty=guess).fit(X, y)
    # Each band without a fold: one of its 40 rows, and one without each of its two folds of 20.
    assert sorted(CountedTree.fits) == [20] * 6 + [40] * 3 + [60]
    sizes = np.concatenate(
        [
            part.at(X[test]).sizes
            for part, (_, test) in zip(model.calibration_.bands, KFold(3).split(X), strict=True)
        ]
    )
    difficulty = model.band_.scale_inputs.difficulty
    known = np.log(sizes / model.band_.residual_size)
    assert_allclose(difficulty.limits, difficulty.units([known.min(), known.max()]))


@pytest.mark.parametrize(("n", "known"), [(560, False), (700, True), (2300, False)])
def test_guesses_of_another_kind_of_model_are_not_taken_over(n, known, monkeypatch):
    """With fewer rows others guess, also in the bands without a fold if n is near a threshold."""
    calls = []
    learn = Difficulty.learn.__func__

    def counted(cls, *args, guesses=None, **settings):
        calls.append(guesses is not None)
        return learn(cls, *args, guesses=guesses, **settings)

    monkeypatch.setattr(Difficulty, "learn", classmethod(counted))
    X, y = wave(n)
    band(LinearRegression(), calibration="cv+", cv=5).fit(X, y)
    assert calls == [False] * 5 + [known]


def numbers_with_gaps(seed):
    """A fold may hold all rows that lack something, another a level of text."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(100, 2))
    X[rng.choice(100, 10, replace=False), 1] = np.nan
    return X, rng.normal(size=100)


def text_of_many_levels(seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (60, 2))
    y = X[:, 0] + (0.2 + np.abs(X[:, 1])) * rng.normal(size=60)
    return pd.DataFrame(X, columns=["a", "b"]).assign(z=[f"c{i % 30}" for i in range(60)]), y


@pytest.mark.parametrize("rows", [numbers_with_gaps, text_of_many_levels])
@pytest.mark.parametrize("seed", range(3))
def test_tables_whose_folds_have_other_columns_than_all_rows(rows, seed):
    X, y = rows(seed)
    model = BandRegressor(None, calibration="cv+", random_state=0).fit(X, y)
    assert np.isfinite(model.predict_interval(X, 0.8)).all()
