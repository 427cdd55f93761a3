"""The franchise: exact matrices of both steps over all seats and dishes, planted faults, resumed chains."""

import functools
from math import log

import numpy as np
import pytest

from mapdpm import NormalGamma, NormalKnownVariance
from mapdpm.likelihoods._template_nonconjugate import LaplaceData
from mapdpm.samplers import ChineseRestaurantFranchise, DirectAssignment, GammaPrior, Info, _seating, sample
from mapdpm.samplers import _franchise_given_parameters as given_module
from mapdpm.samplers import chinese_restaurant_franchise as module
from mapdpm.samplers._whole_tables import OfTables
from mapdpm.samplers._with_parameters import Counted
from mapdpm.testing.enumeration import canonical_franchise, franchises, labellings
from mapdpm.testing.quadrature import QuadratureRng
from tests.families import FAMILIES, example
from tests.marks import complete_but
from tests.nonconjugate import PRIOR, VALUES, FewMeans
from tests.oracle import franchise as oracle
from tests.samplers.grouped_states import lag, lag_of_seats
from tests.samplers.same_draws import assert_compiled_is_plain, assert_resumes

ALPHA, GAMMA = 1.5, 0.8


class OnePoint(ChineseRestaurantFranchise):
    """Redraws the seat of one point. A step is one of each in turn, and then the dishes."""

    def __init__(self, i):
        super().__init__(ALPHA, GAMMA)
        self.i = i

    def _seating(self, chain):
        return super()._seating(chain)._replace(points=np.array([self.i]))

    def redraw_dishes(self, chain, seats, rng):
        return Info(chain.n_clusters)


class Dishes(ChineseRestaurantFranchise):
    """Redraws the dishes, and no seats."""

    def __init__(self, split_merge=False, gibbs=True):
        super().__init__(ALPHA, GAMMA, split_merge=split_merge)
        for part in self.samplers[1:]:
            part.n_proposals = 1  # if one leaves the posterior invariant, more do
        self.samplers = self.samplers[not gibbs :]

    def redraw_seats(self, chain, rng):
        return 0


def points(family=NormalKnownVariance, n=5, D=1):
    return example(family, np.random.default_rng(8), n=n, D=D)


def lag_of(sampler, family=NormalKnownVariance, sizes=(2, 2)):
    return lag_of_seats(sampler, *points(family, sum(sizes)), sizes)


@pytest.mark.parametrize(
    ("sizes", "family"),
    [
        ((2, 2), NormalKnownVariance),
        *(pytest.param((2, 2), family, marks=pytest.mark.complete) for family in FAMILIES[2:]),
        *(pytest.param((2, 3), family, marks=pytest.mark.slow) for family in FAMILIES),
    ],
)
def test_each_part_leaves_the_posterior_invariant(sizes, family):
    """The seats of points, and the dishes: a step is their product, and reaches every state."""
    step = 1.0
    for sampler in (*map(OnePoint, range(sum(sizes))), Dishes()):
        off, P = lag_of(sampler, family, sizes)
        assert off < 1e-12
        step = step @ P if np.ndim(step) else P
    assert np.all(np.linalg.matrix_power(step, len(step)) > 0.0)


@pytest.mark.parametrize("family", complete_but([NormalKnownVariance], FAMILIES))
def test_splits_and_merges_of_dishes_leave_it_invariant(family):
    off, P = lag_of(Dishes(split_merge=True, gibbs=False), family)
    assert off < 1e-12
    assert np.count_nonzero(P) > len(P)  # it moves


@pytest.mark.complete
def test_a_whole_step():
    off, P = lag_of(ChineseRestaurantFranchise(ALPHA, GAMMA), sizes=(2, 1))
    assert off < 1e-12
    assert np.all(P > 0.0)


@pytest.mark.slow
def test_a_step_beside_direct_assignment():
    sampler = ChineseRestaurantFranchise(ALPHA, GAMMA) + DirectAssignment(ALPHA, GAMMA)
    off, _ = lag_of_seats(sampler, *points(n=2), (1, 1), rng=QuadratureRng(3))
    assert off < 1e-4  # 3 nodes of quadrature for each share


# ---- given parameters ------------------------------------------------------------------------------------------------


class SeatThenDishes(ChineseRestaurantFranchise):
    """Redraws the seat of one point given parameters, then all dishes, which must see the tables that this changed."""

    def __init__(self, i=0):
        super().__init__(ALPHA, GAMMA, summed=False)
        self.i = i

    def _seating(self, chain):
        return super()._seating(chain)._replace(points=np.array([self.i]))

    def redraw_parameters(self, chain, accepts, n_jobs, rng):
        return 0


class OneSeatGiven(SeatThenDishes):
    """Redraws the seat of one point, and nothing else that the state has."""

    def redraw_dishes_given(self, chain, rng):
        return 0


class DishesGiven(SeatThenDishes):
    """Redraws dishes."""

    def redraw_seats(self, chain, rng):
        return 0


