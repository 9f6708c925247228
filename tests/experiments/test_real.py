"""The comparison on real data goes on after an interruption and ranks as it says."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import pytest

from experiments.real import __main__ as command
from experiments.real import measure, ranking, report
from experiments.real.results import Results
from sosbands.datasets import case

METHODS = "boosted_split,boosted_scale"


@pytest.fixture
def folders(tmp_path):
    """Two small data sets, and where the results go."""
    for name, number in (("mcycle", 1), ("new", 3)):
        X, y = case(number).sample(240, random_state=0)
        table = pd.DataFrame(X).assign(y=y)
        (tmp_path / "data").mkdir(exist_ok=True)
        table.to_csv(tmp_path / "data" / f"{name}.csv", index=False)
    return tmp_path


def run(monkeypatch, folders, *options):
    arguments = ["--results", str(folders / "results"), "--figures", str(folders / "figures")]
    monkeypatch.setattr(sys, "argv", ["real", *arguments, "--jobs", "1", *options])
    return command.main()


def test_a_run_measures_only_what_is_missing(monkeypatch, folders):
    data = ("--data", str(folders / "data"), "--sets", "new", "--methods", METHODS)
    assert run(monkeypatch, folders, *data, "--splits", "1") == 0
    measured = []
    monkeypatch.setattr(
        command, "measure", lambda *unit: measured.append(unit[1:]) or measure.measure(*unit)
    )
    assert run(monkeypatch, folders, *data, "--splits", "2") == 0
    assert sorted(measured) == [("boosted_scale", 101), ("boosted_split", 101)]
    stored = Results(folders / "results" / "new.csv")
    assert len(stored.load()) == 2 * 2 * 3
    assert run(monkeypatch, folders, *data, "--splits", "1", "--fresh") == 0
    assert len(measured) == 4
    assert len(pd.read_csv(stored.path)) == 2 * 2 * 3


def test_a_method_that_fails_is_reported_and_the_others_go_on(monkeypatch, folders, capsys):
    def fail(path, method, seed):
        if method == "boosted_scale":
            raise ArithmeticError("no scale")
        return measure.measure(path, method, seed)

    monkeypatch.setattr(command, "measure", fail)
    data = ("--data", str(folders / "data"), "--sets", "new", "--methods", METHODS)
    assert run(monkeypatch, folders, *data, "--splits", "1") == 1
    assert "failed: boosted_scale on new, split 100" in capsys.readouterr().err
    assert Results(folders / "results" / "new.csv").done() == {("boosted_split", 100)}


def test_results_with_other_columns_are_not_mixed(tmp_path):
    stored = Results(tmp_path / "new.csv")
    stored.add("rlcp", 0, [{"level": 0.9, "coverage": 0.9}])
    with pytest.raises(ValueError, match="must have the columns method, seed, level, width, ver"):
        stored.add("rlcp", 1, [{"level": 0.9, "width": 0.9}])


def test_an_unknown_data_set_is_refused(monkeypatch, folders, capsys):
    with pytest.raises(SystemExit):
        run(monkeypatch, folders, "--data", str(folders / "data"), "--sets", "old")
    assert "no data set old in" in capsys.readouterr().err


def test_a_split_uses_every_row_once():
    parts = measure.split(133, seed=0)
    assert [len(part) for part in parts] == [66, 33, 34]
    assert sorted(np.concatenate(parts)) == list(range(133))


def test_infinite_bounds_are_counted_and_cut_off(monkeypatch, folders):
    class Everything:
        @staticmethod
        def fit(X, y, X_cal, y_cal, *, levels, seed):
            from experiments.methods import Fitted

            return Fitted(lambda X: np.tile([[-np.inf], [np.inf]], (len(X), 1, len(levels))))

    monkeypatch.setattr(measure, "load", lambda name: Everything)
    path = folders / "data" / "new.csv"
    rows = measure.measure(path, "everything", seed=0)
    _, y = measure.rows_of(path)
    train, _, _ = measure.split(len(y), 0)
    assert [row["level"] for row in rows] == [0.8, 0.9, 0.95]
    assert all(row["infinite"] == 1 and row["coverage"] == 1 for row in rows)
    assert rows[0]["mean_width"] == pytest.approx(3 * np.ptp(y[train]))


def results_of(scores, level=0.9):
    """Rows in which every metric is the given number: (method, seed) ↦ score."""
    return pd.DataFrame(
        [
            {"method": m, "seed": s, "level": level, "n": 99, "coverage": v, "infinite": 0.0}
            | dict.fromkeys(ranking.METRICS, v)
            for (m, s), v in scores.items()
        ]
    )


def test_ranks_and_ratios_are_those_of_the_means():
    tables = {
        "mcycle": results_of(
            {("sosbands", 0): 1, ("sosbands", 1): 3, ("rlcp", 0): 4, ("rlcp", 1): 4}
            | {("boosted_split", 0): 1, ("boosted_split", 1): 1}
        ),
        "new": results_of({("sosbands", 0): 1, ("rlcp", 0): 8, ("boosted_split", 0): 8}),
    }
    found = ranking.summary(tables, 0.9).set_index("method")
    assert found["interval_score_rank"].to_dict() == {
        "sosbands": 1.5,
        "boosted_split": 1.75,
        "rlcp": 2.75,
    }
    assert found.loc["rlcp", "interval_score_ratio"] == pytest.approx(np.sqrt(4 * 8))
    assert found.loc["rlcp", "worst_slab_ratio"] == pytest.approx(1)  # larger is better there
    assert found.loc["rlcp", "worst_slab_rank"] == 1.25


def test_the_error_of_a_rank_is_that_of_splits_drawn_anew():
    scores = {("sosbands", 0): 1, ("sosbands", 1): 1, ("rlcp", 0): 0.5, ("rlcp", 1): 1.4}
    found = ranking.summary({"new": results_of(scores)}, 0.9).set_index("method")
    assert found.loc["sosbands", "interval_score_rank"] == 2
    # The mean of rlcp is 0.5, 0.95, 0.95 or 1.4: ours is first with probability 1/4.
    error = found.loc["sosbands", "interval_score_rank_error"]
    assert error == pytest.approx(np.sqrt(1 / 4 * 3 / 4), abs=0.05)


def test_a_metric_that_no_set_has_leaves_no_rank():
    table = results_of({("sosbands", 0): 1, ("rlcp", 0): 2}).assign(worst_slab=np.nan)
    found = ranking.summary({"mcycle": table}, 0.9).set_index("method")
    assert found["worst_slab_rank"].isna().all()
    assert found["interval_score_rank"].to_dict() == {"sosbands": 1, "rlcp": 2}


def test_a_variant_of_ours_is_ranked_in_our_place_and_harms_nobody():
    tables = {"new": results_of({("sosbands", 0): 2, ("sosbands_symmetric", 0): 1, ("rlcp", 0): 3})}
    found = ranking.summary(tables, 0.9).set_index("method")
    assert found["interval_score_rank"].to_dict() == {
        "sosbands": 1.0,
        "rlcp": 2.0,
        "sosbands_symmetric": 1.0,
    }
    assert found.loc["sosbands", "interval_score_ratio"] == 1.0


def test_a_method_without_all_splits_of_ours_stands_outside():
    tables = ranking.comparable(
        {
            "new": results_of(
                {("sosbands", 0): 2, ("sosbands", 1): 2, ("rlcp", 0): 3, ("boosted_split", 7): 1}
            ),
            "without": results_of({("rlcp", 0): 3}),
        }
    )
    assert list(tables) == ["new"]
    assert ranking.present(tables) == ["sosbands"]


def test_the_report_reads_the_results_alone(folders):
    stored = Results(folders / "results" / "mcycle.csv")
    for method, score in (("sosbands", 1.25), ("rlcp", 2.5)):
        row = {**dict.fromkeys(ranking.METRICS, score), "coverage": 0.9, "infinite": 0.0, "n": 99}
        stored.add(method, 100, [{"level": level, **row} for level in measure.LEVELS])
    written = report.write(folders / "results", folders / "figures")
    assert [path.name for path in written] == [
        "mcycle.md",
        "summary.csv",
        "summary.md",
        "ranks.png",
    ]
    assert "| sosbands, around boosting | 1 | 1.25 | 1.00 |" in written[0].read_text()
    assert "## Development sets, level 0.9" in written[2].read_text()


def test_the_bounds_of_the_coverage_are_those_of_simulated_scores():
    rng, n, level = np.random.default_rng(0), 200, 0.9
    scores = rng.random((20_000, 100))  # 50 calibrate, 50 test
    q = np.sort(scores[:, :50], axis=1)[:, 45]  # the 46th: ⌈0.9 · 51⌉
    covered = (scores[:, 50:] <= q[:, None]).mean(axis=1)
    low, high = ranking.exact_coverage(n, level, splits=4)
    assert (low + high) / 2 == pytest.approx(covered.mean(), abs=0.002)
    assert (high - low) / 6 == pytest.approx(covered.std() / 2, rel=0.03)
