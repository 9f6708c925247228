"""The types that signatures speak of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]
Indices: TypeAlias = NDArray[np.intp]
Mask: TypeAlias = NDArray[np.bool_]
# (train, test) of every fold.
Folds: TypeAlias = Sequence[tuple[Indices, Indices]]
# One lengthscale for all inputs, or one for each.
Lengthscale: TypeAlias = float | tuple[float, ...]
