"""LightGBM, XGBoost and CatBoost: models in the formats of their own libraries.

In the tree a stand-in takes the place of the regressor. It holds the parameters of the constructor
and the bytes that the library writes, which only its own parser understands: nobody can check them
here. So `load` asks for trust in that parser by the name of the library, and imports the library
only then.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _is_fitted

from sosbands.persistence.archive import PARSERS, ModelFileError
from sosbands.persistence.kinds import Attributes, numbers
from sosbands.quoting import shortened

# Matters of a machine: numbers of threads, and a folder to write to.
_OF_A_MACHINE = {"n_jobs", "nthread", "num_threads", "thread_count", "train_dir"}


@dataclass(eq=False)
class StoredBooster(ABC):
    """A regressor of another library, as a file holds it.

    Attributes
    ----------
    parameters : dict
        Those of the constructor.
    native : array of uint8 or None
        What the library writes of a fitted model.
    """

    parameters: dict[str, Any]
    native: NDArray[np.uint8] | None

    package: ClassVar[str]
    regressor: ClassVar[str]
    # Its beginning and its end: parsers may crash without them.
    whole: ClassVar[re.Pattern[bytes]]

    @classmethod
    def of(cls, model: Any) -> StoredBooster:
        """The stand-in of a regressor, fitted or not."""
        # A generator of random numbers as it is: `get_params` of XGBoost draws from it.
        known = {name: vars(model).get(name, value) for name, value in model.get_params().items()}
        parameters = {name: value for name, value in known.items() if name not in _OF_A_MACHINE}
        fitted = _is_fitted(model)
        return cls(parameters, np.frombuffer(cls.write(model), np.uint8) if fitted else None)

    def restored(self) -> Any:
        """The regressor, by the parser of its library."""
        package, title = self.package, PARSERS[self.package]
        try:
            made = getattr(import_module(package), self.regressor)(**self.parameters)
            if self.native is not None:
                content = numbers(self.native, "the bytes of a model", ndim=1, kinds="u")
                whole = self.whole.fullmatch(content.tobytes())
                if whole is None:
                    raise ValueError("its beginning or its end is missing")
                self.read(made, whole[0])
        except ImportError as error:
            raise ModelFileError(
                f"it holds a model of {title} and {package} cannot be imported ({error}): pip "
                f"install {package}"
            ) from None
        except Exception as error:
            said = shortened(" ".join(str(error).split()))
            raise ModelFileError(
                f"{title} cannot read the model that the file holds ({said}): use another "
                f"copy, or the version of {package} that wrote it"
            ) from error
        return made

    @staticmethod
    @abstractmethod
    def write(model: Any) -> bytes:
        """A fitted model, as its library writes it."""

    @staticmethod
    @abstractmethod
    def read(model: Any, content: bytes) -> None:
        """Let a regressor that was just made read what its library wrote."""


class StoredLightGBM(StoredBooster):
    """The text that LightGBM writes, which holds the categories of pandas as well."""

    package, regressor = "lightgbm", "LGBMRegressor"
    whole = re.compile(rb"tree\n.*\nend of trees\n.*\npandas_categorical:[^\n]*\n", re.DOTALL)

    @staticmethod
    def write(model: Any) -> bytes:
        """The trees that predict: those up to the best iteration, if training stopped early."""
        return str(model.booster_.model_to_string()).encode()

    @staticmethod
    def read(model: Any, content: bytes) -> None:
        """What `fit` leaves: the regressor has no function that reads a text."""
        booster = import_module("lightgbm").Booster(model_str=content.decode())
        model._Booster, model.fitted_ = booster, True
        model._n_features = model._n_features_in = booster.num_feature()
        unnamed = [f"Column_{at}" for at in range(booster.num_feature())]
        model._fitted_with_feature_names = booster.feature_name() != unnamed


class StoredXGBoost(StoredBooster):
    """The UBJSON that XGBoost writes."""

    package, regressor = "xgboost", "XGBRegressor"
    whole = re.compile(rb"\{.{9}learner.*version\[.{4,40}\}", re.DOTALL)

    @staticmethod
    def write(model: Any) -> bytes:
        """The booster, with the names and types of columns."""
        return bytes(model.get_booster().save_raw("ubj"))

    @staticmethod
    def read(model: Any, content: bytes) -> None:
        """The booster; parameters that reading changes become again what they were."""
        parameters = model.get_params()
        model.load_model(bytearray(content))
        model.set_params(**parameters)


class StoredCatBoost(StoredBooster):
    """The cbm format of CatBoost."""

    package, regressor = "catboost", "CatBoostRegressor"
    whole = re.compile(rb"CBM1.{8,}", re.DOTALL)  # the size of the trees, the trees, the rest

    @staticmethod
    def write(model: Any) -> bytes:
        """The bytes of a file, as CatBoost writes nothing else."""
        with TemporaryDirectory() as folder:
            path = Path(folder) / "model.cbm"
            model.save_model(str(path), format="cbm")
            return path.read_bytes()

    @staticmethod
    def read(model: Any, content: bytes) -> None:
        """The trees; only `fit` counts the columns by itself."""
        if len(content) < 8 + int.from_bytes(content[4:8], "little"):
            raise ValueError("its end is missing")
        model.load_model(blob=content)
        model._n_features_in = len(model.feature_names_)


_BY_TYPE: Mapping[str, type[StoredBooster]] = {
    "lightgbm.sklearn.LGBMRegressor": StoredLightGBM,
    "xgboost.sklearn.XGBRegressor": StoredXGBoost,
    "catboost.core.CatBoostRegressor": StoredCatBoost,
}
STAND_INS = tuple(_BY_TYPE.values())


def stand_in(item: Any) -> Any:
    """What is written in the place of an object: a stand-in for a booster, else the object."""
    kind = _BY_TYPE.get(f"{type(item).__module__}.{type(item).__name__}")
    return item if kind is None else kind.of(item)


def booster(kind: type[StoredBooster], attributes: Attributes) -> Any:
    """The regressor that a stand-in stands for."""
    return kind(**attributes).restored()
