"""The parts of a band: dataclasses of ours, checked as when they were made.

Beside what their constructors check, arrays must have the shapes that go together: predictions
would fail otherwise, or take far more memory than the file.
"""

from typing import Any

import numpy as np

from sosbands.core.solvers import Status
from sosbands.learning.input_ranks import InputRanks
from sosbands.learning.kernel_mean import KernelMean
from sosbands.persistence.kinds import Attributes, check, numbers, plain, whole


def part(kind: type, attributes: Attributes) -> Any:
    """An object made of the values of its fields."""
    return kind(**attributes)


def affine(kind: type, attributes: Attributes) -> Any:
    """Units of columns or of one number."""
    centre, scale = (np.asarray(attributes.get(name)) for name in ("centre", "scale"))
    check(centre.shape == scale.shape and centre.ndim <= 1, "units need a centre and a scale")
    for values in (centre, scale):
        check(values.dtype.kind == "f" and np.all(np.isfinite(values)), "units must be finite")
    check(np.all(scale > 0), "units must be positive")
    return kind(**attributes)


def varying_inputs(kind: type, attributes: Attributes) -> Any:
    """The numbers of columns, and their units."""
    columns = numbers(attributes.get("columns"), "numbers of columns", ndim=1, kinds="iu")
    check(len(columns) and np.all(columns >= 0), "columns need numbers from 0 on")
    check(attributes["units"].scale.shape == columns.shape, "every column needs a unit")
    return kind(**attributes)


def input_ranks(kind: type, attributes: Attributes) -> Any:
    """Some numbers of each column, and the shares of rows below them."""
    knots: Any = attributes.get("knots")
    check(isinstance(knots, tuple), "ranks need columns")
    for column in knots:
        known = _finite(column, "numbers and their ranks", ndim=2)
        check(len(known) == 2 and known.size, "every number needs a rank")
        check(np.all(known[0, 1:] > known[0, :-1]), "numbers must ascend")
    return kind(**attributes)


def blend(kind: type, attributes: Attributes) -> Any:
    """A fitted kernel mean, which checks its columns when it predicts, ranks and its share."""
    weight, rank_share = attributes.get("weight"), attributes.get("rank_share", 0.0)
    check(isinstance(attributes.get("kernel_mean"), KernelMean), "a blend needs a kernel mean")
    check(isinstance(attributes.get("ranks"), InputRanks), "a blend needs ranks")
    check(isinstance(weight, float) and 0 < weight <= 1, "a weight must be a share")
    check(isinstance(rank_share, float) and 0 <= rank_share <= 1, "ranks count by a share")
    return kind(**attributes)


def difficulty(kind: type, attributes: Attributes) -> Any:
    """A guess, and the order in which it sees the columns."""
    columns = numbers(attributes.get("columns"), "an order of columns", ndim=1, kinds="iu")
    check(np.array_equal(np.sort(columns), np.arange(len(columns))), "columns in no order")
    return kind(**attributes)


def neighbour_mean(kind: type, attributes: Attributes) -> Any:
    """Rows and a mean for each of them."""
    model = plain(kind, attributes)
    if "rows_" in attributes:
        rows = _finite(attributes.get("rows_"), "rows to compare with", ndim=2)
        means = _finite(attributes.get("means_"), "means of neighbours", ndim=1)
        whole(model.n_neighbors, "n_neighbors", least=1, most=len(rows))
        check(means.shape == (len(rows),), "a row has no mean")
    return model


def features(kind: type, attributes: Attributes) -> Any:
    """Landmarks, and the features as combinations of what they have in common with a row."""
    landmarks = _finite(attributes.get("landmarks"), "landmarks", ndim=2)
    whitening = _finite(attributes.get("whitening"), "the weights of landmarks", ndim=2)
    check(len(whitening) == len(landmarks), "a landmark has no weights")
    check(0 < whitening.shape[1] <= len(landmarks), "there must be landmarks and features")
    return kind(**attributes)


def gaussian_process(kind: type, attributes: Attributes) -> Any:
    """A mean, without what it says of its training rows."""
    weights = _finite(attributes.get("weights"), "the weights of a mean", ndim=1)
    check(len(weights) == attributes["features"].rank, "a mean needs a weight for each feature")
    return kind(**attributes, leave_one_out=np.empty(0))


def expansion(kind: type, attributes: Attributes) -> Any:
    """Landmarks, and one or several weights for each."""
    landmarks = _finite(attributes.get("landmarks"), "landmarks", ndim=2)
    weights = np.asarray(attributes.get("weights"))
    _finite(weights, "the weights of landmarks", ndim=1 if np.ndim(weights) == 1 else 2)
    check(len(landmarks) and len(weights) == len(landmarks), "a landmark has no weights")
    return kind(**attributes)


def band_functions(kind: type, attributes: Attributes) -> Any:
    """Levels of one or two sides each; those of one side do not go around each other."""
    levels: Any = attributes.get("levels")
    check(isinstance(levels, tuple) and levels, "a band needs a level")
    check(all(isinstance(level, tuple) for level in levels), "a level needs sides")
    sides = {len(level) for level in levels}
    check(sides == {2} or (sides == {1} and len(levels) == 1), "a band has one side or two")
    return kind(**attributes)


def fitted_band(kind: type, attributes: Attributes) -> Any:
    """A joint mean is one of the functions of its band."""
    known = attributes["functions"].mean is not None
    check(isinstance(attributes["joint"], bool), "a mean is joint or it is not")
    check(known or not attributes["joint"], "a joint mean is missing")
    return kind(**attributes)


def output_limits(kind: type, attributes: Attributes) -> Any:
    """Numbers, or nothing, of which the lower one is below the other."""
    values: list[Any] = [attributes.get(name) for name in ("low", "high", "slack")]
    known = [value for value in values[:2] if value is not None]
    check(all(isinstance(value, float) for value in [*known, values[2]]), "limits are numbers")
    check(0 <= values[2] < np.inf and known == sorted(set(known)), "limits are in no order")
    return kind(**attributes)


def certificate(kind: type, attributes: Attributes) -> Any:
    """What proves a solution, with its status by name."""
    return kind(**{**attributes, "status": Status[str(attributes["status"])]})


def extrapolation(kind: type, attributes: Attributes) -> Any:
    """Rows that new ones are compared with."""
    rows = _finite(attributes.get("rows"), "rows to compare with", ndim=2)
    check(len(rows) and 0 < attributes["unit"] < np.inf, "a distance needs rows and a unit")
    return kind(**attributes)


def _finite(values: Any, what: str, *, ndim: int) -> Any:
    array = numbers(values, what, ndim=ndim)
    check(np.all(np.isfinite(array)), f"{what} must be finite")
    return array
