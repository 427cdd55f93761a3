"""The C library's bank through cffi: the same stream learned under several alphas, in one block of memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from mapdpm.likelihoods._parameters import flat_parameters
from mapdpm.protocol import Vector
from mapdpm.stream.c_learner import Learner
from mapdpm.stream.c_options import DTYPES, Settings, modules, options_of

_ALIGNMENT = 8


class Bank:
    """Learners that differ in alpha only; the one that has predicted best answers."""

    def __init__(self, settings: Settings) -> None:
        dtype, alphas = settings["dtype"], settings["alphas"]
        lib, ffi = modules(dtype)
        options, kept = options_of(ffi, settings | {"alpha": float(alphas[0])})
        with np.errstate(over="ignore"):  # the C library refuses infinity
            given = alphas.astype(DTYPES[dtype])
        n_bytes = lib.mapdpm_bank_bytes(options, len(alphas))
        memory = np.zeros(-(-n_bytes // _ALIGNMENT) + 1, dtype=np.int64)
        self._bank = ffi.from_buffer("mapdpm_bank *", memory)  # and keeps it alive
        numbers = ffi.from_buffer("mapdpm_real[]", given)
        rates = settings["score_half_life"] or 0.0, settings["margin"]
        error = lib.mapdpm_bank_init(self._bank, n_bytes, options, numbers, len(alphas), *rates)
        del kept
        if error or not n_bytes:
            msg = (
                f"a parameter is beyond what {dtype} banks can hold: features {options.n_features}, clusters "
                f"{options.max_clusters}, alphas {alphas.min():g} to {alphas.max():g}, likelihood "
                f"{settings['likelihood']!r}"
            )
            raise ValueError(msg)
        self.nbytes = int(n_bytes)
        streams = (lib.mapdpm_bank_stream(self._bank, number) for number in range(len(alphas)))
        self.learners = [Learner(dtype, int(stream.bytes), stream) for stream in streams]
        self._lib, self._id, self._score = lib, ffi.new("uint32_t *"), ffi.new("mapdpm_real *")
        self._scores = ffi.cast("mapdpm_real *", self._bank + 1)  # two rows: sums, and their rounding errors

    @property
    def best(self) -> int:
        """Index of the learner that answers."""
        return int(self._bank.best)

    @property
    def n_switches(self) -> int:
        """Number of times that another learner took over."""
        return int(self._bank.n_switches)

    def learn_scored(self, x: Any) -> tuple[int, float]:
        """Learn a point; return its id and its log density before, both in the learner that answered until then."""
        error = self._lib.mapdpm_bank_learn(self._bank, x, self._id, self._score)
        self.learners[self.best].check(error, x)
        return self._id[0], self._score[0]

    def scores(self) -> Vector:
        """Score of each learner minus that of the first, in nats; old points may count less (``score_half_life``)."""
        rows = self._kept().astype(np.float64)
        return rows[0] + rows[1]

    def state(self) -> tuple[Vector, list[bytes]]:
        """The arguments of ``restore``: the scores, and the files of all learners."""
        return self._kept().ravel(), [learner.write() for learner in self.learners]

    def restore(self, best: int, n_switches: int, scores: Vector, files: list[bytes]) -> str:
        """Restore the state that ``state`` returned; returns the C library's name of the error, or an empty text."""
        self._bank.best, self._bank.n_switches = best, n_switches
        for number, score in enumerate(scores.tolist()):
            self._scores[number] = score
        for learner, file in zip(self.learners, files, strict=True):
            options = _comparable(learner.settings())
            problem = learner.read_into(file)
            if problem:
                return problem
            if _comparable(learner.settings()) != options:
                return "one of its learners has other options than the bank"
        return ""

    def _kept(self) -> Any:
        n = len(self.learners)
        return np.array([self._scores[i] for i in range(2 * n)], dtype=self.learners[0].dtype).reshape(2, n)


def _comparable(settings: Settings) -> Settings:
    """The settings in a form that ``==`` compares: a likelihood holds arrays."""
    likelihood = settings["likelihood"]
    parameters = b"" if likelihood is None else flat_parameters(likelihood).tobytes()
    return settings | {"likelihood": (type(likelihood), parameters)}
