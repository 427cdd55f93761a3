"""Agreement of labelings, against scikit-learn and against the mean over all permutations."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as sklearn_metrics

from mapdpm.metrics import adjusted_mutual_info, contingency, normalized_mutual_info

MEASURES = (adjusted_mutual_info, normalized_mutual_info)

# Up to 200 points: log-factorials below 10^3, so E[I] is right to some 1e-12 here and there. The denominator of the AMI
# is at least (H(U) + H(V)) / 2 - E[I], smallest when almost all points are alone: 2 log 2 / 200 / 2 = 3e-3.
SMALL = 1e-9

# 10^5 points: log-factorials reach 10^6, whose rounding of 1e-10 enters the probabilities; the denominator is above 1.
LARGE = 1e-9


@st.composite
def labelings(draw):
    n = draw(st.integers(1, 200))
    k, m = draw(st.integers(1, n)), draw(st.integers(1, n))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return rng.integers(k, size=n), rng.integers(m, size=n)


@pytest.mark.filterwarnings("ignore:The number of unique classes:UserWarning")  # some of its versions, of labels
@given(labelings())
def test_agrees_with_scikit_learn(pair):
    a, b = pair
    for how in ({}, {"average_method": "arithmetic"}, {"average_method": "max"}):
        theirs = sklearn_metrics.adjusted_mutual_info_score(a, b, **how)
        assert adjusted_mutual_info(a, b, **how) == pytest.approx(theirs, abs=SMALL)
        theirs = sklearn_metrics.normalized_mutual_info_score(a, b, **how)
        assert normalized_mutual_info(a, b, **how) == pytest.approx(theirs, abs=SMALL)
    assert np.array_equal(contingency(a, b), sklearn_metrics.cluster.contingency_matrix(a, b))


@given(labelings())
def test_symmetric_and_blind_to_names(pair):
    a, b = pair
    for measure in MEASURES:
        # Sums in another order: rounding alone may differ.
        assert measure(a, b) == pytest.approx(measure(b, a), abs=SMALL)
        assert measure([f"name {label}" for label in -a], b - 7) == pytest.approx(measure(a, b), abs=SMALL)


@given(labelings())
def test_one_for_the_same_partition_exactly(pair):
    a, _ = pair
    for measure in MEASURES:
        assert measure(a, 3 * a + 1) == 1.0


@pytest.mark.parametrize("b", [[0, 0, 0, 1, 1, 2], [0, 1, 1, 1, 1, 1], [0, 1, 2, 3, 4, 4]])
def test_expected_information_is_the_mean_over_all_permutations(b):
    a = [0, 0, 1, 1, 1, 2]

    def information(v):
        share = contingency(a, v) / 6
        outer = np.outer(share.sum(axis=1), share.sum(axis=0))
        return float((share[share > 0] * np.log(share[share > 0] / outer[share > 0])).sum())

    def entropy(v):
        share = np.bincount(v) / 6
        return float(-(share * np.log(share)).sum())

    expected = np.mean([information(v) for v in itertools.permutations(b)])
    by_definition = (information(b) - expected) / ((entropy(a) + entropy(b)) / 2 - expected)
    assert adjusted_mutual_info(a, b) == pytest.approx(by_definition, abs=1e-12)  # 720 sums of order 1


def test_many_points():
    rng = np.random.default_rng(20240)
    a = rng.integers(60, size=100_000)
    b = np.where(rng.random(100_000) < 0.3, rng.integers(60, size=100_000), (a * a) % 60)
    assert adjusted_mutual_info(a, b) == pytest.approx(sklearn_metrics.adjusted_mutual_info_score(a, b), abs=LARGE)


def test_unrelated_labelings_score_zero_on_average():
    rng = np.random.default_rng(1)
    scores = [adjusted_mutual_info(rng.integers(5, size=100), rng.integers(7, size=100)) for _ in range(400)]
    # The mean is 0 but for the sampling of the sizes: five standard errors pass in all but one of 10^6 runs.
    assert abs(np.mean(scores)) < 5 * np.std(scores) / np.sqrt(len(scores))


def test_single_clusters_and_single_points():
    n = 50
    one, alone, halves = np.zeros(n, int), np.arange(n), np.arange(n) % 2
    for measure in MEASURES:
        assert measure(one, one) == measure(alone, alone) == measure([3], ["x"]) == 1.0
        assert measure(one, alone) == measure(one, halves) == 0.0
    assert adjusted_mutual_info(alone, halves) == pytest.approx(0.0, abs=SMALL)


def test_all_points_alone_needs_no_dense_table():
    labels = np.arange(100_000)  # a dense table would have 10^10 cells
    assert 0.0 < normalized_mutual_info(labels, labels // 2) < 1.0
    assert adjusted_mutual_info(labels, labels) == 1.0


@pytest.mark.parametrize("function", [contingency, *MEASURES])
@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        ([0, 1], [0, 1, 1], "got 2 and 3 labels"),
        ([], [], "must not be empty"),
        ([[0, 1]], [[0, 1]], "must be 1-D"),
    ],
)
def test_bad_labels(function, a, b, message):
    with pytest.raises(ValueError, match=message):
        function(a, b)


@pytest.mark.parametrize("function", MEASURES)
def test_unknown_means(function):
    with pytest.raises(ValueError, match="average_method must be one of 'arithmetic', 'max', got 'min'"):
        function([0, 1], [0, 1], average_method="min")
