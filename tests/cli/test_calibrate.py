import json
import re

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from sosbands import BandRegressor, load, save
from sosbands.cli.fit_summary import over_time
from sosbands.persistence import describe
from tests.cli.conftest import KERNEL_MEAN, rows
from tests.cli.test_fit import facts


@pytest.fixture
def newer(tmp_path):
    """Rows that are noisier than those of training."""
    table = rows(100, 5)
    table["y"] = table["y"] * 3
    table.to_csv(tmp_path / "newer.csv", index=False)
    return tmp_path / "newer.csv"


@pytest.mark.parametrize("add", [False, True])
def test_newer_rows_calibrate_and_nothing_is_refitted(sosbands, model, newer, tmp_path, add):
    out = tmp_path / "m2.skops"
    done = sosbands("calibrate", model, newer, "--out", out, *["--add"] * add)
    assert done.exit_code == 0, done.output
    table = pd.read_csv(newer)
    X, y = table[["x", "colour"]], table["y"]
    twin, made = load(model), load(out)
    (twin.partial_conformalize if add else twin.conformalize)(X, y)
    assert np.array_equal(made.predict(X), load(model).predict(X))
    # Scores of one row in another block of rows are the same but for rounding.
    assert_allclose(made.predict_interval(X, 0.8), twin.predict_interval(X, 0.8), rtol=1e-12)
    told = facts(done)
    assert told["calibrated"].startswith("with 100 rows of newer.csv, ")
    summary = sosbands("info", out).stdout
    assert "with 100 rows of newer.csv" in summary
    assert "of the rows held out, asked for" not in summary


def test_rows_that_trained_are_known_by_their_inputs_under_another_name(
    sosbands, model, folder, newer, tmp_path
):
    shuffled = pd.read_csv(folder / "train.csv")[::-1]
    shuffled.to_csv(tmp_path / "again.csv", index=False)
    sentence = "of the rows have the very inputs of a training row"
    out = tmp_path / "m2.skops"
    assert sentence in sosbands("calibrate", model, tmp_path / "again.csv", "--out", out).stderr
    assert sentence not in sosbands("calibrate", model, newer, "--out", out).stderr


def test_a_model_of_python_is_calibrated_and_keeps_its_notes(sosbands, newer, tmp_path):
    table = rows(120, 1)
    band = BandRegressor(None, calibration=None, random_state=0).fit(table[["x"]], table["y"])
    save(band, tmp_path / "m.skops", metadata={"owner": "me"})
    out = tmp_path / "m2.skops"
    arguments = ("calibrate", tmp_path / "m.skops", newer, "--target", "y", "--out", out)
    done = sosbands(*arguments)
    assert done.exit_code == 0, done.output
    assert describe(out)["metadata"]["owner"] == "me"
    assert sosbands("predict", out, newer).exit_code == 0


def test_rows_that_calibrate_are_seen_from_then_on(sosbands, refused, model, newer, tmp_path):
    out = tmp_path / "m2.skops"
    assert sosbands("calibrate", model, newer, "--out", out).exit_code == 0
    assert "has seen every row" in refused("evaluate", out, newer)
    assert sosbands("evaluate", model, newer).exit_code == 0


def test_of_the_training_file_the_rows_held_out_calibrate(
    sosbands, refused, folder, model, tmp_path
):
    out = tmp_path / "m2.skops"
    done = sosbands("calibrate", model, folder / "train.csv", "--out", out)
    assert facts(done)["calibrated"].startswith("with 32 rows of train.csv")
    assert "has seen every row" in refused("evaluate", out, folder / "train.csv")


@pytest.mark.parametrize(
    "change",
    [
        {"files": [{"sha256": "0" * 64, "rows": 5, "held_out": ""}]},
        {"files": None},
        {"level": 2.0},
        {"cells": {"decimal": ".", "thousands": ".", "na_values": []}},
        {"summary": {"rows": 5}},
        {"summary": ["rows"]},
        {"data": None},
        {"columns": []},
        {"columns": {"inputs": {}, "target": "y", "output": {"kind": "numbers", "unit": ""}}},
    ],
)
def test_a_damaged_memory_is_refused(refused, model, folder, tmp_path, change):
    known, path = describe(model)["metadata"]["command_line"], tmp_path / "m.skops"
    save(load(model), path, metadata={"command_line": {**known, **change}})
    for command in (("predict", path, folder / "new.csv"), ("info", path)):
        assert "what it says of its table is damaged" in refused(*command)


