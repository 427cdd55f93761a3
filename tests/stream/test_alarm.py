"""Alarms: the plain rule in Python as an oracle, rates by enumeration and by simulation, states that go on."""

import copy
import datetime as dt
import json
import math
import pickle

import numpy as np
import pytest

from mapdpm import Alarm
from mapdpm.stream import Alert, Episode

NAN = math.nan


class Plain:
    """The rule, in other words: the number of high points in a row, and the low points before."""

    def __init__(self, level, hold, debounce):
        self.level, self.hold, self.debounce = level, hold, debounce
        self.lasts, self.quiet, self.row = False, 0, []
        self.number, self.alerts, self.episodes = 0, [], []

    def update(self, surprise):
        self.number += 1
        if math.isnan(surprise):
            return
        low = surprise <= self.level
        if self.lasts and (self.quiet >= self.hold):
            self.lasts, self.row = False, []
        if not low:
            self.quiet += 1
            if self.lasts and self.quiet >= self.hold:
                self.lasts = False
            if not self.lasts:
                self.row = []
            return
        self.quiet = 0
        if self.lasts:
            self.episodes[-1].append((self.number, surprise))
            return
        self.row.append((self.number, surprise))
        if len(self.row) == self.debounce:
            self.lasts = True
            self.alerts.append(self.number)
            self.episodes.append(self.row)


@pytest.mark.parametrize("hold", [0, 1, 3, 7.9])
@pytest.mark.parametrize("debounce", [1, 2, 4])
@pytest.mark.parametrize("level", [0.1, 0.6])
def test_it_follows_the_rule(hold, debounce, level):
    rng = np.random.default_rng(5)
    surprises = np.where(rng.random(3000) < 0.05, NAN, rng.random(3000))
    alarm, plain = Alarm(level, hold, debounce), Plain(level, math.floor(hold), debounce)
    alerts = []
    for i, surprise in enumerate(surprises):
        found = alarm.update(surprise)
        plain.update(surprise)
        if found is not None:
            assert found == Alert(i + 1, None, surprise)
            alerts.append(found.number)
        assert alarm.active == plain.lasts
        if i == 1500:
            alarm = Alarm.from_dict(json.loads(json.dumps(alarm.to_dict())))
    assert alerts == plain.alerts
    expected = [
        Episode(points[0][0], points[-1][0], None, None, min(s for _, s in points)) for points in plain.episodes
    ]
    assert alarm.events == expected[-100:]


def test_times():
    alarm = Alarm(level=0.01, hold=10.0, debounce=2)
    steps = [(0.0, 0.5), (1.0, 0.001), (2.0, 0.01), (12.0, 0.002), (12.0, 0.5), (30.0, NAN), (21.9, 0.9)]
    found = [alarm.update(surprise, t) for t, surprise in steps[:6]]
    assert found == [None, None, Alert(3, 2.0, 0.01), None, None, None]
    assert alarm.active
    with pytest.raises(ValueError, match=r"t must not go backwards, got 21.9 after 30.0"):
        alarm.update(0.9, 21.9)
    with pytest.raises(ValueError, match="all points must have a time t, or none"):
        alarm.update(0.9)
    assert alarm.number == 6
    alarm.update(0.9, 30.5)
    assert not alarm.active
    assert alarm.events == [Episode(2, 4, 1.0, 12.0, 0.001)]
    assert alarm.update(0.001, 31.0) is None
    assert alarm.update(0.001, 31.5) == Alert(9, 31.5, 0.001)
    late = Alarm(level=0.01, hold=10.0)
    assert late.update(0.001, 1e9) == Alert(1, 1e9, 0.001)  # the clock may begin anywhere
    assert late.update(0.001, 1e9 + 10.0) is None
    assert late.update(0.001, 1e9 + 20.001) == Alert(3, 1e9 + 20.001, 0.001)


# ---- rates -----------------------------------------------------------------------------------------------------------


