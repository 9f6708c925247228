"""Small fitted models of every kind that can be saved, with what their predictions need."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import TransformedTargetRegressor, make_column_transformer
from sklearn.ensemble import (
    ExtraTreesRegressor,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
    StackingRegressor,
    VotingRegressor,
)
from sklearn.feature_selection import SelectKBest, f_regression
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import BayesianRidge, HuberRegressor, LassoCV, PoissonRegressor, Ridge
from sklearn.model_selection import GroupKFold
from sklearn.neighbors import KNeighborsRegressor
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import (
    FunctionTransformer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    StandardScaler,
)
from sklearn.tree import DecisionTreeRegressor

from sosbands import BandRegressor, KernelBand, KernelMean, Newton
from sosbands.learning.difficulty_trees import DifficultyTrees

N = 48
_rng = np.random.default_rng(0)
X = _rng.normal(size=(N, 2))
y = np.abs(X[:, 0]) + (0.2 + 0.3 * np.abs(X[:, 1])) * _rng.random(size=N)
FRAME = pd.DataFrame(X, columns=["a", "b"]).assign(
    kind=pd.Categorical(np.array(["p", "q", "r"])[np.arange(N) % 3])
)
MIXED = FRAME.assign(kind=FRAME["kind"].astype(object))
FAST = {
    "lengthscale": 1.0,
    "width_weight": 20.0,
    "symmetric": True,
    "max_rank": 6,
    "difficulty": None,
}
ENCODER = make_column_transformer(
    (OneHotEncoder(handle_unknown="ignore"), ["kind"]), remainder="passthrough"
)
_BOOSTING = {"max_iter": 2, "min_samples_leaf": 3, "max_leaf_nodes": 4, "random_state": 0}


def band(estimator: Any = None, **parameters: Any) -> BandRegressor:
    """A quick band; parameters that are not a `KernelBand`'s are the regressor's."""
    names = KernelBand().get_params()
    of_band = {name: parameters.pop(name) for name in list(parameters) if name in names}
    mean = KernelMean(lengthscale=1.0) if estimator is None else estimator
    fast = KernelBand(**{**FAST, **of_band})
    return BandRegressor(mean, band=fast, **{"cv": 2, "random_state": 0, **parameters})


def conformalized(**companions: Any) -> BandRegressor:
    return band(calibration=None).fit(X[:24], y[:24]).conformalize(X[24:], y[24:], **companions)


KERNEL_BANDS: dict[str, Callable[[], Any]] = {
    "split": lambda: band().fit(X, y),
    "two-sided": lambda: band(symmetric=False).fit(X, y),
    "cv+": lambda: band(calibration="cv+").fit(X, y),
    "localized": lambda: band(calibration="localized").fit(X, y),
    "joint": lambda: band(joint_mean=True, symmetric=False).fit(X, y),
    "groups": lambda: conformalized(groups=["u", "v"] * 12),
    "weights": lambda: conformalized(weights=np.linspace(1, 2, 24)),
    "clustered": lambda: band(cv=GroupKFold(2)).fit(X, y, groups=np.arange(N) % 12),
    "tuned": lambda: BandRegressor(None, band=KernelBand(max_rank=6), random_state=0).fit(X, y),
    "transformer": lambda: band(band_transformer=ENCODER).fit(MIXED, y),
    "difficulty": lambda: band(Ridge(), difficulty=KNeighborsRegressor(3)).fit(X, y),
    "a solver": lambda: band(solver=Newton(tol=1e-3), y_min=-9.0).fit(X, y),
}
ESTIMATORS: dict[str, Any] = {
    "ridge": Ridge(),
    "lasso": LassoCV(cv=2),
    "huber": HuberRegressor(),
    "bayes": BayesianRidge(),
    "poisson": PoissonRegressor(),
    "kernel": KernelRidge(kernel="rbf"),
    "network": MLPRegressor(hidden_layer_sizes=(3,), max_iter=5, random_state=0),
    "neighbours": KNeighborsRegressor(3),
    "few neighbours": KNeighborsRegressor(2, algorithm="brute", weights="distance"),
    "tree": DecisionTreeRegressor(max_depth=3, random_state=0),
    "forest": RandomForestRegressor(2, max_depth=3, random_state=0),
    "extra trees": ExtraTreesRegressor(2, max_depth=3, random_state=0),
    "boosting": GradientBoostingRegressor(n_estimators=2, max_depth=2, random_state=0),
    "boosting from zero": GradientBoostingRegressor(
        n_estimators=2, max_depth=2, init="zero", loss="huber", random_state=0
    ),
    "histogram boosting": HistGradientBoostingRegressor(**_BOOSTING),
    "quantile boosting": HistGradientBoostingRegressor(loss="quantile", quantile=0.5, **_BOOSTING),
    "polynomials": make_pipeline(StandardScaler(), PolynomialFeatures(2), Ridge()),
    "union": make_pipeline(make_union(StandardScaler(), PowerTransformer()), Ridge()),
    "selection": make_pipeline(SimpleImputer(), SelectKBest(f_regression, k=1), Ridge()),
    "target": TransformedTargetRegressor(Ridge(), func=np.log1p, inverse_func=np.expm1),
    "function": make_pipeline(FunctionTransformer(np.cbrt), Ridge()),
    "stack": StackingRegressor([("ridge", Ridge())], final_estimator=Ridge(), cv=2),
    "vote": VotingRegressor([("ridge", Ridge()), ("tree", DecisionTreeRegressor(max_depth=2))]),
    "difficulty": DifficultyTrees(Ridge(), DecisionTreeRegressor(max_depth=2)),
}


def models() -> Iterator[tuple[str, Any]]:
    """Every seed by name, fitted."""
    for name, made in KERNEL_BANDS.items():
        yield f"band, {name}", made()
    for name, estimator in ESTIMATORS.items():
        yield f"model, {name}", estimator.fit(X, y)
        yield f"around, {name}", band(estimator).fit(X, y)
    yield "model, categories", _categories().fit(FRAME, y)
    yield "around, categories", band(_categories()).fit(FRAME, y)
    yield (
        "model, numbered categories",
        HistGradientBoostingRegressor(categorical_features=[1], **_BOOSTING).fit(
            np.column_stack([X[:, 0], np.arange(N) % 3]), y
        ),
    )
    yield "model, encoder", make_pipeline(ENCODER, Ridge()).fit(MIXED, y)
    yield (
        "model, ordinal",
        make_pipeline(
            make_column_transformer((OrdinalEncoder(), ["kind"]), remainder=StandardScaler()),
            RandomForestRegressor(2, max_depth=2, random_state=0),
        ).fit(MIXED, y),
    )
    yield "model, binary encoder", _numbered().fit(np.column_stack([X[:, 0], np.arange(N) % 2]), y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield "around, frozen", band(FrozenEstimator(Ridge().fit(X, y))).fit(X, y)


def rows_of(name: str) -> tuple[Any, dict[str, Any]]:
    """Rows to predict, and what the intervals of a band want to know of them."""
    if "numbered" in name or "binary" in name:
        return np.column_stack([X[:9, 0], np.arange(9) % 3]), {}
    if "categories" in name:
        return FRAME.iloc[:9], {}
    if any(word in name for word in ("encoder", "ordinal", "transformer")):
        return MIXED.iloc[:9], {}
    companions = {"groups": ["u", "v", "w"] * 3, "weights": np.ones(9)}
    return 2 * X[:9], {key: values for key, values in companions.items() if name.endswith(key)}


def _categories() -> HistGradientBoostingRegressor:
    return HistGradientBoostingRegressor(categorical_features="from_dtype", **_BOOSTING)


def _numbered() -> Any:
    encoder = OneHotEncoder(drop="if_binary", sparse_output=False, handle_unknown="ignore")
    return make_pipeline(make_column_transformer((encoder, [1]), remainder="passthrough"), Ridge())
