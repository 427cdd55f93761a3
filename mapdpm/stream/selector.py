"""OnlineAlphaSelector: a stream learned under several alphas at once; the learner that predicts best answers."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np

from mapdpm.files import container
from mapdpm.files.errors import ModelFileError, refuse_damaged, words_of
from mapdpm.protocol import Labels, Vector
from mapdpm.stream.c_bank import Bank
from mapdpm.stream.c_learner import Learner
from mapdpm.stream.c_options import Settings
from mapdpm.stream.fast_path import FastPath
from mapdpm.stream.lock import exclusive
from mapdpm.stream.online import OnlineMAPDPM
from mapdpm.stream.records import Event
from mapdpm.stream.settings import BankSettings, checked_settings, settings_of, values_of

__all__ = ["OnlineAlphaSelector"]

DEFAULT_ALPHAS = tuple(np.geomspace(1e-3, 1e2, 6).tolist())
"""The default grid of alphas: steps of ten, for smaller steps change little."""

_MOST_SWITCHES = 64
BANK_KEY = "alpha_bank"
"""Key of the bank among the extras of a file."""


class OnlineAlphaSelector(BankSettings, OnlineMAPDPM):
    r"""A bank of stream learners over a grid of alpha, in fixed memory, that behaves as the best of them.

    Every learner scores each point before it learns the point. S_j is the sum of the log predictive densities
    (Raykov2014 (17)) of learner j; a term counts half after ``score_half_life`` points. One learner answers every call.
    Another takes over when its S exceeds that of the first by more than ``margin`` nats.

    Parameters
    ----------
    {settings}

    Attributes
    ----------
    alpha : float
        Alpha of the learner that answers.
    scores : ndarray of shape (n_alphas,)
        S_j minus S of the first learner, in nats.
    events : list of Event
        Events of the learner that answers, and the last 64 of kind "switched"; their ``id`` and ``other`` are the
        positions in ``alphas`` of the learners before and after.

    Notes
    -----
    A bank of A alphas takes A times the memory and the time of one learner. Ids are those of the learner that answers:
    after a switch they name other clusters. In C: ``mapdpm_bank_init`` and so on, with the same bits.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(3000, 2)) + rng.choice([0.0, 9.0], size=(3000, 1))
    >>> selector = OnlineAlphaSelector(max_clusters=8)
    >>> ids = selector.learn_many(X)
    >>> selector.n_clusters, selector.alpha < 10.0
    (2, True)
    """

    surprise, rare = False, 0.0  # no learner of a bank assesses points
    merged = OnlineMAPDPM.merged  # of many devices: one learner, not a bank
    dp_means = OnlineMAPDPM.dp_means

    # ---- what it answers besides ---------------------------------------------------------------------------------

    @property
    def alpha(self) -> float:  # type: ignore[override]
        """That of the learner that answers."""
        return float(self._grid[0 if self._bank is None else self._bank.best])

    @property
    @exclusive
    def scores(self) -> Vector:
        """By how many nats each learner has predicted better than the first, as far as that is remembered."""
        return np.zeros(len(self._grid)) if self._bank is None else self._bank.scores()

    @property
    def nbytes(self) -> int:
        """Bytes of all learners together; 0 while the number of features is unknown."""
        return 0 if self._bank is None else self._bank.nbytes

    # ---- learning ------------------------------------------------------------------------------------------------

    def learn_one(self, x: Any, t: float | None = None) -> int:
        """Learn a point, and return the id of its cluster in the learner that answered until then.

        A bank counts points: ValueError where a time ``t`` is given.
        """
        return self.learn_scored(x, t)[0]

    def learn_scored(self, x: Any, t: float | None = None) -> tuple[int, float]:
        """``learn_one``, and the log predictive density that x had before it was learned, in nats."""
        _refuse_time(t)
        return self._call_on_point(self._learn_scored, x)

    def learn_many(self, X: Any, t: Any = None) -> Labels:
        """``learn_one`` of each point of ``X``: the ids that they had when they were learned."""
        return self.learn_many_scored(X, t)[0]

    @exclusive
    def learn_many_scored(self, X: Any, t: Any = None) -> tuple[Labels, Vector]:
        """``learn_many``, and the log predictive density that each point had before it was learned."""
        _refuse_time(t)
        learner, points = self._checked(X)
        found = [self._learn_scored(learner, x) for x in points.tolist()]
        ids, densities = zip(*found, strict=True)
        return np.array(ids, dtype=np.int64), np.array(densities, dtype=np.float64)

    def _learn_scored(self, learner: Learner, x: Any) -> tuple[int, float]:  # noqa: ARG002  (the bank has them all)
        bank = self._bank
        assert bank is not None  # noqa: S101  (made with the learner)
        before, n_switches = bank.best, bank.n_switches
        answer = bank.learn_scored(x)
        if bank.n_switches != n_switches:
            self._switches.append(Event("switched", before, bank.best, self.n_seen))
        return answer

    def _refuse_to_assess(self, *_: Any, **__: Any) -> Any:
        """ValueError: the learners of a bank keep no record of surprise."""
        msg = "a bank of alphas does not assess points; use OnlineMAPDPM with the alpha that it has chosen"
        raise ValueError(msg)

    assess_one = assess_many = learn_assessed = learn_many_assessed = _refuse_to_assess

    # ---- files ---------------------------------------------------------------------------------------------------

    def _file(self) -> bytes:
        """The learner that answers, in the form that ``OnlineMAPDPM`` and chips read, and behind it all others."""
        file, bank = super()._file(), self._bank
        assert bank is not None  # noqa: S101  (there is a file)
        scores, files = bank.state()
        plain = {
            "best": bank.best,
            "n_switches": bank.n_switches,
            "score_half_life": None if self.score_half_life is None else float(self.score_half_life),
            "margin": float(self.margin),
            "switches": [list(event) for event in self._switches],
        }
        arrays = {"alphas": self._grid, "scores": scores.astype(np.float64)}
        learners = {f"learner_{number}": np.frombuffer(each, np.int8) for number, each in enumerate(files)}
        named = {f"{BANK_KEY}_{name}": value for name, value in (arrays | learners).items()}
        return container.with_extras(file, {BANK_KEY: plain, **named})

    @classmethod
    def from_bytes(cls, data: bytes) -> OnlineAlphaSelector:
        """The selector that ``to_bytes`` wrote; ValueError where the bytes are another file, or damaged."""
        alone = OnlineMAPDPM.from_bytes(data)
        extras = container.check_stream(data)[1]
        if BANK_KEY not in extras:
            msg = "the model file holds a single learner, no bank of alphas; OnlineMAPDPM.from_bytes reads it"
            raise ModelFileError(msg)
        common = {name: value for name, value in values_of(alone).items() if name in settings_of(cls)}
        try:
            plain = extras[BANK_KEY]
            alphas, scores = (
                np.asarray(extras[f"{BANK_KEY}_{name}"], dtype=np.float64) for name in ("alphas", "scores")
            )
            files = [extras[f"{BANK_KEY}_learner_{number}"].tobytes() for number in range(len(alphas))]
            best, n_switches = int(plain["best"]), int(plain["n_switches"])
            if not (0 <= best < len(alphas) and 0 <= n_switches < 1 << 32 and len(scores) == 2 * len(alphas)):
                raise ValueError  # noqa: TRY301  (said below)
            more = {"score_half_life": plain["score_half_life"], "margin": plain["margin"]}
            model = cls(alphas, **common, **more)
            switches = [Event(str(kind), int(one), int(two), int(when)) for kind, one, two, when in plain["switches"]]
            problem = model._bank.restore(best, n_switches, scores, files)  # type: ignore[union-attr]
        except ModelFileError:
            raise
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            refuse_damaged(f"its bank of alphas cannot be read ({type(error).__name__})")
        with np.errstate(over="ignore"):
            finite = np.all(np.isfinite(scores.astype(model.dtype)))
        if problem or not finite:
            refuse_damaged(f"its bank of alphas: {words_of(problem or 'number')}")
        model._switches.extend(switches)
        names = getattr(alone, "feature_names_in_", None)
        if names is not None:
            model.feature_names_in_ = names
        return model

    # ---- inside --------------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        self._bank: Bank | None = None
        self._switches: deque[Event] = deque(maxlen=_MOST_SWITCHES)
        settings = checked_settings(self)
        self._grid = np.array(DEFAULT_ALPHAS) if settings["alphas"] is None else settings["alphas"]
        if self.when_full == "error":
            msg = 'when_full="error" is for a single learner: of a bank, one may be full where another is not'
            raise ValueError(msg)
        super()._begin()

    def _new_learner(self, settings: Settings) -> Learner:
        self._bank = Bank(settings | {"alphas": self._grid})
        return self._bank.learners[0]

    @property
    def _learner(self) -> Learner | None:  # type: ignore[override]
        """The learner that answers."""
        return None if self._bank is None else self._bank.learners[self._bank.best]

    def _adopt(self, learner: Learner | None) -> None:  # noqa: ARG002  (the bank holds it)
        self._fast_path = FastPath(None, self._lock)  # closed: it would teach one learner only

    def _kept_events(self) -> list[Event]:
        """Events of the learner that answers, and switches from one learner to another."""
        return sorted([*super()._kept_events(), *self._switches], key=lambda event: event.when)


def _refuse_time(t: Any) -> None:
    if t is not None:
        msg = "a bank of alphas counts points and takes no times; leave t out, and give half_life in points"
        raise ValueError(msg)
