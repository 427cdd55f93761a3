"""Tables in the page are those of the command line: the same files by both readers, hostile ones too."""

import base64
import random
import re
import warnings

import numpy as np
import pytest

from mapdpm.cli import models, tables
from mapdpm.cli.cells import MISSING_NUMBERS
from mapdpm.cli.forms import form_of
from tests.cli import test_origins as origins
from tests.cli.test_forms import written

pytestmark = pytest.mark.complete

READ = """
(files) => files.map(([text, name, places]) => {
  try {
    const table = mapdpm.readTable(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)), name);
    const { names, points, notes } = table.choose(table.columns.map(({ place }) => place).filter((place, _, all) =>
      places === null || places.some((each) => all.at(each) === place)));
    const columns = table.columns.map(({ place, missing }) => ({ place, missing }));
    const values = points.map((row) => row.map(String));
    return { names, values, columns, usual: table.usual, notes: [...table.notes, ...notes] };
  } catch (error) {
    return { message: error.message };
  }
})
"""


def read_in_page(page, files, places=None):
    """The table that the page reads from each file, by its name: all columns, or those at ``places``."""
    places = places or {}
    given = [
        [base64.b64encode(text if isinstance(text, bytes) else text.encode()).decode(), "x.csv", places.get(name)]
        for name, text in files.items()
    ]
    return dict(zip(files, page.evaluate(READ, given), strict=True))


def read_in_python(path, text, places=None):
    """The same by the reader of the command line; the message where it refuses."""
    path.write_bytes(text if isinstance(text, bytes) else text.encode())

    def choice(_, cells):
        return tables.Columns(range(len(cells)) if places is None else [place % len(cells) for place in places])

    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            models._check_table(path)
            whole = tables.read_csv(path, choice, form_of(path), gaps=True)
            table, _ = whole.with_values(path)
        except ValueError as error:
            return {"message": str(error)}
    messages = [str(each.message) for each in said]
    return {"names": table.columns, "values": table.values, "whole": whole.values, "said": messages}


def lines(*cells, sep=","):
    return "".join(sep.join(row) + "\n" for row in cells)


