"""The types that a model file may name, by the way in which skops makes them.

Every entry is data: estimators, whose attributes are set without a call of ``__init__``, the parts
they are made of, numbers and containers. Functions are on the list only if they compute with
arrays. Nothing on it opens files, starts processes, imports modules or evaluates text, and whole
modules are never allowed: ``sklearn`` alone offers loaders of pickles and of URLs.
"""

from __future__ import annotations

import sys
from functools import lru_cache

import numpy as np

# What skops calls the ways in which it makes objects.
_OBJECT, _CALL, _FUNCTION, _TYPE = (
    "ObjectNode",
    "ConstructorFromReduceNode",
    "FunctionNode",
    "TypeNode",
)

_SOSBANDS = {
    "sosbands.band": ["Band"],
    "sosbands.calibrator": ["Calibrator"],
    "sosbands.conformal.calibration": [
        "ClusteredCalibration",
        "GroupCalibration",
        "SignedCalibration",
        "SplitCalibration",
        "WeightedCalibration",
    ],
    "sosbands.conformal.localized": ["LocalizedCalibration"],
    "sosbands.conformal.plus": ["PlusCalibration"],
    "sosbands.estimator": ["BandRegressor"],
    "sosbands.features": ["FeatureRows", "Features"],
    "sosbands.gaussian_process": ["GaussianProcess"],
    "sosbands.inputs": ["BandInputs", "Extrapolation"],
    "sosbands.kernels": ["Gaussian", "Linear", "Matern"],
    "sosbands.learned_band": ["LearnedBand"],
    "sosbands.means": ["Affine", "EstimatorMean", "KernelMean"],
    "sosbands.neighbours": ["NeighbourMean"],
    "sosbands.primal": ["Point"],
    "sosbands.problem": ["BandProblem", "Basis"],
    "sosbands.scale_inputs": ["Difficulty", "GuessedScale", "ScaleInputs"],
    "sosbands.solvers.accelerated": ["Accelerated"],
    "sosbands.solvers.base": ["Certificate", "Solution"],
    "sosbands.solvers.newton": ["Newton"],
    "sosbands.solvers.sdp": ["SDP"],
    "sosbands.tuning": ["Trial", "Tuning"],
}

# What fitted estimators of scikit-learn are made of, beside estimators.
_SKLEARN_PARTS = {
    "sklearn._loss.link": [
        "HalfLogitLink",
        "IdentityLink",
        "Interval",
        "LogLink",
        "LogitLink",
        "MultinomialLogit",
    ],
    "sklearn._loss.loss": [
        "AbsoluteError",
        "ExponentialLoss",
        "HalfBinomialLoss",
        "HalfGammaLoss",
        "HalfMultinomialLoss",
        "HalfPoissonLoss",
        "HalfSquaredError",
        "HalfTweedieLoss",
        "HalfTweedieLossIdentity",
        "HuberLoss",
        "PinballLoss",
    ],
    "sklearn.calibration": ["_CalibratedClassifier", "_SigmoidCalibration"],
    "sklearn.cluster._bisect_k_means": ["_BisectingTree"],
    "sklearn.compose._column_transformer": ["make_column_selector"],
    "sklearn.ensemble._hist_gradient_boosting.binning": ["_BinMapper"],
    "sklearn.ensemble._hist_gradient_boosting.predictor": ["TreePredictor"],
    "sklearn.gaussian_process._gpc": ["_BinaryGaussianProcessClassifierLaplace"],
    "sklearn.gaussian_process.kernels": [
        "CompoundKernel",
        "ConstantKernel",
        "DotProduct",
        "ExpSineSquared",
        "Exponentiation",
        "Matern",
        "PairwiseKernel",
        "Product",
        "RBF",
        "RationalQuadratic",
        "Sum",
        "WhiteKernel",
    ],
    "sklearn.metrics._dist_metrics": [
        f"{name}Distance{bits}"
        for name in ("Chebyshev", "Euclidean", "Manhattan", "Minkowski", "SEuclidean")
        for bits in (32, 64)
    ],
    "sklearn.metrics._scorer": ["_CurveScorer", "_PassthroughScorer", "_Scorer"],
    "sklearn.model_selection._split": [
        "GroupKFold",
        "GroupShuffleSplit",
        "KFold",
        "LeaveOneGroupOut",
        "LeaveOneOut",
        "LeavePGroupsOut",
        "LeavePOut",
        "PredefinedSplit",
        "RepeatedKFold",
        "RepeatedStratifiedKFold",
        "ShuffleSplit",
        "StratifiedGroupKFold",
        "StratifiedKFold",
        "StratifiedShuffleSplit",
        "TimeSeriesSplit",
        "_CVIterableWrapper",
    ],
    "sklearn.multiclass": ["_ConstantPredictor"],
    "sklearn.neighbors._ball_tree": ["BallTree"],
    "sklearn.neighbors._kd_tree": ["KDTree"],
    "sklearn.neural_network._stochastic_optimizers": ["AdamOptimizer", "SGDOptimizer"],
    "sklearn.utils._metadata_requests": ["MetadataRequest", "MethodMetadataRequest"],
    "scipy.interpolate._bsplines": ["BSpline"],
}

