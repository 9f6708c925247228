import pickle
import re

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sosbands import datasets

BETA = (1.0, 0.1, 0.1, 0.1, 0.1)
CASES = [
    datasets.case(1),
    datasets.case(2),
    datasets.case(2, dimension=3),
    datasets.case(3),
    datasets.case(3, dimension=4),
    datasets.case(4),
    datasets.case(4, beta=BETA),
    datasets.case(5),
]
every_case = pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c.number}-d{c.dimension}")
LEVELS = np.array([0.05, 0.3, 0.5, 0.9])


def four_standard_errors(p, n):
    return 4 * np.sqrt(p * (1 - p) / n)


# m and σ by hand. Case 1 at x = 0: u = 1/5, sin 36° = 0.5877852523, cos 144° = −0.8090169944;
# at x = 0.15: u = 1/2; at x = 0.9: the line. φ(0) = 0.3989422804, φ(1) = 0.2419707245.
@pytest.mark.parametrize(
    ("case", "x", "location", "scale"),
    [
        (datasets.case(1), [0.0], 0.5877852523 - 0.2 * 0.8090169944, 0.3162277660),
        (datasets.case(1), [0.15], 1.0 + 0.2, np.sqrt(0.145)),
        (datasets.case(1), [-0.6], 0.2 * 1.0, np.sqrt(0.82)),
        (datasets.case(1), [0.9], 0.0, np.sqrt(1.72)),
        (datasets.case(1), [1.0], 0.1, np.sqrt(2.1)),
        (datasets.case(2), [-np.pi / 2], -np.pi / 4, 1.0),
        (datasets.case(2, dimension=3), [np.pi / 6, -np.pi / 2, np.pi], np.pi / 3, 1.5),
        (datasets.case(3), [0.0], 0.0, 0.5319230406),
        (datasets.case(3), [-1.5], -0.75, 0.3226276327),
        (datasets.case(3, dimension=2), [0.0, 1.5], 0.75, 0.5319230406 + 0.3226276327),
        (datasets.case(4), [0.5], 2.0 + np.pi / 2, np.sqrt(1.25)),
        (datasets.case(4), [1.0], np.pi, np.sqrt(2.0)),
        (datasets.case(4, beta=BETA), [0.4, 0.0, 0.0, 1.0, 0.0], 2.0 + np.pi / 2, np.sqrt(1.25)),
        (datasets.case(4, beta=(-1.0, 0.5)), [1.0, 1.0], -2.0 - np.pi / 2, np.sqrt(1.25)),
        (datasets.case(5), [0.0], 0.0, 0.5),
        (datasets.case(5), [np.pi / 4], 1.0, 0.5 + np.pi / 2),
        (datasets.case(5), [-1.0], -0.9092974268, -1.5),
    ],
)
def test_location_and_scale_equal_the_values_computed_by_hand(case, x, location, scale):
    assert_allclose(case.location([x]), [location], atol=1e-9)
    assert_allclose(case.scale([x]), [scale], atol=1e-9)


def test_case_1_leaves_its_wave_for_a_line_where_10x_plus_1_exceeds_nine_point_six():
    x = 0.86
    wave = np.sin(1.92 * np.pi) + 0.2 * np.cos(7.68 * np.pi)
    before, at, after = datasets.case(1).location([[x - 1e-9], [x], [x + 1e-9]])
    assert 10 * x + 1 <= 9.6
    assert_allclose([before, at], wave, atol=1e-7)
    assert_allclose(after, -0.04, atol=1e-7)
    assert abs(wave - after) > 0.1


@every_case
def test_shapes_follow_the_sample_and_the_levels(case):
    X, y = case.sample(7, random_state=0)
    assert X.shape == (7, case.dimension)
    for values in (y, case.location(X), case.scale(X), case.mean(X), case.quantile(X, 0.5)):
        assert values.shape == (7,)
    assert case.quantile(X, LEVELS).shape == (7, 4)
    assert case.quantile(X, [0.5]).shape == (7, 1)
    assert case.interval(X, 0.9).shape == (7, 2)


@every_case
def test_each_column_of_quantiles_is_the_quantile_of_its_level(case):
    X = case.sample_inputs(20, random_state=1)
    together = case.quantile(X, LEVELS)
    for column, level in zip(together.T, LEVELS, strict=True):
        assert_array_equal(column, case.quantile(X, level))


@every_case
def test_quantiles_increase_with_the_level(case):
    X = case.sample_inputs(200, random_state=2)
    assert np.all(np.diff(case.quantile(X, LEVELS), axis=1) >= 0)


