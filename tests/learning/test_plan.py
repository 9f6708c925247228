import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression

from sosbands import SDP, Accelerated, Gaussian, KernelBand, Matern, Newton
from sosbands.learning.difficulty_trees import DifficultyTrees
from sosbands.learning.neighbours import NeighbourMean
from sosbands.learning.plan import KERNELS, SOLVERS, Rules
from tests.regressors import regressor


def rules(own_mean=True, **parameters):
    return Rules(KernelBand(**parameters), own_mean=own_mean)


@pytest.mark.parametrize(
    ("own_mean", "n", "sides"),
    [
        (True, 299, (True,)),
        (True, 300, (True, False)),
        (False, 99, (True,)),
        (False, 100, (False,)),
        (False, 10**6, (False,)),
    ],
)
def test_what_a_model_leaves_is_two_sided_and_a_kernel_mean_has_a_choice(own_mean, n, sides):
    assert rules(own_mean).sides(n) == sides
    for given in (True, False):
        assert rules(own_mean, symmetric=given).sides(n) == (given,)


def test_the_training_coverage_is_nearer_to_the_level_for_two_sides():
    assert (rules().coverage(symmetric=True), rules().coverage(symmetric=False)) == (0.8, 0.9)
    hard = rules(training_coverage=1.0)
    assert hard.coverage(symmetric=True) == hard.coverage(symmetric=False) == 1.0
    assert rules().soft
    assert not hard.soft


@pytest.mark.parametrize(
    ("n", "weight"), [(10, 10), (100, 10), (400, 40), (2500, 250), (10**6, 5000)]
)
def test_the_weight_of_the_width_grows_with_the_rows(n, weight):
    assert rules().width_weight(n) == pytest.approx(weight)
    given = rules(width_weight=7.0)
    assert (given.width_weight(n), given.width_factors(n)) == (7.0, (1.0,))


@pytest.mark.parametrize(("n", "factors"), [(399, (1.0, 3.0, 10.0)), (400, (3.0,))])
def test_few_rows_try_several_weights_of_the_width(n, factors):
    assert rules().width_factors(n) == factors


def test_a_joint_mean_that_is_two_sided_has_a_weight_of_its_own():
    assert (rules().mean_weight(symmetric=True), rules().mean_weight(symmetric=False)) == (0, 1000)
    assert rules(mean_weight=3.0).mean_weight(symmetric=False) == 3.0


@pytest.mark.parametrize(
    ("own_mean", "anisotropy", "weight"),
    [
        (True, "likelihood", 0.0),
        (False, "likelihood", 1.0),
        (False, "hsic", 1.0),
        (False, "none", 3.0),
    ],
)
def test_the_prediction_counts_around_a_model(own_mean, anisotropy, weight):
    assert rules(own_mean, anisotropy=anisotropy).prediction_weight == weight
    given = rules(own_mean, anisotropy=anisotropy, prediction_weight=0.5)
    assert given.prediction_weight == 0.5


@pytest.mark.parametrize("own_mean", [True, False])
def test_caution_is_for_several_inputs(own_mean):
    assert rules(own_mean).caution(1) == 0.0
    assert rules(own_mean).cautions(1) == (0.0,)
    assert rules(own_mean).caution(2) in rules(own_mean).cautions(2)
    assert min(rules(own_mean).cautions(2)) > 0
    assert rules(own_mean, caution=0.3).cautions(2) == (0.3,)


