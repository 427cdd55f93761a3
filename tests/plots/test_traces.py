"""Pictures of draws: what is drawn is what the trace holds."""

import io
import sys

import numpy as np
import pytest
from matplotlib.figure import Figure

from mapdpm import MAPDPM, NormalGamma, plots, point_estimates
from mapdpm.samplers import CollapsedGibbs, GammaPrior, sample
from tests.marks import complete_but


@pytest.fixture(scope="module")
def trace():
    rng = np.random.default_rng(0)
    X = np.repeat([[0.0], [9.0], [30.0]], [10, 20, 5], axis=0)[rng.permutation(35)] + rng.normal(size=(35, 1))
    sampler = CollapsedGibbs(likelihood=NormalGamma(0.0, 0.01, 2.0, 2.0), alpha_prior=GammaPrior())
    return sample(X, sampler, draws=60, burn_in=5, thin=3, chains=2, random_state=0)


@pytest.mark.parametrize("of", complete_but(["log_joint"], ["log_joint", "n_clusters", "largest_share", "alpha"]))
def test_lines_are_the_chains(trace, of):
    ax = plots.trace(trace, of=of)
    assert len(ax.lines) == 2
    for line, values in zip(ax.lines, trace.values[of], strict=True):
        np.testing.assert_array_equal(line.get_ydata(), values)
        np.testing.assert_array_equal(line.get_xdata(), 3 * np.arange(1, 61))
    assert ax.lines[0].get_color() != ax.lines[1].get_color()
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["chain 0", "chain 1"]
    ax.figure.savefig(io.BytesIO())


def test_the_square_is_the_similarity_sorted_by_cluster(trace):
    ax = plots.similarity(trace)
    shown = np.asarray(ax.images[0].get_array())
    estimate = trace.vi_estimate()
    sizes = np.bincount(estimate)
    order = sorted(range(35), key=lambda i: (-sizes[estimate[i]], estimate[i], i))
    np.testing.assert_array_equal(shown, trace.similarity()[np.ix_(order, order)])
    assert sorted({line.get_xdata()[0] for line in ax.lines if line.get_xdata()[0] == line.get_xdata()[-1]}) == [
        edge - 0.5 for edge in np.cumsum(np.sort(sizes)[::-1])[:-1]
    ]
    ax.figure.savefig(io.BytesIO())


def test_a_matrix_keeps_its_order(trace):
    matrix = point_estimates.similarity(trace.partitions)
    ax = plots.similarity(matrix)
    np.testing.assert_array_equal(np.asarray(ax.images[0].get_array()), matrix)
    assert len(ax.lines) == 0


def test_one_draw_and_one_point():
    trace = sample([[0.0]], CollapsedGibbs(), draws=1, random_state=0)
    plots.trace(trace).figure.savefig(io.BytesIO())
    plots.similarity(trace).figure.savefig(io.BytesIO())


def test_draws_where_it_is_told(trace):
    for draw in (plots.trace, plots.similarity):
        ax = Figure().add_subplot()
        assert draw(trace, ax=ax) is ax


def test_what_cannot_be_drawn_is_refused(trace, monkeypatch):
    for wrong in (MAPDPM(), {}, np.zeros((2, 2))):
        with pytest.raises(ValueError, match=r"trace must be what samplers\.sample returns, got an object of type"):
            plots.trace(wrong)
    with pytest.raises(ValueError, match=r"of must be one of 'log_joint', .*, got 'beta'"):
        plots.trace(trace, of="beta")
    for wrong in (
        MAPDPM(),
        np.zeros(3),
        np.zeros((2, 3)),
        np.full((2, 2), np.nan),
        np.full((2, 2), 7.0),
        np.zeros((0, 0)),
    ):
        with pytest.raises(
            ValueError, match="similarity draws a Trace, or a square matrix of shares from 0 to 1, got an"
        ):
            plots.similarity(wrong)
    with pytest.raises(ValueError, match="holds no partitions"):
        plots.similarity(trace._replace(partitions=None))
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    for draw in (plots.trace, plots.similarity):
        with pytest.raises(plots.MissingMatplotlibError):
            draw(trace)
