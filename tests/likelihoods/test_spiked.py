"""Columns with spikes, flags of any two values, angles: against scipy on the raw column, and as parts of products."""

import math
import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import special

from mapdpm import (
    HDPHMM,
    MAPDPM,
    BetaBernoulli,
    Categorical,
    Circular,
    GammaPoisson,
    Mixed,
    NormalGamma,
    NormalInverseWishart,
    Spiked,
    load,
)
from mapdpm.likelihoods import _readings as readings
from mapdpm.likelihoods._measured import Measured
from mapdpm.likelihoods.spiked import Flag
from mapdpm.testing.backends import agree
from mapdpm.testing.data import Case
from mapdpm.testing.enumeration import partitions
from tests.marks import complete_but
from tests.oracle import raw

NORMAL = NormalGamma([1.0], 0.3, 1.2, [0.8])
RATE = GammaPoisson([1.5], [0.4])
FLAG, OTHER = BetaBernoulli([0.7], [1.3]), BetaBernoulli([0.4], [2.0])
PARTS = {
    0: Spiked(0.0, Spiked(5.0, NORMAL, OTHER), FLAG),
    1: Spiked(0.0, RATE, FLAG),
    (2, 3): Spiked((0.0, -1.0), NormalGamma([0.0, 1.0], 0.3, 1.2, [0.8, 2.0]), BetaBernoulli([0.7, 0.2], [1.3, 0.9])),
    4: Flag(((3.0,), (7.0,)), FLAG),
}


def table(rng, n, share=0.0):
    """Rows for ``PARTS``; about a ``share`` of the cells is missing."""
    x = np.stack(
        [
            rng.choice([0.0, 5.0, np.nan], n, p=[0.4, 0.2, 0.4]),
            rng.choice([0.0, np.nan], n),
            *rng.choice([0.0, -1.0, np.nan], (2, n)),
            rng.choice([3.0, 7.0], n),
        ],
        axis=1,
    )
    x = np.where(np.isnan(x), np.stack([*rng.normal(size=(1, n)), rng.poisson(3.0, n), *rng.normal(size=(3, n))]).T, x)
    absent = rng.random(x.shape) < share
    absent[np.arange(n), rng.integers(0, 5, n)] = False
    return np.where(absent, np.nan, x)


def log_marginal(x, family):
    """The log density of the values of a column, by scipy: a binomial of the spikes, and the others by themselves."""
    x = x[~np.isnan(x)]
    if isinstance(family, Spiked | Flag):
        value = family.value if isinstance(family, Spiked) else family.values[1][0]  # noqa: PD011
        prior, ones = family.flag if isinstance(family, Spiked) else family.family, np.sum(x == value)
        a, b = prior.a0[0], prior.b0[0]
        own = special.betaln(a + ones, b + len(x) - ones) - special.betaln(a, b)
        return own + (log_marginal(x[x != value], family.family) if isinstance(family, Spiked) else 0.0)
    return math.fsum(raw.log_marginal_terms(x[:, None], family)) if len(x) else 0.0


def of_columns(x):
    """The log marginal of rows of ``PARTS``, column by column."""
    both = PARTS[2, 3]
    families = [
        PARTS[0],
        PARTS[1],
        *(Spiked(both.value[d], both.family.feature(d), both.flag.feature(d)) for d in range(2)),
        PARTS[4],
    ]
    return math.fsum(log_marginal(column, family) for column, family in zip(x.T, families, strict=True))


def joint(x, labels, alpha=0.8):
    terms = [of_columns(x[np.equal(labels, k)]) for k in np.unique(labels)]
    return math.fsum([*raw.log_partition(labels, alpha), *terms])


@pytest.mark.parametrize("missing", ["error", "skip"])
@pytest.mark.parametrize("seed", range(3))
def test_a_fit_is_the_best_of_all_partitions(missing, seed):
    rng = np.random.default_rng(seed)
    x = table(rng, 4, 0.3 if missing == "skip" else 0.0)
    best = max(joint(x, z) for z in partitions(4))
    model = MAPDPM(0.8, likelihood=Mixed(PARTS), missing=missing).fit(x)
    assert model.log_joint_ == pytest.approx(joint(x, model.labels_), rel=1e-9)
    assert model.log_joint_ == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_scores_are_ratios_of_marginals(seed):
    rng = np.random.default_rng(seed)
    x, new = table(rng, 12), table(rng, 3, 0.4)
    model = MAPDPM(0.8, likelihood=Mixed(PARTS), init=np.arange(12) % 3, max_sweeps=0, moves=(), missing="skip").fit(x)
    for score, row in zip(model.score_samples(new), new, strict=True):
        logs = [math.log(0.8) + of_columns(row[None])]
        for k in range(3):
            own = x[model.labels_ == k]
            logs.append(math.log(len(own)) + of_columns(np.vstack([own, row])) - of_columns(own))
        assert score == pytest.approx(np.logaddexp.reduce(logs) - math.log(12.8))