@pytest.mark.parametrize(
    ("n", "kind"),
    [
        *[(99, None), (100, NeighbourMean), (499, NeighbourMean), (500, DifficultyTrees)],
        *[(1999, DifficultyTrees), (2000, HistGradientBoostingRegressor)],
    ],
)
def test_the_more_rows_there_are_the_more_may_guess(n, kind):
    guess = rules(own_mean=False).difficulty(n, least_fold=n // 2)
    assert guess is None if kind is None else isinstance(guess, kind)
    assert rules().difficulty(n, least_fold=n // 2) is None
    given = LinearRegression()
    assert rules(difficulty=given).difficulty(n, least_fold=5) is given
    assert rules(own_mean=False, difficulty=None).difficulty(n, least_fold=5) is None


@pytest.mark.parametrize("n", [500, 1999, 2000, 20_000])
def test_around_an_average_of_models_extra_trees_guess_as_well_of_any_number_of_rows(n):
    around_one, around_many = (
        Rules(KernelBand(), own_mean=False, stacked=stacked).difficulty(n, least_fold=n // 2)
        for stacked in (False, True)
    )
    assert isinstance(around_many, DifficultyTrees)
    boosting = around_one.boosting if n < 2000 else around_one
    assert around_many.boosting.get_params() == boosting.get_params()


def test_one_of_several_bands_has_half_of_the_extra_trees():
    alone, part = (
        Rules(KernelBand(), own_mean=False, part=part).difficulty(500, least_fold=400)
        for part in (False, True)
    )
    assert (alone.extra.n_estimators, part.extra.n_estimators) == (40, 20)
    assert part.boosting.get_params() == alone.boosting.get_params()


def test_neighbours_are_not_more_than_the_rows_of_a_fold():
    assert rules(own_mean=False).difficulty(110, least_fold=80).n_neighbors == 15
    assert rules(own_mean=False).difficulty(110, least_fold=9).n_neighbors == 9


def test_every_kernel_and_every_solver_has_a_name():
    assert {"gaussian": Gaussian, "matern": Matern} == KERNELS
    assert {"newton": Newton, "accelerated": Accelerated, "sdp": SDP} == SOLVERS
    for name, kind in KERNELS.items():
        made = rules(kernel=name, offset=0.5).kernel((1.0, 2.0))
        assert isinstance(made, kind)
        assert (made.lengthscale, made.offset) == ((1.0, 2.0), 0.5)
    for name, kind in SOLVERS.items():
        made = rules(solver=name).solver(1e-3)
        assert isinstance(made, kind)
        assert made.tol == 1e-3


def test_a_solver_that_is_given_has_its_own_tolerance():
    own = Newton(tol=0.05)
    assert rules(solver=own).solver(1e-9) is own
    assert rules(solver=own).fold_solver is own


def test_fold_problems_are_solved_less_exactly():
    assert rules().fold_solver.tol == 1e-2


@pytest.mark.parametrize(("n", "whole", "fold"), [(10, 35, 20), (500, 62, 31), (10**5, 80, 35)])
def test_ranks_grow_with_the_rows_within_bounds(n, whole, fold):
    assert rules().rank(n, fold=False) == whole
    assert rules().rank(n, fold=True) == fold
    assert rules(max_rank=7).rank(n, fold=True) == 7


@pytest.mark.parametrize("parameters", [{"standardize": False}, {"solver": "sdp"}])
def test_the_form_and_the_solvers_of_the_paper_take_all_features(parameters):
    assert rules(**parameters).rank(10**4, fold=False) is None


def test_features_of_the_form_of_the_paper_are_exact_to_rounding():
    assert (rules().feature_tol, rules(standardize=False).feature_tol) == (1e-8, 1e-10)


def test_sizes_go_from_what_rows_can_resolve_to_nearly_constant():
    for n, d, count in ((50, 1, 4), (50, 2, 3), (10**4, 1, 4)):
        sizes = rules().sizes(n, d)
        assert len(sizes) == count
        assert sizes[0] == pytest.approx((100 / max(n, 100)) ** 0.25)
        assert sizes[-1] == pytest.approx(4.5)
        assert np.ptp(np.diff(np.log(sizes))) < 1e-9
    assert len(rules(anisotropy="none").sizes(50, 2)) == 4
    assert rules(lengthscale=0.3).sizes(50, 1) == (1.0,)


def test_hsic_alone_searches_in_wide_bounds():
    alone = rules(anisotropy="hsic")
    assert alone.criterion_alone
    assert alone.sizes(50, 3) == (0.1, 0.2, 0.4, 0.8, 1.6, 3.2)
    assert (alone.evaluations(3), rules().evaluations(3)) == (15, 0)
    assert not rules(anisotropy="hsic", lengthscale=1.0).criterion_alone


def test_tuning_looks_at_more_rows_the_more_inputs_there_are():
    assert [Rules.tuning_rows(d) for d in (1, 2, 3, 50)] == [500, 750, 1000, 1000]
    assert Rules.shape_rows() == 350


def test_a_joint_mean_around_a_model_is_refused():
    rules(joint_mean=True).check()
    assert rules(joint_mean=True).joint
    with pytest.raises(ValueError, match="joint_mean=True learns a kernel mean, but the band"):
        rules(own_mean=False, joint_mean=True).check()


@pytest.mark.parametrize("kernel", ["cubic", None, Gaussian, Gaussian(1.0)])
def test_what_is_no_name_of_a_kernel_is_refused(kernel):
    with pytest.raises(ValueError, match=r"kernel must be one of \('gaussian', 'matern'\), got"):
        rules(kernel=kernel).check()
    with pytest.raises(ValueError, match="kernel must be one of"):
        regressor(kernel=kernel).fit(np.zeros((20, 1)), np.zeros(20))


@pytest.mark.parametrize("solver", ["simplex", Newton, None, 3])
def test_what_is_no_solver_is_refused(solver):
    with pytest.raises(ValueError, match="solver must be a Solver or one of"):
        rules(solver=solver).check()


@pytest.mark.parametrize(
    ("own_mean", "n", "parameters", "blends"),
    [
        (False, 50, {}, True),
        (False, 4999, {}, True),
        (False, 5000, {}, False),
        (True, 500, {}, False),
        (False, 500, {"symmetric": False}, True),
        (False, 500, {"symmetric": True}, False),
        (False, 50, {"centre_penalty": None}, False),
        (False, 500, {"training_coverage": 0.9}, False),
        (False, 500, {"training_coverage": 0.9, "centre_penalty": 0.1}, True),
    ],
)
def test_a_given_mean_is_blended_where_bands_have_a_centre(own_mean, n, parameters, blends):
    assert rules(own_mean, **parameters).blends(n) is blends


def test_the_kernel_mean_of_a_blend_has_limits():
    assert rules().blend_limits(1000, None) == {"search_rows": 500, "max_rank": 547}
    assert rules().blend_limits(4000, 500) == {"search_rows": 250, "max_rank": 273}
