"""Files and messages as some sixty programs write them: read as they are, with an option, or refused by a message.

Every table has the same thirty points, so what is read must be they; each message must say what to do.
"""

import datetime as dt
import gzip
import json
import random
import re
from pathlib import Path

import numpy as np
import pytest

import mapdpm
from command_line import called
from mapdpm import cli

_RNG = random.Random(0)
POINTS = [
    (round(20 + i % 2 * 6 + _RNG.gauss(0, 0.3), 2), round(50 + i % 2 * 9 + _RNG.gauss(0, 1), 1)) for i in range(30)
]
TIMES = [dt.datetime(2026, 10, 25, 8) + dt.timedelta(minutes=10 * i) for i in range(30)]  # noqa: DTZ001  (as loggers have them)
FIT, STREAM = "fit x.csv", "stream x.csv"
DECODED = "uplink_message.decoded_payload"
ISO = "%Y-%m-%dT%H:%M:%S"


def comma(x):
    return str(x).replace(".", ",")


def quoted(x):
    return f'"{x}"'


def table(*head, sep=",", end="\n", number=str, time=None, first=(), before=(), after=()):
    """A table of the points, in cells by ``number``; after the cells of ``first``, or the time by this format."""
    firsts = [[each.strftime(time)] if time else first for each in TIMES]
    rows = [[*cells, number(t), number(h)] for cells, (t, h) in zip(firsts, POINTS, strict=True)]
    return end.join([*before, *([sep.join(head)] if head else []), *map(sep.join, rows), *after, ""])


def messages(made):
    """A line of JSON for each point and time, of what ``made`` gives of them."""
    return "".join(
        json.dumps(made(t, h, when.strftime(ISO))) + "\n" for (t, h), when in zip(POINTS, TIMES, strict=True)
    )


def lines(text):
    """A line for each point: ``{t}``, ``{h}``, and ``{i}``, its number."""
    return "".join(text.format(t=t, h=h, i=i) + "\n" for i, (t, h) in enumerate(POINTS))


def uplink(t, h, when):
    """A message of The Things Network."""
    decoded = {"f_port": 1, "decoded_payload": {"temperature": t, "humidity": h}, "rx_metadata": [{"rssi": -90}]}
    return {"end_device_ids": {"device_id": "attic"}, "received_at": f"{when}.123456789Z", "uplink_message": decoded}


def tasmota(t, h, when):
    return {"Time": when, "SI7021": {"Temperature": t, "Humidity": h}, "TempUnit": "C"}


INFLUX = ["#group,false,true,false,false", "#datatype,string,long,double,double", "#default,_result,,,"]
TESTO = ["Gerät;testo 174H", "Seriennummer;38912345", "Messwerte;30", ""]
CAMPBELL = ['"TOA5","CR1000","CR1000","1234","CR1000.Std.27","CPU:x.CR1","123","Table1"', '"TIMESTAMP","AirTC","RH"']
HOBO = '"#","Date Time, GMT+01:00","Temp, °C (LGR S/N: 1)","RH, %","Host Connected"'
HOBO_ROWS = [f"{i + 1},{when:%m/%d/%y %I:%M:%S %p},{t},{h}," for i, (when, (t, h)) in enumerate(zip(TIMES, POINTS))]  # noqa: B905
HOBO_FILE = "\ufeff" + "\n".join(['"Plot Title: attic"', HOBO, *HOBO_ROWS, ""])
HISTORY = "".join(
    f"sensor.{name},{point[column]},{when:%Y-%m-%dT%H:%M:%S}.000Z\n"
    for column, name in enumerate(("temperature", "humidity"))
    for point, when in zip(POINTS, TIMES, strict=True)
)

