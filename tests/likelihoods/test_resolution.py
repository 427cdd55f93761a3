"""Values rounded to steps: a lower bound of the density of cells, and verbs that are exact differences of it."""

import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate

from mapdpm import (
    MAPDPM,
    Mixed,
    NormalGamma,
    NormalInverseWishart,
    NormalKnownVariance,
    OnlineMAPDPM,
)
from mapdpm.likelihoods._parameters import steps_of
from mapdpm.likelihoods._skipping import Skipping
from mapdpm.search import fit as fitting
from mapdpm.search.widths import Widths
from mapdpm.testing import laws
from mapdpm.testing.backends import agree
from mapdpm.testing.data import hostile
from tests.families import example
from tests.marks import complete_but, slow_but
from tests.missing_values import with_gaps
from tests.oracle import cells, raw

SEEDS = st.integers(0, 2**32 - 1)
INDEPENDENT = (NormalGamma, NormalKnownVariance)
ROUNDED = (*INDEPENDENT, NormalInverseWishart)
STEPS = np.array([1.0, 0.0, 0.25])


def rounded(family, seed, n=9, steps=STEPS):
    """A family with steps, and points that are rounded to them; a step of 0 leaves a column as it is."""
    likelihood, X = example(family, np.random.default_rng(seed), n, len(steps))
    whole = np.where(steps > 0.0, steps, 1.0)
    return likelihood._replace(resolution=steps), np.where(steps > 0.0, np.round(X / whole) * whole, X)


def marginal(likelihood, X):
    return likelihood.log_marginal(laws.row_of(likelihood, X, range(len(X))))


# ---- the bound -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", complete_but([10], [10, 300]))
@pytest.mark.parametrize("family", INDEPENDENT)
def test_it_is_below_the_density_of_cells(family, n):
    """By quadrature over the parameters, of clusters of 1 to 6 points and steps from a tenth to ten deviations."""
    for seed in range(n):
        rng = np.random.default_rng([1, seed])
        likelihood, X = rounded(family, seed, int(rng.integers(1, 7)), np.array([10.0 ** rng.uniform(-1.0, 1.0)]))
        exact = cells.log_marginal(X[:, 0], likelihood)
        assert marginal(likelihood, X) <= exact + 1e-9 * (1.0 + abs(exact))


@pytest.mark.parametrize("n", complete_but([4], [4, 100]))
@pytest.mark.parametrize("family", INDEPENDENT)
def test_it_is_off_by_the_square_of_the_step(family, n):
    """By q^2 / 24 sum_i E[tau^2 (x_i - mu)^2], maths (149), and a share of that which falls with q^2, too."""
    for seed in range(n):
        rng = np.random.default_rng([2, seed])
        likelihood, X = example(family, rng, int(rng.integers(1, 7)), 1)
        unit, shares = 1.0 / math.sqrt(cells.precision(likelihood)), []
        for step in (0.1 * unit, 0.05 * unit):
            fine = likelihood._replace(resolution=step)
            gap = cells.log_marginal(X[:, 0], fine) - marginal(fine, X)
            shares.append(gap / (step**2 / 24.0 * cells.expected_squares(X[:, 0], likelihood)) - 1.0)
        assert abs(shares[0]) < 0.1
        assert shares[1] == pytest.approx(shares[0] / 4.0, rel=0.05, abs=1e-6)


