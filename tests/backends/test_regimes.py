"""The C sweep, which passes over points by bounds, against the plain one of numba: every label, whatever the data."""

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest

from mapdpm import MAPDPM, DPMeans, GammaPoisson, NormalGamma, NormalInverseWishart, NormalKnownVariance
from tests.marks import complete_but, slow_but
from tests.oracle.raw import exact_log_factorial

pytestmark = pytest.mark.compiled


def blobs(rng, n=1500, D=4, K=8, apart=6.0):
    return rng.normal(0.0, apart, (K, D))[rng.integers(0, K, n)] + rng.normal(size=(n, D))


def with_outliers(rng, far):
    X = blobs(rng)
    X[rng.integers(0, len(X), 12)] *= far
    return X


def unequal(rng):
    """Clusters of sizes from 1 to 700, and of spreads from 0.01 to 10."""
    sizes = (700, 300, 100, 30, 10, 3, 2, 1, 1)
    centres, spreads = rng.normal(0.0, 20.0, (len(sizes), 3)), 10.0 ** rng.uniform(-2.0, 1.0, len(sizes))
    parts = [m + s * rng.normal(size=(n, 3)) for n, m, s in zip(sizes, centres, spreads, strict=True)]
    return rng.permutation(np.concatenate(parts))


REGIMES = {
    "apart": blobs,
    "near": lambda rng: blobs(rng, apart=1.5),
    "one cluster": lambda rng: rng.normal(size=(1500, 3)),
    "one point": lambda rng: rng.normal(size=(1, 3)),
    "three points": lambda rng: rng.normal(size=(3, 2)),
    "one feature": lambda rng: blobs(rng, D=1, apart=30.0),
    "many features": lambda rng: blobs(rng, n=600, D=60, apart=2.0),
    "many clusters": lambda rng: blobs(rng, n=3000, D=6, K=120, apart=15.0),
    "outliers": lambda rng: with_outliers(rng, 1e9),
    "outliers that overflow": lambda rng: with_outliers(rng, 1e25),
    "large": lambda rng: 1e10 * blobs(rng),
    "small": lambda rng: 1e-10 * blobs(rng),
    "offset": lambda rng: blobs(rng) + 1e6,
    "heavy tails": lambda rng: rng.standard_t(1.5, size=(1500, 3)),
    "ties": lambda rng: np.round(blobs(rng, apart=3.0)),
    "duplicates": lambda rng: blobs(rng, n=150)[rng.integers(0, 150, 1500)],
    "constant column": lambda rng: blobs(rng) * [1.0, 0.0, 1.0, 1.0],
    "unequal": unequal,
    "float32": lambda rng: blobs(rng).astype(np.float32),
}


def same(models, X):
    fits = [model.fit(X) for model in models]
    np.testing.assert_array_equal(fits[0].labels_, fits[1].labels_)
    # Sums over at most 3000 points and 60 features, each term rounded: 2e5 times 1e-16, and room.
    assert fits[0].history_ == pytest.approx(fits[1].history_, rel=1e-9)


def moments(X):
    """The mean and the variances of points, none of them 0."""
    return X.mean(axis=0, dtype=np.float64), np.maximum(np.var(X, axis=0, dtype=np.float64), 1e-30)


@pytest.mark.complete
@pytest.mark.parametrize("name", REGIMES)
def test_no_label_differs(name):
    X = REGIMES[name](np.random.default_rng([29, *name.encode()]))
    mean, scale = moments(X)
    # The last one opens and closes clusters all the time.
    for alpha, share in ((1.0, 0.05), (1e-6, 1.0), (200.0, 0.01)):
        family = NormalGamma(mean, 0.05, 1.0, share * scale)
        same([MAPDPM(alpha, likelihood=family, moves=(), backend=b) for b in ("c", "numba")], X)


