"""Splits are those of the papers, runs go on, and tables are made of stored results alone."""

from __future__ import annotations

import sys
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import ShuffleSplit, train_test_split

from experiments.published import __main__ as command
from experiments.published import clear, report, uacqr
from experiments.published.comparison import Comparison, Folders, PublishedSet, measure
from sosbands.datasets import case


def thirds(n, k):
    """Split k of three: a third trains, a third calibrates, a third tests."""
    return tuple(np.roll(np.arange(n), 7 * k).reshape(3, -1))


TINY = Comparison(
    name="tiny",
    title="Tiny",
    source="Nobody published it.",
    level=0.5,
    splits=3,
    unit=uacqr.unit,
    sets={
        "first": PublishedSet(2.0, "A", "first.csv", 90, thirds),
        "second": PublishedSet(1.0, "B", "second.csv", 60, thirds, raw=True, target="out"),
    },
)


@pytest.fixture
def folders(tmp_path):
    for name, n, target in (("first", 90, "y"), ("second", 60, "out")):
        X, y = case(1).sample(n, random_state=0)
        table = pd.DataFrame(X, columns=["x"]).assign(**{target: y})
        table.to_csv(tmp_path / f"{name}.csv", index=False)
    return Folders(tmp_path, tmp_path)


def run(monkeypatch, folders, *options):
    monkeypatch.setattr(command, "comparisons", lambda: {"tiny": TINY})
    places = ["--data", str(folders.data), "--results", str(folders.data / "results")]
    monkeypatch.setattr(sys, "argv", ["published", *places, "--jobs", "1", *options])
    return command.main()


@pytest.mark.parametrize(("name", "fraction"), [("concrete", 1), ("homes", 1 / 2), ("bio", 1 / 4)])
def test_the_splits_of_uacqr_are_those_of_its_code(name, fraction):
    chosen = uacqr.COMPARISON.sets[name]
    n = chosen.rows
    splits = ShuffleSplit(
        n_splits=20, random_state=42, train_size=0.8 * fraction, test_size=0.2 * fraction
    )
    for k, (both, test) in enumerate(splits.split(np.zeros((n, 1)))):
        if k in (0, 1, 19):
            train, cal = train_test_split(both, test_size=0.5, random_state=42)
            for ours, theirs in zip(chosen.split(n, k), (train, cal, test), strict=True):
                assert ours.tolist() == theirs.tolist()


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("bike", (4354, 4354, 2178)),
        ("bio", (4573, 4573, 2287)),
        ("community", (797, 798, 399)),
        ("concrete", (412, 412, 206)),
        ("homes", (4322, 4323, 2162)),
        ("star", (864, 864, 433)),
    ],
)
def test_the_sizes_of_the_splits_of_uacqr(name, sizes):
    chosen = uacqr.COMPARISON.sets[name]
    parts = chosen.split(chosen.rows, 3)
    assert tuple(map(len, parts)) == sizes
    assert len(np.unique(np.concatenate(parts))) == sum(sizes)


def test_the_splits_of_clear_are_those_of_its_code():
    rows = np.arange(1503)
    for k in (0, 9):
        both, test = train_test_split(rows, test_size=0.2, random_state=777 + k)
        train, cal = train_test_split(both, test_size=0.25, random_state=777 + k)
        found = clear.COMPARISON.sets["airfoil"].split(1503, k)
        for ours, theirs in zip(found, (train, cal, test), strict=True):
            assert ours.tolist() == theirs.tolist()
    assert [len(part) for part in found] == [901, 301, 301]


def test_the_first_rows_of_the_first_splits():
    assert [part[0] for part in uacqr.split(1030, 0)] == [37, 224, 31]
    assert [part[0] for part in clear.split(1503, 0)] == [643, 742, 391]


def test_every_comparison_is_found():
    found = command.comparisons()
    assert {name: (c.level, c.splits, len(c.sets)) for name, c in found.items()} == {
        "clear": (0.95, 10, 5),
        "uacqr": (0.9, 20, 6),
    }


