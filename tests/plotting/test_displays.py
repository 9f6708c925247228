import warnings

import matplotlib as mpl
import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import beta
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

mpl.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.colors import to_hex

from sosbands import BandDisplay, BandRegressor, CoverageDisplay, TuningDisplay
from sosbands.datasets import case
from sosbands.evaluation import evaluate
from sosbands.metrics import coverage, coverage_gap, size_stratified_coverage
from tests.regressors import regressor

LEVELS = [0.5, 0.9]
NAMES = ["age", "dose", "weight"]


@pytest.fixture(autouse=True)
def no_figure_stays_open():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def one_input():
    """A model of one input, and rows that it has not seen."""
    X, y = case(1).sample(250, random_state=0)
    return BandRegressor(None, random_state=0).fit(X, y), *case(1).sample(150, random_state=1)


def three_inputs(n, random_state):
    rng = np.random.default_rng(random_state)
    X = rng.uniform(-1, 1, (n, 3))
    return X, X[:, 0] + (0.1 + np.abs(X[:, 2])) * rng.normal(size=n)


@pytest.fixture(scope="module")
def several_inputs():
    """A model of three named inputs, whose scale depends on the last, and new rows."""
    X, y = three_inputs(300, 0)
    model = BandRegressor(None, random_state=0).fit(pd.DataFrame(X, columns=NAMES), y)
    X_new, y_new = three_inputs(400, 1)
    return model, pd.DataFrame(X_new, columns=NAMES), y_new


def fixed(**parameters):
    """A model without anything to tune: quick to fit."""
    given = {"lengthscale": 0.5, "width_weight": 20.0, "symmetric": True, "random_state": 0}
    return regressor(**{**given, **parameters})


def ends_of(segments):
    """x, lower and upper ends of vertical segments."""
    corners = np.array(segments.get_segments())
    assert np.array_equal(corners[:, 0, 0], corners[:, 1, 0])
    return corners[:, 0, 0], corners[:, :, 1]


def legend_of(display):
    return [text.get_text() for text in display.legend_.get_texts()]


# BandDisplay, one input


def test_a_curve_holds_the_means_and_intervals_of_the_model(one_input):
    model, X, y = one_input
    display = BandDisplay.from_estimator(model, X, y, levels=LEVELS)
    x, mean = display.mean_.get_data()
    assert (x.min(), x.max()) == (X.min(), X.max())
    np.testing.assert_allclose(mean, model.predict(x[:, None]))
    intervals = model.predict_interval(x[:, None], LEVELS)
    for j, area in enumerate(display.intervals_):
        corners = area.get_paths()[0].vertices
        np.testing.assert_allclose(
            [corners[:, 1].min(), corners[:, 1].max()],
            [intervals[:, 0, j].min(), intervals[:, 1, j].max()],
        )


def test_larger_levels_are_lighter_and_below_smaller_ones(one_input):
    model, X, _ = one_input
    narrow, wide = BandDisplay.from_estimator(model, X, levels=LEVELS).intervals_
    assert wide.get_facecolor().sum() > narrow.get_facecolor().sum()
    drawn = narrow.axes.collections
    assert drawn.index(wide) < drawn.index(narrow)


def test_dots_are_the_covered_rows_and_crosses_the_others(one_input):
    model, X, y = one_input
    display = BandDisplay.from_estimator(model, X, y, levels=LEVELS)
    lower, upper = model.predict_interval(X, 0.9).T
    inside = (lower <= y) & (y <= upper)
    for artist, which in ((display.covered_, inside), (display.missed_, ~inside)):
        drawn = sorted(zip(*artist.get_data(), strict=True))
        assert drawn == sorted(zip(X[which, 0], y[which], strict=True))
    assert 0 < inside.sum() < len(y)
    assert display.covered_.get_color() != display.missed_.get_color()
    assert display.covered_.get_marker() != display.missed_.get_marker()
    assert f"inside 90 % ({inside.sum()} of 150)" in legend_of(display)


def test_without_outputs_there_are_no_points(one_input):
    model, X, _ = one_input
    display = BandDisplay.from_estimator(model, X)
    assert display.covered_ is None
    assert display.missed_ is None
    assert legend_of(display) == ["90 % interval", "mean"]


