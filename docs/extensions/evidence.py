"""Parts of pages that are made when the documentation is built.

They come from the commands themselves, from stored results and from files that readers of the
repository see elsewhere; nothing is measured here. The parts go to ``generated/evidence`` and are
included by the pages.
"""

import inspect
import os
import re
import shutil
from pathlib import Path

import pandas as pd
from sphinx.application import Sphinx

from experiments import figures
from experiments.__main__ import markdown, stored
from experiments.discovery import experiments
from experiments.experiment import Experiment
from experiments.published import report as published_report
from experiments.published.__main__ import comparisons
from experiments.real import report
from experiments.real.__main__ import FIGURES as REAL_FIGURES
from experiments.real.__main__ import FOLDER as REAL_RESULTS
from experiments.real.results import Results
from experiments.settings import report as settings_report
from sosbands.cli import commands

DOCS = Path(__file__).parents[1]
ROOT = DOCS.parent
# Files of the repository that are pages here.
PAGES = {
    "benchmarks/README.md": "benchmarks.md",
    "experiments/README.md": "paper.md",
    "experiments/real/README.md": "real-data.md",
    "CHANGELOG.md": "changelog.md",
}


def write_parts(app: Sphinx) -> None:
    """Write all parts; those that did not change keep their time, and are not read again."""
    folder = DOCS / "generated" / "evidence"
    folder.mkdir(parents=True, exist_ok=True)
    parts = {
        "commands": command_reference(),
        "claims": claims(),
        "experiments": experiment_sections(),
        "real": real_data(),
        "published": published_numbers(),
        "settings": settings_tables(),
        "benchmarks": untitled(of_repository("benchmarks/README.md")),
        "changelog": untitled(of_repository("CHANGELOG.md")),
    }
    for name, text in parts.items():
        path = folder / f"{name}.md"
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


def command_reference() -> str:
    """What ``--help`` says, for every command."""
    shown = {"resilient_parsing": True, "terminal_width": 78}
    context = commands.make_context("sosbands", [], **shown)
    parts = [f"## sosbands\n\n```text\n{commands.get_help(context)}\n```"]
    for name in commands.list_commands(context):
        command = commands.commands[name]
        inner = command.make_context(name, [], parent=context, **shown)
        parts.append(f"## sosbands {name}\n\n```text\n{command.get_help(inner)}\n```")
    return "\n\n".join(parts) + "\n"


def claims() -> str:
    """The fragments of ``paper``, in order."""
    found = sorted((DOCS / "paper").glob("items-*.md"), key=_first_number)
    return "\n\n".join(demoted(rehomed(path.read_text(), path.parent)) for path in found) + "\n"


def experiment_sections() -> str:
    """Every experiment: figure, command, numbers."""
    parts = ["## All figures"]
    for experiment in experiments().values():
        parts.append(f"### {experiment.item}. {experiment.title}\n\n{_experiment(experiment)}")
    return "\n\n".join(parts) + "\n"


def _experiment(experiment: Experiment) -> str:
    results = stored(experiment, full=False)
    reduced, full = experiment.minutes
    command = (
        f"`python -m experiments {experiment.name}`: {reduced:g} min on two cores, "
        f"{full:g} in the paper's size."
    )
    if not results.table.exists():
        return f"No results are stored. {command}"
    try:
        picture, numbers = _drawn(experiment, results.load(), results.table)
    except KeyError as error:
        raise ValueError(
            f"the stored results of {experiment.name} are of an older declaration, they lack "
            f"{error}: run python -m experiments --fresh {experiment.name}"
        ) from error
    return (
        f"![{experiment.title}]({os.path.relpath(picture, DOCS)})\n\n{command}\n\n"
        f":::{{dropdown}} The numbers\n{numbers}\n:::"
    )


def _drawn(experiment: Experiment, results: pd.DataFrame, source: Path) -> tuple[Path, str]:
    """The figure, drawn again if the results or the code are newer, and the summary."""
    picture = figures.FOLDER / f"{experiment.name}.png"
    made_from = (source, Path(inspect.getfile(experiment.figure)))
    if not picture.exists() or picture.stat().st_mtime < max(p.stat().st_mtime for p in made_from):
        figures.draw(experiment, results, figures.FOLDER)
    return picture, markdown(experiment.summary(results))


def published_numbers() -> str:
    """Each published comparison: what is compared, and the scores that are stored."""
    sections = [published_report.section(comparison) for comparison in comparisons().values()]
    return "\n\n".join(re.sub("^## ", "### ", text) for text in sections) + "\n"


