"""One threshold for rows of new clusters: hierarchical conformal prediction."""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from sosbands.conformal.calibration import Calibration
from sosbands.conformal.ranks import SLACK, ascending, checked_levels, picked
from sosbands.types import Array


class ClusteredCalibration(Calibration):
    """One q for rows of new clusters, such as patients (Lee, Barber and Willett, 2023).

    Rows of one cluster resemble each other, and clusters alone are exchangeable. Each of them
    counts as one, however many rows it has, and so does that of a new row. Then a row of a new
    cluster has P(Y ∈ C(X)) ≥ level.

    Attributes
    ----------
    clusters : int array of shape (m,)
        The number of each row's cluster.

    Examples
    --------
    >>> from sosbands.conformal import ClusteredCalibration
    >>> patients = ClusteredCalibration([0.1, 0.2, 0.3, 0.9], [0, 0, 0, 1])
    >>> patients.size, patients.quantiles([0.5]).tolist()  # two patients, whatever their rows
    (2, [0.9])
    """

    name: ClassVar = "split"
    takes: ClassVar = "clusters"
    unit: ClassVar = "groups"  # as users call them
    covered: ClassVar = "of new groups from the same source"
    closed: ClassVar = (
        "fit had groups, which calibrate as a whole, so that there are no rows to add to; "
        "use conformalize with the new rows alone"
    )

    def __init__(self, scores: ArrayLike, clusters: ArrayLike) -> None:
        numbers = np.asarray(clusters, dtype=np.intp)
        self.scores, self.clusters = ascending(scores, clusters=numbers)
        # Few are held back even of many rows: their number explains a shortage.
        self.counted = f"groups, got {self.size}"

    @property
    def size(self) -> int:
        """The number of clusters."""
        return len(np.unique(self.clusters))

    def quantiles(self, levels: Sequence[float], *beside: Any) -> Array:
        """The smallest t with Σ 1{sᵢ ≤ t}/(rows of its cluster) ≥ level·(clusters + 1), or +∞."""
        _, cluster, rows = np.unique(self.clusters, return_inverse=True, return_counts=True)
        given, _ = checked_levels(levels, name="levels")
        target = np.array(given) * (len(rows) + 1)
        index = np.searchsorted(np.cumsum(1.0 / rows[cluster]), target * (1 - SLACK))
        return picked(self.scores, index)
