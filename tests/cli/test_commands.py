import json
import re
import shlex
import sys
from pathlib import Path

import pytest

from sosbands import load
from sosbands.cli import commands
from sosbands.evaluation import evaluate
from sosbands.persistence import describe
from tests.cli.conftest import rows

NAMES = ["demo", "fit", "predict", "evaluate", "report", "calibrate", "compare", "info"]


def test_help_lists_every_command_in_the_order_of_use(sosbands):
    shown = sosbands("--help").stdout
    places = [shown.index(f"\n  {name} ") for name in NAMES]
    assert places == sorted(places)
    assert sorted(NAMES) == sorted(commands.commands)


@pytest.mark.parametrize("name", NAMES)
def test_every_command_explains_itself_and_shows_an_example(name, sosbands):
    shown = sosbands(name, "--help")
    assert shown.exit_code == 0
    assert f"Example:\n  sosbands {name}" in shown.stdout
    assert commands.commands[name].get_short_help_str(limit=80).endswith(".")
    for option in commands.commands[name].params:
        assert option.param_type_name == "argument" or option.help


@pytest.mark.parametrize("name", NAMES)
def test_every_option_is_on_the_page_about_commands(name):
    page = (Path(__file__).parents[2] / "docs" / "commands.md").read_text(encoding="utf-8")
    lines = [line for line in page.splitlines() if line.startswith("| `--")]
    for option in commands.commands[name].params:
        for spelled in (*option.opts, *option.secondary_opts):
            if spelled.startswith("--"):
                where = [line for line in lines if re.search(rf"`{spelled}[ `]", line)]
                assert where, spelled
                assert any(re.search(rf"\b{name}\b|\ball\b", line.split("|")[2]) for line in where)


def test_the_examples_work_one_after_the_other(sosbands, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in NAMES:
        program, *arguments = shlex.split(commands.commands[name].example)
        done = sosbands(*arguments)
        assert (program, done.exit_code) == ("sosbands", 0), done.output
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "band.skops",
        "demo.csv",
        "demo.html",
        "demo.png",
        "demo_new.csv",
        "intervals.csv",
        "newer.skops",
        "report.html",
    ]


def test_the_demo_says_how_good_it_is_and_names_an_extra_that_is_absent(
    sosbands, tmp_path, monkeypatch
):
    monkeypatch.setattr("sosbands.cli.demo_command.find_spec", lambda name: None)
    shown = sosbands("demo", "--folder", tmp_path)
    assert shown.exit_code == 0
    facts = dict(line.split("  ", 1) for line in shown.stdout.splitlines())
    assert float(facts["coverage"].split()[0]) == pytest.approx(0.9, abs=0.05)
    assert float(facts["certified gap"]) <= 1e-4
    assert 'pip install "sosbands[report]"' in facts["report"]
    assert (tmp_path / "demo.png").read_bytes().startswith(b"\x89PNG")
    assert not (tmp_path / "demo.html").exists()


def test_an_evaluation_is_that_of_the_library(sosbands, folder, model):
    shown = sosbands("evaluate", model, folder / "new.csv", "--level", 0.8, "--json")
    from sosbands.cli.models import load_model
    from sosbands.cli.table_file import TableFile
    from sosbands.cli.table_rows import read_labelled

    stored = load_model(str(model), ())
    rows = read_labelled(TableFile(str(folder / "new.csv")), stored.columns, stored.form)
    expected = evaluate(load(model), rows.X, rows.y, confidence_level=0.8)
    assert json.loads(shown.stdout) == json.loads(json.dumps(expected.to_dict()))


def test_an_evaluation_is_shown_as_a_table_with_its_verdict(sosbands, folder, model):
    shown = sosbands("evaluate", model, folder / "new.csv").stdout
    verdict = json.loads(sosbands("evaluate", model, folder / "new.csv", "--json").stdout)[
        "verdict"
    ]
    assert shown.startswith(f"{verdict}\n")
    for name in ("coverage", "mean_width", "interval_score", "coverage_gap"):
        assert f"\n{name} " in shown


def test_a_report_is_a_page(sosbands, folder, model, tmp_path):
    out = tmp_path / "page.html"
    arguments = ("report", model, folder / "new.csv", "--out", out, "--title", "Colours & all")
    assert sosbands(*arguments).exit_code == 0
    assert "Colours &amp; all" in out.read_text()