class ParametersGiven(OneSeatGiven):
    """Redraws parameters by Metropolis-Hastings."""

    def redraw_seats(self, chain, rng):
        return 0

    redraw_parameters = ChineseRestaurantFranchise.redraw_parameters


def lag_without_conjugacy(sampler, sizes=(2, 1)):
    """Over all seats, dishes, and parameters of dishes, of which there are two."""
    X, family, groups = np.array([[-0.8], [0.3], [1.1]]), FewMeans(), np.repeat([0, 1], sizes)

    def log_joint(tables, dishes, means):
        labels = np.array([dishes[t] for t in tables])
        clusters = sum(family.log_likelihood((VALUES[means[k]],), X, i) for i, k in enumerate(labels))
        priors = sum(log(PRIOR[mean]) for mean in means)
        return oracle.log_franchise(tables, dishes, groups.tolist(), ALPHA, GAMMA) + clusters + priors

    found = [(t, d, m) for t, d in franchises(sizes) for m in labellings(max(d) + 1, 2)]

    def enter(chain, state):
        tables, dishes, means = map(np.array, state)
        chain.become(dishes[tables])
        sampler.count_tables(chain, [tables])
        chain.aux["parameters"][: len(means), 0] = np.array(VALUES)[means]

    def key(chain):
        tables, labels = chain.aux["tables"], chain.state.labels
        dishes = np.zeros(tables.max() + 1, dtype=np.int64)
        dishes[tables] = labels
        means = [VALUES.index(chain.aux["parameters"][k, 0]) for k in dict.fromkeys(labels.tolist())]
        return (*canonical_franchise(tables, dishes), tuple(means))

    joints = [log_joint(*state) for state in found]
    return lag(sampler, Counted(family), X, found, joints, enter, key, groups)


def test_each_part_without_conjugacy():
    step = np.eye(1)
    for sampler in (*map(OneSeatGiven, range(3)), DishesGiven(), ParametersGiven()):
        off, P = lag_without_conjugacy(sampler)
        assert off < 1e-12
        step = P if len(step) == 1 else step @ P
    assert np.all(np.linalg.matrix_power(step, len(step)) > 0.0)


@pytest.mark.parametrize("i", complete_but([2], [0, 2]))
def test_dishes_after_a_seat(i):
    assert lag_without_conjugacy(SeatThenDishes(i))[0] < 1e-12


def test_a_dish_drawn_anew_for_a_point_alone_shows(monkeypatch):
    """As Teh2004 (32) is printed: its stationary distribution is another."""

    def anew(right, state, seating, old, alone, rng):
        return right(state, seating, old, False, rng)

    monkeypatch.setattr(given_module, "dish_of_new_table", functools.partial(anew, given_module.dish_of_new_table))
    assert lag_without_conjugacy(OneSeatGiven(2))[0] > 1e-3


@pytest.mark.parametrize(
    "sampler", [OneSeatGiven(0), OneSeatGiven(1), pytest.param(DishesGiven(), marks=pytest.mark.complete)]
)
def test_parameters_of_a_conjugate_family(sampler):
    X = np.array([[-0.6], [0.9]])
    family = NormalKnownVariance(0.0, 2.0, 1.0).for_data(X)
    assert lag_of_seats(sampler, family, X, (1, 1), rng=QuadratureRng(16))[0] < 1e-4


def test_chains_given_parameters():
    X, groups = many()
    sampler = ChineseRestaurantFranchise(summed=False, likelihood=LaplaceData(), alpha_prior=GammaPrior(1, 1))
    assert_resumes(sampler, X[:, :1], groups=groups)
    sampler = ChineseRestaurantFranchise(summed=False, likelihood=NormalGamma(4.0, 0.01, 2.0, 1.0))
    assert_resumes(sampler, X, groups=groups)
    with pytest.raises(ValueError, match="take summed=True"):
        ChineseRestaurantFranchise(summed=False, split_merge=True)
    with pytest.raises(ValueError, match="knows no times"):
        sample(X, sampler, groups=groups, times=groups, draws=1)


# ---- planted faults --------------------------------------------------------------------------------------------------


def with_fault(name, fault, monkeypatch):
    monkeypatch.setattr(module, name, functools.partial(fault, getattr(module, name)))


def guests_for_tables(right, seating, j, scores, free, choices):
    """n_.k for m_.k."""
    used = seating.sizes > 0
    tables = np.bincount(seating.dishes[used], seating.sizes[used], len(seating.tables)).astype(int)
    return right(seating._replace(tables=tables), j, scores, free, choices)


def new_table_only_with_new_dish(right, seating, j, scores, free, choices):
    n_seats = right(seating, j, scores, free, choices)
    choices[n_seats : n_seats + len(scores)][np.arange(len(scores)) != free] = -np.inf
    return n_seats


def alpha_dropped(right, seating, j, scores, free, choices):
    return right(seating._replace(alpha=1.0), j, scores, free, choices)


def gamma_dropped(right, seating, j, scores, free, choices):
    return right(seating._replace(gamma_of_dishes=1.0), j, scores, free, choices)


