"""Where not to trust the intervals, in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from sosbands.evaluation import Evaluation, PartCoverage
from sosbands.report.formats import count, number, one_line, percent, rows_in_words

# Of the parts that are covered too seldom so many are named; the tables have the others.
_NAMED = 2
# Fewer rows than this are counted, more are a share.
_FEW = 20


def doubts(
    evaluation: Evaluation,
    categories: Mapping[str, Sequence[PartCoverage]],
    distances: Sequence[PartCoverage],
    unit: str,
) -> list[str]:
    """What the rows show; one sentence says so if they show nothing.

    `categories` are the parts of columns of categories, by the name of the column; `distances` are
    those near the training rows and far from them.
    """
    if evaluation.outcome == "infinite":
        return ["Everywhere: intervals without ends say nothing."]
    found = [
        *(
            sentence
            for name, parts in categories.items()
            for sentence in _short(parts, f"Rows with {_braced(name)} = {{}}")
        ),
        *_short(evaluation.by_cluster, "Rows with {}"),
        *_short(evaluation.by_width, f"Intervals that are {{}}{unit} wide"),
        *_short(distances, "Rows {}"),
        *_unlike(evaluation),
    ]
    if not found:
        found.append(_nothing(evaluation))
    if len(evaluation.by_width) == 1:
        width = number(evaluation.median_width, 3)
        found.append(f"All intervals are {width}{unit} wide: they do not adapt to the row.")
    return found


def _short(parts: Sequence[PartCoverage], which: str) -> Iterator[str]:
    """The parts that are covered less often than chance explains."""
    short = sorted((part for part in parts if part.short), key=lambda part: part.coverage)
    for part in short[:_NAMED]:
        where = which.format(one_line(part.label, 90))
        rows = rows_in_words(part.n_rows)
        yield f"{where}: only {percent(part.coverage)} of {rows} were covered."
    if len(short) > _NAMED:
        yield f"The same is true of {len(short) - _NAMED} more such parts, see the tables."


def _braced(name: str) -> str:
    """A name within a template of `str.format`."""
    return one_line(name).replace("{", "{{").replace("}", "}}")


def _unlike(evaluation: Evaluation) -> Iterator[str]:
    """Rows that the model cannot know much about."""
    if evaluation.n_infinite:
        yield (
            f"{count(evaluation.n_infinite)} of {count(evaluation.n_rows)} intervals are infinite, "
            "for want of calibration rows; the pictures leave them out."
        )
    unlike = evaluation.extrapolating * evaluation.n_rows  # the share may be that of a sample
    if unlike > 0:
        rows = f"About {percent(evaluation.extrapolating)} of the rows"
        if unlike < _FEW:
            rows = f"{count(max(round(unlike), 1))} of {count(evaluation.n_rows)} rows"
        verb = "is" if round(unlike) <= 1 else "are"
        yield f"{rows} {verb} unlike all training rows: there the model guesses."


def _nothing(evaluation: Evaluation) -> str:
    if not evaluation.by_cluster:
        return (
            f"{count(evaluation.n_rows)} rows are too few to tell: whether the intervals hold in "
            "every region of the inputs needs a hundred different ones."
        )
    return (
        "These rows show no such place: in every region of the inputs, and for narrow intervals as "
        "for wide ones, they hold about as often as asked. No row is unlike the training rows."
    )
