"""From scores of held-out rows to intervals: split, clustered, grouped, weighted, localized, CV+.

A score is the smallest q whose interval holds y, among the nested ones of its row: those of a band
of several levels, or [lower − q·width, upper + q·width]. A calibration keeps the m scores of rows
that trained nothing, and says at which q a new interval has the wanted level. All of it rests on
ranks: the k-th smallest score, k = ⌈level·(m + 1)⌉, and +∞ if k > m.
Scores of +∞ are legal; NaN is refused. Nothing here warns: `notes` tells what there is to say.
"""

from sosbands.conformal.bounded_family import BoundedFamily
from sosbands.conformal.calibration import (
    BandRows,
    CalibratedBand,
    Calibration,
    Companion,
    Family,
)
from sosbands.conformal.clusters import ClusteredCalibration
from sosbands.conformal.families import IntervalFamily
from sosbands.conformal.groups import GroupCalibration, Groups, named
from sosbands.conformal.localized import LocalizedCalibration, effective_bandwidth, normals_of
from sosbands.conformal.nested_family import NestedFamily
from sosbands.conformal.plus import PlusCalibration, SignedPlusCalibration, guarantee
from sosbands.conformal.ranks import checked_levels, order_rank, rows_needed
from sosbands.conformal.split import SignedCalibration, SplitCalibration
from sosbands.conformal.weights import WeightedCalibration

__all__ = [
    "BandRows",
    "BoundedFamily",
    "CalibratedBand",
    "Calibration",
    "ClusteredCalibration",
    "Companion",
    "Family",
    "GroupCalibration",
    "Groups",
    "IntervalFamily",
    "LocalizedCalibration",
    "NestedFamily",
    "PlusCalibration",
    "SignedCalibration",
    "SignedPlusCalibration",
    "SplitCalibration",
    "WeightedCalibration",
    "checked_levels",
    "effective_bandwidth",
    "guarantee",
    "named",
    "normals_of",
    "order_rank",
    "rows_needed",
]
