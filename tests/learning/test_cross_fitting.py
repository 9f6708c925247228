import numpy as np
import pytest
from joblib import Parallel
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import KFold

from sosbands import BandProblem, Gaussian, Newton
from sosbands.dependence import distance_correlation, hsic, mutual_information
from sosbands.learning.cross_fitting import CrossFit, cross_fit, shares
from sosbands.metrics import interval_score


def wave(n=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 1))
    return X, np.sin(6 * X[:, 0]) + (0.1 + X[:, 0]) * rng.normal(size=n)


def problem(n=60, lengthscale=0.3, **changes):
    X, y = wave(n)
    settings = {"mean": np.zeros(n), "width_weight": 10.0, "training_coverage": 0.9}
    return BandProblem.from_data(X, y, scale_kernel=Gaussian(lengthscale), **(settings | changes))


def folds(n=60, k=3):
    return list(KFold(k).split(np.zeros((n, 1))))


def pair(n=200, seed=0, sides=1):
    rng = np.random.default_rng(seed)
    scales = rng.uniform(0.5, 2.0, size=(n, sides))
    return CrossFit(
        scales.mean(axis=1) * rng.normal(size=n), scales[:, 0] if sides == 1 else scales
    )


@pytest.mark.parametrize("power", [1, 2])
def test_the_criterion_compares_sizes_of_residuals_with_scales(power):
    fit = pair()
    sizes, scales = np.abs(fit.residuals) ** power, fit.scales**power
    assert fit.dependence("hsic", power=power) == pytest.approx(hsic(sizes, scales))
    assert fit.dependence("distance_correlation", power=power) == pytest.approx(
        distance_correlation(sizes, scales)
    )
    assert fit.dependence("mutual_information", power=power) == pytest.approx(
        mutual_information(sizes, scales, random_state=0)
    )


def test_a_two_sided_scale_is_compared_by_its_middle():
    fit = pair(sides=2)
    expected = hsic(np.abs(fit.residuals), fit.scales.mean(axis=1))
    assert fit.dependence("hsic") == pytest.approx(expected)


def test_the_interval_score_of_a_calibrated_band_by_hand():
    fit = CrossFit(np.array([1.0, -2.0, 3.0]), np.array([1.0, 1.0, 2.0]))
    # Scores 1, 2, 1.5; their median 1.5 gives ±1.5, ±1.5, ±3, and the second row is missed by 0.5.
    expected = (3 + 3 + 2 / 0.5 * 0.5 + 6) / 3
    assert fit.interval_score(0.5) == pytest.approx(expected)


def test_the_interval_score_of_a_two_sided_band_by_hand():
    fit = CrossFit(np.array([1.0, -2.0, 3.0]), np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 4.0]]))
    # Scores 1, 1, −1; their median 1 gives [−2, 1], [−2, 2], [−1, 5].
    bounds = np.array([[-2.0, 1.0], [-2.0, 2.0], [-1.0, 5.0]])
    assert fit.interval_score(0.5) == pytest.approx(interval_score(fit.residuals, bounds, 0.5))
    assert fit.interval_score(0.5) == pytest.approx(13 / 3)


@pytest.mark.parametrize("factor", [1e-6, 7.0, 1e6])
def test_the_size_of_the_scale_leaves_the_interval_score_alone_but_not_hsic(factor):
    fit = pair()
    larger = CrossFit(fit.residuals, factor * fit.scales)
    assert larger.interval_score() == pytest.approx(fit.interval_score(), rel=1e-9)
    assert larger.dependence("hsic") == pytest.approx(factor * fit.dependence("hsic"))


def test_a_scale_that_is_true_beats_one_that_is_shuffled():
    fit = pair(1000)
    shuffled = CrossFit(fit.residuals, np.random.default_rng(1).permutation(fit.scales))
    assert fit.interval_score() < shuffled.interval_score()
    for criterion in ("hsic", "distance_correlation", "mutual_information"):
        assert fit.dependence(criterion) > shuffled.dependence(criterion)


def test_scales_of_zero_do_not_decide_alone():
    fit = pair()
    scales = fit.scales.copy()
    scales[0] = 0.0
    assert np.isfinite(CrossFit(fit.residuals, scales).interval_score())
    assert np.isfinite(CrossFit(fit.residuals, 0 * scales).interval_score())


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("joint", [True, False])
def test_cross_fitting_evaluates_what_was_held_out(joint, symmetric):
    mean = {"mean_kernel": Gaussian(0.2), "mean_bound": 5.0} if joint else {}
    whole = problem(symmetric=symmetric, **(mean | ({"mean": None} if joint else {})))
    fit, _ = cross_fit(whole, folds(), [Newton(tol=1e-6)] * len(folds()), Parallel())
    X, y = wave()
    for train, test in folds():
        part = BandProblem.from_data(
            X[train],
            y[train],
            scale_kernel=Gaussian(0.3),
            width_weight=10.0,
            training_coverage=0.9,
            symmetric=symmetric,
            **(mean or {"mean": np.zeros(len(train))}),
        )
        solution = Newton(tol=1e-6).solve(part)
        residuals = y[test] - (solution.mean(X[test]) if joint else 0.0)
        assert_allclose(fit.residuals[test], residuals, atol=1e-2)
        assert_allclose(fit.scales[test], solution.scale(X[test]), rtol=0.05, atol=1e-2)


