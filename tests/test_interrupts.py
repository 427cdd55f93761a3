"""Ctrl-C in batch fits and in samplers: soon, at any moment, and everything is usable afterwards."""

import _thread
import itertools
import signal
import threading
import time

import numpy as np
import pytest

from mapdpm import MAPDPM, DependentDP, DPMeans, NormalGamma, samplers, select_alpha
from mapdpm.likelihoods._template_nonconjugate import LaplaceData
from mapdpm.samplers import CollapsedGibbs, sample
from tests.marks import complete_but

X = np.r_[np.zeros(30), np.full(30, 9.0)][:, None] + np.linspace(-1, 1, 60)[:, None]
PRIOR = NormalGamma(0.0, 0.1, 1.5, 1.0)
SAMPLER = CollapsedGibbs(1.0, likelihood=PRIOR)
ENDLESS = 10**7
STEPS = 2000  # steps that all threads may take until the main thread has the signal; an endless run takes them, too
ROUNDS = 400


class CtrlC:
    """A callback: the signal comes in the tenth step. Long after it, an error ends what would go on for ever."""

    def __init__(self):
        self.steps = itertools.count()
        self.late = 0

    def __call__(self, _):
        step = next(self.steps)
        if step == 10:
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        if step > 10:
            self.late += 1
            time.sleep(0.001)
            if self.late > STEPS:
                msg = "nobody has heard the signal"
                raise RuntimeError(msg)