def state_of(alarm):
    state = alarm.to_dict()
    quiet = state["now"] - state["last"] if state["active"] else 0
    return (state["active"], state["run"] if not state["active"] else 0, quiet)


def enumerated(level, hold, debounce):
    """Alerts a point in the long run, from all states that the alarm itself goes through, low with P = level."""
    begin = Alarm(level, hold, debounce)
    known, work, rows = {state_of(begin): begin}, [state_of(begin)], {}
    while work:
        state = work.pop()
        for low in (True, False):
            alarm = copy.deepcopy(known[state])
            alert = alarm.update(0.5 * level if low else 1.0) is not None
            rows[state, low] = state_of(alarm), alert
            if state_of(alarm) not in known:
                known[state_of(alarm)] = alarm
                work.append(state_of(alarm))
    names = {state: i for i, state in enumerate(known)}
    steps, alerts = np.zeros((len(names), len(names))), np.zeros(len(names))
    for (state, low), (after, alert) in rows.items():
        chance = level if low else 1.0 - level
        steps[names[state], names[after]] += chance
        alerts[names[state]] += chance * alert
    n = len(names)
    matrix = np.vstack([steps.T - np.eye(n), np.ones(n)])
    long_run = np.linalg.lstsq(matrix, np.append(np.zeros(n), 1.0), rcond=None)[0]
    return float(long_run @ alerts)


@pytest.mark.parametrize("level", [0.05, 0.3, 0.9])
@pytest.mark.parametrize("hold", [0, 1, 4])
@pytest.mark.parametrize("debounce", [1, 2, 3])
def test_false_alarms_are_those_of_the_markov_chain(level, hold, debounce):
    alarm = Alarm(level, hold, debounce)
    assert alarm.false_alarms(1.0) == pytest.approx(enumerated(level, hold, debounce), rel=1e-10)
    assert alarm.false_alarms(86_400.0) == pytest.approx(86_400.0 * alarm.false_alarms(1.0))


@pytest.mark.complete
def test_false_alarms_of_uniform_surprises():
    """200 runs of 5,000 points. By renewal theory the count has a variance below its mean: false alarm 6e-5 (4 sd)."""
    rng = np.random.default_rng(2)
    counts = []
    for _ in range(200):
        alarm = Alarm(0.02, hold=20, debounce=1)
        counts.append(sum(alarm.update(s) is not None for s in rng.random(5000)))
    expected = 5000 * Alarm(0.02, hold=20).false_alarms(1.0)
    assert abs(np.mean(counts) - expected) < 4.0 * math.sqrt(expected / 200) + 1.0  # 1: the first cycle is not whole
    assert np.var(counts) < expected * 1.2
    assert expected < 5000 * 0.02 / 1.3  # what counting points alone would say


def test_no_digit_is_lost_at_small_levels():
    """p / (1 + p h + ...) for one point; p^2 for two."""
    assert Alarm(1e-12, hold=100).false_alarms(1e12) == pytest.approx(1.0 - 1e-10, rel=1e-12)
    assert Alarm(1e-9, hold=0, debounce=2).false_alarms(1e18) == pytest.approx(1.0, rel=1e-8)
    assert Alarm(0.5, hold=1e6).false_alarms(1.0) == 0.0
    timed = Alarm(0.01, hold=60.0)
    timed.update(0.5, 0.0)
    assert timed.false_alarms(86_400) == Alarm(0.01, hold=60).false_alarms(86_400)
    assert timed.false_alarms(8_640) == pytest.approx(Alarm(0.01, hold=6).false_alarms(8_640))


