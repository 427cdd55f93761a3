"""The columns of chunks: kinds that a sample shows and no chunk contradicts (docs/maths.md, section 36)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mapdpm.dask.runner import Client, OnDask, Read
from mapdpm.data.columns import columns_of
from mapdpm.data.table import Table
from mapdpm.kinds.given import NUMBER, given_kinds
from mapdpm.kinds.kinds import CONSTANT
from mapdpm.kinds.likelihood import Plan, found_kinds, read_columns
from mapdpm.likelihoods import NormalGamma
from mapdpm.likelihoods._parameters import variances_of
from mapdpm.likelihoods._restricted import restricted, restricted_points
from mapdpm.likelihoods._shape import full_of, is_full
from mapdpm.likelihoods.mixed import Mixed
from mapdpm.names import AUTO, COVARIANCE
from mapdpm.search.chunks import Frame, Picked
from mapdpm.search.fit import Fitted
from mapdpm.search.fit_in_passes import sample_of
from mapdpm.search.widths import family_to_fit


class Looked(NamedTuple):
    """Chunks after a first look: the plan for their columns, passes over them, and a sample."""

    plan: Plan
    run: OnDask
    sample: Picked

    def as_found(self, of_sample: Fitted) -> Looked:
        """The columns that a fit to the sample has found to carry clusters, with covariances of the shape found."""
        likelihood, relevance = self.plan.likelihood, of_sample.relevance
        if self.plan.covariance == COVARIANCE[0] and is_full(of_sample.likelihood):
            likelihood = full_of(likelihood)
        if relevance.is_all:
            return self._replace(plan=Plan(likelihood))
        columns = relevance.columns
        sample = self.sample._replace(points=restricted_points(self.sample.points, columns))
        return Looked(Plan(restricted(likelihood, columns)), self.run.of_columns(columns), sample)


def look_at(model: Any, client: Client, delayed: list[Any], read: Read) -> Looked:
    """Look at chunks and draw a sample; look again where columns of several kinds are found."""
    run = OnDask(client, delayed, read)
    sample = sample_of(run, Frame(None, None, np.zeros(run.n_features), "python"))
    X = _named(run, sample.points)
    plan = _plan_of(model, run, X)
    if plan.likelihood is None:
        likelihood = NormalGamma.described_by(*variances_of(run.moments))  # type: ignore[arg-type]  # arrays have them
        plan = plan._replace(likelihood=likelihood)
    elif isinstance(plan.likelihood, Mixed) and not isinstance(sample.points, Table):
        run = OnDask(client, delayed, read._replace(likelihood=plan.likelihood))
        sample = sample._replace(points=plan.likelihood.read_table(X, missing=False))
    if family_to_fit(plan.likelihood) is None:
        plan = plan._replace(likelihood=plan.likelihood.for_data(sample.points))
    return Looked(plan.for_points(sample.points), run, sample)


def _named(run: OnDask, points: Any) -> Any:
    """Points of chunks as a table with the names of its columns, if these have names."""
    if run.names is None or isinstance(points, Table):
        return points
    import pandas as pd  # noqa: PLC0415  (of dataframes)

    return pd.DataFrame(points, columns=list(run.names))


def _plan_of(model: Any, run: OnDask, X: Any) -> Plan:
    """The plan for the columns of ``X``, a sample.

    A column that is a flag or a count there and not in all chunks is a number; ValueError where the user said what it
    is.
    """
    kinds = model.kinds
    if isinstance(model.likelihood, str) and model.likelihood == AUTO and run.ends is not None:
        kinds = {**(kinds or {}), **_numbers(kinds, run, X)} or None
    return read_columns(model.likelihood, X, kinds, model.covariance)


def _numbers(kinds: Any, run: OnDask, X: Any) -> dict[str | int, str]:
    """The columns that are no more than numbers, for chunks contradict the sample."""
    assert run.ends is not None  # noqa: S101  (there are columns)
    names = [column.name for column in columns_of(X)]
    given = given_kinds(kinds, names)
    numbers = {}
    for place, found in enumerate(found_kinds(X, kinds)):
        if run.ends.fit(found, place) or (place in given and found.kind == CONSTANT):
            continue
        if place in given:
            msg = f"kinds: column {names[place]!r} has other values in other chunks than a {found.kind} may have"
            raise ValueError(msg)
        numbers[names[place]] = NUMBER
    return numbers
