"""Clocks that stand, go back and jump: the laws of the machine that decides which times are believed."""

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mapdpm.cli.clock import AGREE, FURTHER, Clock

DAY = 86400.0
STEPS = st.lists(st.floats(0.0, 1e6), min_size=1, max_size=60)
TIMES = st.lists(st.floats(-1e12, 1e12), min_size=1, max_size=60)


def run(times, clock=None, largest=None):
    """The moments of these times."""
    clock, found = clock or Clock(), []
    for t in times:
        clock, moment = clock.taken(t, f"{t:g}", largest)
        found.append(moment)
    return found, clock


def regular(n, step=10.0, begin=1.79e9):
    return [begin + step * i for i in range(n)]


@given(TIMES, st.none() | st.floats(0.0, 1e6))
def test_the_learners_time_never_goes_back(times, largest):
    told = [moment.t for moment in run(times, largest=largest)[0]]
    assert told == sorted(told)


def test_a_shift_that_rounds_down_is_mended():
    """The shift is larger than both times, so that a unit in their last place is none in its own."""
    last, back = 420571580830.84503, -258916750292.96335
    told = [moment.t for moment in run([last, *(back - k for k in range(AGREE - 1, -1, -1)), back])[0]]
    assert told[0] == last
    assert all(last <= t <= last + 1e-3 for t in told)


@given(STEPS)
def test_steps_that_grow_slowly_are_all_believed(factors):
    """No step is more than a hundred times the largest of those before."""
    steps, times = [1.0], [0.0, 1.0]
    for factor in factors:
        steps.append(min(factor, FURTHER * max(steps[-32:]), 1e9))
        times.append(times[-1] + steps[-1])
    assert [moment.t for moment in run(times)[0]] == times


@given(st.integers(2, 40), st.sampled_from([-400 * DAY, -DAY, -60.0, -10.1, 1010.0, 3600.0, 2 * DAY, 400 * DAY]))
def test_one_outlier_anywhere_changes_no_other_time(place, jump):
    times = regular(60)
    times[place] += jump
    moments, _ = run(times)
    told = [moment.t for moment in moments]
    wanted = regular(60)
    wanted[place] = wanted[place - 1]
    assert told == wanted
    assert [i for i, moment in enumerate(moments) if moment.said] == [place]


@given(st.sampled_from([0, 1]), st.sampled_from([-2 * DAY, 2 * DAY]))
def test_an_outlier_at_the_beginning_is_overcome(place, jump):
    """Nothing tells yet which time is wrong; after some times the clock is followed, and steps count again."""
    times = regular(60)
    times[place] += jump
    told = [moment.t for moment in run(times)[0]]
    assert told == sorted(told)
    steps = [b - a for a, b in itertools.pairwise(told)]
    assert steps[AGREE + 2 :] == [10.0] * (59 - AGREE - 2)


@given(st.integers(2, 30), st.floats(61.0, 1e8))
def test_a_clock_that_was_set_back_is_followed_and_no_time_passes(place, jump):
    moments, clock = run(regular(place) + [t - jump for t in regular(60)[place:]])
    doubted = [moment.doubted for moment in moments]
    assert doubted == [False] * place + [True] * (AGREE - 1) + [False] * (60 - place - AGREE + 1)
    assert moments[-1].t - moments[0].t == pytest.approx(10.0 * (59 - AGREE), abs=1e-3)
    assert clock.last == moments[-1].wall == regular(60)[-1] - jump
    assert "the clock was set back by" in moments[place + AGREE - 1].said


