"""What an evaluation found, in numbers and in words."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from sosbands.evaluation.coverage_counts import LevelCoverage, PartCoverage

# With more rows than this that trained the model, its coverage is not that of new rows.
MANY_SEEN = 0.5


@dataclass(frozen=True)
class Evaluation:
    """How good the intervals are; see `to_frame` for what each number means.

    Attributes
    ----------
    level, n_rows, n_calibration
        The level asked for, the rows judged, and the rows that calibrated the model; the groups
        that did, if `fit` had groups.
    coverage, coverage_bounds : float, (float, float)
        The share of rows inside their interval, and 95 % binomial bounds of the true share.
    expected_coverage : (float, float)
        Where the share lies for 95 % of all calibration and new rows: beta-binomial, exact for
        exchangeable rows and a split calibration, a guide for the others.
    mean_width, median_width, interval_score, n_infinite
        Of the intervals at `level`.
    rmse : float
        Of the mean.
    size_stratified_coverage, coverage_gap, worst_slab_coverage : float or None
        The smallest over width bins, the mean of |coverage − level| over clusters, the worst slab.
    ert : float or None
        The excess risk of the target coverage, as `sosbands.metrics.ert` estimates it.
    hsic, distance_correlation : float or None
        Of |y − mean| and the width.
    mutual_information : float or None
        Of the score |y − centre|/(half width) and the width, in nats.
    extrapolating, seen : float
        Shares of rows far from all training rows, and with the very inputs of one.
    by_level, by_width, by_cluster : tuple
        Coverage of several levels, of width bins and of clusters of the inputs.
    reasons : mapping
        Why a number is None.

    Examples
    --------
    >>> from sosbands import BandRegressor
    >>> from sosbands.datasets import case
    >>> from sosbands.evaluation import evaluate
    >>> model = BandRegressor(None, random_state=0).fit(*case(1).sample(300, random_state=0))
    >>> found = evaluate(model, *case(1).sample(500, random_state=1))
    >>> found.outcome, found.n_rows, found.to_frame()["diagnostic"][0]
    ('as asked', 500, 'coverage')
    """

    level: float
    n_rows: int
    n_calibration: int
    coverage: float
    coverage_bounds: tuple[float, float]
    expected_coverage: tuple[float, float]
    mean_width: float
    median_width: float
    interval_score: float
    n_infinite: int
    rmse: float
    size_stratified_coverage: float | None
    coverage_gap: float | None
    worst_slab_coverage: float | None
    ert: float | None
    hsic: float | None
    distance_correlation: float | None
    mutual_information: float | None
    extrapolating: float
    seen: float
    by_level: tuple[LevelCoverage, ...]
    by_width: tuple[PartCoverage, ...]
    by_cluster: tuple[PartCoverage, ...]
    reasons: Mapping[str, str]

    @property
    def outcome(self) -> Literal["as asked", "too low", "too high", "infinite"]:
        """Whether the coverage is what was to be expected."""
        low, high = self.expected_coverage
        if self.n_infinite == self.n_rows:
            return "infinite"
        if self.coverage < low:
            return "too low"
        return "too high" if self.coverage > high else "as asked"

    @property
    def verdict(self) -> str:
        """The outcome in one or two sentences."""
        low, high = (100 * share for share in self.expected_coverage)
        found = f"{100 * self.coverage:.1f} %"
        expected = f"{low:.1f} to {high:.1f} % was to be expected"
        sentence = {
            "as asked": f"On average the intervals cover as asked: {found} of the rows, where "
            f"{expected}.",
            "too low": f"The intervals cover too few rows: {found}, where {expected}. These rows "
            "probably differ from the calibration rows: calibrate with newer ones.",
            "too high": f"The intervals cover more than asked: {found}, where {expected}. They are "
            "wider than these rows need, unless many outputs are equal.",
            "infinite": f"All intervals are infinite: {self.n_calibration} calibration rows or "
            f"groups are too few for a level of {self.level:g}.",
        }[self.outcome]
        if self.seen > MANY_SEEN:
            sentence += (
                f" But {100 * self.seen:.0f} % of the rows have the very inputs of a training row: "
                "if they trained the model, they say little about new ones."
            )
        return sentence

    def to_dict(self) -> dict[str, Any]:
        """All of it, ready for JSON: infinite and undefined numbers become None."""
        text = json.dumps(asdict(self) | {"verdict": self.verdict})
        made: dict[str, Any] = json.loads(text, parse_constant=lambda infinite: None)
        return made

    def to_frame(self) -> Any:
        """One row per diagnostic: its name, its value, what it means."""
        import pandas as pd

        rows: list[tuple[str, float | None, str]] = [
            (name, getattr(self, name), self._meaning(name, text))
            for name, text in _MEANINGS.items()
        ]
        rows += [
            (f"coverage at {part.level:g}", part.coverage, f"asked: {part.level:g}")
            for part in self.by_level
        ]
        names, values, meanings = zip(*rows, strict=True)
        return pd.DataFrame(
            {
                "diagnostic": names,
                "value": np.array(values, dtype=np.float64),
                "what it means": meanings,
            }
        )

    def _meaning(self, name: str, text: str) -> str:
        if name in self.reasons:
            return f"not computed: {self.reasons[name]}"
        low, high = self.coverage_bounds
        return text.format(level=self.level, n=self.n_rows, low=low, high=high)


_MEANINGS = {
    "coverage": "share of the {n} rows inside their interval; asked: {level:g}; "
    "95 % bounds {low:.3f} to {high:.3f}",
    "mean_width": "mean of upper − lower, in units of y; smaller is better at equal coverage",
    "median_width": "half of the intervals are narrower",
    "interval_score": "mean width plus a fine for each miss; smaller is better",
    "n_infinite": "intervals without an end, where too few rows calibrate",
    "rmse": "typical error of the mean, in units of y",
    "size_stratified_coverage": "smallest coverage among narrow to wide intervals; "
    "near {level:g} is good",
    "coverage_gap": "mean of |coverage − {level:g}| over clusters of the inputs; near 0 is good",
    "worst_slab_coverage": "coverage in the worst slice of the inputs, chosen on other rows; "
    "near {level:g} is good",
    "ert": "mean of |local coverage − {level:g}| that a classifier of misses finds; near 0 is good",
    "hsic": "how strongly the size of the error depends on the width; larger is more adaptive",
    "distance_correlation": "the same from 0 (constant or useless widths) to 1",
    "mutual_information": "what the width still tells about a miss, in nats; near 0 is good",
    "extrapolating": "share of rows far from all training rows: there the model guesses",
    "seen": "share of rows with the very inputs of a training row; should be near 0",
}
