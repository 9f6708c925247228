"""Arrays in NumPy's own format, read without NumPy's trust in them."""

from __future__ import annotations

import io
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sosbands.persistence.archive import ModelFileError

# Numbers and truth values, beside which there are texts. Objects are written in the tree instead.
_NUMBERS, _LARGEST_NUMBER = "biuf", 8
# Arrays with fields are the nodes of trees; these are among their names.
_NODES = ({"left_child", "right_child", "feature"}, {"left", "right", "feature_idx"})


def read_array(name: str, content: bytes) -> NDArray[Any]:
    """The array in a member of the archive; everything it claims is compared with its bytes."""
    stream = io.BytesIO(content)
    read = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }.get(np.lib.format.read_magic(stream))
    if read is None:
        raise ModelFileError(f"the array {name!r} has an unknown version")
    shape, fortran, dtype = read(stream)
    if dtype.hasobject:
        raise ModelFileError(f"the array {name!r} holds pickled objects")
    start = stream.tell()
    _check_dtype(name, dtype, len(content) - start)
    # An axis without end would let loops over an array of no bytes run for ever.
    sizes = all(0 <= size <= len(content) for size in shape)
    if not sizes or start + math.prod(shape) * dtype.itemsize != len(content):
        raise ModelFileError(f"the array {name!r} is not as long as it claims")
    # A copy: aligned, and writable as an array that was just made.
    array = np.frombuffer(content, dtype=dtype, offset=start).copy()
    _check_values(name, array)
    return array.reshape(shape, order="F" if fortran else "C")


def _check_dtype(name: str, dtype: np.dtype[Any], available: int) -> None:
    if dtype.names is not None:
        plain = all(dtype[field].kind in "iuf" for field in dtype.names)
        known = plain and any(fields <= set(dtype.names) for fields in _NODES)
    else:
        number = dtype.kind in _NUMBERS and dtype.itemsize <= _LARGEST_NUMBER
        known = dtype.subdtype is None and (number or dtype.kind == "U")
    if not known or not dtype.isnative or not 0 < dtype.itemsize <= max(available, 64):
        raise ModelFileError(f"the array {name!r} holds {dtype!s:.60}, which no model needs")


def _check_values(name: str, array: NDArray[Any]) -> None:
    """NumPy counts on truth values of 0 and 1, and on characters that exist."""
    if array.dtype.kind == "b" and np.any(array.view(np.uint8) > 1):
        raise ModelFileError(f"the array {name!r} holds truth values that are neither 0 nor 1")
    if array.dtype.kind == "U" and array.size:
        points = array.view(np.uint32)
        if np.any(points > 0x10FFFF) or np.any((points >= 0xD800) & (points <= 0xDFFF)):
            raise ModelFileError(f"the array {name!r} holds characters that do not exist")
