"""Regressors from one flat set of parameters, which many tests share."""

from sosbands import BandRegressor, KernelBand, KernelMean


def regressor(estimator=None, **parameters):
    """A `BandRegressor` whose band gets the parameters that are a `KernelBand`'s.

    Those of a kernel mean, `mean_lengthscale` and `mean_isotropic`, count if there is no estimator.
    """
    mean = {name: parameters.pop(f"mean_{name}", None) for name in ("lengthscale", "isotropic")}
    mean = {name: value for name, value in mean.items() if value is not None}
    names = KernelBand().get_params()
    band = {name: parameters.pop(name) for name in list(parameters) if name in names}
    if estimator is None and (mean or "standardize" in band):
        estimator = KernelMean(standardize=band.get("standardize", True), **mean)
    return BandRegressor(estimator, band=KernelBand(**band), **parameters)
