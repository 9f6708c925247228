"""What users of an estimator are warned of; all are called by its public methods directly."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from sosbands.conformal import (
    ClusteredCalibration,
    GroupCalibration,
    Groups,
    SignedCalibration,
)
from sosbands.core.solvers import Solution, Status


def warn_of_frozen() -> None:
    """Nobody can see which rows have trained a frozen estimator."""
    warnings.warn(
        "the estimator is frozen: the rows that trained it must not be among those given "
        "to fit, or the intervals will be too narrow",
        UserWarning,
        stacklevel=3,
    )


def warn_of_status(solution: Solution) -> None:
    """Say so if a band was not found, or has no width."""
    if not solution.status.optimal:
        warnings.warn(
            f"the band problem was solved to a gap of {solution.gap:.1e} only: "
            f"{solution.status.value}; intervals stay valid, but may be wider than need be",
            ConvergenceWarning,
            stacklevel=3,
        )
    elif solution.status is Status.ZERO_SCALE:
        warnings.warn(f"the band has no width: {solution.status.value}", stacklevel=3)


def warn_of_unseen(calibration: GroupCalibration, groups: Groups) -> None:
    """Say so if rows belong to groups that have not calibrated, by another spelling perhaps."""
    unseen = [name for name in groups if name not in calibration.by_group]
    if unseen:
        known = ", ".join(map(repr, list(calibration.by_group)[:3]))
        warnings.warn(
            f"{len(unseen)} of {len(groups)} rows are of groups that did not calibrate, such as "
            f"{unseen[0]!r} (those that did: {known}, …): their intervals are infinite",
            UserWarning,
            stacklevel=3,
        )


def warn_of_shortage(calibration: Any, levels: Sequence[float]) -> None:
    """Say so if some intervals have to be infinite."""
    needed = calibration.shortage(levels)
    if needed is not None:
        kind = "rows in every group" if isinstance(calibration, GroupCalibration) else "rows"
        if isinstance(calibration, ClusteredCalibration):
            kind = f"groups, got {calibration.size}"
        signed = isinstance(calibration, SignedCalibration)
        hardest = max(levels, key=lambda level: max(level, 1 - level) if signed else level)
        warnings.warn(
            f"a level of {hardest:g} needs at least {needed} calibration {kind}: intervals "
            "without them are infinite",
            UserWarning,
            stacklevel=3,
        )
