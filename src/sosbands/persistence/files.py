"""`save`, `load` and `describe`."""

import warnings
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from sosbands.persistence.archive import PARSERS, ModelFileError, explained, unpacked
from sosbands.persistence.replacing import replacing
from sosbands.quoting import listed

_FOREIGN = "it is damaged, or was not written by sosbands"


def save(
    model: Any,
    path: str | PathLike[str],
    *,
    metadata: Mapping[str, Any] | None = None,
    trusted: Iterable[str | type] = (),
) -> None:
    """Write a fitted model to a file that `load` reads, without pickle.

    The file appears when it is complete: if anything goes wrong, a file that was there stays. It
    depends on the model alone, not on the time or the place.

    Parameters
    ----------
    model : estimator
        A fitted `BandRegressor`, or a fitted estimator of scikit-learn that can be checked when it
        is loaded: linear models, trees, boosting, neighbours, networks, pipelines of these and the
        usual transformers. `LGBMRegressor`, `XGBRegressor` and `CatBoostRegressor` are written in
        the formats of their libraries.
    path : str or path
        By custom it ends in ``.skops``.
    metadata : mapping, optional
        Anything that JSON can express; `describe` gives it back.
    trusted : iterable of str or type
        Further types and functions that the model may hold, by dotted name. `load` must be told
        the same, and must be able to import them.

    Raises
    ------
    ModelFileError
        If the model holds something else, or something that cannot be restored.

    Notes
    -----
    Of the training rows no outputs, residuals or multipliers are written, and inputs only as far as
    prediction and recalibration need them; models around which a band is put bring what they are
    made of. Left out are also ``n_jobs``, ``memory`` and generators of random numbers.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sosbands import BandRegressor, load, save
    >>> from sosbands.datasets import case
    >>> X, y = case(1).sample(60, random_state=0)
    >>> model = BandRegressor(None, random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(model, Path(folder, "band.skops"))
    ...     again = load(Path(folder, "band.skops"))
    >>> bool((again.predict(X) == model.predict(X)).all())
    True
    """
    from sosbands.persistence.writer import written

    _check_estimator(model, fitted=True)
    target = Path(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(f"the folder {target.parent} does not exist: create it first")
    if target.is_dir():
        raise IsADirectoryError(f"{target} is a folder: give the name of a file in it")
    data = written(model, dict(metadata or {}), _names(trusted))
    with replacing(fspath(path)) as temporary:
        Path(temporary).write_bytes(data)


def check_savable(model: Any, *, trusted: Iterable[str | type] = ()) -> None:
    """Raise the error of `save` for what a model is made of, before hours of fitting.

    Parameters
    ----------
    model : estimator
        Fitted or not.
    trusted : iterable of str or type
        As for `save`.

    Raises
    ------
    ModelFileError
        If the model, or a part of it, cannot be saved. What `fit` decides, such as sparse rows or
        several outputs, only `save` finds.

    Examples
    --------
    >>> from sosbands import BandRegressor
    >>> from sosbands.persistence import check_savable
    >>> check_savable(BandRegressor())  # says nothing: it can be saved
    """
    from sosbands.persistence.writer import written

    _check_estimator(model, fitted=False)
    written(model, {}, _names(trusted))


def load(path: str | PathLike[str], *, trusted: Iterable[str | type] = ()) -> Any:
    """Read a model that `save` wrote; it predicts exactly as the one that was saved.

    A file cannot run code: it holds objects of types on a list, and nothing is called but what
    makes these, and what `trusted` adds. What compiled code relies on is checked or built anew.
    Sizes are bounded by that of the file before anything is read, and a checksum finds accidents.
    What a stranger's model predicts is still a stranger's word.

    Parameters
    ----------
    path : str or path
    trusted : iterable of str or type
        Further types and functions that the file may name, by dotted name. Their modules are
        imported, their code runs and nobody checks what the file says of them: trust the file too.
        Or ``"lightgbm"``, ``"xgboost"``, ``"catboost"``, whose parsers read the models of theirs.

    Returns
    -------
    estimator

    Raises
    ------
    ModelFileError
        If the file is damaged, hostile, of a newer version, or names other types.

    Warns
    -----
    InconsistentVersionWarning
        If the minor version of scikit-learn differs from that of the file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.linear_model import LinearRegression
    >>> from sosbands import load, save
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(LinearRegression().fit([[0.0], [1.0]], [1.0, 3.0]), Path(folder, "line.skops"))
    ...     load(Path(folder, "line.skops")).predict([[2.0]]).round(6).tolist()
    [5.0]
    """
    from sklearn.exceptions import InconsistentVersionWarning

    from sosbands.persistence.reader import read_model

    data, names = _read(path), _names(trusted)
    with explained(f"{path} cannot be loaded", _FOREIGN):
        archive = unpacked(data)
        original = _check_versions(archive.manifest)
        model = read_model(archive, names)
    current = version("scikit-learn")
    if _minor(original) != _minor(current):
        differs = InconsistentVersionWarning(
            estimator_name=type(model).__name__,
            current_sklearn_version=current,
            original_sklearn_version=original,
        )
        warnings.warn(differs, stacklevel=2)
    return model


def describe(path: str | PathLike[str]) -> dict[str, Any]:
    """What a model file says of itself; the checksum is verified, the model is not loaded.

    Returns
    -------
    dict
        ``format_version``, ``model`` (the dotted name of its class), ``versions`` (of packages when
        it was saved), ``foreign_types`` (what `load` must be told to trust) and ``metadata``.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.linear_model import LinearRegression
    >>> from sosbands import save
    >>> from sosbands.persistence import describe
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "line.skops")
    ...     save(LinearRegression().fit([[0.0], [1.0]], [1.0, 3.0]), file, metadata={"unit": "EUR"})
    ...     describe(file)["metadata"]
    {'unit': 'EUR'}
    """
    data = _read(path)
    with explained(f"{path} cannot be loaded", _FOREIGN):
        return unpacked(data).manifest


def _check_estimator(model: Any, *, fitted: bool) -> None:
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    if isinstance(model, type) or not hasattr(model, "fit"):
        raise ModelFileError(f"{'a fitted' if fitted else 'an'} estimator is needed, got {model!r}")
    name = type(model).__name__
    try:
        if fitted:
            check_is_fitted(model)
    except NotFittedError:
        raise ModelFileError(f"this {name} is not fitted: call fit before save") from None
    if hasattr(model, "to_local"):
        raise ModelFileError(
            f"a {name} cannot be saved, as it belongs to Dask: save its to_local()"
        )


def _check_versions(manifest: Mapping[str, Any]) -> str:
    """The scikit-learn that wrote the file; one from the future is refused."""
    original, current = str(manifest["versions"]["scikit-learn"]), version("scikit-learn")
    if _minor(original)[0] > _minor(current)[0]:
        raise ModelFileError(
            f"the model was saved with scikit-learn {original}, this is {current}: upgrade "
            "scikit-learn"
        )
    return original


def _minor(text: str) -> tuple[int, int]:
    major, minor = text.split(".")[:2]
    return int(major), int(minor)


def _names(trusted: Iterable[str | type]) -> frozenset[str]:
    if isinstance(trusted, str):
        raise ValueError(f"trusted must be a list of dotted names, got the text {trusted!r}")
    names = frozenset(
        item if isinstance(item, str) else f"{item.__module__}.{item.__name__}" for item in trusted
    )
    unknown = sorted(name for name in names - PARSERS.keys() if "." not in name)
    if unknown:
        raise ValueError(
            f"trusted names types and functions as in module.Name, or one of the libraries "
            f"{listed(PARSERS)}, got {listed(unknown)}"
        )
    return names


def _read(path: str | PathLike[str]) -> bytes:
    file = Path(path)
    if file.is_dir():
        raise IsADirectoryError(f"{file} is a folder: give the name of a model file")
    if not file.exists():
        raise FileNotFoundError(f"there is no model file {file}: check the name")
    return file.read_bytes()