@pytest.mark.complete
@pytest.mark.parametrize("name", slow_but(set(REGIMES) - {"float32"}, REGIMES))
def test_no_label_differs_in_other_models(name):
    """Which share the sweep in C: `make test` compares them with plain Python, on fewer points."""
    X = REGIMES[name](np.random.default_rng([29, *name.encode()]))
    mean, scale = moments(X)
    known = NormalKnownVariance(mean, scale, 0.02 * scale)
    same([MAPDPM(1.0, likelihood=known, moves=(), discount=0.2, backend=b) for b in ("c", "numba")], X)
    full = NormalInverseWishart(mean, 0.05, X.shape[1] + 2.0, 0.05 * scale)
    same([MAPDPM(1.0, likelihood=full, moves=(), backend=b) for b in ("c", "numba")], X)
    lam = 0.05 * float(scale.sum())
    same([DPMeans(lam, moves=(), backend=b) for b in ("c", "numba")], X)


@pytest.mark.parametrize(
    "name",
    complete_but(
        ["apart", "outliers that overflow", "many features"],
        ["apart", "float32", "outliers that overflow", "many features"],
    ),
)
def test_scores_do_not_depend_on_company(name):
    """Neither on what is scored with a point, nor on how many threads do it: to the last bit."""
    X = REGIMES[name](np.random.default_rng([31, *name.encode()]))
    scale = np.maximum(np.var(X, axis=0, dtype=np.float64), 1e-30)
    family = NormalGamma(X.mean(axis=0, dtype=np.float64), 0.05, 1.0, 0.05 * scale)
    model = MAPDPM(likelihood=family, moves=(), backend="c").fit(X)
    Y = np.tile(X, (20, 1))
    scores = model.score_samples(Y)
    np.testing.assert_array_equal(scores, np.tile(scores[: len(X)], 20))
    np.testing.assert_array_equal(scores[:50], [model.score_samples(x[None])[0] for x in X[:50]])
    for n_jobs in (2, 100_000):
        np.testing.assert_array_equal(model.set_params(n_jobs=n_jobs).score_samples(Y), scores)
    # A product of 60 factors is off by some 300 roundings of 1e-16, and is raised to half of 1500.
    plain = MAPDPM(likelihood=family, moves=(), backend="numba").fit(X)
    np.testing.assert_allclose(plain.score_samples(X), scores[: len(X)], rtol=1e-11, atol=1e-10)


@pytest.mark.parametrize("backend", complete_but(["python"], ["python", "numba"]))
def test_densities_of_counts_near_1e9(backend):
    """Terms of 2e10 cancel in each density: rounding them would cost 1e-5."""
    X = np.where(np.arange(40) % 2, 1.0, 0.5)[:, None] * 1e9 - np.random.default_rng(0).integers(0, 50_000, (40, 1)) * 2
    model = MAPDPM(alpha=1.0, likelihood=GammaPoisson(1.0, 1e-9), backend=backend).fit(X)
    rows = [(0, 0), *((int((model.labels_ == k).sum()), int(X[model.labels_ == k].sum())) for k in range(2))]
    assert model.n_clusters_ == 2
    exact = [np.logaddexp.reduce([exact_log_share(n, events, int(x)) for n, events in rows]) for x in X[:, 0]]
    # roundings of logarithms, and one of each count, which is within 1e-4 of the mean: the slope of the density there
    allowed = 2.0**-52 * (64 * math.log(1e9) + 1e-4 * 1e9)
    np.testing.assert_allclose(model.score_samples(X), exact, rtol=0.0, atol=allowed)


def exact_log_share(n, events, x):
    """Log of the weight n (alpha = 1 for none) over 41, times the density of x given n points with these events."""
    with localcontext(prec=60):
        a, b = Decimal(1 + events), Decimal("1e-9") + n
        density = exact_log_factorial(a + x - 1) - exact_log_factorial(a - 1) - exact_log_factorial(x)
        return float(density + a * b.ln() - (a + x) * (b + 1).ln() + (Decimal(max(n, 1)) / 41).ln())
