"""What a band and a kernel mean see of a table: its columns, as finite numbers."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from sosbands.learning.columns import ColumnEncoding, learned_columns
from sosbands.learning.levels import LevelEncoding
from sosbands.learning.tables import Column, is_frame, numbers_of, read_table
from sosbands.quoting import listed, quoted
from sosbands.types import Array, Folds, Indices


class Encoded(NamedTuple):
    """Rows as a band sees them.

    Attributes
    ----------
    B : array of shape (n, d)
        Finite numbers.
    levels : array of shape (n, k)
        Codes of the levels of columns that have many, −1 for others.
    strange : array of shape (n,)
        How many cells are like none of the training rows.
    """

    B: Array
    levels: Indices
    strange: Indices

    def take(self, rows: Indices) -> Encoded:
        """Some of the rows."""
        return Encoded(self.B[rows], self.levels[rows], self.strange[rows])

    @classmethod
    def of(cls, B: Array) -> Encoded:
        """Without levels, and with nothing strange."""
        n = len(B)
        return cls(B, np.empty((n, 0), dtype=np.intp), np.zeros(n, dtype=np.intp))


class TableEncoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Any table as finite numbers for kernels: the default of ``band_transformer``.

    Numbers stay as they are; missing ones are filled in by the median, and a second column flags
    them if there were ten. Texts and categories of few levels become an indicator for each level,
    those of many levels the mean of y over the level, drawn to that of all rows. Missing texts are
    a level of their own. Dates become a trend in days and the cycles that vary. Texts that differ
    in nearly every row are left out.

    Attributes
    ----------
    columns_ : list
        How each column of X is encoded.
    sources_, places_ : list
        For each column that is made, the name and the number of the column of X that it comes from.
    categorical_ : array of bool
        Which columns of `codes` are mere names.
    notices_ : list of str
        What to know about the columns of X: those that are left out, those that number the rows.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> import pandas as pd
    >>> from sosbands.learning.encoding import TableEncoder
    >>> table = pd.DataFrame({"size": [1.5, 2.5] * 10, "kind": ["a", "b"] * 10})
    >>> encoder = TableEncoder().fit(table, [1.0, 2.0] * 10)
    >>> encoder.transform(table)[:2].tolist(), encoder.get_feature_names_out().tolist()
    ([[1.5, 0.0], [2.5, 1.0]], ['size', 'kind = b'])
    """

    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Learn what is in the columns; y is needed for categories of many levels."""
        read_table(X, empty=False)
        self.fit_transform_folds(X, np.asarray(y, dtype=np.float64), None)
        if self.notices_:
            warnings.warn("; ".join(self.notices_), stacklevel=2)
        return self

    def fit_transform_folds(self, X: Any, y: Array, folds: Folds | None) -> tuple[Self, Array]:
        """Learn from all rows, and encode each of them without the outputs of its own fold.

        Only the means of y know outputs. Rows that no fold holds out are encoded by all rows. A
        column without a value is left out, and no notice given.
        """
        validate_data(self, X, skip_check_array=True)
        table = read_table(X)
        made, self.notices_ = learned_columns(table, y, folds)
        self.columns_ = [encoding for encoding, _ in made]
        if not self.sources_:
            if not table:
                raise ValueError("X has no column, at least one is needed: give inputs")
            names = [column.name for column in table]
            raise ValueError(
                f"X has no column that can be used among {listed(names)}: neither text that "
                "differs in nearly every row nor a column without a value among the rows to learn "
                "from tells anything about new rows"
            )
        return self, np.ascontiguousarray(np.column_stack([block for _, block in made]))

    def transform(self, X: Any) -> Array:
        """Finite numbers of shape (n, d)."""
        check_is_fitted(self)
        validate_data(self, X, reset=False, skip_check_array=True)
        return self.encoded(X).B

    def encoded(self, X: Any) -> Encoded:
        """The same with codes of levels, and with the number of strange cells of each row."""
        if self.plain and not is_frame(X):
            B = numbers_of(X)
            if not np.any(np.isnan(B)):
                return Encoded.of(B)
        table = self._read(X)
        blocks = [one.encode(column.values) for one, column in table]
        levels = [
            one.places(column.values)
            for one, column in table
            if isinstance(one, LevelEncoding) and one.means is not None
        ]
        n = len(blocks[0])
        return Encoded(
            np.ascontiguousarray(np.column_stack(blocks)),
            np.column_stack(levels) if levels else np.empty((n, 0), dtype=np.intp),
            self._strange(table),
        )

    def codes(self, X: Any) -> Array:
        """For trees: numbers with NaN, categories as codes with NaN for levels of no kind."""
        if self.plain and not is_frame(X):
            return numbers_of(X)
        return np.column_stack([one.codes(column.values) for one, column in self._read(X)])

    def strange(self, X: Any) -> Indices:
        """The number of cells of each row that hold a rare or a new level, or newly nothing."""
        return self._strange(self._read(X))

    @property
    def places_(self) -> list[int]:
        """For each column that is made, the number of the column of X that it comes from."""
        return [at for at, one in enumerate(self.columns_) for _ in one.names("")]

    @property
    def sources_(self) -> list[Any]:
        """The same by name, if columns have names."""
        names = getattr(self, "feature_names_in_", range(self.n_features_in_))
        return [names[at] for at in self.places_]

    @property
    def categorical_(self) -> NDArray[np.bool_]:
        """Which columns of `codes` are mere names."""
        return np.array([flag for one in self.columns_ for flag in one.categorical], dtype=bool)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """What columns are called: "size", "size is missing", "kind = a", "day: month (sin)"."""
        check_is_fitted(self)
        if input_features is None:
            input_features = getattr(self, "feature_names_in_", None)
        if input_features is None:
            input_features = [f"x{j}" for j in range(self.n_features_in_)]
        named = zip(self.columns_, input_features, strict=True)
        return np.array([name for one, of in named for name in one.names(str(of))], dtype=object)

    @property
    def plain(self) -> bool:
        """Whether all columns are numbers that stay as they are."""
        return all(one.plain for one in self.columns_)

    def _read(self, X: Any) -> list[tuple[ColumnEncoding, Column]]:
        """The columns with their encodings, their kinds checked."""
        table = read_table(X)
        if len(table) != len(self.columns_):
            raise ValueError(f"X has {len(table)} columns, {len(self.columns_)} were seen in fit")
        pairs = list(zip(self.columns_, table, strict=True))
        faults = [
            f"column {quoted(column.name)} held {_KINDS[one.kind]} in fit and now holds "
            f"{_KINDS[column.kind]}"
            for one, column in pairs
            if "empty" not in (one.kind, column.kind) and one.kind != column.kind
        ]
        if faults:
            raise ValueError(f"{'; '.join(faults)}: give the columns the types that they had")
        return [(one, _like(one.kind, column)) for one, column in pairs]

    @staticmethod
    def _strange(table: Sequence[tuple[ColumnEncoding, Column]]) -> Indices:
        total: Indices = np.sum([one.strange(column.values) for one, column in table], axis=0)
        return total

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.categorical = tags.input_tags.string = True
        tags.target_tags.required = True
        return tags


_KINDS = {"number": "numbers", "text": "text or categories", "date": "dates"}


def _like(kind: str, column: Column) -> Column:
    """A column without a value as a column of this kind."""
    if column.kind != "empty" or kind == "empty":
        return column
    n = len(column.values)
    missing = [None] * n if kind == "text" else np.full(n, np.nan)
    return Column(column.name, "empty", missing)


@dataclass(frozen=True, eq=False)
class BandInputs:
    """X ↦ an array of finite numbers of shape (n, d).

    Attributes
    ----------
    transformer : transformer or None
        Fitted. None in files of models that were fitted to arrays of numbers without it.
    """

    transformer: Any | None

    @classmethod
    def learn(
        cls, X: Any, y: Array, transformer: Any | None, folds: Folds | None
    ) -> tuple[BandInputs, Encoded]:
        """From pre-training rows, which are encoded without the outputs of their own folds."""
        if transformer is not None:
            inputs = cls(clone(transformer).fit(X, y))
            return inputs, inputs.encoded(X)
        encoder, B = TableEncoder().fit_transform_folds(X, y, folds)
        seen = Encoded.of(B) if encoder.plain else encoder.encoded(X)._replace(B=B)
        return cls(encoder), seen

    @property
    def meanings(self) -> list[str] | None:
        """What the columns stand for; None if nobody can tell."""
        if self.transformer is None:
            return []
        try:
            return list(map(str, self.transformer.get_feature_names_out()))
        except (AttributeError, ValueError):
            return None

    @property
    def notices(self) -> list[str]:
        """What users should know about columns of X."""
        return list(getattr(self.transformer, "notices_", ()))

    def __call__(self, X: Any) -> Array:
        """The numbers, checked."""
        return self.encoded(X).B

    def encoded(self, X: Any) -> Encoded:
        """The numbers, with the codes of levels and what is strange."""
        if isinstance(self.transformer, TableEncoder):
            return self.transformer.encoded(X)
        if self.transformer is None:
            return Encoded.of(numbers_of(X))
        made = self.transformer.transform(X)
        if hasattr(made, "toarray"):
            made = made.toarray()
        # In rows, as arrays come: another order of summation would round differently.
        B: Array = check_array(made, dtype=np.float64, order="C", ensure_all_finite=False)
        bad = int(np.sum(~np.isfinite(B)))
        if bad:
            raise ValueError(
                f"what band_transformer makes of X hold {bad} NaN or infinite values: impute in "
                "band_transformer"
            )
        return Encoded.of(B)