@pytest.mark.parametrize("truth", [case(1), case(1).interval], ids=["case", "callable"])
def test_the_truth_is_drawn_at_every_level(one_input, truth):
    model, X, _ = one_input
    display = BandDisplay.from_estimator(model, X, levels=LEVELS, truth=truth)
    x = display.curve.x
    drawn = {tuple(line.get_ydata()) for line in display.truth_}
    assert drawn == {tuple(end) for p in LEVELS for end in case(1).interval(x[:, None], p).T}


def test_extrapolation_is_shaded_beyond_the_training_rows_alone(one_input):
    model, X, _ = one_input
    wide = np.concatenate([X, [[-2.0], [2.0]]])
    display = BandDisplay.from_estimator(model, wide, extrapolation=True)
    spans = [path.vertices[:, 0] for path in display.extrapolation_.get_paths()]
    x = display.curve.x
    far = x[model.extrapolation(x[:, None]) > 0.5]
    assert len(spans) == 2
    assert (spans[0].max(), spans[1].min()) == (far[far < 0].max(), far[far > 0].min())


def test_rows_beyond_the_subsample_are_left_out_and_chosen_by_the_seed(one_input):
    model, X, y = one_input
    draws = [
        BandDisplay.from_estimator(model, X, y, subsample=40, random_state=seed).rows.x
        for seed in (0, 0, 1)
    ]
    assert np.array_equal(draws[0], draws[1])
    assert not np.array_equal(draws[0], draws[2])
    assert set(draws[0]) < set(X[:, 0])
    assert len(set(draws[0])) == 40


@pytest.mark.parametrize("kind", ["curve", "rows"])
def test_infinite_intervals_leave_the_axes_finite_and_get_arrow_heads(one_input, kind):
    _, X, y = one_input
    model = fixed(calibration_size=10).fit(X, y)
    with pytest.warns(UserWarning, match="needs at least 19 calibration rows"):
        display = BandDisplay.from_estimator(model, X, y, levels=[0.8, 0.95], kind=kind)
    display.figure_.canvas.draw()
    low, high = display.ax_.get_ylim()
    finite = np.concatenate([model.predict_interval(X, 0.8).ravel(), y])
    span = np.ptp(finite)
    assert finite.min() - 0.2 * span < low < finite.min()
    assert finite.max() < high < finite.max() + 0.2 * span
    below, above = display.infinite_
    assert set(below.get_ydata()) == {low}
    assert set(above.get_ydata()) == {high}
    assert "no finite end" in legend_of(display)


def test_finite_intervals_have_no_arrow_heads(one_input):
    model, X, y = one_input
    display = BandDisplay.from_estimator(model, X, y)
    assert display.infinite_ is None


# BandDisplay, several inputs


def test_rows_are_drawn_over_the_input_that_the_scale_depends_on_most(several_inputs):
    model, X, y = several_inputs
    assert np.argmin(model.lengthscale_[:3]) == 2
    display = BandDisplay.from_estimator(model, X, pd.Series(y, name="pressure"), subsample=None)
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("weight", "pressure")
    order = np.argsort(X["weight"].to_numpy(), kind="stable")
    x, ends = ends_of(display.intervals_[0])
    np.testing.assert_array_equal(x, X["weight"].to_numpy()[order])
    np.testing.assert_allclose(ends, model.predict_interval(X, 0.9)[order])
    np.testing.assert_allclose(display.mean_.get_ydata(), model.predict(X)[order])


def test_the_most_telling_input_does_not_depend_on_its_units():
    X, y = three_inputs(150, 0)
    X = X * [1.0, 1.0, 1000.0]
    model = fixed(lengthscale=(1.0, 1.0, 100.0), standardize=False).fit(X, y)
    assert BandDisplay.from_estimator(model, X).feature_name == "x2"


@pytest.mark.parametrize("constant", [0, 1, 2])
def test_the_most_telling_input_is_found_beside_a_constant_one(constant):
    X, y = three_inputs(150, 0)
    wide = np.insert(X[:, 1:], constant, 7.0, axis=1)
    model = fixed(lengthscale=(9.0, 1.0)).fit(X[:, 1:], y)
    given = list(np.insert([9.0, 1.0], constant, 1e-3))
    beside = fixed(lengthscale=given).fit(wide, y)
    assert beside.lengthscale_ == model.lengthscale_
    assert BandDisplay.from_estimator(beside, wide).feature_name == f"x{1 + (constant < 2)}"