@pytest.mark.parametrize("fault", [guests_for_tables, new_table_only_with_new_dish, alpha_dropped, gamma_dropped])
def test_faults_of_seats_show(fault, monkeypatch):
    with_fault("fill_choices", fault, monkeypatch)
    assert max(lag_of(OnePoint(i))[0] for i in (0, 3)) > 1e-3


def test_a_table_left_in_the_count_shows(monkeypatch):
    """The table that a point has left empty counts on."""

    class Left(OnePoint):
        def _seating(self, chain):
            seating = super()._seating(chain)
            alone = seating.sizes[seating.seats[self.i]] == 1
            tables = seating.tables.copy()
            tables[chain.state.labels[self.i]] += int(alone)
            return seating._replace(tables=tables)

    assert max(lag_of(Left(i))[0] for i in (0, 3)) > 1e-3


@pytest.mark.complete
def test_a_product_of_predictives_shows(monkeypatch):
    """The classic fault: the points of a table one by one, each given the dish without the others."""

    def product(self, row, data, i):
        rest, blank = row[1:], np.zeros(self.likelihood.size())
        self.likelihood.init(blank)
        members = PARTS[data.log_marginals[i]]
        return sum(self.likelihood.log_predictive(rest, POINTS, p) for p in members)

    likelihood, POINTS = points(n=4)
    PARTS = {
        likelihood.log_marginal(row): np.flatnonzero(mask)
        for mask in (np.arange(1, 16)[:, None] >> np.arange(4) & 1)
        for row in [_row(likelihood, POINTS, np.flatnonzero(mask))]
    }
    monkeypatch.setattr(OfTables, "log_predictive", product)
    assert lag_of(Dishes())[0] > 1e-3


def _row(likelihood, data, members):
    row = np.zeros(likelihood.size())
    likelihood.init(row)
    for i in members:
        likelihood.add(row, data, i, 1.0)
    likelihood.prepare(row)
    return row


# ---- chains ----------------------------------------------------------------------------------------------------------


def many(n=120):
    rng = np.random.default_rng(0)
    return 4.0 * rng.integers(0, 3, (n, 2)) + rng.normal(size=(n, 2)), rng.integers(0, 6, n)


@pytest.mark.complete
@pytest.mark.parametrize("split_merge", [False, True])
def test_compiled_and_plain_draw_the_same(split_merge):
    X, groups = many(60)
    likelihood = NormalGamma(4.0, 0.01, 2.0, 1.0).for_data(X)
    sampler = ChineseRestaurantFranchise(1.0, split_merge=split_merge, likelihood=likelihood)
    assert_compiled_is_plain(sampler, X, likelihood, groups=groups)


def test_seats_belong_to_groups_and_dishes():
    X, groups = many()
    trace = sample(X, ChineseRestaurantFranchise(likelihood=NormalGamma(4.0, 0.01, 2.0, 1.0)), groups=groups, draws=5)
    for draw in range(5):
        tables, labels = trace.extra["tables"][0, draw], trace.partitions[0, draw]
        m = np.zeros_like(trace.extra["m"][0, draw])
        for t in range(tables.max() + 1):
            (group,), (dish,) = set(groups[tables == t]), set(labels[tables == t])
            m[list(dict.fromkeys(groups)).index(group), dish] += 1
        np.testing.assert_array_equal(m, np.maximum(trace.extra["m"][0, draw], 0))


def test_resumed_chains_are_those_that_never_stopped():
    X, groups = many()
    sampler = ChineseRestaurantFranchise(alpha_prior=GammaPrior(1, 1), gamma_prior=GammaPrior(1, 0.1))
    assert_resumes(sampler, X, groups=groups, chains=2)
    assert_resumes(
        sampler + DirectAssignment(alpha_prior=GammaPrior(1, 1), gamma_prior=GammaPrior(1, 0.1)), X, groups=groups
    )


def test_one_level_of_groups():
    with pytest.raises(ValueError, match="takes one level of groups, got 2; DirectAssignment"):
        sample(np.zeros((4, 1)), ChineseRestaurantFranchise(), groups=np.zeros((4, 2)), draws=1)


def test_weights_of_a_point_in_words():
    """fill_choices on one case, by hand: two tables of sizes 2 and 1, dishes with 3 and 1 tables."""
    seating = _seating.Seating(
        points=np.arange(4), begins=np.array([0, 4]), groups=np.zeros(4, dtype=int), seats=np.array([0, 0, 1, -1]),
        sizes=np.array([2, 1, 0, 0]), dishes=np.array([0, 1, 0, 0]), tables=np.array([3, 1, 0]), alpha=0.5,
        gamma_of_dishes=2.0,
    )  # fmt: skip
    choices = np.zeros(7)
    assert module.fill_choices(seating, 0, np.array([-1.0, -2.0, -3.0]), 2, choices) == 2
    expected = [log(2) - 1, log(1) - 2, log(0.5 * 3 / 6) - 1, log(0.5 * 1 / 6) - 2, log(0.5 * 2 / 6) - 3]
    np.testing.assert_allclose(choices[:5], expected, rtol=1e-12)
