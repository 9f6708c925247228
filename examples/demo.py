"""Fit calibrated intervals on test case 1 and draw them: ``python examples/demo.py [file.png]``."""

import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
import matplotlib.pyplot as plt

from sosbands import BandRegressor
from sosbands.datasets import Case, case
from sosbands.metrics import coverage, mean_width


def draw(model: BandRegressor, truth: Case, X: np.ndarray, y: np.ndarray, path: Path) -> None:
    """Draw the mean and the 90 % intervals over the data, and the true ones for comparison."""
    x = np.linspace(-1, 1, 500)[:, None]
    lower, upper = model.predict_interval(x, confidence_level=0.9).T
    figure, axes = plt.subplots(figsize=(8, 4.5), layout="constrained")
    axes.fill_between(x[:, 0], lower, upper, color="tab:blue", alpha=0.25, label="90 % interval")
    axes.plot(x, model.predict(x), color="tab:blue", label="mean")
    labels = ["true 90 % interval", None]
    axes.plot(x, truth.interval(x, 0.9), color="black", lw=0.8, ls="--", label=labels)
    axes.scatter(X, y, s=8, color="tab:orange", zorder=3, label="data")
    axes.set(xlabel="x", ylabel="y", title=f"Test case 1, {len(y)} rows to learn and calibrate")
    axes.legend(ncols=2)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def main(picture: Path) -> None:
    """Fit, report, draw."""
    truth = case(1)
    X, y = truth.sample(400, random_state=0)
    model = BandRegressor(random_state=0).fit(X, y)
    X_new, y_new = truth.sample(10_000, random_state=1)
    intervals = model.predict_interval(X_new, confidence_level=0.9)
    certificate = model.certificate_
    print(f"coverage       {coverage(y_new, intervals):.3f} of 10 000 new rows, asked for 0.9")
    oracle = mean_width(truth.interval(X_new, 0.9))
    print(f"mean width     {mean_width(intervals):.2f}, with the truth known {oracle:.2f}")
    tried = len(model.tuning_.trials)
    print(f"lengthscale    {np.ravel(model.lengthscale_)[0]:.2f}, after {tried} trials")
    print(f"certified gap  {certificate.gap:.1e}")
    print(f"active points  {certificate.active_rows} of {model.n_train_}")
    print(f"rank of A      {certificate.rank}")
    print(f"time           {1e3 * certificate.seconds['total']:.0f} ms for the band")
    draw(model, truth, X, y, picture)
    print(f"picture        {picture}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "demo.png"))