N_OF_CHANCE = 500
PLAIN = lines(("a", "b"), ("1", "2"), ("3", "4.5"))
MESSY = {
    **{
        f"{delimiter!r} {decimal} {encoding} {header}": written(delimiter, decimal, header).encode(encoding)
        for delimiter, decimal in [(",", "."), (";", ","), (";", "."), ("\t", ","), ("\t", "."), ("|", ".")]
        for encoding in ("utf-8", "utf-8-sig", "cp1252", "utf-16", "utf-16-be")
        for header in (True, False)
        if encoding != "utf-16-be"
    },
    "UTF-16, the other order": b"\xfe\xff" + written(";", ",").encode("utf-16-be"),
    "words for missing": lines(("a", "b"), *[(word, str(i)) for i, word in enumerate(MISSING_NUMBERS)]),
    "NaN in all spellings": "a,b\n1,nan\n2,NaN\n-nan,3\n+NAN,4\n",
    "rows without any value": "a,b\n1,2\n,\nNA,unavailable\n3,\n-,4\n",
    "no value at all": "a,b\n,\nNA,-\n",
    "a column without values": "a,b\n1,\n2,\n",
    "blank around cells": " a , b \n 1 ,\t2\n3 , 4\xa0\n",
    "quotes": 'a,"b, ""c"""\n"1","2"\n"3" ,4\n"5""","6"\n',
    "quoted numbers": 'a,"b, ""c"""\n"1","2"\n"3" ,4\n',
    "a name of two lines": '"a\nb",c\r\n1,2\r\n3,4\r\n',
    "a name of two lines, a bad cell": '"a\r\nb",c\r\n1,2\r\n3,x\r\n',
    "quotes that never end": 'a,b\n1,2\n"3,4\n5,6\n',
    "numbers of all forms": "a,b\n.5,5.\n+1e3,-1E-3\n0007,1e400\n",
    "numbers of all forms that are finite": "a,b\n.5,5.\n+1e3,-1E-3\n0007,123456789012345678901234567890\n1e-320,-0\n",
    "infinite": "a,b\n1,inf\n2,3\n",
    "infinity": "a,b\n1,2\n-Infinity,3\n",
    "underscores": "a,b\n1_000,2\n3,4\n",
    "hexadecimal": "a,b\n0x10,2\n3,4\n",
    "blank lines at both ends": f"\n\r\n{PLAIN}\n\n",
    "a blank line between": "a,b\n1,2\n\n3,4\n",
    "blank lines between": "a,b\n1,2\n\n\n3,4\n\n5,6\n\n",
    "many blank lines": f"a,b\n1,2\n{999 * chr(10)}3,4\n",
    "a thousand and one": f"a,b\n1,2\n{1001 * chr(10)}3,4\n",
    "names again": "a,b\n1,2\na,b\n3,4\na,b\n5,6\n",
    "names in other columns": "a,b\n1,2\nb,a\n3,4\n",
    "a line of blanks": "a,b\n1,2\n   \n3,4\n",
    "old Mac, a blank line": "a,b\r1,2\r\r3,4\r",
    "too few cells": "a,b\n1,2\n3\n",
    "too many cells": "a,b\n1,2\n3,4,5\n",
    "empty": "",
    "only blank lines": "\n\n\r\n",
    "only names": "a,b\n",
    "one number": "7",
    "one column": "a\n1\n2\n",
    "names that are years": "id,2020,2021\n1,2,3\n4,5,6\n",
    "only years": "2019,2020,2021\n1,2,3\n4,5,6\n" + "7,8,9\n" * 6,
    "years below a title": "Visitors,,\n,2020,2021\nA,2,3\n" + "B,5,6\n" * 6,
    "years and years": "2019,2020\n2015,2018\n2001,2020\n",
    "years that fall": "2020,2019\n1,2\n3,4\n",
    "text and dates": "when,what,x\n2026-01-01,a,1\n2026-01-02,b,2\n",
    "no header, a sensor that is not there": "unavailable,1\n2,3\n",
    "spaces": " 1  2\n3 4\n5   6\n7 8\n9 10\n",
    "spaces at the end": "1 2 \n3 4 \n5 6 \n",
    "a stray byte": "höhe,größe\n1,2\n".encode() + b"\xff,2\n",
    "bytes of no letter in Windows-1252": "höhe,b\n1,2\n".encode("cp1252") + b"\x81,3\n",
    "half of a character": b"a,b\n1,2\n\xe2\x82",
    "half of a pair in UTF-16": "a,b\n1,2\n".encode("utf-16") + b"\x00\xd8",
    "nuls": b"a,b\n1,2\n3,\x004\n",
    "control characters": b"a,b\n1,2\n3\x1c,4\x85\n",
    "units of rules": "a,b\n---,---\n1,2\n3,4\n5,6\n7,8\n",
    "units and gaps": "a,b\nm,s\n1,\nNA,4\n5,6\n7,8\n",
    "comments between blank lines": "# one\n\n# two\n\na;b\n1,5;2\n3;4\n5;6,25\n7;8\n",
    "a title that is as wide": "Station 5,\na,b\n1,2\n3,4\n5,6\n7,8\n",
    "names in two lines, units": "Attic\n,In,,Out\nid,T,H,T\n,C,%,C\n1,2,3,4\n2,3,4,5\n3,4,5,6\n4,5,6,7\n5,6,7,8\n",
    "names in two lines, one narrower": "In\nT,Out,\nx,T,H\n1,2,3\n2,3,4\n3,4,5\n4,5,6\n5,6,7\n6,7,8\n7,8,9\n",
    "an empty column": "a,,b,\n1,,2,\n3,,4,\n5,,6,\n7,,8,\n",
    "an empty column, a value later": "a,,b\n" + "1,,2\n" * 60 + "3,4,5\n",
    "an empty column without names": "1,,2\n" * 60 + "3,4,5\n",
    "totals": "a,b\n1,2\n3,4\n5,6\nTotal:,12\nMean,4\n\n",
    "totals of each time": "a,b\nl1,2\ntotal,4\nl1,6\ntotal,12\n",
    "a class called max": "size,b\nmin,2\nmid,4\nmax,12\n",
    "notes": "a,b\n1,2\n3,4\n\nmoved in May\n   \nAda\n",
    "brands": "b,x,y\nAral,1.7,1.8\nEsso,1.6,1.7\nTotal,1.64,1.71\n",
    "thousands of a total": "a,b\na,249\nb,700\nTotal,12.345\n",
    "prices of three decimals": "a,b\nAral,1.650\nEsso,1.700\nTotal,1.640\n",
    "statistics": "s,x\nmean,2\nstd,1\nmin,0\n",
    "totals of each time, many": "a,b\n" + "".join(f"{f'l{i}' if i % 12 else 'total'},{i}\n" for i in range(1, 61)),
    "addresses": "ip,x\n" + "".join(f"192.168.178.{100 + i},{1 + i / 100:.3f}\n" for i in range(30)),
    "commas beside points": "lat\tn\n" + "".join(f"{40 + i / 100:.2f}\t{3 + i},315\n" for i in range(9)),
    "a point elsewhere": "a;b\n" + "".join(f"1.{100 + i},5;2\n" for i in range(60)) + "0.512;3\n",
    "a note below totals": "a,b\n1,2\n3,4\nTotal,6\n\nmoved in May\nAda\n",
    "a summary below a gap": "a,b,c\n1,2,3\n3,4,5\n\nSummary\nmean,2000,17\n",
    "a column of texts": "a\nx\n\ny\nz\n",
    "blank lines near the end": "a,b\n1,2\n\n3,4\n\nnote\n",
    "a note without a blank line": "a,b\n1,2\n3,4\nmoved in May\n",
    "a long line below wrong cells": "a,b\n1,x\n3,4\n5," + "6" * 131_073 + "\n",
    "a title": "Station 5\na,b\n1,2\n3,4\n5,6\n7,8\n9,1\n",
    "a date is no name": "2026-01-01,2\n2026-01-02,3\n",
    "long": lines(("a", "b"), *[(str(i % 7), f"{i}.25") for i in range(3000)]),
    "a cell that is too long": "a,b\n1," + "2" * 131_073 + "\n",
    "a quoted cell that is too long": 'a,b\n1,"' + "2\n" * 70_000 + '"\n',
    "thousands": 'a,b\n"1,234.5",2\n3,4\n',
    "German thousands": "a;b\n1.234,5;2\n3;4\n",
    "French thousands": "a;b\n1\u202f234,5;2\n3,5;4\n",
    "Swiss thousands": "a;b\n1\u2019234.5;2\n12'000'000;4\n",
    "thousands of a column": "a\tb\n" + "\n".join(f"{x:,}\t{x / 8}" for x in (284, 1315, 4802, 249, 3012, 77)),
    "points between thousands": "a;b\n284;1\n1.315;2\n4.802;1\n249;1\n3.012;1\n77;5\n9.100;1\n8.200;1\n7.300;2\n",
    "decimals of three digits": "a;b\n" + "\n".join(f"{x / 1000};1" for x in (284, 1315, 4802, 249, 3012, 77)),
    "a doubted point": "a;b\n1,5;2\n1.315;3\n2,5;4\n",
    "a comma in quotes": 'a,b\n"1,5",2\n3,4\n',
    "quotes in messages": "a,b\nit's,1\n" + "2,3\n" * 6,
    "a long text": "a,b\n1," + "x" * 99 + "\n",
    "marks that turn a text": "a,b\n1,\u202e3\u2066x\U000e0001\n2,3\n",
    "minus": "a,b\n\u22125,1\n2,3\n",
}
# The command line has options where the page has boxes, so what to do is said in other words behind the semicolon.
PROBLEM = re.compile(r"[^;]*")
FITTED = {
    name: (text, argv)
    for kind in (origins.AS_THEY_ARE, origins.WITH_AN_OPTION, origins.REFUSED)
    for name, (text, argv, *_) in kind.items()
    if argv.startswith(origins.FIT) and "--na" not in argv and name != "gzip"
}


