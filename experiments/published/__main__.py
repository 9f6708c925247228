"""Run our defaults on the splits of published comparisons; what is stored is not measured again.

A comparison is one more file in experiments/published that declares a COMPARISON.
"""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path

from experiments import published
from experiments.discovery import declared
from experiments.experiment import NamedWork
from experiments.published.comparison import Comparison, Folders, measure
from experiments.published.report import FOLDER, stored, write
from experiments.runner import run

Chosen = list[tuple[Comparison, str]]


def main() -> int:
    """Measure, store, tabulate; 1 if something could not be measured."""
    found = comparisons()
    arguments = parse(found)
    failures: list[str] = []
    if arguments.data is not None:
        folders = Folders(arguments.data, arguments.raw)
        for comparison, name in wanted(found, arguments):
            results = stored(comparison, name, arguments.results)
            if arguments.fresh:
                results.forget()
            work = NamedWork(results.name, partial(measure, comparison, name, folders))
            failures += run(work, results, jobs=arguments.jobs)
    print(write(found.values(), arguments.results))
    for failure in failures:
        print(f"\nfailed: {failure}", file=sys.stderr)
    return 1 if failures else 0


def comparisons() -> dict[str, Comparison]:
    """All that are declared, by name."""
    return {comparison.name: comparison for comparison in declared(published, "COMPARISON")}


def parse(found: dict[str, Comparison]) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m experiments.published", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"{', '.join(found)} (all)")
    parser.add_argument(
        "--data", type=Path, metavar="FOLDER", help="the CSV files; without it nothing is measured"
    )
    parser.add_argument("--raw", type=Path, metavar="FOLDER", help="the tables as they came")
    parser.add_argument("--sets", help="a,b: some of the data sets (default: all)")
    parser.add_argument("--jobs", type=int, default=2, help="processes (default: 2)")
    parser.add_argument("--fresh", action="store_true", help="measure again what is stored")
    parser.add_argument("--results", type=Path, default=FOLDER, help="where the tables go")
    arguments = parser.parse_args()
    unknown = sorted(set(arguments.names) - set(found))
    if unknown:
        parser.error(f"no comparison {', '.join(unknown)}: choose from {', '.join(found)}")
    if arguments.data is not None:
        try:
            check(wanted(found, arguments), Folders(arguments.data, arguments.raw))
        except ValueError as error:
            parser.error(str(error))
    return arguments


def wanted(found: dict[str, Comparison], arguments: argparse.Namespace) -> Chosen:
    """The data sets of the comparisons that were named."""
    sets = arguments.sets.split(",") if arguments.sets else None
    return [
        (found[comparison], name)
        for comparison in arguments.names or found
        for name in found[comparison].sets
        if sets is None or name in sets
    ]


def check(chosen: Chosen, folders: Folders) -> None:
    """Raise before hours of work if a file is not there."""
    if not chosen:
        raise ValueError("no data set has such a name: see experiments/published")
    for comparison, name in chosen:
        path = comparison.sets[name].path(folders)
        if not path.exists():
            raise ValueError(
                f"no file {path}, for {name} of {comparison.name}: --sets names others"
            )


if __name__ == "__main__":
    sys.exit(main())
