"""Paths and axes, against what they are meant to show."""

import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from sosbands import BandRegressor, TuningDisplay
from sosbands.datasets import case
from sosbands.evaluation import PredictedRows
from sosbands.evaluation.drawn_rows import DrawnRows
from sosbands.evaluation.tuning_path import SearchPicture, choice_in_words
from sosbands.report.charts import SIDE, Axis, Chart, tick_words, usual_range
from sosbands.report.pictures import band_chart, column_chart, level_chart, tuning_charts
from tests.regressors import regressor

UNIT = Axis("", 0.0, 1.0, ())


def chart():
    return Chart("a", UNIT, UNIT, height=1)


def corners(path):
    """The points of a path of straight lines, from 0 to 1, upwards."""
    points = np.array(re.findall(r"[ML](\d+) (\d+)", path), dtype=float) / SIDE
    return points * [1, -1] + [0, 1]


@pytest.fixture(scope="module")
def model():
    fitted = regressor(lengthscale=0.5, width_weight=50.0, symmetric=True, random_state=0)
    return fitted.fit(*case(1).sample(300, random_state=0))


@pytest.fixture(scope="module")
def drawn(model):
    X, y = case(1).sample(300, random_state=1)
    return DrawnRows.of(PredictedRows.of(model, X, y, confidence_level=0.9, random_state=0))


def test_a_line_and_an_area_have_gaps_where_a_value_is_infinite():
    x, y = np.linspace(0, 1, 5), np.array([0.0, 0.5, np.nan, 1.0, 0.25])
    assert chart().line(x, y) == "M0 1000L250 500M750 0L1000 750"
    ends = np.array([[0.0, 1.0], [0.0, np.inf], [0.2, 0.3]])
    assert chart().area(x[:3], ends).count("Z") == 2
    assert chart().boxes(x[:3], x[1:4], ends) == "M0 0H250V1000H0ZM500 700H750V800H500Z"


def test_values_beyond_an_axis_are_at_its_edge():
    assert UNIT.share(np.array([-3.0, 0.25, 7.0])).tolist() == [0, 0.25, 1]
    assert Axis("", 1.0, 100.0, (), log=True).share(10.0) == pytest.approx(0.5)


def test_dots_on_one_place_are_drawn_once():
    assert (
        chart().dots(np.array([0.5, 0.5, 1.0]), np.array([0.5, 0.5, 1.0])) == "M500 500h0M1000 0h0"
    )


def test_a_density_has_every_row_in_a_cell_and_darker_cells_have_more():
    rng = np.random.default_rng(0)
    x, y = rng.beta(2, 5, 5000), rng.random(5000)
    made = chart()
    made.add_rows(x, y, np.ones(5000, dtype=bool))
    shades = [layer for layer in made.layers if layer.look.startswith("shade")]
    assert 3 <= len(shades) <= 5
    means = []
    for layer in shades:
        cells = np.array(re.findall(r"M(\d+) (\d+)H(\d+)V(\d+)", layer.path), dtype=float) / SIDE
        counts = [
            np.sum((x >= a) & (x < c) & (1 - y >= b) & (1 - y < d)) for a, b, c, d in cells.tolist()
        ]
        means.append(np.mean(counts))
    assert means == sorted(means)


def test_many_rows_outside_are_thinned_and_the_legend_says_so():
    rng = np.random.default_rng(0)
    made = chart()
    made.add_rows(rng.random(2000), rng.random(2000), np.arange(2000) % 2 == 0)
    (missed,) = [layer for layer in made.layers if layer.look == "dot miss"]
    assert missed.path.count("M") <= 250
    assert ("dot miss", "row outside (one in 4 drawn)") in made.legend


def test_ticks_are_round_and_differ():
    axis = Axis.over("", 0.0, 7.3)
    assert [words for _, words in axis.ticks] == ["0", "2", "4", "6"]
    close = [1000.01, 1000.02, 1000.03]
    assert len(set(tick_words(close))) == 3
    dates = Axis.of_dates("", *(pd.Timestamp(t).timestamp() for t in ("2021-02-01", "2023-02-01")))
    assert len(dates.ticks) >= 3
    assert all(re.match(r"202\d", words) for _, words in dates.ticks)


