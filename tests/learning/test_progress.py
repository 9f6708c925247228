import io
import re
import sys
import time

import pytest

from sosbands.learning import progress as module
from sosbands.learning.progress import Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def watching(monkeypatch):
    """Put a stream of a kind in the place of standard error."""

    def watch(kind):
        stream = kind()
        monkeypatch.setattr(sys, "stderr", stream)
        return stream

    return watch


both = pytest.mark.parametrize("kind", [Terminal, io.StringIO])


@both
@pytest.mark.parametrize("verbose", [True, False])
def test_a_phase_is_shown_from_its_beginning_on(watching, kind, verbose):
    stream = watching(kind)
    progress = Progress(verbose).part("fold 2 of 5")
    with progress.phase("mean", 2):
        first = stream.getvalue()
    assert ("fold 2 of 5: mean" in first and "0/2" in first) == verbose


def test_a_terminal_counts_every_step_in_one_line(watching):
    stream = watching(Terminal)
    progress = Progress(True)
    with progress.phase("mean", 2):
        progress.step()
        progress.step()
    shown = stream.getvalue()
    assert re.findall(r"\d/2", shown) == ["0/2", "1/2", "2/2"]
    assert shown.count("\n") == 1
    assert shown.endswith("\n")


def test_a_file_has_lines_and_not_one_for_every_step(watching, monkeypatch):
    stream = watching(io.StringIO)
    progress = Progress(True)
    with progress.phase("mean", 100):
        for _ in range(100):
            progress.step()
    assert stream.getvalue().splitlines() == ["mean         0/100"]
    monkeypatch.setattr(module, "_PAUSE", 0.0)
    with progress.phase("band", 1):
        progress.step()
    assert stream.getvalue().splitlines()[1:] == ["band         0/1", "band         1/1"]


@both
def test_a_long_step_is_shown_again_with_its_time(watching, kind, monkeypatch):
    stream = watching(kind)
    monkeypatch.setattr(module, "_PATIENCE", 0.5)
    with Progress(True).phase("mean", 2):
        time.sleep(1.6)
    assert re.search(r"0/2  [12] s", stream.getvalue())


@both
def test_the_line_of_a_phase_ends_if_it_fails(watching, kind):
    stream = watching(kind)
    with pytest.raises(KeyboardInterrupt), Progress(True).phase("tuning", 3):
        raise KeyboardInterrupt
    assert stream.getvalue().endswith("0/3\n")
