"""The list of types that a model file may hold.

A type is on the list if objects of it do no harm whatever a file says of them: either they compute
with Python and NumPy alone, which check what they are given, or a function of this package checks
their arrays and builds the rest anew. The other types of scikit-learn are not on the list; whoever
knows where a file comes from can add them by `trusted`.

Functions are on the list by name if they compute with one array. Nothing on it opens files, starts
processes, imports modules or evaluates text.
"""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np
from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor
from sklearn.feature_selection import f_regression, r_regression

from sosbands.conformal import SignedCalibration, SignedPlusCalibration
from sosbands.conformal.registry import CALIBRATIONS
from sosbands.core.expansions import BandFunctions, KernelExpansion
from sosbands.core.features import Features
from sosbands.core.kernels import Gaussian, Linear, Matern
from sosbands.core.solvers import SDP, Accelerated, Certificate, Newton
from sosbands.estimator import BandRegressor
from sosbands.learning.blend import Blend
from sosbands.learning.columns import LeftOut
from sosbands.learning.difficulty import Difficulty, SecondOpinion
from sosbands.learning.difficulty_trees import DifficultyTrees
from sosbands.learning.encoding import BandInputs, TableEncoder
from sosbands.learning.evenness import Evenness
from sosbands.learning.extrapolation import Extrapolation
from sosbands.learning.fitted_band import FittedBand
from sosbands.learning.gaussian_process import GaussianProcess
from sosbands.learning.input_ranks import InputRanks
from sosbands.learning.kernel_band import KernelBand
from sosbands.learning.kernel_mean import KernelMean
from sosbands.learning.levels import LevelEncoding, LevelMeans
from sosbands.learning.means import Mean
from sosbands.learning.neighbours import NeighbourMean
from sosbands.learning.output_limits import OutputLimits
from sosbands.learning.quantities import DateEncoding, NumberEncoding
from sosbands.learning.scale_inputs import LevelSizes, ScaleInputs
from sosbands.learning.search import Trial, Tuning
from sosbands.learning.stacking import StackedMean
from sosbands.learning.standardize import Affine, VaryingInputs
from sosbands.persistence import band_parts, boosters, kinds, table_parts, trees
from sosbands.persistence.kinds import COLUMNS, Kind, Maker, plain

# They compute with Python and NumPy alone, or ask other estimators. By module, so that the whole
# list can be seen at once.
_PLAIN = {
    "compose": "ColumnTransformer TransformedTargetRegressor make_column_selector",
    "decomposition": "PCA TruncatedSVD",
    "ensemble": "StackingRegressor VotingRegressor",
    "feature_selection": "SelectKBest VarianceThreshold",
    "frozen": "FrozenEstimator",
    "impute": "MissingIndicator SimpleImputer",
    "linear_model": (
        "ARDRegression BayesianRidge ElasticNet ElasticNetCV HuberRegressor Lasso LassoCV "
        "LinearRegression QuantileRegressor Ridge RidgeCV"
    ),
    "model_selection": (
        "GroupKFold GroupShuffleSplit KFold LeaveOneGroupOut LeaveOneOut ShuffleSplit "
        "TimeSeriesSplit"
    ),
    "neural_network": "MLPRegressor",
    "pipeline": "FeatureUnion Pipeline",
    "preprocessing": (
        "FunctionTransformer MaxAbsScaler MinMaxScaler OrdinalEncoder PowerTransformer "
        "RobustScaler StandardScaler"
    ),
    "svm": "LinearSVR",
}

_ESTIMATORS = (BandRegressor, DifficultyTrees, KernelBand, KernelMean, StackedMean)

# Parts of ours that check themselves when they are made, or have nothing to check.
_PARTS = (
    *CALIBRATIONS,
    *(SignedCalibration, SignedPlusCalibration),
    *(BandInputs, Evenness, Mean, ScaleInputs, SecondOpinion, LeftOut, LevelSizes),
    *(Gaussian, Linear, Matern),
    *(SDP, Accelerated, Newton),
    *(Trial, Tuning),
)

