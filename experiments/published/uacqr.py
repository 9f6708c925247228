"""UACQR (Rossellini, Barber and Willett, AISTATS 2024), table 1: interval scores at 0.9."""

from __future__ import annotations

from functools import partial
from itertools import islice

import numpy as np
import pandas as pd
from sklearn.model_selection import ShuffleSplit, train_test_split

from experiments.methods import Array
from experiments.published.comparison import Comparison, PublishedSet, Rows

SPLITS, SEED = 20, 42


def split(n: int, k: int, fraction: float = 1.0) -> tuple[Rows, Rows, Rows]:
    """Of a share of the rows two fifths train, two fifths calibrate and a fifth tests."""
    splits = ShuffleSplit(
        SPLITS, train_size=0.8 * fraction, test_size=0.2 * fraction, random_state=SEED
    )
    both, test = next(islice(splits.split(np.empty((n, 1))), k, None))
    train, cal = train_test_split(both, test_size=0.5, random_state=SEED)
    return train, cal, test


def unit(y: Array) -> float:
    """The mean absolute output."""
    return float(np.abs(y).mean())


def with_calendar(table: pd.DataFrame) -> pd.DataFrame:
    """Bike: hour, weekday, month and year in place of the time; season and weather are categories.

    The time itself would say more than the published methods knew: what the neighbouring hours of
    the same day were. Casual and registered riders add up to the output.
    """
    time = pd.to_datetime(table["datetime"]).dt
    calendar = {"hour": time.hour, "weekday": time.dayofweek, "month": time.month}
    categories = {name: table[name].astype("category") for name in ("season", "weather")}
    dropped = table.drop(columns=["datetime", "casual", "registered"])
    return dropped.assign(**calendar, year=time.year, **categories)


def without_sale(table: pd.DataFrame) -> pd.DataFrame:
    """Homes: neither the identifier nor the date of the sale."""
    return table.drop(columns=["id", "date"])


COMPARISON = Comparison(
    name="uacqr",
    title="UACQR, table 1",
    source="Rossellini, Barber and Willett, *Integrating uncertainty awareness into conformalized "
    "quantile regression*, AISTATS 2024, and the code beside it: quantile forests, y in units of "
    "the mean |y| of the training rows. Of star its inputs hold the identifier of the row and lack "
    "`lunchk`; ours do not hold the one and hold the other.",
    level=0.9,
    splits=SPLITS,
    unit=unit,
    sets={
        "bike": PublishedSet(
            *(1.4355, "UACQR-P", "bike_kaggle.csv", 10_886, split),
            raw=True,
            target="count",
            prepare=with_calendar,
        ),
        "bio": PublishedSet(1.8818, "UACQR-P", "bio.csv", 45_730, partial(split, fraction=1 / 4)),
        "community": PublishedSet(2.1031, "UACQR-P", "community.csv", 1994, split),
        "concrete": PublishedSet(0.8338, "UACQR-P", "concrete.csv", 1030, split),
        "homes": PublishedSet(
            *(0.8784, "UACQR-P", "homes.csv", 21_613, partial(split, fraction=1 / 2)),
            raw=True,
            target="price",
            prepare=without_sale,
        ),
        "star": PublishedSet(0.2127, "CQR", "star.csv", 2161, split),
    },
)
