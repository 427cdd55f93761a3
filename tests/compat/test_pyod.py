"""mapdpm.compat.pyod: PyOD's contract, and the scores of ``MAPDPM.assess``."""

import pickle
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("pyod", reason="PyOD is not installed; try: pip install 'mapdpm[pyod]'")

from pyod.models.base import BaseDetector
from sklearn.base import clone
from sklearn.metrics import roc_auc_score

from mapdpm import MAPDPM, NormalGamma
from mapdpm.compat.pyod import MAPDPMDetector


def with_knot(seed, n=400):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)) + 8.0 * rng.integers(0, 2, (n, 1))
    X[:12] = 20.0 + 0.2 * rng.normal(size=(12, 4))
    return X, np.arange(n) < 12


def test_scores_are_surprises_and_labels_those_of_the_contamination():
    X, is_outlier = with_knot(0)
    detector = MAPDPMDetector(contamination=0.05).fit(X)
    assert isinstance(detector, BaseDetector)
    surprise = MAPDPM().fit(X).assess(X).surprise
    np.testing.assert_allclose(np.exp(-detector.decision_scores_), surprise, rtol=1e-12)
    assert roc_auc_score(is_outlier, detector.decision_scores_) == 1.0
    assert detector.labels_.sum() == 20
    np.testing.assert_array_equal(detector.labels_, detector.decision_scores_ > detector.threshold_)
    np.testing.assert_array_equal(detector.predict(X), detector.labels_)
    new, _ = with_knot(1)
    expected = -np.log(MAPDPM().fit(X).assess(new).surprise)
    np.testing.assert_allclose(detector.decision_function(new), expected, rtol=1e-9)
    assert detector.predict(new)[:12].all()
    shares = detector.predict_proba(new)
    assert shares.shape == (400, 2)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)


def test_the_model_is_a_template():
    X, _ = with_knot(2)
    template = MAPDPM(likelihood=NormalGamma(0.0, 0.01, 2.0, 2.0), alpha=2.0)
    detector = clone(MAPDPMDetector(0.1, template)).fit(X)
    assert detector.model_ is not template
    assert not hasattr(template, "labels_")
    assert detector.model_.alpha == 2.0
    again = pickle.loads(pickle.dumps(detector))
    np.testing.assert_array_equal(again.decision_function(X), detector.decision_function(X))
    with pytest.raises(ValueError, match="contamination"):
        MAPDPMDetector(contamination=0.9)


def test_without_pyod_the_error_says_what_to_install():
    code = "import sys; sys.modules['pyod'] = None; import mapdpm.compat.pyod"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "try: pip install 'mapdpm[pyod]'" in done.stderr