@every_case
def test_draws_at_a_point_fall_below_each_quantile_as_often_as_its_level_says(case):
    n = 20_000
    for i, x in enumerate(case.sample_inputs(4, random_state=3)):
        draws = case.sample_outputs(np.tile(x, (n, 1)), random_state=i)
        frequency = np.mean(draws[:, np.newaxis] <= case.quantile([x], LEVELS), axis=0)
        assert np.all(np.abs(frequency - LEVELS) < four_standard_errors(LEVELS, n))


@every_case
def test_draws_at_a_point_average_to_the_mean(case):
    n = 20_000
    for i, x in enumerate(case.sample_inputs(4, random_state=4)):
        draws = case.sample_outputs(np.tile(x, (n, 1)), random_state=i)
        σ = abs(case.scale([x])[0])  # both noises have variance 1
        assert abs(draws.mean() - case.mean([x])[0]) < 4 * σ / np.sqrt(n)


@every_case
@pytest.mark.parametrize("level", [0.5, 0.9])
def test_the_oracle_interval_covers_a_sample_as_often_as_its_level_says(case, level):
    n = 20_000
    X, y = case.sample(n, random_state=5)
    lower, upper = case.interval(X, level).T
    covered = np.mean((lower <= y) & (y <= upper))
    assert abs(covered - level) < four_standard_errors(level, n)


@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_the_mean_and_the_median_are_the_location_under_normal_noise(number):
    case = datasets.case(number)
    X = case.sample_inputs(10, random_state=6)
    assert_array_equal(case.mean(X), case.location(X))
    assert_allclose(case.quantile(X, 0.5), case.location(X), atol=1e-12)


def test_normal_quantiles_are_1_96_scales_from_the_mean_at_95_percent():
    X = [[-0.3], [0.2]]
    half_width = 1.959963984540054 * np.sqrt([0.28, 0.18])
    case = datasets.case(1)
    expected = np.stack([case.mean(X) - half_width, case.mean(X) + half_width], axis=1)
    assert_allclose(case.interval(X, 0.95), expected, rtol=1e-12)


def test_the_mean_of_case_5_includes_the_mean_of_its_noise():
    x = np.array([-0.8, 0.0, 0.7])
    assert_allclose(datasets.case(5).mean(x[:, np.newaxis]), np.sin(2 * x) + 0.5 + 2 * x)


def test_quantiles_of_case_5_swap_where_the_scale_is_negative():
    right, left = datasets.case(5).quantile([[0.5], [-1.0]], [0.2, 0.9])
    assert_allclose(right, np.sin(1.0) + 1.5 * np.log([1 / 0.8, 1 / 0.1]))
    assert_allclose(left, np.sin(-2.0) - 1.5 * np.log([1 / 0.2, 1 / 0.9]))


def test_case_5_is_certain_where_its_scale_is_zero():
    assert_array_equal(datasets.case(5).interval([[-0.25]], 0.9), np.sin([[-0.5, -0.5]]))


def test_outputs_of_case_5_lie_on_the_side_of_the_location_that_the_scale_points_to():
    case = datasets.case(5)
    X, y = case.sample(1000, random_state=7)
    assert_array_equal(np.sign(y - case.location(X)), np.sign(case.scale(X)))


def test_extreme_levels_stay_finite():
    assert np.all(np.isfinite(datasets.case(5).quantile([[-1.0], [1.0]], [1e-300, 1 - 1e-16])))


@pytest.mark.parametrize(("number", "low", "high"), [(1, -1.0, 1.0), (4, 0.0, 1.0), (5, -1.0, 1.0)])
def test_uniform_inputs_fill_their_range(number, low, high):
    X = datasets.case(number).sample_inputs(5000, random_state=8)
    assert low <= X.min() < low + 0.01
    assert high - 0.01 < X.max() <= high


@pytest.mark.parametrize("number", [2, 3])
def test_normal_inputs_are_standard_and_uncorrelated(number):
    n = 20_000
    X = datasets.case(number, dimension=3).sample_inputs(n, random_state=9)
    assert_allclose(X.mean(axis=0), 0.0, atol=4 / np.sqrt(n))
    assert_allclose(np.cov(X, rowvar=False), np.eye(3), atol=4 * np.sqrt(2 / n))


@every_case
def test_a_seed_fixes_the_sample(case):
    X, y = case.sample(5, random_state=10)
    X_again, y_again = case.sample(5, random_state=np.int64(10))
    assert_array_equal(X, X_again)
    assert_array_equal(y, y_again)
    assert_array_equal(X, case.sample_inputs(5, random_state=10))
    assert not np.array_equal(y, case.sample(5, random_state=11)[1])


def test_a_generator_advances_from_sample_to_sample():
    rng = np.random.default_rng(12)
    first, second = (datasets.case(1).sample(5, random_state=rng)[1] for _ in range(2))
    assert not np.array_equal(first, second)
    assert_array_equal(first, datasets.case(1).sample(5, random_state=12)[1])


