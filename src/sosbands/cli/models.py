"""Models of the command line: made by name, saved and loaded together with their columns."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

from sklearn.pipeline import make_pipeline

from sosbands.cli.command import METADATA
from sosbands.cli.table_columns import Columns
from sosbands.estimator import BandRegressor
from sosbands.learning.kernel_mean import KernelMean
from sosbands.learning.stacking import StackedMean
from sosbands.persistence import ModelFileError, check_savable, describe, load, save
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


@dataclass(frozen=True, eq=False)
class StoredModel:
    """A model from a file, with the columns it was trained on and the level asked for then."""

    model: BandRegressor
    columns: Columns
    level: float


def load_model(path: str, trusted: Sequence[str], *, target: str | None = None) -> StoredModel:
    """What `fit` saved; or a model saved from Python, if it was trained on named columns.

    A `target` takes the place of the one that `fit` was told.
    """
    with _naming_options():
        model = load(path, trusted=trusted)
    if not isinstance(model, BandRegressor):
        raise ValueError(
            f"{path} holds a {type(model).__name__}, and commands need a BandRegressor: use it in "
            "Python, or save a BandRegressor itself, such as the best_estimator_ of a search or "
            "one that has the steps of a pipeline as band_transformer"
        )
    known = describe(path)["metadata"].get(METADATA)
    names = getattr(model, "feature_names_in_", None)
    if known is not None:
        columns, level = Columns.from_dict(known["columns"]), known["level"]
    elif names is not None:
        columns, level = Columns(tuple(names)), 0.9
    else:
        raise ValueError(
            f"{path} was saved from Python and does not name its columns: train it on a DataFrame"
        )
    if target is not None:
        columns = replace(columns, target=target)
    return StoredModel(model, columns, level)


def make_estimator(path: str | None, seed: int) -> Any:
    """A regressor from its import path, ``module.Name`` or ``module:name``; None without one.

    A class or a function is called without arguments; a random state gets the seed.
    """
    if path is None:
        return None
    module, _, name = path.rpartition(":" if ":" in path else ".")
    try:
        made = getattr(import_module(module), name)
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise ValueError(
            f"--estimator {path} cannot be imported ({error}): write it as in "
            "sklearn.ensemble.HistGradientBoostingRegressor"
        ) from error
    if callable(made):
        try:
            made = made()
        except TypeError as error:
            raise ValueError(
                f"--estimator {path} cannot be called without arguments ({error}): write a "
                "function that makes it, and name that"
            ) from error
    if not all(hasattr(made, name) for name in ("fit", "predict", "get_params")):
        raise ValueError(f"--estimator {path} is not a scikit-learn regressor: {quoted(made)}")
    if "random_state" in made.get_params():
        made.set_params(random_state=seed)
    for part in (made, *made.get_params().values()):
        _quieten(part)
    return made


def _quieten(part: Any) -> None:
    """Keep a booster from saying more than its user asked for."""
    settings, others = _QUIET.get(type(part).__module__.partition(".")[0], ({}, ()))
    if settings and hasattr(part, "fit"):
        said = {name for name, value in part.get_params().items() if value is not None}
        if said.isdisjoint(others):
            part.set_params(**{name: settings[name] for name in settings.keys() - said})


def fresh_model(
    columns: Columns, estimator: str | None, *, trusted: Sequence[str], **parameters: Any
) -> BandRegressor:
    """A `BandRegressor` that encodes the categories of these columns itself, and can be saved.

    Without an estimator it is the default one.
    """
    around: Any = "auto"
    if estimator is not None:
        around = make_estimator(estimator, parameters["random_state"])
    # A stack has an encoding, which the band shares; a kernel mean shares that of the band.
    encoder = None if isinstance(around, str | StackedMean) else columns.encoder()
    if encoder is not None and not isinstance(around, KernelMean):
        around = make_pipeline(encoder, around)
    model = BandRegressor(around, band_transformer=encoder, **parameters)
    with _naming_options():
        check_savable(model, trusted=trusted)
    return model


def save_model(model: BandRegressor, path: str, *, trusted: Sequence[str], **known: Any) -> None:
    """Save a model together with what is known of it, for `load_model` and ``sosbands info``."""
    with _naming_options():
        save(model, path, metadata={METADATA: known}, trusted=trusted)


@contextmanager
def _naming_options() -> Iterator[None]:
    """Let errors of the library name the option ``--trust`` in place of the argument `trusted`."""
    try:
        yield
    except ModelFileError as error:
        said = re.sub(r"pass trusted=\[(.*?)\]", _as_options, str(error))
        raise ValueError(said) from error


def _as_options(match: re.Match[str]) -> str:
    names = match[1].replace("'", "").split(", ")
    return "give " + " ".join(f"--trust {name}" for name in names)
