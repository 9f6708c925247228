"""The zip archive of a model: bounded before it is read, checked by a checksum, reproducible."""

import hashlib
import io
import json
import re
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

FORMAT = 1
_MANIFEST, _SCHEMA = "manifest.json", "schema.json"
_TEXTS = {_MANIFEST, _SCHEMA}
_ARRAY_NAME = re.compile(r"[0-9]{1,9}\.npy")
# The texts are deflated: they may be so many times as large as the file, and this beside. A forest
# of stumps comes to 5, three hundred linear models to 15. Arrays are stored: they claim no more.
_LARGEST_RATIO, _FREE = 20, 1 << 18
_LARGEST_MANIFEST = 1 << 24
# Libraries that are trusted with bytes of a file by name, and what people call them.
PARSERS = {"catboost": "CatBoost", "lightgbm": "LightGBM", "xgboost": "XGBoost"}


class ModelFileError(ValueError):
    """A file holds no model that can be loaded, or a model cannot be saved; the message says why.

    Nothing in such a file has been run.

    Examples
    --------
    >>> from sosbands import save
    >>> from sosbands.persistence import ModelFileError
    >>> try:
    ...     save("no model", "model.skops")
    ... except ModelFileError as error:
    ...     print(error)
    a fitted estimator is needed, got 'no model'
    """


@contextmanager
def explained(subject: str, otherwise: str) -> Iterator[None]:
    """Errors about a file or a model become a `ModelFileError` that begins with the subject.

    Whatever else goes wrong has the sentence `otherwise` before it, which says what it means.
    """
    try:
        yield
    except ModelFileError as error:
        raise ModelFileError(f"{subject}: {error}") from None
    except Exception as error:
        raise ModelFileError(f"{subject}: {otherwise} ({type(error).__name__}: {error})") from error


@dataclass(frozen=True)
class Archive:
    """What a model file says of itself, the text of its tree, and the arrays by name."""

    manifest: dict[str, Any]
    schema: bytes
    arrays: dict[str, bytes]


def packed(manifest: Mapping[str, Any], schema: bytes, arrays: Mapping[str, bytes]) -> bytes:
    """The bytes of a model file; the same for the same contents, whenever they are written."""
    manifest = json.loads(json.dumps(manifest, allow_nan=False))  # as it will be read
    members = {_SCHEMA: schema, **arrays}
    text = json.dumps({**manifest, "checksum": _checksum(manifest, members)}, indent=1)
    buffer = io.BytesIO()
    with ZipFile(buffer, "w") as archive:
        for name, content in {_MANIFEST: text.encode(), **members}.items():
            entry = ZipInfo(name)  # of a fixed date
            entry.compress_type = ZIP_DEFLATED if name in _TEXTS else ZIP_STORED
            archive.writestr(entry, content)
    return buffer.getvalue()


def unpacked(data: bytes) -> Archive:
    """The parts of a model file, after every check that needs no types."""
    try:
        archive = ZipFile(io.BytesIO(data))
    except BadZipFile:
        raise ModelFileError("this is no model file, or the end of it is missing") from None
    with archive:
        _check_entries(archive, len(data))
        manifest = _manifest(archive)
        members = {name: archive.read(name) for name in archive.namelist() if name != _MANIFEST}
    if manifest.pop("checksum", None) != _checksum(manifest, members):
        raise ModelFileError("the checksum is wrong, so the file is damaged: copy it again")
    return Archive(manifest, members.pop(_SCHEMA), members)


def _check_entries(archive: ZipFile, size: int) -> None:
    """Refuse names, kinds and sizes that no model file has, before anything is read."""
    names = archive.namelist()
    if not set(names) >= _TEXTS:
        raise ModelFileError(f"a model file holds {_MANIFEST} and {_SCHEMA}, this one does not")
    if len(set(names)) < len(names):
        raise ModelFileError("two members of the archive have the same name")
    for entry in archive.infolist():
        name, is_text = entry.filename, entry.filename in _TEXTS
        if not is_text and not _ARRAY_NAME.fullmatch(name):
            raise ModelFileError(f"a model file has no member called {name!r}")
        if stat.S_ISLNK(entry.external_attr >> 16):
            raise ModelFileError(f"the member {name!r} is a symbolic link")
        if entry.compress_type not in ((ZIP_STORED, ZIP_DEFLATED) if is_text else (ZIP_STORED,)):
            raise ModelFileError(f"the member {name!r} is compressed as in no model file")
    largest = max(archive.getinfo(name).file_size for name in _TEXTS)
    arrays = sum(part.file_size for part in archive.infolist() if part.filename not in _TEXTS)
    if largest > _LARGEST_RATIO * size + _FREE or arrays > size:
        raise ModelFileError(f"its members claim to be far larger than the file of {size} bytes")


def _manifest(archive: ZipFile) -> dict[str, Any]:
    if archive.getinfo(_MANIFEST).file_size > _LARGEST_MANIFEST:
        raise ModelFileError(f"{_MANIFEST} is larger than {_LARGEST_MANIFEST} bytes")
    manifest = json.loads(archive.read(_MANIFEST))
    number = manifest.get("format_version") if isinstance(manifest, dict) else None
    if type(number) is not int:
        raise ModelFileError(f"{_MANIFEST} has no format version")
    if number != FORMAT:
        advice = "upgrade sosbands" if number > FORMAT else "fit and save the model again"
        raise ModelFileError(
            f"the file has format version {number}, this sosbands reads {FORMAT}: {advice}"
        )
    return dict(manifest)


def _checksum(manifest: Mapping[str, Any], members: Mapping[str, bytes]) -> str:
    """SHA-256 of everything; it protects from accidents, not from people who can compute it too."""
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in members.items()}
    text = json.dumps([manifest, digests], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()