@pytest.mark.parametrize(("feature", "place"), [("dose", 1), (1, 1), (-3, 0)])
def test_a_feature_is_chosen_by_name_or_by_position(several_inputs, feature, place):
    model, X, y = several_inputs
    display = BandDisplay.from_estimator(model, X, y, feature=feature)
    assert display.feature_name == NAMES[place]
    assert set(display.rows.x) < set(X[NAMES[place]])


def test_text_columns_are_passed_over():
    X, y = three_inputs(150, 0)
    frame = pd.DataFrame(X, columns=NAMES)
    frame.insert(0, "colour", np.where(X[:, 0] > 0, "red", "blue"))
    numbers = make_pipeline(FunctionTransformer(lambda X: X[NAMES]), LinearRegression())
    settings = {"lengthscale": (0.5, 3.0, 1.0, 2.0), "prediction_weight": 0.0, "difficulty": None}
    model = fixed(estimator=numbers, **settings).fit(frame, y)
    assert BandDisplay.from_estimator(model, frame, y).feature_name == "dose"
    with pytest.raises(ValueError, match=r"feature 'colour' must hold numbers .* got '(red|blue)'"):
        BandDisplay.from_estimator(model, frame, y, feature="colour")


def test_equal_inputs_are_drawn_side_by_side(several_inputs):
    model, X, y = several_inputs
    steps = X.assign(dose=X["dose"].round())
    display = BandDisplay.from_estimator(model, steps, y, feature="dose", subsample=100)
    x, _ = ends_of(display.intervals_[0])
    assert len(set(x)) == 100
    np.testing.assert_array_equal(np.round(x), display.rows.x)
    assert set(display.rows.x) == {-1.0, 0.0, 1.0}


def test_extrapolated_rows_are_ringed(several_inputs):
    model, X, y = several_inputs
    X = X.copy()
    X.iloc[:5] += 3.0
    display = BandDisplay.from_estimator(
        model, X, y, feature="age", extrapolation=True, subsample=None
    )
    far = model.extrapolation(X) > 0.5
    assert 5 <= far.sum() < 100
    assert sorted(display.extrapolation_.get_xdata()) == sorted(X["age"][far])


def test_of_several_levels_rows_show_the_true_ends_of_the_largest(several_inputs):
    model, X, y = several_inputs

    def truth(X, level):
        return np.outer(X["weight"].abs(), [-level, level])

    display = BandDisplay.from_estimator(model, X, y, levels=LEVELS, truth=truth)
    lower, upper = (line.get_ydata() for line in display.truth_)
    np.testing.assert_allclose(upper, 0.9 * np.abs(display.rows.x))
    np.testing.assert_allclose(lower, -upper)
    assert "true 90 % interval" in legend_of(display)


def test_polars_frames_give_the_same_picture(several_inputs, one_input):
    model, X, y = several_inputs
    pandas = BandDisplay.from_estimator(model, X, y, random_state=0)
    polars = BandDisplay.from_estimator(model, pl.from_pandas(X), pl.Series("y", y), random_state=0)
    assert polars.feature_name == "weight"
    np.testing.assert_array_equal(
        ends_of(polars.intervals_[0])[1], ends_of(pandas.intervals_[0])[1]
    )
    _, X, y = one_input
    for frame in (pd.DataFrame({"time": X[:, 0]}), pl.DataFrame({"time": X[:, 0]})):
        display = BandDisplay.from_estimator(fixed().fit(frame, y), frame, y)
        assert display.ax_.get_xlabel() == "time"
        assert display.curve is not None


def test_groups_and_weights_belong_to_rows(one_input):
    model, X, y = one_input
    group = np.where(X[:, 0] < 0, "left", "right")
    model = fixed(calibration=None).fit(X, y).conformalize(X, y, groups=group)
    display = BandDisplay.from_estimator(model, X, y, groups=group, subsample=None)
    order = np.argsort(X[:, 0])
    _, ends = ends_of(display.intervals_[0])
    np.testing.assert_allclose(ends, model.predict_interval(X, 0.9, groups=group)[order])
    with pytest.raises(ValueError, match='kind="curve" needs intervals that depend on one input'):
        BandDisplay.from_estimator(model, X, y, groups=group, kind="curve")


