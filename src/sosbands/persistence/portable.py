"""What of a model is written: a copy with the attributes that its kind keeps, and no others.

Left out are values that only training needs (outputs, residuals and multipliers, features of all
training rows), values that follow from others, and what belongs to a machine or to compiled code.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingRegressor

from sosbands.core.solvers import Status
from sosbands.persistence.boosting import categories_of
from sosbands.persistence.kinds import Kind
from sosbands.persistence.listed_types import kind_of


def portable(model: Any) -> Any:
    """A copy that holds what is written; it shares its arrays with the model."""
    return _Copy().of(model)


class _Copy:
    """Copies of objects, each made once."""

    def __init__(self) -> None:
        # With the objects themselves, which keeps their ids from being used again.
        self._made: dict[int, tuple[Any, Any]] = {}

    def of(self, item: Any) -> Any:
        if id(item) not in self._made:
            self._made[id(item)] = item, self._copied(item)
        return self._made[id(item)][1]

    def _copied(self, item: Any) -> Any:
        kind = kind_of(item)
        if kind is not None:
            return self._twin(item, kind)
        if isinstance(item, np.ndarray) and item.dtype == object:
            return self._objects(item)
        if type(item) in (list, tuple):
            return type(item)(self.of(part) for part in item)
        if type(item) is dict:
            return {key: self.of(value) for key, value in item.items()}
        if isinstance(item, Status):
            return item.name  # so that its advice may be put better
        generator = isinstance(item, np.random.RandomState | np.random.Generator)
        return None if generator else item

    def _twin(self, item: Any, kind: Kind) -> Any:
        twin = object.__new__(type(item))
        kept = {name: value for name, value in _written(item).items() if kind.keeps(name)}
        vars(twin).update({name: self.of(value) for name, value in kept.items()})
        return twin

    def _objects(self, items: NDArray[Any]) -> NDArray[Any]:
        made = np.empty(items.shape, dtype=object)
        for place in np.ndindex(items.shape):
            made[place] = self.of(items[place])
        return made


def _written(item: Any) -> dict[str, Any]:
    """The attributes of an object, some in the form that they have in a file."""
    attributes: dict[str, Any] = vars(item)
    if isinstance(item, HistGradientBoostingRegressor) and "_preprocessor" in attributes:
        return {**attributes, "_preprocessor": categories_of(item)}
    return attributes