AS_THEY_ARE = {
    "Excel in the US": (table("t", "h", end="\r\n"), FIT),
    "Excel, CSV UTF-8": ("\ufeff" + table("t", "h", end="\r\n"), FIT),
    "Excel in Germany": (table("Wärme", "Größe", sep=";", end="\r\n", number=comma).encode("cp1252"), FIT),
    "Excel in France": (table("Température", "Humidité", sep=";", number=comma), FIT),
    "Excel, Unicode text": (table("t", "höhe", sep="\t", end="\r\n").encode("utf-16"), FIT),
    "Excel, with sep=": (table("t", "h", sep=";", number=comma, before=["sep=;"]), FIT),
    "Excel for the Mac of old": (table("t", "h", end="\r"), FIT),
    "LibreOffice, all quoted": (table('"t"', '"h"', number=quoted), FIT),
    "Latin-1": (table("Temp °C", "h").encode("latin-1"), FIT),
    "gzip": (gzip.compress(table("t", "h").encode()), FIT),
    "no header": (table(), FIT),
    "no header, tabs": (table(sep="\t"), FIT),
    "SQLite": (table("t", "h", sep="|"), FIT),
    "a separator at the end": (table("t", "h;", sep=";", number=str).replace("\n", ";\n").replace(";;", ";"), FIT),
    "a separator at the end of rows": (table("t", "h").replace("\n", ",\n").replace("t,h,", "t,h"), FIT),
    "one space": (table("t", "h", sep=" "), FIT),
    "columns of spaces": (table("t", "h", sep="    "), FIT),
    "comments first": (table("t", "h", before=["# station 5", "# made by a logger"]), FIT),
    "a comment, no names": (table(before=["# station 5"]), FIT),
    "numpy.savetxt": (table("# t", "h", number="{:.18e}".format), FIT),
    "units below the names": (table("t", "h\n°C,%"), FIT),
    "words for the units": (table("t", "h", sep=";", number=comma).replace("\n", "\n[Grad];[Prozent]\n", 1), FIT),
    "a title": (table("t", "h", before=["Attic 2026,", ","]), FIT),
    "an empty column": (table("t", "", "h").replace(",", ",,").replace("t,,,,", "t,,"), FIT),
    "names of two columns each": (table("Temp", "RH", before=["Attic,"]), FIT),
    "a total": (table("t", "h", after=["Total,99"]), FIT),
    "totals of Excel": (table("t", "h", sep=";", number=comma, after=["Summe;99", "Mittelwert:;4,5"]), FIT),
    "a note below": (table("t", "h", after=["", "Sensor moved in May", ""]), FIT),
    "Zigbee2MQTT": (messages(lambda t, h, _: {"temperature": t, "humidity": h}), STREAM),
    "JSON, one array": (json.dumps([{"t": t, "h": h} for t, h in POINTS]), STREAM),
    "JSON, arrays": (messages(lambda t, h, _: [t, h]), STREAM),
    "JSON, numbers as strings": (messages(lambda t, h, _: {"t": str(t), "h": str(h)}), STREAM),
    "Telegraf": (lines("weather,host=pi t={t},h={h} 17928432{i:02}000000000"), STREAM),
    "Arduino, spaces": (lines("{t} {h}"), STREAM),
    "units in a stream": (table("t", "h\n°C,%"), STREAM),
    "UTF-16 in a stream": (table("t", "höhe", sep=";", number=comma, end="\r\n").encode("utf-16"), STREAM),
    "gzip in a stream": (gzip.compress(table("t", "h").encode()), STREAM),
    "an empty column in a stream": (table("t", "", "h").replace(",", ",,").replace("t,,,,", "t,,"), STREAM),
    "names of two columns each, a stream": (table("Temp", "RH", before=["Attic,"]), STREAM),
    "semicolons in a stream": (table("t", "h", sep=";", number=comma), STREAM),
}

