import json
import re
import sys

import numpy as np
import pandas as pd
import pytest

from sosbands import BandRegressor, KernelBand, KernelMean, load
from sosbands.cli.known_files import KnownFile
from sosbands.persistence import describe
from tests.cli.conftest import KERNEL_MEAN


@pytest.fixture
def fit(sosbands, tmp_path):
    """Fit on a DataFrame, around a kernel mean by default; returns what was shown and the model."""

    def run(table, *arguments, target="y", mean=KERNEL_MEAN):
        table.to_csv(tmp_path / "t.csv", index=False)
        out = tmp_path / "m.skops"
        arguments = ("--target", target, "--out", out, *mean, *arguments)
        shown = sosbands("fit", tmp_path / "t.csv", *arguments)
        assert shown.exit_code == 0, shown.output
        return shown, load(out)

    return run


@pytest.fixture
def fails(refused, tmp_path):
    """Fit on text or on a DataFrame, in vain; returns the sentence."""

    def run(table, *arguments, target="y"):
        text = table if isinstance(table, str) else table.to_csv(index=False)
        (tmp_path / "t.csv").write_text(text)
        out = tmp_path / "m.skops"
        said = refused("fit", tmp_path / "t.csv", "--target", target, "--out", out, *arguments)
        assert not out.exists()
        return said

    return run


@pytest.fixture
def table(folder):
    return pd.read_csv(folder / "train.csv")


def facts(shown):
    return dict(re.split("  +", line, maxsplit=1) for line in shown.stdout.splitlines())


def test_the_summary_counts_rows_and_judges_on_those_held_out(fit, table):
    shown, model = fit(table, "--level", "0.8", "--test-size", "0.25")
    found = facts(shown)
    assert found["rows"] == "160: 84 learn, 36 calibrate, 40 judge"
    assert found["columns"] == "1 of numbers, 1 of categories: colour (3)"
    assert model.n_train_ == 84
    assert found["coverage"].endswith("of the rows held out, asked for 0.8")
    assert float(found["coverage"].split()[0]) * 40 % 1 == 0
    assert f"gap {model.certificate_.gap:.1e}" in found["certificate"]


def test_the_summary_says_where_intervals_end(fit, table):
    shown, model = fit(table.assign(y=table["y"].clip(lower=table["y"].median())))
    low = model.band_.limits.low
    assert low == table["y"].median()
    expected = f"intervals do not go below {low:.6g}, where outputs pile up"
    assert facts(shown)["limits"] == expected
    assert "limits" not in facts(fit(table)[0])


def test_all_rows_train_if_none_is_held_out(fit, table):
    shown, model = fit(table, "--test-size", "0", "--calibration", "cv+")
    assert facts(shown)["rows"] == "160: 160 learn and calibrate, 0 judge"
    assert facts(shown)["coverage"].startswith("not measured")
    assert model.n_train_ == 160


@pytest.mark.parametrize(("flag", "symmetric"), [("--symmetric", True), ("--two-sided", False)])
def test_the_sides_are_as_asked(fit, table, flag, symmetric):
    assert fit(table, flag)[1].symmetric_ is symmetric


def test_the_same_seed_gives_the_same_intervals(fit, table):
    X = table[["x", "colour"]]
    first, same, other = (fit(table, "--seed", s)[1].predict_interval(X) for s in (3, 3, 4))
    assert np.array_equal(first, same)
    assert not np.array_equal(first, other)


def test_the_default_is_that_of_the_library(fit, table):
    shown, model = fit(table, "--test-size", "0", "--symmetric", mean=())
    assert model.estimator == "auto"
    shares = model.estimator_.weights_
    best = max(shares, key=shares.get)
    assert f"band around {100 * shares[best]:.0f} % {best}" in facts(shown)["model"]
    X = table[["x", "colour"]]
    band = KernelBand(symmetric=True)
    expected = BandRegressor(band=band, random_state=0).fit(X, table["y"]).predict_interval(X)
    np.testing.assert_array_equal(model.predict_interval(X), expected)


def test_a_kernel_mean_shares_the_encoding_of_the_band(fit, table):
    shown, model = fit(table)
    assert "band around KernelMean, split" in facts(shown)["model"]
    assert isinstance(model.estimator_, KernelMean)
    assert model.estimator_.n_features_in_ == 3  # two of them tell three colours apart


