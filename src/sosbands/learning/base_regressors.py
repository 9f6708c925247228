"""The regressors that the default mean averages, and the numbers of rows that each is for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sosbands.learning.kernel_mean import KernelMean

# The largest number that extra trees take: they see 32 bits.
LARGEST = float(np.finfo(np.float32).max)
# A single row makes no leaf: few rows cannot tell yet whether trees that follow each of them follow
# noise (mcycle .967 of the better single mean, 1.03 with one), and model files hold no outputs.
_LEAF_ROWS = 2
# With so many rows boosting takes more trees in smaller steps, each split of which sees some of the
# columns. Beside 300 trees of 15 leaves in steps of .1, root mean square errors of the average fall
# by 3 to 4 % ± 1 on concrete (seeds 0–5) with .3 and .5 of the columns, and rise by 2 and 0 % on
# airfoil (seeds 0–2); .4 is between. On california (seed 0) they fall by 2 %, which is due to the
# missing early stop alone. With fewer rows than 500 more trees err more, by 2 % on lidar.
_MANY_ROWS = 500
_MORE_TREES = {
    **{"max_iter": 600, "learning_rate": 0.05, "max_features": 0.4, "l2_regularization": 1.0},
    **{"min_samples_leaf": 10, "early_stopping": False},
}
# The least and the most leaves, and rows for each. On california 15 to 31 are best with 3000 rows,
# 31 with 6000 and 63 with 12 000 (4 % below 15; 7 % on 10 400 rows of bike_uci): one split each.
_LEAVES, _ROWS_PER_LEAF = (15, 63), 200


@dataclass(frozen=True)
class Base:
    """One of the regressors, and what it is for.

    Attributes
    ----------
    make : callable
        (rows, seed, which codes are mere names) ↦ the regressor.
    sees : {"codes", "numbers", "ranks"}
        `TableEncoder.codes`, NaN among them, finite numbers, or their ranks.
    least_rows, most_rows : float
        It is left out if there are fewer, who cannot tell what it is worth, or more: it would take
        longer than all others together.
    least_around : float
        From so many rows on it goes around the average of the kernel means: it sees that too, and
        predicts what it leaves of the outputs.
    """

    make: Callable[[int, int, Any], Any]
    sees: str
    least_rows: float = 0
    most_rows: float = np.inf
    least_around: float = np.inf


def _kernel(n: int, seed: int, names: Any) -> Any:
    return KernelMean(random_state=seed)


def _rough_kernel(n: int, seed: int, names: Any) -> Any:
    return KernelMean(kernel="matern32", random_state=seed)


def _boosting(n: int, seed: int, names: Any) -> Any:
    from sklearn.ensemble import HistGradientBoostingRegressor

    least, most = _LEAVES
    leaves = {"max_leaf_nodes": min(max(n // _ROWS_PER_LEAF, least), most)}
    trees: dict[str, Any] = _MORE_TREES | leaves if n >= _MANY_ROWS else {}
    return HistGradientBoostingRegressor(categorical_features=names, random_state=seed, **trees)


def _extra_trees(n: int, seed: int, names: Any) -> Any:
    from sklearn.ensemble import ExtraTreesRegressor

    return ExtraTreesRegressor(100, min_samples_leaf=_LEAF_ROWS, random_state=seed)


def _ridge(n: int, seed: int, names: Any) -> Any:
    from sklearn.linear_model import RidgeCV

    return RidgeCV(np.logspace(-3, 3, 7))


# Ranks: root mean square errors of the average fall by 17 % ± 2 (airfoil, seeds 0–2), 2 %
# (concrete, seeds 0–3) and .4 % (california, seed 0). With fewer rows than 500 intervals at .9
# scored worse: yacht by 13 % ± 9, mcycle by 5 % ± 4, seeds 0–7. Functions of ranks are rough: with
# Matérn's kernel instead of the Gaussian one, 50 and 90 % intervals score .992 and .983 (concrete,
# seeds 0–7), .918 and .940 (airfoil, seeds 0–3). A Gaussian one beside it changes no error by more
# than 1 %, and takes a fifth of the time.
# Extra trees by themselves have hardly any weight on these sets. Around the kernel means, which
# know what they predict without a row, they have .24 to .68, for about the same time, and root mean
# square errors of the average fall by 1.4 % ± .5 (concrete), 3.5 % ± .7 (airfoil), .9 % ± .3 and
# .8 % ± .5 (1500 rows of california and bike_uci; all seeds 0–3), and by .9 % ± .2 and 4.3 % ± .9
# (5700 rows; seeds 0 and 1). With fewer rows than 500 nothing is gained: yacht 1.7 % ± 1.9 worse,
# seeds 0–5.
# Kernel means come first, as others go around them.
BASES = {
    "kernel mean": Base(_kernel, sees="numbers", most_rows=50_000),
    "kernel mean of ranks": Base(
        _rough_kernel, sees="ranks", least_rows=_MANY_ROWS, most_rows=20_000
    ),
    "boosted trees": Base(_boosting, sees="codes"),
    "extra trees": Base(_extra_trees, sees="codes", most_rows=20_000, least_around=_MANY_ROWS),
    "ridge": Base(_ridge, sees="numbers"),
}
