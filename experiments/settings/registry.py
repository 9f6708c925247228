"""The defaults, one entry each: what is changed, around which mean, on which sets.

A variant is a line. Constants without a parameter are named by their module; what they are is said
where they are defined. A function makes the other value from the present one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.ensemble import (
    ExtraTreesRegressor,
    HistGradientBoostingRegressor,
    VotingRegressor,
)

from experiments.settings.setup import LARGE, ONE_INPUT, SETS, SEVERAL_INPUTS, Setting, Variant
from sosbands import KernelBand, KernelMean
from sosbands.learning.plan import Rules

MODEL, KERNEL, AUTO = "boosting", "kernel mean", "auto"
BOTH = (MODEL, KERNEL)
OWN_SPLITS = ("own split", "own split, kernel mean")
# More rows than any set has.
MANY = 10**9
# The sets with more than 3000 rows; their outputs pile up at an end.
LARGEST = ("california", "bike_uci")
# Sets with so few rows that neighbours guess the size of residuals, or with enough for two sides.
NEIGHBOURS, TWO_SIDED = ("lidar", "triceps", "yacht"), ("triceps", *LARGE)
# Sets with so few rows that b is tuned.
FEW = ("mcycle", "lidar", "yacht")
TREES = HistGradientBoostingRegressor(
    max_iter=80, learning_rate=0.05, max_leaf_nodes=8, min_samples_leaf=30, early_stopping=False
)
# What the default makes of 2000 rows and more around a given model.
LARGER_TREES = Rules(KernelBand(), own_mean=False).difficulty(2000, least_fold=1600)
EXTRA_TREES = ExtraTreesRegressor(40, min_samples_leaf=5, random_state=0)
# Both learn √|r|.
SAME_ROOTS = VotingRegressor([("boosting", TREES), ("extra", EXTRA_TREES)])

_BOOSTED_ALONE = "boosted trees without extra trees"


def band(
    without: str,
    setups: Sequence[str] = (MODEL,),
    sets: Sequence[str] = SETS,
    cost: float = 1.0,
    **parameters: Any,
) -> list[Variant]:
    """Other parameters of the band, in each setup."""
    named = {f"band__{name}": value for name, value in parameters.items()}
    return [Variant(without, setup, named, sets=sets, cost=cost) for setup in setups]


def constants(
    without: str,
    changed: Mapping[str, Any],
    setups: Sequence[str] = (MODEL,),
    sets: Sequence[str] = SETS,
    cost: float = 1.0,
) -> list[Variant]:
    """Other constants of `sosbands.learning`, in each setup."""
    named = {f"learning.{name}": value for name, value in changed.items()}
    return [Variant(without, setup, constants=named, sets=sets, cost=cost) for setup in setups]


def setting(name: str, default: str, *variants: Sequence[Variant]) -> Setting:
    """A default with all its variants."""
    return Setting(name, default, tuple(one for several in variants for one in several))


def without_base(name: str, setup: str = AUTO, sets: Sequence[str] = SETS) -> list[Variant]:
    """The average of regressors without one of them."""
    changed = {"stacking.BASES": _Without(name)}
    return constants(f"no {name}", changed, (setup,), sets)


def _alone(present: Mapping[str, Any]) -> dict[str, Any]:
    """Regressors that go around no others."""
    return {name: replace(base, least_around=np.inf) for name, base in present.items()}


def _smooth(present: Mapping[str, Any]) -> dict[str, Any]:
    """Kernel means of the same kernel, whatever they see."""
    kernel, ranks = present["kernel mean"], present["kernel mean of ranks"]
    return {**present, "kernel mean of ranks": replace(ranks, make=kernel.make)}


class _Without:
    """A mapping without one of its names; a class, so that processes can hand it on."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, present: Mapping[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in present.items() if name != self.name}


