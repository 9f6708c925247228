"""Which pictures and words a report has, and in which order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sosbands.evaluation import Evaluation, PredictedRows
from sosbands.evaluation.judged_rows import FAR
from sosbands.report import band_figures, diagnostic_figures, sections
from sosbands.report.drawn import DrawnRows, band_along
from sosbands.report.markup import count, shortened
from sosbands.report.page import Contents, Section, card, figure_html, side_by_side
from sosbands.report.traces import Figure

if TYPE_CHECKING:
    from sosbands.estimator import BandRegressor


def contents(model: BandRegressor, X: Any, rows: PredictedRows) -> Contents:
    """The whole report on these rows; X are the same rows as the user gave them."""
    evaluation, drawn = rows.evaluation(), DrawnRows.of(rows)
    bands = _band_figures(model, X, drawn)
    coverage = _coverage_figures(evaluation)
    finite = evaluation.n_infinite < evaluation.n_rows
    unknown = [band_figures.unknown_figure(drawn, FAR)] if finite else []
    tuning = [] if model.tuning_ is None else [diagnostic_figures.tuning_figure(model.tuning_)]
    return Contents(
        subtitle=_subtitle(evaluation, drawn),
        sections=(
            Section("summary", "Summary", sections.summary(evaluation, model)),
            Section("intervals", "The intervals", _intervals(bands)),
            Section("coverage", "Coverage", _coverage(coverage)),
            Section(
                "unknown",
                "Where the model does not know",
                side_by_side(
                    *map(figure_html, unknown), card(sections.unknown(evaluation, drawn, FAR))
                ),
            ),
            Section("model", "How it was made", _making(model, tuning, drawn, evaluation)),
        ),
        figures=(*bands, *coverage, *unknown, *tuning),
    )


def _band_figures(model: BandRegressor, X: Any, drawn: DrawnRows) -> list[Figure]:
    """The band along the only input; otherwise by width, and over the most important inputs."""
    grid = band_along(model, X, drawn)
    if grid is not None:
        return [band_figures.band_figure(drawn, grid)]
    over = [band_figures.input_figure(drawn, j) for j in drawn.important]
    return [band_figures.sorted_figure(drawn), *over]


def _coverage_figures(evaluation: Evaluation) -> list[Figure]:
    """By level; by width if widths differ, and by region, unless all intervals are infinite."""
    made = [diagnostic_figures.level_figure(evaluation)]
    if len(evaluation.by_width) > 1:
        made.append(diagnostic_figures.width_figure(evaluation))
    if evaluation.by_cluster and evaluation.outcome != "infinite":
        made.append(diagnostic_figures.cluster_figure(evaluation))
    return made


def _intervals(figures: list[Figure]) -> str:
    first, *others = figures
    return figure_html(first) + (side_by_side(*map(figure_html, others)) if others else "")


def _coverage(figures: list[Figure]) -> str:
    """The last one, over regions, has labels that only its numbers explain."""
    shown = [figure_html(each, open_numbers=each.name == "clusters") for each in figures]
    return side_by_side(*shown[:2]) + "".join(shown[2:])


def _making(
    model: BandRegressor, tuning: list[Figure], drawn: DrawnRows, evaluation: Evaluation
) -> str:
    untuned = card("<h3>Tuning</h3><p>The lengthscale was given: there was nothing to tune.</p>")
    first = figure_html(tuning[0]) if tuning else untuned
    return side_by_side(first, card(sections.certificate(model))) + card(
        sections.settings(model, drawn, evaluation)
    )


def _subtitle(evaluation: Evaluation, drawn: DrawnRows) -> str:
    n, shown = evaluation.n_rows, len(drawn.index)
    sentence = f"{count(n)} rows, intervals of level {evaluation.level:g}."
    if shown < n:
        sentence += (
            f" Pictures show {count(shown)} rows at most, chosen at random; the main numbers are "
            "of all rows."
        )
    if drawn.n_inputs > len(drawn.important):
        names = ", ".join(shortened(drawn.rows.names[j]) for j in drawn.important)
        sentence += (
            f" Of {drawn.n_inputs} inputs, those are shown that the {drawn.target} depends on "
            f"most: {names}."
        )
    return sentence
