"""`save`, `load` and `describe`."""

from __future__ import annotations

import io
import json
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from importlib.metadata import version
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import ZipFile

from sosbands.persistence.archive import FORMAT, Archive, ModelFileError, packed, unpacked
from sosbands.persistence.replacing import replacing

if TYPE_CHECKING:
    from sosbands.persistence.schema import Audit

_PACKAGES = ("sosbands", "scikit-learn", "numpy", "skops")


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
        usual transformers.
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
    """
    _check_fitted(model)
    target = Path(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(f"the folder {target.parent} does not exist: create it first")
    if target.is_dir():
        raise IsADirectoryError(f"{target} is a folder: give the name of a file in it")
    data = _written(model, dict(metadata or {}), _names(trusted))
    with replacing(fspath(path)) as temporary:
        Path(temporary).write_bytes(data)


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
    """
    data, names = _read(path), _names(trusted)
    with _loading(path):
        archive = unpacked(data)
        original = _check_versions(archive.manifest)
        model = _made(archive, names)
    _warn_of_version(model, original)
    return model


def describe(path: str | PathLike[str]) -> dict[str, Any]:
    """What a model file says of itself; the checksum is verified, the model is not loaded.

    Returns
    -------
    dict
        ``format_version``, ``model`` (the dotted name of its class), ``versions`` (of packages when
        it was saved), ``foreign_types`` (what `load` must be told to trust) and ``metadata``.
    """
    data = _read(path)
    with _loading(path):
        return unpacked(data).manifest


def _check_fitted(model: Any) -> None:
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    if isinstance(model, type) or not hasattr(model, "fit"):
        raise ModelFileError(f"a fitted estimator is needed, got {model!r}")
    try:
        check_is_fitted(model)
    except NotFittedError:
        name = type(model).__name__
        raise ModelFileError(f"this {name} is not fitted: call fit before save") from None


def _written(model: Any, metadata: dict[str, Any], trusted: frozenset[str]) -> bytes:
    """The bytes of the file; a model has been made of them once, as a test."""
    import skops.io

    from sosbands.persistence.portable import portable
    from sosbands.persistence.schema import Audit, name_of, parsed, renumbered

    refused = f"this {type(model).__name__} cannot be saved"
    with _explained(refused, "it holds something without a storable state"):
        with ZipFile(io.BytesIO(skops.io.dumps(portable(model)))) as dumped:
            schema, files = renumbered(parsed(dumped.read("schema.json")))
            arrays = {new: dumped.read(old) for old, new in files.items()}
        audit = Audit(trusted)
        audit.visit(schema)
        _refuse(audit)
    manifest = {
        "format_version": FORMAT,
        "model": name_of(schema),
        "versions": {package: version(package) for package in _PACKAGES},
        "foreign_types": sorted(audit.foreign),
        "metadata": metadata,
    }
    try:
        data = packed(manifest, json.dumps(schema, separators=(",", ":")).encode(), arrays)
    except (TypeError, ValueError) as error:
        raise ModelFileError(f"metadata must be expressible in JSON: {error}") from None
    with _explained(refused, "it could not be loaded again"):
        _made(unpacked(data), trusted)
    return data


def _made(archive: Archive, trusted: frozenset[str]) -> Any:
    """The model, once every name in the file has been judged."""
    from sklearn.exceptions import InconsistentVersionWarning

    from sosbands.persistence.reader import Reader
    from sosbands.persistence.schema import Audit, count_nodes, parsed

    schema, audit = parsed(archive.schema), Audit(trusted)
    audit.visit(schema)
    _refuse(audit)
    reader = Reader(archive.arrays, count_nodes(archive.schema), trusted)
    with warnings.catch_warnings():
        # One warning for the file instead of one for every part that is trusted.
        warnings.simplefilter("ignore", InconsistentVersionWarning)
        model = reader.read(schema)
    if isinstance(model, type) or not hasattr(model, "fit"):
        raise ModelFileError(f"it holds no estimator, but {type(model).__name__}")
    return model


def _refuse(audit: Audit) -> None:
    """Say what is not on the list, and what to do."""
    names = audit.refused or audit.unstorable
    if not names:
        return
    if any(name.startswith("sklearn.model_selection._search.") for name in names):
        raise ModelFileError("it is a search: save its best_estimator_ instead")
    if audit.unstorable:
        sparse = any(name.startswith("scipy.sparse.") for name in audit.unstorable)
        advice = "fit it to dense rows" if sparse else "write it as an estimator of your own"
        raise ModelFileError(
            f"it holds what no model file can: {_places(audit.unstorable)}; {advice}"
        )
    advice = f"pass trusted={sorted(names)} if you trust their code and the file"
    if any(name.startswith("sklearn.") for name in names):
        advice = (
            "of scikit-learn, files hold the models and transformers that can be checked when they "
            f"are loaded (the page on model files lists them): use one of these, or {advice}"
        )
    if any(place.endswith("calibration_.ratio") for place in names.values()):
        advice += "; likelihood ratios can also be given to conformalize as an array"
    raise ModelFileError(f"it names what sosbands does not know: {_places(names)}; {advice}")


def _places(names: Mapping[str, str]) -> str:
    return ", ".join(f"{name} (in {place})" for name, place in sorted(names.items()))


def _check_versions(manifest: Mapping[str, Any]) -> str:
    """The scikit-learn that wrote the file; one from the future is refused."""
    original, current = str(manifest["versions"]["scikit-learn"]), version("scikit-learn")
    if _minor(original)[0] > _minor(current)[0]:
        raise ModelFileError(
            f"the model was saved with scikit-learn {original}, this is {current}: upgrade "
            "scikit-learn"
        )
    return original


def _warn_of_version(model: Any, original: str) -> None:
    from sklearn.exceptions import InconsistentVersionWarning

    name, current = type(model).__name__, version("scikit-learn")
    if _minor(original) != _minor(current):
        warnings.warn(
            InconsistentVersionWarning(
                estimator_name=name,
                current_sklearn_version=current,
                original_sklearn_version=original,
            ),
            stacklevel=3,
        )


def _minor(text: str) -> tuple[int, int]:
    major, minor = text.split(".")[:2]
    return int(major), int(minor)


def _names(trusted: Iterable[str | type]) -> frozenset[str]:
    if isinstance(trusted, str):
        raise ValueError(f"trusted must be a list of dotted names, got the text {trusted!r}")
    return frozenset(
        item if isinstance(item, str) else f"{item.__module__}.{item.__name__}" for item in trusted
    )


def _read(path: str | PathLike[str]) -> bytes:
    file = Path(path)
    if file.is_dir():
        raise IsADirectoryError(f"{file} is a folder: give the name of a model file")
    if not file.exists():
        raise FileNotFoundError(f"there is no model file {file}: check the name")
    return file.read_bytes()


def _loading(path: str | PathLike[str]) -> AbstractContextManager[None]:
    return _explained(f"{path} cannot be loaded", "it is damaged, or was not written by sosbands")


@contextmanager
def _explained(subject: str, otherwise: str) -> Iterator[None]:
    """Errors about a file or a model become a `ModelFileError` that begins with the subject.

    Whatever else goes wrong has the sentence `otherwise` before it, which says what it means.
    """
    try:
        yield
    except ModelFileError as error:
        raise ModelFileError(f"{subject}: {error}") from None
    except Exception as error:
        raise ModelFileError(f"{subject}: {otherwise} ({type(error).__name__}: {error})") from error
