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
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor, make_column_selector
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import (
    ExtraTreesRegressor,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
    StackingRegressor,
    VotingRegressor,
)
from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor
from sklearn.feature_selection import (
    SelectKBest,
    VarianceThreshold,
    f_regression,
    r_regression,
)
from sklearn.frozen import FrozenEstimator
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import (
    ARDRegression,
    BayesianRidge,
    ElasticNet,
    ElasticNetCV,
    GammaRegressor,
    HuberRegressor,
    Lasso,
    LassoCV,
    LinearRegression,
    PoissonRegressor,
    QuantileRegressor,
    Ridge,
    RidgeCV,
    TweedieRegressor,
)
from sklearn.model_selection import (
    GroupKFold,
    GroupShuffleSplit,
    KFold,
    LeaveOneGroupOut,
    LeaveOneOut,
    ShuffleSplit,
    TimeSeriesSplit,
)
from sklearn.neighbors import KNeighborsRegressor
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import LinearSVR
from sklearn.tree import DecisionTreeRegressor, ExtraTreeRegressor

from sosbands.conformal import SignedCalibration
from sosbands.conformal.registry import CALIBRATIONS
from sosbands.core.features import FeatureRows, Features
from sosbands.core.kernels import Gaussian, Linear, Matern
from sosbands.core.primal import Point
from sosbands.core.problem import BandProblem, Basis
from sosbands.core.solvers import SDP, Accelerated, Certificate, Newton, Solution
from sosbands.estimator import BandRegressor
from sosbands.learning.band import Band
from sosbands.learning.encoding import BandInputs, Extrapolation
from sosbands.learning.gaussian_process import GaussianProcess
from sosbands.learning.learned_band import LearnedBand
from sosbands.learning.means import Affine, EstimatorMean, KernelMean, VaryingInputs
from sosbands.learning.neighbours import NeighbourMean
from sosbands.learning.scale_inputs import Difficulty, GuessedScale, ScaleInputs
from sosbands.learning.search import Trial, Tuning
from sosbands.persistence import bands, boosting, rebuilt, trees
from sosbands.persistence.kinds import Kind, plain

# They compute with Python and NumPy alone, or ask other estimators.
_PLAIN = (
    ARDRegression,
    BandRegressor,
    BayesianRidge,
    ColumnTransformer,
    ElasticNet,
    ElasticNetCV,
    FeatureUnion,
    FrozenEstimator,
    FunctionTransformer,
    GroupKFold,
    GroupShuffleSplit,
    HuberRegressor,
    KFold,
    Lasso,
    LassoCV,
    LeaveOneGroupOut,
    LeaveOneOut,
    LinearRegression,
    LinearSVR,
    MLPRegressor,
    MaxAbsScaler,
    MinMaxScaler,
    MissingIndicator,
    OrdinalEncoder,
    PCA,
    Pipeline,
    PowerTransformer,
    QuantileRegressor,
    Ridge,
    RidgeCV,
    RobustScaler,
    SelectKBest,
    ShuffleSplit,
    SimpleImputer,
    StackingRegressor,
    StandardScaler,
    TimeSeriesSplit,
    TransformedTargetRegressor,
    TruncatedSVD,
    VarianceThreshold,
    VotingRegressor,
    make_column_selector,
)

# Parts of ours that check themselves when they are made, or have nothing to check.
_PARTS = (
    *CALIBRATIONS,
    SDP,
    Accelerated,
    Band,
    BandInputs,
    Basis,
    Certificate,
    EstimatorMean,
    Gaussian,
    GuessedScale,
    KernelMean,
    LearnedBand,
    Linear,
    Matern,
    Newton,
    ScaleInputs,
    SignedCalibration,
    Trial,
    Tuning,
)

_NOTHING: frozenset[str] = frozenset()

_CHECKED = (
    Kind(Affine, bands.affine, _NOTHING),
    Kind(Difficulty, bands.difficulty, _NOTHING),
    Kind(NeighbourMean, bands.neighbour_mean, frozenset({"rows_", "means_"})),
    Kind(VaryingInputs, bands.varying_inputs, _NOTHING),
    Kind(BandProblem, bands.problem, _NOTHING, frozenset(bands.ROWS_OF_PROBLEM)),
    Kind(Extrapolation, bands.extrapolation, _NOTHING),
    Kind(FeatureRows, bands.feature_rows, _NOTHING, frozenset({"rows", "squared_norms"})),
    Kind(Features, bands.features, _NOTHING),
    Kind(GaussianProcess, bands.gaussian_process, _NOTHING, frozenset({"leave_one_out"})),
    Kind(Point, bands.point, _NOTHING),
    Kind(Solution, bands.solution, _NOTHING, frozenset({"multipliers"})),
    Kind(DecisionTreeRegressor, trees.decision_tree, trees.TREE_FITTED),
    Kind(DummyRegressor, trees.constant),
    Kind(ExtraTreeRegressor, trees.decision_tree, trees.TREE_FITTED),
    Kind(ExtraTreesRegressor, trees.forest, trees.FOREST_FITTED),
    Kind(GradientBoostingRegressor, trees.gradient_boosting, trees.BOOSTING_FITTED),
    Kind(RandomForestRegressor, trees.forest, trees.FOREST_FITTED),
    Kind(HistGradientBoostingRegressor, boosting.hist_gradient_boosting, boosting.FITTED),
    Kind(TreePredictor, boosting.predictor, _NOTHING),
    Kind(GammaRegressor, rebuilt.generalized_linear),
    Kind(KNeighborsRegressor, rebuilt.neighbours, rebuilt.NEIGHBOURS_FITTED),
    Kind(KernelRidge, rebuilt.kernel_ridge),
    Kind(OneHotEncoder, rebuilt.one_hot, rebuilt.ENCODER_FITTED),
    Kind(PoissonRegressor, rebuilt.generalized_linear),
    Kind(PolynomialFeatures, rebuilt.polynomial, rebuilt.POLYNOMIAL_FITTED),
    Kind(TweedieRegressor, rebuilt.generalized_linear),
)

KINDS: Mapping[str, Kind] = {
    kind.name: kind
    for kind in (
        *(Kind(one, plain) for one in _PLAIN),
        *(Kind(one, bands.part, _NOTHING) for one in _PARTS),
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
        for function in (f_regression, r_regression)
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