WITH_AN_OPTION = {
    "Excel in Germany, times": (
        table("Zeit", "t", "h", sep=";", number=comma, time="%d.%m.%Y %H:%M"),
        f"{FIT} --columns 2-",
    ),
    "Excel in the US, times": (table("Time", "t", "h", time="%m/%d/%Y %I:%M %p"), f"{STREAM} --time Time"),
    "Influx, annotated": (
        table("", "result", "table", "t", "h", first=["", "", "0"], before=INFLUX),
        f"{FIT} --columns t,h",
    ),
    "Influx, version 1": (table("name", "time", "t", "h", first=["w", "1792843200"]), f"{FIT} --columns t,h"),
    "Grafana": (
        table('"Time"', '"t"', '"h"', number=quoted, time='"%Y-%m-%d %H:%M:%S"', before=["sep=,"]),
        f"{FIT} --columns t,h",
    ),
    "Grafana, a zone": (table("Time", "t", "h", sep=";", time=f"{ISO}+01:00"), f"{STREAM} --time Time"),
    "HOBO": (HOBO_FILE, f"{FIT} --columns 3-4"),
    "HOBO, a stream": (HOBO_FILE, f"{STREAM} --columns 3-4 --time 2"),
    "testo": (
        table("Datum", "Zeit", "t", "h", sep=";", number=comma, time="%d.%m.%Y;%H:%M:%S", before=TESTO),
        f"{FIT} --columns 3-",
    ),
    "testo, a stream": (
        table("Datum", "Zeit", "t", "h", sep=";", number=comma, time="%d.%m.%Y;%H:%M:%S", before=TESTO),
        f"{STREAM} --columns 3- --time Datum,Zeit",
    ),
    "a short year": (table("Datum", "t", "h", sep=";", number=comma, time="%d.%m.%y %H:%M"), f"{STREAM} --time Datum"),
    "Campbell, TOA5": (
        table('"TS","Deg C"', '"%"\n"","Avg","Smp"', number=str, time='"%Y-%m-%d %H:%M:%S"', before=CAMPBELL),
        f"{FIT} --columns 2-",
    ),
    "SQL": (table("id", "t", "h", first=["7"]), f"{FIT} --columns 2-"),
    "SQL, NULL": (table("t", "h", after=["NULL,NULL"]), f"{FIT} --missing skip"),
    "PostgreSQL, \\N": (table(sep="\t", after=["\\N\t\\N"]), f"{FIT} --missing skip"),
    "Excel, errors": (table("t", "h", after=["#DIV/0!,#NV"]), f"{FIT} --missing skip"),
    "a sensor that is not there": (table("t", "h", after=["unavailable,unknown"]), f"{FIT} --missing skip"),
    "-999": (table("t", "h", after=["-999.9,-999.9"]), f"{FIT} --missing skip --na -999.9"),
    "a word of its own": (table("t", "h", after=["kaputt,kaputt"]), f"{FIT} --missing skip --na kaputt"),
    "pandas, with its index": (table("", "t", "h", first=["7"]), f"{FIT} --columns t,h"),
    "Tasmota": (messages(tasmota), f"{STREAM} --time Time --columns SI7021.Temperature,SI7021.Humidity"),
    "Shelly": (
        messages(lambda t, h, _: {"temperature:0": {"tC": t, "tF": 0}, "humidity:0": {"rh": h}}),
        f"{STREAM} --columns temperature:0.tC,humidity:0.rh",
    ),
    "The Things Network": (
        messages(uplink),
        f"{STREAM} --time received_at --columns {DECODED}.temperature,{DECODED}.humidity",
    ),
    "Telegraf, JSON": (
        messages(lambda t, h, _: {"fields": {"t": t, "h": h}, "name": "w", "timestamp": 1792843200}),
        f"{STREAM} --columns fields.t,fields.h",
    ),
    "Telegraf, other fields": (
        lines('weather,host=pi t={t},n={i}i,ok=true,s="x y",h={h} 17928432{i:02}000000000'),
        f"{STREAM} --columns t,h --time time",
    ),
    "seconds since 1970": (table("time", "t", "h", first=["1792843200"]), f"{STREAM} --time time"),
    "milliseconds": (table("time", "t", "h", first=["1792843200000"]), f"{STREAM} --time time"),
}

