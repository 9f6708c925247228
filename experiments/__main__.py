"""Run the paper's experiments, all or some; what is stored already is not measured again."""

from __future__ import annotations

import argparse
import sys

from experiments import figures, store
from experiments.discovery import experiments
from experiments.experiment import Experiment
from experiments.runner import run
from experiments.store import Store


def main() -> int:
    """Run, store, draw; 1 if something could not be measured."""
    found = experiments()
    arguments = parse(found)
    if arguments.list:
        print("\n".join(line(experiment) for experiment in found.values()))
        return 0
    chosen = [found[name] for name in arguments.names or found]
    if arguments.summary:
        for experiment in chosen:
            results = stored(experiment, arguments.full).load()
            print(f"\n## {experiment.title}\n\n{markdown(experiment.summary(results))}")
        return 0
    failures: list[str] = []
    for experiment in chosen:
        failures += measure_and_draw(experiment, arguments)
    for failure in failures:
        print(f"\nfailed: {failure}", file=sys.stderr)
    return 1 if failures else 0


def parse(found: dict[str, Experiment]) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m experiments", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(found) or "none yet")
    parser.add_argument("--full", action="store_true", help="the paper's size")
    parser.add_argument("--jobs", type=int, default=2, help="processes (default: 2)")
    parser.add_argument("--fresh", action="store_true", help="forget the stored results first")
    parser.add_argument("--figures-only", action="store_true", help="draw the stored results")
    parser.add_argument("--summary", action="store_true", help="print the numbers, run nothing")
    parser.add_argument("--list", action="store_true", help="name the experiments and stop")
    arguments = parser.parse_args()
    unknown = sorted(set(arguments.names) - set(found))
    if unknown:
        parser.error(f"no experiment {', '.join(unknown)}: choose from {', '.join(found)}")
    if arguments.jobs < 1:
        parser.error(f"--jobs must be at least 1, got {arguments.jobs}")
    return arguments


def line(experiment: Experiment) -> str:
    """Item, name, title and duration."""
    reduced, full = experiment.minutes
    return (
        f"{experiment.item:>3}  {experiment.name:<22} {experiment.title} "
        f"({reduced:g} min, in the paper's size {full:g} min)"
    )


def stored(experiment: Experiment, full: bool) -> Store:
    """The results of an experiment: the paper's size has a folder of its own."""
    folder = store.FOLDER / "full" if full else store.FOLDER
    return Store(experiment.name, experiment.units(full), folder)


def measure_and_draw(experiment: Experiment, arguments: argparse.Namespace) -> list[str]:
    """One experiment from its missing units to its figure; what failed."""
    results = stored(experiment, arguments.full)
    if not arguments.figures_only:
        if arguments.fresh:
            results.forget()
        failures = run(experiment, results, jobs=arguments.jobs)
        if failures:
            return failures
    versions = results.foreign_versions()
    if versions:
        print(
            f"{experiment.name}: measured with version {', '.join(versions)}; "
            "--fresh measures again",
            file=sys.stderr,
        )
    folder = figures.FOLDER / "full" if arguments.full else figures.FOLDER
    print(figures.draw(experiment, results.load(), folder))
    return []


def markdown(table: object) -> str:
    """A data frame as a Markdown table, four digits."""
    import pandas as pd

    frame = pd.DataFrame(table)
    rows = [list(map(str, frame.columns)), ["---"] * frame.shape[1]]
    rows += [
        [f"{v:.4g}" if isinstance(v, float) else str(v) for v in row]
        for row in frame.itertuples(index=False)
    ]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except FileNotFoundError as error:  # nothing stored to draw or to sum up
        sys.exit(str(error))
