"""Full covariance matrices in C: the decisions of the plain Python twin, on data that is hard for a factor."""

import numpy as np
import pytest

from mapdpm import MAPDPM, NormalInverseWishart
from mapdpm import state as states
from mapdpm.backends import BACKENDS, resolve
from mapdpm.partition_priors import partition_prior
from mapdpm.protocol import Model
from mapdpm.testing.data import hostile
from tests.marks import complete_but, slow_but

MOVES = ("merge", "split", "permutation", "regroup")


def problem(seed, i, most_points):
    """A hostile problem, with a prior of full matrices: empirical, diagonal, or one whose features depend."""
    generator = np.random.default_rng([seed, i])
    case = hostile(generator, most_points)
    D = case.X.shape[1]
    if i % 3 == 0:
        return case._replace(likelihood=NormalInverseWishart.empirical(case.X, case.weights))
    mixing = generator.normal(size=(D, D)) / np.sqrt(D)
    psi0 = mixing @ mixing.T + 0.1 * np.eye(D) if i % 3 == 1 else 0.1 + generator.random(D)
    c0, more = float(generator.choice([1e-3, 0.1, 1.0])), float(generator.choice([0.5, 2.0, 10.0]))
    return case._replace(likelihood=NormalInverseWishart(np.median(case.X, axis=0), c0, D - 1.0 + more, psi0))


def agree(case, names, moves):
    """Labels, sweeps and predictions are equal; the log joint and densities as far as their digits go.

    Let z be the distance of the farthest point of a cluster, in units of psi0's smallest axis. Distances in the other
    directions are differences of numbers of size z, each rounded, by factors that D such steps made: off by 2^-52 D z,
    which exponents multiply, half the weight of the cluster and D. With z = 1e15 neither side has digits left there.
    """
    parameters = case._asdict()
    X, weights = parameters.pop("X"), parameters.pop("weights")
    models = [MAPDPM(backend=name, moves=moves, **parameters).fit(X, sample_weight=weights) for name in names]
    one, two = models
    np.testing.assert_array_equal(one.labels_, two.labels_)
    assert (one.n_sweeps_, one.converged_) == (two.n_sweeps_, two.converged_)
    for novelty in (False, True):
        np.testing.assert_array_equal(one.predict(X, novelty), two.predict(X, novelty))
    prior, D = one.likelihood_, X.shape[1]
    z = np.linalg.norm(X - prior.m0, axis=1) / np.sqrt(np.linalg.eigvalsh(prior.psi0)[0])
    farthest = np.array([z[one.labels_ == k].max() for k in range(one.n_clusters_)])
    lost = 2.0**-52 * D * farthest * (D + 0.5 * np.bincount(one.labels_, weights))
    assert abs(one.log_joint_ - two.log_joint_) <= 1e-9 + 1e-10 * abs(one.log_joint_) + lost.sum()
    densities, others = (model.score_samples(X) for model in models)
    assert np.all(np.abs(densities - others) <= 1e-9 * (1.0 + np.abs(densities)) + lost[one.labels_])


@pytest.mark.parametrize("first", complete_but([10], range(0, 40, 2)))
def test_c_and_python_agree(first):
    for i in (first, first + 1):
        agree(problem(1, i, 25), ("c", "python"), MOVES if i % 10 == 0 else ())


@pytest.mark.complete
@pytest.mark.parametrize("first", slow_but([0], range(0, 60, 10)))
def test_c_and_numba_agree(first):
    for i in range(first, first + 10):
        agree(problem(2, i, 200), ("c", "numba"), ())


@pytest.mark.slow
@pytest.mark.parametrize("i", range(0, 60, 4))
def test_c_and_numba_agree_on_moves(i):
    """Compiling them takes minutes."""
    agree(problem(2, i, 200), ("c", "numba"), MOVES)


@pytest.mark.slow
def test_all_agree():
    for i in range(400):
        agree(problem(3, i, 400), ("c", "numba"), MOVES[:2])
        agree(problem(4, i, 80), ("c", "python"), ())


@pytest.mark.parametrize("outlier", [0.0, 1e4, 1e8, 1e12])
def test_sums_of_squares_are_used_where_they_keep_digits(outlier):
    """Rows made anew have the factor that numpy finds by QR, of the points and psi0's root, without squares."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5))
    X[7] += outlier * rng.normal(size=5)
    likelihood = NormalInverseWishart(np.zeros(5), 0.1, 7.0, np.diag([1.0, 0.1, 1.0, 2.0, 1.0]))
    state = states.empty(likelihood, 60, 3)._replace(labels=np.arange(60) % 2)
    BACKENDS["c"].statistics(Model(likelihood, partition_prior(1.0), X, None), state)
    for k in range(2):
        own = X[state.labels == k]
        R = np.linalg.qr(np.vstack([np.sqrt(likelihood.psi0), own - own.mean(axis=0)]), mode="r")
        factor = (R * np.sign(np.diag(R))[:, None]).T[np.tril_indices(5)]
        assert state.counts[k] == state.rows[k, 0] == 30
        # both are backward stable: what rounding leaves is relative to the largest entry
        np.testing.assert_allclose(state.rows[k, 6:21], factor, rtol=0.0, atol=1e-13 * (1.0 + outlier))


def test_a_fit_without_numba_is_one_in_c():
    assert resolve("auto", NormalInverseWishart(0.0, 0.1, 4.0, 1.0)).name == "c"
    X = np.random.default_rng(1).normal(size=(50, 2)).astype(np.float32)
    fits = [MAPDPM(likelihood=NormalInverseWishart, backend=name).fit(X) for name in ("c", "python")]
    np.testing.assert_array_equal(fits[0].labels_, fits[1].labels_)
    assert fits[0].backend_ == "c"


def test_a_score_does_not_depend_on_company():
    """Neither on what is scored with a point, nor on the number of threads: to the last bit."""
    rng = np.random.default_rng(2)
    X = np.repeat(rng.normal(size=(5, 9)) * 6.0, 60, axis=0) + rng.normal(size=(300, 9)) @ rng.normal(size=(9, 9))
    model = MAPDPM(likelihood=NormalInverseWishart.empirical(X), backend="c").fit(X)
    Y = np.tile(X, (20, 1))
    scores = model.score_samples(Y)
    np.testing.assert_array_equal(scores, np.tile(scores[:300], 20))
    np.testing.assert_array_equal(scores[:50], [model.score_samples(x[None])[0] for x in X[:50]])
    for n_jobs in (2, 100_000):
        np.testing.assert_array_equal(model.set_params(n_jobs=n_jobs).score_samples(Y), scores)
