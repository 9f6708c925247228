"""The examples of the gallery run, draw something, and what they say is true."""

import contextlib
import io
import runpy
from pathlib import Path

import numpy as np
import pytest

from sosbands.dependence import distance_correlation
from sosbands.metrics import coverage, interval_score

EXAMPLES = {path.stem: path for path in (Path(__file__).parents[1] / "examples").glob("plot_*.py")}


def first_band(names):
    """The band follows the noise, and covers about as asked at every level and width."""
    model, truth = names["model"], names["truth"]
    X = np.array([[0.0], [0.9]])
    middle, end = np.ptp(model.predict_interval(X, 0.9), axis=1)
    assert middle < 0.6 * end
    true_middle, true_end = np.ptp(truth.interval(X, 0.9), axis=1)
    assert middle == pytest.approx(true_middle, rel=0.5)
    assert end == pytest.approx(true_end, rel=0.5)
    # 120 calibration rows: a standard deviation of at most 0.046.
    assert np.abs(names["by_level"].coverage - names["by_level"].levels).max() < 0.1
    assert np.abs(names["by_width"].coverage - 0.9).max() < 0.1


def wrap_a_model(names):
    """Ours gains, and is closer to 90 % where the constant width is not."""
    scores = {
        name: interval_score(names["y_new"], ends, 0.9) for name, ends in names["found"].items()
    }
    assert scores["sosbands"] < 0.85 * scores["constant width"]
    for ends in names["found"].values():
        assert coverage(names["y_new"], ends) == pytest.approx(0.9, abs=0.06)
    ours, constant = names["shares"]["sosbands"], names["shares"]["constant width"]
    assert constant[0] > 0.97
    assert constant[-1] < 0.8
    assert np.abs(ours - 0.9).max() < np.abs(constant - 0.9).max()


def skewed_noise(names):
    """Two sides score better, and both cover about as asked."""
    assert names["scores"]["two-sided"] < 0.95 * names["scores"]["symmetric"]
    assert all(abs(share - 0.9) < 0.06 for share in names["shares"].values())


def groups(names):
    """One calibration is wrong for both sites, the one by groups is right for each."""
    quiet, noisy = names["shares"]["one calibration"]
    assert quiet > 0.93
    assert noisy < 0.8
    assert all(abs(share - 0.9) < 0.06 for share in names["shares"]["by groups"])


def covariate_shift(names):
    """The plain calibration covers too few; the weighted one is right, and varies more."""
    plain, weighted = (np.array(names["shares"][kind]) for kind in ("plain", "weighted"))
    assert plain.mean() < 0.87
    assert weighted.mean() == pytest.approx(0.9, abs=0.02)
    assert weighted.std() > plain.std()


def small_data(names):
    """All rows train, and the model says that it guesses between the clusters and beyond them."""
    model = names["model"]
    assert model.n_train_ == 40
    assert (model.extrapolation([[5.25], [-1.0], [11.0]]) > 0.5).all()
    assert np.mean(model.extrapolation([[1.0], [2.0], [3.0], [7.5]]) < 0.5) == 1


def tuning_and_certificate(names):
    """The gap is small, and residuals spread as the scale says."""
    assert 0 <= names["certificate"].gap < 1e-4
    sizes = np.abs(names["y_new"] - names["mean"])
    assert distance_correlation(names["scale"], sizes) > 0.3


def any_score(names):
    """Where HSIC is largest the intervals are good."""
    best = names["score_of"](names["tuned"].best_params["k"])
    scores = [names["score_of"](k) for k in names["ks"]]
    assert best < 1.05 * min(scores)
    assert best < 0.9 * max(scores)


CLAIMS = {
    "plot_1_first_band": first_band,
    "plot_2_wrap_a_model": wrap_a_model,
    "plot_3_skewed_noise": skewed_noise,
    "plot_4_groups": groups,
    "plot_5_covariate_shift": covariate_shift,
    "plot_6_small_data": small_data,
    "plot_7_tuning_and_certificate": tuning_and_certificate,
    "plot_8_any_score": any_score,
}


def test_every_example_has_claims():
    assert set(EXAMPLES) == set(CLAIMS)


@pytest.mark.parametrize("name", sorted(CLAIMS))
def test_an_example_of_the_gallery_runs_and_says_the_truth(name, tmp_path, monkeypatch):
    import matplotlib.pyplot as plt

    plt.switch_backend("Agg")
    monkeypatch.chdir(tmp_path)
    with contextlib.redirect_stdout(io.StringIO()):
        names = runpy.run_path(str(EXAMPLES[name]), run_name="__main__")
    assert plt.get_fignums(), "an example of the gallery draws something"
    plt.close("all")
    CLAIMS[name](names)