@pytest.fixture
def heard():
    """SIGINT raises KeyboardInterrupt; a shell lets commands in the background ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("heard")
@pytest.mark.parametrize("n_jobs", [1, 2, 3])
@pytest.mark.parametrize(
    "run",
    [
        lambda n, callback: sample(X, SAMPLER, draws=ENDLESS, chains=3, n_jobs=n, callback=callback, keep=()),
        lambda n, callback: MAPDPM(n_restarts=ENDLESS, n_jobs=n, callback=callback).fit(X),
        lambda n, callback: DPMeans(4.0, n_restarts=ENDLESS, n_jobs=n, callback=callback).fit(X),
    ],
    ids=["sample", "MAPDPM", "DPMeans"],
)
def test_ctrl_c_ends_all_threads(run, n_jobs):
    callback = CtrlC()
    with pytest.raises(KeyboardInterrupt):
        run(n_jobs, callback)
    assert callback.late < STEPS
    late = callback.late
    time.sleep(0.02)
    assert callback.late == late  # no thread is left


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_callbacks_are_called_by_the_thread_of_the_caller(n_jobs):
    called = []

    def callback(_):
        called.append(threading.get_ident())

    MAPDPM(n_restarts=5, n_jobs=n_jobs, callback=callback).fit(X)
    sample(X, SAMPLER, draws=4, chains=2, n_jobs=n_jobs, callback=callback)
    select_alpha(X, [0.1, 1.0], folds=2, n_jobs=n_jobs, callback=callback)
    assert len(called) > 13
    assert set(called) == {threading.get_ident()}


def test_an_error_in_one_chain_ends_the_others():
    """Chain 1 fails; chain 0, which would take days, ends."""

    def callback(progress):
        if progress.chain == 1 and progress.step == 5:
            msg = "of the callback"
            raise ArithmeticError(msg)

    with pytest.raises(ArithmeticError, match="of the callback"):
        sample(X, SAMPLER, draws=ENDLESS, chains=2, n_jobs=2, callback=callback, keep=())


class Alarm:
    """SIGALRM as a KeyboardInterrupt, but only while ``run`` runs."""

    def __init__(self):
        self.armed = False

    def __enter__(self):
        self._before = signal.signal(signal.SIGALRM, self._ring)
        return self

    def __exit__(self, *_):
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, self._before)

    def interrupts(self, run, seconds):
        """Whether the alarm, after ``seconds``, has interrupted ``run``."""
        signal.setitimer(signal.ITIMER_REAL, seconds)
        try:
            self.armed = True
            run()
            self.armed = False
        except KeyboardInterrupt:
            self.armed = False
            return True
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        return False

    def _ring(self, *_):
        if self.armed:
            raise KeyboardInterrupt


def interrupted_at_random(run, rounds):
    """Interrupt ``run`` at random moments of its time; how often that hit."""
    whole = np.inf
    for _ in range(4):  # the first one compiles, and one may be slow
        started = time.perf_counter()
        run()
        whole = min(whole, time.perf_counter() - started)
    shares = np.random.default_rng(0).uniform(0.001, 1.0, rounds)
    with Alarm() as alarm:
        return sum(alarm.interrupts(run, share * whole) for share in shares)


RUNS = {
    "fit": lambda: MAPDPM(n_restarts=3, n_jobs=1, random_state=0).fit(X).labels_,
    "fit in threads": lambda: MAPDPM(n_restarts=9, n_jobs=2, random_state=0).fit(X).labels_,
    "DPMeans": lambda: DPMeans(4.0, n_restarts=3, random_state=0).fit(X).labels_,
    "select_alpha": lambda: select_alpha(X, [0.1, 1.0], folds=2, n_jobs=2, random_state=0).scores,
    "sample": lambda: sample(X, SAMPLER, draws=20, random_state=0).partitions,
    "sample in threads": lambda: sample(X, SAMPLER, draws=20, chains=2, n_jobs=2, random_state=0).partitions,
}


LAPLACE = {"likelihood": LaplaceData()}
GROUPS, TIMES = {"groups": np.arange(60) // 15}, {"times": np.arange(60) % 3}
SAMPLERS = {
    "SplitMerge": (SAMPLER + samplers.SplitMerge(1.0, likelihood=PRIOR), {}),
    "RandomSplitMerge": (samplers.RandomSplitMerge(1.0), {}),
    "SequentialSplitMerge": (samplers.SequentialSplitMerge(1.0), {}),
    "LaunchedSplitMerge": (samplers.LaunchedSplitMerge(1.0), {}),
    "PermutationAugmented": (samplers.PermutationAugmented(likelihood=PRIOR), {}),
    "SubClusterSplits": (samplers.SubClusterSplits(1.0), {}),
    "SuperClusters": (samplers.SuperClusters(1.0, n_super_clusters=3), {}),
    "FiniteSymmetricDirichlet": (samplers.FiniteSymmetricDirichlet(5), {}),
    "UncollapsedGibbs": (samplers.UncollapsedGibbs(1.0, n_components=5), {}),
    "StickBreakingGibbs": (samplers.StickBreakingGibbs(1.0), {}),
    "NonconjugateGibbs": (samplers.NonconjugateGibbs(1.0, **LAPLACE), {}),
    "NonconjugateSplitMerge": (samplers.NonconjugateSplitMerge(1.0, **LAPLACE), {}),
    "NonconjugateSubClusterSplits": (samplers.NonconjugateSubClusterSplits(1.0, **LAPLACE), {}),
    "DirectAssignment": (samplers.DirectAssignment(), GROUPS),
    "ChineseRestaurantFranchise": (samplers.ChineseRestaurantFranchise(), GROUPS),
    "HDPHMMDirectAssignment": (samplers.HDPHMMDirectAssignment(), {}),
    "HDPHMMBeam": (samplers.HDPHMMBeam(), {}),
    "DependentDPGibbs": (samplers.DependentDPGibbs(1.0), TIMES),
}
EVERY = {
    name: lambda sampler=sampler, more=more: sample(X, sampler, draws=10, random_state=0, **more).partitions
    for name, (sampler, more) in SAMPLERS.items()
} | {"DependentDP": lambda: DependentDP(draws=5, random_state=0).fit(X, **TIMES).labels_}


# Python drops an exception that comes in the callback of a weak reference, and says so.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize(
    "rounds", [pytest.param(20, id="20"), pytest.param(ROUNDS, marks=pytest.mark.slow, id=str(ROUNDS))]
)
@pytest.mark.parametrize("name", complete_but(["fit", "fit in threads", "sample"], RUNS))
def test_interrupts_at_any_moment(name, rounds):
    check_interrupts(RUNS[name], rounds)


def check_interrupts(run, rounds):
    """No hang; afterwards the same call gives the same result, and no thread is left."""
    wanted, threads = run(), _thread._count()
    assert interrupted_at_random(run, rounds) > rounds // 10
    np.testing.assert_array_equal(run(), wanted)
    end = time.monotonic() + 10.0  # an interrupt may come while threads that have ended are awaited
    while _thread._count() > threads:
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("name", EVERY)
def test_interrupts_of_every_sampler(name):
    check_interrupts(EVERY[name], 100)


def test_no_sampler_is_forgotten():
    every = [getattr(samplers, name) for name in samplers.__all__]
    kinds = {each.__name__ for each in every if isinstance(each, type) and issubclass(each, samplers.Sampler)}
    assert kinds - {"Sampler"} == set(SAMPLERS) | {"CollapsedGibbs", "Hybrid"}


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_estimator_is_usable_after_an_interrupt():
    """The fit before is kept whole, or the new one is there whole; the next fit is as any."""
    other = np.r_[X, X + 50.0]
    model = MAPDPM(n_restarts=3, random_state=0)
    wanted = [MAPDPM(n_restarts=3, random_state=0).fit(data).labels_.tolist() for data in (X, other)]

    def fit():
        model.fit(X)
        model.fit(other)

    assert interrupted_at_random(fit, 40) > 4
    assert len(model.predict(X)) == len(X)
    assert [model.fit(data).labels_.tolist() for data in (X, other)] == wanted
