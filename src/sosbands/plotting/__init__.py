"""Pictures of bands, of what they cover and of how they were tuned, in matplotlib.

They follow scikit-learn's displays: `from_estimator` and `from_predictions` compute and draw, the
constructor takes computed values, and `plot` draws them again, on other axes or in another style. A
drawn display has `ax_`, `figure_` and its artists, by names that end in an underscore.
"""

from sosbands.evaluation.band_values import BandValues
from sosbands.plotting.band_display import BandDisplay
from sosbands.plotting.coverage_display import CoverageDisplay
from sosbands.plotting.tuning_display import TuningDisplay

__all__ = ["BandDisplay", "BandValues", "CoverageDisplay", "TuningDisplay"]
