"""The HTML report without a browser: what is in the file, and what must not be."""

import datetime
import re
import sys
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from sosbands import BandRegressor
from sosbands.datasets import case
from sosbands.evaluation import evaluate
from sosbands.report import render_report, write_report
from sosbands.report.formats import count, number, one_line, without_unit
from tests.regressors import regressor

QUICK = {"lengthscale": 0.5, "width_weight": 50.0, "symmetric": True, "random_state": 0}
X, Y = case(1).sample(300, random_state=0)
X_NEW, Y_NEW = case(1).sample(500, random_state=1)
HOSTILE = (
    '</script><script>window.hacked = 1</script><img src=x onerror="hacked=2">',
    "<b>%{x}</b> & $1$ 'quoted' \"twice\"",
    'x" onmouseover="alert(1)',
)
KNOWN_TAGS = re.compile(
    "html|head|meta|link|title|style|body|header|main|footer|section|details|summary|figure|"
    "figcaption|h[123]|p|span|small|strong|b|i|div|ul|li|table|caption|thead|tbody|tr|th|td|svg|"
    "path|rect"
)


class Named(LinearRegression):
    """A model whose description holds a text."""

    def __init__(self, text=""):
        super().__init__()
        self.text = text

    def __repr__(self):
        return f"Named(text={self.text!r})"


class Page(HTMLParser):
    """The elements of a page, and its words."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.words, self.details, self.shown = [], [], 0, []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self.details += tag == "details"

    def handle_endtag(self, tag):
        self.details -= tag == "details"

    def handle_data(self, data):
        if self.cdata_elem == "style":
            self.style = data
            return
        self.words.append(data)
        if not self.details:
            self.shown.append(data)

    def all(self, tag):
        return [attributes for name, attributes in self.tags if name == tag]

    @property
    def text(self):
        return re.sub("[ \n]+", " ", " ".join(self.words))

    @property
    def open_text(self):
        """What is read before anything is opened."""
        return re.sub("[ \n]+", " ", " ".join(self.shown))

    @property
    def figures(self):
        return [figure["id"] for figure in self.all("figure")]


def several(n, seed, d=3, names=HOSTILE):
    """Rows of d inputs, the first of which makes the noise."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, d))
    columns = [*names, *(f"c{j}" for j in range(len(names), d))][:d]
    return pd.DataFrame(Z, columns=columns), Z[:, 1] + np.exp(Z[:, 0] / 2) * rng.normal(size=n)


