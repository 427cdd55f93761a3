"""Invalid input of MAPDPM is refused in one clear sentence."""

import math

import numpy as np
import pytest

from mapdpm import MAPDPM, DPMeans, NormalGamma


def blobs():
    rng = np.random.default_rng(0)
    return rng.normal(0.0, 8.0, (4, 2))[rng.integers(0, 4, 120)] + rng.normal(size=(120, 2))


def prior():
    return NormalGamma([0.0, 0.0], 0.05, 1.0, [1.0, 1.0])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda X: MAPDPM(alpha=0).fit(X), "alpha must be > 0, got 0"),
        (lambda X: MAPDPM(alpha=-1.0).fit(X), "alpha must be > 0, got -1.0"),
        (lambda X: MAPDPM(alpha=math.nan).fit(X), "alpha must be a finite number, got nan"),
        (lambda X: MAPDPM(alpha=1e-320).fit(X), "alpha must be between"),
        (lambda X: MAPDPM(discount=1.0).fit(X), r"discount must be in \[0, 1\), got 1.0"),
        (lambda X: MAPDPM(likelihood=NormalGamma(0.0, -1.0, 1.0, 1.0)).fit(X), "c0 must be > 0, got -1.0"),
        (
            lambda X: MAPDPM(likelihood="normal").fit(X),
            "likelihood must be 'auto', None, a family, or one with its prior, got 'normal'",
        ),
        (
            lambda X: MAPDPM(likelihood=NormalGamma([0.0] * 3, 1.0, 1.0, 1.0)).fit(X),
            "3 entries but the data has 2 feat",
        ),
        (lambda X: MAPDPM(likelihood=NormalGamma(0.0, 1.0, 1.0, 1e-90)).fit(X), "rescale"),
        (lambda X: MAPDPM(max_clusters=0).fit(X), "max_clusters must be an integer >= 1, got 0"),
        (lambda X: MAPDPM(max_clusters=2.5).fit(X), "max_clusters must be an integer >= 1, got 2.5"),
        (
            lambda X: MAPDPM(max_clusters=3, init=np.arange(len(X))).fit(X),
            "init has 120 clusters, more than max_clusters=3",
        ),
        (lambda X: MAPDPM(init="kmeans").fit(X), "init must be one of 'sequential', 'random-order', 'single' or"),
        (lambda X: MAPDPM(init=[0, 1]).fit(X), r"init must have one label a point, shape \(120,\), got shape \(2,\)"),
        (lambda X: MAPDPM(init=X[:, 0]).fit(X), "init must hold integer labels, got dtype float64"),
        (
            lambda X: MAPDPM(moves=("merge", "swap")).fit(X),
            "moves must be names among 'merge', 'split', 'permutation', 'regroup', got 'swap'",
        ),
        (lambda X: MAPDPM(moves="merge").fit(X), "moves must be a tuple of names among .*, got 'merge'"),
        (lambda X: MAPDPM(moves=(3,)).fit(X), "moves must be names among .*, got 3"),
        (lambda X: MAPDPM(time_limit=0).fit(X), "time_limit must be > 0 seconds, or None for no limit, got 0"),
        (lambda X: MAPDPM(time_limit=-1.5).fit(X), "time_limit must be > 0 seconds, or None for no limit, got -1.5"),
        (lambda X: MAPDPM(time_limit="1s").fit(X), "time_limit must be a number, got '1s'"),
        (lambda X: DPMeans(lam=0.0).fit(X), "lam must be > 0, in squared data units, got 0.0"),
        (lambda X: DPMeans(lam=-2).fit(X), "lam must be > 0, in squared data units, got -2"),
        (lambda X: DPMeans(lam=math.nan).fit(X), "lam must be a finite number, got nan"),
        (lambda X: DPMeans(lam=1e-200).fit(X), "lam must be between 1e-100 and 1e\\+100, got 1e-200: rescale"),
        (lambda X: DPMeans(n_clusters=121).fit(X), "n_clusters must be at most the number of points, 120, got 121"),
        (lambda X: DPMeans(n_clusters=0).fit(X), "n_clusters must be an integer >= 1, got 0"),
        (lambda X: DPMeans(lam=1.0, n_clusters=2.5).fit(X), "n_clusters must be an integer >= 1, got 2.5"),
        (lambda X: DPMeans(moves=("fuse",)).fit(X), "moves must be names among .*, got 'fuse'"),
        (lambda X: DPMeans(time_limit=0.0).fit(X), "time_limit must be > 0 seconds"),
        (lambda X: DPMeans().fit(X, sample_weight=np.zeros(120)), "sample_weight is zero for every point"),
        (lambda X: DPMeans().fit(X[0]), "X must be a 2-D array"),
        (lambda X: DPMeans().predict(X), "not fitted yet; call fit first"),
        (
            lambda X: DPMeans().fit(X).predict(X[:, :1]),
            "X has 1 features, but DPMeans is expecting 2 features as input",
        ),
        (lambda X: MAPDPM(n_restarts=0).fit(X), "n_restarts must be an integer >= 1, got 0"),
        (lambda X: MAPDPM(max_sweeps=True).fit(X), "max_sweeps must be an integer >= 0, got True"),
        (lambda X: MAPDPM(n_jobs=0).fit(X), "n_jobs must be an integer >= 1, got 0"),
        (lambda X: MAPDPM(backend="gpu").fit(X), "backend must be one of"),
        (lambda X: MAPDPM().fit(X[0]), r"must be a 2-D array \(points x features\), got 1-D. Reshape your data: X"),
        (lambda X: MAPDPM().fit(X[None]), "got 3-D"),
        (lambda X: MAPDPM().fit([]), "X must be a 2-D array"),
        (lambda X: MAPDPM().fit(X[:0]), r"X has 0 sample\(s\) \(shape=\(0, 2\)\) while a minimum of 1 is"),
        (lambda X: MAPDPM().fit(X[:, :0]), r"X has 0 feature\(s\) \(shape=\(120, 0\)\) while a minimum of 1"),
        (
            lambda X: MAPDPM().fit(np.where(X[7, 1] == X, np.nan, X)),
            r"X contains NaN at row 7, column 1 \(counted from 0",
        ),
        (lambda X: MAPDPM().fit(np.where(X[5, 0] == X, -np.inf, X)), "X contains infinity at row 5, column 0"),
        (lambda X: MAPDPM().fit([["a", "b"]]), "X must hold numbers only, but there is 'a' at row 0, column 0"),
        (
            lambda X: MAPDPM().fit([[1.0, 2.0], [3.0]]),
            "X must be a rectangular .*, but row 1 is of length 1, row 0 of length 2",
        ),
        (lambda X: MAPDPM().fit(X * 1j), "Complex data not supported"),
        (lambda X: MAPDPM().fit(X, sample_weight=[1.0]), r"sample_weight must have one entry a point, shape \(120,\)"),
        (lambda X: MAPDPM().fit(X, sample_weight=np.zeros(120)), "sample_weight is zero for every point"),
        (lambda X: MAPDPM().fit(X, sample_weight=np.full(120, np.nan)), "sample_weight contains NaN at row 0"),
        (
            lambda X: MAPDPM(discount=0.5).fit(X, sample_weight=np.full(120, 0.4)),
            "sample_weight must be 0 or > 0.5, the discount, got 0.4",
        ),
        (
            lambda X: MAPDPM().fit(X, sample_weight=np.full(120, 1e20)),
            "sample_weight must be 0 or between 1e-09 and 1e\\+09",
        ),
        (
            lambda X: MAPDPM(likelihood=dict).fit(X),
            "there is no rule to fit the prior of dict: give one with its prior",
        ),
        (lambda X: MAPDPM(moves=None).fit(X), "moves must be a tuple of names among .*, got None"),
        (lambda X: MAPDPM(likelihood=prior()._replace(c0=-1.0)).fit(X), "c0 must be > 0, got -1.0"),
        (lambda X: MAPDPM().predict(X), "not fitted yet; call fit first"),
        (lambda X: MAPDPM().save("nowhere"), "not fitted yet; call fit first"),
        (lambda X: MAPDPM().fit(X).predict(X[:, :1]), "X has 1 features, but MAPDPM is expecting 2 features as in"),
        (lambda X: MAPDPM().fit(X).score_samples([[0.0, math.nan]]), "X contains NaN at row 0, column 1"),
        (
            lambda X: MAPDPM().fit(X).score_samples([[0.0, 1e60]]),
            r"X contains 1e\+60, beyond 1e\+49, at row 0, column 1",
        ),
        (lambda X: MAPDPM().fit(X).score_samples([[0.0, 1e40]]), "rescale"),
        (lambda X: MAPDPM().fit([[10**400], [1]]), "X must hold numbers only"),
        (lambda X: MAPDPM().fit([["1", "2"]]), "X must hold numbers only, got text; use"),
        (lambda X: MAPDPM().fit(np.zeros((3, 1), "M8[s]")), "X must hold numbers only, got datetime64"),
        (lambda X: MAPDPM().fit(np.ma.masked_less(X, 0.0)), "X has masked entries"),
        (lambda X: MAPDPM(alpha=10**400).fit(X), "alpha must be a finite number"),
        (lambda X: MAPDPM(alpha="2").fit(X), "alpha must be a number, got '2'"),
        (lambda X: MAPDPM(alpha=1e200, discount=0.5).fit(X), "alpha must be between"),
        (lambda X: MAPDPM().fit(X, sample_weight=-(X[:, 0] ** 2)), "sample_weight must be >= 0, got -"),
        (
            lambda X: MAPDPM().fit([[1, 2], [3, {}]]),
            "X must hold numbers only, but there is {} at row 1, column 1: float",
        ),
        (
            lambda X: MAPDPM(likelihood="normal").set_params(likelihood__c0=1),
            "likelihood is 'normal', which has no parameter 'c0'; set likelihood first",
        ),
        (lambda X: MAPDPM().set_params(likelihood__c0=1.0), "likelihood is 'auto', which has no parameter 'c0'; set"),
        (
            lambda X: MAPDPM(likelihood=prior()).set_params(likelihood__k=1),
            r"'k' for likelihood NormalGamma. .*\['a0', ",
        ),
        (lambda X: MAPDPM(likelihood=prior()).set_params(likelihood__b0=-1), "b0 must be > 0, got -1"),
        (lambda X: MAPDPM().set_params(gamma=1.0), r"Invalid parameter 'gamma' for estimator MAPDPM\(\). Valid par"),
        (
            lambda X: MAPDPM().set_output(transform="xarray"),
            "transform must be one of 'default', 'pandas', 'polars' or",
        ),
        (lambda X: MAPDPM().fit(X).get_feature_names_out(["a"]), r"equal to number of features \(2\), got"),
        (lambda X: MAPDPM(random_state="seed").fit(X), "random_state must be None, an integer"),
        (lambda X: MAPDPM(random_state=-1).fit(X), "random_state must be None, an integer"),
        (lambda X: MAPDPM(callback=3).fit(X), "callback must be callable, got 3"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(make, message):
    with pytest.raises(ValueError, match=message) as caught:
        make(blobs())
    assert "\n" not in str(caught.value)


def test_sparse_input_is_refused():
    from scipy.sparse import csr_array

    with pytest.raises(ValueError, match="X is a sparse matrix"):
        MAPDPM().fit(csr_array(np.eye(3)))


@pytest.mark.parametrize("dtype", [np.int64, np.uint64])
def test_whole_numbers_that_are_rounded_are_noted(dtype):
    X = np.array([[2**53 + 1], [2**53 + 3]], dtype=dtype)
    with pytest.warns(UserWarning, match=r"whole numbers beyond 2\*\*53") as caught:
        MAPDPM().fit(X)
    assert caught[0].filename == __file__, "it points to the caller's line"
    MAPDPM().fit(X - dtype(2**53))  # no warning, which would be an error here
    MAPDPM().fit(np.array([[2**53], [2**53 - 1]], dtype=dtype))
