"""The largest evidence by the C backend, the twin of ``evidence``: many parts of a product in one call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from mapdpm.backends.c_calls import SPACE, Struct, has_twin, run, run_without_problem, without_points
from mapdpm.backends.composed import Composed
from mapdpm.backends.evidence import Box, Climbed, Part, largest_evidence
from mapdpm.likelihoods import STREAM_FAMILIES, NormalInverseWishart
from mapdpm.likelihoods._full_evidence import full_clusters
from mapdpm.likelihoods._parameters import flat_parameters, prior_of
from mapdpm.likelihoods._skipping import plain, skips
from mapdpm.protocol import Matrix
from mapdpm.state import ClusterState

_AT_ONCE = 1 << 11  # clusters times columns of alike parts: a search in C does not look at the clock
_MOST_OF_FULL = 1 << 14  # clusters times columns of full covariances; the search in Python looks at it


class _Kind(NamedTuple):
    """The properties that parts share whose priors one call of C seeks."""

    family: type[Any]
    skips: bool
    n_features: int
    names: tuple[str, ...]
    tolerances: tuple[float, ...]


class CEvidence(Composed):
    """The largest evidence, by C where it has the family."""

    def largest_evidence(
        self: Any, state: ClusterState, parts: Sequence[Part], expired: Callable[[], bool] = bool
    ) -> list[Climbed]:
        n_clusters = int(np.count_nonzero(state.counts))
        alike: dict[_Kind | None, list[int]] = {}
        for number, part in enumerate(parts):
            alike.setdefault(_kind(part, n_clusters), []).append(number)
        found: dict[int, Climbed] = {}
        for kind, numbers in alike.items():
            cells = 1 if kind is None else max(1, n_clusters) * kind.n_features
            at_once = max(1, _AT_ONCE // cells)
            for first in range(0, len(numbers), at_once):
                chosen = numbers[first : first + at_once]
                some = [parts[number] for number in chosen]
                if kind is None:
                    climbed = super().largest_evidence(state, some, expired)
                elif kind.family is NormalInverseWishart:
                    climbed = [_of_full(self, state, part, expired) for part in some]
                else:
                    climbed = _of_alike(state, some, kind, expired)
                found.update(zip(chosen, climbed, strict=True))
        return [found[number] for number in range(len(parts))]


def _kind(part: Part, n_clusters: int) -> _Kind | None:
    """The kind of a part; None where C does not seek its prior."""
    made_by, widths = part.made_by, part.widths
    family = plain(made_by)
    if isinstance(family, NormalInverseWishart):
        is_c = widths is not None and has_twin(made_by) and n_clusters * len(family.m0) <= _MOST_OF_FULL
    else:
        is_c = type(family) in STREAM_FAMILIES
    if not is_c:
        return None
    names, tolerances = ((), (1.0, 0.0)) if widths is None else (widths.names, tuple(widths.box[2:]))
    return _Kind(type(family), skips(made_by), len(family.m0), names, tolerances)


def _of_alike(state: ClusterState, parts: list[Part], kind: _Kind, expired: Callable[[], bool]) -> list[Climbed]:
    """The priors of parts of one kind; where time is up, they stay."""
    sought = [] if expired() else [part.widths for part in parts if part.widths is not None]  # of all parts, or of none
    names = kind.names if sought else ()
    bases = [each.likelihood for each in sought] or [plain(part.made_by) for part in parts]
    low, high = (np.array([each.box[side] for each in sought], dtype=np.float64) for side in (0, 1))
    found = np.array([part.place if sought else () for part in parts], dtype=np.float64)
    parameters = np.array([flat_parameters(base) for base in bases])
    widths = _widths(names, parameters, prior_of(bases[0]), (low, high, *kind.tolerances))
    starts = np.array([part.row.start for part in parts])
    alike = Struct("mapdpm_alike_parts", {"n_parts": len(parts), "at": starts, "row_size": state.rows.shape[1]})
    model, ends = without_points(parts[0].made_by, None), np.empty((len(parts), 2))
    run("largest_evidence", model, state, SPACE, alike, widths, found, ends)
    places = found if sought else [part.place for part in parts]
    return [Climbed(place, *pair) for place, pair in zip(places, ends.tolist(), strict=True)]


def _of_full(backend: Any, state: ClusterState, part: Part, expired: Callable[[], bool]) -> Climbed:
    """The prior of full covariances."""
    made_by, row, sought, place = part
    assert sought is not None  # noqa: S101  (of such a kind it is sought)
    live, base = state.counts > 0, sought.likelihood
    full = full_clusters(state.rows[live, row][:, : made_by.n_statistics()], made_by, base, expired)
    if full is None:
        return largest_evidence(backend, state, [part], expired)[0]
    shape = {"n_clusters": len(full.counts), "n_features": len(base.m0)}
    clusters = Struct("mapdpm_full_clusters", shape | full._asdict())
    factor = {"c0": base.c0, "nu0": base.nu0, "psi0": 1.0}
    widths = _widths(sought.names, np.array([*factor.values()]), factor, sought.box)
    found, ends = place.copy(), np.empty(2)
    run_without_problem("largest_full_evidence", clusters, widths, found, ends)
    return Climbed(found, *ends.tolist())


def _widths(names: tuple[str, ...], parameters: Matrix, prior: dict[str, Any], box: tuple[Any, ...]) -> Struct:
    """The widths as C reads them, from the ``parameters`` of a prior on, a row for each part."""
    numbers = {name: number for number, name in enumerate(names)}
    sizes = [np.size(value) for value in prior.values()]
    log_of = np.repeat([numbers.get(name, -1) for name in prior], sizes).astype(np.int64)
    fields = {"n_logs": len(names), "parameters": parameters, "log_of": log_of}
    return Struct("mapdpm_widths", fields | dict(zip(Box._fields, box, strict=True)))