IN_C = [("c", "error"), ("c", "skip")]


@pytest.mark.parametrize(("backend", "missing"), complete_but(IN_C, [*IN_C, ("numba", "skip")], several=True))
def test_backends_agree(backend, missing):
    x = table(np.random.default_rng(7), 30, 0.3 if missing == "skip" else 0.0)
    parts, moves = PARTS, ("merge", "split")
    if backend == "numba":  # which compiles each type of product, and each move for it
        moves = ()
        x, parts = x[:, [0, 4]], {0: PARTS[0], 1: PARTS[4]}
        x = x[~np.isnan(x).all(axis=1)]
    mixed = Mixed(parts).bound_to(x)
    data = mixed.read_table(x, missing == "skip")
    agree(Case(data, mixed.for_data(data), missing=missing), "python", backend, moves)


def test_a_missing_value_of_the_user_is_an_error_beside_spikes():
    x = table(np.random.default_rng(0), 20)
    x[3, 0] = np.nan
    with pytest.raises(ValueError, match="column 0: X contains NaN"):
        MAPDPM(likelihood=Mixed(PARTS)).fit(x)
    assert MAPDPM(likelihood=Mixed(PARTS), missing="skip").fit(x).n_clusters_


RNG = np.random.default_rng(1)
Z = np.arange(300) % 3
FRAME = pd.DataFrame(
    {
        "rain": np.where(RNG.random(300) < np.array([0.9, 0.5, 0.1])[Z], 0.0, RNG.gamma(2.0, 3.0, 300)),
        "power": np.clip(RNG.normal(np.array([10.0, 50.0, 90.0])[Z], 20.0), 0.0, 100.0),
        "heat": RNG.normal(5.0 * Z, 1.0),
        "wind": np.mod(RNG.normal(120.0 * Z, 10.0), 360.0),
        "relay": np.where(RNG.random(300) < 0.3, 7.0, 3.0),
    }
)
OPEN = Mixed(
    {
        "rain": Spiked(0.0, NormalGamma),
        "power": Spiked(0.0, Spiked(100.0, Measured(NormalGamma, (0.5,)))),
        "heat": NormalGamma,
        "wind": Circular(360.0),
        "relay": Flag(((3.0,), (7.0,))),
    }
)


@pytest.fixture(scope="module")
def fitted():
    return MAPDPM(likelihood=OPEN, relevance="all").fit(FRAME)


def test_priors_of_spikes_are_fitted(fitted):
    parts = fitted.likelihood_.parts
    assert list(parts) == list(OPEN.parts)
    assert not fitted.likelihood_.is_open
    assert isinstance(parts["rain"].flag, BetaBernoulli)
    assert parts["power"].value == 0.0
    assert parts["power"].family.value == 100.0
    assert parts["power"].family.family.resolution.tolist() == [0.5]
    assert OPEN.is_open
    assert 3 <= fitted.n_clusters_ <= 5
    assert fitted.n_features_in_ == 5


def test_means_are_those_of_the_users_columns(fitted):
    own = [FRAME[fitted.labels_ == k] for k in range(fitted.n_clusters_)]
    for name, place in (("rain", 0), ("power", 1), ("heat", 2)):
        assert fitted.means_[:, place] == pytest.approx([each[name].mean() for each in own])
        assert fitted.variances_[:, place] == pytest.approx(
            [each[name].var(ddof=0) for each in own], rel=1e-3, abs=1e-2
        )
    turns = [np.exp(2j * math.pi / 360.0 * each["wind"]).mean() for each in own]
    off = np.mod(fitted.means_[:, 3] - np.degrees(np.angle(turns)) + 180.0, 360.0) - 180.0
    assert off == pytest.approx(0.0, abs=1e-9)
    assert np.isnan(fitted.variances_[:, 3]).all()
    assert np.isnan(fitted.means_[:, 4]).all()


