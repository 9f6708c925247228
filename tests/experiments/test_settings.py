"""Every default is compared with what it says, once, and the tables mean what they say."""

from __future__ import annotations

import sys
from importlib import import_module

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator

from experiments.real.ranking import DEVELOPMENT
from experiments.settings import __main__ as command
from experiments.settings import measure, report
from experiments.settings.registry import SETTINGS
from experiments.settings.setup import ROWS, SETS, SETUPS, Variant, default_model, seeds_of
from sosbands import KernelBand
from sosbands.datasets import case
from sosbands.learning import stacking

VARIANTS = [(name, v) for name, setting in SETTINGS.items() for v in setting.variants]
NAMES = [f"{name}: {v.without}, {v.setup}" for name, v in VARIANTS]


@pytest.fixture
def folder(tmp_path):
    """Small tables that are called like two development sets."""
    for name, number in (("mcycle", 1), ("lidar", 3)):
        X, y = case(number).sample(120, random_state=0)
        pd.DataFrame(X).assign(y=y).to_csv(tmp_path / f"{name}.csv", index=False)
    return tmp_path


def run(monkeypatch, folder, *options):
    given = ["--data", str(folder), "--results", str(folder / "results"), "--jobs", "1"]
    given += ["--sets", "mcycle,lidar", "--seeds", "1"]
    monkeypatch.setattr(sys, "argv", ["settings", *given, *options])
    return command.main()


@pytest.mark.parametrize("variant", [v for _, v in VARIANTS], ids=NAMES)
def test_a_variant_changes_what_it_names_and_nothing_else(variant):
    default = default_model(SETUPS[variant.setup], 0).get_params()
    found = variant.model(0).get_params()
    names = {n for n in found if n not in default or differ(found[n], default[n])} - {"band"}
    expected = {*variant.parameters, *(["estimator"] if variant.mean else [])}
    assert {n for n in names if not n.startswith(("estimator__", "band__difficulty__"))} == expected
    before = [present(name) for name in variant.constants]
    with variant.changed_constants():
        changed = [present(name) for name in variant.constants]
    assert all(differ(*pair) for pair in zip(before, changed, strict=True))
    assert [present(name) for name in variant.constants] == before
    assert set(variant.sets) <= set(SETS)


def present(name):
    module, _, constant = name.rpartition(".")
    return getattr(import_module(f"sosbands.{module}"), constant)


def differ(one, other):
    if isinstance(one, BaseEstimator) and isinstance(other, BaseEstimator):
        return repr(one) != repr(other)
    return one != other


def test_no_two_variants_of_a_setting_are_called_alike():
    for setting in SETTINGS.values():
        named = [(variant.without, variant.setup) for variant in setting.variants]
        assert len(set(named)) == len(named), setting.name


def test_a_variant_that_changes_nothing_is_refused():
    with pytest.raises(ValueError, match="'all the same' changes nothing"):
        Variant("all the same", "boosting")
    with pytest.raises(ValueError, match=r"setup must be one of .*, got 'forest'"):
        Variant("another", "forest", {"band__offset": 0.0})


def test_a_constant_may_be_made_from_the_present_one():
    variant = SETTINGS["estimator"].variant("no ridge", "auto")
    before = set(stacking.BASES)
    with variant.changed_constants():
        assert set(stacking.BASES) == before - {"ridge"}
    assert "ridge" in stacking.BASES


def test_baselines_are_shared_and_measured_once():
    chosen = [SETTINGS["offset"], SETTINGS["tol"]]
    assert command.baseline_units(chosen, SETS, 8) == command.baseline_units(chosen[:1], SETS, 8)
    found = command.baseline_units(list(SETTINGS.values()), SETS, 8)
    assert len({tuple(unit.values()) for unit in found}) == len(found)


def test_defaults_are_measured_on_development_sets_alone():
    assert set(SETS) == set(DEVELOPMENT)


def test_sets_of_few_rows_have_more_splits():
    assert {name: len(seeds_of(name)) for name in SETS} == {
        name: 8 if rows < 1000 else 4 for name, rows in ROWS.items()
    }


def test_all_of_it_takes_less_than_two_hours_of_two_processors():
    last = command.listed(list(SETTINGS.values()))[-1]
    assert last.startswith("in all ")
    assert float(last.split()[2]) < 4 * 60