_NOTHING: frozenset[str] = frozenset()

_CHECKED = (
    Kind(Affine, band_parts.affine, _NOTHING),
    Kind(Blend, band_parts.blend, _NOTHING),
    Kind(DateEncoding, table_parts.date_encoding, _NOTHING),
    Kind(Difficulty, band_parts.difficulty, _NOTHING),
    Kind(InputRanks, band_parts.input_ranks, _NOTHING),
    Kind(LevelEncoding, table_parts.level_encoding, _NOTHING),
    Kind(LevelMeans, table_parts.level_means, _NOTHING),
    Kind(NeighbourMean, band_parts.neighbour_mean, frozenset({"rows_", "means_"})),
    Kind(NumberEncoding, table_parts.number_encoding, _NOTHING),
    Kind(TableEncoder, table_parts.table_encoder, COLUMNS | {"columns_", "notices_"}),
    Kind(VaryingInputs, band_parts.varying_inputs, _NOTHING),
    Kind(Certificate, band_parts.certificate, _NOTHING),
    Kind(Extrapolation, band_parts.extrapolation, _NOTHING),
    Kind(BandFunctions, band_parts.band_functions, _NOTHING),
    Kind(FittedBand, band_parts.fitted_band, _NOTHING),
    Kind(OutputLimits, band_parts.output_limits, _NOTHING),
    Kind(Features, band_parts.features, _NOTHING),
    Kind(GaussianProcess, band_parts.gaussian_process, _NOTHING, frozenset({"leave_one_out"})),
    Kind(KernelExpansion, band_parts.expansion, _NOTHING),
    Kind(TreePredictor, trees.boosted_tree, _NOTHING),
)

# The same for estimators of scikit-learn: how each is made, and what its file holds of a fit.
_FITTED: Mapping[str, tuple[Maker, frozenset[str] | None]] = {
    "dummy.DummyRegressor": (trees.constant, None),
    "ensemble.ExtraTreesRegressor": (trees.forest, trees.FOREST_FITTED),
    "ensemble.GradientBoostingRegressor": (trees.gradient_boosting, trees.BOOSTING_FITTED),
    "ensemble.HistGradientBoostingRegressor": (trees.hist_boosting, trees.HIST_BOOSTING_FITTED),
    "ensemble.RandomForestRegressor": (trees.forest, trees.FOREST_FITTED),
    "kernel_ridge.KernelRidge": (kinds.kernel_ridge, None),
    "linear_model.GammaRegressor": (kinds.generalized_linear, None),
    "linear_model.PoissonRegressor": (kinds.generalized_linear, None),
    "linear_model.TweedieRegressor": (kinds.generalized_linear, None),
    "neighbors.KNeighborsRegressor": (kinds.neighbours, kinds.NEIGHBOURS_FITTED),
    "preprocessing.OneHotEncoder": (kinds.one_hot, kinds.ENCODER_FITTED),
    "preprocessing.PolynomialFeatures": (kinds.polynomial, COLUMNS),
    "tree.DecisionTreeRegressor": (trees.decision_tree, trees.TREE_FITTED),
    "tree.ExtraTreeRegressor": (trees.decision_tree, trees.TREE_FITTED),
}


def _of_sklearn(module: str, name: str) -> Any:
    return getattr(import_module(f"sklearn.{module}"), name)


KINDS: Mapping[str, Kind] = {
    kind.name: kind
    for kind in (
        *(Kind(one, plain) for one in _ESTIMATORS),
        *(
            Kind(_of_sklearn(module, name), plain)
            for module, names in _PLAIN.items()
            for name in names.split()
        ),
        *(Kind(_of_sklearn(*name.split(".")), *how) for name, how in _FITTED.items()),
        *(Kind(one, band_parts.part, _NOTHING) for one in _PARTS),
        *(Kind(one, boosters.booster, _NOTHING, parser=one.package) for one in boosters.STAND_INS),
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
    **{f"{one.__module__}.{one.__name__}": one for one in (f_regression, r_regression)},
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
