"""The settings of streams, in one table: a field below is a row, with its default, check, meaning and other names.

Constructors, river's adapters, ``from_model``, files, checkpoints, options of ``mapdpm stream``, docstrings and
docs/reference.md read the table. A setting of all learners is one row in ``SharedSettings``.
"""

from __future__ import annotations

import dataclasses
import textwrap
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from mapdpm.names import AUTO, DTYPES, INT16, MISSING, STREAM_RELEVANCE, WHEN_FULL, WHEN_GROUPS_FULL
from mapdpm.stream import kinds

_PLACE = "{settings}"  # in the docstring of a class
_WIDTH, _INDENT = 120, " " * 8


class Setting(NamedTuple):
    """A row of the table, without its name and type, which the field has."""

    default: Any
    kind: kinds.Kind
    meaning: str
    c: str
    """The field of ``mapdpm_options``; also the name of the setting on the command line. Empty: there is none."""
    option: tuple[str, str] | None
    """The value and the help of the command line, without the default; None where ``mapdpm stream`` has none."""


def row(
    kind: kinds.Kind, meaning: str, *, c: str | None = None, option: tuple[str, str] | None = None
) -> dict[str, Any]:
    """The row of a field; in C it has the same name, unless ``c`` says another."""
    return {"kind": kind, "meaning": meaning, "c": c, "option": option}


def setting(default: Any, kind: kinds.Kind, meaning: str, **more: Any) -> Any:
    """A field that is given by name, with its row."""
    return field(default=default, metadata=row(kind, meaning, **more))


# ---- the table: the last base of a class has the first rows ----------------------------------------------------------


@dataclass(kw_only=True, eq=False, repr=False)
class _Grid:
    alphas: Any = field(
        default=None, kw_only=False, metadata=row(kinds.GRID.or_none(), "The grid; None is 1e-3, 1e-2, ... 100.", c="")
    )


@dataclass(kw_only=True, eq=False, repr=False)
class _Slots:
    max_clusters: int = field(
        default=16,
        kw_only=False,
        metadata=row(kinds.SIZE, "Number of slots for clusters.", option=("K", "number of slots for clusters")),
    )


@dataclass(kw_only=True, eq=False, repr=False)
class _Alpha:
    alpha: float = setting(
        1.0,
        kinds.POSITIVE,
        "Concentration: the expected number of clusters grows as alpha log N. With groups: that within each; the "
        "smaller, the more the shares of groups differ. With states: that of the transitions from each; a small one "
        "makes each state lead to few others.",
        option=("A", "concentration, > 0"),
    )


@dataclass(kw_only=True, eq=False, repr=False)
class _Shares(_Alpha):
    gamma: float = setting(
        1.0,
        kinds.POSITIVE,
        "Concentration of the shares that all groups, or all rows of transitions, have in common: the number of "
        "clusters, or states, grows with it.",
        option=("G", "concentration of the common shares of states, > 0"),
    )


@dataclass(kw_only=True, eq=False, repr=False)
class _Window:
    window: int = setting(
        0,
        kinds.count(0),
        "Number of recent points to keep. Each step visits one of them again and moves it to its best cluster.",
    )


