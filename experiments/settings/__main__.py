"""Measure what each default is worth; what is stored already is not measured again.

FOLDER holds the eight development sets as CSV files, y in the last column.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from experiments.runner import run
from experiments.settings import report
from experiments.settings.measure import baseline, changed
from experiments.settings.registry import SETTINGS
from experiments.settings.setup import SETS, SETUPS, Setting, seconds_of, seeds_of
from experiments.store import Store

Unit = dict[str, Any]


@dataclass(frozen=True)
class Task:
    """What the runner of experiments measures: all fits of one table."""

    name: str
    measure: Any
    timed: bool = False  # processor time, which other processes hardly change


def main() -> int:
    """Measure, store, tabulate; 1 if something could not be measured."""
    arguments = parse()
    chosen = [SETTINGS[name] for name in arguments.names or SETTINGS]
    if arguments.list:
        print("\n".join(listed(chosen)))
        return 0
    failures = []
    if arguments.data is not None:
        failures = measure_all(chosen, arguments)
    found = report.tables(arguments.results)
    for setting in chosen:
        if setting.name in found:
            print(f"\n{report.markdown(found[setting.name])}")
    for failure in failures:
        print(f"\nfailed: {failure}", file=sys.stderr)
    return 1 if failures else 0


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m experiments.settings", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(SETTINGS))
    parser.add_argument(
        "--data", type=Path, metavar="FOLDER", help="the CSV files; without it nothing is measured"
    )
    parser.add_argument("--sets", type=names, default=SETS, help="a,b: some sets (default: all)")
    parser.add_argument("--seeds", type=int, default=8, help="at most so many splits of a set")
    parser.add_argument("--jobs", type=int, default=2, help="processes (default: 2)")
    parser.add_argument("--fresh", action="store_true", help="measure all again")
    parser.add_argument("--results", type=Path, default=report.FOLDER, help="where the tables are")
    parser.add_argument("--list", action="store_true", help="name what there is, and its time")
    arguments = parser.parse_args()
    if arguments.fresh and arguments.names:
        parser.error("--fresh takes no NAME: all settings are compared with the same baselines")
    for given, known, what in (
        (arguments.names, SETTINGS, "setting"),
        (arguments.sets, SETS, "set"),
    ):
        unknown = sorted(set(given) - set(known))
        if unknown:
            parser.error(f"no {what} {', '.join(unknown)}: choose from {', '.join(known)}")
    if arguments.data is not None:
        absent = [name for name in arguments.sets if not (arguments.data / f"{name}.csv").exists()]
        if absent:
            parser.error(f"no data set {', '.join(absent)} in {arguments.data}")
    return arguments


def names(text: str) -> list[str]:
    """Names between commas."""
    return [name.strip() for name in text.split(",") if name.strip()]


def measure_all(chosen: Sequence[Setting], arguments: argparse.Namespace) -> list[str]:
    """The baselines that the settings share, then each setting; what failed."""
    sets, seeds, folder = arguments.sets, arguments.seeds, str(arguments.data.resolve())
    failures: list[str] = []
    shared = baseline_units(chosen, sets, seeds)
    if not shared:
        return failures
    kept = [] if arguments.fresh else stored_units(arguments.results)
    units = shared + [unit for unit in kept if unit not in shared]  # which others need
    tasks = [(Task(report.BASELINE, partial(baseline, folder)), units)]
    for setting in chosen:
        wanted = units_of(setting, sets, seeds)
        tasks.append((Task(setting.name, partial(changed, folder, setting.name)), wanted))
    for task, wanted in tasks:
        if not wanted:
            continue
        store = Store(task.name, wanted, arguments.results)
        if arguments.fresh:
            store.forget()
        failures += run(task, store, jobs=arguments.jobs)
    return failures


def units_of(setting: Setting, sets: Sequence[str], seeds: int) -> list[Unit]:
    """The fits without the default."""
    return [
        {"without": variant.without, "setup": variant.setup, "set": name, "seed": seed}
        for variant in setting.variants
        for name in variant.sets
        if name in sets
        for seed in seeds_of(name)[:seeds]
    ]


def baseline_units(chosen: Sequence[Setting], sets: Sequence[str], seeds: int) -> list[Unit]:
    """The fits with all defaults that these settings are compared with, each once."""
    needed = {
        (unit["setup"], unit["set"], unit["seed"])
        for setting in chosen
        for unit in units_of(setting, sets, seeds)
    }
    order = {name: place for place, name in enumerate((*SETUPS, *SETS))}
    ordered = sorted(needed, key=lambda unit: (order[unit[0]], order[unit[1]], unit[2]))
    return [dict(zip(("setup", "set", "seed"), unit, strict=True)) for unit in ordered]


def stored_units(folder: Path) -> list[Unit]:
    """The fits with all defaults that are stored, of other settings too."""
    import pandas as pd

    path = folder / f"{report.BASELINE}.csv"
    if not path.exists():
        return []
    found = pd.read_csv(path)[["setup", "set", "seed"]].drop_duplicates()
    return [dict(row) for row in found.to_dict("records")]


def listed(chosen: Sequence[Setting]) -> list[str]:
    """Names, numbers of fits and processor minutes; the baselines first."""
    shared = baseline_units(chosen, SETS, 8)
    minutes = sum(seconds_of(unit["setup"], unit["set"]) for unit in shared) / 60
    lines = [line(report.BASELINE, "all defaults", len(shared), minutes)]
    total = minutes
    for setting in chosen:
        units = units_of(setting, SETS, 8)
        minutes = sum(
            seconds_of(unit["setup"], unit["set"])
            * setting.variant(unit["without"], unit["setup"]).cost
            for unit in units
        )
        total += minutes / 60
        lines.append(line(setting.name, setting.default, len(units), minutes / 60))
    return [*lines, f"in all {total:.0f} min of one processor"]


def line(name: str, default: str, fits: int, minutes: float) -> str:
    """One line of the list."""
    return f"{name:<18} {default}: {fits} fits, {minutes:.1f} min of one processor"


if __name__ == "__main__":
    sys.exit(main())