@pytest.mark.parametrize("path", ["sklearn.linear_model.Ridge", "sklearn.linear_model:Ridge"])
def test_an_estimator_is_found_by_its_import_path(fit, table, path):
    shown, model = fit(table, "--estimator", path, "--seed", 5)
    assert "around Ridge" in facts(shown)["model"]
    assert model.estimator_[-1].random_state == 5


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        ("Ridge", "cannot be imported"),
        ("sklearn.nowhere.Ridge", "cannot be imported"),
        ("sklearn.linear_model.Rigde", "cannot be imported"),
        ("sklearn.ensemble.StackingRegressor", "cannot be called without arguments"),
        ("numpy:zeros", "cannot be called without arguments"),
        ("math:pi", "is not a scikit-learn regressor"),
        ("..X", "--estimator ..X cannot be imported"),
    ],
)
def test_an_estimator_that_is_none_is_refused(fails, table, path, sentence):
    assert sentence in fails(table, "--estimator", path)


def test_rows_of_a_group_are_held_out_together_and_the_group_is_no_input(fit, table):
    table["who"] = np.arange(160) // 8
    shown, model = fit(table, "--groups", "who")
    assert list(model.feature_names_in_) == ["x", "colour"]
    assert facts(shown)["rows"].startswith("160: ")


def test_rows_without_a_target_are_left_out_and_those_without_inputs_if_asked(fit, table):
    table.loc[[3, 4], "x"] = np.nan
    table.loc[4, "colour"] = None
    table.loc[7, "y"] = np.nan
    shown, _ = fit(table)
    assert facts(shown)["rows"].startswith("159: ")
    assert facts(shown)["rows"].endswith("; 1 with no y left out; missing inputs in 2")
    shown, _ = fit(table, "--drop-missing")
    assert facts(shown)["rows"].startswith("157: ")
    assert facts(shown)["rows"].endswith("1 with no y left out; 2 with missing inputs left out")


def test_missing_inputs_are_treated_as_in_python(fit, table):
    table.loc[::7, "x"] = np.nan
    table.loc[::5, "colour"] = None
    _, model = fit(table, "--test-size", "0", "--symmetric")
    X = table[["x", "colour"]]
    twin = BandRegressor(KernelMean(), band=KernelBand(symmetric=True), random_state=0)
    expected = twin.set_params(estimator__random_state=0).fit(X, table["y"]).predict_interval(X)
    np.testing.assert_array_equal(model.predict_interval(X), expected)


def test_a_table_of_missing_values_alone_is_refused(fails):
    said = fails("x,z,y\n1,,1\n,1,2\n", "--drop-missing")
    assert "no row of" in said
    assert "2 have missing inputs: leave columns out with --drop" in said


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "is empty"),
        ("x,y\n", "no rows"),
        ("x,x,y\n1,2,3\n", "several columns named 'x'"),
        ("x,z\n1,2\n", "has no column 'y'"),
        ("x,y\n1,a\n2,b\n", "the target 'y' holds no numbers"),
        ("x,y\n1,1\n2,2\n1,b\n", "column 'y' must hold finite numbers, got 'b' in line 4"),
        ("x,y\n1,2\n2,3\n", "10"),
        (",x,y\na,1,2\na,3,4\n", "column 1 has no name"),
    ],
)
def test_a_table_that_cannot_train_is_refused(fails, text, sentence):
    assert sentence in fails(text)


def test_dates_are_inputs(fit, table):
    days = pd.Timestamp("2023-01-01") + pd.to_timedelta(table.pop("x") * 100, unit="D").dt.ceil("D")
    shown, model = fit(table.assign(day=days.dt.strftime("%d.%m.%Y")))
    assert facts(shown)["columns"] == "1 of dates, 1 of categories: colour (3)"
    twin = table[["colour"]].assign(day=days)
    assert np.isfinite(model.predict(twin)).all()


def test_a_foreign_message_is_cut(fails, table, monkeypatch):
    def fit(*_, **__):
        raise ValueError("bad " * 10**6)

    monkeypatch.setattr("sosbands.estimator.BandRegressor.fit", fit)
    said = fails(table)
    assert len(said) < 2100
    assert said.endswith("…")


def test_identifiers_are_left_out_and_listed(fit, table):
    table["name"] = [f"k{i}" for i in range(160)]
    table["row"] = np.arange(160)
    shown, model = fit(table)
    assert facts(shown)["left out"] == (
        "name (another text in nearly every row); row (numbers the rows)"
    )
    assert list(model.feature_names_in_) == ["x", "colour"]
    shown, model = fit(table, "--keep", "row")
    assert list(model.feature_names_in_) == ["x", "colour", "row"]