# How much candidates count


def score(fit):
    return -fit.interval_score()


def mixed(fit, share, seed=1):
    """The same residuals with scales that are partly shuffled: worse, the larger the share."""
    shuffled = np.random.default_rng(seed).permutation(fit.scales)
    return CrossFit(fit.residuals, (1 - share) * fit.scales + share * shuffled)


def test_shares_add_up_to_one_and_favour_the_better():
    fit = pair(400)
    found = shares([mixed(fit, share) for share in (1.0, 0.5, 0.0)], score)
    assert found.sum() == pytest.approx(1)
    assert np.all(np.diff(found) >= 0)


def test_candidates_that_are_equal_count_alike():
    fit = pair()
    assert_array_equal(shares([fit, fit], score), [0.5, 0.5])
    # The size of a scale is calibrated away: what is left of the difference is rounding.
    larger = [CrossFit(fit.residuals, factor * fit.scales) for factor in (1.0, 3.0, 1e5)]
    assert_allclose(shares(larger, score), 1 / 3, rtol=1e-3)
    assert_array_equal(shares([fit], score), [1.0])


def test_a_clear_winner_counts_alone():
    fit = pair(2000)
    constant = CrossFit(fit.residuals, np.ones(2000))
    absurd = CrossFit(fit.residuals, 1 / fit.scales**2)
    found = shares([absurd, fit, constant], score)
    assert found[1] > 0.99


@pytest.mark.parametrize("n", [7, 230, 300])
@pytest.mark.parametrize("weighted", [False, True])
def test_hsic_without_each_part_at_once_is_that_of_each_alone(n, weighted):
    fit = pair(n, sides=2)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, n) if weighted else None
    fit = CrossFit(fit.residuals, fit.scales, weights)
    kept = [np.arange(n) % 10 != part for part in range(min(n, 10))]
    one_by_one = [fit.take(rows).dependence("hsic", power=2) for rows in kept]
    assert_allclose(fit.hsic_without(power=2), one_by_one, rtol=1e-9)


def test_what_the_rows_cannot_tell_apart_shares():
    smaller = []
    for seed in range(20):
        fit, rng = pair(100, seed=seed), np.random.default_rng(100 + seed)
        # Scales that are wrong by equally much, each in its own way.
        fits = [
            CrossFit(fit.residuals, fit.scales * np.exp(0.3 * rng.standard_normal(100)))
            for _ in range(2)
        ]
        smaller.append(shares(fits, score).min())
    assert np.median(smaller) > 0.1


def test_small_changes_of_the_data_change_the_shares_little():
    fit = pair(300)
    fits = [mixed(fit, share) for share in (0.0, 0.1, 0.3)]
    before = shares(fits, score)
    noise = 1e-6 * np.random.default_rng(5).standard_normal(300)
    after = shares([CrossFit(each.residuals + noise, each.scales) for each in fits], score)
    assert_allclose(after, before, atol=1e-3)
    assert 0.01 < before.max() < 0.999  # there was something to change


def test_the_accuracy_of_a_difference_is_that_of_the_jackknife():
    rng = np.random.default_rng(0)
    # The figure is a mean: the jackknife knows its accuracy as the variance of means of tenths.
    fits = [CrossFit(rng.standard_normal(50), np.ones(50)) for _ in range(2)]
    values = [fit.residuals.mean() for fit in fits]
    tenths = [[fit.residuals[part::10].mean() for part in range(10)] for fit in fits]
    centred = np.subtract(tenths, np.mean(tenths, axis=0))
    centred -= centred.mean(axis=1, keepdims=True)
    error = np.sqrt(np.mean(centred**2) / 9)
    weights = np.exp(2 * (np.array(values) - max(values)) / error)
    found = shares(fits, lambda fit: float(fit.residuals.mean()))
    assert_allclose(found, weights / weights.sum())


@pytest.mark.parametrize("n", [1, 3])
def test_few_rows_have_shares_as_well(n):
    fits = [CrossFit(np.ones(n), np.full(n, scale)) for scale in (1.0, 2.0)]
    assert shares(fits, lambda fit: float(len(fit.residuals))).sum() == pytest.approx(1)


@pytest.mark.parametrize("sides", [1, 2])
def test_figures_of_weighted_rows_are_those_of_repeated_ones(sides):
    rng = np.random.default_rng(0)
    residuals, w = rng.normal(size=150), rng.integers(1, 4, size=150)
    scales = rng.uniform(0.5, 2.0, size=150 if sides == 1 else (150, 2))
    weighted = CrossFit(residuals, scales, w.astype(float))
    repeated = CrossFit(np.repeat(residuals, w), np.repeat(scales, w, axis=0), np.ones(w.sum()))
    for criterion in ("hsic", "distance_correlation"):
        assert_allclose(weighted.dependence(criterion), repeated.dependence(criterion))
    assert_allclose(weighted.interval_score(), repeated.interval_score())
    assert_allclose(weighted.skewness(), repeated.skewness())
    assert len(weighted.take(np.arange(150) % 10 != 0).weights) == 135


@pytest.mark.parametrize("width", [0.0, 1e-320, 1e-120])
def test_a_band_without_width_is_not_skewed(width):
    fit = CrossFit(np.array([-1.0, 0.5, 3.0]), np.full(3, width))
    assert fit.skewness() == 0
