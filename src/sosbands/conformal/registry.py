"""The calibrations there are; the estimator, the command line and model files know no others.

A new one is a file with its class, and a line in `CALIBRATIONS`.
"""

from typing import Any

from sosbands.conformal.calibration import Calibration
from sosbands.conformal.clusters import ClusteredCalibration
from sosbands.conformal.groups import GroupCalibration
from sosbands.conformal.localized import LocalizedCalibration
from sosbands.conformal.plus import PlusCalibration
from sosbands.conformal.split import SplitCalibration
from sosbands.conformal.weights import WeightedCalibration

CALIBRATIONS: tuple[type[Calibration], ...] = (
    SplitCalibration,
    PlusCalibration,
    LocalizedCalibration,
    ClusteredCalibration,
    GroupCalibration,
    WeightedCalibration,
)


def calibration_names() -> tuple[str, ...]:
    """The values of `calibration=`, but for None."""
    return tuple(kind.name for kind in CALIBRATIONS if kind.name and kind.takes is None)


def calibration_named(name: Any) -> type[Calibration] | None:
    """The calibration that `calibration=` asks for."""
    allowed = (*calibration_names(), None)
    if name not in allowed:
        raise ValueError(f"calibration must be one of {allowed}, got {name!r}")
    return next((kind for kind in CALIBRATIONS if (kind.name, kind.takes) == (name, None)), None)


def calibration_of_rows(name: Any, **told: Any) -> type[Calibration]:
    """The calibration of rows that trained nothing.

    What is told of the rows comes first; if it has no calibration, or not one of this name, then
    the name decides. Without one, or with one of folds, it is "split".
    """
    given = [key for key, value in told.items() if value is not None]
    if len(given) > 1:
        raise ValueError(f"give {' or '.join(given)} to conformalize, not both")
    asked = calibration_named(name)
    plain = SplitCalibration if asked is None or asked.by_folds else asked
    for kind in CALIBRATIONS:
        if given == [kind.takes] and kind.name in (None, plain.name):
            return kind
    return plain