def real_data() -> str:
    """What is compared, the picture, who is first, and tables for each level and data set."""
    about = (ROOT / "experiments/real/README.md").read_text()
    compared = re.search(r"^## What is compared\n.*?(?=^## )", about, flags=re.M | re.S)
    assert compared, "experiments/real/README.md says what is compared"
    parts = [rehomed(compared[0].strip(), ROOT / "experiments/real")]
    tables = report.data_sets(REAL_RESULTS)
    if not tables:
        return f"{parts[0]}\n\nNo results are stored.\n"
    older = [table.stem for table in tables if not Results(table).current()]
    if older:
        parts.append(
            "Measured before levels, metrics and methods were those above, and shown as far as "
            f"they go: {', '.join(older)}."
        )
    copies = DOCS / "generated" / "real"
    written = _reported(REAL_RESULTS, copies, REAL_FIGURES)
    summary = demoted((copies / f"{report.SUMMARY}.md").read_text())
    picture = os.path.relpath(written[-1], DOCS)
    parts += [f"![Average ranks]({picture})", summary]
    parts += ["## Every metric", _dropdown(copies / f"{report.RANKS}.md"), "## Every data set"]
    parts += [_dropdown(path.with_suffix(".md")) for path in report.data_sets(copies)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _dropdown(page: Path) -> str:
    """A page that is folded up; its headings would be those of the page around it."""
    body = re.sub(r"^# .*\n", "", page.read_text()).strip()
    body = re.sub(r"^## (.*)$", r"**\1**", body, flags=re.M)
    return f":::{{dropdown}} {page.stem}\n{body}\n:::"


def settings_tables(folder: Path = settings_report.FOLDER) -> str:
    """What each default is worth, as far as it is measured; a comment while nothing is stored."""
    found = settings_report.tables(folder)
    if not found:
        return "% No results are stored.\n"
    about = (
        "Scores without a default, divided by those with it, at levels 0.5 and 0.9: above one "
        "speaks for the default. Geometric means over the development sets ± standard errors over "
        "splits, the sets with the smallest and the largest ratio, and the time of a fit without "
        "÷ with. `python -m experiments.settings --data FOLDER` measures them."
    )
    parts = []
    for table in found.values():
        if len(table):
            shown = settings_report.markdown(table.drop(columns="default"))
            unbroken = shown.replace(" ± ", "\u00a0±\u00a0")
            parts.append(f":::{{dropdown}} {table['default'].iloc[0]}\n{unbroken}\n:::")
    return "\n\n".join([about, *parts, ""])


def _reported(results: Path, copies: Path, figures: Path) -> list[Path]:
    """Tables and a picture of stored results, made in a folder of their own."""
    shutil.rmtree(copies, ignore_errors=True)
    copies.mkdir(parents=True)
    for table in report.data_sets(results):
        shutil.copy(table, copies)
    return report.write(copies, figures)


def of_repository(path: str) -> str:
    """A file of the repository, with its links mended."""
    return rehomed((ROOT / path).read_text(), (ROOT / path).parent)


def untitled(text: str) -> str:
    """Without the title, which the page has itself."""
    return re.sub(r"\A# .*\n+", "", text)


def rehomed(text: str, folder: Path) -> str:
    """Text from another folder: links to pages and pictures lead there, others name the file."""

    def mended(found: re.Match[str]) -> str:
        bang, label, target = found.groups()
        place, _, anchor = target.partition("#")
        path = (folder / place).resolve()
        inside = path.relative_to(ROOT).as_posix()
        if bang:
            return f"![{label}]({os.path.relpath(path, DOCS)})"
        page = PAGES.get(inside) or (
            path.relative_to(DOCS).as_posix() if path.is_relative_to(DOCS) else None
        )
        if page:
            return f"[{label}]({page}{'#' * bool(anchor)}{anchor})"
        return f"`{inside}`" if Path(inside).stem in label else f"{label} (`{inside}`)"

    return re.sub(r"(!?)\[([^\]]*)\]\((?!https?:|#)([^)\s]+)\)", mended, text)


def name_files(app: Sphinx, page: str, source: list[str]) -> None:
    """Links of a page to files of the repository that are no pages here name the file instead."""

    def named(found: re.Match[str]) -> str:
        label, target = found.groups()
        inside = (DOCS / target).resolve().relative_to(ROOT).as_posix()
        return f"`{inside}`" if Path(inside).name in label else f"{label} (`{inside}`)"

    source[0] = re.sub(r"\[([^\]]+)\]\(((?:\.\./|paper/)[^)\s]+)\)", named, source[0])


def demoted(text: str) -> str:
    """The same with its largest heading of the second level."""
    levels = [len(marks) for marks in re.findall(r"^(#+) ", text, flags=re.M)]
    shift = 2 - min(levels, default=2)
    return re.sub(r"^(#+) ", lambda found: "#" * (len(found[1]) + shift) + " ", text, flags=re.M)


def _first_number(path: Path) -> int:
    found = re.search(r"\d+", path.stem)
    return int(found[0]) if found else 0


def setup(app: Sphinx) -> dict[str, bool]:
    """Write the parts before pages are read, and mend the links of pages."""
    app.connect("builder-inited", write_parts, priority=400)  # before the gallery runs
    app.connect("source-read", name_files)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
