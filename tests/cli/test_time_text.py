"""Times as files write them, against the dates of the standard library."""

import datetime as dt
import random
import zoneinfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mapdpm.cli.time_text import UNITS, TimeReader, is_time, zone_of

BERLIN = zoneinfo.ZoneInfo("Europe/Berlin")

UNITS_IN_A_SECOND = list(zip(UNITS, (1, 10**3, 10**6, 10**9), strict=True))


def at(text):
    return dt.datetime.fromisoformat(text).timestamp()


NOON = at("2026-10-24T12:00:00+00:00")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("2026-10-24T12:00:00Z", NOON),
        ("2026-10-24T12:00:00z", NOON),
        ("2026-10-24T14:00:00+02:00", NOON),
        ("2026-10-24T14:00:00.000+0200", NOON),
        ("2026-10-24T07:00:00-05", NOON),
        (" 2026-10-24 12:00:00 UTC ", NOON),
        ("2026-10-24 12:00:00 +00:00", NOON),
        ("2026-10-24T14:00+02:00[Europe/Berlin]", NOON),
        ("2026-10-24 12:00", NOON),
        ("2026/10/24 12:00:00", NOON),
        ("2026-10-24 12:00:00.25", NOON + 0.25),
        ("2026-10-24 12:00:00,125", NOON + 0.125),
        ("2026-10-24T12:00:00.123456789Z", NOON + 0.123456789),
        ("24.10.2026 12:00", NOON),
        ("24.10.2026 12:00:07", NOON + 7),
        ("24/10/2026 12:00", NOON),
        ("10/24/2026 12:00:00 PM", NOON),
        ("10-24-2026 12:00", NOON),
        ("20261024T120000Z", NOON),
        ("20261024T1200", NOON),
        ("2026-10-24", NOON - 43200),
        ("2026-10-24 9:05", NOON - 10500),
        ("2026-10-24 12:00 PM", NOON),
        ("2026-10-24 12:00:00 am", NOON - 43200),
        ("2016-12-31T23:59:60Z", at("2017-01-01T00:00:00+00:00")),
        ("1969-12-31T23:59:59.5Z", -0.5),
        ("5", 5.0),
        ("-3.5", -3.5),
        ("1792843200", NOON),
        ("1792843200.5", NOON + 0.5),
        ("1.7928432e9", NOON),
        ("1792843200000", NOON),
        ("1792843200250", NOON + 0.25),
        ("1792843200000000", NOON),
        ("1792843200000000000", NOON),
    ],
)
def test_times_are_read(text, wanted):
    assert is_time(text)
    assert TimeReader().seconds(text) == pytest.approx(wanted, abs=1e-6)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "is blank"),
        ("  ", "is blank"),
        ("time", "is no time: 'time'; times are numbers since 1970, or dates such as"),
        ("05/10/2026 10:00", "which number is the day. --date-order dmy or mdy says it"),
        ("25/13/2026 10:00", "is no time"),
        ("2026-02-30 10:00", "is no time"),
        ("2026-10-24 25:00", "is no time"),
        ("2026-10-24 13:00 PM", "is no time"),
        ("2026-10-24 12:00 CEST", "is no time"),
        ("2026-10-24T12:00:00Z junk", "is no time"),
        ("nan", "is no time"),
        ("inf", "is no time"),
        ("1e300", "is no time"),
        ("9999-12-31 23:59:59 x", "is no time"),
        ("unavailable", "is no time"),
        ("x" * 10_000, "is no time"),
        ("1" * 400, "is no time"),
    ],
)
def test_what_is_no_time(text, says):
    with pytest.raises(ValueError, match=says):
        TimeReader().seconds(text)


@example(dt.datetime(99, 1, 1, tzinfo=dt.UTC), "T")
@given(st.datetimes(timezones=st.sampled_from([dt.UTC, BERLIN]) | st.timezones()), st.sampled_from("T "))
def test_every_date_with_an_offset(when, mark):
    offset = when.utcoffset()
    if offset is None or offset.total_seconds() % 60:
        return  # before zones had whole minutes
    try:
        wanted = when.timestamp()
    except OverflowError:
        return
    reader = TimeReader()
    assert reader.seconds(when.isoformat(mark)) == pytest.approx(wanted, abs=1e-4)
    assert (reader.unit, reader.zone) == (None, None)


@given(
    st.integers(1_000_000_000, 4_000_000_000), st.sampled_from([("s", 1), ("ms", 10**3), ("us", 10**6), ("ns", 10**9)])
)
def test_the_unit_is_found_once_and_kept(seconds, unit):
    said = []
    reader = TimeReader(say=said.append)
    assert reader.seconds(str(seconds * unit[1])) == seconds
    assert reader.unit == unit[0]
    assert len(said) == (unit[0] != "s")
    assert TimeReader("ms").seconds("5") == 0.005
    before = list(said)
    assert reader.seconds("7000") == 7000 / unit[1]  # no other unit for a small number
    assert said == before


