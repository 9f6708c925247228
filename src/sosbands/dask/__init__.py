"""Bands of tables beyond one machine's memory, on Dask: `DaskBandRegressor`.

Rows stay where they are. A sample of them travels to the driver, which learns the mean, unless a
regressor of Dask learns it from all rows, and the band; the workers score the rows that are held
back, and the k-th smallest score is found without bringing them together.
"""

from importlib.util import find_spec

if any(find_spec(name) is None for name in ("dask", "distributed")):
    raise ImportError('sosbands.dask needs Dask: pip install "sosbands[dask]"')

from sosbands.dask.regressor import DaskBandRegressor

__all__ = ["DaskBandRegressor"]