@dataclass(kw_only=True, eq=False, repr=False)
class SharedSettings:
    """The settings of all learners."""

    likelihood: Any = setting(  # noqa: RUF009  (it makes a field)
        AUTO,
        kinds.FAMILY,
        'The family with its prior. "auto": a Normal-Gamma prior that the first ``warmup`` points set. They are '
        "kept, then clustered; the spread within the clusters sets b0 and a0 (empirical Bayes), with m0 = mean, c0 "
        "= 10 / warmup.",
        c="",
    )
    n_features: int | None = setting(
        None,
        kinds.SIZE.or_none(),
        "Number of features. Memory is allocated at once if it is given here or by the likelihood, else with the "
        "first point.",
    )
    half_life: float | None = setting(
        None,
        kinds.POSITIVE.or_none(),
        "Number of points, or of seconds where points come with a time, after which a point counts half. None: "
        "points count in full for ever.",
        option=("H", "points, or seconds with --time, after which what was learned counts half"),
    )
    warmup: int = setting(
        200,
        kinds.count(2),
        'Number of points that set the prior, where ``likelihood`` is "auto". Until then each point has a '
        "provisional id of its own (``resolve`` gives its cluster later), and scores are nan.",
        option=("N", "points that set the prior, >= 2"),
    )
    relevance: str = setting(
        AUTO,
        kinds.choice(STREAM_RELEVANCE),
        'In which features clusters are found: "all", or, where the warm-up sets the prior, those that carry them. The '
        "warm-up finds these, and they are looked for again whenever as many points have come. In the others all "
        "points are one cluster.",
        option=("", "the features that carry clusters, which the warm-up finds, or all"),
    )
    resolution: Any = setting(  # noqa: RUF009  (it makes a field)
        AUTO,
        kinds.STEPS,
        "The steps in which values come, such as 0.1 of a thermometer, one for all features or one for each; 0 where "
        'they are exact. "auto": those of the likelihood, or, where the warm-up sets the prior, those that it finds. '
        "Equal values are then no cluster.",
        c="",
        option=("Q", "steps of values, one, or one a column: 0.1 or 0.1,1,0; auto: the warm-up finds them"),
    )
    when_full: str = setting(
        WHEN_FULL[0],
        kinds.choice(WHEN_FULL),
        'Policy when a point wants another cluster and no slot is free. "merge" merges the two clusters whose '
        'merging costs the log joint least; "evict" removes the cluster that is cheapest to forget; "least-loss" '
        'does the cheaper of these two; with "refuse" the point joins the best existing cluster; "error" raises '
        "``StreamFullError`` and changes nothing.",
        option=("", "policy when no slot is free"),
    )
    missing: str = setting(
        MISSING[0],
        kinds.choice(MISSING),
        "Meaning of NaN: an error, or a missing value. A missing feature is left out of the density, which is exact "
        'under these models. "skip" costs one more number for each feature and cluster, and some time.',
        option=("", "a blank cell or nan is an error, or skipped"),
    )
    dtype: str = setting(
        DTYPES[0],
        kinds.choice(DTYPES),
        "The real type of the learner, as on a chip. In float32 sums are compensated.",
        c="",
        option=("", "real type of the learner"),
    )

    def __post_init__(self) -> None:
        """A learner begins here, after its constructor."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Write the meaning of all settings into the docstring of a learner."""
        super().__init_subclass__(**kwargs)
        if cls.__doc__ and _PLACE in cls.__doc__:
            cls.__doc__ = cls.__doc__.replace(_PLACE, documented(cls))


@dataclass(kw_only=True, eq=False, repr=False)
class ClusterSettings(_Window, SharedSettings, _Alpha, _Slots):
    """The settings of ``OnlineMAPDPM``."""

    dtype: str = setting(
        DTYPES[0],
        kinds.choice((*DTYPES, INT16)),
        'The real type of the learner, as on a chip. In float32 sums are compensated. "int16" computes in whole '
        "numbers, as on a chip without floating point: values are whole numbers of 16 bits, the likelihood is a "
        "NormalGamma, and there is no surprise (docs/integers.md).",
        c="",
        option=("", "real type of the learner"),
    )
    surprise: bool = setting(
        True,
        kinds.FLAG,
        "Whether the learner counts how unusual its points were, for the ``surprise`` of ``assess_one``. It costs "
        "350 bytes, 12 a slot, and time for each point.",
    )
    rare: float = setting(
        0.02,
        kinds.SHARE,
        "The lightest clusters are rare while together they have at most this share of all points. Rare clusters do "
        "not make a point less surprising: what is rare does not become normal by repetition.",
    )
    log_alpha: float | None = setting(
        None,
        kinds.NUMBER.or_none(),
        "Logarithm of alpha, instead of ``alpha``, where alpha is too small for a float: see ``dp_means``.",
    )