@pytest.mark.parametrize(("hold", "debounce"), [(0, 1), (1, 1), (100, 1), (10_000, 1), (0, 3), (1, 3), (100, 3)])
@pytest.mark.parametrize("per_day", [1e-6, 0.1, 3.0])
def test_the_level_is_the_inverse(hold, debounce, per_day):
    level = Alarm.level_for(per_day, rate=86_400, hold=hold, debounce=debounce)
    assert Alarm(level, hold, debounce).false_alarms(86_400) == pytest.approx(per_day, rel=1e-9)
    assert Alarm(0.99 * level, hold, debounce).false_alarms(86_400) < per_day


def test_a_rate_that_no_level_has():
    most = max(Alarm(level, 100).false_alarms(1000) for level in np.geomspace(1e-4, 0.5, 2000))
    assert Alarm.level_for(0.999 * most, 1000, 100) < 0.1
    with pytest.raises(
        ValueError, match=r"per_day must be at most [\d.]+ with rate=1000, hold=100, debounce=1, got 90"
    ):
        Alarm.level_for(90, 1000, 100)


# ---- states, and what is wrong ---------------------------------------------------------------------------------------


def test_a_copy_goes_on():
    rng = np.random.default_rng(0)
    alarm = Alarm(0.2, hold=3, debounce=2)
    for i in range(200):
        alarm.update(rng.random(), float(i))
    state = alarm.to_dict()
    copies = [copy.copy(alarm), pickle.loads(pickle.dumps(alarm)), Alarm.from_dict(json.loads(json.dumps(state)))]
    for i, surprise in enumerate(rng.random(200).tolist(), 200):
        expected = alarm.update(surprise, float(i))
        assert [each.update(surprise, float(i)) for each in copies] == [expected] * 3
    assert all(each.to_dict() == alarm.to_dict() != state for each in copies)
    assert len(alarm.events) <= 100


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("level", 2.0),
        ("hold", "long"),
        ("number", -1),
        ("active", 2),
        ("active", 1),
        ("run", -1),
        ("run", 1.5),
        ("now", 2**70),
        ("timed", "no"),
        ("begun", [1]),
        ("events", [[3, 2, None, None, 0.1]]),
        ("events", 7),
    ],
)
def test_damaged_states(name, value):
    state = Alarm().to_dict()
    assert Alarm.from_dict(state).to_dict() == state
    with pytest.raises(ValueError, match="this is not the state of an alarm"):
        Alarm.from_dict(state | {name: value})
    with pytest.raises(ValueError, match="this is not the state of an alarm: KeyError"):
        Alarm.from_dict({each: state[each] for each in state if each != name})


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"level": 0.0}, "level must be > 0 and < 1, got 0.0"),
        ({"level": 1}, "level must be > 0 and < 1, got 1"),
        ({"level": NAN}, "level must be"),
        ({"hold": -1}, "hold must be from 0 to 1e[+]12 points or seconds, got -1"),
        ({"debounce": 0}, "debounce must be"),
        ({"debounce": 1.5}, "debounce must be"),
    ],
)
def test_parameters(given, says):
    with pytest.raises(ValueError, match=says):
        Alarm(**given)


def test_surprises():
    alarm = Alarm()
    for wrong in (-0.1, 1.1, math.inf):
        with pytest.raises(ValueError, match="surprise must be a probability, or nan, got"):
            alarm.update(wrong)
    assert alarm.number == 0
    assert repr(alarm) == "Alarm(level=1e-05, hold=100.0, debounce=1)"


def test_dates_are_times():
    by_date, by_seconds = (Alarm(0.01, hold=90, debounce=1) for _ in range(2))
    begin = dt.datetime.fromisoformat("2026-10-25T00:30")
    surprises = (0.5, 0.001, 0.002, 0.5, 0.001)
    found = [by_date.update(s, begin + dt.timedelta(minutes=i)) for i, s in enumerate(surprises)]
    wanted = [by_seconds.update(s, 1792888200.0 + 60.0 * i) for i, s in enumerate(surprises)]
    assert found == wanted
    assert by_date.to_dict() == by_seconds.to_dict()
    with pytest.raises(ValueError, match="backwards"):
        by_date.update(0.5, begin)


