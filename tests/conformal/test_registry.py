import re

import numpy as np
import pytest
from click.testing import CliRunner
from numpy.testing import assert_array_equal

from sosbands.cli import commands
from sosbands.conformal import (
    Calibration,
    ClusteredCalibration,
    GroupCalibration,
    LocalizedCalibration,
    PlusCalibration,
    SplitCalibration,
    WeightedCalibration,
    registry,
)
from sosbands.conformal.registry import (
    CALIBRATIONS,
    calibration_named,
    calibration_names,
    calibration_of_rows,
)
from sosbands.datasets import case
from sosbands.persistence.listed_types import KINDS
from tests.regressors import regressor


class LargestScore(Calibration):
    """The largest score for all levels: all that a new calibration needs."""

    name = "largest"

    def quantiles(self, levels, *beside):
        return np.full(len(levels), self.scores[-1])


@pytest.fixture
def registered(monkeypatch):
    monkeypatch.setattr(registry, "CALIBRATIONS", (*CALIBRATIONS, LargestScore))


@pytest.mark.usefixtures("registered")
def test_a_calibration_is_added_in_one_place():
    X, y = case(1).sample(60, random_state=0)
    fast = {"lengthscale": 1.0, "width_weight": 10.0, "symmetric": True}
    model = regressor(calibration="largest", random_state=0, **fast).fit(X, y)
    assert isinstance(model.calibration_, LargestScore)
    mean, scale = model.predict(X, return_std=True)
    q = model.calibration_.scores.max()
    with pytest.warns(UserWarning, match="a level of 0.99 needs at least 99 calibration rows"):
        intervals = model.predict_interval(X, [0.5, 0.99])
    assert_array_equal(intervals[:, :, 0], intervals[:, :, 1])
    np.testing.assert_allclose(intervals[:, 1, 0], mean + q * scale, rtol=1e-8)
    assert isinstance(model.conformalize(X, y).calibration_, LargestScore)
    assert model.calibration_.size == 60
    assert "by 60 calibration rows: at least 90\xa0% of" in model.calibration_.promise(0.9)
    with pytest.raises(ValueError, match="takes its rows at once"):
        model.partial_conformalize(X, y)
    with pytest.raises(
        ValueError, match="needs a predictive distribution, which LargestScore has not"
    ):
        model.predict_quantiles(X, 0.5)


@pytest.mark.usefixtures("registered")
def test_the_command_line_offers_what_is_registered(tmp_path):
    (tmp_path / "rows.csv").write_text("x,y\n1,2\n")
    arguments = ["fit", str(tmp_path / "rows.csv"), "--target", "y", "--calibration", "none"]
    shown = CliRunner().invoke(commands, [*arguments, "--out", str(tmp_path / "band.skops")])
    assert shown.exit_code == 2
    assert "'split', 'cv+', 'localized', 'largest'" in shown.output


def test_names_and_companions_choose_the_calibration():
    assert calibration_names() == ("split", "cv+", "localized")
    assert calibration_named(None) is None
    assert calibration_named("cv+") is PlusCalibration
    some = [1, 2]
    for name, told, kind in [
        ("split", {}, SplitCalibration),
        (None, {}, SplitCalibration),
        ("cv+", {}, SplitCalibration),
        ("localized", {}, LocalizedCalibration),
        ("split", {"clusters": some}, ClusteredCalibration),
        ("localized", {"clusters": some}, LocalizedCalibration),
        ("localized", {"groups": some, "weights": None}, GroupCalibration),
        (None, {"groups": None, "weights": some}, WeightedCalibration),
    ]:
        assert calibration_of_rows(name, **told) is kind
    with pytest.raises(ValueError, match="give groups or weights to conformalize, not both"):
        calibration_of_rows("split", groups=some, weights=some)
    with pytest.raises(
        ValueError, match=r"one of \('split', 'cv\+', 'localized', None\), got 'no'"
    ):
        calibration_named("no")


@pytest.mark.parametrize("kind", CALIBRATIONS)
def test_model_files_may_hold_every_calibration(kind):
    assert f"{kind.__module__}.{kind.__name__}" in KINDS


@pytest.mark.parametrize(
    ("calibration", "promised"),
    [
        (SplitCalibration(np.arange(1200.0)), "1\u202f200 calibration rows: at least 90\xa0% of"),
        (ClusteredCalibration([1.0, 2.0], [0, 1]), "2 calibration groups: .* rows of new groups"),
        (WeightedCalibration([1.0], [1.0]), "new rows whose likelihood ratio the weights are"),
        (GroupCalibration([1.0], ["a"]), "of new rows of every group"),
        (PlusCalibration([np.arange(10.0)] * 10), "least 71.8\xa0% .* in practice about 90\xa0%;"),
    ],
)
def test_every_calibration_says_what_it_guarantees(calibration, promised):
    assert re.search(promised, calibration.promise(0.9))
