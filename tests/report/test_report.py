"""The HTML report without a browser: what is in the file, and what must not be."""

import base64
import hashlib
import json
import re
import sys
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import polars as pl
import pytest
from matplotlib.figure import Figure
from plotly import graph_objects
from sklearn.linear_model import LinearRegression

from sosbands import BandRegressor, TuningDisplay
from sosbands.datasets import case
from sosbands.evaluation import evaluate
from sosbands.evaluation.tuning_path import SearchPicture
from sosbands.report import render_report, write_report
from sosbands.report.figures import tuning_figure
from sosbands.report.formats import count, number, one_line
from sosbands.report.traces import compact, ribbon
from tests.regressors import regressor

QUICK = {"lengthscale": 0.5, "width_weight": 50.0, "symmetric": True, "random_state": 0}
X, Y = case(1).sample(300, random_state=0)
X_NEW, Y_NEW = case(1).sample(500, random_state=1)
HOSTILE = (
    '</script><script>window.hacked = 1</script><img src=x onerror="hacked=2">',
    "<b>%{x}</b> & $1$ 'quoted' \"twice\"",
    'x" onmouseover="alert(1)',
)


class Named(LinearRegression):
    """A model whose description holds a text."""

    def __init__(self, text=""):
        super().__init__()
        self.text = text

    def __repr__(self):
        return f"Named(text={self.text!r})"


class Page(HTMLParser):
    """The elements of a page, with the text of its scripts."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.scripts, self.words = [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag == "script":
            self.scripts.append("")

    def handle_data(self, data):
        if self.tags and self.tags[-1][0] == "script" and self.cdata_elem == "script":
            self.scripts[-1] += data
        else:
            self.words.append(data)

    def all(self, tag):
        return [attributes for name, attributes in self.tags if name == tag]

    @property
    def text(self):
        return re.sub("[ \\n]+", " ", " ".join(self.words))  # other spaces are meant

    @property
    def figures(self):
        def refuse(constant):
            raise ValueError(f"{constant} is not JSON")

        found = json.loads(self.scripts[0], parse_constant=refuse)
        return {figure["name"]: figure for figure in found}


def several(n, seed, d=3, names=HOSTILE):
    """Rows of d inputs, the first of which makes the noise."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, d))
    columns = [*names, *(f"c{j}" for j in range(len(names), d))][:d]
    return pd.DataFrame(Z, columns=columns), Z[:, 1] + np.exp(Z[:, 0] / 2) * rng.normal(size=n)


@pytest.fixture(scope="module")
def model():
    return regressor(**QUICK).fit(X, Y)


@pytest.fixture(scope="module")
def page(model):
    return Page(render_report(model, X_NEW, Y_NEW))


@pytest.fixture(scope="module")
def hostile():
    model = regressor(**QUICK).fit(*several(300, 0))
    return Page(render_report(model, *several(400, 1), title="<i>A</i> & $b"))


def traces(page, figure):
    return {trace["name"]: trace for trace in page.figures[figure]["traces"]}


def test_the_page_refers_to_nothing_outside_itself(page):
    for _, attributes in page.tags:
        assert "src" not in attributes
        assert attributes.get("href", "#").startswith("#") or attributes["href"] == "data:,"
    style = " ".join(page.words)
    assert "url(" not in style
    assert "@import" not in style


def test_only_the_two_scripts_of_the_page_may_run(page):
    _, plotly, own = page.scripts
    (policy,) = [meta["content"] for meta in page.all("meta") if "http-equiv" in meta]
    hashes = [
        base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        for script in (plotly, own)
    ]
    assert re.findall(r"'sha256-([^']+)'", policy) == hashes
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "plotly.js v" in plotly[:50]


def test_names_of_columns_and_the_title_are_text(hostile):
    assert len(hostile.all("script")) == 3
    assert not [tag for tag, _ in hostile.tags if tag in ("img", "b", "i")]
    assert not [name for _, attributes in hostile.tags for name in attributes if name[:2] == "on"]
    assert "<i>A</i> & $b" in hostile.text
    titles = [f["layout"]["xaxis"]["title"]["text"] for f in hostile.figures.values()]
    assert any(title.startswith("&lt;b&gt;%{x}&lt;/b&gt; &amp;") for title in titles)
    assert not [title for title in titles if "<" in title]


