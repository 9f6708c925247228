"""``sosbands fit`` of a Parquet file that is read in blocks."""

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import sosbands
from sosbands.cli import commands, large_files
from sosbands.cli.table_file import TableFile
from tests.interop.dask_rows import table


@pytest.fixture
def small_limit(monkeypatch):
    monkeypatch.setattr(large_files, "MANY_ROWS", 1000)


def run(*arguments):
    return CliRunner().invoke(commands, [*map(str, arguments)])


def write(path, frame, y):
    frame.fillna({"b": 0.0}).assign(y=y).to_parquet(path, row_group_size=400, index=False)


def test_a_large_file_is_fitted_in_blocks(tmp_path, small_limit):
    frame, y = table(1500)
    write(tmp_path / "big.parquet", frame, y)
    done = run("fit", tmp_path / "big.parquet", "--target", "y", "--out", tmp_path / "m.skops")
    assert done.exit_code == 0, done.output
    assert "1500: 840 learn, 360 calibrate, 300 judge" in done.output
    model = sosbands.load(tmp_path / "m.skops")
    assert model.calibration_.size == 360
    ends = model.predict_interval(frame[:100].fillna({"b": 0.0}), 0.9)
    assert np.mean((ends[:, 0] <= y[:100]) & (y[:100] <= ends[:, 1])) > 0.75
    told = run(
        "predict", tmp_path / "m.skops", tmp_path / "big.parquet", "--out", tmp_path / "p.csv"
    )
    assert told.exit_code == 0, told.output
    assert len(pd.read_csv(tmp_path / "p.csv")) == 1500


def test_missing_values_are_kept_or_dropped(tmp_path, small_limit):
    frame, y = table(1100)
    frame.assign(y=y).to_parquet(tmp_path / "gaps.parquet", row_group_size=400, index=False)
    command = ["fit", tmp_path / "gaps.parquet", "--target", "y", "--out", tmp_path / "m.skops"]
    done = run(*command, "--test-size", "0")
    assert done.exit_code == 0, done.output
    assert "not measured" in done.output
    kept = sosbands.load(tmp_path / "m.skops")
    done = run(*command, "--drop-missing", "--test-size", "0")
    assert done.exit_code == 0, done.output
    dropped = sosbands.load(tmp_path / "m.skops")
    rows = kept.n_train_ + kept.calibration_.size
    assert rows == 1100
    assert dropped.n_train_ + dropped.calibration_.size == int(frame.notna().all(axis=1).sum())


def test_the_rows_that_judge_columns_do_not_keep_the_file_in_memory(tmp_path):
    frame, y = table(1200)
    write(tmp_path / "big.parquet", frame, y)
    file = TableFile(str(tmp_path / "big.parquet"))
    some = large_files._some_rows(file, 1, 40)
    pd.testing.assert_frame_equal(some, large_files.read_group(file, 1).iloc[::40])
    memory = some["a"].to_numpy()
    while isinstance(memory.base, np.ndarray):
        memory = memory.base
    assert memory.size <= some.size


def test_small_files_and_other_calibrations_are_read_as_a_whole(tmp_path):
    frame, y = table(300)
    write(tmp_path / "small.parquet", frame, y)
    done = run("fit", tmp_path / "small.parquet", "--target", "y", "--out", tmp_path / "m.skops")
    assert "300: 168 learn, 72 calibrate, 60 judge" in done.output
