"""How good a fitted model's intervals are on rows with known outputs: every diagnostic at once.

Coverage on average is what is guaranteed; whether it also holds for narrow and wide intervals, in
every region of the inputs and in the worst slab is what tells an adaptive band from a constant one.
What the rows are too few for is None, with the reason. `compare` judges several kinds of intervals
on the same rows. What `sosbands.plotting` and `sosbands.report` draw is computed here.
"""

from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from sosbands.estimator import BandRegressor
from sosbands.evaluation.coverage_counts import LevelCoverage, PartCoverage
from sosbands.evaluation.judged_rows import PredictedRows
from sosbands.evaluation.results import Evaluation

if TYPE_CHECKING:
    from sosbands.evaluation.comparison import compare

__all__ = ["Evaluation", "LevelCoverage", "PartCoverage", "PredictedRows", "compare", "evaluate"]


def __getattr__(name: str) -> Any:
    """Import `compare` on first use: the rivals that it fits take long to import."""
    if name != "compare":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from sosbands.evaluation.comparison import compare

    return compare


def evaluate(
    model: BandRegressor,
    X: Any,
    y: ArrayLike,
    *,
    confidence_level: float = 0.9,
    random_state: int = 0,
) -> Evaluation:
    """Judge a fitted, calibrated model on rows that it has not seen.

    Parameters
    ----------
    model : BandRegressor
        Not calibrated by groups or by an array of weights, which these rows would need too.
    X, y : array-like of shapes (n, d) and (n,)
    confidence_level : float
        In (0, 1).
    random_state : int
        Seeds the clusters, the slabs, and the sample of at most 20 000 rows for what looks at X.

    Returns
    -------
    Evaluation

    Examples
    --------
    >>> from sosbands import BandRegressor
    >>> from sosbands.datasets import case
    >>> from sosbands.evaluation import evaluate
    >>> model = BandRegressor(random_state=0).fit(*case(1).sample(300, random_state=0))
    >>> evaluate(model, *case(1).sample(500, random_state=1)).outcome
    'as asked'
    """
    rows = PredictedRows.of(
        model, X, y, confidence_level=confidence_level, random_state=random_state
    )
    return rows.evaluation()