def test_a_report_without_jinja2_names_the_extra(refused, folder, model, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    out = tmp_path / "page.html"
    assert "sosbands[report]" in refused("report", model, folder / "new.csv", "--out", out)
    assert not list(tmp_path.iterdir())


def test_an_evaluation_warns_of_unseen_categories_as_a_prediction_does(sosbands, model, tmp_path):
    table = rows(120, 2)
    table.loc[3, "colour"] = "pink"
    table.to_csv(tmp_path / "new.csv", index=False)
    said = "Warning: column 'colour' has categories that training had not, such as 'pink'\n"
    for command in ("predict", "evaluate"):
        assert said in sosbands(command, model, tmp_path / "new.csv").stderr


def test_info_tells_what_the_model_was_trained_on(sosbands, model):
    shown = sosbands("info", model).stdout
    for line in (
        "data         train.csv",
        "target       y",
        "input        colour: blue, green, red",
    ):
        assert f"{line}\n" in shown
    assert json.loads(sosbands("info", model, "--json").stdout) == describe(model)


def test_a_comparison_on_one_row_asks_for_more(refused, tmp_path):
    (tmp_path / "one.csv").write_text("x,y\n1,2\n")
    said = refused("compare", tmp_path / "one.csv", "--target", "y")
    assert said.endswith("leave 0 of 1: give more rows")


def test_a_comparison_says_what_it_cannot_compute(sosbands, folder, tmp_path):
    arguments = ("compare", folder / "train.csv", "--target", "y")
    arguments += ("--estimator", "sklearn.linear_model.Ridge", "--level", "0.99")
    shown = sosbands(*arguments).stdout
    assert "nan" not in shown
    assert (
        "The gap is not computed: 100 different rows must judge, a quarter of all rows does."
        in shown
    )
    assert "Some intervals are infinite: too few rows calibrate for a level of 0.99." in shown


def test_a_comparison_takes_gaps_and_dates(sosbands, tmp_path):
    table = rows(160, 2)
    table.loc[::9, "x"] = None
    table["day"] = [f"2024-{i % 12 + 1:02d}-{i % 28 + 1:02d}" for i in range(160)]
    table.to_csv(tmp_path / "t.csv", index=False)
    arguments = ("compare", tmp_path / "t.csv", "--target", "y", "--json")
    done = sosbands(*arguments, "--estimator", "sklearn.linear_model.Ridge")
    assert done.exit_code == 0, done.output
    assert "split conformal, Ridge" in json.loads(done.stdout)


def test_a_comparison_puts_the_best_score_first(sosbands, folder):
    arguments = ("compare", folder / "train.csv", "--target", "y")
    arguments += ("--estimator", "sklearn.linear_model.Ridge")
    shown = sosbands(*arguments)
    assert shown.exit_code == 0, shown.output
    head, *body = shown.stdout.splitlines()[:5]
    assert head.split() == ["interval", "score", "mean", "width", "coverage", "gap", "seconds"]
    scores = [float(line.split()[-5]) for line in body]
    assert scores == sorted(scores)
    table = json.loads(sosbands(*arguments, "--json").stdout)
    assert "split conformal, Ridge" in table
    assert [row["interval_score"] for row in table.values()] == pytest.approx(scores, rel=1e-3)


@pytest.fixture
def here(folder, model, tmp_path, monkeypatch):
    """A folder to work in with a model and a table: their names and contents."""
    contents = {"m": model.read_bytes(), "d": (folder / "train.csv").read_bytes()}
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    monkeypatch.chdir(tmp_path)
    return contents


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("predict m d --out m", "--out .* the model that is read"),
        ("report m d --out ./m", "--out .* the model that is read"),
        ("report m d --out d", "--out .* the data that is read"),
        ("calibrate m d --out d", "--out .* the data that is read"),
        ("fit d --target y --out d", "--out .* the data that is read"),
        ("fit d --target y --out new --report new", "--out .* what --report writes"),
        ("fit d --target y --out new --report d", "--report .* the data that is read"),
    ],
)
def test_no_file_that_is_read_is_written_over_by_another_kind(refused, here, words, sentence):
    said = refused(*words.split(), code=2)
    assert re.fullmatch(f"{sentence}: name another file", said)
    assert {path.name: path.read_bytes() for path in Path().iterdir()} == here


def test_predictions_may_take_the_place_of_their_table(sosbands, folder, model, tmp_path):
    table = tmp_path / "t.csv"
    table.write_bytes((folder / "new.csv").read_bytes())
    assert sosbands("predict", model, table, "--out", table).exit_code == 0
    assert table.read_text().startswith("x,colour,y,mean,lower,upper\n")


@pytest.mark.parametrize("command", ["evaluate", "calibrate", "report"])
def test_a_target_that_is_there_twice_is_said_to_be(refused, model, tmp_path, command):
    (tmp_path / "t.csv").write_text("x,colour,y,y\n" + "0.5,red,1,2\n" * 30)
    out = () if command == "evaluate" else ("--out", tmp_path / "o")
    said = refused(command, model, tmp_path / "t.csv", *out)
    assert said.endswith("has several columns named 'y', the target: give each its own name")
