"""The search for the lengthscale and the weight of the width, as every picture of it shows it.

`TuningDisplay` and the report draw with different libraries; what stands on their axes, what is
joined by lines and what the parts are called is decided here.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

import numpy as np

from sosbands.types import Array

# Lengthscales in proportions that agree to this are one shape in several sizes.
_SAME_SHAPE = 1e-6
_CRITERIA = {
    "hsic": "HSIC",
    "distance_correlation": "distance correlation",
    "mutual_information": "mutual information",
}


@dataclass(frozen=True, eq=False)
class SearchLine:
    """Trials with the same b and number of sides, by ascending lengthscale."""

    label: str
    lengthscale: Array  # the shortest of each trial
    panels: Mapping[str, Array]  # the criterion and the interval score of each trial
    joined: bool  # whether lengthscales differ in size alone, so that a line says something


@dataclass(frozen=True, eq=False)
class SearchPicture:
    """Two panels, one above the other, over one axis of lengthscales."""

    lines: list[SearchLine]
    chosen: SearchLine  # the chosen trial alone
    x_label: str
    # What a panel shows, and which way is better; the upper panel comes first.
    y_labels: Mapping[str, tuple[str, str]]

    x_scale: Final = "log"  # the search goes by factors
    y_scale: Final = "linear"

    @classmethod
    def of(cls, trials: Any, criterion: str) -> Self:
        """From the trials that `Tuning.to_frame` gives, and the name of the criterion."""
        two_kinds = trials["symmetric"].nunique() > 1
        lines = []
        for (symmetric, weight), part in trials.groupby(["symmetric", "width_weight"], sort=True):
            sides = f", {'symmetric' if symmetric else 'two-sided'}" if two_kinds else ""
            lines.append(_line(f"b = {weight:.4g}{sides}", part))
        several = max(map(np.size, trials["lengthscale"])) > 1
        return cls(
            lines,
            _line("chosen", trials[trials["chosen"]]),
            f"{'shortest ' if several else ''}lengthscale θᶠ",
            {
                "criterion": (_CRITERIA.get(criterion, criterion), "larger is better"),
                "interval_score": ("interval score", "smaller is better"),
            },
        )


def shortest(lengthscale: Any) -> float:
    """What stands for the lengthscales of all inputs: the band can change no faster."""
    return float(np.min(lengthscale))


def _line(label: str, part: Any) -> SearchLine:
    x = np.array([shortest(lengthscale) for lengthscale in part["lengthscale"]])
    order = np.argsort(x, kind="stable")
    panels = {what: part[what].to_numpy()[order] for what in ("criterion", "interval_score")}
    # All of one shape are multiples of one.
    shapes = np.array([np.ravel(l) / np.min(l) for l in part["lengthscale"]])
    one_shape = bool(np.ptp(np.log(shapes), axis=0).max() < _SAME_SHAPE)
    return SearchLine(label, x[order], panels, one_shape)


def choice_in_words(tuning: Any) -> str:
    """Why a `Tuning` chose what it chose, if that is not the candidate with the best figures."""
    name = _CRITERIA.get(tuning.criterion, tuning.criterion)
    chosen = tuning.chosen
    others = [trial for trial in tuning.trials if trial is not chosen]
    alike = [trial for trial in others if trial.symmetric == chosen.symmetric] or others
    if not alike or chosen.criterion >= max(trial.criterion for trial in alike):
        return f"The ring is the candidate with the highest {name}."
    highest = max(trial.criterion for trial in alike)
    lowest = min(trial.interval_score for trial in alike)
    below = 100 * (1 - chosen.criterion / highest)
    beyond = 100 * (chosen.interval_score / lowest - 1)
    score = f"{abs(beyond):.1f} % {'above' if beyond >= 0 else 'below'} the lowest interval score"
    return (
        f"The ring is not the highest point, and need not be. The figures come from few rows: the "
        f"highest is often highest by chance, and another sample would choose another. So those "
        f"candidates are averaged that these rows cannot tell from the best, by {name} and by the "
        f"interval score. The average is {below:.1f} % below the highest {name} and {score}."
    )
