"""Run every method on every CSV file of a folder; what is stored already is not measured again.

A data set is one more CSV file: numbers, a header, y in the last column. A method is one more file
in experiments/methods.
"""

from __future__ import annotations

import argparse
import sys
import traceback
from itertools import product
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed

from experiments import methods
from experiments.real import report
from experiments.real.measure import applies, measure, rows_of, split
from experiments.real.results import Results

FOLDER = Path(__file__).parents[1] / "results" / "real"
FIGURES = Path(__file__).parents[1] / "figures" / "real"
FIRST_SEED = 100  # the others have served to choose defaults
SPLITS, SPLITS_OF_LARGE, LARGE = 10, 3, 20_000
# More splits where fewer rows than these would test in ten of them: means of so few are chance.
TEST_ROWS = 1000

Unit = tuple[Path, str, int]


def main() -> int:
    """Measure, store, tabulate; 1 if something could not be measured."""
    arguments = parse()
    failures = []
    if arguments.data is not None:
        failures = run(wanted(arguments), arguments)
    for path in report.write(arguments.results, arguments.figures):
        print(path)
    for failure in failures:
        print(f"\nfailed: {failure}", file=sys.stderr)
    return 1 if failures else 0


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m experiments.real", description=__doc__)
    parser.add_argument(
        "--data", type=Path, metavar="FOLDER", help="the CSV files; without it nothing is measured"
    )
    parser.add_argument("--sets", type=names, help="a,b: some of the files (default: all)")
    parser.add_argument("--methods", type=names, help="a,b: some of the methods (default: all)")
    parser.add_argument(
        "--splits",
        type=int,
        help=f"default: {SPLITS}, {SPLITS_OF_LARGE} above {LARGE} rows, more of small ones",
    )
    parser.add_argument("--first-seed", type=int, default=FIRST_SEED, help="default: %(default)s")
    parser.add_argument("--jobs", type=int, default=2, help="processes (default: 2)")
    parser.add_argument("--fresh", action="store_true", help="measure again what is stored")
    parser.add_argument("--results", type=Path, default=FOLDER, help="where the tables go")
    parser.add_argument("--figures", type=Path, default=FIGURES, help="where the pictures go")
    arguments = parser.parse_args()
    unknown = sorted(set(arguments.methods or ()) - set(methods.names()))
    if unknown:
        parser.error(f"no method {', '.join(unknown)}: choose from {', '.join(methods.names())}")
    if arguments.data is not None:
        found = sorted(path.stem for path in arguments.data.glob("*.csv"))
        absent = sorted(set(arguments.sets or ()) - set(found))
        if absent or not found:
            parser.error(f"no data set {', '.join(absent) or 'at all'} in {arguments.data}")
    return arguments


def names(text: str) -> list[str]:
    """Names between commas."""
    return [name.strip() for name in text.split(",") if name.strip()]


def wanted(arguments: argparse.Namespace) -> list[Unit]:
    """The units of work: small data sets first, all methods of a split together."""
    paths = [
        path
        for path in sorted(arguments.data.glob("*.csv"), key=lambda path: path.stat().st_size)
        if arguments.sets is None or path.stem in arguments.sets
    ]
    units = []
    for path in paths:
        n = len(rows_of(path)[1])
        splits = arguments.splits or usual_splits(n)
        seeds = range(arguments.first_seed, arguments.first_seed + splits)
        chosen = [m for m in arguments.methods or methods.names() if applies(path, m)]
        done = set() if arguments.fresh else Results(arguments.results / f"{path.stem}.csv").done()
        units += [
            (path, method, seed)
            for seed, method in product(seeds, chosen)
            if (method, seed) not in done
        ]
    return units


def usual_splits(n: int) -> int:
    """How many splits of a set with n rows are measured."""
    if n > LARGE:
        return SPLITS_OF_LARGE
    return max(SPLITS, -(-TEST_ROWS // len(split(n, 0)[-1])))


def run(units: list[Unit], arguments: argparse.Namespace) -> list[str]:
    """Measure in parallel and store as it comes; the failures, one text for each."""
    failures = []
    pool = Parallel(n_jobs=arguments.jobs, return_as="generator_unordered")
    outcomes = pool(delayed(attempt)(*unit) for unit in units)
    for count, (path, method, seed, rows, failure) in enumerate(outcomes, start=1):
        said = f"{rows[0]['fit_seconds']:.1f} s" if rows else "failed"
        line = f"{count}/{len(units)} {path.stem} {method} split {seed}: {said}"
        print(line, file=sys.stderr, flush=True)
        if failure:
            failures.append(f"{method} on {path.stem}, split {seed}\n{failure}")
        else:
            Results(arguments.results / f"{path.stem}.csv").add(method, seed, rows)
    for path in {path for path, _, _ in units}:
        Results(arguments.results / f"{path.stem}.csv").tidy()
    return failures


def attempt(path: Path, method: str, seed: int) -> tuple[Path, str, int, Any, str]:
    """One unit; a failure is an outcome, so that the others go on."""
    try:
        return path, method, seed, measure(path, method, seed), ""
    except Exception:
        return path, method, seed, [], traceback.format_exc(limit=-3)


if __name__ == "__main__":
    sys.exit(main())
