"""The stored tables can be drawn and summarised, and the shared measurements mean what they say."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from experiments import store
from experiments.discovery import experiments
from experiments.methods import Fitted
from experiments.paper import adaptivity, criteria, published_variants
from experiments.store import Store
from sosbands import BandRegressor
from sosbands.types import Array

MOST_BYTES = 1_000_000


def stored_table(name: str) -> Store:
    """The results of an experiment, which the repository has."""
    stored = Store(name, experiments()[name].units(full=False))
    assert stored.table.exists(), f"python -m experiments {name}"
    return stored


@pytest.mark.parametrize("name", experiments())
def test_a_stored_table_is_complete_and_small(name: str) -> None:
    stored = stored_table(name)
    assert stored.missing() == []
    assert stored.table.stat().st_size < MOST_BYTES


@pytest.mark.parametrize("name", experiments())
def test_a_stored_table_can_be_drawn_and_summarised(name: str) -> None:
    experiment, results = experiments()[name], stored_table(name).load()
    drawing = experiment.figure(results)
    assert all(axes.get_xlabel() or axes.get_title() for axes in drawing.axes)
    assert len(experiment.summary(results)) > 0


@pytest.mark.parametrize("variant", published_variants.VARIANTS)
def test_a_variant_of_the_published_form_differs_in_what_it_says(variant: str) -> None:
    changes = published_variants.VARIANTS[variant]
    published = BandRegressor.as_published().get_params()
    found = BandRegressor.as_published(**changes).get_params()
    differing = {n for n in found if n not in ("band", "estimator") and found[n] != published[n]}
    assert differing == set(changes)


def test_tables_of_the_full_size_are_small() -> None:
    assert all(path.stat().st_size < MOST_BYTES for path in store.FOLDER.glob("full/*.csv"))


def test_intervals_of_a_criterion_hold_its_value() -> None:
    rng = np.random.default_rng(0)
    f = rng.uniform(1, 3, 100)
    found = criteria.criteria(f * rng.standard_normal(100) ** 2, f, 0, ("hsic", "mi"))
    for name in ("hsic", "mi"):
        assert found[f"{name}_low"] < found[name] < found[f"{name}_high"]


def test_a_figure_says_what_it_cuts_off() -> None:
    assert adaptivity.left_out(pd.Series([-30.0, -2.0, 0.5])) == "2 of 3 below −1,\nmedian −2.0"
    assert adaptivity.left_out(pd.Series([-0.9, 0.5])) == ""
    assert adaptivity.left_out(pd.Series([], dtype=float)) == "has no mean"


def test_scores_without_a_mean_are_those_of_quantile_regression() -> None:
    def intervals(X: Array) -> Array:
        return np.tile([[[-1.0], [1.0]]], (len(X), 1, 1))

    X, y = np.zeros((3, 1)), np.array([-3.0, 0.0, 2.0])
    fitted = Fitted(intervals)
    C = adaptivity.bounds(fitted, X)
    assert adaptivity.scores(fitted, X, y, C).tolist() == [2.0, -1.0, 1.0]
    assert np.isnan(adaptivity.sqi(fitted, X, y, C))
