"""Experiments go on after an interruption, keep each unit once, and draw from results alone."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from experiments import figures
from experiments.discovery import experiments
from experiments.experiment import Experiment
from experiments.runner import run
from experiments.store import Store

measured: list[tuple[str, float]] = []


def keys(full: bool) -> list[dict[str, Any]]:
    sizes = (0.1, 1.0, 1e7) if full else (0.1, 1.0)
    return [{"method": method, "size": size} for method in ("b", "a") for size in sizes]


def measure(method: str, size: float) -> list[dict[str, Any]]:
    measured.append((method, size))
    curve = [{"kind": "curve", "x": x, "y": np.float64(size / 3)} for x in range(2)]
    return [*curve, {"kind": "total", "even": np.bool_(True), "seed": np.int64(3)}]


def fail_on_large(method: str, size: float) -> list[dict[str, Any]]:
    if size > 0.5:
        raise ArithmeticError(f"{size} is too large")
    return measure(method, size)


def figure(results: pd.DataFrame) -> Any:
    from matplotlib.figure import Figure

    drawing = Figure(figsize=(2, 2))
    drawing.subplots().plot(results["size"], results["y"])
    return drawing


def declared(**changes: Any) -> Experiment:
    given: dict[str, Any] = {
        "name": "example",
        "item": 1,
        "title": "An example",
        "claims": (),
        "keys": keys,
        "measure": measure,
        "figure": figure,
        "summary": lambda results: results.head(1),
        "minutes": (0, 0),
    }
    return Experiment(**{**given, **changes})


@pytest.fixture
def store(tmp_path: Path) -> Store:
    measured.clear()
    return Store("example", keys(full=False), tmp_path)


def test_every_unit_is_measured_once(store: Store) -> None:
    assert run(declared(), store, jobs=1) == []
    assert run(declared(), store, jobs=1) == []
    assert measured == [("b", 0.1), ("b", 1.0), ("a", 0.1), ("a", 1.0)]
    assert len(store.load()) == 12
    assert not store.journal.exists()


def test_an_interrupted_run_goes_on(store: Store) -> None:
    def interrupt(method: str, size: float) -> list[dict[str, Any]]:
        if method == "a":
            raise KeyboardInterrupt
        return measure(method, size)

    with pytest.raises(KeyboardInterrupt):
        run(declared(measure=interrupt), store, jobs=1)
    assert not store.table.exists()
    assert len(store.missing()) == 2
    run(declared(), store, jobs=1)
    assert measured == [("b", 0.1), ("b", 1.0), ("a", 0.1), ("a", 1.0)]


def test_a_torn_line_is_measured_again(store: Store) -> None:
    for unit in store.units[:2]:
        store.add(unit, measure(**unit))
    text = store.journal.read_text()
    store.journal.write_text(text[:-20])
    assert [dict(unit) for unit in store.missing()] == keys(full=False)[1:]
    run(declared(), store, jobs=1)
    assert len(store.load()) == 12


def test_a_unit_added_twice_has_one_set_of_rows(store: Store) -> None:
    unit = store.units[0]
    store.add(unit, {"y": 1.0})
    store.add(unit, {"y": 2.0})
    for other in store.units[1:]:
        store.add(other, {"y": 3.0})
    store.complete()
    assert store.load()["y"].tolist() == [2.0, 3.0, 3.0, 3.0]


def test_the_table_is_in_the_order_of_the_units_whatever_was_done_first(store: Store) -> None:
    for unit in reversed(store.units):
        store.add(unit, {"y": 0.5})
    store.complete()
    assert store.load()[["method", "size"]].to_dict("records") == keys(full=False)


def test_completing_again_leaves_the_table_as_it_is(store: Store) -> None:
    run(declared(), store, jobs=1)
    first = store.table.read_bytes()
    run(declared(), store, jobs=1)
    assert store.table.read_bytes() == first


def test_more_units_keep_those_that_are_stored(store: Store, tmp_path: Path) -> None:
    run(declared(), store, jobs=1)
    measured.clear()
    larger = Store("example", keys(full=True), tmp_path)
    run(declared(), larger, jobs=1)
    assert measured == [("b", 1e7), ("a", 1e7)]
    assert larger.load()["size"].drop_duplicates().tolist() == [0.1, 1.0, 1e7]


def test_values_are_kept_to_six_digits_and_keys_exactly(store: Store) -> None:
    exact = Store("example", [{"size": 1 / 3}], store.folder)
    exact.add({"size": 1 / 3}, {"y": 1 / 3})
    exact.complete()
    assert exact.table.read_text().splitlines()[1].startswith(f"{1 / 3!r},0.333333,")
    assert exact.missing() == []


def test_processes_give_the_same_table(store: Store, tmp_path: Path) -> None:
    steady = declared(measure=partial(dict, y=0.5))  # importable by other processes
    run(steady, store, jobs=1)
    other = Store("example", keys(full=False), tmp_path / "other")
    assert run(steady, other, jobs=2) == []
    assert other.table.read_bytes() == store.table.read_bytes()


def test_a_failed_unit_is_reported_and_the_others_are_kept(store: Store) -> None:
    failures = run(declared(measure=fail_on_large), store, jobs=1)
    assert len(failures) == 2
    assert "1.0 is too large" in failures[0]
    assert [unit["size"] for unit in store.missing()] == [1.0, 1.0]
    assert not store.table.exists()


def test_results_of_another_version_are_kept_and_named(store: Store) -> None:
    run(declared(), store, jobs=1)
    assert store.foreign_versions() == []
    table = store.load().assign(version="0.0.7")
    table.to_csv(store.table, index=False)
    assert store.missing() == []
    assert store.foreign_versions() == ["0.0.7"]


def test_no_results_say_what_to_run(store: Store) -> None:
    with pytest.raises(FileNotFoundError, match="python -m experiments example"):
        store.load()


def test_lines_at_the_same_place_are_both_visible() -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    canvas = FigureCanvasAgg(Figure(figsize=(2, 2)))
    axes = canvas.figure.add_axes((0, 0, 1, 1), frameon=False)
    figures.mark_places(axes, {"red": 0.5, "blue": 0.5})
    canvas.draw()
    red, green, blue, _ = np.moveaxis(np.asarray(canvas.buffer_rgba(), int), 2, 0)
    assert (red - np.maximum(green, blue)).max() > 100
    assert (blue - np.maximum(green, red)).max() > 100


def test_a_figure_needs_results_alone(store: Store, tmp_path: Path) -> None:
    run(declared(), store, jobs=1)
    measured.clear()
    path = figures.draw(declared(), store.load(), tmp_path / "figures")
    again = figures.draw(declared(), store.load(), tmp_path / "again")
    assert measured == []
    assert path.read_bytes() == again.read_bytes()
    assert path.with_suffix(".svg").read_bytes() == again.with_suffix(".svg").read_bytes()


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [([], "no units"), ([{"a": 1}, {"b": 1}], "the names"), ([{"a": 1}, {"a": 1}], "alike")],
)
def test_keys_that_cannot_tell_units_apart_are_refused(wrong: list[Any], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        declared(keys=lambda full: wrong).units(full=False)


def test_experiments_are_named_after_their_files_and_numbered_once() -> None:
    found = experiments()
    folder = Path(__file__).parents[2] / "experiments" / "paper"
    assert all((folder / f"{name}.py").exists() for name in found)
    items = [experiment.item for experiment in found.values()]
    assert items == sorted(set(items))


@pytest.mark.parametrize("full", [False, True])
def test_every_experiment_declares_its_units(full: bool) -> None:
    for experiment in experiments().values():
        assert experiment.units(full)