def test_samples_without_a_seed_differ():
    assert not np.array_equal(datasets.case(1).sample(5)[1], datasets.case(1).sample(5)[1])


def test_sampling_leaves_the_global_random_state_alone():
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    datasets.case(1).sample(5)
    assert_array_equal(before, np.random.get_state()[1])  # noqa: NPY002


@pytest.mark.parametrize(
    ("dimension", "beta"), [(1, (1.0,)), (2, (1.0, 0.1)), (5, (1.0, 0.1, 0.1, 0.1, 0.1))]
)
def test_case_4_has_the_direction_of_the_paper_unless_told(dimension, beta):
    assert datasets.case(4, dimension=dimension) == datasets.case(4, beta=np.array(beta))


def test_cases_are_equal_when_their_parameters_are():
    assert datasets.case(2, dimension=3) == datasets.case(2, dimension=3)
    assert datasets.case(2, dimension=3) != datasets.case(3, dimension=3)
    assert datasets.case(4, beta=(1, 2)) != datasets.case(4, beta=(2, 1))


@every_case
def test_a_case_survives_pickling(case):
    assert pickle.loads(pickle.dumps(case)) == case


def test_the_five_cases_have_five_numbers_and_names():
    cases = [datasets.case(number) for number in range(1, 6)]
    assert [case.number for case in cases] == [1, 2, 3, 4, 5]
    assert len({case.name for case in cases}) == 5


@pytest.mark.parametrize("number", [0, 6, -1, "one", None, [1], {"case": 1}])
def test_an_unknown_case_is_refused(number):
    message = re.escape(f"number must be 1, 2, 3, 4 or 5, got {number!r}")
    with pytest.raises(ValueError, match=message):
        datasets.case(number)


@pytest.mark.parametrize("number", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("dimension", [0, -2, 1.5, "2"])
def test_a_dimension_that_is_no_count_is_refused(number, dimension):
    with pytest.raises(
        ValueError, match=f"dimension must be a whole number ≥ 1, got {dimension!r}"
    ):
        datasets.case(number, dimension=dimension)


@pytest.mark.parametrize("number", [1, 5])
def test_a_case_with_one_input_refuses_more(number):
    with pytest.raises(ValueError, match=f"dimension must be 1 in case {number}, got 2"):
        datasets.case(number, dimension=2)


@pytest.mark.parametrize("beta", [(), 1.0, (1.0, np.nan), (np.inf,), [[1.0, 2.0]]])
def test_a_direction_that_is_empty_nested_or_not_finite_is_refused(beta):
    with pytest.raises(ValueError, match="beta must be a flat sequence of one or more finite"):
        datasets.case(4, beta=beta)


def test_a_direction_that_contradicts_the_dimension_is_refused():
    with pytest.raises(ValueError, match="each of the 3 inputs, got 2"):
        datasets.case(4, dimension=3, beta=(1.0, 2.0))
    assert datasets.case(4, dimension=2, beta=(1.0, 2.0)).dimension == 2


@pytest.mark.parametrize("number", [1, 2, 3, 5])
def test_a_direction_is_refused_outside_case_4(number):
    with pytest.raises(ValueError, match=f"beta belongs to case 4, got .* in case {number}"):
        datasets.case(number, beta=(1.0,))


@pytest.mark.parametrize("level", [0.0, 1.0, -0.1, 90, np.nan, [0.5, 1.0], [[0.5]]])
def test_a_level_outside_the_open_unit_interval_is_refused(level):
    with pytest.raises(ValueError, match=r"level must be one number in \(0, 1\)"):
        datasets.case(1).quantile([[0.0]], level)
    with pytest.raises(ValueError, match=r"level must be one number in \(0, 1\)"):
        datasets.case(1).interval([[0.0]], level)


@pytest.mark.parametrize("method", ["location", "scale", "mean", "sample_outputs"])
@pytest.mark.parametrize("X", [0.5, [0.5, 0.2], [[0.5, 0.2, 0.1]], [[[0.5, 0.2]]]])
def test_inputs_of_the_wrong_shape_are_refused(method, X):
    with pytest.raises(ValueError, match=r"X must have shape \(n, 2\), got"):
        getattr(datasets.case(2, dimension=2), method)(X)


@pytest.mark.parametrize("n", [0, -3, 2.5, None])
def test_a_sample_size_that_is_no_count_is_refused(n):
    with pytest.raises(ValueError, match=f"n must be a whole number ≥ 1, got {n}"):
        datasets.case(1).sample(n)


@pytest.mark.parametrize("random_state", ["seed", 1.5, np.random.RandomState(0)])
def test_an_unknown_source_of_randomness_is_refused(random_state):
    with pytest.raises(TypeError, match=r"random_state must be None, a whole number or a numpy"):
        datasets.case(1).sample(3, random_state=random_state)
