"""HDPHMM: states of sequences, at a mode of a hierarchical Dirichlet process hidden Markov model."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import numpy as np

from mapdpm.data import point_set
from mapdpm.data.copies import without_copies
from mapdpm.data.sequences import read_sequences
from mapdpm.estimators.grouped import SequenceEstimator, chosen_groups
from mapdpm.files import container
from mapdpm.files.sequence_models import checked_states, with_kappa
from mapdpm.models.files import SavedMixture
from mapdpm.models.hidden_markov_model import HiddenMarkovModel, Path
from mapdpm.names import AUTO, HMM_MOVES
from mapdpm.partition_priors import partition_prior
from mapdpm.partition_priors.hyperpriors import GammaPrior, check_gamma_prior
from mapdpm.partition_priors.transitions import Transitions, transitions
from mapdpm.protocol import Labels, Likelihood, Matrix, Vector
from mapdpm.search.background import Relevance
from mapdpm.search.fit import FitSettings, Structure
from mapdpm.search.sequences import SequenceProblem
from mapdpm.search.settings import ColumnParameters, SearchParameters, SearchSettings, check_init, check_search
from mapdpm.state import Mixture
from mapdpm.validation import check_count


@dataclass(eq=False, repr=False)
class _Model:
    alpha: float = 1.0
    gamma: float = 1.0
    kappa: float = 0.0
    _: KW_ONLY
    likelihood: Any = AUTO
    alpha_prior: GammaPrior | None = None
    gamma_prior: GammaPrior | None = None
    max_states: int | None = None


@dataclass(kw_only=True, eq=False, repr=False)
class _Parameters(ColumnParameters, SearchParameters, _Model):  # the fields of the last base come first
    init: Any = None
    moves: tuple[str, ...] = HMM_MOVES

    _moves_known: ClassVar[tuple[str, ...]] = HMM_MOVES


class HDPHMM(_Parameters, SavedMixture, SequenceEstimator):
    r"""States of points in time, at a mode of a hierarchical Dirichlet process hidden Markov model (Teh2004 section 7).

    Each state has a row of transitions, a Dirichlet process around common shares beta; the first states of sequences
    have one, too. The fit finds states z at a local maximum of J = log p(z | alpha, gamma, kappa) + sum_k
    log p(x_{c_k}), where transitions and shares are integrated out (docs/maths.md (83); to 0.03 nats). Points take
    their best states one by one (maths (84)), and then as whole paths (Viterbi); states merge, split, and are deleted.
    The number of states is found.

    Parameters
    ----------
    alpha : float > 0
        Concentration of the transitions from a state: a small one makes each state lead to few others.
    gamma : float > 0
        Concentration of the common shares: the number of states grows with it.
    kappa : float >= 0
        The additional weight of a state after itself: the sticky model of Fox et al. (2008).
    likelihood : "auto", Likelihood, a family, or None
        The family of a state, with its prior. "auto", or the class of a family: a prior fitted as by ``MAPDPM`` to the
        points without their order, and again to the states of the fit while J rises. None is the empirical
        Normal-Gamma (``NormalGamma.empirical``).
    alpha_prior, gamma_prior : GammaPrior or None
        With a prior, ``alpha`` (or ``gamma``) is where the search begins, and is set to the mode of its posterior: of
        p(log alpha, log gamma | z). ``alpha_`` and ``gamma_`` are the results.
    init : array of shape (n_points,) or None
        Integer labels to start from, such as a draw of a sampler. None is the best of three starts: the clusters of
        ``MAPDPM`` for the points without their order, a sequential start, and, for at most 30,000 points, states whose
        paths were drawn again and again.
    max_states : int or None
        Largest number of states; None: no limit. It must not be below the number of states in ``init``.
    moves : tuple of {"merge", "path", "split", "delete"}
        Moves of many points at once, in the order in which they are tried.
    n_restarts : int
        Number of runs; the best one wins. The first starts from ``init``, the others from a path that is drawn given
        the best result so far.
    relevance, max_sweeps, time_limit, backend, n_jobs, random_state, verbose, callback
        As for ``HDPMixture``, with the order in place of groups.

    Attributes
    ----------
    labels_ : ndarray of shape (n_points,)
        State of each point, 0..K-1 in order of first appearance.
    n_states_, n_clusters_ : int
        K.
    cluster_sizes_ : ndarray of shape (K,)
        Number of points in each state.
    transitions_ : ndarray of shape (K, K + 1)
        Posterior means of the transitions, (n_vk + alpha beta_k + kappa [v = k]) / (n_v + alpha + kappa); the last
        column is a new state. Rows sum to 1.
    start_ : ndarray of shape (K + 1,)
        Posterior means of the first state of a sequence.
    durations_ : ndarray of shape (K,)
        Expected number of points in a row in each state, 1 / (1 - transitions_[k, k]).
    shares_ : ndarray of shape (K + 1,)
        The common shares beta, by which a new state leads on; the last is that of all new states.
    means_, variances_ : ndarray of shape (K, n_features)
        Sample mean and variance (ddof 0) of the points of each state; only where the family has them.
    log_joint_ : float
        J in nats, all constants included.
    history_ : ndarray
        J of the winning run after the start, each sweep and each move that gained. It never falls.
    n_sweeps_, converged_, likelihood_, backend_, relevant_, relevance_, n_features_in_, feature_names_in_
        As for ``HDPMixture``.
    alpha_, gamma_, kappa_ : float
        The concentrations and the additional weight that were used.

    Notes
    -----
    O(N K D) a sweep, and O(N K (K + D)) a path. Memory: the points, and N x K numbers. ``predict`` and the methods
    below know one new state beside those of the fit: its points have the density of the prior predictive, and it leads
    on by the common shares. A new value in a column that was constant is that of a new state. Columns that carry no
    states have no part in paths and probabilities, and their densities are in ``score``.

    Examples
    --------
    >>> import numpy as np
    >>> from mapdpm import NormalGamma
    >>> X = np.array([[0.0], [0.2], [0.1], [9.0], [9.3], [9.1], [0.1], [0.2]])
    >>> model = HDPHMM(likelihood=NormalGamma(m0=0.0, c0=0.01, a0=1.0, b0=0.1)).fit(X)
    >>> model.labels_.tolist(), model.n_states_
    ([0, 0, 0, 1, 1, 1, 0, 0], 2)
    >>> model.predict([[9.2], [9.4], [0.0]]).tolist()
    [1, 1, 0]
    """

    n_states_: int
    transitions_: Matrix
    start_: Vector
    durations_: Vector
    shares_: Vector
    alpha_: float
    gamma_: float
    kappa_: float

    _kind: ClassVar[int] = container.STATES
    _own_parameters: ClassVar[tuple[str, ...]] = ("kappa", "max_states")

    def fit(self, X: Any, y: Any = None, sequences: Any = None) -> Self:
        """Find the states of the points of ``X``, whose rows are in order of time.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_points, n_features)
            As for ``MAPDPM``. Not changed.
        y : array-like of shape (n_points,), optional
            The sequences, where they are given as the second argument: ``fit(X, sequences)``.
        sequences : array-like of shape (n_points,), optional
            The sequence of each point: any hashable label; not None or NaN. Rows of a sequence are neighbours. All
            sequences share the states and their transitions. None is one sequence.

        Returns
        -------
        HDPHMM
            self.

        Raises
        ------
        ValueError
            A parameter, the points or the sequences are invalid, or a sequence comes back after another one; the
            message says where, and what was got.
        """
        search = check_search(self)
        names, points, plan = self._read_to_fit(X)
        prior, hyperpriors = self._priors()
        n = point_set(points).n_points
        if isinstance(self.likelihood, (str, type)):  # the prior is fitted
            _warn_of_held_values(points, n)
        chain = read_sequences(chosen_groups(y, sequences), n)
        structure = Structure(lambda flat: SequenceProblem.of(flat, chain, prior), None, hyperpriors, "states")
        fitted = self._fit(self._settings(n, structure, search)._replace(**plan._asdict()), points)
        self._take(fitted, names)
        self._set_table(*fitted.counted)
        return self

    def predict(self, X: Any, sequences: Any = None, novelty: bool = False) -> Labels:
        """The most probable path of states (Viterbi) under the posterior means; (N,). O(N K (K + D)).

        With ``novelty``, the new state takes part, and its points are -1. ``sequences`` as in ``fit``.
        """
        found = self._hidden_markov_model().path(self._points(X), sequences, novelty)
        return np.where(found == self.n_states_, -1, found)

    def predict_proba(self, X: Any, sequences: Any = None) -> Matrix:
        """p(state | all points of the sequence), (N, K + 1), by forward-backward; the last column is a new state."""
        return self._hidden_markov_model().smoothed(self._points(X), sequences)

    def filter_proba(self, X: Any, sequences: Any = None) -> Matrix:
        """p(state | the points of the sequence so far), (N, K + 1): what is known at the time of each point."""
        return self._hidden_markov_model().filtered(self._points(X), sequences)

    def filter_one(self, x: Any, belief: Any = None) -> Vector:
        """p(state | points so far), (K + 1,), after one point ``x``, (n_features,); O(K (K + D)). Changes nothing.

        ``belief`` is what this method has returned for the point before; None begins a sequence.
        """
        return self._hidden_markov_model().after(self._points([x], named=False), belief)

    def transform(self, X: Any, sequences: Any = None) -> Any:
        """``predict_proba``, in the container that ``set_output`` chose, for the next step of a pipeline."""
        return self._framed(self.predict_proba(X, sequences), X)

    def score(self, X: Any, y: Any = None, sequences: Any = None) -> float:
        """Log density of the sequences of ``X``, summed over all, in nats; ``y`` as in ``fit``. O(N K (K + D)).

        By the forward algorithm under the posterior means, with one new state.
        """
        chosen = chosen_groups(y, sequences)
        return self._hidden_markov_model().log_density(self._points(X), chosen)

    def sample_path(self, n_points: int, random_state: Any = None) -> Path:
        """A sequence of ``n_points`` under the model: ``states`` (n_points,), and ``points`` (n_points, n_features).

        States follow the posterior means; a new state is 0..K-1 and then K. The points of a state are those of one draw
        of its parameters; of ``Mixed`` columns, objects. ValueError where the family cannot draw points.
        """
        self._check_fitted()
        path = self._hidden_markov_model().drawn(check_count("n_points", n_points), random_state)
        if hasattr(self.likelihood_, "columns_from"):
            path = path._replace(points=self.likelihood_.columns_from(path.points))
        return path

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if hasattr(self, "kappa_"):
            self._mixture = with_kappa(self._mixture, self.kappa_)

    def _extras(self) -> dict[str, Any]:
        return {"kappa": float(self.kappa), "kappa_": self.kappa_, "max_states": self.max_states}

    def _read_table(self, mixture: Mixture, extras: dict[str, Any]) -> tuple[Mixture, Labels, Matrix]:
        return with_kappa(mixture, extras["kappa_"]), *checked_states(mixture, extras)

    def _priors(self) -> tuple[Transitions, tuple[GammaPrior | None, ...]]:
        """The prior of partitions, and those of alpha and gamma; checked."""
        check_gamma_prior("alpha_prior", self.alpha_prior)
        check_gamma_prior("gamma_prior", self.gamma_prior)
        return transitions(self.alpha, self.gamma, self.kappa), (self.alpha_prior, self.gamma_prior)

    def _settings(
        self, n_points: int, structure: Structure | None, search: SearchSettings | None = None
    ) -> FitSettings:
        """The settings of the search, checked."""
        most = None if self.max_states is None else check_count("max_states", self.max_states)
        init, prior = check_init(self, n_points), partition_prior(self.gamma)
        return FitSettings(self.likelihood, prior, most, init, search or check_search(self), structure=structure)

    def _adopt(
        self, mixture: Mixture, likelihood: Likelihood, backend: str, relevance: Relevance | None = None
    ) -> None:
        super()._adopt(mixture, likelihood, backend, relevance)
        self.n_states_ = self.n_clusters_
        self.alpha_, self.gamma_, self.kappa_ = mixture.prior

    def _set_table(self, table: Labels, shares: Matrix) -> None:
        self._table, self.shares_ = table, shares[0]
        self.start_, self._steps = self._mixture.prior.means(table, self.alpha_ * self.shares_)
        self.transitions_ = self._steps[:-1]
        leaves = self.transitions_.copy()
        np.fill_diagonal(leaves, 0.0)
        self.durations_ = 1.0 / leaves.sum(axis=1)  # 1 - transitions_[k, k] is 0 after rounding, of a large kappa

    def _hidden_markov_model(self) -> HiddenMarkovModel:
        self._check_fitted()
        relevance = None if self._relevance is None or self._relevance.is_all else self._relevance
        return HiddenMarkovModel(self._mixture, self.start_, self._steps, self.backend_, self.n_jobs, relevance)

    def _names_out(self, prefix: str) -> list[str]:
        return [*(f"{prefix}{k}" for k in range(self.n_states_)), f"{prefix}_new"]


def _warn_of_held_values(points: Any, n_points: int) -> None:
    """Each copy of a point counts, and so does each transition between copies: both are evidence for small states."""
    kept = without_copies(points)
    if kept is not None and 2 * len(kept) <= n_points:
        msg = (
            f"{n_points - len(kept)} of {n_points} points are copies of others, as of a sensor that holds its values: "
            "copies in a row make states of their own; leave them out"
        )
        warnings.warn(msg, stacklevel=3)
