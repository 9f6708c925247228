"""Draw band.png, the picture of the README: ``python docs/images/band.py``."""

from pathlib import Path

from matplotlib.figure import Figure

from sosbands import BandDisplay, BandRegressor
from sosbands.datasets import case

truth = case(1)
X, y = truth.sample(400, random_state=0)
model = BandRegressor(None, random_state=0).fit(X, y)
X_new, y_new = truth.sample(400, random_state=1)
figure = Figure(figsize=(8, 3.8), layout="constrained")
BandDisplay.from_estimator(
    model, X_new, y_new, levels=[0.5, 0.9], truth=truth, subsample=None, ax=figure.subplots()
)
figure.savefig(Path(__file__).with_suffix(".png"), dpi=100)
