"""Models between commands: made from names, kept in files together with their columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

from sosbands.cli.command import METADATA
from sosbands.cli.table_columns import Columns
from sosbands.estimator import BandRegressor
from sosbands.quoting import quoted


@dataclass(frozen=True, eq=False)
class StoredModel:
    """A model from a file, with the columns it was trained on and the level asked for then."""

    model: BandRegressor
    columns: Columns
    level: float

    def predicting(self, target: str | None) -> StoredModel:
        """The same, of another target if there is one."""
        if target is None:
            return self
        return replace(self, columns=replace(self.columns, target=target))


def load_model(path: str, trusted: Sequence[str]) -> StoredModel:
    """What `fit` saved; or a model saved from Python, if it was trained on named columns."""
    from sosbands.persistence import ModelFileError, describe, load

    try:
        model = load(path, trusted=trusted)
    except ModelFileError as error:
        raise ValueError(_as_option(error)) from error
    if not isinstance(model, BandRegressor):
        raise ValueError(
            f"{path} holds a {type(model).__name__}, and commands need a BandRegressor: use it in "
            "Python, or save a BandRegressor itself, such as the best_estimator_ of a search or "
            "one that has the steps of a pipeline as band_transformer"
        )
    known = describe(path)["metadata"].get(METADATA)
    if known is not None:
        return StoredModel(model, Columns.from_dict(known["columns"]), known["level"])
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        raise ValueError(
            f"{path} was saved from Python and does not name its columns: train it on a DataFrame"
        )
    return StoredModel(model, Columns(tuple(names)), 0.9)


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
    return made


def fresh_model(columns: Columns, estimator: str | None, **parameters: Any) -> BandRegressor:
    """A `BandRegressor` that encodes the categories of these columns itself."""
    from sklearn.pipeline import make_pipeline

    encoder = columns.encoder()
    around = make_estimator(estimator, parameters["random_state"])
    if around is not None and encoder is not None:
        around = make_pipeline(encoder, around)
    return BandRegressor(around, band_transformer=encoder, **parameters)


def save_model(model: BandRegressor, path: str, *, trusted: Sequence[str], **known: Any) -> None:
    """Keep a model and what is known of it."""
    from sosbands.persistence import ModelFileError, save

    try:
        save(model, path, metadata={METADATA: known}, trusted=trusted)
    except ModelFileError as error:
        raise ValueError(_as_option(error)) from error


def _as_option(error: ValueError) -> str:
    """What the library says, with an option in place of its argument."""
    return str(error).replace("pass trusted=", "give --trust for each of ")
