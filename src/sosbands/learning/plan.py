"""What "auto" means for n rows and d inputs, and which candidates the tuning tries.

Each constant says which experiment set it; docs/settings.md has the figures.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from sosbands.core.kernels import Gaussian, Kernel, Matern
from sosbands.core.solvers import SDP, Accelerated, Newton, Solver
from sosbands.learning.difficulty_trees import DifficultyTrees
from sosbands.learning.kernel_band import KernelBand
from sosbands.learning.neighbours import NeighbourMean
from sosbands.learning.parameters import check_choice
from sosbands.learning.routing import check_takes_weights
from sosbands.types import Array

SOLVERS: dict[str, type[Solver]] = {"newton": Newton, "accelerated": Accelerated, "sdp": SDP}
KERNELS: dict[str, type[Kernel]] = {"gaussian": Gaussian, "matern": Matern}

# Rows that the tuning and the shape of the kernel are learned from; for d inputs not more than
# 250 (1 + d). Choices from more rows were no better on california and bike_uci.
_TUNING_ROWS, _ROWS_PER_INPUT, _SHAPE_ROWS = 1000, 250, 350
# Gap of the fold problems: their bands are compared, not used. Ten times of it gave the same scores
# on the four larger development sets, within .1 %, but with three times of it arbitrary choices of
# landmarks moved widths by 1 % (bike_uci, kernel mean), with this by .01 %.
_FOLD_TOL = 1e-2
# Sizes of the lengthscale that are tried, and the largest. With 8 sizes, or with a largest one of 2
# or 9, scores were the same within 1 % around boosting, two splits of each development set.
_SIZES, _LARGEST_SIZE = 4, 4.5
# The same if HSIC decides alone, as in the paper, and evaluations of its search per dimension.
_ALONE_SIZES, _ALONE_EVALUATIONS = (0.1, 0.2, 0.4, 0.8, 1.6, 3.2), 5
# Least and most features of the band and of the folds, and rows for each feature: the scale varies
# slowly. From 80 to 125 in the band changed no score on california and bike_uci by more than .05 %;
# 50 in the folds changed none by more than .1 %, 25 cost .3 % around a kernel mean. With fewer than
# 400 rows 20 instead of 25 cost .1 % on average, .5 % at the most (six sets, 16 to 40 seeds).
_RANKS, _ROWS_PER_FEATURE = (35, 80), 8
_FOLD_RANKS, _FOLD_ROWS_PER_FEATURE = (20, 35), 16
# Features reproduce kᶠ to this; the paper's form is exact to rounding.
_FEATURE_TOL, _EXACT_TOL = 1e-8, 1e-10
# The least b, and what b is multiplied with for tuning: real data of the development sets. With so
# many rows the middle one alone is as good: scores at .9 on the five larger sets, seeds 20 to 23,
# were .997 around boosting and 1.002 around a kernel mean; with fewer, 1.07 on yacht.
_LEAST_WIDTH_WEIGHT, _WIDTH_FACTORS, _ONE_FACTOR_ROWS = 10.0, (1.0, 3.0, 10.0), 400
# With fewer rows than these neither neighbours nor trees guess the size of residuals: triceps,
# lidar, mcycle and yacht.
_NEIGHBOUR_ROWS, _TREE_ROWS = 100, 500
_NEIGHBOURS = 15
# Small trees guess √|r| as well as a hundred of 31 leaves guess a quantile of |r|, in a fifth of
# the time: the four larger development sets, at most 3000 rows of each.
_TREES = {"max_iter": 80, "learning_rate": 0.05, "max_leaf_nodes": 8, "min_samples_leaf": 30}
# With so many rows trees may be larger. Scores at .9 around boosting, 3 seeds: .989 on california
# and .986 on bike_uci with all rows, .992 and 1.001 with 3000, 1.005 and 1.001 with 1500.
_LARGER_TREES = {"learning_rate": 0.08, "max_leaf_nodes": 15, "max_features": 0.4}
_LARGER_TREE_ROWS = 2000
# With fewer rows than that, and around the average of models with any number, extra trees guess as
# well, in the way of `DifficultyTrees`. Around a given model of 2000 and 4000 rows they brought .6
# and .4 % of the scores at .9, but a fit took 23 and 40 % longer; around the average 5 %.
_EXTRA_TREES = {"n_estimators": 40, "min_samples_leaf": 5}
# Those of a part of CV+, whose bands make up for each other: its fits take 7 % less, scores at .5,
# .8, .9 and .95 are 1.000, 1.000, 1.001 and 1.002 (airfoil, 800 rows of california and bike_uci,
# seeds 0 to 2, around boosting).
_PART_TREES = {"n_estimators": 20}
# With more inputs than these their lengthscales in kᶠ are so many times those that few rows find,
# which pick up noise; the first guess sees the inputs as well. Scores at .5, .8, .9 and .95 around
# boosting, concrete and 800 rows of california and bike_uci, seeds 0 and 1, with 50 columns of
# noise .990, .988, .986 and .988, with 40 noisy mixtures of the inputs .995, .998, .995 and .998,
# with 60 mixtures in place of the inputs 1.001, .999, .993 and .995. Twice as long: 1.000, .997,
# .993 and .997 with 60 mixtures; eight times: .987, .984, .983 and .989 with noise, but 1.006,
# 1.004, .999 and .996 with mixtures; no part at all: 1.011, 1.012, 1.009 and 1.004. With 5 to 12
# inputs four times the likely ones changed nothing (1.000, 1.002, 1.000 and 1.005).
_MANY_INPUTS, _LENGTHENING = 15, 4.0
# With fewer rows the band around a kernel mean, and around a given one, is symmetric unless the
# user says otherwise.
_TWO_SIDED_ROWS, _LEAST_TWO_SIDED_ROWS = 300, 100
# How much wider bands get away from the data if nothing is tuned, and what is tried. Among uniform
# rows none at all would be best, but far from all rows nobody knows.
_CAUTION, _CAUTIONS = 1.0, (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
# With so many rows a constant may be averaged with the scale. A hundred cannot tell: then local
# coverage of cases 1 and 2 was further off by .01, with 400 or more by less than .002.
_EVENED_ROWS = 400
# τ of symmetric bands and of the levels of two-sided ones: cases 1 to 4 and development sets. With
# a third level of 0.2 scores and CRPS were the same within .2 %, seven development sets.
_COVERAGE, _LEVELS = 0.8, (0.5, 0.9)
# λ of the centre times n²: 700 to 5000 scored the same on the eight development sets.
_CENTRE_PENALTY = 1500.0
# With so many rows intervals go around a given mean alone: around boosting, 50 % intervals scored
# .91 with a kernel mean beside it on 1500 rows of bike_uci, .97 on 5000 and .99 on 8700, .99 on
# 1500 and 1.00 on 10 300 of california. The kernel mean finds its lengthscales by few rows and has
# p features with n p² below this, so that it takes less than half the time of boosting; with more
# rows than these a whole fit would take more than three times that. With 300 rows instead of 500
# errors were larger by 2 % on concrete and california.
_BLEND_ROWS, _BLEND_SEARCH_ROWS, _BLEND_WORK = 5000, 500, 3e8
# a for a two-sided band with a joint mean: without it the mean hides behind one of the sides.
_TWO_SIDED_MEAN_WEIGHT = 1000.0
# The weight of the prediction among inputs that all count the same: a round number, not measured.
_PREDICTION_WEIGHT = 3.0

T = TypeVar("T")


def central(candidates: Sequence[T]) -> T:
    """The one in the middle, where a search begins."""
    return candidates[len(candidates) // 2]


@dataclass(frozen=True)
class Rules:
    """What a `KernelBand` asks for, with every "auto" decided.

    Attributes
    ----------
    band : KernelBand
        Checked.
    own_mean : bool
        Whether the mean is a kernel mean, not that of a given model.
    stacked : bool
        Whether it is the average of several models, beside whose fits another one is soon made.
    part : bool
        Whether the band is one of several, which make up for each other.
    """

    band: KernelBand
    own_mean: bool
    stacked: bool = False
    part: bool = False

    def check(self) -> None:
        """Refuse a kernel and a solver that are none, and a joint mean around a given model."""
        check_choice("kernel", self.band.kernel, tuple(KERNELS))
        self.solver(self.band.tol)
        if self.band.joint_mean and not self.own_mean:
            raise ValueError(
                "joint_mean=True learns a kernel mean, but the band goes around another estimator: "
                "pass estimator=None, or leave joint_mean out"
            )

    @property
    def joint(self) -> bool:
        """Whether the mean is learned together with the band."""
        return self.own_mean and bool(self.band.joint_mean)

    @property
    def tunes_kernel(self) -> bool:
        """Whether the lengthscale is to be found."""
        return isinstance(self.band.lengthscale, str)

    @property
    def criterion_alone(self) -> bool:
        """Whether HSIC chooses every lengthscale, as in the paper."""
        return self.tunes_kernel and self.band.anisotropy == "hsic"

    def sides(self, n: int) -> tuple[bool, ...]:
        """The values of `symmetric` to choose from.

        What a model leaves is rarely symmetric; what a Gaussian process leaves usually is, and few
        rows cannot tell.
        """
        if self.band.symmetric != "auto":
            return (bool(self.band.symmetric),)
        if not self.own_mean:
            return (n < _LEAST_TWO_SIDED_ROWS,)
        return (True, False) if n >= _TWO_SIDED_ROWS else (True,)

    def levels(self, *, symmetric: bool) -> tuple[float, ...]:
        """τ of every band, from the inside out; a symmetric band is one."""
        given = self.band.training_coverage
        if isinstance(given, str):
            return (_COVERAGE,) if symmetric else _LEVELS
        levels = tuple(map(float, given)) if np.ndim(given) else (float(given),)
        return levels[-1:] if symmetric else levels

    def coverage(self, *, symmetric: bool) -> float:
        """τ of the outermost band, by which candidates are compared."""
        return self.levels(symmetric=symmetric)[-1]

    def centre_penalty(self, n: int) -> float | None:
        """λ of ‖δ‖² for n rows; None if two-sided bands stay around the mean."""
        given = self.band.centre_penalty
        if self.joint or given is None:
            return None
        if given != "auto":
            return float(given)
        return _CENTRE_PENALTY / n**2 if len(self.levels(symmetric=False)) > 1 else None

    def blends(self, n: int) -> bool:
        """Whether intervals go around an average of a given mean and a kernel mean.

        They do where bands may have a centre of their own: not with one level, nor if symmetric.
        """
        free = self.centre_penalty(n) is not None and self.band.symmetric in ("auto", False)
        return free and not self.own_mean and n < _BLEND_ROWS

    def evens(self, n: int) -> bool:
        """Whether a constant may count beside the scale, given n rows to tell."""
        return self.soft and self.tunes_kernel and not self.criterion_alone and n >= _EVENED_ROWS

    @property
    def soft(self) -> bool:
        """Whether the band may miss training rows."""
        return self.coverage(symmetric=True) < 1

    def width_factors(self, n: int) -> tuple[float, ...]:
        """Multiples of `width_weight` to choose from, given n rows."""
        if self.band.width_weight != "auto":
            return (1.0,)
        return _WIDTH_FACTORS if n < _ONE_FACTOR_ROWS else (central(_WIDTH_FACTORS),)

    def width_weight(self, n: int) -> float:
        """The smallest b for n rows."""
        if self.band.width_weight == "auto":
            return max(_LEAST_WIDTH_WEIGHT, min(0.1 * n, 5.0 * float(np.sqrt(n))))
        return float(self.band.width_weight)

    def mean_weight(self, *, symmetric: bool) -> float:
        """a for a joint mean."""
        if self.band.mean_weight == "auto":
            return 0.0 if symmetric else _TWO_SIDED_MEAN_WEIGHT
        return float(self.band.mean_weight)

    def check_weights(self, weights: Array | None) -> None:
        """Refuse weights of rows where something cannot be weighted."""
        if weights is None:
            return
        if self.band.difficulty is not None and not isinstance(self.band.difficulty, str):
            check_takes_weights(self.band.difficulty)
        if self.band.criterion == "mutual_information":
            raise ValueError(
                'criterion="mutual_information" takes no sample_weight: choose "hsic" or '
                '"distance_correlation"'
            )
        if self.joint and False in self.sides(len(weights)) and self.mean_weight(symmetric=False):
            raise ValueError(
                "a joint mean of a two-sided band takes no sample_weight with mean_weight="
                f"{self.band.mean_weight!r}: set mean_weight=0, symmetric=True or joint_mean=False"
            )

    @property
    def prediction_weight(self) -> float:
        """How much the prediction counts among the inputs of the scale.

        Around a kernel mean it repeats what the inputs say; around a model it often says more.
        """
        if self.band.prediction_weight != "auto":
            return float(self.band.prediction_weight)
        if self.own_mean:
            return 0.0
        return _PREDICTION_WEIGHT if self.band.anisotropy == "none" else 1.0

    def caution(self, n_inputs: int) -> float:
        """How much wider a band gets away from the data: a single input has no empty corners."""
        if self.band.caution != "auto":
            return float(self.band.caution)
        return 0.0 if n_inputs == 1 else _CAUTION

    def cautions(self, n_inputs: int) -> tuple[float, ...]:
        """The values of `caution` to choose from."""
        tuned = self.band.caution == "auto" and n_inputs > 1
        return _CAUTIONS if tuned else (self.caution(n_inputs),)

    def difficulty(self, n: int, *, least_fold: int) -> Any | None:
        """The regressor that makes a first guess of the size of the residuals.

        It is fitted to n rows, and to those of the folds, which have at least `least_fold`.
        """
        if not isinstance(self.band.difficulty, str):
            return self.band.difficulty
        if self.own_mean or n < _NEIGHBOUR_ROWS:
            return None
        if n < _TREE_ROWS:
            return NeighbourMean(min(_NEIGHBOURS, least_fold))
        from sklearn.ensemble import ExtraTreesRegressor, HistGradientBoostingRegressor

        few = n < _LARGER_TREE_ROWS
        trees: dict[str, Any] = _TREES if few else _TREES | _LARGER_TREES
        boosting = HistGradientBoostingRegressor(early_stopping=False, random_state=0, **trees)
        if not few and not self.stacked:
            return boosting
        extra = _EXTRA_TREES | _PART_TREES if self.part else _EXTRA_TREES
        return DifficultyTrees(boosting, ExtraTreesRegressor(random_state=0, **extra))

    @staticmethod
    def lengthening(n_inputs: int) -> float:
        """What the likely lengthscales of so many inputs are multiplied by."""
        return _LENGTHENING if n_inputs > _MANY_INPUTS else 1.0

    def kernel(self, lengthscale: float | tuple[float, ...]) -> Kernel:
        """kᶠ."""
        return KERNELS[self.band.kernel](lengthscale, offset=self.band.offset)

    @property
    def feature_tol(self) -> float:
        """How well features reproduce kᶠ."""
        return _FEATURE_TOL if self.band.standardize else _EXACT_TOL

    def rank(self, n: int, *, fold: bool) -> int | None:
        """The most features; the paper's form and the paper's solvers want all of them."""
        exact = not self.band.standardize or self.solver(0.1).wants_all_features
        if self.band.max_rank is not None or exact:
            return self.band.max_rank
        per_feature, (least, most) = (
            (_FOLD_ROWS_PER_FEATURE, _FOLD_RANKS) if fold else (_ROWS_PER_FEATURE, _RANKS)
        )
        return min(max(n // per_feature, least), most)

    def solver(self, tol: float) -> Solver:
        """The solver, with this tolerance."""
        given = self.band.solver
        if isinstance(given, Solver):
            return given
        if not isinstance(given, str) or given not in SOLVERS:
            raise ValueError(f"solver must be a Solver or one of {tuple(SOLVERS)}, got {given!r}")
        return SOLVERS[given](tol=tol)  # type: ignore[call-arg]

    @property
    def fold_solver(self) -> Solver:
        """The solver of the fold problems, with a tolerance that is enough to compare bands."""
        return self.solver(_FOLD_TOL)

    @staticmethod
    def tuning_rows(d: int) -> int:
        """Rows that the tuning looks at, for d inputs of the scale."""
        return min(_TUNING_ROWS, _ROWS_PER_INPUT * (1 + d))

    @staticmethod
    def shape_rows() -> int:
        """Rows that the relative lengthscales are learned from."""
        return _SHAPE_ROWS

    def sizes(self, n: int, d: int) -> tuple[float, ...]:
        """Factors of the shape, from what n rows can resolve to nearly constant scales."""
        if not self.tunes_kernel:
            return (1.0,)
        if self.criterion_alone:
            return _ALONE_SIZES
        least = (100 / max(n, 100)) ** 0.25
        # The likelihood of several lengthscales knows their size roughly already.
        known = self.band.anisotropy == "likelihood" and d > 1
        return tuple(np.geomspace(least, _LARGEST_SIZE, _SIZES - known).tolist())

    def evaluations(self, free: int) -> int:
        """Of the search for the lengthscale that is best by the criterion alone."""
        return _ALONE_EVALUATIONS * free if self.criterion_alone else 0

    @staticmethod
    def blend_limits(n: int, search_rows: int | None) -> dict[str, int]:
        """Of the kernel mean in a blend; one of several bands searches by half of its rows."""
        few = _BLEND_SEARCH_ROWS if search_rows is None else search_rows // 2
        most = {"search_rows": min(_BLEND_SEARCH_ROWS, few)}
        return {**most, "max_rank": int(np.sqrt(_BLEND_WORK / n))}