def test_a_european_table_is_read_as_it_is_written(sosbands, table, tmp_path):
    table.to_csv(tmp_path / "t.csv", index=False, sep=";", decimal=",")
    out = tmp_path / "m.skops"
    arguments = ("fit", tmp_path / "t.csv", "--target", "y", "--out", out, *KERNEL_MEAN)
    for options in ((), ("--sep", ";", "--decimal", ","), ("--thousands", ".")):
        assert sosbands(*arguments, *options).exit_code == 0
        known = describe(out)["metadata"]["command_line"]
        assert known["columns"]["inputs"]["x"] == {"kind": "numbers", "unit": ""}
        assert known["cells"]["decimal"] == ","


def test_a_parquet_table_gives_the_same_model_as_its_csv_file(fit, sosbands, table, tmp_path):
    fit(table)
    table.to_parquet(tmp_path / "t.parquet")
    out = tmp_path / "p.skops"
    arguments = ("fit", tmp_path / "t.parquet", "--target", "y", "--out", out, *KERNEL_MEAN)
    assert sosbands(*arguments).exit_code == 0
    X = table[["x", "colour"]]
    ours, same = (load(tmp_path / name).predict(X) for name in ("m.skops", "p.skops"))
    assert np.array_equal(ours, same)


def test_too_few_calibration_rows_are_said_in_one_line(fit, table):
    shown, _ = fit(table[:20], "--level", "0.95")
    assert shown.stderr.count("Warning: a level of 0.95 needs at least 19 calibration rows") == 1
    assert facts(shown)["mean width"].startswith("inf")


def test_a_folder_that_is_not_there_is_said_before_the_work(refused, folder, tmp_path):
    out = tmp_path / "no" / "m.skops"
    said = refused("fit", folder / "train.csv", "--target", "y", "--out", out, code=2)
    assert "does not exist" in said


def test_verbose_shows_where_an_error_comes_from(sosbands, tmp_path):
    (tmp_path / "t.csv").write_text("x,y\n")
    arguments = ("fit", tmp_path / "t.csv", "--target", "y", "--out", tmp_path / "m.skops")
    shown = sosbands(*arguments, "--verbose")
    assert shown.exit_code == 1
    assert "Traceback" in shown.stderr
    assert shown.stderr.splitlines()[-1].startswith("Error: ")


def test_the_metadata_is_json(model):
    known = describe(model)["metadata"]["command_line"]
    assert json.loads(json.dumps(known)) == known
    assert known["data"] == "train.csv"


def test_a_module_of_the_working_directory_is_found(fit, table, tmp_path, monkeypatch):
    (tmp_path / "own_module.py").write_text(
        "from sklearn.linear_model import Ridge\n\n\ndef make_model():\n    return Ridge()\n"
    )
    monkeypatch.chdir(tmp_path)
    before = list(sys.path)
    shown, _ = fit(table, "--estimator", "own_module:make_model")
    assert "around Ridge" in facts(shown)["model"]
    assert sys.path == before


def test_a_foreign_estimator_must_be_trusted_by_name(
    sosbands, refused, folder, tmp_path, monkeypatch
):
    (tmp_path / "own_models.py").write_text(
        "from sklearn.linear_model import LinearRegression\n\n\n"
        "class Own(LinearRegression):\n    pass\n"
    )
    monkeypatch.chdir(tmp_path)
    model, trust = tmp_path / "m.skops", ("--trust", "own_models.Own")
    fit = ("fit", folder / "train.csv", "--target", "y", "--out", model)
    fit += ("--estimator", "own_models:Own")
    assert "give --trust own_models.Own if" in refused(*fit)
    assert sosbands(*fit, *trust).exit_code == 0
    assert "needs        --trust own_models.Own" in sosbands("info", model).stdout
    assert "give --trust own_models.Own" in refused("predict", model, folder / "new.csv")
    del sys.modules["own_models"]  # as in a process of its own
    assert sosbands("predict", model, folder / "new.csv", *trust).exit_code == 0


def test_an_output_that_is_a_folder_is_said_before_the_work(refused, folder, tmp_path):
    said = refused("fit", folder / "train.csv", "--target", "y", "--out", tmp_path, code=2)
    assert "is a folder" in said