def test_bike_has_the_calendar_of_the_published_inputs_and_no_leak():
    table = pd.DataFrame(
        {"datetime": ["2011-01-02 05:00:00", "2012-12-19 23:00:00"], "season": [1, 4]}
        | {"weather": [1, 2], "temp": [9.8, 7.0], "casual": [3, 4], "registered": [13, 5]}
    )
    found = uacqr.with_calendar(table)
    names = ["season", "weather", "temp", "hour", "weekday", "month", "year"]
    assert sorted(found) == sorted(names)
    assert found[["hour", "weekday", "month", "year"]].to_numpy().tolist() == [
        [5, 6, 1, 2011],
        [23, 2, 12, 2012],
    ]
    assert (found.dtypes[["season", "weather"]] == "category").all()


def test_homes_have_neither_identifier_nor_date():
    table = pd.DataFrame({"id": ["7"], "date": ["20141013T000000"], "bedrooms": [3]})
    assert list(uacqr.without_sale(table)) == ["bedrooms"]


def test_the_unit_is_the_mean_absolute_output_or_one():
    y = np.array([-1.0, 3.0])
    assert uacqr.unit(y) == 2
    assert clear.unit(y) == 1


def test_a_file_with_other_rows_is_refused(folders):
    pd.DataFrame({"x": [1.0], "y": [2.0]}).to_csv(folders.data / "first.csv", index=False)
    with pytest.raises(ValueError, match=r"first.csv must hold the 90 rows .* got 1: its splits"):
        TINY.sets["first"].load(folders)


def test_a_split_is_measured_with_its_own_rows(folders):
    found = measure(TINY, "first", folders, seed=1)
    assert (found["train"], found["calibrate"], found["test"]) == (30, 30, 30)
    assert 0 <= found["coverage"] <= 1
    assert found["interval_score"] >= found["mean_width"] > 0


def test_a_raw_table_needs_its_folder(monkeypatch, folders, capsys):
    with pytest.raises(SystemExit):
        run(monkeypatch, folders)
    assert "second.csv is a raw table: name the folder of those with --raw" in (
        capsys.readouterr().err
    )


def test_an_absent_file_or_name_is_refused_before_anything_is_measured(
    monkeypatch, folders, capsys
):
    (folders.data / "first.csv").unlink()
    with pytest.raises(SystemExit):
        run(monkeypatch, folders, "--sets", "first")
    assert "first.csv, for first of tiny" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        run(monkeypatch, folders, "--sets", "third")
    assert "no data set has such a name" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        run(monkeypatch, folders, "other")
    assert "no comparison other: choose from tiny" in capsys.readouterr().err


def scored(measured, comparison, name, folders, *, seed):
    """In place of a fit: the score is 1 + the seed."""
    measured.append((name, seed))
    if measured == [("first", 0), ("first", 1)]:
        raise KeyboardInterrupt
    return {"interval_score": 1.0 + seed, "coverage": 0.5, "fit_seconds": 0.25}


def test_an_interrupted_run_goes_on_and_a_table_is_made_of_what_is_complete(
    monkeypatch, folders, capsys
):
    measured = []
    monkeypatch.setattr(command, "measure", partial(scored, measured))
    with pytest.raises(KeyboardInterrupt):
        run(monkeypatch, folders, "--sets", "first")
    results = folders.data / "results"
    assert report.beside_published(TINY, results).empty
    assert "No results are stored." in report.section(TINY, results)
    assert run(monkeypatch, folders, "--sets", "first") == 0
    assert run(monkeypatch, folders, "--sets", "first") == 0
    assert measured == [("first", k) for k in (0, 1, 1, 2)]
    page = (results / "summary.md").read_text()
    # The mean of 1, 2 and 3 beside 2; its error is 1/√3.
    assert "| first | 2 (A) | 2 ± 0.58 | 1.000 | 0.500 | 0.2 |" in page
    assert "Geometric mean of the ratios: 1.000, on 1 of 2 sets." in page


def test_results_are_measured_again_if_asked(monkeypatch, folders):
    measured = [("before", 0)]
    monkeypatch.setattr(command, "measure", partial(scored, measured))
    for _ in range(2):
        options = ("--raw", str(folders.raw), "--sets", "second", "--fresh")
        assert run(monkeypatch, folders, *options) == 0
    assert measured[1:] == [("second", k) for k in (0, 1, 2)] * 2
    assert report.beside_published(TINY, folders.data / "results")["ratio"].tolist() == [2.0]


def test_stored_results_are_complete_and_of_the_declared_splits():
    for comparison in command.comparisons().values():
        for name in comparison.sets:
            results = report.stored(comparison, name)
            if results.table.exists():
                assert results.missing() == []