# BandDisplay, predictions and style


@pytest.mark.parametrize("kind", ["curve", "rows"])
def test_predictions_of_any_model_are_drawn_in_order(kind):
    x, mean = np.array([2.0, 0.0, 1.0]), np.array([5.0, 3.0, 4.0])
    intervals = np.stack([mean - 1, mean + 1], axis=1)
    y = [5.5, 1.0, 4.0]
    display = BandDisplay.from_predictions(
        x, y, mean, intervals, kind=kind, feature_name="age", target_name="size"
    )
    np.testing.assert_array_equal(display.mean_.get_xydata(), [[0, 3], [1, 4], [2, 5]])
    np.testing.assert_array_equal(display.missed_.get_xydata(), [[0, 1]])
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("age", "size")
    if kind == "rows":
        np.testing.assert_array_equal(ends_of(display.intervals_[0])[1], [[2, 4], [3, 5], [4, 6]])


def test_styles_are_taken_under_any_of_their_names(one_input):
    model, X, y = one_input
    display = BandDisplay.from_estimator(
        model, X, y, color="green", line_kwargs={"lw": 5, "c": "black"}, scatter_kwargs={"ms": 9}
    )
    assert (display.mean_.get_linewidth(), display.mean_.get_color()) == (5, "black")
    assert display.covered_.get_markersize() == display.missed_.get_markersize() == 9
    red, green, blue, _ = display.intervals_[0].get_facecolor()[0]
    assert green > red == blue


def test_a_display_is_drawn_again_on_other_axes(one_input):
    model, X, y = one_input
    display = BandDisplay.from_estimator(model, X, y)
    before, (_, axes) = display.ax_, plt.subplots(1, 2)
    assert display.plot(ax=axes[1]) is display
    assert display.ax_ is axes[1] is not before
    assert display.figure_ is axes[1].figure
    assert not axes[0].has_data()


def test_drawing_changes_no_global_setting(one_input):
    model, X, y = one_input
    before = dict(mpl.rcParams)
    BandDisplay.from_estimator(model, X, y)
    CoverageDisplay.from_estimator(model, X, y)
    TuningDisplay.from_estimator(model)
    assert dict(mpl.rcParams) == before


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"feature": "height"}, r"feature must be a column of X, got 'height': choose from 'age"),
        ({"feature": 3}, "feature must be from 0 to 2, got 3"),
        ({"kind": "curve"}, 'kind="curve" needs intervals that depend on one input'),
        ({"kind": "area"}, 'kind must be "curve" or "rows", got \'area\''),
        ({"levels": 90}, r"levels must be in \(0, 1\), got 90: write 0.9"),
        ({"subsample": 0}, "subsample must be ≥ 1, got 0"),
    ],
)
def test_a_wrong_argument_is_named(several_inputs, given, message):
    model, X, y = several_inputs
    with pytest.raises(ValueError, match=message):
        BandDisplay.from_estimator(model, X, y, **given)


def test_outputs_that_do_not_fit_are_refused(one_input):
    model, X, y = one_input
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        BandDisplay.from_estimator(model, X, y[:-1])
    with pytest.raises(ValueError, match="NaN"):
        BandDisplay.from_estimator(model, X, np.where(y > 0, np.nan, y))
    with pytest.raises(ValueError, match=r"got \(3,\), \(3,\) and \(3, 2, 1\): give one row"):
        BandDisplay.from_predictions([0, 1, 2], None, [0, 0, 0], [[0, 1]] * 3, levels=LEVELS)
    with pytest.raises(ValueError, match="y must hold one finite number for each of the 3"):
        BandDisplay.from_predictions([0, 1, 2], [1, 2], [0, 0, 0], [[0, 1]] * 3)