@given(seed=SEEDS)
def test_full_covariances_of_one_feature_are_normal_gamma(seed):
    one, X = rounded(NormalInverseWishart, seed, steps=np.array([0.5]))
    two = NormalGamma(one.m0, one.c0, one.nu0 / 2.0, one.psi0[:, 0] / 2.0, one.resolution)
    said = []
    for family in (one, two):
        row = laws.row_of(family, X, range(8))
        parts = [laws.row_of(family, X, points) for points in (range(4), range(4, 8))]
        parameters = np.empty(family.n_parameters())
        family.tangent(row, parameters)
        gains = family.log_predictive(row, X, 8), family.log_predictive_weighted(row, X, 8, 0.3)
        said.append([*gains, family.log_marginal(row), family.log_merge(row, *parts), parameters[0]])
    np.testing.assert_allclose(*said, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("n", complete_but([4], [4, 60]))
def test_full_covariances_are_below_the_density_of_cells(n):
    """One or two points of two features: the mean of their density over the cells, by Gauss and Legendre's nodes."""
    for seed in range(n):
        likelihood, X = rounded(NormalInverseWishart, seed, 1 + seed % 2, np.array([1.0, 0.3]))
        exact = cells.log_mean_over_cells(X, likelihood)
        assert marginal(likelihood, X) <= exact + 1e-9 * (1.0 + abs(exact))
        fine = likelihood._replace(resolution=likelihood.resolution / 50.0)
        assert 0.0 <= cells.log_mean_over_cells(X, fine) - marginal(fine, X) <= 0.01


# ---- the verbs -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", ROUNDED)
@given(seed=SEEDS)
def test_laws(family, seed):
    likelihood, X = rounded(family, seed)
    laws.check_likelihood(likelihood, X, 9, seed)


@pytest.mark.parametrize("family", INDEPENDENT)
@given(seed=SEEDS)
def test_laws_with_missing_values(family, seed):
    likelihood, X = rounded(family, seed)
    laws.check_likelihood(Skipping(likelihood, 3), with_gaps(X, 0.4, seed), 9, seed)


@pytest.mark.parametrize("family", ROUNDED)
def test_laws_notice_what_is_left_out(family):
    """Planted faults: points whose cells stay when they are removed, and a predictive without the cell."""

    def removes_no_cell(self, row, data, i, w):
        done = family.remove(self, row, data, i, w)
        D = len(self.m0)
        row[1 + D : 1 + 2 * D] += w * self.resolution**2 / 12.0
        return done

    def forgets_its_cell(self, row):
        plain = self._replace(resolution=0.0)
        family.prepare(family(*plain), row)

    likelihood, X = rounded(family, 1)
    for verb, broken, law in (
        ("remove", removes_no_cell, laws.removal_inverts_addition),
        ("prepare", forgets_its_cell, laws.chain_rule),
    ):
        kind = type(family.__name__, (family,), {"__slots__": (), verb: broken})
        with pytest.raises(AssertionError):
            law(kind(*likelihood), X, np.random.default_rng(1).permutation(9))


@pytest.mark.parametrize("family", ROUNDED)
def test_steps_go_with_units(family):
    """In units of any size and sign the density is that of the other data, but for the units themselves."""
    likelihood, X = rounded(family, 3)
    scale = np.array([2.0, -0.3, -40.0])
    there = likelihood.scaled(scale).shifted(np.array([1.0, 2.0, 3.0]))
    assert there.resolution.tolist() == [2.0, 0.0, 10.0]
    bound = marginal(there, X * scale - [1.0, 2.0, 3.0]) + len(X) * np.log(np.abs(scale)).sum()
    assert bound == pytest.approx(marginal(likelihood, X), rel=1e-12)


def test_a_resolution_is_checked_and_said_where_there_is_one():
    prior = NormalGamma([0.0, 0.0], 0.1, 1.0, 1.0, 0.5)
    assert prior.resolution.tolist() == [0.5, 0.5]
    assert prior == NormalGamma(0.0, 0.1, 1.0, [1.0, 1.0], resolution=0.5) != prior._replace(resolution=0.25)
    assert repr(prior).endswith("resolution=array([0.5, 0.5]))")
    assert "resolution" not in repr(prior._replace(resolution=0.0))
    assert MAPDPM(likelihood=prior).get_params()["likelihood__resolution"].tolist() == [0.5, 0.5]
    assert MAPDPM(likelihood=prior).set_params(likelihood__resolution=2.0).likelihood.resolution.tolist() == [2.0, 2.0]
    for wrong in (-1.0, np.nan, np.inf, 1e50, [1.0, -2.0]):
        with pytest.raises(ValueError, match="resolution must be"):
            prior._replace(resolution=wrong)
    assert prior._replace(resolution=[0.0, 0.0])._replace(m0=[1.0] * 3, b0=[1.0] * 3).resolution.tolist() == [0.0] * 3
    with pytest.raises(ValueError, match="b0 has 2, resolution has 3"):
        prior._replace(resolution=[1.0, 2.0, 3.0])


# ---- fits ------------------------------------------------------------------------------------------------------------


def table(n=120, D=2, seed=0, step=0.5):
    """Three clusters 8 deviations apart; the first column is rounded to half a deviation."""
    rng = np.random.default_rng(seed)
    X = 8.0 * rng.integers(3, size=(n, 1)) + rng.normal(size=(n, D))
    X[:, 0] = np.round(X[:, 0] / step) * step
    return X, NormalGamma(8.0, 0.05, 1.5, 1.0, [step, *[0.0] * (D - 1)])


def with_steps(case, rng):
    """A problem of ``hostile`` with values that are rounded to steps, and some that are missing."""
    X, D = case.X, case.X.shape[1]
    steps = rng.choice([0.0, 0.1, 1.0, 30.0], D)
    whole = np.where(steps > 0.0, steps, 1.0)
    X = np.where(steps > 0.0, np.round(X / whole) * whole, X)
    likelihood = NormalGamma.empirical(X, case.weights) if case.likelihood is None else case.likelihood
    case = case._replace(X=X, likelihood=likelihood.for_data(X)._replace(resolution=steps))
    return case._replace(X=with_gaps(X, 0.2, 1), missing="skip") if rng.random() < 0.3 else case


@pytest.mark.parametrize(
    ("other", "n", "moved"),
    [
        ("python", 12, 4),
        pytest.param("numba", 100, 0, marks=pytest.mark.complete),
        pytest.param("numba", 100, 4, marks=pytest.mark.slow),
    ],
)
def test_backends_agree_on_hostile_data(other, n, moved):
    """One case in ``moved`` with moves, which numba compiles for a minute."""
    for seed in range(n):
        rng = np.random.default_rng([7, seed])
        case = with_steps(hostile(rng, 30 if other == "python" else 400), rng)
        agree(case, "c", other, moves=("merge", "split") if moved and seed % moved == 0 else ())


def test_the_joint_is_the_textbooks():
    """Of squares that are larger by n q^2 / 12; with weights too, and where all points move at once, by tangents."""
    X, prior = table()
    weights = np.random.default_rng(1).choice([0.5, 1.0, 3.0], len(X))
    for w in (None, weights):
        model = MAPDPM(likelihood=prior).fit(X, sample_weight=w)
        terms = raw.formula_terms(X, model.labels_, model.likelihood_, 1.0, w)
        assert model.log_joint_ == pytest.approx(math.fsum(terms), rel=1e-12)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(fitting, "MANY", 1)
            in_passes = MAPDPM(likelihood=prior).fit(X, sample_weight=w)
        assert in_passes.log_joint_ == pytest.approx(model.log_joint_, rel=1e-12)
        np.testing.assert_array_equal(in_passes.labels_, model.labels_)


def test_clusters_are_no_narrower_than_a_step():
    """A column of a few values in many rows is a cluster, where without its step each value is one."""
    X, prior = table(n=600, step=1.0)
    narrow = prior._replace(b0=[0.01, 1.0])
    assert MAPDPM(likelihood=narrow).fit(X).n_clusters_ == 3
    assert MAPDPM(likelihood=narrow._replace(resolution=0.0)).fit(X).n_clusters_ > 6


@pytest.mark.parametrize("family", ROUNDED)
def test_scores_after_a_fit_are_a_density(family):
    X, prior = table(D=1, step=2.0)
    prior = prior if family is NormalGamma else NormalKnownVariance(8.0, 100.0, 0.5, 2.0)
    model = MAPDPM(likelihood=prior).fit(X)
    area, error = integrate.quad(
        lambda t: math.exp(model.score_samples([[8.0 + 20.0 * math.sinh(t)]])[0]) * 20.0 * math.cosh(t),
        *(-20.0, 20.0),
        points=np.arcsinh((model.means_[:, 0] - 8.0) / 20.0),
        limit=200,
    )
    assert abs(area - 1.0) <= 1e-6 + error
    np.testing.assert_allclose(
        model.variances_[:, 0], [X[model.labels_ == k].var() for k in range(model.n_clusters_)], atol=1e-12
    )


def test_a_fit_goes_on_with_its_steps():
    """They are in ``likelihood_``, in what is left out of clusters, and in streams."""
    X, prior = table()
    model = MAPDPM(likelihood=prior).fit(X)
    assert model.likelihood_ == prior.for_data(X)
    again = MAPDPM(likelihood=model.likelihood_).fit(X)
    assert again.log_joint_ == model.log_joint_
    for back in (MAPDPM.from_bytes(model.to_bytes()), pickle.loads(pickle.dumps(model))):
        assert back.likelihood_ == model.likelihood_
        assert back.get_params()["likelihood__resolution"].tolist() == prior.resolution.tolist()
        np.testing.assert_array_equal(back.score_samples(X), model.score_samples(X))
        np.testing.assert_array_equal(back.variances_, model.variances_)
        assert back.pseudo_log_likelihood(X) == pytest.approx(model.pseudo_log_likelihood(X), rel=1e-12)
    terms = raw.log_partition(model.labels_, 1.0)
    for i, k in enumerate(model.labels_):
        own = np.flatnonzero(model.labels_ == k)
        terms.append(marginal(model.likelihood_, X[own]) - marginal(model.likelihood_, X[np.setdiff1d(own, i)]))
    assert model.pseudo_log_likelihood(X) == pytest.approx(math.fsum(terms), rel=1e-9)
    stream = OnlineMAPDPM.from_model(model)
    np.testing.assert_allclose([stream.score_one(x) for x in X[:9]], model.score_samples(X[:9]), rtol=1e-9)
    for each in (stream, OnlineMAPDPM(likelihood=prior).partial_fit(X)):
        assert each.likelihood_.resolution.tolist() == prior.for_data(X).resolution.tolist()


@pytest.mark.parametrize("backend", slow_but(["c", "python"], ["c", "python", "numba"]))
def test_full_covariances(backend):
    """C runs them by the verbs as Python has them."""
    X, _ = table(n=60)
    prior = NormalInverseWishart(8.0, 0.05, 4.0, np.array([[1.0, 0.3], [0.3, 1.0]]), [0.5, 0.0])
    for weights in (np.tile([1.0, 2.0], 30), None):
        model = MAPDPM(likelihood=prior, backend=backend).fit(X, sample_weight=weights)
        whole = MAPDPM(likelihood=prior, backend="c").fit(X, sample_weight=weights)
        np.testing.assert_array_equal(model.labels_, whole.labels_)
        assert model.backend_ == backend
        assert model.log_joint_ == pytest.approx(whole.log_joint_, rel=1e-12)
    own = [X[model.labels_ == k] for k in range(model.n_clusters_)]
    terms = raw.log_partition(model.labels_, 1.0)
    for each in own:
        added = len(each) * prior.resolution**2 / 12.0
        terms += cells.log_full_marginals(each[None], prior.for_data(X), added).tolist()
    assert model.log_joint_ == pytest.approx(math.fsum(terms), rel=1e-12)
    np.testing.assert_allclose(model.variances_, [each.var(axis=0) for each in own], rtol=1e-9)
    back = MAPDPM.from_bytes(model.to_bytes())
    assert back.likelihood_ == model.likelihood_ == prior.for_data(X)
    np.testing.assert_allclose(back.score_samples(X), model.score_samples(X), rtol=1e-12)
    assert back.pseudo_log_likelihood(X) == pytest.approx(model.pseudo_log_likelihood(X), rel=1e-12)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fitting, "MANY", 1)
        assert MAPDPM(likelihood=prior, backend=backend).fit(X).log_joint_ == pytest.approx(model.log_joint_, rel=1e-12)


