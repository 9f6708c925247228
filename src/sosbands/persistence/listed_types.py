"""The list of types that a model file may hold.

A type is on the list if objects of it do no harm whatever a file says of them: either they compute
with Python and NumPy alone, which check what they are given, or a function of this package checks
their arrays and builds the rest anew. The other types of scikit-learn are not on the list; whoever
knows where a file comes from can add them by `trusted`.

Functions are on the list by name if they compute with one array. Nothing on it opens files, starts
processes, imports modules or evaluates text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn import (
    compose,
    decomposition,
    dummy,
    ensemble,
    feature_selection,
    frozen,
    impute,
    kernel_ridge,
    linear_model,
    model_selection,
    neighbors,
    neural_network,
    pipeline,
    preprocessing,
    svm,
    tree,
)
from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor

from sosbands.conformal import SignedCalibration
from sosbands.conformal.registry import CALIBRATIONS
from sosbands.core.expansions import BandFunctions, KernelExpansion
from sosbands.core.features import Features
from sosbands.core.kernels import Gaussian, Linear, Matern
from sosbands.core.solvers import SDP, Accelerated, Certificate, Newton
from sosbands.estimator import BandRegressor
from sosbands.learning.difficulty import Difficulty, SecondOpinion
from sosbands.learning.encoding import BandInputs
from sosbands.learning.extrapolation import Extrapolation
from sosbands.learning.fitted_band import FittedBand
from sosbands.learning.gaussian_process import GaussianProcess
from sosbands.learning.kernel_band import KernelBand
from sosbands.learning.kernel_mean import KernelMean
from sosbands.learning.means import Mean
from sosbands.learning.neighbours import NeighbourMean
from sosbands.learning.scale_inputs import ScaleInputs
from sosbands.learning.search import Trial, Tuning
from sosbands.learning.standardize import Affine, VaryingInputs
from sosbands.persistence import band_parts, boosting, rebuilt, trees
from sosbands.persistence.kinds import COLUMNS, Kind, plain

# They compute with Python and NumPy alone, or ask other estimators. By module, so that the whole
# list can be seen at once.
_PLAIN = {
    compose: "ColumnTransformer TransformedTargetRegressor make_column_selector",
    decomposition: "PCA TruncatedSVD",
    ensemble: "StackingRegressor VotingRegressor",
    feature_selection: "SelectKBest VarianceThreshold",
    frozen: "FrozenEstimator",
    impute: "MissingIndicator SimpleImputer",
    linear_model: (
        "ARDRegression BayesianRidge ElasticNet ElasticNetCV HuberRegressor Lasso LassoCV "
        "LinearRegression QuantileRegressor Ridge RidgeCV"
    ),
    model_selection: (
        "GroupKFold GroupShuffleSplit KFold LeaveOneGroupOut LeaveOneOut ShuffleSplit "
        "TimeSeriesSplit"
    ),
    neural_network: "MLPRegressor",
    pipeline: "FeatureUnion Pipeline",
    preprocessing: (
        "FunctionTransformer MaxAbsScaler MinMaxScaler OrdinalEncoder PowerTransformer "
        "RobustScaler StandardScaler"
    ),
    svm: "LinearSVR",
}

# Parts of ours that check themselves when they are made, or have nothing to check.
_PARTS = (
    *CALIBRATIONS,
    SDP,
    Accelerated,
    BandFunctions,
    BandInputs,
    FittedBand,
    Gaussian,
    Linear,
    Matern,
    Mean,
    Newton,
    ScaleInputs,
    SecondOpinion,
    SignedCalibration,
    Trial,
    Tuning,
)

_NOTHING: frozenset[str] = frozenset()

_CHECKED = (
    Kind(Affine, band_parts.affine, _NOTHING),
    Kind(Difficulty, band_parts.difficulty, _NOTHING),
    Kind(NeighbourMean, band_parts.neighbour_mean, frozenset({"rows_", "means_"})),
    Kind(VaryingInputs, band_parts.varying_inputs, _NOTHING),
    Kind(Certificate, band_parts.certificate, _NOTHING),
    Kind(Extrapolation, band_parts.extrapolation, _NOTHING),
    Kind(Features, band_parts.features, _NOTHING),
    Kind(GaussianProcess, band_parts.gaussian_process, _NOTHING, frozenset({"leave_one_out"})),
    Kind(KernelExpansion, band_parts.expansion, _NOTHING),
    Kind(tree.DecisionTreeRegressor, trees.decision_tree, trees.TREE_FITTED),
    Kind(dummy.DummyRegressor, trees.constant),
    Kind(tree.ExtraTreeRegressor, trees.decision_tree, trees.TREE_FITTED),
    Kind(ensemble.ExtraTreesRegressor, trees.forest, trees.FOREST_FITTED),
    Kind(ensemble.GradientBoostingRegressor, trees.gradient_boosting, trees.BOOSTING_FITTED),
    Kind(ensemble.RandomForestRegressor, trees.forest, trees.FOREST_FITTED),
    Kind(ensemble.HistGradientBoostingRegressor, boosting.hist_gradient_boosting, boosting.FITTED),
    Kind(TreePredictor, boosting.predictor, _NOTHING),
    Kind(linear_model.GammaRegressor, rebuilt.generalized_linear),
    Kind(neighbors.KNeighborsRegressor, rebuilt.neighbours, rebuilt.NEIGHBOURS_FITTED),
    Kind(kernel_ridge.KernelRidge, rebuilt.kernel_ridge),
    Kind(preprocessing.OneHotEncoder, rebuilt.one_hot, rebuilt.ENCODER_FITTED),
    Kind(linear_model.PoissonRegressor, rebuilt.generalized_linear),
    Kind(preprocessing.PolynomialFeatures, rebuilt.polynomial, COLUMNS),
    Kind(linear_model.TweedieRegressor, rebuilt.generalized_linear),
)

KINDS: Mapping[str, Kind] = {
    kind.name: kind
    for kind in (
        *(Kind(one, plain) for one in (BandRegressor, KernelBand, KernelMean)),
        *(Kind(getattr(m, name), plain) for m, names in _PLAIN.items() for name in names.split()),
        *(Kind(one, band_parts.part, _NOTHING) for one in _PARTS),
        *_CHECKED,
    )
}
TREE = "sklearn.tree._tree.Tree"

_UFUNCS = (
    *("abs", "arcsinh", "arctan", "cbrt", "exp", "exp2", "expm1", "log", "log10", "log1p", "log2"),
    *("negative", "reciprocal", "sign", "sin", "cos", "sinh", "sqrt", "square", "tan", "tanh"),
)
FUNCTIONS: Mapping[str, Any] = {
    **{f"numpy.{getattr(np, name).__name__}": getattr(np, name) for name in _UFUNCS},
    **{
        f"{function.__module__}.{function.__name__}": function
        for function in (feature_selection.f_regression, feature_selection.r_regression)
    },
}

# Kinds of numbers and texts, which stand for themselves and name the type of an array.
SCALARS: Mapping[str, Any] = {
    **{f"builtins.{kind.__name__}": kind for kind in (bool, float, int, object, str)},
    **{
        f"numpy.{kind.__name__}": kind
        for kind in np.sctypeDict.values()
        if np.dtype(kind).kind in "biufUO" and np.dtype(kind).itemsize <= 8
    },
}


def kind_of(item: Any) -> Kind | None:
    """How an object is stored; None for objects that are not on the list."""
    known = KINDS.get(f"{type(item).__module__}.{type(item).__name__}")
    return known if known is not None and known.type is type(item) else None
