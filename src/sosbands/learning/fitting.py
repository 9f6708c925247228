"""Algorithm 1 as a whole: which rows learn a band, and which calibrate it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import _safe_indexing

from sosbands.conformal import Calibration, Companion
from sosbands.conformal.calibration import BandRows
from sosbands.core.solvers import Certificate, Status
from sosbands.learning.consensus import Consensus
from sosbands.learning.fit_parameters import FitParameters
from sosbands.learning.folds import calibration_split, check_partition, renumbered
from sosbands.learning.learner import BandLearner, Learned
from sosbands.learning.means import OutOfSample
from sosbands.types import Array, Folds, Indices


@dataclass(frozen=True, eq=False)
class Fitted:
    """A learned band with its calibration, if there were rows for one.

    Attributes
    ----------
    learned : Learned
    calibration : Calibration or None
    n_train : int
        Rows that it was learned from.
    certificates : list of Certificate
        What proves this band, and those of the folds.
    """

    learned: Learned
    calibration: Calibration | None
    n_train: int
    certificates: list[Certificate]


def learn_all(
    learner: BandLearner,
    X: Any,
    y: Array,
    groups: Indices | None,
    told: FitParameters,
    *,
    folds: Folds | None = None,
    mean: OutOfSample | None = None,
) -> Fitted:
    """All rows train, and none calibrates; the mean may be known, and the folds it left out."""
    learned = _learned(learner, X, y, groups, told, folds=folds, mean=mean)
    return Fitted(learned, None, len(y), [learned.solution.certificate])


def learn_split(
    learner: BandLearner,
    X: Any,
    y: Array,
    groups: Indices | None,
    told: FitParameters,
    *,
    kind: type[Calibration],
    size: float | int,
) -> Fitted:
    """Some rows train and the others calibrate: a share of them, or a number."""
    train, rest = calibration_split(len(y), size, cv=learner.cv, groups=groups, seed=learner.seed)
    kept = None if groups is None else groups[train]
    learned = _learned(learner, _safe_indexing(X, train), y[train], kept, told.take(train))
    companion = Companion() if groups is None else Companion(groups[rest])
    with learner.progress.phase("calibration"):
        rows = learned.band.at(_safe_indexing(X, rest))
        calibration = kind.of(rows, y[rest], companion, learner.seed)
    return Fitted(learned, calibration, len(train), [learned.solution.certificate])


def learn_by_folds(
    learner: BandLearner,
    X: Any,
    y: Array,
    groups: Indices | None,
    told: FitParameters,
    *,
    kind: type[Calibration],
) -> Fitted:
    """All rows train, and those of each fold calibrate a band that was learned without them.

    Nothing that a band without a fold knows comes from that fold: its own folds are the others, by
    which regressors are fitted once for several bands. The band of all rows comes last and takes
    over what the others chose, and, around a regressor whose fits they share, what they guessed. It
    gives nothing back: intervals are made of theirs.
    """
    n, folds = len(y), list(learner.folds(X, y, groups))
    check_partition(folds, n)
    whole, means = learner.means_by_folds(X, y, folds, told)
    parts, held_out = [], []
    for k, (train, test) in enumerate(folds):
        part = _learned(
            learner.part(f"fold {k + 1}/{len(folds)}"),
            _safe_indexing(X, train),
            y[train],
            None if groups is None else groups[train],
            told.take(train),
            folds=renumbered(folds[:k] + folds[k + 1 :], train, n),
            mean=means[k],
        )
        parts.append(part)
        held_out.append((part.band.at(_safe_indexing(X, test)), y[test]))
    consensus = Consensus([part.band for part in parts], [part.tuning for part in parts])
    if whole is not None:
        sizes = _guessed_sizes(learner, parts, [rows for rows, _ in held_out], folds)
        whole = replace(whole, sizes=sizes)
    last = learner.part()
    learned = _learned(last, X, y, groups, told, folds=folds, mean=whole, consensus=consensus)
    calibration = kind.of_folds(held_out)
    certificates = [part.solution.certificate for part in (learned, *parts)]
    return Fitted(learned, calibration, n, certificates)


def _guessed_sizes(
    learner: BandLearner, parts: Sequence[Learned], held_out: Sequence[BandRows], folds: Folds
) -> Array | None:
    """What the band without its fold guesses of |y − m| at each row.

    If all of them guess by the kind of model that the band of all rows has: others are of another
    quality.
    """
    sizes = np.empty(sum(len(test) for _, test in folds))
    kind = learner.guesses_like(len(sizes))
    for part, rows, (_, test) in zip(parts, held_out, folds, strict=True):
        guess = part.band.scale_inputs.difficulty
        if guess is None or type(guess.model) is not kind:
            return None
        sizes[test] = rows.sizes
    return sizes


def _learned(
    learner: BandLearner,
    X: Any,
    y: Array,
    groups: Indices | None,
    told: FitParameters,
    *,
    folds: Folds | None = None,
    mean: OutOfSample | None = None,
    consensus: Consensus | None = None,
) -> Learned:
    """A band from the rows that count: those of weight 0 are left out."""
    counted = told.counted(len(y))
    if counted is not None:
        folds = renumbered(folds or learner.folds(X, y, groups), counted, len(y))
        X, y, told = _safe_indexing(X, counted), y[counted], told.take(counted)
        groups = None if groups is None else groups[counted]
        mean = None if mean is None else mean.take(counted)
    return learner.learn(X, y, groups, told=told, folds=folds, mean=mean, consensus=consensus)


def status_notes(proof: Certificate) -> Iterator[tuple[type[Warning], str]]:
    """What to warn of if a band was not found, or has no width."""
    if not proof.status.optimal:
        yield (
            ConvergenceWarning,
            f"the band problem was solved to a gap of {proof.gap:.1e} only: "
            f"{proof.status.value}; intervals stay valid, but may be wider than need be",
        )
    elif proof.status is Status.ZERO_SCALE:
        yield UserWarning, f"the band has no width: {proof.status.value}"