@pytest.mark.parametrize("hostile_text", [*HOSTILE, "{{ 7 * 7 }} {% raw %}"])
def test_text_of_a_user_is_shown_as_it_is_wherever_it_stands(hostile_text):
    X, y = several(300, 0, d=2, names=(hostile_text, "b"))
    model = regressor(**QUICK, estimator=Named(hostile_text)).fit(X, y)
    page = Page(render_report(model, *several(200, 1, d=2, names=(hostile_text, "b"))))
    assert len(page.all("script")) == 3
    assert not [tag for tag, _ in page.tags if tag in ("img", "b", "i")]
    assert not [name for _, attributes in page.tags for name in attributes if name[:2] == "on"]
    short = one_line(hostile_text)
    headings = re.findall("Over (.*?) Each row is a dot", page.text)
    assert short in headings  # the name of a column
    assert any(short in box.get("aria-label", "") for box in page.all("div"))
    assert f"Named(text={hostile_text!r})"[:60] in page.text  # the value of a parameter


def test_no_two_elements_share_an_identifier(page, hostile):
    for each in (page, hostile):
        names = [attributes["id"] for _, attributes in each.tags if "id" in attributes]
        assert len(names) == len(set(names))


def test_every_picture_has_a_place_words_and_numbers(page, hostile):
    for each in (page, hostile):
        places = [div["data-figure"] for div in each.all("div") if "data-figure" in div]
        assert places == list(each.figures)
        assert len(each.all("figcaption")) == len(places)
        assert all(div["aria-label"] for div in each.all("div") if "data-figure" in div)
        assert each.all("figure") == [{"class": "card", "id": name} for name in places]
        assert len(each.all("table")) > len(places)


def test_plotly_knows_every_property_of_the_pictures(page, hostile):
    for each in (page, hostile):
        for figure in each.figures.values():
            known = graph_objects.Figure(data=figure["traces"], layout=figure["layout"])
            assert [trace.type for trace in known.data] == [
                trace.get("type", "scatter") for trace in figure["traces"]
            ]


def test_the_summary_says_what_was_asked_and_what_was_found(model, page):
    found = evaluate(model, X_NEW, Y_NEW)
    assert found.verdict in page.text
    assert f"{100 * found.coverage:.1f}\xa0%" in page.text
    assert number(found.mean_width) in page.text
    assert "at least 90\xa0% of new rows from the same source" in page.text


def test_the_band_is_that_of_the_model(model, page):
    shown = traces(page, "band")
    mean = shown["prediction"]
    grid = np.array(mean["x"])[:, None]
    np.testing.assert_allclose(mean["y"], model.predict(grid), atol=1e-3)
    for level in (0.5, 0.9):
        outline = np.array(shown[f"{100 * level:g}\xa0% interval"]["y"][:-1])
        ends = np.split(outline, 2)
        intervals = model.predict_interval(grid, level)
        np.testing.assert_allclose(ends[0], intervals[:, 1], atol=1e-3)
        np.testing.assert_allclose(ends[1][::-1], intervals[:, 0], atol=1e-3)


def test_covered_and_missed_rows_are_told_apart(model, page):
    shown = traces(page, "band")
    low, high = model.predict_interval(X_NEW, 0.9).T
    inside = (low <= Y_NEW) & (high >= Y_NEW)
    assert len(shown["covered"]["x"]) == inside.sum()
    np.testing.assert_allclose(np.sort(shown["missed"]["y"]), np.sort(Y_NEW[~inside]), atol=1e-4)
    assert shown["missed"]["marker"]["symbol"] != shown["covered"]["marker"]["symbol"]


def test_the_band_is_shaded_where_the_model_guesses(model):
    far = Page(render_report(model, np.concatenate([X_NEW, [[5.0]]]), np.append(Y_NEW, 0.0)))
    shapes = far.figures["band"]["layout"]["shapes"]
    right = max(shape["x1"] for shape in shapes)
    assert right > 5
    assert all(model.extrapolation([[(s["x0"] + s["x1"]) / 2]])[0] > 0.5 for s in shapes)
    assert "The rows furthest from the training rows" in far.text


def test_coverage_is_drawn_with_its_bounds(model, page):
    found = evaluate(model, X_NEW, Y_NEW)
    for name, parts in (
        ("levels", found.by_level),
        ("widths", found.by_width),
        ("clusters", found.by_cluster),
    ):
        observed = traces(page, name)["observed"]
        np.testing.assert_allclose(observed["y"], [part.coverage for part in parts], atol=1e-5)
        low = np.subtract(observed["y"], observed["error_y"]["arrayminus"])
        np.testing.assert_allclose(low, [part.bounds[0] for part in parts], atol=1e-4)


