"""For CV+: the settings of the band of all rows, averaged from those of the bands of its folds.

CV+ makes its intervals from the bands without a fold alone; the band of all rows is their centre,
which can only widen them, and gives the mean and the scale. So it may know all that the others do,
and need not search again. They may know nothing of it, nor of each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from sosbands.learning.encoding import BandInputs
from sosbands.learning.fitted_band import FittedBand
from sosbands.learning.kernel_mean import KernelMean
from sosbands.learning.likelihood_search import plain
from sosbands.learning.scale_inputs import ScaleInputs
from sosbands.learning.search import Trial, Tuning
from sosbands.learning.standardize import VaryingInputs
from sosbands.types import Array


@dataclass(frozen=True, eq=False)
class Consensus:
    """What several bands chose, for one that sees the same.

    Attributes
    ----------
    bands : sequence of FittedBand
    tunings : sequence of Tuning or None
        How each was found.
    """

    bands: Sequence[FittedBand]
    tunings: Sequence[Tuning | None]

    def about(self, encoding: BandInputs) -> Consensus | None:
        """What they chose, if they see columns that stand for the same; else nothing.

        Without the rows of a fold a column of text may have fewer levels, and another nothing
        missing.
        """
        meanings = encoding.meanings
        same = all(band.encoding.meanings == meanings for band in self.bands)
        return self if same and meanings is not None else None

    def estimator(self, estimator: Any) -> Any:
        """The regressor to fit to all rows: a kernel mean need not search for its lengthscales.

        Unless they are those of other columns. With two folds, what is constant in both may vary.
        """
        if not isinstance(estimator, KernelMean) or not estimator.searches or len(self.bands) < 3:
            return estimator
        found = _common([band.mean_model.model for band in self.bands])
        return estimator if found is None else clone(estimator).set_params(lengthscale=found)

    def blend(self, inputs: VaryingInputs, kernel: str) -> Any:
        """The lengthscale of this kernel in a blend, for a band that sees these inputs."""
        blends = [band.blend for band in self.bands if _same(band.inputs, inputs)]
        means = [blend.kernel_mean for blend in blends if blend is not None]
        known = [mean for mean in means if mean.kernel == kernel]
        found = _common(known) if 3 <= len(known) == len(self.bands) else None
        return "likelihood" if found is None else found

    def tuning(self, sees: ScaleInputs) -> Tuning | None:
        """All trials, and as the chosen one the average of those that the bands chose."""
        tunings = [tuning for tuning in self.tunings if tuning is not None]
        same = all(_alike(sees, band.scale_inputs) for band in self.bands)
        if not same or len(tunings) < len(self.tunings):
            return None
        chosen = [tuning.chosen for tuning in tunings]

        def average(name: str) -> float:
            return float(_average([getattr(trial, name) for trial in chosen]))

        symmetric = 2 * sum(trial.symmetric for trial in chosen) >= len(chosen)
        like = next(trial for trial in chosen if trial.symmetric == symmetric)
        best = Trial(
            lengthscale=plain(_average([trial.lengthscale for trial in chosen])),
            width_weight=average("width_weight"),
            width_factor=average("width_factor"),
            training_coverage=like.training_coverage,
            symmetric=symmetric,
            criterion=float(np.mean([trial.criterion for trial in chosen])),
            interval_score=float(np.mean([trial.interval_score for trial in chosen])),
            skewness=float(np.mean([trial.skewness for trial in chosen])),
        )
        trials = tuple(trial for tuning in tunings for trial in tuning.trials)

        def mean(name: str) -> float:
            return float(np.mean([getattr(tuning, name) for tuning in tunings]))

        return Tuning(
            trials=(*trials, best),
            chosen=best,
            criterion=tunings[0].criterion,
            n_rows=min(tuning.n_rows for tuning in tunings),
            guess_weight=mean("guess_weight"),
            caution=mean("caution"),
            evenness=mean("evenness"),
        )


def _average(values: Sequence[Any]) -> Array:
    """In logarithms, since the values are factors of each other."""
    return np.asarray(np.exp(np.mean(np.log(values), axis=0)))


def _common(means: Sequence[KernelMean]) -> Array | None:
    """The average lengthscales of kernel means; None if not the same columns vary."""
    found = [mean.column_lengthscales for mean in means]
    if any(not np.array_equal(np.isnan(one), np.isnan(found[0])) for one in found):
        return None
    return np.nan_to_num(_average(found), nan=1.0)  # a constant column has none


def _same(one: VaryingInputs, other: VaryingInputs) -> bool:
    return np.array_equal(one.columns, other.columns)


def _alike(one: ScaleInputs, other: ScaleInputs) -> bool:
    """Whether the columns of both mean the same."""
    extras = [(sees.predictions is None, sees.difficulty is None) for sees in (one, other)]
    return _same(one.inputs, other.inputs) and extras[0] == extras[1]