def test_a_band_transformer_leaves_the_choice_of_the_column_to_the_user():
    X, y = three_inputs(120, 0)
    transformer = FunctionTransformer(lambda X: X[:, :2])
    model = fixed(band_transformer=transformer).fit(X, y)
    with pytest.raises(ValueError, match="choose the column to draw over with feature="):
        BandDisplay.from_estimator(model, X, y)
    assert BandDisplay.from_estimator(model, X, y, feature=1).feature_name == "x1"


@pytest.mark.parametrize("display", [BandDisplay, CoverageDisplay])
def test_only_fitted_band_regressors_are_drawn(display, one_input):
    _, X, y = one_input
    with pytest.raises(NotFittedError):
        display.from_estimator(BandRegressor(None), X, y)
    with pytest.raises(TypeError, match="must be a BandRegressor, got LinearRegression: put other"):
        display.from_estimator(LinearRegression().fit(X, y), X, y)


# CoverageDisplay


def test_coverage_by_level_is_what_the_metric_counts(one_input):
    model, X, y = one_input
    levels = [0.3, 0.6, 0.9]
    display = CoverageDisplay.from_estimator(model, X, y, levels=levels)
    counted = coverage(y, model.predict_interval(X, levels))
    points, _, (bars,) = display.errorbar_
    np.testing.assert_array_equal(points.get_xdata(), levels)
    np.testing.assert_allclose(points.get_ydata(), counted)
    np.testing.assert_allclose(ends_of(bars)[1], display.bounds)
    np.testing.assert_array_equal(display.target_.get_xydata(), [[0, 0], [1, 1]])


def test_bounds_are_those_of_clopper_and_pearson():
    intervals = np.tile([-1.0, 1.0], (40, 1))
    y = np.repeat([0.0, 2.0], [30, 10])
    display = CoverageDisplay.from_predictions(y, intervals, levels=0.9)
    assert display.coverage == [0.75]
    expected = [beta.ppf(0.025, 30, 11), beta.ppf(0.975, 31, 10)]
    np.testing.assert_allclose(display.bounds, [expected], rtol=1e-6)


def test_coverage_by_width_has_the_bins_of_the_metric(several_inputs):
    model, X, y = several_inputs
    display = CoverageDisplay.from_estimator(model, X, y, kind="width", n_bins=4)
    intervals = model.predict_interval(X, 0.9)
    assert display.coverage.min() == size_stratified_coverage(y, intervals, n_bins=4)
    assert display.n_rows.tolist() == [100] * 4
    assert display.coverage.mean() == pytest.approx(coverage(y, intervals))
    widths = np.ptp(intervals, axis=1)
    ticks = [tick.get_text() for tick in display.ax_.get_xticklabels()]
    assert ticks[0].startswith(f"{widths.min():.3g} –")
    assert ticks[-1].endswith(f"{widths.max():.3g}")
    assert set(display.target_.get_ydata()) == {0.9}


def test_coverage_by_cluster_has_the_gap_of_the_metric(several_inputs):
    model, X, y = several_inputs
    Z = ((X - X.mean()) / X.std(ddof=0)).to_numpy()
    display = CoverageDisplay.from_estimator(model, X, y, kind="cluster", random_state=3)
    gap = coverage_gap(Z, y, model.predict_interval(X, 0.9), 0.9, random_state=3)
    assert np.abs(display.coverage - 0.9).mean() == pytest.approx(gap)
    assert display.n_rows.sum() == 400
    assert len(display.n_rows) == 8
    ticks = [int(tick.get_text()) for tick in display.ax_.get_xticklabels()]
    assert ticks == sorted(display.n_rows, reverse=True)


@pytest.mark.parametrize("kind", ["level", "width", "cluster"])
def test_a_display_shows_the_numbers_of_the_evaluation(several_inputs, kind):
    model, X, y = several_inputs
    found = evaluate(model, X, y, random_state=3)
    parts = getattr(found, f"by_{kind}")
    levels = [part.level for part in parts] if kind == "level" else 0.9
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="a level of .* needs at least")
        display = CoverageDisplay.from_estimator(
            model, X, y, kind=kind, levels=levels, random_state=3
        )
    shown = np.column_stack([display.coverage, display.bounds]).tolist()
    assert sorted(shown) == sorted([part.coverage, *part.bounds] for part in parts)