def test_parts_of_a_table_have_steps_of_their_own():
    X, _ = table(D=3)
    X[::7, 2] = np.nan
    parts = {0: NormalGamma(8.0, 0.05, 1.5, 1.0, 0.5), (1, 2): NormalKnownVariance(8.0, 100.0, 1.0, [0.0, 0.1])}
    models = [MAPDPM(likelihood=Mixed(parts), missing="skip", backend=each).fit(X) for each in ("c", "python")]
    np.testing.assert_array_equal(models[0].labels_, models[1].labels_)
    assert models[0].log_joint_ == pytest.approx(models[1].log_joint_, rel=1e-12)
    back = MAPDPM.from_bytes(models[0].to_bytes())
    assert back.likelihood_ == models[0].likelihood_
    assert steps_of(back.likelihood_).tolist() == [0.5, 0.0, 0.1]
    assert steps_of(back._mixture.likelihood) is None
    np.testing.assert_array_equal(back.score_samples(X), models[0].score_samples(X))
    own = [X[models[0].labels_ == k] for k in range(models[0].n_clusters_)]
    np.testing.assert_allclose(back.variances_, [np.nanvar(each, axis=0) for each in own], rtol=1e-9)


def test_widths_of_largest_evidence_are_those_of_the_cells():
    """The same prior in C and in Python; of rounded points that lie in one cell it is as wide as the cell."""
    X = np.repeat([[0.0], [1.0], [5.0]], 40, axis=0)
    found = []
    for backend in ("c", "python"):
        model = MAPDPM(
            likelihood=NormalGamma(2.0, 0.1, 2.0, 1.0, 1.0), init=np.repeat([0, 1, 2], 40), moves=(), backend=backend
        )
        model.set_params(max_sweeps=0).fit(X)
        widths = Widths(NormalGamma.empirical(X)._replace(resolution=1.0))
        place, _ = widths.largest(model._mixture, backend, widths.at(None))
        found.append(widths.prior(place))
    assert found[0].resolution.tolist() == [1.0]
    np.testing.assert_allclose(found[0].b0 / found[0].a0, found[1].b0 / found[1].a0, rtol=1e-6)
    assert found[0].b0[0] / found[0].a0 == pytest.approx(1.0 / 12.0, rel=0.1)
