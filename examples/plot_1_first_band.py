"""
A first band
============

Intervals that follow the noise: the paper's first test case, whose noise is small in the middle and
large at both ends.
"""

# %%
# `fit` holds 30 % of the rows back, learns a mean and a scale from the others, and calibrates on
# those held back. The levels are chosen when predicting. ``None`` is the kernel mean alone, which
# suits one smooth input; by default the mean is an average of several models.

from sosbands import BandDisplay, BandRegressor, CoverageDisplay
from sosbands.datasets import case

truth = case(1)
X, y = truth.sample(400, random_state=0)
X_new, y_new = truth.sample(3000, random_state=1)
model = BandRegressor(None, random_state=0).fit(X, y)

display = BandDisplay.from_estimator(
    model, X_new, y_new, levels=[0.5, 0.9], truth=truth, random_state=0
)

# %%
# The band is narrow where the noise is small, and close to the true intervals. On average it covers
# as asked, whatever the level. Bars are what chance does to 3000 new rows; the whole curve may be
# off by what chance does to the 120 calibration rows.

by_level = CoverageDisplay.from_estimator(model, X_new, y_new)

# %%
# Narrow and wide intervals cover about equally: a band of constant width would cover too much where
# it is wide beside the noise, and too little elsewhere.

by_width = CoverageDisplay.from_estimator(model, X_new, y_new, kind="width")
