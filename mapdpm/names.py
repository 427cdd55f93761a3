"""The words of the interface: what methods, moves, backends, starts and policies are called. Imports nothing.

The command line offers these words in its help without loading what they name.
"""

MOVES = ("merge", "split", "permutation", "regroup")
"""``moves=`` of ``MAPDPM``, in the order of docs/adding-a-move.md; search/moves/catalogue.py has all classes."""

HDP_MOVES = ("merge", "cell", "split", "delete")
"""``moves=`` of ``HDPMixture``."""

HMM_MOVES = ("merge", "path", "split", "delete")
"""``moves=`` of ``HDPHMM``."""

BACKENDS = ("c", "numba", "python")
"""``backend=``, besides "auto", in the order in which "auto" asks them."""

STARTS = ("sequential", "random-order", "single")
"""``init=`` of ``MAPDPM``."""

CHAIN_STARTS = ("sequential", "random", "single", "singletons")
"""``init=`` of ``samplers.sample``."""

AUTO = "auto"
"""``likelihood=`` of normal data whose prior is fitted; the class of a family asks for the same of that family."""

CRITERIA = ("log-joint", "overlap")
"""``criterion=`` of ``merge_tree``."""

METHODS = ("cv", "nll", "map", "empirical-bayes", "prequential")
"""``method=`` of ``select_alpha``."""

WHEN_FULL = ("least-loss", "merge", "evict", "refuse", "error")
"""``when_full=`` of a stream; the index of each is its number in the C library."""

WHEN_GROUPS_FULL = ("error", "replace")
"""``when_groups_full=`` of a stream of groups; likewise."""

MISSING = ("error", "skip")
"""``missing=`` of ``MAPDPM`` and of a stream."""

COVARIANCE = ("auto", "diagonal", "full")
"""``covariance=``: the shape of clusters of normal columns."""

RELEVANCE = ("auto", "all", "search")
"""``relevance=``: searched where the prior is fitted, never, always."""

STREAM_RELEVANCE = ("all", "auto")
"""``relevance=`` of a stream, in the order of C."""

DTYPES = ("float64", "float32")
"""``dtype=`` of a stream, and of a file."""

INT16 = "int16"
"""``dtype=`` of a stream in whole numbers."""
