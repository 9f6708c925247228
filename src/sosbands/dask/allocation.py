"""Memory that a worker would give back and fetch again for every array in between.

Dask starts workers with ``MALLOC_TRIM_THRESHOLD_``, so that they give free memory back. The C
library of GNU then maps every array of more than 128 kB anew, page by page: a band, whose arrays
live for milliseconds, takes twice the processor time. While one is evaluated, free memory is kept;
then it is given back.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

# Numbers of <malloc.h>, and what it starts with.
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
_USUAL_MMAP = 128 * 1024
# Kept for the next array, and the largest one that is made of what is kept.
_KEPT, _LARGEST = 256 << 20, 32 << 20


@contextmanager
def kept_memory() -> Iterator[None]:
    """Keep free memory meanwhile, where a worker was told to give it back; nothing elsewhere."""
    trim, library = os.environ.get("MALLOC_TRIM_THRESHOLD_", ""), _gnu_library()
    if library is None or not trim.isdecimal():
        yield
        return
    usual = os.environ.get("MALLOC_MMAP_THRESHOLD_", "")
    library.mallopt(_MMAP_THRESHOLD, _LARGEST)
    library.mallopt(_TRIM_THRESHOLD, _KEPT)
    try:
        yield
    finally:
        library.mallopt(_TRIM_THRESHOLD, int(trim))
        library.mallopt(_MMAP_THRESHOLD, int(usual) if usual.isdecimal() else _USUAL_MMAP)
        library.malloc_trim(0)


@cache
def _gnu_library() -> Any:
    """The C library of this process if it is GNU's; None if it is another one."""
    try:
        library = ctypes.CDLL(None)
        library.gnu_get_libc_version  # noqa: B018
    except (AttributeError, OSError, TypeError):
        return None
    return library
