"""Every block of every page is run, in the order of the page, and prints what the page shows.

Blocks of Python share their names, as in a notebook; the ``text`` block right after one is what it
prints, and one without prints nothing. Of a ``console`` block the lines that start with ``$`` are
run by a shell, and the lines below are their standard output. All blocks of a page share a folder,
empty at first. A ``…`` in an output stands for any text within its line, such as seconds. Commands
in SET_UP install things or take minutes: they are not run, and show no output. Warnings are errors.
"""

import contextlib
import importlib
import io
import re
import runpy
import subprocess
import sys
from dataclasses import dataclass
from inspect import signature
from pathlib import Path

import numpy as np
import pytest

import sosbands
from sosbands import BandRegressor, KernelBand, KernelMean, datasets, dependence, metrics
from sosbands.cli import commands

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
PAGES = [page for page in PAGES if not {"_build", "generated", "auto_examples"} & {*page.parts}]
FRAGMENTS = [page for page in PAGES if page.parent.name == "paper"]
SET_UP = {
    "make demo",
    "make test",
    "make paper",
    "make paper-full",
    "make bench",
    "pip install .",
    'pip install ".[report]"',
}


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, and the line where the text starts."""

    language: str
    text: str
    line: int


def blocks(page):
    text = page.read_text()
    return [
        Block(found[1], found[2], text[: found.start(2)].count("\n"))
        for found in re.finditer(r"^```(\S*)[^\n]*\n(.*?)^```$", text, flags=re.DOTALL | re.M)
    ]


def name(page):
    return str(page.relative_to(ROOT))


def pages_with(*languages):
    return [page for page in PAGES if {*languages} & {block.language for block in blocks(page)}]


def shows(expected, printed):
    """Whether an output is the one shown, … standing for any text within a line."""
    parts = re.split("…", "\n".join(line.rstrip() for line in expected.strip().splitlines()))
    pattern = ".*".join(map(re.escape, parts))
    actual = "\n".join(line.rstrip() for line in printed.strip().splitlines())
    return re.fullmatch(pattern, actual) is not None


def run_python(block, names, page):
    """What a block prints; tracebacks point into the page."""
    code = compile("\n" * block.line + block.text, name(page), "exec")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, names)
    return printed.getvalue()


def console_parts(block):
    """Commands with the output below each."""
    parts = re.split(r"^\$ ", block.text, flags=re.M)
    assert not parts[0].strip(), f"a console block must start with a command: {block.text}"
    for part in parts[1:]:
        command, _, output = part.partition("\n")
        yield re.split(r"\s{2,}# ", command)[0].strip(), output


def run_console(command):
    """What a shell prints, with the command of this very installation."""
    called = f'sosbands() {{ "{sys.executable}" -m sosbands.cli "$@"; }}\n{command}'
    done = subprocess.run(["bash", "-c", called], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("page", pages_with("python", "console"), ids=name)
def test_examples_print_what_the_page_shows(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    names = {"__name__": "__main__"}
    found = blocks(page)
    for block, after in zip(found, [*found[1:], Block("", "", 0)], strict=True):
        place = f"{name(page)}:{block.line + 1}"
        if block.language == "python":
            expected = after.text if after.language == "text" else ""
            printed = run_python(block, names, page)
            assert shows(expected, printed), f"{place} prints\n{printed}"
        elif block.language == "console":
            for command, output in console_parts(block):
                printed = "" if command in SET_UP else run_console(command)
                assert shows(output, printed), f"{place}, {command}, prints\n{printed}"


@pytest.mark.parametrize("page", FRAGMENTS, ids=name)
def test_commands_about_the_paper_run(page):
    for command in "".join(b.text for b in blocks(page) if not b.language).splitlines():
        assert command.startswith("python -m experiments --summary "), command  # it only reads
        done = subprocess.run(
            [sys.executable, *command.split()[1:]], cwd=ROOT, capture_output=True, check=False
        )
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_a_page_has_no_block_that_is_not_run(page):
    last = ""
    known = ("python", "console", "text", *([""] if page in FRAGMENTS else []))
    for block in blocks(page):
        assert block.language.startswith("{") or block.language in known, block
        assert block.language != "text" or last == "python", f"what printed this? {block}"
        last = block.language


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_between_files_lead_somewhere(page):
    links = re.findall(r"\]\((?!https?:|#|auto_examples/)([^)#\s]+)", page.read_text())
    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_make_targets_that_a_page_names_exist(page):
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.M))
    named = set(re.findall(r"(?:`|\$ )make ([a-z-]+)", page.read_text()))
    assert named <= targets


def test_every_command_is_shown_at_work():
    shown = " ".join(
        block.text for page in PAGES for block in blocks(page) if block.language == "console"
    )
    assert [command for command in commands.commands if f"$ sosbands {command}" not in shown] == []


def test_the_reference_lists_every_public_name():
    listed = (ROOT / "docs" / "api.md").read_text().split()
    public = [*sosbands.__all__]
    for module in (datasets, dependence, metrics):
        public += [f"{module.__name__.removeprefix('sosbands.')}.{part}" for part in module.__all__]
    again = {"metrics.hsic", "metrics.mutual_information"}  # those of dependence
    assert sorted(set(public) - again - set(listed)) == []


def test_the_readme_shows_the_comparison_that_is_stored(tmp_path):
    script = runpy.run_path(str(ROOT / "docs" / "readme_table.py"))
    readme = (ROOT / "README.md").read_text()
    assert script["BEGIN"] in readme
    assert script["rewritten"](readme, script["SUMMARY"]) == readme
    other = tmp_path / "summary.csv"
    other.write_text(
        "method,ranked,sets,interval_score_ratio,coverage_gap_ratio,fit_seconds_ratio,group,level\n"
        "sosbands,True,9,1.125,1.012,41.4,other,0.9\nsosbands,True,9,3,1.2,4,other,0.8\n"
        "boosted_split,True,8,1,1,1,development,0.9\nvariant,False,9,1,1,1,other,0.9\n"
    )
    made = script["rewritten"](readme, other)
    assert "| sosbands, as it comes | 1.12 | 1.01 | 41 |" in made
    assert "best of 1 methods, on average over 9 tables" in made
    assert "constant width (MAPIE) |" not in made


def test_the_table_of_the_readme_can_be_read_in_ten_seconds():
    readme = (ROOT / "README.md").read_text()
    script = runpy.run_path(str(ROOT / "docs" / "readme_table.py"))
    shown = readme.partition(script["BEGIN"])[2].partition(script["END"])[0]
    lines = [line for line in shown.splitlines() if line.startswith("|")]
    assert len(lines) == 2 + 7  # the head, the rule, seven methods
    assert {line.count("|") for line in lines} == {1 + 4}  # a name and three columns


def test_the_words_under_the_picture_are_true():
    script = (ROOT / "docs" / "images" / "band.py").read_text()
    names = {}
    exec(script.partition("figure = ")[0], names)  # the model and the rows, without drawing
    model, X, y = (names[name] for name in ("model", "X_new", "y_new"))
    intervals = model.predict_interval(X, 0.9)
    inside = int(np.sum((intervals[:, 0] <= y) & (y <= intervals[:, 1])))
    caption = re.search(
        r"400 new ones: (\d+) of them, ([\d.]+) %", (ROOT / "README.md").read_text()
    )
    assert (int(caption[1]), float(caption[2])) == (inside, 100 * inside / 400)
    width = np.ptp(model.predict_interval([[-0.95], [0.0], [0.95]], 0.9), axis=1)
    assert width[1] < 0.6 * min(width[0], width[2])  # narrow in the middle, wide at both ends
    truth = np.ptp(names["truth"].interval([[-0.95]], 0.9), axis=1)
    assert width[0] > truth  # somewhat wider at the left


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_cells_of_tables_are_short(page):
    rows = [line for line in page.read_text().splitlines() if line.startswith("|")]
    cells = [cell for row in rows for cell in re.split(r"(?<!\\)\|", row)[1:-1]]
    assert [cell for cell in cells if len(cell.split()) >= 40] == []


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_a_page_says_something_to_those_who_do_not_build_it(page):
    words = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.DOTALL | re.M).split()
    assert len(words) > 20


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_pictures_have_words_for_those_who_do_not_see_them(page):
    for words in re.findall(r"!\[([^\]]*)\]", page.read_text()):
        assert len(words.split()) > 5


@pytest.mark.parametrize("part", [BandRegressor, KernelBand, KernelMean])
def test_every_parameter_of_a_model_and_its_parts_is_explained(part):
    settings = (ROOT / "docs" / "settings.md").read_text()
    assert [each for each in signature(part).parameters if f"`{each}`" not in settings] == []


def test_names_in_the_reference_are_there():
    listed = re.findall(r"^   ([A-Za-z_][\w.]*)$", (ROOT / "docs" / "api.md").read_text(), re.M)
    assert len(listed) > 40
    for each in listed:
        module, _, attribute = f"sosbands.{each}".rpartition(".")
        assert hasattr(importlib.import_module(module), attribute), each


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_code_that_a_page_quotes_is_there(page):
    quoted = r"^```\{literalinclude\} (\S+)\n(?::language: python\n)?:pyobject: (\S+)$"
    for path, part in re.findall(quoted, page.read_text(), re.M):
        source = (page.parent / path).resolve().relative_to(ROOT / "src").with_suffix("")
        found = importlib.import_module(".".join(source.parts))
        for attribute in part.split("."):
            found = getattr(found, attribute)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_files_of_the_package_that_a_page_names_are_there(page):
    folders = "core|conformal|learning|evaluation|plotting|report|persistence|cli"
    named = re.findall(rf"`((?:{folders})/[\w/]+\.py)`", page.read_text())
    assert [path for path in named if not (ROOT / "src" / "sosbands" / path).exists()] == []