def test_infinite_widths_are_a_bin_like_any_other():
    ends = np.ones(40)
    ends[30:] = np.inf
    intervals = np.stack([-ends, ends], axis=1)
    display = CoverageDisplay.from_predictions(
        np.full(40, 0.5), intervals, levels=0.9, kind="width", n_bins=4
    )
    display.figure_.canvas.draw()
    assert list(display.labels) == ["2", "∞"]
    assert display.n_rows.tolist() == [30, 10]


def test_groups_are_passed_to_the_model(one_input):
    _, X, y = one_input
    group = np.where(X[:, 0] < 0, "left", "right")
    model = fixed(calibration=None).fit(X, y).conformalize(X, y, groups=group)
    display = CoverageDisplay.from_estimator(model, X, y, levels=0.8, groups=group)
    assert display.coverage == coverage(y, model.predict_interval(X, [0.8], groups=group))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"kind": "size"}, "kind must be one of .*'pit'.*, got 'size'"),
        ({"kind": "width", "levels": LEVELS}, 'kind="width" shows one level, got 2'),
        ({"kind": "width", "n_bins": 0}, "n_bins must be from 1 to the number of rows"),
        ({"kind": "cluster", "n_clusters": 0}, "n_clusters must be from 1 to the number of rows"),
        ({"levels": [0.9, 1.0]}, r"levels must be in \(0, 1\), got 1.0"),
    ],
)
def test_a_wrong_argument_of_coverage_is_named(one_input, given, message):
    model, X, y = one_input
    with pytest.raises(ValueError, match=message):
        CoverageDisplay.from_estimator(model, X, y, **given)


def test_predictions_that_do_not_fit_are_refused():
    y, intervals = np.zeros(30), np.tile([-1.0, 1.0], (30, 1))
    wrong = [
        (
            {"levels": LEVELS},
            r"intervals of 2 levels must have shape \(n, 2, 2\), got \(30, 2, 1\)",
        ),
        ({"levels": 0.9, "kind": "cluster"}, 'kind="cluster" needs the inputs, got none: give X'),
        (
            {"levels": 0.9, "kind": "cluster", "X": np.zeros((29, 1))},
            "inconsistent numbers of samples",
        ),
        (
            {"levels": 0.9, "kind": "cluster", "X": np.zeros((30, 1))},
            "clusters need at least 50 rows, got 30: give more, or n_clusters",
        ),
    ]
    for given, message in wrong:
        with pytest.raises(ValueError, match=message):
            CoverageDisplay.from_predictions(y, intervals, **given)


# TuningDisplay


def test_every_trial_is_a_point_in_both_panels(several_inputs):
    model, *_ = several_inputs
    display = TuningDisplay.from_estimator(model)
    trials = model.tuning_.trials
    for lines, what in (
        (display.criterion_lines_, "criterion"),
        (display.score_lines_, "interval_score"),
    ):
        drawn = sorted(tuple(point) for line in lines for point in line.get_xydata())
        assert drawn == sorted((min(t.lengthscale), getattr(t, what)) for t in trials)
    plans = {(trial.symmetric, trial.width_weight) for trial in trials}
    assert len(display.criterion_lines_) == len(plans) > 1
    looks = {(to_hex(l.get_color()), l.get_marker()) for l in display.criterion_lines_}
    assert len(looks) == len(plans)


def test_the_chosen_trial_is_ringed(one_input):
    model, *_ = one_input
    display = TuningDisplay.from_estimator(model)
    chosen = model.tuning_.chosen
    upper, lower = (ring.get_xydata().tolist() for ring in display.chosen_)
    assert upper == [[min(chosen.lengthscale), chosen.criterion]]
    assert lower == [[min(chosen.lengthscale), chosen.interval_score]]
    assert "chosen" in legend_of(display)


def test_the_panels_are_labelled(one_input, several_inputs):
    for (model, *_), label in (
        (one_input, "lengthscale"),
        (several_inputs, "shortest lengthscale"),
    ):
        display = TuningDisplay.from_estimator(model)
        upper, lower = display.axes_
        assert display.ax_ is upper
        assert upper.get_ylabel().startswith("HSIC")
        assert lower.get_ylabel().startswith("interval score")
        assert lower.get_xlabel() == f"{label} θᶠ"
        assert upper.get_xscale() == lower.get_xscale() == "log"