# ---- combined surprises ----------------------------------------------------------------------------------------------


def combined(surprises, n):
    """e times the product of all surprises so far to powers that add up to 1, the rest being that of 1."""
    a, found = 2.0 / (n + 1), []
    for t in range(len(surprises)):
        past = np.array([s for s in surprises[: t + 1] if not math.isnan(s)])
        weights = a * (1.0 - a) ** np.arange(len(past))[::-1]
        value = min(1.0, math.exp(1.0 + np.sum(weights * np.log(np.maximum(past, np.finfo(float).tiny)))))
        found.append(NAN if math.isnan(surprises[t]) else value)
    return found


@pytest.mark.parametrize("n", [2, 5, 30])
def test_surprises_are_combined_as_a_product_of_powers(n):
    rng = np.random.default_rng(n)
    surprises = np.where(rng.random(300) < 0.1, NAN, rng.random(300) ** 3)
    surprises[[20, 200]] = 0.0
    alarm = Alarm(0.01, 5, smooth=n)
    np.testing.assert_allclose(alarm.combined(surprises), combined(surprises, n), rtol=1e-12)
    plain = Plain(0.01, 5, 1)
    for i, (surprise, value) in enumerate(zip(surprises, alarm.combined(surprises), strict=True)):
        alert = alarm.update(surprise)
        plain.update(value)
        if i == 150:
            alarm = Alarm.from_dict(json.loads(json.dumps(alarm.to_dict())))
        assert alert is None or (alert.number, alert.surprise) == (plain.alerts[-1], value)
    assert [episode.start for episode in alarm.events] == [rows[0][0] for rows in plain.episodes]


def test_one_point_by_itself_is_left_as_it_is():
    surprises = np.random.default_rng(0).random(100)
    np.testing.assert_array_equal(Alarm().combined(surprises), surprises)


@pytest.mark.parametrize("dependence", ["independent", "equal", "opposite", "blocks"])
@pytest.mark.parametrize("n", [2, 10, 30])
def test_a_combined_surprise_is_a_tail_probability_whatever_the_dependence(dependence, n):
    rng = np.random.default_rng(7)
    u = rng.random((1500, 60))
    if dependence == "equal":
        u[:] = u[:, :1]
    elif dependence == "opposite":
        u[:, 1::2] = 1.0 - u[:, ::2]
    elif dependence == "blocks":
        u = np.repeat(u[:, :12], 5, axis=1)
    last = np.array([Alarm(smooth=n).combined(row)[-1] for row in u[:, -3 * n :]])
    for p in (0.5, 0.1, 0.01):
        assert np.mean(last <= p) <= p + 4.0 * math.sqrt(p * (1.0 - p) / len(u))


def test_equal_surprises_are_combined_to_e_times_one_of_them():
    assert Alarm(smooth=9).combined(np.full(400, 1e-3))[-1] == pytest.approx(math.e * 1e-3)


def test_low_points_are_bounded_where_surprises_are_combined():
    assert Alarm(1e-3, smooth=30).false_alarms(1440) == pytest.approx(1.44)


def test_the_state_of_an_older_version_judges_each_point_by_itself():
    state = Alarm(0.01).to_dict()
    del state["smooth"], state["mean"]
    assert Alarm.from_dict(state).smooth == 1
    for mean in (math.nan, 0.5, -math.inf, "x"):
        with pytest.raises(ValueError, match="not the state of an alarm"):
            Alarm.from_dict(Alarm().to_dict() | {"mean": mean})


@pytest.mark.parametrize("smooth", [0, -1, 2**32, 1.5, True])
def test_a_wrong_span_is_refused(smooth):
    with pytest.raises(ValueError, match="smooth must be"):
        Alarm(smooth=smooth)
    assert repr(Alarm(0.1, 5, smooth=3)) == "Alarm(level=0.1, hold=5.0, debounce=1, smooth=3)"