_FUNCTIONS = {
    "numpy": ["amax", "amin", "max", "mean", "median", "min"],
    "scipy._lib.array_api_compat.numpy._aliases": ["asarray"],
    "sklearn.cluster._kmeans": ["_kmeans_single_elkan", "_kmeans_single_lloyd"],
    "sklearn.feature_selection._mutual_info": ["mutual_info_classif", "mutual_info_regression"],
    "sklearn.feature_selection._univariate_selection": [
        "chi2",
        "f_classif",
        "f_regression",
        "r_regression",
    ],
    "sklearn.metrics._classification": ["accuracy_score", "balanced_accuracy_score"],
    "sklearn.metrics._regression": [
        "d2_absolute_error_score",
        "explained_variance_score",
        "max_error",
        "mean_absolute_error",
        "mean_absolute_percentage_error",
        "mean_gamma_deviance",
        "mean_pinball_loss",
        "mean_poisson_deviance",
        "mean_squared_error",
        "mean_squared_log_error",
        "median_absolute_error",
        "r2_score",
        "root_mean_squared_error",
        "root_mean_squared_log_error",
    ],
    "sklearn.utils.validation": ["check_array"],
    "sosbands.problem": ["_zero_mean"],
}

_COMPILED_LOSSES = {
    "sklearn._loss._loss": [
        "CyAbsoluteError",
        "CyExponentialLoss",
        "CyHalfBinomialLoss",
        "CyHalfGammaLoss",
        "CyHalfMultinomialLoss",
        "CyHalfPoissonLoss",
        "CyHalfSquaredError",
        "CyHalfTweedieLoss",
        "CyHalfTweedieLossIdentity",
        "CyHuberLoss",
        "CyPinballLoss",
    ],
    "sklearn.linear_model._sgd_fast": [
        "EpsilonInsensitive",
        "Hinge",
        "ModifiedHuber",
        "SquaredEpsilonInsensitive",
        "SquaredHinge",
    ],
}

_SPARSE = {
    f"scipy.sparse._{form}": [f"{form}_array", f"{form}_matrix"]
    for form in ("bsr", "coo", "csc", "csr", "dia")
}

_NUMBERS = {
    f"numpy.{kind.__name__}" for kind in np.sctypeDict.values() if kind not in (np.object_, np.void)
}
# Where ufuncs live. They are looked up among imported modules: a file must not import any.
_UFUNC_MODULES = ("numpy", "scipy.special")


def is_known(loader: str, name: str) -> bool:
    """Whether a file may have an object of this dotted name made in this way."""
    if name in _known_names().get(loader, ()):
        return True
    return loader == _FUNCTION and _is_ufunc(name)


@lru_cache(maxsize=1)
def _known_names() -> dict[str, frozenset[str]]:
    from sklearn.utils.discovery import all_estimators

    public = {f"{kind.__module__}.{kind.__name__}" for _, kind in all_estimators()}
    plain = ("bool", "dict", "float", "int", "list", "object", "set", "str", "tuple")
    repeated = {f"sklearn.model_selection._split.{name}" for name in ("KFold", "StratifiedKFold")}
    known = {
        _OBJECT: {
            *_dotted(_SOSBANDS),
            *_dotted(_SKLEARN_PARTS),
            *(name for name in public if name.startswith("sklearn.")),
        },
        _CALL: {"builtins.frozenset"},
        _FUNCTION: _dotted(_FUNCTIONS),
        _TYPE: {*(f"builtins.{name}" for name in plain), *_NUMBERS, *repeated},
        "BytearrayNode": {"builtins.bytearray"},
        "BytesNode": {"builtins.bytes"},
        "DTypeNode": {"numpy.dtype"},
        "DictNode": {"builtins.dict", "collections.OrderedDict", "sklearn.utils._bunch.Bunch"},
        "JsonNode": {"builtins.str"},
        "ListNode": {"builtins.list"},
        "LossNode": _dotted(_COMPILED_LOSSES),
        "MaskedArrayNode": {"numpy.ma.MaskedArray", "numpy.ma.core.MaskedArray"},
        "NdArrayNode": {"numpy.ndarray", *_NUMBERS},
        "PartialNode": {"functools.partial"},  # of functions that are judged themselves
        "RandomGeneratorNode": {"numpy.random._generator.Generator"},
        "RandomStateNode": {"numpy.random.mtrand.RandomState"},
        "SetNode": {"builtins.set"},
        "SliceNode": {"builtins.slice"},
        "SparseMatrixNode": _dotted(_SPARSE),
        "TreeNode": {"sklearn.tree._tree.Tree"},
        "TupleNode": {"builtins.tuple"},
    }
    return {loader: frozenset(names) for loader, names in known.items()}


def _dotted(names: dict[str, list[str]]) -> set[str]:
    return {f"{module}.{name}" for module, listed in names.items() for name in listed}


def _is_ufunc(name: str) -> bool:
    module, _, attribute = name.rpartition(".")
    inside = any(module == root or module.startswith(f"{root}.") for root in _UFUNC_MODULES)
    found = vars(sys.modules[module]).get(attribute) if inside and module in sys.modules else None
    return isinstance(found, np.ufunc)
