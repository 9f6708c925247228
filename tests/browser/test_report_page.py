"""The report as its readers have it: in a browser, on wide and narrow screens, light and dark."""

import base64

import numpy as np
import pandas as pd
import pytest
from selenium.common.exceptions import JavascriptException

from sosbands import BandRegressor
from sosbands.datasets import case
from sosbands.report import write_report
from tests.regressors import regressor

QUICK = {"lengthscale": 0.5, "width_weight": 50.0, "symmetric": True, "random_state": 0}
HOSTILE = '</script><script>window.hacked = 1</script><img src=x onerror="window.hacked = 2">'
SCREENS = [(1200, "light"), (1200, "dark"), (400, "light"), (400, "dark")]
KINDS = ["one input", "tuned", "several inputs", "cv+", "infinite", "sixty rows"]


def several(n, seed):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({HOSTILE: rng.normal(size=n), "<b>%{x}</b>": rng.normal(size=n)})
    table["batch"] = rng.integers(0, 3, n)
    return table, np.exp(table[HOSTILE].to_numpy() / 2) * rng.normal(size=n)


def make(kind, path):
    old, new = case(1).sample(300, random_state=0), case(1).sample(800, random_state=1)
    if kind == "tuned":
        write_report(BandRegressor(None, random_state=0).fit(*old), *new, path)
    elif kind == "several inputs":
        model = regressor(**QUICK).fit(*several(300, 0))
        write_report(model, *several(500, 1), path, title=HOSTILE)
    elif kind == "cv+":
        write_report(regressor(**QUICK, calibration="cv+", cv=3).fit(*old), *new, path)
    elif kind == "infinite":
        model = regressor(**QUICK).fit(*several(40, 0))
        write_report(model, *several(300, 1), path, confidence_level=0.99)
    else:
        rows = slice(60) if kind == "sixty rows" else slice(None)
        write_report(regressor(**QUICK).fit(*old), new[0][rows], new[1][rows], path)


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    where = tmp_path_factory.mktemp("reports")
    for kind in KINDS:
        make(kind, where / f"{kind}.html")
    return where


@pytest.fixture
def address(folder):
    return lambda kind: (folder / f"{kind}.html").as_uri()


@pytest.mark.parametrize(("width", "scheme"), SCREENS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_picture_is_drawn_without_a_word_or_a_request(browser, address, kind, width, scheme):
    browser.open(address(kind), width=width, scheme=scheme)
    plots = browser.run("""
        return [...document.querySelectorAll("figure .chart")]
            .filter((place) => place.checkVisibility()).map((place) => {
                const box = place.querySelector("svg").getBoundingClientRect();
                const ticks = [...place.querySelectorAll(".xtick, .ytick")].map((tick) => {
                    const at = tick.getBoundingClientRect();
                    return Math.min(at.left, innerWidth - at.right);
                });
                return {
                    marks: place.querySelectorAll("path[d]").length,
                    width: box.width, room: place.clientWidth, outside: Math.min(...ticks),
                };
            })""")
    assert plots
    for plot in plots:
        assert plot["marks"] > 2, plot
        assert plot["width"] == pytest.approx(plot["room"], abs=2)
        assert plot["room"] > 200
        assert plot["outside"] >= 0, plot  # the words of every tick are on the screen
    assert browser.take_logs() == []
    assert browser.take_requests() == [address(kind)]


@pytest.mark.parametrize("kind", KINDS)
def test_the_first_screen_answers_the_questions(browser, address, kind):
    browser.open(address(kind), width=1200, height=900)
    bottoms = browser.run("""
        return [...document.querySelectorAll(".answer")].map(
            (card) => card.getBoundingClientRect().bottom)""")
    assert len(bottoms) == 3
    assert max(bottoms) < 900


def test_a_page_that_talks_and_asks_would_be_noticed(browser, tmp_path):
    page = tmp_path / "loud.html"
    page.write_text("<img src='http://127.0.0.1:9/x.png'><script>console.log('hello')</script>")
    browser.open(page.as_uri())
    assert any("hello" in line for line in browser.take_logs())
    assert browser.take_requests() == [page.as_uri(), "http://127.0.0.1:9/x.png"]


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_sticks_out_of_a_phone(browser, address, kind):
    browser.open(address(kind), width=390)
    assert browser.run("return document.documentElement.scrollWidth") == 390
    size = browser.run("return parseFloat(getComputedStyle(document.body).fontSize)")
    assert size >= 16


def test_a_web_server_is_asked_for_the_page_alone(browser, folder, served):
    with served(folder) as root:
        browser.open(f"{root}/tuned.html")
        assert browser.take_requests() == [f"{root}/tuned.html"]
        assert browser.take_logs() == []


def test_names_are_shown_as_they_are_and_run_nothing(browser, address):
    browser.open(address("several inputs"))
    assert browser.run("return window.hacked") is None
    assert browser.run("return document.scripts.length") == 0
    assert browser.run("return document.title") == HOSTILE
    axes = browser.run(
        'return [...document.querySelectorAll(".xlabel")].map((title) => title.textContent)'
    )
    assert "<b>%{x}</b>" in axes


def test_the_page_may_neither_reach_the_network_nor_run_scripts(browser, address):
    browser.open(address("one input"))
    with pytest.raises(JavascriptException, match="Failed to fetch"):
        browser.run('return fetch("http://127.0.0.1:9/").then(() => "reached")')
    browser.run("""
        const script = document.createElement("script");
        script.textContent = "window.hacked = 3";
        document.body.append(script)""")
    assert browser.run("return window.hacked") is None
    refused = browser.take_logs()
    for what in ("Connecting to", "inline script"):
        assert any(what in line and "Content Security Policy" in line for line in refused), refused


def test_dots_are_round_however_wide_the_picture_is(browser, address):
    for width in (1280, 390):
        browser.open(address("sixty rows"), width=width)
        look = browser.run("""
            const style = getComputedStyle(document.querySelector("#band path.dot.row"));
            return [style.strokeLinecap, style.vectorEffect]""")
        assert look == ["round", "non-scaling-stroke"]


def test_the_appendix_opens_with_its_pictures(browser, address):
    browser.open(address("tuned"))
    place = 'document.querySelector("#tuning .chart")'
    assert not browser.run(f"return {place}.checkVisibility()")
    browser.run('document.querySelector(".appendix > summary").click()')
    assert browser.run(f"return {place}.checkVisibility()")
    assert browser.take_logs() == []


def test_colours_follow_the_screen_and_paper_is_light(browser, address):
    ink = 'return getComputedStyle(document.querySelector("#band path.ink")).stroke'
    browser.open(address("one input"), scheme="light")
    light = browser.run(ink)
    browser.open(address("one input"), scheme="dark")
    assert browser.run(ink) != light
    assert (
        browser.run("return getComputedStyle(document.body).backgroundColor") == "rgb(15, 22, 29)"
    )
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert browser.run(ink) == light
    made = browser.driver.execute_cdp_cmd("Page.printToPDF", {})
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    assert base64.b64decode(made["data"]).startswith(b"%PDF")


def test_without_javascript_everything_is_there(browser, address):
    browser.open(address("one input"), scripts=False)
    text = browser.run("return document.body.innerText")
    assert "On average the intervals cover" in text
    assert "In regions of the inputs" in text
