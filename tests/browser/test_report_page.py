"""The report as its readers have it: in a browser, on wide and narrow screens, light and dark."""

import base64

import numpy as np
import pandas as pd
import pytest
from selenium.common.exceptions import JavascriptException
from selenium.webdriver import ActionChains

from sosbands import BandRegressor
from sosbands.datasets import case
from sosbands.report import write_report
from tests.regressors import regressor

QUICK = {"lengthscale": 0.5, "width_weight": 50.0, "symmetric": True, "random_state": 0}
HOSTILE = '</script><script>window.hacked = 1</script><img src=x onerror="window.hacked = 2">'
SCREENS = [(1280, "light"), (1280, "dark"), (390, "light"), (390, "dark")]
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
        return [...document.querySelectorAll("[data-figure]")].map((place) => ({
            name: place.dataset.figure,
            marks: place.querySelectorAll(".scatterlayer .trace path").length,
            width: place.querySelector(".main-svg").getBoundingClientRect().width,
            room: place.clientWidth,
        }))""")
    assert plots
    for plot in plots:
        assert plot["marks"] > 0, plot
        assert plot["width"] == pytest.approx(plot["room"], abs=2)
    assert browser.take_logs() == []
    assert browser.take_requests() == [address(kind)]


def test_a_page_that_talks_and_asks_would_be_noticed(browser, tmp_path):
    page = tmp_path / "loud.html"
    page.write_text(
        "<img src='http://127.0.0.1:9/x.png'>"
        "<script>console.log('hello'); document.documentElement.dataset.drawn = 1</script>"
    )
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
    assert browser.run("return document.scripts.length") == 3
    assert browser.run("return document.title") == HOSTILE
    axes = browser.run(
        'return [...document.querySelectorAll(".xtitle")].map((title) => title.textContent)'
    )
    assert "<b>%{x}</b>" in axes


def test_the_page_may_neither_reach_the_network_nor_run_other_scripts(browser, address):
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


def test_the_pointer_shows_values_and_drags_to_zoom(browser, address):
    browser.open(address("one input"))
    plot = browser.run('return document.querySelector("[data-figure=levels] .nsewdrag")')
    browser.run("arguments[0].scrollIntoView({block: 'center'})", plot)
    dot = browser.run(
        """
        const [first, all] = [".points path", ".nsewdrag"].map((part) =>
            document.querySelector(`[data-figure=levels] ${part}`).getBoundingClientRect());
        return [first.x + first.width / 2 - all.x - all.width / 2,
                first.y + first.height / 2 - all.y - all.height / 2]"""
    )
    ActionChains(browser.driver).move_to_element_with_offset(plot, *map(int, dot)).perform()
    label = 'return document.querySelector("[data-figure=levels] .hoverlayer").textContent'
    assert "asked 50\xa0%, observed" in browser.run(label)
    axis = 'return document.querySelector("[data-figure=levels]").layout.xaxis.range'
    before = browser.run(axis)
    drag = ActionChains(browser.driver).move_to_element_with_offset(plot, -80, -40)
    drag.click_and_hold().move_by_offset(100, 60).release().perform()
    after = browser.run(axis)
    assert before[0] < after[0] < after[1] < before[1]
    assert browser.take_logs() == []


def test_colours_follow_the_screen(browser, address):
    browser.open(address("one input"), scheme="light")
    ink = 'return document.querySelector("[data-figure=band]").layout.font.color'
    light = browser.run(ink)
    browser.run("delete document.documentElement.dataset.drawn")
    browser.screen(1280, 900, "dark")
    browser.wait_for_pictures()
    assert browser.run(ink) != light
    paper = browser.run("return getComputedStyle(document.body).backgroundColor")
    assert paper == "rgb(15, 22, 29)"


def test_paper_gets_light_pictures_that_fit_and_the_screen_its_own_again(browser, address):
    browser.open(address("one input"), scheme="dark")
    place = 'document.querySelector("[data-figure=band]")'
    dark = browser.run(f"return {place}.layout.font.color")
    browser.run(
        "addEventListener('beforeprint', () => { window.printed = "
        f"[{place}.layout.font.color, {place}.layout.width] }})"
    )
    browser.run("delete document.documentElement.dataset.drawn")
    made = browser.driver.execute_cdp_cmd("Page.printToPDF", {})
    assert base64.b64decode(made["data"]).startswith(b"%PDF")
    assert browser.run("return window.printed") == ["#1c2733", 660]
    browser.wait_for_pictures()
    assert browser.run(f"return {place}.layout.font.color") == dark


def test_without_javascript_the_numbers_are_there(browser, address):
    browser.open(address("one input"), scripts=False)
    text = browser.run("return document.body.innerText")
    assert "The pictures need JavaScript" in text
    assert "On average the intervals cover" in text
    assert "Coverage by region" in text
