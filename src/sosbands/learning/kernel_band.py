"""`KernelBand`: all that can be said about the band itself."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator

from sosbands.core.checks import checked_coverages, number
from sosbands.learning.parameters import (
    check_choice,
    check_count,
    check_lengthscale,
    check_number,
    check_switch,
)

_CHOICES = {
    "anisotropy": ("likelihood", "hsic", "none"),
    "criterion": ("hsic", "distance_correlation", "mutual_information"),
    "residual_power": (1, 2),
}
_AUTOMATIC = (
    "mean_weight",
    "width_weight",
    "prediction_weight",
    "caution",
)


class KernelBand(BaseEstimator):  # type: ignore[misc]
    """A kernel sum-of-squares band f(x) = φ(x)ᵀAφ(x), A ⪰ 0, and how it is tuned and solved.

    It is a part of `BandRegressor`, which brings the mean and the rows. Lengthscales and penalties
    are in standardised units: inputs, output and residuals have mean zero and variance one (unless
    ``standardize=False``). The letters are those of the paper. ``"auto"`` and the other defaults
    are explained in the settings page of the documentation.

    Parameters
    ----------
    symmetric : bool or "auto"
        True: m ± q√f, the paper. False: [m − f_low − q, m + f_up + q], where by default q is in
        proportion to the width (`shift_power`) and m is the centre (`centre_penalty`). "auto": from
        100 rows on False, but around a kernel mean True, or, from 300 rows on, whichever has the
        better out-of-fold interval score.
    likeness : float
        κ in [0, 1], how much alike the sides f_low and f_up are: from 0, where they know nothing of
        each other, to 1, where they are the same. It says nothing of a symmetric band.
    kernel : {"gaussian", "matern"}
        kᶠ; a Matérn kernel (ν = 5/2) makes rougher bands.
    lengthscale : "hsic", float or array
        θᶠ, one number, one for each input, or one for everything that the scale sees, as
        ``lengthscale_`` has it. "hsic" makes the dependence between out-of-fold residuals and
        scales largest.
    anisotropy : {"likelihood", "hsic", "none"}
        Where the relative lengthscales of several inputs come from: a Gaussian process for the size
        of the residuals; HSIC for each, alone and in wide bounds, as in the paper; or they are all
        equal. Those of more than 15 inputs are made four times as long as is likely, where there is
        a first guess of the size of the residuals (`difficulty`), which sees the inputs as well.
    criterion : {"hsic", "distance_correlation", "mutual_information"}
        What "hsic" above stands for; the others are there for comparison.
    residual_power : {1, 2}
        HSIC of |r| and √f, or of r² and f as in the paper's appendix.
    joint_mean : bool
        Whether the mean is learned together with the band, ‖m‖² ≤ s, as in the paper; only around a
        kernel mean, which gives kᵐ and s. Otherwise the mean is that of the estimator, and its
        out-of-sample residuals train the band.
    mean_weight : "auto" or float
        a, the weight of the squared error of a joint mean. "auto": 0, or 1000 if not symmetric.
    width_weight : "auto" or float
        b, the weight of the mean of f. "auto": 3 max(10, min(n/10, 5√n)); with fewer than 400 rows
        an average of a third, once and 3⅓ times that, by the out-of-fold interval score.
    trace_penalty, ridge_penalty : float
        λ₁ and λ₂.
    training_coverage : "auto", float or tuple of float
        τ in (0, 1]: the share of the rows that f aims to cover before calibration. 1.0 is the
        paper's hard band. It is not the confidence level. Several, increasing and below 1, make
        nested bands of two sides, one for each; the calibrated intervals of any level go through
        them. A band that turns out symmetric has the last level alone. "auto": 0.8, or (0.5, 0.9)
        if not symmetric.
    centre_penalty : "auto", float or None
        Bands of two sides go around c + δ, about the median of y; this is the penalty of ‖δ‖². c is
        the mean m, or, around a given model of fewer than 5000 rows, its average with a kernel
        mean, weighed by how well both predict: intervals need not hold the prediction. None: around
        m. "auto": 1500/n² for n rows if there are several levels, else None.
    offset : float
        A constant added to kᶠ, so that bands do not collapse away from the data; 0 is the paper.
    prediction_weight : "auto" or float
        How much the prediction counts as one more input of kᶠ; 0 is the paper. "auto": 0 around a
        kernel mean, otherwise as `anisotropy` finds.
    difficulty : "auto", regressor or None
        Makes a first guess of |y − m(x)| from the inputs and the prediction: it learns the root of
        that, cross-fitted. The logarithm of the guess is one more input of kᶠ, and the scale is a
        geometric mean of √f and the guess, which counts between nothing and a half, by the
        out-of-fold interval score (a half if nothing is tuned). None is the paper. "auto": None
        around a kernel mean, else means over neighbours from 100 rows on, from 500 on an average of
        boosted and extra trees, and, around anything but `StackedMean`, from 2000 on boosted trees
        alone.
    caution : "auto" or float
        How much wider intervals get away from the data: the scale is multiplied by
        1 + 2 caution ((1 + d²)^¼ − 1), with the distance d of `BandRegressor.extrapolation`. 0 is
        the paper. "auto": 0 for one input, else between 0.25 and 8, by the out-of-fold interval
        score, and 1 if nothing is tuned.
    shift_power : float
        In [0, 1]. Calibration shifts the bounds of a two-sided band in proportion to its width to
        this power: 0, the paper's, by the same everywhere, 1 in proportion to the width.
    standardize : bool
        Whether inputs and output are standardised with the pre-training rows.
    band_rows : int or None
        The band is learned from at most so many rows, a random part if there are more; the mean,
        unless it is learned jointly, the calibration and every prediction use all. None: no limit.
    max_rank : int or None
        Largest number of features of kᶠ, and of kᵐ of a joint mean. None: n/8, but 35 to 80 (no
        limit if not standardised).
    solver : {"newton", "accelerated", "sdp"} or Solver
        Solves the band problem.
    tol : float
        Certified relative gap of the solution. A `solver` that is an instance has its own.

    Examples
    --------
    >>> from sosbands import BandRegressor, KernelBand
    >>> model = BandRegressor(band=KernelBand(training_coverage=1.0))
    >>> model.set_params(band__symmetric=True).band.symmetric
    True
    """

    def __init__(
        self,
        *,
        symmetric: bool | str = "auto",
        likeness: float = 0.0,
        kernel: str = "gaussian",
        lengthscale: Any = "hsic",
        anisotropy: str = "likelihood",
        criterion: str = "hsic",
        residual_power: int = 1,
        joint_mean: bool = False,
        mean_weight: Any = "auto",
        width_weight: Any = "auto",
        trace_penalty: float = 1.0,
        ridge_penalty: float = 1.0,
        training_coverage: Any = "auto",
        centre_penalty: Any = "auto",
        offset: float = 1.0,
        prediction_weight: Any = "auto",
        difficulty: Any = "auto",
        caution: Any = "auto",
        shift_power: float = 1.0,
        standardize: bool = True,
        band_rows: int | None = 10_000,
        max_rank: int | None = None,
        solver: Any = "newton",
        tol: float = 1e-4,
    ) -> None:
        self.symmetric = symmetric
        self.likeness = likeness
        self.kernel = kernel
        self.lengthscale = lengthscale
        self.anisotropy = anisotropy
        self.criterion = criterion
        self.residual_power = residual_power
        self.joint_mean = joint_mean
        self.mean_weight = mean_weight
        self.width_weight = width_weight
        self.trace_penalty = trace_penalty
        self.ridge_penalty = ridge_penalty
        self.training_coverage = training_coverage
        self.centre_penalty = centre_penalty
        self.offset = offset
        self.prediction_weight = prediction_weight
        self.difficulty = difficulty
        self.caution = caution
        self.shift_power = shift_power
        self.standardize = standardize
        self.band_rows = band_rows
        self.max_rank = max_rank
        self.solver = solver
        self.tol = tol

    @classmethod
    def as_published(cls, **parameters: Any) -> KernelBand:
        """The paper's band: hard, with a joint mean, tuned by HSIC alone."""
        published = {
            "symmetric": True,
            "anisotropy": "hsic",
            "residual_power": 2,
            "joint_mean": True,
            "mean_weight": 0.0,
            "width_weight": 10.0,
            "training_coverage": 1.0,
            "centre_penalty": None,
            "offset": 0.0,
            "prediction_weight": 0.0,
            "difficulty": None,
            "caution": 0.0,
            "shift_power": 0.0,
            "standardize": False,
            "band_rows": None,
        }
        return cls(**{**published, **parameters})

    def check(self) -> None:
        """Refuse what means nothing, in one sentence each; `Rules` knows kernels and solvers."""
        for name, allowed in _CHOICES.items():
            check_choice(name, getattr(self, name), allowed)
        check_switch("symmetric", self.symmetric, "auto")
        for name in ("joint_mean", "standardize"):
            check_switch(name, getattr(self, name))
        check_lengthscale("lengthscale", self.lengthscale, ("hsic",))
        for name in _AUTOMATIC:
            check_number(name, getattr(self, name), automatic=True)
        if self.centre_penalty is not None:
            check_number("centre_penalty", self.centre_penalty, positive=True, automatic=True)
        self._check_coverage()
        self._check_likeness()
        for name in ("shift_power", "trace_penalty", "ridge_penalty", "offset"):
            check_number(name, getattr(self, name))
        if self.shift_power > 1:
            raise ValueError(f"shift_power must be from 0 to 1, got {self.shift_power!r}")
        check_number("tol", self.tol, positive=True)
        for name in ("band_rows", "max_rank"):
            check_count(name, getattr(self, name))
        guessed = isinstance(self.difficulty, str) and self.difficulty == "auto"
        if not (guessed or self.difficulty is None or hasattr(self.difficulty, "fit")):
            raise ValueError(
                f'difficulty must be "auto", None or a regressor, got {self.difficulty!r}'
            )

    def _check_likeness(self) -> None:
        """From 0 to 1, of two sides around a given mean."""
        check_number("likeness", self.likeness)
        if self.likeness > 1:
            raise ValueError(f"likeness must be from 0 to 1, got {self.likeness!r}")
        if self.likeness and (self.symmetric is True or self.joint_mean):
            raise ValueError(
                f"likeness={self.likeness!r} is that of two sides around a given mean: set "
                "symmetric=False and joint_mean=False, or likeness=0"
            )

    def _check_coverage(self) -> None:
        """One number, or increasing ones for two sides."""
        if isinstance(self.training_coverage, str) and self.training_coverage == "auto":
            return
        if not isinstance(self.training_coverage, (tuple, list)):
            if not 0 < number(self.training_coverage) <= 1:
                raise ValueError(
                    'training_coverage must be "auto", in (0, 1], or a tuple of increasing levels, '
                    f"got {self.training_coverage!r}: write 0.9 for 90 %, or (0.5, 0.9)"
                )
            return
        checked_coverages(self.training_coverage)
        if self.symmetric is True and len(self.training_coverage) > 1:
            raise ValueError(
                f"training_coverage={self.training_coverage!r} asks for nested bands, which have "
                "two sides: set symmetric=False, or one number"
            )
