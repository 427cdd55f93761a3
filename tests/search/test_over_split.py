"""A start from cells: what other starts leave in one cluster is found; what users ask for stays."""

import numpy as np
import pytest
from sklearn.cluster import KMeans

from mapdpm import MAPDPM, Mixed, NormalGamma
from mapdpm.data.standard import cells_of
from mapdpm.search import fitted_prior
from tests.marks import ends_early


def overlapping(seed):
    """2,000 points of fifteen normals, most of which overlap."""
    rng = np.random.default_rng(seed)
    d = 5 if seed % 4 == 3 else 2
    centres = rng.uniform(0.0, 6.0 if d == 5 else 12.0, (15, d))
    return centres[rng.integers(0, 15, 2000)] + rng.normal(size=(2000, d))


def missed(seed):
    """By how many nats a start from k-means is better, under the same prior."""
    X = overlapping(seed)
    model = MAPDPM(covariance="diagonal", relevance="all").fit(X)
    starts = [KMeans(k, n_init=1, random_state=0).fit_predict(X) for k in (15, 25)]
    others = [MAPDPM(likelihood=model.likelihood_, init=start).fit(X).log_joint_ for start in starts]
    return max(others) - model.log_joint_


@pytest.mark.parametrize("seed", [0, 11, 26, 36])
def test_no_start_from_k_means_is_much_better(seed):
    """Without cells these end 25 to 57 nats below one."""
    assert missed(seed) < 10.0


@pytest.mark.complete
def test_few_fits_end_far_below_a_start_from_k_means():
    """Without cells six of these 40 do."""
    assert sum(missed(seed) > 10.0 for seed in range(40)) <= 1


def test_all_points_start_from_cells_where_the_sample_gained_by_them(monkeypatch):
    rng = np.random.default_rng(26)
    X = rng.uniform(0.0, 12.0, (15, 2))[rng.integers(0, 15, 12_000)] + rng.normal(size=(12_000, 2))
    plain = MAPDPM(covariance="diagonal").fit(X)
    fits, fit = [], fitted_prior.fit

    def noted(settings, points, *rest):
        fits.append((len(points), isinstance(settings.init, str)))
        return fit(settings, points, *rest)

    monkeypatch.setattr(fitted_prior, "fit", noted)
    monkeypatch.setattr(fitted_prior, "_GAIN_OF_MORE", -1.0)
    model = MAPDPM(covariance="diagonal").fit(X)
    assert (len(X), False) in fits
    assert (1024, False) in fits
    assert model.log_joint_ >= plain.log_joint_


@pytest.mark.parametrize(("n", "n_cells"), [(100, 1), (100, 7), (64, 16), (1000, 37), (5, 2)])
def test_cells_are_balanced(n, n_cells):
    X = np.random.default_rng(n).normal(size=(n, 3))
    labels = cells_of(X, n_cells)
    sizes = np.bincount(labels)
    assert len(sizes) == n_cells
    assert sizes.sum() == n
    assert sizes.max() <= 2 * sizes.min() + 1
    np.testing.assert_array_equal(cells_of(X, n_cells), labels)


def test_points_that_are_equal_have_cells_too():
    assert np.bincount(cells_of(np.zeros((40, 2)), 4)).tolist() == [10] * 4


@pytest.mark.parametrize(
    "X",
    [
        np.zeros((30, 2)),
        np.repeat(np.arange(3.0)[:, None], 20, axis=0),
        1e48 * np.random.default_rng(0).uniform(size=(60, 2)),
        1e-200 * np.random.default_rng(0).normal(size=(60, 2)),
    ],
)
def test_odd_tables_have_a_fit(X):
    scale = np.abs(X).max() or 1.0
    model, other = MAPDPM(relevance="all").fit(X), MAPDPM(relevance="all").fit(X / scale)
    assert model.n_clusters_ == other.n_clusters_ <= 3


def test_missing_values_and_categories_have_cells():
    rng = np.random.default_rng(3)
    z = np.arange(300) % 3
    X = np.column_stack([4.0 * z + rng.normal(size=300), rng.normal(size=300), z])
    X[rng.random(X.shape) < 0.1] = np.nan
    X[np.isnan(X).all(axis=1), 1] = 0.0
    assert MAPDPM(missing="skip").fit(X).n_clusters_ == 3
    parts = Mixed({(0, 1): NormalGamma, 2: NormalGamma})
    assert MAPDPM(likelihood=parts, missing="skip").fit(X).n_clusters_ >= 3


@ends_early
def test_what_is_asked_for_stays():
    X = overlapping(26)
    assert MAPDPM(max_clusters=2).fit(X).n_clusters_ <= 2
    one = np.zeros(len(X), dtype=int)
    model = MAPDPM(init=one, moves=(), max_sweeps=0).fit(X)
    assert model.n_clusters_ == 1
    assert len(MAPDPM(moves=(), max_sweeps=1).fit(X).history_) == 2
    weights = np.ones(len(X))
    weights[::2] = 0.0
    fitted = MAPDPM(covariance="diagonal").fit(X, sample_weight=weights)
    assert np.all(fitted.labels_[::2] == -1)
    np.testing.assert_array_equal(fitted.labels_[1::2], MAPDPM(covariance="diagonal").fit(X[1::2]).labels_)
