import json

import numpy as np
import pytest

from sosbands.cli.known_files import KnownFile, known_as

SHA = "0" * 64


def stored(**changes):
    (file,) = KnownFile.of(SHA, 11, np.array([0, 10]))
    return {**json.loads(json.dumps(file.to_dict())), **changes}


def test_a_known_file_survives_as_json():
    file = KnownFile.from_dict(stored())
    assert file.sha256 == SHA
    assert np.flatnonzero(file.held_out).tolist() == [0, 10]
    assert len(file.held_out) == 11


@pytest.mark.parametrize("n_rows", [1, 8, 9, 1000])
def test_every_row_has_a_bit(n_rows):
    rows = np.flatnonzero(np.random.default_rng(n_rows).uniform(size=n_rows) < 0.3)
    (file,) = KnownFile.of(SHA, n_rows, rows)
    again = KnownFile.from_dict(file.to_dict())
    assert np.flatnonzero(again.held_out).tolist() == rows.tolist()


@pytest.mark.parametrize(
    "changes",
    [
        {"sha256": "x" * 64},
        {"sha256": None},
        {"rows": 0},
        {"rows": -5},
        {"rows": 2.0},
        {"rows": True},
        {"rows": 10**12},
        {"rows": 17},
        {"held_out": ""},
        {"held_out": "!!!!"},
        {"held_out": "AAAAAAAA"},
        {"more": 1},
    ],
)
def test_what_was_never_stored_is_refused(changes):
    with pytest.raises(ValueError, match=r"known file|base64|Only|digit|padding|characters"):
        KnownFile.from_dict(stored(**changes))


def test_a_stream_is_not_known():
    assert KnownFile.of(None, 5, np.arange(2)) == []


def test_a_file_is_known_by_its_bytes_and_its_rows():
    file = KnownFile.from_dict(stored())
    assert known_as([file], SHA, 11) is file
    assert known_as([file], SHA, 12) is None
    assert known_as([file], "1" * 64, 11) is None
    assert known_as([file], None, 11) is None