@pytest.mark.slow
def test_a_run_measures_what_is_missing_and_prints_its_table(monkeypatch, folder, capsys):
    assert run(monkeypatch, folder, "shift_power") == 0
    assert "| `shift_power` | 0, the paper's | boosted trees | 2 | " in capsys.readouterr().out
    measured = []
    monkeypatch.setattr(
        command, "run", lambda task, store, jobs: measured.append(store.missing()) or []
    )
    assert run(monkeypatch, folder, "shift_power") == 0
    assert measured == [[], []]
    stored = pd.read_csv(folder / "results" / "baseline.csv")
    assert set(stored["setup"]) == {"boosting"}
    assert list(stored["level"]) == [0.5, 0.9] * 2


def test_a_fresh_run_of_one_setting_is_refused(monkeypatch, folder, capsys):
    with pytest.raises(SystemExit):
        run(monkeypatch, folder, "--fresh", "offset")
    assert "--fresh takes no NAME" in capsys.readouterr().err


def test_an_unknown_setting_is_refused_with_those_there_are(monkeypatch, folder, capsys):
    with pytest.raises(SystemExit):
        run(monkeypatch, folder, "colour")
    assert "no setting colour: choose from estimator, " in capsys.readouterr().err


def rows_of(setup, scores, **key):
    """A score for each set and seed, at both levels."""
    return pd.DataFrame(
        [
            {**key, "setup": setup, "set": name, "seed": seed, "level": level}
            | {"score": score, "seconds": 2.0}
            for (name, seed), score in scores.items()
            for level in (0.5, 0.9)
        ]
    )


def test_ratios_are_geometric_means_in_which_sets_count_alike():
    splits = [("mcycle", 0), ("mcycle", 1), ("lidar", 0), ("lidar", 1)]
    baseline = rows_of("boosting", dict.fromkeys(splits, 1.0)).assign(seconds=1.0)
    scores = dict(zip(splits, [1.0, 1.21, 2.0, 2.0], strict=True))
    changed = rows_of("boosting", scores, without="0, the paper's")
    found = report.summary("shift_power", changed, baseline).iloc[0]
    error = np.sqrt(1.1 * 2) * np.log(1.21) / 2 / 2  # of one set of the two; the other has none
    assert found["0.9"] == f"{np.sqrt(1.1 * 2):.3f} ± {error:.3f}"
    assert found["smallest at 0.9"] == "1.100 (mcycle)"
    assert found["largest at 0.9"] == "2.000 (lidar)"
    assert (found["splits"], found["time"]) == (4, "2.00")


def test_tables_are_empty_while_nothing_is_stored(tmp_path):
    assert report.tables(tmp_path) == {}


def test_a_variant_that_is_called_like_a_number_is_found_again(tmp_path):
    splits = {("mcycle", 0): 1.0, ("mcycle", 1): 1.0}
    rows_of("boosting", splits).assign(seconds=1.0).to_csv(tmp_path / "baseline.csv", index=False)
    changed = rows_of("boosting", splits, without="1e-2")
    changed.to_csv(tmp_path / "tol.csv", index=False)
    assert report.tables(tmp_path)["tol"]["without"].tolist() == ["1e-2"]


def test_columns_of_few_whole_numbers_become_texts():
    X = np.column_stack([np.arange(60) % 2, np.arange(60) % 5, np.arange(60), np.arange(60) / 7])
    frame = measure.with_texts(X.astype(float))
    assert [str(kind) == "float64" for kind in frame.dtypes] == [True, False, True, True]


def test_linear_outputs_are_linear_but_for_noise_that_grows_with_the_first_input():
    X = np.random.default_rng(0).normal(size=(4000, 3))
    y = measure.linear_outputs(X, seed=1, growth=0.5)
    design = np.column_stack([X, np.ones(len(X))])
    left = np.abs(y - design @ np.linalg.lstsq(design, y)[0])
    assert y.std() == pytest.approx(1)
    assert 0.3 < np.corrcoef(left, np.exp(0.5 * X[:, 0]))[0, 1] < 1
    assert np.array_equal(y, measure.linear_outputs(X, seed=1, growth=0.5))
    y = measure.linear_outputs(X, seed=1, growth=0.0)
    left = np.abs(y - design @ np.linalg.lstsq(design, y)[0])
    assert abs(np.corrcoef(left, np.exp(0.5 * X[:, 0]))[0, 1]) < 0.05


def test_the_model_of_a_setup_is_that_of_the_defaults():
    model = default_model(SETUPS["kernel mean"], 0)
    assert model.estimator is None
    assert model.band.get_params() == KernelBand().get_params()
