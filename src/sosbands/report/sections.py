"""What the page says beside its pictures: summary, unknown, certificate, settings."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sosbands.evaluation import Evaluation, PartCoverage
from sosbands.evaluation.chance import binomial_bounds
from sosbands.report.drawn import DrawnRows
from sosbands.report.markup import asked, count, escaped, folded, number, percent, shortened, table

if TYPE_CHECKING:
    from sosbands.estimator import BandRegressor

# Rows of the tables, inputs that they name, and characters of a parameter.
_TABLE_ROWS, _TABLE_INPUTS, _LENGTHSCALES, _LONGEST_VALUE = 10, 3, 12, 160
_BADGES = {"as asked": "good", "too high": "fair", "too low": "poor", "infinite": "poor"}


def summary(evaluation: Evaluation, model: BandRegressor) -> str:
    """The verdict, the main numbers, and what stands out."""
    low, high = evaluation.coverage_bounds
    boxes = "".join(
        f'<div class="tile"><dt>{name}</dt>'
        f"<dd><strong>{value}</strong><span>{note}</span></dd></div>"
        for name, value, note in (
            (
                "rows covered",
                percent(evaluation.coverage),
                f"asked: {asked(evaluation.level)}; the true share is {percent(low)} to "
                f"{percent(high)} with 95 % confidence",
            ),
            (
                "mean width",
                number(evaluation.mean_width),
                f"median {number(evaluation.median_width)}, in units of y",
            ),
            (
                "interval score",
                number(evaluation.interval_score),
                "width plus a fine for each miss: compare models by it",
            ),
            ("typical error", number(evaluation.rmse), "of the prediction itself (RMSE)"),
        )
    )
    points = "".join(f"<li>{point}</li>" for point in findings(evaluation))
    badge = _BADGES[evaluation.outcome]
    parts = evaluation.by_width, evaluation.by_cluster
    if badge == "good" and any(_uneven(evaluation.level, each) for each in parts):
        badge = "fair"
    return (
        f'<p class="verdict {badge}">{escaped(evaluation.verdict)}</p>'
        f'<dl class="tiles">{boxes}</dl><ul class="findings">{points}</ul>'
        f'<p class="guarantee">{model.calibration_.promise(evaluation.level)}</p>'
    )


def findings(evaluation: Evaluation) -> Iterator[str]:
    """One sentence on each thing that a reader should know."""
    if evaluation.outcome == "infinite":
        yield "Ask for a lower level, or calibrate with more rows; no other number means much."
        return
    yield _weakest(evaluation.level, evaluation.by_width, "width of the interval", "whose width is")
    yield _weakest(evaluation.level, evaluation.by_cluster, "region of the inputs", "near")
    if evaluation.n_infinite:
        yield (
            f"{count(evaluation.n_infinite)} of {count(evaluation.n_rows)} intervals are infinite, "
            "for want of calibration rows; the pictures leave them out."
        )
    if evaluation.extrapolating > 0:
        yield (
            f"{percent(evaluation.extrapolating)} of the rows are far from all training rows: "
            "there the model guesses."
        )
    else:
        yield "No row is far from the training rows."


def _weakest(level: float, parts: Sequence[PartCoverage], what: str, which: str) -> str:
    """Whether coverage holds in all parts, and where it is lowest."""
    if not parts:
        return f"There are too few rows to judge coverage by the {what}."
    if len(parts) == 1:
        return f"All rows have the same {what}: the band does not adapt."
    worst = min(parts, key=lambda part: part.coverage)
    share, label = percent(worst.coverage), shortened(worst.label, 90)
    if _uneven(level, parts):
        return (
            f"<strong>Coverage depends on the {what}:</strong> only {share} of the "
            f"{count(worst.n_rows)} rows {which} {label} are covered."
        )
    return (
        f"Coverage hardly depends on the {what}: it is at least {share} (rows {which} {label}), "
        f"not below {asked(level)} by more than chance."
    )


def _uneven(level: float, parts: Sequence[PartCoverage]) -> bool:
    """Whether a part is covered less than chance explains, allowing for as many looks."""
    confidence = 1 - 0.05 / max(len(parts), 1)
    return any(
        binomial_bounds(round(part.coverage * part.n_rows), part.n_rows, confidence=confidence)[1]
        < level
        for part in parts
    )


def unknown(evaluation: Evaluation, drawn: DrawnRows, far: float) -> str:
    """The widest regions and rows, and the rows that are unlike the training rows."""
    rows = drawn.rows
    regions = sorted(evaluation.by_cluster, key=lambda part: -part.median_width)[:5]
    parts = []
    if regions:
        parts.append(
            table(
                ["region", "rows", "median width", "× usual"],
                [
                    [
                        shortened(part.label, 90),
                        count(part.n_rows),
                        number(part.median_width),
                        _ratio(part.median_width, evaluation.median_width),
                    ]
                    for part in regions
                ],
                caption="The widest regions",
            )
        )
    widths = rows.widths[rows.sample]
    widest = np.argsort(-widths, kind="stable")[:_TABLE_ROWS]
    parts.append(folded("The widest intervals", _row_table(drawn, widest, "The widest intervals")))
    furthest = np.argsort(-rows.extrapolation, kind="stable")[:_TABLE_ROWS]
    furthest = furthest[rows.extrapolation[furthest] > far]
    if len(furthest):
        caption = "The rows furthest from the training rows"
        parts.append(folded(caption, _row_table(drawn, furthest, caption)))
    return "".join(parts)


def _row_table(drawn: DrawnRows, place: Any, caption: str) -> str:
    rows, shown = drawn.rows, drawn.important[:_TABLE_INPUTS]
    values = drawn.inputs(place)
    return table(
        [
            "row",
            *(shortened(rows.names[j]) for j in shown),
            "prediction",
            "lower",
            "upper",
            "y",
            "extrapolation",
        ],
        [
            [
                count(int(i) + 1),
                *(number(values[k, j]) for j in shown),
                number(rows.mean[i]),
                number(rows.chosen[i, 0]),
                number(rows.chosen[i, 1]),
                number(rows.y[i]),
                f"{rows.extrapolation[p]:.2f}",
            ]
            for k, (p, i) in enumerate(zip(place, rows.sample[place], strict=True))
        ],
        caption=caption,
    )


def _ratio(width: float, usual: float) -> str:
    return number(round(width / usual, 2)) if 0 < usual < np.inf and width < np.inf else "–"


def certificate(model: BandRegressor) -> str:
    """What proves that the band is the best of its kind."""
    proof, status = model.certificate_, model.band_.band.solution.status
    seconds = sum(proof.seconds.values())
    rows = (
        ("status", status.name.lower().replace("_", " "), escaped(status.value)),
        ("gap", f"{proof.gap:.1e}", "no band of this kind is better by more than this fraction"),
        ("primal value", number(proof.primal_value), "the objective of the band"),
        ("dual value", number(proof.dual_value), "a proven lower bound of it"),
        ("violation", f"{proof.violation:.1e}", "largest unmet requirement before the repair"),
        ("active rows", count(proof.active_rows), "rows that hold the band open"),
        ("rank", count(proof.rank), "squares that the scale is a sum of"),
        ("trace residual", f"{proof.trace_residual:.1e}", "what the features leave out"),
        ("iterations", count(proof.iterations), f"in {number(seconds)} seconds"),
    )
    return table(
        ["", "value", "what it means"],
        rows,
        caption="Certificate of the solution",
        numeric=False,
    )


def settings(model: BandRegressor, drawn: DrawnRows, evaluation: Evaluation) -> str:
    """What was learned, and every parameter beside its default."""
    defaults = inspect.signature(type(model)).parameters
    given = model.get_params(deep=False)
    rows = [[name, _value(value), _value(defaults[name].default)] for name, value in given.items()]
    changed = [f"<strong>{name}</strong>" for name, value, default in rows if value != default]
    sentence = (
        f"Changed from the defaults: {', '.join(changed)}."
        if changed
        else ("All parameters have their default values.")
    )
    learned = [
        ["sides", "one width, symmetric" if model.symmetric_ else "two, not symmetric"],
        ["width weight b", number(model.width_weight_)],
        ["training rows", count(model.n_train_)],
        [f"calibration {model.calibration_.unit}", count(evaluation.n_calibration)],
        ["outliers left out", count(model.n_outliers_)],
        *_lengthscales(model, drawn),
    ]
    return (
        table(["", "value"], learned, caption="What was learned", numeric=False)
        + f"<p>{sentence}</p>"
        + folded(
            "All parameters",
            table(["parameter", "value", "default"], rows, caption="Parameters", numeric=False),
        )
    )


def _lengthscales(model: BandRegressor, drawn: DrawnRows) -> Iterator[list[str]]:
    """The shortest ones: over a short lengthscale the width varies much."""
    found, sees = np.atleast_1d(model.lengthscale_), model.band_.band.sees
    if len(found) == 1:
        yield ["lengthscale", number(float(found[0]))]
        return
    names = [shortened(name) for name in drawn.rows.names]
    names += ["(the prediction)"] if sees.predictions is not None else []
    names += ["(first guess of the error)"] if sees.difficulty is not None else []
    order = np.argsort(found, kind="stable")
    for j in order[:_LENGTHSCALES]:
        yield [f"lengthscale of {names[j]}", number(float(found[j]))]
    if len(order) > _LENGTHSCALES:
        yield ["other lengthscales", f"{len(order) - _LENGTHSCALES}, all longer"]


def _value(value: Any) -> str:
    text = " ".join(repr(value).split())
    return escaped(text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}…")
