"""What a worker does with free memory while a band is evaluated."""

import pytest

from sosbands.dask import allocation
from sosbands.dask.allocation import kept_memory

TRIM, MMAP = -1, -3


class Library:
    """Notes what is asked of the C library."""

    def __init__(self):
        self.calls = []

    def mallopt(self, parameter, value):
        self.calls.append((parameter, value))

    def malloc_trim(self, pad):
        self.calls.append("trimmed")


@pytest.fixture
def library(monkeypatch):
    made = Library()
    monkeypatch.setattr(allocation, "_gnu_library", lambda: made)
    monkeypatch.delenv("MALLOC_MMAP_THRESHOLD_", raising=False)
    monkeypatch.setenv("MALLOC_TRIM_THRESHOLD_", "65536")
    return made


def test_free_memory_is_kept_and_then_given_back(library):
    with kept_memory():
        assert library.calls == [(MMAP, 32 << 20), (TRIM, 256 << 20)]
    assert library.calls[2:] == [(TRIM, 65536), (MMAP, 128 << 10), "trimmed"]


def test_it_is_given_back_after_an_error_too(library, monkeypatch):
    monkeypatch.setenv("MALLOC_MMAP_THRESHOLD_", "4096")
    with pytest.raises(ValueError, match="its own"), kept_memory():
        raise ValueError("its own")
    assert library.calls[2:] == [(TRIM, 65536), (MMAP, 4096), "trimmed"]


@pytest.mark.parametrize("told", [None, "", "much"])
def test_processes_that_were_told_nothing_are_left_alone(told, library, monkeypatch):
    monkeypatch.delenv("MALLOC_TRIM_THRESHOLD_")
    if told is not None:
        monkeypatch.setenv("MALLOC_TRIM_THRESHOLD_", told)
    with kept_memory():
        pass
    assert library.calls == []


def test_other_libraries_are_left_alone(monkeypatch):
    monkeypatch.setattr(allocation, "_gnu_library", lambda: None)
    monkeypatch.setenv("MALLOC_TRIM_THRESHOLD_", "65536")
    with kept_memory():
        pass