def test_the_input_that_makes_the_noise_comes_first():
    names = ("noise", "level", "nothing")
    model = regressor(**{**QUICK, "lengthscale": 1.0}).fit(*several(400, 0, names=names))
    page = Page(render_report(model, *several(400, 1, names=names)))
    assert list(page.figures)[:2] == ["sorted", "input-0"]


def test_many_inputs_give_four_pictures_and_say_so():
    model = regressor(**{**QUICK, "lengthscale": 3.0}).fit(*several(200, 0, d=100))
    page = Page(render_report(model, *several(200, 1, d=100)))
    assert len([name for name in page.figures if name.startswith("input-")]) == 4
    assert "Of 100 inputs, those are shown that the width depends on most" in page.text


def test_many_rows_are_thinned_and_the_page_says_so(model):
    rows = case(1).sample(30_000, random_state=2)
    text = render_report(model, *rows)
    page = Page(text)
    shown = traces(page, "band")
    assert len(shown["covered"]["x"]) + len(shown["missed"]["x"]) == 3000
    assert f"{count(30_000)} rows" in page.text
    assert f"{count(3000)} rows at most, chosen at random" in page.text
    assert len(text) - len(page.scripts[1]) < 300_000


def test_a_tuned_model_shows_every_trial_and_the_choice():
    model = BandRegressor(None, random_state=0).fit(X[:100], Y[:100])
    page = Page(render_report(model, X_NEW, Y_NEW))
    shown, chosen = page.figures["tuning"]["traces"], model.tuning_.chosen
    for axis, value in (("y", chosen.criterion), ("y2", chosen.interval_score)):
        *lines, ring = (trace for trace in shown if trace["yaxis"] == axis)
        assert sum(len(line["x"]) for line in lines) == len(model.tuning_.trials)
        assert ring["y"] == pytest.approx([value], rel=1e-4)


def test_the_report_draws_the_tuning_as_the_display_does():
    many, outputs = case(2, dimension=3).sample(120, random_state=0)
    for inputs, y in ((X[:100], Y[:100]), (many, outputs)):
        model = BandRegressor(None, random_state=0).fit(inputs, y)
        display = TuningDisplay.from_estimator(model, ax=Figure().subplots(2))
        figure = tuning_figure(SearchPicture.of(model.tuning_.to_frame(), model.tuning_.criterion))
        parts = zip(
            ("", "2"),
            display.axes_,
            (display.criterion_lines_, display.score_lines_),
            display.chosen_,
            strict=True,
        )
        for which, panel, lines, ring in parts:
            axis = figure.layout[f"yaxis{which}"]
            assert axis["title"]["text"].replace("<br>", "\n") == panel.get_ylabel()
            assert axis["type"] == panel.get_yscale()
            assert figure.layout["xaxis"]["type"] == panel.get_xscale()
            drawn = [trace for trace in figure.traces if trace["yaxis"] == f"y{which}"]
            for trace, line in zip(drawn, [*lines, ring], strict=True):
                assert trace["name"] == line.get_label()
                assert ("lines" in trace["mode"]) == (line.get_linestyle() == "-")
                assert trace["x"] == pytest.approx(line.get_xdata(), rel=1e-3)
                assert trace["y"] == pytest.approx(line.get_ydata(), rel=1e-3)
        assert figure.layout["xaxis"]["title"]["text"] == display.axes_[1].get_xlabel()


def test_a_model_that_was_not_tuned_says_so(page):
    assert "tuning" not in page.figures
    assert "The lengthscale was given" in page.text


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"calibration": "cv+", "cv": 3}, "in practice about 90"),
        ({"calibration": "localized"}, "from the same source"),
        ({"symmetric": False}, "two, not symmetric"),
        ({"estimator": LinearRegression()}, "estimator"),
    ],
    ids=["cv+", "localized", "two-sided", "estimator"],
)
def test_every_kind_of_model_has_a_page(parameters, sentence):
    model = regressor(**{**QUICK, **parameters}).fit(X, Y)
    page = Page(render_report(model, X_NEW, Y_NEW))
    assert list(page.figures) == ["band", "levels", "widths", "clusters", "unknown"]
    assert sentence in page.text


def test_infinite_intervals_are_said_and_left_out_of_the_pictures():
    model = regressor(**QUICK).fit(X[:40], Y[:40])
    page = Page(render_report(model, X_NEW, Y_NEW, confidence_level=0.99))
    assert "All intervals are infinite: 12 calibration rows or groups are too few" in page.text
    assert "∞" in page.text
    assert list(page.figures) == ["band", "levels"]
    assert "99\xa0% interval" not in traces(page, "band")