_DECLARED = (
    setting(
        "estimator",
        '`estimator="auto"`',
        [Variant("boosted trees alone", AUTO, mean=MODEL, cost=0.5)],
        [Variant("the kernel mean alone", AUTO, mean=KERNEL, cost=0.5)],
        *map(
            without_base,
            ("kernel mean", "kernel mean of ranks", "boosted trees", "extra trees", "ridge"),
        ),
        without_base("ridge", "linear outputs", SEVERAL_INPUTS[:3]),
        constants("extra trees of the outputs", {"stacking.BASES": _alone}, (AUTO,), TWO_SIDED),
        constants("a Gaussian kernel of ranks", {"stacking.BASES": _smooth}, (AUTO,), LARGE),
        constants("leaves of 1 row", {"base_regressors._LEAF_ROWS": 1}, (AUTO,)),
        constants("leaves of 5 rows", {"base_regressors._LEAF_ROWS": 5}, (AUTO,)),
        constants("boosting as it comes", {"base_regressors._MORE_TREES": {}}, (AUTO,)),
        constants("squared errors alone", {"stacking_weights._LARGE_ERROR": 1e6}, (AUTO,)),
    ),
    setting(
        "training_coverage",
        "`training_coverage`",
        band("1, the paper's", BOTH, training_coverage=1.0),
        band("0.9, one level", BOTH, training_coverage=0.9),
        band("0.6, one level", (KERNEL,), training_coverage=0.6),
        band("levels 0.2, 0.5 and 0.9", training_coverage=(0.2, 0.5, 0.9)),
        band("levels 0.5 and 0.95", training_coverage=(0.5, 0.95)),
        band("levels 0.5, 0.8 and 0.95", training_coverage=(0.5, 0.8, 0.95)),
    ),
    setting(
        "centre_penalty",
        "`centre_penalty`",
        band("none: around the mean", centre_penalty=None),
        constants("ranks of a blend count half", {"blend._RANK_SHARES": (0.5, 0.5)}, sets=LARGE),
        constants("Gaussian blends", {"blend._KERNELS": ("gaussian",) * 2}, sets=LARGE),
        constants("Matérn blends of few rows", {"blend._KERNELS": ("matern32",) * 2}, sets=FEW),
        constants("150/n²", {"plan._CENTRE_PENALTY": 150.0}),
        constants("15000/n²", {"plan._CENTRE_PENALTY": 15_000.0}),
    ),
    setting("offset", "`offset`", band("0, the paper's", BOTH, offset=0.0)),
    setting(
        "joint_mean",
        "`joint_mean`",
        band("True, the paper's", (KERNEL,), SETS[:5], cost=2, joint_mean=True),
    ),
    setting(
        "symmetric",
        "`symmetric`",
        band("one side", symmetric=True),
        band("two sides", sets=("mcycle",), symmetric=False),
        band("one side", (KERNEL,), TWO_SIDED, symmetric=True),
        band("two sides", (KERNEL,), symmetric=False),
        constants("two sides, no margin", {"search._MARGIN": 0.0}, (KERNEL,), TWO_SIDED),
        constants("two sides, any skewness", {"search._SKEWED": 0.0}, (KERNEL,), TWO_SIDED),
    ),
    setting(
        "width_weight",
        "`width_weight`",
        band("10, the paper's", BOTH, width_weight=10.0),
        constants("the smallest alone", {"plan._WIDTH_FACTORS": (1.0,)}, BOTH),
        constants("the largest alone", {"plan._WIDTH_FACTORS": (10.0,)}, BOTH),
        constants("the middle one alone", {"plan._WIDTH_FACTORS": (3.0,)}, BOTH, FEW),
        constants("tuned with many rows", {"plan._ONE_FACTOR_ROWS": MANY}, BOTH, TWO_SIDED),
        constants("large ones count in full", {"search._LARGER_WEIGHT": 1.0}, BOTH, FEW),
    ),
    setting(
        "anisotropy",
        "`anisotropy`",
        band("none", BOTH, SEVERAL_INPUTS, anisotropy="none"),
        band("HSIC, the paper's", (KERNEL,), SEVERAL_INPUTS[:3], cost=5, anisotropy="hsic"),
        constants(
            "many inputs have their likely lengthscales",
            {"plan._LENGTHENING": 1.0},
            ("many inputs", "boosting, many inputs"),
            LARGE,
        ),
        constants(
            "few inputs have longer ones, too", {"plan._MANY_INPUTS": 1}, (MODEL, AUTO), LARGE
        ),
    ),
    setting(
        "prediction_weight",
        "`prediction_weight`",
        band("0, the paper's", prediction_weight=0.0),
        band("1", (KERNEL,), prediction_weight=1.0),
    ),
    setting(
        "difficulty",
        "`difficulty`",
        band("none, the paper's", (MODEL, AUTO), difficulty=None),
        band("trees", (KERNEL,), cost=1.5, difficulty=TREES),
        band(_BOOSTED_ALONE, (MODEL, AUTO), LARGE, difficulty=TREES),
        band(_BOOSTED_ALONE, ("auto, all rows",), LARGEST, difficulty=LARGER_TREES),
        band("extra trees that learn the root, too", (MODEL, AUTO), LARGE, difficulty=SAME_ROOTS),
        band("extra trees without boosted trees", (MODEL, AUTO), LARGE, difficulty=EXTRA_TREES),
        constants(
            "a guess that always counts half", {"search.GUESS_WEIGHTS": (0.5,)}, (MODEL, AUTO)
        ),
        constants("a guess that counts up to one", {"search.GUESS_WEIGHTS": (0.0, 0.5, 1.0)}),
        constants("neighbours, however many rows", {"plan._TREE_ROWS": MANY}, sets=LARGE),
        constants(
            "small and extra trees, however many rows",
            {"plan._LARGER_TREE_ROWS": MANY},
            ("all rows",),
            LARGEST,
        ),
        constants(
            "larger trees alone from 500 rows on", {"plan._LARGER_TREE_ROWS": 500}, sets=LARGE
        ),
        constants("trees from 100 rows on", {"plan._TREE_ROWS": 100}, sets=NEIGHBOURS),
        constants("7 neighbours", {"plan._NEIGHBOURS": 7}, sets=NEIGHBOURS),
        constants("30 neighbours", {"plan._NEIGHBOURS": 30}, sets=NEIGHBOURS),
    ),
    setting(
        "evenness",
        "a constant beside the scale",
        constants("none", {"search._EVENNESS_WEIGHTS": (0.0,)}, (MODEL, KERNEL, AUTO), TWO_SIDED),
        constants("none", {"search._EVENNESS_WEIGHTS": (0.0,)}, ("even noise",), LARGE),
        constants("always half", {"search._EVENNESS_WEIGHTS": (0.5,)}, (MODEL,), TWO_SIDED),
        constants("up to the whole", {"search._EVENNESS_WEIGHTS": (0.0, 0.5, 1.0)}, sets=TWO_SIDED),
        constants("from 100 rows on", {"plan._EVENED_ROWS": 100}, BOTH, NEIGHBOURS),
    ),
    setting(
        "limits",
        "`y_min`, `y_max`",
        [
            Variant("none", setup, {"y_min": None, "y_max": None}, sets=LARGEST)
            for setup in (MODEL, AUTO)
        ],
    ),
    setting(
        "caution",
        "`caution`",
        band("0, the paper's", BOTH, SEVERAL_INPUTS, caution=0.0),
        band("1, not tuned", BOTH, SEVERAL_INPUTS, caution=1.0),
        band("4, not tuned", BOTH, SEVERAL_INPUTS, caution=4.0),
        band("1 with one input", BOTH, ONE_INPUT, caution=1.0),
    ),
    setting(
        "shift_power",
        "`shift_power`",
        band("0, the paper's", shift_power=0.0),
        band("0.5", shift_power=0.5),
    ),
    setting(
        "calibration_size",
        "`calibration_size`",
        [Variant("0.5, the paper's", setup, {"calibration_size": 0.5}) for setup in OWN_SPLITS],
        [Variant("0.2", setup, {"calibration_size": 0.2}) for setup in OWN_SPLITS],
    ),
    setting(
        "spread",
        "`spread` of `KernelMean`",
        [Variant("none, the paper's", KERNEL, {"estimator": KernelMean(spread=None)})],
        [Variant("0.5", KERNEL, {"estimator": KernelMean(spread=0.5)})],
    ),
    setting(
        "band_rows",
        "`band_rows`",
        band("5000", ("all rows",), LARGEST, band_rows=5000),
        band("2500", ("all rows",), LARGEST, band_rows=2500),
    ),
    setting(
        "residual_power",
        "`residual_power`, `criterion`",
        band("2, the paper's", BOTH, residual_power=2),
        band("distance correlation", BOTH, criterion="distance_correlation"),
    ),
    setting("tol", "`tol`", band("1e-2", BOTH, tol=1e-2), band("1e-6", BOTH, tol=1e-6, cost=1.2)),
    setting(
        "tuning",
        "the tuning",
        constants("gap of folds 0.1", {"plan._FOLD_TOL": 1e-1}, BOTH),
        constants("gap of folds 0.001", {"plan._FOLD_TOL": 1e-3}, BOTH),
        constants("up to 160 features", {"plan._RANKS": (70, 160)}, BOTH, cost=1.3),
        constants("up to 40 features", {"plan._RANKS": (18, 40)}, BOTH),
        constants("up to 70 features in folds", {"plan._FOLD_RANKS": (50, 70)}, BOTH, cost=1.5),
        constants("2000 rows", {"plan._TUNING_ROWS": 2000}, sets=LARGE[2:], cost=1.3),
        constants("500 rows", {"plan._TUNING_ROWS": 500}, sets=LARGE),
        constants("lengthscales from 800 rows", {"plan._SHAPE_ROWS": 800}, BOTH, LARGE, cost=1.3),
        constants("8 sizes", {"plan._SIZES": 8}, BOTH, cost=1.4),
        constants("sizes up to 2", {"plan._LARGEST_SIZE": 2.0}, BOTH),
        constants("sizes up to 9", {"plan._LARGEST_SIZE": 9.0}, BOTH),
    ),
    setting(
        "encodings",
        "`band_transformer`",
        constants("no flags", {"quantities._FLAGGED": MANY}, ("missing cells",), LARGE),
        constants("tails as they are", {"quantities._HEAVY": 1e9}, (AUTO,), ("california",)),
        constants("no indicators", {"columns._FEW_LEVELS": (2, 2)}, ("texts",), ("bike_uci",)),
        constants(
            "indicators of up to 8 levels",
            {"columns._FEW_LEVELS": (8, 8), "columns._MOST_COLUMNS": (30, 30)},
            ("texts",),
            ("bike_uci",),
        ),
        constants(
            "indicators of every level",
            {"columns._FEW_LEVELS": (50, 50), "columns._MOST_COLUMNS": (100, 100)},
            ("texts",),
            ("bike_uci",),
        ),
    ),
)
SETTINGS = {declared.name: declared for declared in _DECLARED}
