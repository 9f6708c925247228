"""Regressors by name, for the option ``--estimator``."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from sklearn.pipeline import Pipeline, make_pipeline

from sosbands.learning.encoding import TableEncoder
from sosbands.learning.kernel_mean import KernelMean
from sosbands.learning.stacking import StackedMean
from sosbands.quoting import quoted

# By library: what keeps it from writing to the terminal and to the working directory, and the other
# names under which a user may have said how much it writes.
_QUIET: Mapping[str, tuple[Mapping[str, Any], tuple[str, ...]]] = {
    "catboost": (
        {"verbose": False, "allow_writing_files": False},
        ("logging_level", "metric_period", "silent", "verbose_eval"),
    ),
    "lightgbm": ({"verbose": -1}, ("verbosity",)),
    "xgboost": ({"verbosity": 0}, ()),
}


def make_estimator(path: str, seed: int) -> Any:
    """A regressor from its import path, ``module.Name`` or ``module:name``.

    A class or a function is called without arguments; a random state gets the seed. What is not
    known to take any table gets it encoded, except for a pipeline, which begins as its maker wants.
    """
    made = _imported(path)
    if not all(hasattr(made, name) for name in ("fit", "predict", "get_params")):
        raise ValueError(f"--estimator {path} is not a scikit-learn regressor: {quoted(made)}")
    if "random_state" in made.get_params():
        made.set_params(random_state=seed)
    for part in (made, *made.get_params().values()):
        _quieten(part)
    if isinstance(made, KernelMean | StackedMean | Pipeline):
        return made
    return make_pipeline(TableEncoder(), made)


def _imported(path: str) -> Any:
    """What a path names; called, if it can be."""
    module, _, name = path.rpartition(":" if ":" in path else ".")
    try:
        made = getattr(import_module(module), name)
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise ValueError(
            f"--estimator {path} cannot be imported ({error}): write it as in "
            "sklearn.ensemble.HistGradientBoostingRegressor"
        ) from error
    if not callable(made):
        return made
    try:
        return made()
    except TypeError as error:
        raise ValueError(
            f"--estimator {path} cannot be called without arguments ({error}): write a "
            "function that makes it, and name that"
        ) from error


def _quieten(part: Any) -> None:
    """Keep a booster from saying more than its user asked for."""
    settings, others = _QUIET.get(type(part).__module__.partition(".")[0], ({}, ()))
    if settings and hasattr(part, "fit"):
        said = {name for name, value in part.get_params().items() if value is not None}
        if said.isdisjoint(others):
            part.set_params(**{name: settings[name] for name in settings.keys() - said})