def test_intervals_of_equal_width_are_called_constant():
    model = regressor(**{**QUICK, "lengthscale": 1e6}).fit(*several(200, 0))
    flat = several(200, 1)[0] * 0.0
    page = Page(render_report(model, flat, several(200, 1)[1]))
    assert "All rows have the same width of the interval: the band does not adapt." in page.text
    assert "widths" not in page.figures


@pytest.mark.parametrize("n", [1, 2, 30, 60])
def test_few_rows_have_a_page(model, n):
    page = Page(render_report(model, X_NEW[:n], Y_NEW[:n]))
    assert ("widths" in page.figures) == (n >= 40)
    assert "too few rows to judge coverage by the region" in page.text


def test_a_column_of_a_polars_frame_has_a_band():
    model = regressor(**QUICK).fit(pl.DataFrame({"dose": X[:, 0]}), Y)
    page = Page(render_report(model, pl.DataFrame({"dose": X_NEW[:, 0]}), Y_NEW))
    assert page.figures["band"]["layout"]["xaxis"]["title"]["text"] == "dose"


def test_the_same_rows_give_the_same_page(model):
    assert render_report(model, X_NEW, Y_NEW) == render_report(model, X_NEW, Y_NEW)


def test_the_file_is_the_page(model, tmp_path):
    write_report(model, X_NEW, Y_NEW, tmp_path / "a.html", title="Ärger", confidence_level=0.8)
    page = render_report(model, X_NEW, Y_NEW, title="Ärger", confidence_level=0.8)
    assert (tmp_path / "a.html").read_text(encoding="utf-8") == page
    assert [path.name for path in tmp_path.iterdir()] == ["a.html"]


def test_a_failure_leaves_the_old_file_and_nothing_else(model, tmp_path, monkeypatch):
    target = tmp_path / "a.html"
    target.write_text("old")

    def fail(source, target):
        raise OSError("the disk is full")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(OSError, match="the disk is full"):
        write_report(model, X_NEW, Y_NEW, target)
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("a.html", "old")]


def test_a_link_to_an_old_page_stays_a_link(model, tmp_path):
    (tmp_path / "real.html").write_text("old")
    (tmp_path / "link.html").symlink_to(tmp_path / "real.html")
    write_report(model, X_NEW, Y_NEW, tmp_path / "link.html")
    assert (tmp_path / "link.html").is_symlink()
    assert (tmp_path / "real.html").read_text(encoding="utf-8").startswith("<!doctype html>")


@pytest.mark.parametrize(("path", "fault"), [(".", "is a folder"), ("no/a.html", "does not exist")])
def test_a_path_that_cannot_be_a_file_is_refused_before_any_work(tmp_path, path, fault):
    with pytest.raises(OSError, match=fault):
        write_report(BandRegressor(None), X, Y, tmp_path / path)


def test_half_a_surrogate_pair_in_the_title_can_be_written(model, tmp_path):
    write_report(model, X_NEW, Y_NEW, tmp_path / "a.html", title="a\ud800b")
    assert "<h1>a&#55296;b</h1>" in (tmp_path / "a.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("module", ["plotly.offline", "jinja2"])
def test_an_absent_package_is_named_with_its_extra(model, monkeypatch, module):
    monkeypatch.setitem(sys.modules, module, None)
    name = module.partition(".")[0]
    with pytest.raises(
        ImportError, match=rf'^a report needs {name}: pip install "sosbands\[report\]"$'
    ):
        render_report(model, X_NEW, Y_NEW)


def test_rounding_keeps_small_differences_of_large_numbers():
    values = 1.6e9 + np.array([0.0, 0.25, 0.5, np.nan, np.inf])
    assert compact(values) == [1.6e9, 1.6e9 + 0.25, 1.6e9 + 0.5, None, None]


def test_a_band_has_a_gap_where_it_is_infinite():
    ends = np.array([[0.0, 1.0], [0.0, np.inf], [2.0, 3.0]])
    made = ribbon(np.arange(3.0), ends, "", "")
    assert made["x"] == [0, 0, None, 2, 2, None]
    assert made["y"] == [1, 0, None, 3, 2, None]


def test_numbers_are_short_and_names_too():
    shown = [number(v) for v in (None, np.nan, np.inf, -np.inf, -2.0, 0.123456, 1e9)]
    assert shown == ["–", "–", "∞", "−∞", "−2", "0.1235", "1e+09"]
    assert one_line("a\n b" + 50 * "c") == "a b" + 36 * "c" + "…"
    assert one_line("  ") == "(no name)"