REFUSED = {
    "Home Assistant": (
        "entity_id,state,last_changed\n" + HISTORY,
        FIT,
        "line 2, column 3 (last_changed) is not a number: '2026-10-25T08:00:00.000Z'; a date or a time is no feature;",
    ),
    "German dates": (
        table("Zeit", "t", "h", sep=";", number=comma, time="%d.%m.%Y %H:%M"),
        FIT,
        "'25.10.2026 08:00'; a date or a time is no feature; the columns of numbers are --columns 2-3",
    ),
    "a point beside commas": (
        table("t", "h", sep=";", number=comma).replace("\n", "\n1.315;2,5\n1234,5;2,5\n", 1),
        FIT,
        "is '1.315', where others have decimal commas or points between thousands; if its point stands between",
    ),
    "commas between thousands, in quotes": (
        table("t", "h", number=lambda x: f'"{round(x)},315"'),
        FIT,
        "say so: --decimal ,; if it has marks between thousands, say so: --thousands ,",
    ),
    "percent": (
        table("t", "h", number="{}%".format),
        FIT,
        "write the number alone, and its unit into the name of the column",
    ),
    "units in cells": (table("t", "h", number="{} °C".format), FIT, "'20.28 °C'; write the number alone, and its unit"),
    "money": (table("t", "h", number="${}".format), FIT, "'$20.28'; write the number alone, and its unit"),
    "a long minus": (table("t", "h", number="\u2212{}".format), FIT, "write - for minus"),
    "Fortran": (table("t", "h", number=lambda x: f"{x:.3E}".replace("E", "D")), FIT, "is not a number: '2.028D+01'"),
    "errors of Excel": (
        table("t", "h", after=["#DIV/0!,1"]),
        FIT,
        "is missing: '#DIV/0!'; remove or fill such rows, or learn",
    ),
    "a subtotal": (
        table("t", "h", after=["Total,99", *["20,50"] * 9]),
        FIT,
        "line 32, column 1 (t) is not a number: 'Total'",
    ),
    "a wider row": (table("t", "h", after=["1,2,3"]), FIT, "line 32 has 3 columns, but the first row has 2"),
    "R, names of rows": (table('"t"', '"h"', first=['"1"']), FIT, "line 2 has 3 columns, but the first row has 2"),
    "lines of JSON": (messages(tasmota), FIT, "x.csv holds JSON, which mapdpm stream reads; this command takes tables"),
    "line protocol": (
        lines("w,host=pi t={t},h={h} 1"),
        FIT,
        "x.csv holds InfluxDB line protocol, which mapdpm stream reads",
    ),
    "a page to log in": (
        "<!DOCTYPE html>\n<html></html>\n",
        FIT,
        "x.csv is a web page or XML, not a table; save it as CSV",
    ),
    "JSON, indented": (json.dumps([{"t": 1}], indent=1), STREAM, "each line is a message: jq -c . makes such lines"),
    "Tasmota, all values": (
        messages(tasmota),
        f"{STREAM} --time Time",
        "(TempUnit) is not a number: 'C'; the columns of numbers are --columns 2-3",
    ),
    "month names": (
        table("time", "t", "h", time="%d-%b-%Y %H:%M"),
        f"{STREAM} --time time",
        "is no time: '25-Oct-2026 08:00'; times are numbers since 1970, or dates such as",
    ),
    "day or month": (
        table("time", "t", "h", first=["10/11/2026 10:00"]),
        f"{STREAM} --time time",
        "which number is the day? --date-order dmy or mdy says it",
    ),
}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def read(monkeypatch):
    """The values that ``mapdpm fit`` reads: it stops before it fits them."""
    found = []

    def stop(_, table, *__):
        found.append(table.values[~np.isnan(table.values).all(axis=1)])
        raise ValueError

    monkeypatch.setattr("mapdpm.cli.commands.likelihood_of_table", stop)
    return found


def write(data):
    Path("x.csv").write_bytes(data if isinstance(data, bytes) else data.encode())


def case(cases):
    return pytest.mark.parametrize("origin", cases)