def test_a_pause_or_a_clock_set_forward_passes_after_some_times():
    times = regular(20) + [t + 2 * DAY for t in regular(60)[20:]]
    moments, clock = run(times)
    assert [moment.t for moment in moments[20 : 20 + AGREE - 1]] == [times[19]] * (AGREE - 1)
    assert [moment.t for moment in moments[20 + AGREE - 1 :]] == times[20 + AGREE - 1 :]
    assert moments[20].step == 2 * DAY + 10.0  # seen at once
    assert [moment.step for moment in moments[21:]] == [10.0] * 39
    said = [moment.said for moment in moments if moment.said]
    assert len(said) == 2
    assert "2 days after the last one, 1.79e+09; the largest step believed at once is 16.7 minutes" in said[0]
    assert said[1].startswith("the clock stays ahead: 2 days have passed, from 1.79e+09 to")
    assert clock.last == times[-1]


def test_the_first_time_that_a_clock_is_set_no_time_passes():
    """A clock without a battery begins in 1970."""
    times = regular(20, begin=0.0) + regular(20)
    told = [moment.t for moment in run(times)[0]]
    assert told[20 + AGREE - 1] == told[19] == 190.0
    assert told[-1] == 190.0 + 10.0 * (20 - AGREE)


def test_a_clock_that_stands_is_believed_and_where_it_stands_far_away_it_is_not_followed():
    times = [*regular(20), *[regular(20)[-1]] * 50, *regular(30)[20:]]
    assert [moment.t for moment in run(times)[0]] == times
    stuck = [*regular(20), *[regular(20)[-1] + 2 * DAY] * 50, *regular(90)[70:]]
    told = [moment.t for moment in run(stuck)[0]]
    assert told[20:70] == [stuck[19]] * 50
    assert told[70:] == stuck[70:]


def test_late_times_and_one_far_ahead_do_not_agree():
    times = [*regular(20), *(t - DAY for t in regular(AGREE - 1)), regular(1)[0] + 2 * DAY, *regular(30)[20:]]
    moments, _ = run(times)
    assert [moment.doubted for moment in moments] == [False] * 20 + [True] * AGREE + [False] * 10
    assert moments[-1].t == times[-1]


def test_two_clocks_on_one_topic():
    """The one that was there first is believed."""
    a, b = regular(50), [t + 2 * DAY for t in regular(50)]
    mixed = a[:5] + [t for pair in zip(a[5:], b[5:], strict=True) for t in pair]
    moments, _ = run(mixed)
    assert [moment.t for moment in moments[5::2]] == a[5:]
    assert [moment.t for moment in moments[6::2]] == a[5:]


@given(TIMES)
def test_every_feed_is_followed_in_the_end(times):
    """Whatever came before, a clock that counts on is believed after some steps."""
    _, clock = run(times)
    moments, _ = run(regular(4 * AGREE, begin=2e12), clock)
    assert not any(moment.doubted for moment in moments[2 * AGREE :])
    told = [moment.t for moment in moments[2 * AGREE :]]
    assert told[-1] - told[0] == pytest.approx(10.0 * (len(told) - 1), abs=0.01)


def test_bursts_with_pauses_between_them_are_followed():
    times = [60.0 * (i // 3) + 0.001 * (i % 3) for i in range(90)]
    moments, _ = run(times)
    assert [moment.t for moment in moments[9:]] == times[9:]


@given(TIMES, st.integers(0, 60))
def test_a_clock_goes_on_from_a_checkpoint(times, at):
    whole, _ = run(times)
    first, clock = run(times[:at])
    revived = Clock.revived(json.loads(json.dumps(clock._asdict())))
    rest, _ = run(times[at:], revived)
    assert first + rest == whole


@pytest.mark.parametrize(
    "wrong",
    [{"last": "x"}, {"last": float("nan")}, {"text": None}, {"steps": [1]}, {"steps": ["a"]}, {"doubted": None}],
)
def test_a_damaged_clock_is_refused(wrong):
    with pytest.raises(TypeError):
        Clock.revived(Clock(1.0, "1")._asdict() | wrong)


def test_the_largest_step_may_be_given():
    times = [0.0, 1.0, 2.0, 3600.0, 3601.0]
    assert [moment.t for moment in run(times, largest=7200.0)[0]] == times
    assert [moment.t for moment in run([0.0, 5.0], largest=2.0)[0]] == [0.0, 0.0]
