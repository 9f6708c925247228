"""The bytes of a file: where they come from, their encoding if they are text, their fingerprint."""

import codecs
import gzip
import hashlib
import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from sosbands.cli.table_file import TableFile

# Read at once; the beginning of a file, which shows how it is written, is no longer than this.
_CHUNK = 1 << 16
# utf-32 first: its mark begins with that of utf-16.
_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
# What is not UTF-8 comes from Windows most often; the last one reads whatever there is.
_OTHERS = ("cp1252", "latin-1")


def held(file: TableFile) -> TableFile:
    """The same file; what is on standard input is read into memory, to be looked at twice."""
    if not file.is_stream or file.content is not None:
        return file
    return replace(file, content=sys.stdin.buffer.read())


@contextmanager
def opened(file: TableFile) -> Iterator[io.BufferedReader]:
    """What is in a file, unpacked; its beginning can be looked at before it is read."""
    raw: Any
    if file.content is not None:
        yield io.BufferedReader(io.BytesIO(file.content), _CHUNK)
    elif file.is_stream:
        raw = sys.stdin.buffer
        stream = io.BufferedReader(raw, _CHUNK)
        try:
            yield stream
        finally:
            if not stream.closed:  # by somebody else, if a reader was left half-way
                stream.detach()  # standard input stays open
    else:
        with gzip.open(file.path) if file.is_gzip else open(file.path, "rb") as raw:
            yield io.BufferedReader(raw, _CHUNK)


def fingerprint(file: TableFile) -> str | None:
    """SHA-256 of the file as it is stored; None of a stream that nobody has held."""
    if file.content is not None:
        return hashlib.sha256(file.content).hexdigest()
    if file.is_stream or not Path(file.path).is_file():
        return None
    with open(file.path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def encoding_of(file: TableFile, start: bytes) -> str:
    """The encoding that was named, or else the one that the bytes show; `start` are the first ones.

    Of a stream, only those are seen.
    """
    named = file.form.encoding
    if named is not None:  # a byte order mark is no part of the first name
        return "utf-8-sig" if named.lower() in ("utf-8", "utf8") else named
    for mark, encoding in _MARKS.items():
        if start.startswith(mark):
            return encoding
    if file.is_stream and file.content is None:
        return "utf-8"
    return next(name for name in ("utf-8", *_OTHERS) if _decodes(file, name))


def _decodes(file: TableFile, encoding: str) -> bool:
    decoder = codecs.getincrementaldecoder(encoding)()
    with opened(file) as stream:
        try:
            while chunk := stream.read(_CHUNK):
                decoder.decode(chunk)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return False
    return True
