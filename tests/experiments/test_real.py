"""The comparison on real data goes on after an interruption and ranks as it says."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import pytest

from experiments.methods import load
from experiments.real import __main__ as command
from experiments.real import comparisons, measure, ranking, report
from experiments.real.results import HEADER, Results
from sosbands.datasets import case
from sosbands.metrics import crps, ert

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
    assert len(stored.load()) == 2 * 2 * 4
    assert run(monkeypatch, folders, *data, "--splits", "1", "--fresh") == 0
    assert len(measured) == 4
    assert len(pd.read_csv(stored.path)) == 2 * 2 * 4


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


def measured_rows(value=1.0):
    """What `measure` gives, with the same number everywhere."""
    return [{"level": p, **dict.fromkeys(measure.COLUMNS, value), "n": 99} for p in measure.LEVELS]


def test_results_with_other_columns_are_refused(tmp_path):
    with pytest.raises(ValueError, match="must have the columns method, seed, level, n, interval_"):
        Results(tmp_path / "new.csv").add("rlcp", 1, [{"level": 0.9, "width": 0.9}])


def test_results_of_an_older_declaration_are_read_but_count_as_not_measured(tmp_path):
    stored = Results(tmp_path / "old.csv")
    stored.path.write_text("method,seed,level,n,coverage,version\nrlcp,100,0.9,99,0.875,0.1.0\n")
    assert stored.load()["coverage"].tolist() == [0.875]
    assert list(stored.load()) == HEADER
    assert stored.done() == set()
    stored.tidy()
    assert stored.load()["coverage"].tolist() == [0.875]
    stored.add("rlcp", 101, measured_rows())
    assert stored.done() == {("rlcp", 101)}
    assert sorted(stored.load()["seed"].unique()) == [101]


def test_a_unit_without_all_levels_counts_as_not_measured(tmp_path):
    stored = Results(tmp_path / "new.csv")
    stored.add("rlcp", 100, measured_rows())
    stored.add("rlcp", 101, measured_rows()[1:])
    assert stored.done() == {("rlcp", 100)}


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
    assert [row["level"] for row in rows] == [0.5, 0.8, 0.9, 0.95]
    assert all(row["infinite"] == 1 and row["coverage"] == 1 for row in rows)
    assert rows[0]["mean_width"] == pytest.approx(3 * np.ptp(y[train]))
    assert np.isnan([row["crps"] for row in rows]).all()  # it has no distribution


def test_the_crps_is_that_of_the_quantiles_at_every_level(folders):
    path = folders / "data" / "new.csv"
    rows = measure.measure(path, "quantile_forest_cqr", seed=0)
    X, y = measure.rows_of(path)
    train, cal, test = measure.split(len(y), 0)
    fitted = load("quantile_forest_cqr").fit(
        X[train], y[train], X[cal], y[cal], levels=measure.LEVELS, seed=0
    )
    expected = crps(y[test], fitted.quantiles(X[test]))
    assert [row["crps"] for row in rows] == pytest.approx([expected] * 4)


def test_the_excess_risk_needs_two_hundred_test_rows():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(800, 1)), rng.normal(size=800)
    C = np.tile([[-1.0], [1.0]], (200, 1, 4))
    found = measure.quality(X, y, np.arange(200), C, seed=0)["ert"]
    Z = (X - X.mean()) / X.std()
    assert found == pytest.approx(ert(Z[:200], y[:200], C, measure.LEVELS, random_state=0))
    assert np.isnan(measure.quality(X, y, np.arange(199), C[:199], seed=0)["ert"]).all()


def results_of(scores, level=0.9):
    """Rows in which every metric is the given number: (method, seed) ↦ score."""
    return pd.DataFrame(
        [
            {"method": m, "seed": s, "level": level, **dict.fromkeys(measure.COLUMNS, v), "n": 99}
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
    # Whenever ours is first rlcp is second: they are one rank apart, this way or that.
    behind = found["interval_score_behind_error"]
    assert behind["sosbands"] == pytest.approx(2 * error)
    assert behind["rlcp"] == 0  # the first is not behind itself


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


def test_a_band_around_another_mean_is_ranked_in_the_place_of_its_own():
    scores = {("sosbands", 0): 2, ("boosted_scale", 0): 3, ("boosted_scale_around_auto", 0): 1}
    found = ranking.summary({"new": results_of(scores)}, 0.9).set_index("method")
    assert found["interval_score_rank"].to_dict() == {
        "sosbands": 1.0,
        "boosted_scale": 2.0,
        "boosted_scale_around_auto": 1.0,
    }


def test_those_without_a_distribution_are_no_rivals_in_the_crps():
    table = results_of({("sosbands", 0): 2, ("rlcp", 0): 1, ("catboost_cqr", 0): 3})
    table.loc[table["method"] == "rlcp", "crps"] = np.nan
    found = ranking.summary({"new": table}, 0.9).set_index("method")
    assert found["crps_rank"].dropna().to_dict() == {"sosbands": 1, "catboost_cqr": 2}


def test_an_excess_risk_below_zero_is_ranked_but_has_no_ratio():
    scores = {("sosbands", 0): -0.5, ("rlcp", 0): 0.5}
    table = results_of(scores).assign(**{m: 1.0 for m in ranking.METRICS if m != "ert"})
    found = ranking.summary({"new": table}, 0.9).set_index("method")
    assert found["ert_rank"].to_dict() == {"sosbands": 1, "rlcp": 2}
    assert found["ert_ratio"].isna().all()


def test_a_level_that_some_sets_lack_is_ranked_on_the_others():
    scores = {("sosbands", 0): 1, ("rlcp", 0): 2}
    tables = {"old": results_of(scores), "new": results_of(scores, level=0.5)}
    assert ranking.summary(tables, 0.5)["sets"].tolist() == [1, 1]
    assert list(ranking.at_level(tables, 0.5)) == ["new"]


def test_gaps_are_ranked_where_there_are_clusters_to_tell_apart():
    scores = {("sosbands", 0): 1, ("rlcp", 0): 2}
    few, many = results_of(scores).assign(n=396), results_of(scores).assign(n=400)  # 99, 100 tests
    found = ranking.summary({"few": few, "many": many}, 0.9)
    assert found["coverage_gap_rank"].notna().all()
    alone = ranking.summary({"few": few}, 0.9)
    assert alone["coverage_gap_rank"].isna().all()
    assert alone["interval_score_rank"].notna().all()


def test_the_first_place_is_shared_within_one_standard_error():
    frame = pd.DataFrame({"title": list("abcd"), "ranked": [True, True, True, False]})
    frame["ert_rank"], frame["ert_rank_error"] = [1.5, 2.0, 2.5, 1.0], 0.7
    frame["ert_behind_error"] = [0.0, 0.5, 0.75, 0.1]
    found = comparisons.places({0.9: frame}, "ert")
    assert found["first"].tolist() == [True, True, False, True]


def test_our_score_is_set_beside_the_best_rival_of_each_set():
    scores = {
        ("sosbands_boosted", 0): 3,
        ("sosbands_boosted", 1): 5,
        ("rlcp", 0): 4,
        ("rlcp", 1): 4,
    }
    scores |= {("sosbands", s): 2 for s in (0, 1)} | {("boosted_cqr", s): 9 for s in (0, 1)}
    scores |= {("rlcp_around_auto", s): 1 for s in (0, 1)}  # a variant is no rival
    found = comparisons.beside_best({"new": results_of(scores)}, 0.9).iloc[0]
    assert found["best"] == "localized split (RLCP)"
    assert (found["sosbands_boosted"], found["sosbands"]) == (1.0, 0.5)
    # Differences −1 and 1, in units of 4.
    assert found["sosbands_boosted_error"] == pytest.approx(np.sqrt(2) / np.sqrt(2) / 4)


def test_mean_and_band_are_told_apart_in_units_of_ours():
    scores = {
        "sosbands_boosted": 2,
        "sosbands": 1,
        "boosted_split": 4,
        "boosted_split_around_auto": 3,
    }
    tables = {
        "mcycle": results_of({(m, 0): v for m, v in scores.items()}),
        "new": results_of(
            {(m, 0): v if m == "sosbands_boosted" else 4 * v for m, v in scores.items()}
        ),
    }
    found = comparisons.mean_by_band(tables, "interval_score", 0.9, comparisons.beside_ours)
    assert found["boosted"].tolist() == pytest.approx([1.0, 4.0])
    assert found["auto"].tolist() == pytest.approx([1.0, 3.0])
    gaps = comparisons.mean_by_band(tables, "coverage_gap", 0.9, pd.DataFrame.mean)
    assert gaps["auto"].tolist() == [2.5, 7.5]


def test_bands_are_compared_on_splits_where_all_have_both_means():
    pairs = ("sosbands", "sosbands_boosted", "boosted_split", "boosted_split_around_auto")
    full = {(method, seed): 1.0 for method in pairs for seed in (0, 1)}
    tables = {
        "mcycle": results_of({key: v for key, v in full.items() if key != (pairs[3], 1)}),
        "new": results_of({(method, 0): 1.0 for method in pairs[:3]}),
    }
    found = comparisons.with_both_means(tables)
    assert list(found) == ["mcycle"]
    assert found["mcycle"]["seed"].unique().tolist() == [0]
    assert comparisons.with_both_means({"new": tables["new"]}) == {}


def test_coverage_is_below_inside_or_above_its_bounds():
    shares = {("sosbands", 0): 0.7, ("rlcp", 0): 0.9, ("boosted_split", 0): 1.0}
    table = results_of(shares).assign(n=40_000)
    found = comparisons.coverage_places({"new": table}, 0.9).set_index("method")
    assert found["place"].to_dict() == {
        "sosbands": "below",
        "rlcp": "inside",
        "boosted_split": "above",
    }
    assert found["low"].iloc[0] < 0.9 < found["high"].iloc[0]


def test_the_report_reads_the_results_alone(folders):
    for name in ("mcycle", "new"):
        stored = Results(folders / "results" / f"{name}.csv")
        for method, score in (("sosbands_boosted", 1.25), ("sosbands", 1.0), ("rlcp", 2.5)):
            stored.add(method, 100, measured_rows(score))
        for method in ("boosted_split", "boosted_split_around_auto"):
            stored.add(method, 100, measured_rows(5.0))
    written = report.write(folders / "results", folders / "figures")
    assert [path.name for path in written] == [
        *("mcycle.md", "new.md", "summary.csv", "summary.md", "ranks.md", "ranks.png"),
    ]
    assert "| sosbands, as it comes | 1 | 1.00 | 1.00 |" in written[0].read_text()
    standing, ranks = written[3].read_text(), written[4].read_text()
    first = "**1.00 ± 0.00**"
    assert f"| sosbands, as it comes | {' | '.join([first] * 4)} | yes |" in standing
    assert "| **all** |  | geometric mean | 0.4 | 0.5 |" in standing
    assert "| plain split (MAPIE) | 5.000 | 5.000 |" in standing
    assert "Outside, of ours: sosbands, as it comes on mcycle at 0.5: 1.000" in standing
    assert "## Development sets, level 0.9" in ranks


def test_the_report_of_an_older_declaration_shows_what_there_is(folders):
    (folders / "results").mkdir()
    old = [name for name in HEADER if name not in ("ert", "crps")]
    rows = [
        {"method": m, "seed": 100, "level": p, **dict.fromkeys(old[3:], v), "n": 99}
        for m, v in (("sosbands", 1.0), ("rlcp", 2.0))
        for p in (0.8, 0.9, 0.95)
    ]
    pd.DataFrame(rows)[old].to_csv(folders / "results" / "mcycle.csv", index=False)
    written = report.write(folders / "results", folders / "figures")
    standing = next(path for path in written if path.name == "summary.md").read_text()
    assert "| method | 0.8 | 0.9 | 0.95 | ranked |" in standing
    assert "ERT" not in standing
    assert "Mean and band" not in standing


def test_the_bounds_of_the_coverage_are_those_of_simulated_scores():
    rng, n, level = np.random.default_rng(0), 200, 0.9
    scores = rng.random((20_000, 100))  # 50 calibrate, 50 test
    q = np.sort(scores[:, :50], axis=1)[:, 45]  # the 46th: ⌈0.9 · 51⌉
    covered = (scores[:, 50:] <= q[:, None]).mean(axis=1)
    low, high = ranking.exact_coverage(n, level, splits=4)
    assert (low + high) / 2 == pytest.approx(covered.mean(), abs=0.002)
    assert (high - low) / 6 == pytest.approx(covered.std() / 2, rel=0.03)