def places_of(argv):
    """The columns of ``--columns``: those of t and h, the last two but in HOBO's files."""
    found = re.search(r"--columns (\S+)", argv)
    return None if found is None else ([2, 3] if found[1] == "3-4" else [-2, -1])


def cut(name):
    """A name as the page shows it."""
    return name if len(name) <= 60 else f"{name[:60]}\u2026"


def check(path, name, text, got, places=None):
    expected = read_in_python(path, text, places)
    assert ("message" in got) == ("message" in expected), (name, got, expected)
    if "message" in got:
        said = expected["message"].replace(str(path), "x.csv")
        said = re.sub(r"(?<= \()(.{61,})(?=\) is )", lambda found: cut(found[1]), said, flags=re.DOTALL)
        assert PROBLEM.match(got["message"])[0] == PROBLEM.match(said)[0], name
        return
    columns = [got["columns"][place] for place in (places or range(len(got["columns"])))]
    names = zip(columns, expected["names"] or [""] * len(columns), strict=True)
    assert got["names"] == [cut(title) or f"column {column['place'] + 1}" for column, title in names], name
    assert np.array_equal(np.array(got["values"], dtype=float), expected["values"], equal_nan=True), name
    assert [column["missing"] for column in columns] == np.isnan(expected["whole"]).sum(axis=0).tolist(), name
    said = ", ".join(expected["said"]).replace(f"{path}: ", "")
    assert ", ".join(note for note in got["notes"] if "missing values" not in note) == said, name


