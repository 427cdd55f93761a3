"""Every check that scikit-learn has for estimators, on ours and on twins that inherit from its base classes.

A program, so that it can run with any version of scikit-learn: tests/estimators/test_base.py runs it with the one that
is installed, release/use.py with the oldest supported. Prints a line a class; exits with 1 where a check
fails that should not, or passes that we say cannot. SCIPY_ARRAY_API=1 lets the check of array API input run.
"""

import os
import sys
import warnings
from unittest import SkipTest

os.environ["SCIPY_ARRAY_API"] = "1"  # before scipy is imported

import sklearn
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils import estimator_checks

from mapdpm import HDPHMM, MAPDPM, DPMeans, HDPMixture

EXPECTED_TO_FAIL = {  # decision 38
    "check_sample_weight_equivalence_on_dense_data": (
        "an integer weight is repetition in the objective of a partition, not in a search: copies of a point may part, "
        "and the check shuffles the points, which renames clusters; tests/estimators/test_base.py holds the law itself"
    ),
    "check_sample_weight_equivalence_on_sparse_data": "scikit-learn 1.6 asks those that refuse sparse data, too",
}
IN_TIME = dict.fromkeys(
    ("check_methods_sample_order_invariance", "check_methods_subset_invariance"),
    "points are a sequence: what is said of one depends on those before and after it",
)
# Checks that only scikit-learn's own estimators must pass, and those that each of its versions has.
BEYOND = [
    "check_dataframe_column_names_consistency",
    "check_get_feature_names_out_error",
    "check_global_output_transform_pandas",
    "check_global_set_output_transform_polars",
    "check_n_features_in",
    "check_set_output_transform",
    "check_set_output_transform_pandas",
    "check_set_output_transform_polars",
    "check_transformer_get_feature_names_out",
    "check_transformer_get_feature_names_out_pandas",
]


class MAPDPMTwin(ClusterMixin, BaseEstimator, MAPDPM):
    pass


class DPMeansTwin(ClusterMixin, BaseEstimator, DPMeans):
    pass


class MAPDPMFirst(MAPDPM, ClusterMixin, BaseEstimator):
    pass


class DPMeansFirst(DPMeans, ClusterMixin, BaseEstimator):
    pass


class _WithoutTargets:
    """An estimator as it is, but targets are not taken for groups or sequences.

    The checks give targets to fit_transform, and none to transform: points without a group are of a new one, which has
    other shares. And targets come back after others, as no sequence does.
    """

    def fit(self, X, y=None, *names, **named):
        return super().fit(X, None, *names, **named)

    def fit_predict(self, X, y=None, *names, **named):
        return super().fit_predict(X, None, *names, **named)

    def fit_transform(self, X, y=None, *names, **named):
        return super().fit_transform(X, None, *names, **named)

    def score(self, X, y=None, *names, **named):
        return super().score(X, None, *names, **named)


class HDPMixtureWithoutTargets(_WithoutTargets, HDPMixture):
    pass


class HDPHMMWithoutTargets(_WithoutTargets, HDPHMM):
    pass


ALL = (
    *(MAPDPM, DPMeans, HDPMixtureWithoutTargets, HDPHMMWithoutTargets),
    *(MAPDPMTwin, DPMeansTwin, MAPDPMFirst, DPMeansFirst),
)


def expected_of(kind: type) -> dict[str, str]:
    """The checks that fail, with the reasons."""
    return IN_TIME if issubclass(kind, HDPHMM) else EXPECTED_TO_FAIL


def checked(kind: type) -> list[tuple[str, str, object]]:
    """Run all checks on ``kind`` and return name, status ("passed", "failed", "xfail", "skipped") and the reason."""
    found = estimator_checks.check_estimator(
        kind(), on_fail=None, on_skip=None, expected_failed_checks=expected_of(kind)
    )
    results = [(each["check_name"], each["status"], each["exception"]) for each in found]
    for name in BEYOND:
        check = getattr(estimator_checks, name, None)
        try:
            if check is not None:
                check(kind.__name__, kind())
        except SkipTest as reason:
            results.append((name, "skipped", reason))
        except Exception as error:  # noqa: BLE001  (whatever it is, the check failed)
            results.append((name, "failed", error))
        else:
            results.append((name, "passed" if check is not None else "absent", None))
    return results


def main() -> int:
    bad = 0
    for kind in ALL:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that a class does not inherit from BaseEstimator, which is the point
            results = checked(kind)
        counts = {status: sum(s == status for _, s, _ in results) for status in sorted({s for _, s, _ in results})}
        print(f"scikit-learn {sklearn.__version__} {kind.__name__}: {counts}")
        for name, status, reason in results:
            unforeseen = status == "failed" or (status == "passed" and name in expected_of(kind))
            if unforeseen or status == "skipped":
                print(f"  {name} {status}: {' '.join(str(reason).split())[:200]}")
            bad += unforeseen
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