def test_small_numbers_decide_nothing():
    """A clock that begins at 0 and is set later."""
    reader = TimeReader()
    assert [reader.seconds(text) for text in ("0", "10", "1792843200000")] == [0.0, 10.0, NOON]
    assert reader.unit == "ms"


def test_the_order_of_day_and_month_is_found_once_and_kept():
    said = []
    reader = TimeReader(say=said.append)
    assert reader.seconds("10/24/2026 12:00Z") == NOON
    assert reader.seconds("01/02/2026") == at("2026-01-02T00:00:00+00:00")
    assert "'10/24/2026 12:00Z' says that the month comes first" in said[0]
    assert TimeReader(order="dmy").seconds("01/02/2026Z") == at("2026-02-01T00:00:00+00:00")
    with pytest.raises(ValueError, match="is no time"):
        reader.seconds("24/10/2026")  # not the other order, now and then


def test_a_zone_is_for_dates_without_one():
    said = []
    reader = TimeReader(zone="Europe/Berlin", say=said.append)
    assert reader.seconds("2026-10-24 14:00") == NOON
    assert reader.seconds("2026-10-24 12:00Z") == NOON
    assert reader.seconds("1792843200") == NOON
    assert said == []
    assert TimeReader(zone="-05:00").seconds("2026-10-24 07:00") == NOON
    plain = TimeReader(say=said.append)
    plain.seconds("2026-10-24 14:00")
    plain.seconds("2026-10-24 15:00")
    assert said == ["times without a zone are taken for UTC; --time-zone says another one"]
    assert plain.zone == "UTC"


def test_the_hour_that_comes_twice():
    """A minute each, as a clock on the wall shows them: each comes in order, ten minutes before to ten after."""
    begin = at("2026-10-24T23:50:00+00:00")
    wanted = [begin + 60.0 * i for i in range(140)]
    said, last, found = [], None, []
    reader = TimeReader(zone="Europe/Berlin", say=said.append)
    for t in wanted:
        last = reader.seconds(dt.datetime.fromtimestamp(t, BERLIN).strftime("%Y-%m-%d %H:%M"), last)
        found.append(last)
    assert found == wanted
    assert len(said) == 1
    assert "'2026-10-25 02:00' comes twice in Europe/Berlin" in said[0]


def test_a_time_that_comes_again_in_the_first_hour_is_of_the_first():
    first = at("2026-10-25T00:30:00+00:00")
    reader = TimeReader(zone="Europe/Berlin")
    assert reader.seconds("2026-10-25 02:30:00", first) == first
    assert reader.seconds("2026-10-25 02:30:00", first + 0.5) == first
    assert reader.seconds("2026-10-25 02:30:00", first + 1.0) == first + 3600.0


def test_the_hour_that_never_comes():
    said = []
    reader = TimeReader(zone="Europe/Berlin", say=said.append)
    assert reader.seconds("2026-03-29 02:30") == at("2026-03-29T01:30:00+00:00")
    assert "'2026-03-29 02:30' never comes in Europe/Berlin" in said[0]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("Berlin", "did you mean Europe/Berlin?"),
        ("Europe/Berln", "did you mean Europe/Berlin?"),
        ("Europe", "must be a zone"),
        ("../../etc/passwd", "must be a zone"),
        ("/etc/passwd", "must be a zone"),
        ("", "must be a zone"),
        ("+2", "must be a zone"),
        ("+99:00", "must be a zone"),
        ("x\0y", "must be a zone"),
    ],
)
def test_what_is_no_zone(text, says):
    with pytest.raises(ValueError, match=says):
        zone_of(text)


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "Australia/Lord_Howe", "+05:30"])
def test_dates_of_one_hour_are_read_as_each_alone(zone):
    """The reader knows the hour of the last date: the same times as those of a reader that has seen nothing."""
    rng, reader = random.Random(0), TimeReader(zone=zone)
    for day in ("2026-03-29", "2026-04-05", "2026-10-04", "2026-10-25"):
        for _ in range(400):
            hour, minute, second = rng.choice(("00", "01", "02", "03")), rng.randrange(60), rng.randrange(60)
            tail = rng.choice(("", "", ".5", ",125", "Z", ".25Z", "+02:00", " +02:00", "[x]"))
            text = f"{day}{rng.choice('T ')}{hour}:{minute:02}:{second:02}{tail}"
            assert reader.seconds(text) == TimeReader(zone=zone).seconds(text), text
        last = None
        for text in [f"{day}T{hour}:{minute}:00" for hour in ("01", "02", "02", "03") for minute in ("05", "25", "50")]:
            last, before = reader.seconds(text, last), last
            assert last == TimeReader(zone=zone).seconds(text, before), text
    for rest in ("59:60", "5:00", "59", "59:00.", "60:00", "59:0x", "59:0", "-59:00", "59:00.5x", ""):
        told = []
        for each in (reader, TimeReader(zone=zone)):
            try:
                told.append(each.seconds(f"{day}T03:{rest}"))
            except ValueError as error:
                told.append(str(error))
        assert told[0] == told[1], rest
