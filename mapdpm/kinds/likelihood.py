"""The likelihood that follows from kinds of columns: what ``likelihood="auto"`` stands for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from mapdpm.data import columns as data
from mapdpm.data.columns import columns_of, kinds_differ, refuse_numbers_as_text
from mapdpm.data.table import Table
from mapdpm.hashing import mixed_bits
from mapdpm.kinds.columns import Columns, columns
from mapdpm.kinds.ends import Ends
from mapdpm.kinds.kinds import CATEGORY, CIRCULAR, CONSTANT, CONTINUOUS, COUNT, FLAG, ROUNDED, SPIKED, ColumnKind
from mapdpm.likelihoods._as_given import of_columns
from mapdpm.likelihoods._measured import Measured
from mapdpm.likelihoods._parameters import RESOLUTION
from mapdpm.likelihoods._shape import full_of
from mapdpm.likelihoods._skipping import named
from mapdpm.likelihoods.beta_bernoulli import BetaBernoulli
from mapdpm.likelihoods.categorical import Categorical
from mapdpm.likelihoods.gamma_poisson import GammaPoisson
from mapdpm.likelihoods.mixed import Mixed
from mapdpm.likelihoods.normal_gamma import NormalGamma
from mapdpm.likelihoods.spiked import Circular, Flag, Spiked
from mapdpm.names import AUTO, COVARIANCE
from mapdpm.validation import check_choice

_NUMBERS = (CONTINUOUS, ROUNDED)
_MANY, _SALT = 20_000, 34  # rows, and another choice than that of the search for a prior
_BOTH = (0.0, 1.0)
_MOST_SPIKES = 2


class Plan(NamedTuple):
    """What a fit does with the columns of a table."""

    likelihood: Any
    """That of all columns, bound to them where they are of several kinds."""
    left_out: tuple[int, ...] = ()
    """The places of columns that vary, and of which the user said that they are constant: they say nothing."""
    covariance: str = COVARIANCE[1]
    """As ``FitSettings`` has it."""

    def for_points(self, points: Any) -> Plan:
        """Self, with the places of ``points`` in the form that the likelihood reads: one column may become two."""
        if not self.left_out or not isinstance(points, Table):
            return self
        places = np.isin(self.likelihood.places(), self.left_out)
        return self._replace(left_out=tuple(np.flatnonzero(places).tolist()))


def read_columns(likelihood: Any, X: Any, kinds: Any = None, covariance: str = COVARIANCE[0]) -> Plan:
    """The likelihood of the columns of ``X``: of their kinds for "auto"; steps belong to a class, too.

    UserWarning for columns that look as if they were no measurements.
    """
    check_choice("covariance", covariance, COVARIANCE)
    if isinstance(likelihood, str) and likelihood == AUTO:
        found = found_kinds(X, kinds)
        for column in columns_of(X) if kinds_differ(X) else ():
            if column.kind == data.CATEGORY and column.name not in (kinds or {}):
                refuse_numbers_as_text(column)
        found.warn()
        plan = likelihood_of(found, X)
        if covariance == COVARIANCE[2]:
            return plan._replace(likelihood=full_of(plan.likelihood))
        return plan._replace(covariance=covariance)
    if kinds is not None:
        msg = f"kinds is for likelihood={AUTO!r}: a given family says what columns are; got {named(likelihood)} too"
        raise ValueError(msg)
    if covariance != COVARIANCE[0]:
        msg = f"covariance is for likelihood={AUTO!r}: NormalInverseWishart is full; got {named(likelihood)} too"
        raise ValueError(msg)
    return Plan(of_columns(with_steps(likelihood, X), X))


def with_steps(family: Any, X: Any) -> Any:
    """A class of a normal family with the steps of its columns, whatever else they are; any other likelihood itself."""
    has_steps = isinstance(family, type) and RESOLUTION in getattr(family, "axes", ()) and hasattr(family, "feature")
    return _measured(found_kinds(X, None), family) if has_steps else family


def likelihood_of(columns: Columns, X: Any) -> Plan:
    """The likelihood of a table: ``NormalGamma``, with steps where there are some, or a ``Mixed`` of blocks.

    Continuous and rounded columns are one block, counts one, flags one, and so are columns with one spike, and with
    two. Categories and angles are blocks of their own. Columns of numbers that are constant are in the first block; a
    search for relevant columns leaves them aside.

    Examples
    --------
    >>> import numpy as np
    >>> from mapdpm import columns
    >>> rng = np.random.default_rng(0)
    >>> X = np.stack([rng.normal(size=200).round(1), np.maximum(rng.normal(size=200), 0.0), np.zeros(200)], axis=1)
    >>> likelihood_of(columns(X), X).likelihood
    Mixed({(0, 2): Measured(NormalGamma, (0.1, 0.0)), (1,): Spiked(0.0, NormalGamma)})
    """
    left_out = tuple(place for place, column in enumerate(columns) if column.kind == CONSTANT and column.n_distinct > 1)
    texts = [column for column in columns_of(X) if column.kind == data.CATEGORY] if hasattr(X, "dtypes") else []
    own = [each._replace(kind=_read_as(each, {text.name for text in texts})) for each in columns]
    if all(column.kind in _NUMBERS for column in own):
        return Plan(_measured(own), left_out)
    parts: dict[Any, Any] = {}
    for chosen, family_of in _BLOCKS:
        block = [column for column in own if chosen(column)]
        if block:
            parts[tuple(column.name for column in block)] = family_of(block)
    for column in own:
        if column.kind == CATEGORY:
            parts[column.name] = Categorical
        if column.kind == CIRCULAR:
            parts[column.name] = Circular(column.step)
    return Plan(Mixed(parts).bound_to(X), left_out)


def _read_as(column: ColumnKind, texts: set[Any]) -> str:
    """The kind as which a column is read: a constant is a number or a category."""
    if column.kind != CONSTANT:
        return column.kind
    return CATEGORY if column.name in texts else CONTINUOUS


def found_kinds(X: Any, kinds: Any) -> Columns:
    """The kinds of the columns: of some rows where there are many, unless others contradict them."""
    if type(X) is not np.ndarray or X.ndim != 2 or len(X) <= _MANY or X.dtype.kind != "f":  # noqa: PLR2004
        return columns(X, kinds)
    chosen = np.sort(np.argpartition(mixed_bits(np.arange(len(X)), _SALT), _MANY)[:_MANY])
    found = columns(X[chosen], kinds)
    few = [place for place, column in enumerate(found) if column.kind in {FLAG, CONSTANT, COUNT}]
    ends = Ends.of(X[:, few])
    return found if all(ends.fit(found[place], at) for at, place in enumerate(few)) else columns(X, kinds)


def _measured(columns: Sequence[ColumnKind], family: Any = NormalGamma) -> Any:
    steps = tuple(_step_of(column) for column in columns)
    return Measured(family, steps) if any(steps) else family


def _step_of(column: ColumnKind) -> float:
    """The step of a column that is read as a number."""
    if column.kind in {FLAG, COUNT}:
        return 1.0 if column.kind == COUNT else float(np.ptp(column.spikes))
    return 0.0 if column.kind in {CONSTANT, CIRCULAR} else column.step


def _flags(columns: Sequence[ColumnKind]) -> Any:
    values = [column.spikes if len(column.spikes) == len(_BOTH) else _BOTH for column in columns]
    low, high = zip(*values, strict=True)
    return BetaBernoulli if {*values} == {_BOTH} else Flag((low, high))


def _spiked(columns: Sequence[ColumnKind]) -> Any:
    family = GammaPoisson if columns[0].kind == COUNT else _measured(columns)
    for values in reversed(list(zip(*(column.spikes for column in columns), strict=True))):
        family = Spiked(values, family)
    return family


def _with_spikes(kind: str, n: int) -> Callable[[ColumnKind], bool]:
    return lambda column: column.kind == kind and len(column.spikes) == n


_BLOCKS: tuple[tuple[Callable[[ColumnKind], bool], Callable[[Sequence[ColumnKind]], Any]], ...] = (
    (lambda column: column.kind in _NUMBERS, _measured),
    *((_with_spikes(SPIKED, n), _spiked) for n in range(1, _MOST_SPIKES + 1)),
    (_with_spikes(COUNT, 0), lambda _: GammaPoisson),
    *((_with_spikes(COUNT, n), _spiked) for n in range(1, _MOST_SPIKES + 1)),
    (lambda column: column.kind == FLAG, _flags),
)
"""Which columns are one block, and of which family."""