@case([*AS_THEY_ARE, *WITH_AN_OPTION])
def test_understood(origin, read, capsys):
    data, command = (AS_THEY_ARE | WITH_AN_OPTION)[origin]
    write(data)
    argv = command.split()
    if argv[0] == "fit":
        cli.main(argv)
        assert read, capsys.readouterr().err
        np.testing.assert_allclose(read[0], POINTS)
        return
    assert cli.main([*argv, "--state", "s.mdpm", "--warmup", "20"]) == 0, capsys.readouterr().err
    assert "30 points learned, 0 skipped" in capsys.readouterr().err
    model = mapdpm.load("s.mdpm")
    assert sorted(model.weights) == [15, 15]
    np.testing.assert_allclose(model.weights @ model.means, np.sum(POINTS, axis=0))


@case(REFUSED)
def test_refused(origin):
    data, command, message = REFUSED[origin]
    write(data)
    run = called(*command.split())
    assert run.returncode == 1
    assert message in run.stderr.splitlines()[-1]


def test_there_are_some_ninety_of_them():
    assert len(AS_THEY_ARE) + len(WITH_AN_OPTION) + len(REFUSED) == 87


def test_a_whole_fit():
    write(HOBO_FILE)
    run = called(*f"{FIT} --columns 3-4".split())
    assert run.returncode == 0
    assert re.search(r"rows +30\ncolumns +2 \(Temp, °C .*\nkinds .*\nclusters +2\n", run.stdout)
    assert run.stderr == "mapdpm: warning: x.csv: line 1 left out, as no row of the table\n"


def test_rows_that_end_a_table_are_rows():
    write("t,h\n" + "1,2\n3,4\n" * 9 + ",\n")
    assert called("predict", made_model(), "x.csv").stdout.splitlines()[-1] == "-1"
    write("phase,t,h\n" + "l1,1,2\ntotal,3,4\n" * 9)  # a total of each time, not of the table
    run = called(*FIT.split(), "--columns", "t,h")
    assert "rows       18\n" in run.stdout
    assert "left out" not in run.stderr


def made_model():
    called(*FIT.split(), "--missing", "skip", "--out", "m.mdpm")
    return "m.mdpm"


def test_units_above_a_gap():
    write("t,h\n°C,%\n-,unavailable\n" + "1,2\n3,4\n" * 9)
    run = called(*FIT.split(), "--missing", "skip")
    assert "rows       18\n" in run.stdout
    assert "line 2 left out, as no row of the table" in run.stderr
    assert "1 row without any value left out, the first is row 1 of the data" in run.stderr


def test_a_first_cell_of_a_sensor_that_is_not_there():
    write("t,h\nunavailable,2\n" + "".join(f"{i % 5},{i % 3}\n" for i in range(60)))
    run = called(*FIT.split(), "--missing", "skip")
    assert "categor" not in run.stdout
    assert "rows       61\n" in run.stdout


def test_a_first_row_without_a_value_is_a_row():
    write("t,h\nkaputt,Kaputt\n" + "1,2\n3,4\n" * 9)
    run = called(*FIT.split(), "--missing", "skip", "--na", "kaputt,Kaputt", "--labels", "-")
    assert run.stdout.splitlines()[:2] == ["label", "-1"]
    assert "left out, as" not in run.stderr


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n" + "1,2,3\n" * 9, "line 2 has 3 columns, but the first row has 2"),  # names of another width
        ("1\n" + "1,2\n" * 9, "line 2 has 2 columns, but the first row has 1"),
        ("t,h\n" + "kitchen,attic\n1,2\n" * 5, "line 3"),  # not only first
        ("t,h\n-,-\n" + "1,2\n" * 9, "line 2, column 1 (t) is missing: '-'"),
        ("t,h,room\n,,attic\n" + "1,2,attic\n" * 9, "line 2, column 1 (t) is blank"),
    ],
)
def test_no_row_is_left_out(text, message):
    write(text)
    run = called("fit", "x.csv", "--kinds", "1=continuous,2=continuous" if text[0] == "t" else "1=continuous")
    assert run.returncode == 1
    assert "left out" not in run.stderr
    assert message in run.stderr or "is not a number: 'kitchen'" in run.stderr