def test_the_first_line_comes_before_anything_is_read(sosbands, refused, tmp_path, folder):
    (tmp_path / "t.csv").write_text("x,y\n")
    out = tmp_path / "m.skops"
    assert refused("fit", tmp_path / "t.csv", "--target", "y", "--out", out)
    shown = sosbands("fit", folder / "train.csv", "--target", "y", "--out", out, *KERNEL_MEAN)
    lines = shown.stderr.splitlines()
    assert lines[0] == f"reading {folder / 'train.csv'}"
    assert "learning from 128 rows; inputs: 2" in lines
    phases = [
        "reading",
        "preparing",
        "learning",
        "mean",
        "tuning",
        "band",
        "calibration",
        "judging",
    ]
    assert list(dict.fromkeys(line.split()[0] for line in lines)) == phases


@pytest.fixture
def judged_on(monkeypatch):
    """The rows that a page is written about, in place of the page."""
    rows = []

    def write(model, X, y, path, *, target, source, held_out, **_):
        assert (target, source) == ("y", "t.csv")
        assert held_out == "32 rows that were held out of the fit, which the model has not seen"
        rows.append((X, y))

    monkeypatch.setattr("sosbands.cli.reporting.write_report", write)
    return rows


def test_rows_held_out_are_remembered_by_the_model(fit, sosbands, table, tmp_path, judged_on):
    page = tmp_path / "page.html"
    shown, _ = fit(table, "--report", page)
    assert facts(shown)["report"] == str(page)
    stored, data = tmp_path / "m.skops", tmp_path / "t.csv"
    judged = sosbands("evaluate", stored, data, "--json")
    assert "of it, the 32 rows it has not seen count" in judged.stderr
    found = json.loads(judged.stdout)
    assert found["n_rows"] == 32
    assert facts(shown)["coverage"].startswith(f"{found['coverage']:.3f} ")
    assert sosbands("report", stored, data, "--out", page).exit_code == 0
    (first, y), (again, y_again) = judged_on
    pd.testing.assert_frame_equal(first, again)
    assert np.array_equal(y, y_again)
    table.iloc[::-1].to_csv(data, index=False)
    changed = json.loads(sosbands("evaluate", stored, data, "--json").stdout)
    assert changed["n_rows"] == len(table)


def test_a_model_that_has_seen_all_rows_is_not_judged_on_them(fit, refused, table, tmp_path):
    fit(table, "--test-size", "0")
    said = refused("evaluate", tmp_path / "m.skops", tmp_path / "t.csv")
    assert "the model has seen every row of" in said


def test_rows_held_out_are_those_that_did_not_train(fit, table, tmp_path):
    """The slow twin: a model fitted to all other rows in Python is the same."""
    _, model = fit(table, "--symmetric")
    (known,) = describe(tmp_path / "m.skops")["metadata"]["command_line"]["files"]
    held_out = KnownFile.from_dict(known).held_out
    assert held_out.sum() == 32
    rest = table[~held_out]
    twin = BandRegressor(
        KernelMean(random_state=0), band=KernelBand(symmetric=True), random_state=0
    ).fit(rest[["x", "colour"]], rest["y"])
    X = table[["x", "colour"]]
    np.testing.assert_array_equal(model.predict_interval(X), twin.predict_interval(X))


def test_a_report_needs_rows_held_out_and_its_extra_before_the_work(
    refused, folder, tmp_path, monkeypatch
):
    arguments = ("fit", folder / "train.csv", "--target", "y", "--out", tmp_path / "m.skops")
    arguments += ("--report", tmp_path / "p.html")
    assert "--test-size" in refused(*arguments, "--test-size", "0", code=2)
    monkeypatch.setattr("sosbands.cli.training_commands.find_spec", lambda name: None)
    assert 'pip install "sosbands[report]"' in refused(*arguments)


def test_the_target_cannot_be_left_out_nor_be_there_twice(fails, table):
    for option in ("--drop", "--categorical"):
        assert fails(table, option, "y") == (
            f"{option} y names the target, which can be neither left out nor a category: name "
            "another column"
        )
    twice = fails("x,y,y\n" + "1,2,3\n" * 30)
    assert twice == "there are several columns named 'y', the target: give each its own name"


@pytest.mark.parametrize(("rows", "left", "advice"), [(12, 9, ", or --test-size 0"), (1, 0, "")])
def test_too_few_rows_are_said_with_the_share_that_only_judges(fails, table, rows, left, advice):
    assert fails(table[:rows]) == (
        f"--test-size 0.2 leaves {left} of {rows} rows to learn from, and at least 10 are needed: "
        f"give more rows{advice}"
    )


def test_twelve_rows_are_enough_if_none_only_judges(fit, table):
    assert facts(fit(table[:12], "--test-size", "0")[0])["rows"].startswith("12: ")