def test_an_axis_shows_the_interval_and_nearly_all_errors():
    errors = np.append(np.linspace(-1, 1, 999), 1e6)
    low, high = usual_range(errors, np.tile([-2.0, 3.0], (1000, 1)))
    assert (low, high) == pytest.approx((-2, 3))
    assert usual_range(np.zeros(5), np.full((5, 2), np.inf)) == (0.0, 1.0)


def test_the_band_is_that_of_the_model(model, drawn):
    X, _ = case(1).sample(300, random_state=1)
    band = drawn.band_along(model, X)
    picture = band_chart(drawn, band, "y")
    paths = {layer.look: layer.path for layer in picture.layers}
    mean = corners(paths["line ink"])
    height = picture.y.high - picture.y.low
    expected = np.clip(model.predict(band.x[:, None]), picture.y.low, picture.y.high)
    np.testing.assert_allclose(mean[:, 1] * height + picture.y.low, expected, atol=height / 900)
    upper = corners(paths["band"])[: len(band.x), 1] * height + picture.y.low
    ends = model.predict_interval(band.x[:, None], 0.9)[:, 1]
    np.testing.assert_allclose(
        upper, np.clip(ends, picture.y.low, picture.y.high), atol=height / 900
    )


def test_levels_are_drawn_with_the_range_that_the_verdict_goes_by(drawn):
    evaluation = drawn.rows.evaluation()
    at = {part.level: part for part in evaluation.by_level}
    assert at[0.9].expected == evaluation.expected_coverage
    picture = level_chart(evaluation)
    outside = [
        part
        for part in evaluation.by_level
        if not part.expected[0] <= part.coverage <= part.expected[1]
    ]
    looks = [layer.look for layer in picture.layers]
    assert looks.count("range") == len(at)
    assert looks.count("dot big miss") == len(outside)
    assert looks.count("dot big hit") == len(at) - len(outside)


def test_the_report_draws_the_tuning_as_the_display_does():
    X, y = case(2, dimension=3).sample(120, random_state=0)
    fitted = BandRegressor(None, random_state=0).fit(X, y)
    display = TuningDisplay.from_estimator(fitted, ax=Figure().subplots(2))
    picture = SearchPicture.of(fitted.tuning_.to_frame(), fitted.tuning_.criterion)
    panels = zip(tuning_charts(picture), display.axes_, display.chosen_, strict=True)
    for made, panel, ring in panels:
        assert made.y.label.replace(", ", ",\n") == panel.get_ylabel()
        assert made.x.log == (panel.get_xscale() == "log")
        told = [layer.words for layer in made.layers if "tint" in layer.look and layer.words]
        assert len(told) == len(fitted.tuning_.trials)
        (place,) = {layer.path for layer in made.layers if layer.look == "dot ring"}
        assert place == made.dots(*map(np.asarray, ring.get_data()))


def test_a_choice_that_is_not_the_highest_is_explained():
    def trial(criterion, score):
        return SimpleNamespace(criterion=criterion, interval_score=score, symmetric=True)

    trials = trial(0.5, 2.0), trial(0.4, 2.2)
    averaged = SimpleNamespace(trials=trials, chosen=trial(0.45, 2.1), criterion="hsic")
    words = choice_in_words(averaged)
    assert "The ring is not the highest point" in words
    assert "10.0 % below the highest HSIC and 5.0 % above the lowest interval score" in words
    X, y = case(1).sample(60, random_state=0)
    published = BandRegressor.as_published(random_state=0).fit(X, y).tuning_
    assert choice_in_words(published) == "The ring is the candidate with the highest HSIC."


def test_a_value_far_from_all_others_does_not_stretch_an_axis():
    table = pd.DataFrame({"a": np.linspace(0, 1, 200), "b": np.linspace(1, 0, 200) ** 2})
    y = table["a"].to_numpy() + 0.1 * np.random.default_rng(0).normal(size=200)
    fitted = regressor(lengthscale=1.0, width_weight=50.0, symmetric=True, random_state=0)
    fitted.fit(table, y)
    table.loc[7, "a"] = 1000.0
    rows = PredictedRows.of(fitted, table, y, confidence_level=0.9, random_state=0)
    made = column_chart(DrawnRows.of(rows), 0, "error")
    assert made.x.high < 2
    assert ("", "rows at the edge lie beyond it") in made.legend