@dataclass(kw_only=True, eq=False, repr=False)
class GroupSettings(_Window, SharedSettings, _Shares, _Slots):
    """The settings of ``OnlineHDP``."""

    max_groups: int = field(
        default=8,
        kw_only=False,
        metadata=row(kinds.SIZE, "Number of places for groups.", option=("N", "number of places for groups")),
    )
    when_groups_full: str = setting(
        WHEN_GROUPS_FULL[0],
        kinds.choice(WHEN_GROUPS_FULL),
        'Policy for a new group when all places are taken. "error" raises ``StreamFullError`` and changes nothing; '
        'with "replace" it takes the place of the group that was seen least recently, whose clusters and tables '
        "stay.",
        option=("", "policy for a new group when all places are taken"),
    )
    with_base: bool = setting(
        False,
        kinds.FLAG,
        "Whether ``set_base`` can be called: the learner keeps apart what it saw itself, in more memory.",
    )


@dataclass(kw_only=True, eq=False, repr=False)
class StateSettings(SharedSettings, _Shares):
    """The settings of ``OnlineHDPHMM``."""

    max_states: int = field(
        default=16,
        kw_only=False,
        metadata=row(
            kinds.SIZE, "Number of slots for states.", c="max_clusters", option=("K", "number of slots for states")
        ),
    )
    kappa: float = setting(
        0.0,
        kinds.NOT_NEGATIVE,
        "The additional weight of a state after itself.",
        option=("X", "additional weight of a state after itself, >= 0"),
    )
    lag: int = setting(
        8,
        kinds.count(1, 1024),
        "Number of later points, at least, before a point is learned; at most three times as many.",
        option=("N", "later points, at least, before a point is learned"),
    )


@dataclass(kw_only=True, eq=False, repr=False)
class BankSettings(_Window, SharedSettings, _Slots, _Grid):
    """The settings of ``OnlineAlphaSelector``: those of each learner, and those of the bank."""

    score_half_life: float | None = setting(
        2000.0,
        kinds.at_least(1, "point, or None").or_none(),
        "Number of points after which a score counts half. None: all count in full for ever, so the bank follows a "
        "stream that changes only slowly.",
        c="",
    )
    margin: float = setting(
        5.0,
        kinds.at_least(0, "nats"),
        "Lead in nats with which another learner takes over. Ids change then, so it should be rare.",
        c="",
    )


# ---- readers of the table --------------------------------------------------------------------------------------------


def settings_of(learner: Any) -> dict[str, Setting]:
    """The rows of a learner or its class, by name."""
    rows = {each.name: Setting(each.default, **each.metadata) for each in dataclasses.fields(learner)}
    return {name: found if found.c is not None else found._replace(c=name) for name, found in rows.items()}


ROWS: dict[str, Setting] = {
    name: found
    for kind in (BankSettings, StateSettings, GroupSettings, ClusterSettings)
    for name, found in settings_of(kind).items()
}
"""All rows, by name."""


def on_command_line(learner: Any) -> dict[str, tuple[str, Setting]]:
    """The settings that ``mapdpm stream`` has, by their names there, each with its own name."""
    return {found.c or name: (name, found) for name, found in settings_of(learner).items() if found.option}


def values_of(learner: Any) -> dict[str, Any]:
    """The settings of a learner as its constructor was given them."""
    return {name: getattr(learner, name) for name in settings_of(learner)}


def checked_settings(learner: Any) -> dict[str, Any]:
    """The settings of a learner, checked; ValueError where one is invalid. A prior that the warm-up sets is None."""
    return {name: found.kind.checked(name, getattr(learner, name)) for name, found in settings_of(learner).items()}


def documented(learner: Any) -> str:
    """The section "Parameters" of the docstring of a class."""
    wrapper = textwrap.TextWrapper(_WIDTH, initial_indent=_INDENT, subsequent_indent=_INDENT)
    rows = settings_of(learner).items()
    return "\n    ".join(f"{name} : {found.kind.text}\n{wrapper.fill(found.meaning)}" for name, found in rows)