def test_files_and_pickles_read_the_same(fitted, tmp_path):
    fitted.save(tmp_path / "m.mdpm")
    for again in (load(tmp_path / "m.mdpm"), pickle.loads(pickle.dumps(fitted))):
        assert again.likelihood_ == fitted.likelihood_
        assert again.likelihood == OPEN
        assert np.array_equal(again.score_samples(FRAME), fitted.score_samples(FRAME))
        assert again.n_features_in_ == 5
        assert again._mixture.likelihood == fitted._mixture.likelihood
    assert pickle.loads(pickle.dumps(OPEN)) == OPEN
    assert eval(repr(OPEN), globals() | {"Measured": Measured}) == OPEN  # noqa: S307
    assert fitted.get_params()["likelihood__rain"] == Spiked(0.0, NormalGamma)
    changed = fitted.set_params(likelihood__rain=NormalGamma).likelihood
    fitted.set_params(likelihood__rain=Spiked(0.0, NormalGamma))
    assert (changed.parts["rain"], fitted.likelihood) == (NormalGamma, OPEN)


def test_draws_are_rows_of_the_users_columns():
    model = HDPHMM(likelihood=OPEN, max_sweeps=5).fit(FRAME[:150])
    points = model.sample_path(400, random_state=0).points.astype(np.float64)
    assert np.mean(points[:, 0] == 0.0) == pytest.approx(0.5, abs=0.2)
    assert (points[:, 1] == 100.0).any()
    assert ((points[:, 3] >= 0.0) & (points[:, 3] < 360.0)).all()
    assert set(np.unique(points[:, 4])) == {3.0, 7.0}
    assert not np.isnan(points).any()


def test_trees_by_overlap_leave_out_what_is_missing_at_a_spike(fitted):
    drawn = fitted._mixture.likelihood
    assert drawn.blanks == ((0, 1), (2, 3), (2, 4), (3, 4))
    assert len(np.unique(fitted.merge_tree("overlap").labels(2))) == 2


def test_a_part_of_a_product(fitted):
    mixed = fitted.likelihood_
    table = mixed.read_table(FRAME, False)
    some = mixed.restricted([0, 1, 5])
    own = some.in_kernels("error")
    row = np.empty(own.size())
    own.init(row)
    for i in range(60):
        own.add(row, table.restricted([0, 1, 5]), i, 1.0)
    first = FRAME[:60]
    rain = log_marginal(first["rain"].to_numpy(), mixed.parts["rain"])
    heat = math.fsum(raw.log_marginal_terms(first[["heat"]].to_numpy(), mixed.parts["heat"]))
    assert own.log_marginal(row) == pytest.approx(rain + heat)
    with pytest.raises(ValueError, match="wind goes as a whole"):
        mixed.restricted([6])
    both = Mixed(PARTS).restricted([6, 8])  # the second column of the block: its flag, and its others
    assert both.parts == {(3,): Spiked(-1.0, NormalGamma([1.0], 0.3, 1.2, [2.0]), BetaBernoulli([0.2], [0.9]))}


def fit_of_zeros(likelihood):
    return MAPDPM(likelihood=likelihood).fit(np.zeros((9, 1)))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Spiked("a", NormalGamma), "value must be a number"),
        (lambda: Spiked(math.nan, NormalGamma), "finite"),
        (lambda: Spiked((), NormalGamma), "one for each column"),
        (lambda: Spiked(0.0, NormalGamma, GammaPoisson), "flag must be BetaBernoulli"),
        (lambda: Circular(0.0), "period must be > 0"),
        (lambda: Mixed({0: Spiked(0.0, Categorical)}), "a category has no spike"),
        (lambda: Mixed({0: Circular(360.0, Categorical)}), "a category has no spike"),
        (lambda: Mixed({0: Spiked(0.0, 3)}), "families of columns"),
        (lambda: Mixed({(0, 1): Spiked((0.0,), NormalGamma)}), "give one for each"),
        (lambda: Mixed({(0, 1): Spiked(0.0, NormalInverseWishart)}), "cannot leave out"),
        (
            lambda: MAPDPM(likelihood=Mixed({0: Spiked(0.0, NormalGamma)})).fit(np.zeros((9, 1))),
            "all values are spikes",
        ),
        (lambda: MAPDPM(likelihood=Mixed(PARTS)).fit(np.full((9, 5), 4.0)), "neither 3 nor 7"),
        (lambda: fit_of_zeros(Spiked(0.0, NormalGamma)), "give one with its prior"),
    ],
)
def test_what_does_not_fit_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_a_spike_that_counts_for_the_others_is_noticed(monkeypatch):
    of = readings.Reading.of
    monkeypatch.setattr(readings.Reading, "of", lambda self, *given: of(self._replace(without=()), *given))
    with pytest.raises(AssertionError):
        test_a_fit_is_the_best_of_all_partitions("error", 0)
