"""Families in model files: their number or name, their parameters, and the parts of a product."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mapdpm.files.errors import ModelFileError
from mapdpm.likelihoods import FAMILIES
from mapdpm.likelihoods._blocks import Block
from mapdpm.likelihoods._measured import Measured
from mapdpm.likelihoods._parameters import RESOLUTION, flat_parameters, frozen, said_of
from mapdpm.likelihoods._product import Part, Product, parts_of, product_of
from mapdpm.likelihoods._readings import AS_IT_IS
from mapdpm.likelihoods._registry import OUTSIDE, family_named
from mapdpm.likelihoods._skipping import in_kernels, plain, skips
from mapdpm.likelihoods.beta_bernoulli import BetaBernoulli
from mapdpm.likelihoods.mixed import Mixed
from mapdpm.likelihoods.spiked import Circular, Flag, Spiked
from mapdpm.names import AUTO, MISSING
from mapdpm.protocol import Labels, Vector

MIXED = 9
"""The number of all products; their files have the numbers of the parts besides."""

_OF_NUMBER: dict[int, type[Any]] = {family.number: family for family in FAMILIES}
NUMBERS = frozenset({*_OF_NUMBER, MIXED, OUTSIDE})
WITH_GAPS = frozenset({MIXED, OUTSIDE, *(n for n, family in _OF_NUMBER.items() if hasattr(family, "feature"))})
"""Those that may skip missing values."""
_PARTS, _BLANKS = "parts", "blanks"


def has_format(likelihood: Any) -> bool:
    """Whether model files can hold a likelihood as kernels read it: each of its families has a number or a name."""
    return all(plain(each).name for each in _families(likelihood))


def number_of(likelihood: Any) -> int:
    """The number of a likelihood, as kernels read it, in the header; ValueError where it has none."""
    if isinstance(likelihood, Product):
        for each in _families(likelihood):
            code_of(type(plain(each)))
        return MIXED
    code = code_of(type(plain(likelihood)))
    return code if isinstance(code, int) else OUTSIDE


def code_of(kind: type[Any]) -> int | str:
    """The number of a family of the package, or the name of another; ValueError where it has neither."""
    if not getattr(kind, "name", ""):
        msg = (
            f"the likelihood {kind.__name__} has no name, so its models cannot be saved: give it one by "
            "@parameters(name=...); or pickle or joblib can keep them"
        )
        raise ValueError(msg)
    return int(kind.number) or str(kind.name)


def family_of(code: Any) -> type[Any]:
    """The family of a number or a name; ValueError where there is none, or none is registered."""
    if isinstance(code, str):
        return family_named(code)
    if code not in _OF_NUMBER:
        msg = f"there is no family {code!r}"
        raise ValueError(msg)
    return _OF_NUMBER[code]


# ---- as kernels read it: the body of a file --------------------------------------------------------------------------


def structure_of(likelihood: Any) -> dict[str, Any]:
    """What the extras say of a likelihood whose number does not say all: the name, or the parts with their sizes."""
    if isinstance(likelihood, Product):
        found = {"families": [_described(part, likelihood.skips) for part in parts_of(likelihood)]}
        return found | ({_BLANKS: [list(pair) for pair in likelihood.blanks]} if likelihood.blanks else {})
    code = code_of(type(plain(likelihood)))
    return {"families": code} if isinstance(code, str) else {}


def parameters_of(likelihood: Any) -> Vector:
    """The parameters of all families, one after the other."""
    return np.concatenate([flat_parameters(plain(each)) for each in _families(likelihood)])


def restored(number: int, extras: dict[str, Any], parameters: Vector, n_features: int, has_gaps: bool) -> Any:
    """The likelihood as kernels read it; ValueError where numbers, parts and parameters do not fit each other."""
    missing = MISSING[has_gaps]
    if number != MIXED:
        code = extras.get("families") if number == OUTSIDE else number
        return in_kernels(_of_flat(family_of(code), parameters, n_features), missing)
    families, widths, at = [], [], 0
    for width, code, n_entries, *skipping in extras.get("families", ()):
        kind = family_of(code)
        size = sum(math.prod((n_entries,) * kind.axes.get(name, 0)) for name in _stored(kind))
        likelihood = _of_flat(kind, parameters[at : at + size], n_entries)
        skips_own = width > 1 and hasattr(kind, "feature") and (has_gaps or bool(skipping))
        families.append(in_kernels(likelihood, MISSING[skips_own]))
        widths.append(int(width))
        at += size
    if at != len(parameters) or sum(widths) != n_features or min(widths, default=0) < 1:
        msg = "its parts do not fit its parameters"
        raise ValueError(msg)
    blanks = tuple((int(flag), int(column)) for flag, column in extras.get(_BLANKS, ()))
    if not all(0 <= flag < column < n_features for flag, column in blanks):
        msg = "its spikes do not fit its columns"
        raise ValueError(msg)
    return product_of(families, widths, has_gaps, blanks)


def statistics_columns(likelihood: Any) -> Labels:
    """The numbers of a row that a file has: the statistics, without what follows from them."""
    if not isinstance(likelihood, Product):
        return np.arange(likelihood.n_statistics())
    own = [part.row.start + np.arange(part.family.n_statistics()) for part in parts_of(likelihood)]
    return np.concatenate([[0], *own])


def _families(likelihood: Any) -> list[Any]:
    return [part.family for part in parts_of(likelihood)] if isinstance(likelihood, Product) else [likelihood]


def _described(part: Part, all_skip: bool) -> list[Any]:
    """The width and the family of a part; and that it skips values, where the user may leave none out."""
    own = [True] if skips(part.family) and not all_skip else []
    return [int(part.columns.stop - part.columns.start), *_coded(plain(part.family)), *own]


def _coded(family: Any) -> tuple[int | str, int]:
    return code_of(type(family)), len(getattr(family, next(iter(family.axes))))


def _of_flat(kind: Any, parameters: Vector, n_entries: int) -> Any:
    fields, position = [], 0
    for name in _stored(kind):
        shape = (n_entries,) * kind.axes.get(name, 0)  # of a number, a vector or a matrix
        n = math.prod(shape)
        value = parameters[position : position + n]
        if len(value) < n:
            break
        fields.append(frozen(value.reshape(shape).copy()) if shape else float(value[0]))
        position += n
    if position != len(parameters) or len(fields) != len(_stored(kind)):
        msg = f"{kind.__name__} does not have {len(parameters)} parameters"
        raise ValueError(msg)
    return kind(*fields)


def _stored(kind: Any) -> list[str]:
    """The parameters of a family whose numbers the body has. The resolution, if any, is last; it is in the extras."""
    return [name for name in kind._fields if name != RESOLUTION]


# ---- as the user gave it: the extras ---------------------------------------------------------------------------------


def encoded(likelihood: Any) -> dict[str, Any]:
    """The parameter ``likelihood`` of an estimator: its values, with the family; or that its prior is fitted."""
    if likelihood is None or isinstance(likelihood, str):
        return {"likelihood_family": None, "likelihood": likelihood}
    if isinstance(likelihood, type):
        return {"likelihood_family": code_of(likelihood), "likelihood": AUTO}
    if isinstance(likelihood, Measured):
        return {"likelihood_family": code_of(likelihood.kind), "likelihood": _steps(likelihood)}
    code = MIXED if isinstance(likelihood, Mixed) else code_of(type(likelihood))
    return {"likelihood_family": code, "likelihood": values_of(likelihood)}


def decoded(given: Any, code: Any, family: type[Any]) -> Any:
    """What ``encoded`` wrote; ``family`` is that of files without a number."""
    if given is None:
        return None
    if code == MIXED:
        return _mixed_of(given)
    kind = family if code is None else family_of(code)
    if isinstance(given, str):
        return given if code is None else kind
    return _of_steps(kind, given) if isinstance(given, dict) else kind(*given)


def values_of(likelihood: Any) -> Any:
    """A likelihood as JSON: its fields, without a resolution of 0; of a mixed one its blocks."""
    if isinstance(likelihood, Mixed):
        return {_PARTS: [_listed(blocks) for blocks in likelihood.keyed()]}
    return [np.asarray(value).tolist() for value in said_of(likelihood).values()]


def of_values(values: Any, kernels: Any) -> Any:
    """What ``values_of`` wrote; ``kernels`` is that likelihood as kernels read it."""
    return _mixed_of(values) if isinstance(kernels, Product) else type(plain(kernels))(*values)


def of_kernels(likelihood: Any) -> Any:
    """The likelihood of a file without extras."""
    if isinstance(likelihood, Product):
        msg = "it lacks the names of its columns"
        raise ModelFileError(msg)
    return plain(likelihood)


def n_columns(likelihood: Any, n_features: int) -> int | None:
    """The number of columns of what the user gave; None where a point of more features is read from fewer."""
    if isinstance(likelihood, Mixed):
        return likelihood.n_columns
    return None if hasattr(likelihood, "read") else n_features


def missing_of(likelihood: Any) -> str:
    """The parameter ``missing`` of a likelihood as kernels read it."""
    return MISSING[skips(likelihood)]


def _listed(blocks: list[Block]) -> list[Any]:
    """A key of ``Mixed``: its columns, and its family; with how it reads them where they are not read as they are."""
    first, last = blocks[0], blocks[-1]
    listed = [isinstance(first.key, tuple), *map(list, (first.names, first.places, first.levels)), *_family(last)]
    if first.reading is AS_IT_IS:
        return listed
    reading = last.reading
    flags = [[block.reading.is_value, _family(block)[1]] for block in blocks[:-1]]
    return [*listed, {"spikes": flags, "flag": [reading.others, reading.is_value], "period": reading.period}]


def _family(block: Block) -> list[Any]:
    if block.is_open and not isinstance(block.family, type):
        return [code_of(block.kind), _steps(block.family)]
    return [code_of(block.kind), None if block.is_open else values_of(block.family)]


def _of_family(code: Any, values: Any) -> Any:
    kind = family_of(code)
    if isinstance(values, dict):
        return _of_steps(kind, values)
    return kind if values is None else kind(*values)


def _steps(family: Measured) -> dict[str, Any]:
    """A family whose prior is to be fitted to rounded values, as JSON."""
    return {RESOLUTION: list(family.resolution)}


def _of_steps(kind: Any, values: dict[str, Any]) -> Measured:
    return Measured(kind, tuple(map(float, values[RESOLUTION])))


def _as_read(family: Any, reading: dict[str, Any]) -> Any:
    """The family of a key that reads its columns in a way of its own."""
    if reading["period"]:
        return Circular(reading["period"], family)
    low, high = (tuple(values) for values in reading["flag"])
    if high:
        return Flag((low, high), family)
    for values, prior in reversed(reading["spikes"]):
        family = Spiked(tuple(values), family, _of_family(code_of(BetaBernoulli), prior))
    return family


def _mixed_of(listed: dict[str, Any]) -> Mixed:
    families, bound = {}, {}
    for is_block, names, places, levels, code, values, *reading in listed[_PARTS]:
        family = _of_family(code, values)
        key = tuple(names) if is_block else names[0]
        families[key] = _as_read(family, reading[0]) if reading else family
        bound[key] = tuple(map(int, places)), tuple(levels)
    mixed = Mixed(families)
    blocks = [block._replace(places=bound[block.key][0], levels=bound[block.key][1]) for block in mixed.blocks]
    for block in blocks:
        if len(block.places) not in {0, len(block.names)} or len(set(block.levels)) < len(block.levels):
            msg = "places or levels of a part"
            raise ValueError(msg)
    return Mixed.of_blocks(tuple(blocks))