def test_lines_join_lengthscales_that_differ_in_size_alone():
    trials = pd.DataFrame(
        {
            "lengthscale": [(2.0, 4.0), (1.0, 2.0), (1.0, 1.0), (1.0, 3.0)],
            "width_weight": [10.0, 10.0, 30.0, 30.0],
            "symmetric": [True, True, True, False],
            "criterion": [0.1, 0.2, 0.3, 0.4],
            "interval_score": [4.0, 3.0, 2.0, 1.0],
            "chosen": [False, True, False, False],
        }
    )
    trials.loc[4] = [(3.0, 1.0), 30.0, True, 0.5, 5.0, False]
    display = TuningDisplay(trials=trials, criterion="hsic").plot()
    lines = {line.get_label(): line for line in display.criterion_lines_}
    assert {label: line.get_linestyle() for label, line in lines.items()} == {
        "b = 30, two-sided": "-",
        "b = 10, symmetric": "-",
        "b = 30, symmetric": "None",
    }
    assert lines["b = 10, symmetric"].get_xydata().tolist() == [[1.0, 0.2], [2.0, 0.1]]


def test_one_subplot_is_divided_and_two_are_used(one_input):
    model, *_ = one_input
    figure, (left, right) = plt.subplots(1, 2)
    upper, lower = TuningDisplay.from_estimator(model, ax=right).axes_
    inside = right.get_position()
    for part in (upper, lower):
        assert part.figure is figure
        assert inside.x0 <= part.get_position().x0 < inside.x1
    assert not left.has_data()
    _, pair = plt.subplots(2)
    assert TuningDisplay.from_estimator(model, ax=pair).axes_ == list(pair)
    with pytest.raises(ValueError, match="ax must be one subplot or two axes"):
        TuningDisplay.from_estimator(model, ax=plt.subplots(3)[1])


def test_a_model_without_tuning_has_no_tuning_to_draw(one_input):
    _, X, y = one_input
    with pytest.raises(ValueError, match=r'not tuned, .* fit with lengthscale="hsic"'):
        TuningDisplay.from_estimator(fixed().fit(X, y))
    with pytest.raises(NotFittedError):
        TuningDisplay.from_estimator(BandRegressor(None))


def test_the_diagram_of_a_model_stays_that_of_scikit_learn(one_input):
    model, *_ = one_input
    assert "sk-top-container" in model._repr_html_()


def test_shares_of_the_distribution_are_equal_where_it_is_right():
    model = regressor(symmetric=False, lengthscale=1.0, width_weight=20.0, random_state=0)
    model.fit(*case(1).sample(400, random_state=0))
    X, y = case(1).sample(2000, random_state=1)
    display = CoverageDisplay.from_estimator(model, X, y, kind="pit", n_bins=4, random_state=0)
    assert display.labels == ["0 –\n0.25", "0.25 –\n0.5", "0.5 –\n0.75", "0.75 –\n1"]
    assert display.coverage.sum() == pytest.approx(1)
    assert np.all(np.abs(display.coverage - 0.25) < 0.08)  # 120 calibration rows
    assert np.all(
        (display.bounds[:, 0] < display.coverage) & (display.coverage < display.bounds[:, 1])
    )
    assert display.ax_.get_ylabel() == "share of outputs"
    values = np.array([0.1, 0.3, 0.35, 0.9])
    assert CoverageDisplay.from_pit(values, n_bins=2).coverage.tolist() == [0.75, 0.25]
    with pytest.raises(ValueError, match="use from_pit"):
        CoverageDisplay.from_predictions(y, np.zeros((2000, 2)), levels=0.9, kind="pit")
    with pytest.raises(ValueError, match="n_bins must be"):
        CoverageDisplay.from_pit(values, n_bins=0)
    with pytest.raises(ValueError, match="groups are of no use here"):
        CoverageDisplay.from_estimator(model, X, y, kind="pit", groups=np.zeros(len(y)))
    model = BandRegressor(None, calibration=None, random_state=0).fit(X[:50], y[:50])
    with pytest.raises(NotFittedError, match="needs calibration rows"):
        CoverageDisplay.from_estimator(model, X, y, kind="pit")