def test_columns_that_the_model_has_not_are_refused(refused, model, folder, tmp_path):
    known, path = describe(model)["metadata"]["command_line"], tmp_path / "m.skops"
    known["columns"]["inputs"].pop("x")
    save(load(model), path, metadata={"command_line": known})
    assert "damaged (columns that the model has not)" in refused(
        "predict", path, folder / "new.csv"
    )


@pytest.fixture
def drifting(tmp_path):
    """Rows in the order of days, whose noise grows in the end; the file is shuffled."""
    rng = np.random.default_rng(0)
    n = 400
    x = rng.uniform(size=n)
    y = np.sin(6 * x) + np.where(np.arange(n) < 320, 0.1, 1.0) * rng.normal(size=n)
    days = pd.date_range("2023-01-01", periods=n).strftime("%d/%m/%Y")
    table = pd.DataFrame({"day": days, "x": x.round(4), "y": y.round(4)})
    table.sample(frac=1, random_state=0).to_csv(tmp_path / "t.csv", index=False)
    return table


def test_rows_in_order_learn_then_calibrate_then_judge(sosbands, drifting, tmp_path):
    out = tmp_path / "m.skops"
    fit = ("fit", tmp_path / "t.csv", "--target", "y", "--out", out, *KERNEL_MEAN)
    done = sosbands(*fit, "--ordered", "day", "--drop", "day")
    assert done.exit_code == 0, done.output
    told = facts(done)
    assert told["rows"] == "400: 224 learn, 96 calibrate, 80 judge"
    assert "falls short in 4 of 4 parts: calibrate with newer rows" in told["over time"]
    shares = list(map(float, re.findall(r"\d\.\d+", told["over time"])))
    assert len(shares) == 4
    judged = sosbands("evaluate", out, tmp_path / "t.csv", "--json")
    found = json.loads(judged.stdout)
    assert found["n_rows"] == 80
    assert np.mean(shares) == pytest.approx(found["coverage"], abs=1e-3)
    last = drifting.iloc[-80:]
    intervals = load(out).predict_interval(last[["x"]])
    inside = (intervals[:, 0] <= last["y"]) & (last["y"] <= intervals[:, 1])
    assert found["coverage"] == pytest.approx(inside.mean())


def test_rows_of_one_moment_stay_together(sosbands, tmp_path):
    table = rows(160, 0).assign(month=np.repeat([1, 2, 3, 4], 40))
    table.to_csv(tmp_path / "t.csv", index=False)
    fit = ("fit", tmp_path / "t.csv", "--target", "y", "--out", tmp_path / "m.skops")
    done = sosbands(*fit, "--ordered", "month", *KERNEL_MEAN)
    assert done.exit_code == 0, done.output
    assert facts(done)["rows"] == "160: 80 learn, 40 calibrate, 40 judge"


@pytest.mark.parametrize(
    ("options", "code", "sentence"),
    [
        (("--ordered", "x", "--groups", "colour"), 2, "contradict each other"),
        (("--ordered", "x", "--calibration", "cv+"), 2, "--calibration split."),
        (("--ordered", "colour"), 1, "column 'colour' holds text: name another"),
        (("--ordered", "when"), 1, "has no column 'when'"),
        (("--ordered", "same"), 1, "the same in all rows"),
    ],
)
def test_an_order_that_is_none_is_refused(refused, tmp_path, options, code, sentence):
    rows(60, 0).assign(same=1).to_csv(tmp_path / "t.csv", index=False)
    fit = ("fit", tmp_path / "t.csv", "--target", "y", "--out", tmp_path / "m.skops")
    assert sentence in refused(*fit, *options, code=code)


def test_coverage_over_time_is_told_with_what_chance_does():
    rng = np.random.default_rng(0)
    steady = (rng.uniform(size=1000) < 0.9).astype(float)
    assert over_time(steady, 0.9).endswith("nowhere below what was asked by more than chance")
    falling = np.r_[steady[:800], np.zeros(200)]
    assert "falls short in the last part" in over_time(falling, 0.9)
    assert over_time(steady[:30], 0.9) == "not measured: 40 rows are needed, 30 judge"
