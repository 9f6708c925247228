"""Run all benchmarks or some: ``python -m benchmarks [names]``; ``--help`` lists the options."""

from __future__ import annotations

import argparse
import os
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

from benchmarks import (
    alike_sides,
    all_levels,
    any_table,
    before,
    busy_cores,
    command_line,
    fit_large,
    fit_time,
    full_rank,
    joint_levels,
    large_sample,
    memory,
    million_rows,
    parameter_study,
    prediction,
    real_data,
    results,
    sdp_ratio,
    small_samples,
    soft,
    stability,
    table,
    timing_table,
)
from benchmarks.environment import environment
from benchmarks.isolation import run_alone
from benchmarks.record import Record

BENCHMARKS: dict[str, Callable[[bool], Iterator[Record]]] = {
    "parameter_study": parameter_study.run,
    "timing_table": timing_table.run,
    "sdp_ratio": sdp_ratio.run,
    "million_rows": million_rows.run,
    "full_rank": full_rank.run,
    "soft": soft.run,
    "prediction": prediction.run,
    "small_samples": small_samples.run,
    "large_sample": large_sample.run,
    "real_data": real_data.run,
    "fit_time": fit_time.run,
    "fit_large": fit_large.run,
    "busy_cores": busy_cores.run,
    "any_table": any_table.run,
    "joint_levels": joint_levels.run,
    "alike_sides": alike_sides.run,
    "all_levels": all_levels.run,
    "stability": stability.run,
    "before": before.run,
    "memory": memory.run,
    "command_line": command_line.run,
}


def main() -> int:
    """Run, print, store, draw; 1 if a target is missed."""
    arguments = parse()
    if arguments.markdown:
        stored = results.load()
        print(table.markdown({name: stored[name] for name in BENCHMARKS if name in stored}))
        return 0
    if arguments.data is not None:
        os.environ[real_data.VARIABLE] = arguments.data
    names = arguments.names or list(BENCHMARKS)
    records = [record for name in names for record in measure(name, arguments.full)]
    from benchmarks import figure  # matplotlib has no place in the timed processes

    figure.draw(results.load(), results.FIGURE)
    missed = [record for record in records if not record.ok]
    counted = [record for record in records if record.target is not None]
    print(f"\n{len(counted) - len(missed)} of {len(counted)} targets met")
    for record in missed:
        print(table.line(record.as_dict()))
    return 1 if missed else 0


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=", ".join(BENCHMARKS))
    parser.add_argument("--full", action="store_true", help="all sizes, no time limit")
    parser.add_argument(
        "--data",
        metavar="FOLDER",
        help=f"the CSV files of real_data; {real_data.VARIABLE} in the environment does the same",
    )
    parser.add_argument(
        "--markdown", action="store_true", help="print the stored results, run nothing"
    )
    arguments = parser.parse_args()
    unknown = sorted(set(arguments.names) - set(BENCHMARKS))
    if unknown:
        parser.error(f"no benchmark {', '.join(unknown)}: choose from {', '.join(BENCHMARKS)}")
    return arguments


def measure(name: str, full: bool) -> list[Record]:
    """Run one benchmark; print and store its records as they come."""
    print(f"\n{name}", flush=True)
    found, start, records = run_alone(environment), time.perf_counter(), []
    for record in records_or_failure(name, full):
        records.append(record)
        print(table.line(record.as_dict()), flush=True)
        results.store(
            name,
            {
                "date": datetime.now(UTC).isoformat(timespec="seconds"),
                "full": full,
                "seconds": time.perf_counter() - start,
                "environment": found,
                "records": [record.as_dict() for record in records],
            },
        )
    return records


def records_or_failure(name: str, full: bool) -> Iterator[Record]:
    """The records of a benchmark; one that breaks off is a missed target, and the others go on."""
    try:
        yield from BENCHMARKS[name](full)
    except Exception as error:
        print(traceback.format_exc(limit=-3), flush=True)
        yield Record(f"{name} broke off", float("nan"), "<=", 0.0, notes=repr(error))


if __name__ == "__main__":
    sys.exit(main())
