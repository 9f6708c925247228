"""CLEAR (Azizi and others, 2025): interval scores at 0.95, in the units of y."""

from __future__ import annotations

import numpy as np
from sklearn.model_selection import train_test_split

from experiments.methods import Array
from experiments.published.comparison import Comparison, PublishedSet, Rows

SPLITS, FIRST_SEED = 10, 777


def split(n: int, k: int) -> tuple[Rows, Rows, Rows]:
    """Three fifths train, a fifth calibrates and a fifth tests."""
    seed = FIRST_SEED + k
    both, test = train_test_split(np.arange(n), test_size=0.2, random_state=seed)
    train, cal = train_test_split(both, test_size=0.25, random_state=seed)
    return train, cal, test


def unit(y: Array) -> float:
    """Scores are in the units of y."""
    return 1.0


COMPARISON = Comparison(
    name="clear",
    title="CLEAR",
    source="Azizi and others, *CLEAR: calibrated learning for epistemic and aleatoric risk*, 2025: "
    "the smallest mean over ten seeds of all methods in the result files beside its code.",
    level=0.95,
    splits=SPLITS,
    unit=unit,
    sets={
        "airfoil": PublishedSet(8.567, "clear", "airfoil.csv", 1503, split),
        "california": PublishedSet(
            *(218_124.0, "clear_vanilla", "clear_california.csv", 20_640, split), raw=True
        ),
        "concrete": PublishedSet(26.12, "clear_vanilla_c", "concrete.csv", 1030, split),
        "kin8nm": PublishedSet(0.5342, "clear", "kin8nm.csv", 8192, split),
        "power": PublishedSet(16.20, "clear_c", "clear_power.csv", 9568, split, raw=True),
    },
)
