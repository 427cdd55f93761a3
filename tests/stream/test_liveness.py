"""Interrupts, signals, threads and forks: a learner never hangs, and never shows half of a call."""

import dis
import os
import signal
import sys
import threading
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

import mapdpm.stream
from mapdpm import NormalKnownVariance, OnlineAlphaSelector, OnlineMAPDPM
from tests.marks import complete_but

PRIOR = NormalKnownVariance([0.0, 0.0], 100.0, 1.0)
X = np.random.default_rng(0).normal(size=(20, 2)) + 9.0 * (np.arange(20) % 3)[:, None]
SECONDS = 20.0  # until a call that should take microseconds counts as hanging
MANY = pytest.param(1000, marks=pytest.mark.slow, id="many")
ROOM = str(Path(mapdpm.stream.__file__).parent)


def learner():
    return OnlineMAPDPM(6, likelihood=PRIOR).partial_fit(X)


def selector():
    return OnlineAlphaSelector([0.1, 1.0], 6, likelihood=PRIOR).partial_fit(X)


KINDS = {"learner": learner, "selector": selector}
CALLS = {
    "learn_one": lambda model: model.learn_one(X[0]),
    "learn_one of a list": lambda model: model.learn_one([0.0, 1.0]),
    "learn_many": lambda model: model.learn_many(X),
    "learn_scored": lambda model: model.learn_scored(X[0]),
    "fit": lambda model: model.fit(X),
    "predict": lambda model: model.predict(X),
    "score_samples": lambda model: model.score_samples(X),
    "clusters": lambda model: model.clusters(),
    "events": lambda model: model.events,
    "resolve": lambda model: model.resolve(int(model.ids[0])),
    "to_bytes": lambda model: model.to_bytes(),
}


def at_moment(number, act, call):
    """Run ``call``, and ``act`` at the moment ``number`` at which a signal can be handled in the stream's files.

    The interpreter handles signals when a function begins, after a call, and when a loop jumps back. So these are all
    moments, one by one. Returns whether the call got so far.
    """
    count, before = 0, {}

    def trace(frame, event, _):
        nonlocal count
        if not frame.f_code.co_filename.startswith(ROOM):
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            last = before.get(frame, "RESUME")
            before[frame] = dis.opname[frame.f_code.co_code[frame.f_lasti]]
            if last.startswith(("RESUME", "CALL", "JUMP_BACKWARD", "JUMP_ABSOLUTE")):
                count += 1
                if count == number:
                    sys.settrace(None)
                    act()
        return trace

    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(None)
    return count >= number


def assert_lives(model):
    """Another thread can use the learner, and this one too."""
    found = []
    thread = threading.Thread(target=lambda: found.append(model.learn_one([0.0, 0.0])), daemon=True)
    thread.start()
    thread.join(SECONDS)
    assert found, "the learner hangs"
    assert model.learn_many(X[:2]).shape == (2,)
    assert model.weights.sum() == pytest.approx(model.n_seen)


def interrupt():
    raise KeyboardInterrupt


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("kind", complete_but(["learner"], KINDS))
def test_interrupts_at_every_moment(kind, call):
    model, number, reached = KINDS[kind](), 1, True
    at_moment(0, interrupt, lambda: CALLS[call](model))  # Python 3.12 traces instructions from the second call on
    while reached:
        try:
            reached = at_moment(number, interrupt, lambda: CALLS[call](model))
        except KeyboardInterrupt:
            number += 1
        assert_lives(model)
    assert number > 5 or call == "learn_one of a list"


@pytest.mark.parametrize("kind", KINDS)
def test_a_signal_handler_is_refused_and_never_hangs(kind):
    """As SIGTERM with a handler that saves: between calls it works; within one it is refused."""
    model, number, reached = KINDS[kind](), 1, True
    done, refused = [], []

    def handler():
        try:
            done.append(model.to_bytes())
        except RuntimeError as error:
            refused.append(str(error))

    while reached:
        reached = at_moment(number, handler, lambda: model.learn_many(X))
        number += 1
    assert done, "before the first step of a call the learner is free"
    said = (
        "this learner is in use by a call that a signal interrupted; let the handler set a flag, and use the learner "
        "after the call"
    )
    assert set(refused) == {said}
    assert_lives(model)


def at_once(*calls):
    """Run the calls at the same time, each in a thread of its own; raise the first exception."""
    failed = []

    def guarded(call):
        try:
            call()
        except BaseException as error:  # noqa: BLE001  (raised below)
            failed.append(error)

    threads = [threading.Thread(target=guarded, args=(call,), daemon=True) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SECONDS)
        assert not thread.is_alive(), "a thread hangs"
    if failed:
        raise failed[0]