def homes(n, seed, *, loft=1.0):
    """Numbers, categories and dates; `loft` multiplies the noise of one category."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "area": rng.uniform(40, 200, n),
            "kind": rng.choice(["flat", "house", "loft"], n, p=[0.6, 0.3, 0.1]),
            "sold": pd.Timestamp("2021-03-01") + pd.to_timedelta(rng.integers(0, 800, n), unit="D"),
        }
    )
    noise = np.where(table["kind"] == "loft", loft, 1.0) * table["area"] / 5
    price = 3 * table["area"] + noise * rng.normal(size=n)
    return table, price.rename("price (EUR)")


def harmless(page):
    """Whether no text has become markup: known elements alone, no handler, nothing that runs."""
    handlers = [name for _, given in page.tags for name in given if name.startswith("on")]
    return all(KNOWN_TAGS.fullmatch(tag) for tag, _ in page.tags) and not handlers


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


@pytest.fixture(scope="module")
def homes_page():
    model = regressor(**{**QUICK, "lengthscale": 2.0}).fit(*homes(500, 0))
    return Page(render_report(model, *homes(800, 1), source="homes.csv"))


def test_the_page_refers_to_nothing_outside_itself_and_runs_nothing(page, homes_page):
    for each in (page, homes_page):
        assert harmless(each)
        for _, attributes in each.tags:
            assert "src" not in attributes
            assert attributes.get("href", "data:,") == "data:,"
        assert "url(" not in each.style
        assert "@import" not in each.style
    (policy,) = [meta["content"] for meta in page.all("meta") if "http-equiv" in meta]
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline';")
    assert "script" not in policy


def test_names_of_columns_and_the_title_are_text(hostile):
    assert harmless(hostile)
    assert "<i>A</i> & $b" in hostile.text
    assert one_line(HOSTILE[1]) in hostile.text


@pytest.mark.parametrize("text", [*HOSTILE, "{{ 7 * 7 }} {% raw %}", "{0} {} %s"])
def test_text_of_a_user_is_shown_as_it_is_wherever_it_stands(text):
    table, y = several(300, 0, d=2, names=(text, "b"))
    new, y_new = several(200, 1, d=2, names=(text, "b"))
    kinds = np.where(np.arange(300) % 3 == 0, text, "plain")
    model = regressor(**QUICK, estimator=None).fit(table.assign(kind=kinds), y)
    page = Page(
        render_report(
            model,
            new.assign(kind=kinds[:200]),
            y_new + 9 * (kinds[:200] == text),  # so that the summary names the category
            title=text,
            target=text,
            source=text,
            held_out=text,
        )
    )
    assert harmless(page)
    short = one_line(text)
    assert page.text.count(short) >= 6
    assert f"Rows with kind = {short}" in page.text or f"Rows with kind = {text}" in page.text
    assert f"Over {short}" in page.text


def test_the_description_of_a_model_is_text():
    model = regressor(**QUICK, estimator=Named(HOSTILE[0])).fit(X, Y)
    page = Page(render_report(model, X_NEW, Y_NEW))
    assert harmless(page)
    assert f"Named(text={HOSTILE[0]!r})"[:60] in page.text


def test_the_page_names_target_file_day_rows_and_version(model):
    day = datetime.date(2026, 3, 4)
    page = Page(
        render_report(
            model,
            X_NEW,
            Y_NEW,
            target="load [kW]",
            source="plant.csv",
            held_out="the last 500 rows",
            date=day,
        )
    )
    assert "Prediction intervals for load [kW]" in page.text
    assert f"plant.csv · {count(500)} rows · 4 March 2026 · sosbands " in page.text
    assert "predicts load and says" in page.text
    assert "judge that on the last 500 rows" in page.text
    found = evaluate(model, X_NEW, Y_NEW)
    assert f"{number(found.median_width, 3)}\xa0kW" in page.text


def test_the_name_of_a_series_is_the_target(homes_page):
    assert "Prediction intervals for price (EUR)" in homes_page.text
    assert "The model predicts" not in homes_page.text
    assert re.search(r"area = \d+", homes_page.text)


def test_the_first_screen_is_in_plain_words(page):
    start = page.open_text.split("What they look like")[0]
    for heading in ("How often did they hold?", "How wide are they?", "Where not to trust them"):
        assert heading in start
    for word in ("HSIC", "φ", "certificate", "gap", "lengthscale", "λ"):
        assert word not in start


def test_what_only_experts_read_is_in_an_appendix_that_is_closed(page):
    assert not [given for given in page.all("details") if "open" in given]
    for word in ("HSIC", "gap", "All parameters", "dual value"):
        assert word.lower() not in page.open_text.lower().split("appendix")[0]
        assert word.lower() in page.text.lower()


def test_the_summary_says_what_was_asked_and_what_was_found(model, page):
    found = evaluate(model, X_NEW, Y_NEW)
    assert found.verdict.replace(" %", "\xa0%") in page.text
    assert f"{100 * found.coverage:.1f}\xa0%" in page.text
    assert number(found.median_width, 3) in page.text
    assert "at least 90\xa0% of new rows from the same source" in page.text


def test_no_two_elements_share_an_identifier(page, hostile, homes_page):
    for each in (page, hostile, homes_page):
        names = [attributes["id"] for _, attributes in each.tags if "id" in attributes]
        assert len(names) == len(set(names))


def test_every_picture_has_words(page, hostile, homes_page):
    for each in (page, hostile, homes_page):
        assert len(each.all("figcaption")) == len(each.figures)
        pictures = [svg for svg in each.all("svg") if svg.get("role") == "img"]
        assert all(svg["aria-label"] for svg in pictures)


def test_categories_and_dates_have_their_names(homes_page):
    assert "column-1" in homes_page.figures
    for name in ("flat", "house", "loft"):
        assert name in homes_page.open_text
    assert re.search(r"sold ≈ 202\d-\d\d-\d\d", homes_page.text)
    assert "is missing" not in homes_page.text
    assert "kind = flat ≈" not in homes_page.text


def test_a_category_that_is_not_covered_is_named_on_the_first_screen():
    model = regressor(**{**QUICK, "lengthscale": 2.0}).fit(*homes(500, 0))
    bad = Page(render_report(model, *homes(800, 1, loft=6.0)))
    start = bad.open_text.split("What they look like")[0]
    assert "Rows with kind = loft: only " in start
    assert "But not everywhere." in start or "too few rows" in start


def test_the_input_that_makes_the_noise_comes_first():
    names = ("noise", "level", "nothing")
    model = regressor(**{**QUICK, "lengthscale": 1.0}).fit(*several(400, 0, names=names))
    page = Page(render_report(model, *several(400, 1, names=names)))
    assert page.figures[:2] == ["sorted", "column-0"]
    widest = page.text.partition("The widest tenth of the intervals")[2].split("Row ")[0]
    assert re.match(r".*?usual [\d.]+ noise \+", widest)


def test_the_parts_of_a_width_add_up_to_it(homes_page):
    cards = re.findall("Row \\S+: ([^\xa0]+)\xa0EUR wide(.*?)(?=Row|Appendix)", homes_page.text)
    assert len(cards) == 4
    for width, text in cards:
        listed = text.partition("true value")[2].partition(" .")[2] or text.partition(". ")[2]
        parts = re.findall(r" ([+−]?[\d.\u202f]+)(?= |$)", re.sub(r"= \S+", "", listed))
        total = sum(float(p.replace("−", "-").replace("\u202f", "")) for p in parts)
        assert total == pytest.approx(float(width.replace("\u202f", "")), rel=0.02)


def test_many_inputs_give_four_pictures_and_say_so():
    model = regressor(**{**QUICK, "lengthscale": 3.0}).fit(*several(200, 0, d=40))
    page = Page(render_report(model, *several(200, 1, d=40)))
    assert len([name for name in page.figures if name.startswith("column-")]) == 4
    assert "Of 40 columns, those follow that the width depends on most" in page.text


def test_ten_thousand_rows_become_densities_in_less_than_two_megabytes():
    model = regressor(**{**QUICK, "lengthscale": 2.0}).fit(*homes(500, 0))
    text = render_report(model, *homes(10_000, 1))
    assert len(text.encode()) < 500_000
    looks = {path["class"] for path in Page(text).all("path")}
    assert {"shade s1", "shade s5"} <= looks
    assert "dot row" not in looks


def test_few_rows_are_dots(page, model):
    few = Page(render_report(model, X_NEW[:200], Y_NEW[:200]))
    assert "dot row" in {path["class"] for path in few.all("path")}
    assert "dot row" not in {path["class"] for path in page.all("path")}
    assert any(path["class"].startswith("shade") for path in page.all("path"))


def test_the_band_is_shaded_where_the_model_guesses(model, page):
    far = Page(render_report(model, np.concatenate([X_NEW, [[5.0]]]), np.append(Y_NEW, 0.0)))
    assert "far" in {path["class"] for path in far.all("path")}
    assert "The rows furthest from the training rows" in far.text
    assert f"1 of {count(501)} rows is unlike all training rows" in far.open_text


def test_a_tuned_model_shows_every_trial_and_why_it_was_chosen():
    model = BandRegressor(None, random_state=0).fit(X[:100], Y[:100])
    page = Page(render_report(model, X_NEW, Y_NEW))
    assert "tuning" in page.figures
    table = page.text.partition("Every trial of the tuning")[2].partition("Certificate")[0]
    for trial in model.tuning_.trials:
        assert number(trial.interval_score) in table
    assert "The ring is" in page.text


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
    assert page.figures == ["band", "levels", "widths", "distances", "regions"]
    assert sentence in page.text


def test_infinite_intervals_are_said_and_left_out_of_the_pictures():
    model = regressor(**QUICK).fit(X[:40], Y[:40])
    page = Page(render_report(model, X_NEW, Y_NEW, confidence_level=0.99))
    assert "All intervals are infinite: 12 calibration rows or groups are too few" in page.text
    assert "∞" in page.text
    assert page.figures == ["band", "levels"]
    assert "99\xa0% interval" not in page.text


def test_intervals_of_equal_width_are_called_constant():
    model = regressor(**{**QUICK, "lengthscale": 1e6}).fit(*several(200, 0))
    flat = several(200, 1)[0] * 0.0
    page = Page(render_report(model, flat, several(200, 1)[1]))
    assert "wide: they do not adapt to the row." in page.text
    assert "widths" not in page.figures


@pytest.mark.parametrize("n", [1, 2, 30, 60])
def test_few_rows_have_a_page(model, n):
    page = Page(render_report(model, X_NEW[:n], Y_NEW[:n]))
    assert ("widths" in page.figures) == (n >= 40)
    assert "too few to tell" in page.text


def test_a_column_of_a_polars_frame_has_a_band():
    model = regressor(**QUICK).fit(pl.DataFrame({"dose": X[:, 0]}), Y)
    page = Page(render_report(model, pl.DataFrame({"dose": X_NEW[:, 0]}), Y_NEW))
    assert "The intervals over dose" in page.text


def test_missing_values_and_a_column_of_one_value_have_a_page():
    table, y = homes(400, 0)
    table.loc[::4, "area"] = np.nan
    table.loc[::5, "kind"] = None
    table["same"] = 1.0
    model = regressor(**{**QUICK, "lengthscale": 2.0}).fit(table, y)
    page = Page(render_report(model, table, y))
    assert harmless(page)
    assert "column-3" not in page.figures


def test_the_same_rows_give_the_same_page_on_the_same_day(model):
    day = datetime.date(2026, 1, 1)
    first, second = (render_report(model, X_NEW, Y_NEW, date=day) for _ in range(2))
    assert first == second


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


def test_an_absent_package_is_named_with_its_extra(model, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(
        ImportError, match=r'^a report needs jinja2: pip install "sosbands\[report\]"$'
    ):
        render_report(model, X_NEW, Y_NEW)


def test_numbers_are_short_and_names_too():
    shown = [number(v) for v in (None, np.nan, np.inf, -np.inf, -2.0, 0.123456, 1e9, 245_123.7)]
    assert shown == ["–", "–", "∞", "−∞", "−2", "0.1235", "1e+09", "245\u202f100"]
    assert one_line("a\n b" + 50 * "c") == "a b" + 36 * "c" + "…"
    assert one_line("  ") == "(no name)"


def test_a_unit_stands_in_brackets_at_the_end_of_a_name():
    assert without_unit("price (EUR)") == ("price", "\xa0EUR")
    assert without_unit("load [kW]") == ("load", "\xa0kW")
    for name in ("price", "f(x) of y", "(EUR)", "x (a long remark in brackets)"):
        assert without_unit(name) == (name, "")


def test_inputs_that_a_transformer_makes_have_a_page():
    table, y = homes(300, 0)
    encoder = make_column_transformer(
        (OneHotEncoder(sparse_output=False), ["kind"]), ("passthrough", ["area"])
    )
    model = regressor(
        **{**QUICK, "lengthscale": 2.0},
        band_transformer=encoder,
        estimator=make_pipeline(encoder, LinearRegression()),
    )
    page = Page(render_report(model.fit(table, y), table, y))
    assert "onehotencoder__kind_flat" in page.text
    assert re.search(r"usual [\d.]+ area ", page.text)  # the parts of a width are columns of X


@pytest.mark.parametrize(
    "kind",
    [pl.from_pandas, pa.Table.from_pandas, lambda X: X],
    ids=["polars", "pyarrow", "pandas"],
)
def test_frames_of_every_library_have_a_page(kind):
    (old, y), (new, y_new) = homes(300, 0), homes(200, 1)
    model = regressor(**{**QUICK, "lengthscale": 2.0}).fit(kind(old), y)
    page = Page(render_report(model, kind(new), y_new))
    assert {"column-0", "column-1", "regions"} <= set(page.figures)


def test_lists_have_a_page(model):
    page = Page(render_report(model, X_NEW[:100].tolist(), Y_NEW[:100].tolist()))
    assert "band" in page.figures


def test_rows_far_from_the_data_that_are_not_covered_are_named_on_the_first_screen(model):
    middle = np.linspace(1.02, 1.06, 60)[:, None]  # beyond the training rows, not far beyond
    X_far, Y_far = np.concatenate([X_NEW, middle]), np.append(Y_NEW, np.full(60, 50.0))
    page = Page(render_report(model, X_far, Y_far))
    start = page.open_text.split("What they look like")[0]
    assert re.search(r"Rows (not close to any|unlike all) training rows?: only ", start)