def test_both_readers_agree(page, tmp_path):
    for name, got in read_in_page(page, MESSY).items():
        check(tmp_path / "x.csv", name, MESSY[name], got)


def test_files_of_many_origins(page, tmp_path):
    """The tables of tests/cli/test_origins.py, with the columns that the command line is told of."""
    texts = {name: text for name, (text, _) in FITTED.items()}
    places = {name: places_of(argv) for name, (_, argv) in FITTED.items()}
    for name, got in read_in_page(page, texts, places).items():
        check(tmp_path / "x.csv", name, texts[name], got, places[name])


def test_files_of_chance(page, tmp_path):
    """Rows of cells that are put together by chance, with what loggers, spreadsheets and damage do to them."""
    rng = random.Random(0)
    texts = {seed: chance(rng) for seed in range(N_OF_CHANCE)}
    found = read_in_page(page, texts)
    for seed, got in found.items():
        check(tmp_path / "x.csv", seed, texts[seed], got)
    read = [got for got in found.values() if "message" not in got]
    assert min(len(read), N_OF_CHANCE - len(read)) > N_OF_CHANCE / 5
    assert any(got["notes"] for got in read)


CELLS = ["1", "-2.5", "3,5", "1e3", " 4", "", "NA", "-", "unavailable", "nan", "x", '"7"', '"a,b"', '"c""d"']
CELLS += [
    "2026-01-02",
    "10:30",
    "25.10.2026 08:00",
    "#N/A",
    "°C",
    "Größe",
    "1_0",
    "+.5",
    "#",
    "5 %",
    "--",
    "id",
    '"',
    "inf",
]


def chance(rng):
    """A file of a form, with up to three kinds of cells, and a few accidents."""
    sep, end = rng.choice([",", ",", ";", "\t", "|", " "]), rng.choice(["\n", "\n", "\r\n", "\r"])
    width, kinds = rng.randint(1, 4), rng.choices(CELLS, k=3) if rng.random() < 0.6 else ["1", "2.5", "-3"]
    if sep != "," and rng.random() < 0.5:
        kinds = [*kinds, "1,5"]
    rows = [[rng.choice(kinds) for _ in range(width)] for _ in range(rng.randint(1, 12))]
    if rng.random() < 0.6:
        rows.insert(0, [rng.choice(["t", "höhe", "b", "2020", "", "#x"]) for _ in range(width)])
    if rng.random() < 0.3:
        rows.insert(rng.randint(0, 2), rng.choice([["Station 5"], ["# made"], ["°C"] * width, ["---"] * width, [""]]))
    if rng.random() < 0.2:
        rows.insert(0, [rng.choice(["In", "Out", "", "", "°C"]) for _ in range(rng.randint(1, width))])
    if rng.random() < 0.2:
        word = rng.choice(["Total", "Summe:", "mean", "Max", "sensor moved", "9"])
        rows += [*rng.choice([[], [[""]], [["  "]]]), [word, *["7.5"] * rng.choice([0, width - 1])]] * rng.randint(1, 2)
    if rng.random() < 0.2:
        place = rng.randint(0, width)
        rows = [[*row[:place], "", *row[place:]] for row in rows]
    for _ in range(rng.choice([0, 0, 1])):
        row = rng.choice(rows)
        row[rng.randrange(len(row))] = rng.choice(CELLS)
    text = end.join(sep.join(row) for row in rows) + end
    text = text.replace(end, sep + end) if rng.random() < 0.1 else text
    return text.encode(rng.choice(["utf-8", "utf-8", "utf-8-sig", "utf-16", "cp1252"]))