@pytest.mark.parametrize("rounds", [100, MANY])
def test_fit_while_others_learn(rounds):
    block = np.random.default_rng(1).normal(size=(2000, 2))
    for _ in range(rounds):
        model = OnlineMAPDPM(6, likelihood=PRIOR)
        at_once(
            lambda: [model.learn_many(block) for _ in range(3)],  # noqa: B023
            lambda: [model.fit(block[:500]) for _ in range(3)],  # noqa: B023
            lambda: [model.learn_one([0.0, 1.0]) for _ in range(5)],  # noqa: B023
        )
        assert (model.n_seen - 500) % 2000 <= 5
        assert model.weights.sum() == pytest.approx(model.n_seen)


@pytest.mark.parametrize("rounds", [100, MANY])
def test_set_params_while_others_learn(rounds):
    for number in range(rounds):
        model = OnlineMAPDPM(6, likelihood=PRIOR)

        def change(model=model, number=number):
            try:
                model.set_params(max_clusters=7 + number % 5, window=number % 3)
            except ValueError as error:
                assert "has seen points" in str(error)  # noqa: PT017

        at_once(change, lambda: model.learn_many(X), change)  # noqa: B023
        assert model.n_seen == len(X)
        kept = OnlineMAPDPM.from_bytes(model.to_bytes())
        assert (kept.max_clusters, kept.window) == (model.max_clusters, model.window)


def test_a_fit_or_change_that_fails_changes_nothing():
    model = learner()
    before = model.to_bytes()
    with pytest.raises(ValueError, match="inf"):
        model.fit([[np.inf, 0.0]])
    assert model.to_bytes() == before
    new = OnlineMAPDPM(6, likelihood=PRIOR)
    with pytest.raises(ValueError, match="max_clusters"):
        new.set_params(alpha=3.0, max_clusters=0)
    assert (new.alpha, new.max_clusters) == (1.0, 6)


def test_a_selectors_file_is_of_one_moment():
    """Whenever another thread learns a point while the file is written: it comes before the file or after it."""
    model, number, reached = selector(), 1, True
    threads, files = [], []

    def learn():
        threads.append(threading.Thread(target=model.learn_one, args=([0.0, 0.0],), daemon=True))
        threads[-1].start()
        threads[-1].join(0.005)  # more than a call needs that does not wait

    while reached:
        reached = at_moment(number, learn, lambda: files.append(model.to_bytes()))
        number += 1
        for thread in threads:
            thread.join(SECONDS)
        kept = OnlineAlphaSelector.from_bytes(files[-1])
        assert {each.stream.n_seen for each in kept._bank.learners} == {OnlineMAPDPM.from_bytes(files[-1]).n_seen}
    assert model.n_seen == len(X) + len(threads)


def answer_of_child(ask):
    """The answer of ``ask()`` in a forked child, or "hangs" if there is none."""
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 warns of threads, which are the point here
        child = os.fork()
    if not child:
        try:
            os.write(writer, str(ask()).encode())
        except BaseException as error:  # noqa: BLE001  (the child must not go on as a test)
            os.write(writer, f"{type(error).__name__}: {error}".encode())
        finally:
            os._exit(0)
    os.close(writer)
    deadline = time.monotonic() + SECONDS
    while os.waitpid(child, os.WNOHANG) == (0, 0):
        if time.monotonic() > deadline:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            os.close(reader)
            return "hangs"
        time.sleep(0.001)
    with os.fdopen(reader, "rb") as file:
        return file.read().decode()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_fork_while_another_thread_learns():
    model = OnlineMAPDPM(6, likelihood=PRIOR)
    block = np.tile(X, (1000, 1))
    stop = threading.Event()

    def learn():
        while not stop.is_set():
            model.learn_many(block)

    thread = threading.Thread(target=learn, daemon=True)
    thread.start()
    try:
        while not model.n_seen:
            time.sleep(0.001)
        answers = {answer_of_child(lambda: model.learn_one([0.0, 0.0]) >= 0) for _ in range(20)}
    finally:
        stop.set()
        thread.join(SECONDS)
    refused = (
        "RuntimeError: another thread was using this learner when the process forked, and may have left its copy here "
        "half changed; start the child before the threads, or hand it to_bytes()"
    )
    assert refused in answers
    assert answers <= {refused, "True"}
    assert answer_of_child(lambda: model.learn_many(X).shape) == "(20,)", "nothing is refused while no thread learns"
