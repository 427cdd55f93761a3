"""Lines below a table, as totals and notes: no rows of ``fit``, and no points of ``stream`` unless more comes."""

from pathlib import Path

import numpy as np
import pytest

from command_line import called, made
from mapdpm import cli
from mapdpm.cli import feed, tables

POINTS = np.round(np.abs(made(60)), 2).tolist()


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


TOTALS = {  # rows of a table of names, or of times; and how many of the last are none
    "names that are words": (["Aisne,540,7369", "Oise,820,5860", "Somme,570,6170"], 0),
    "brands": (["Aral,1.7,1.8", "Esso,1.6,1.7", "Shell,1.65,1.7", "Total,1.64,1.71"], 0),
    "a table of statistics": (["mean,2,3", "std,1,1", "min,0,1", "max,4,5"], 0),
    "modes of a fan": (["low,2,3", "high,3,3", "min,1,1", "max,4,5"], 0),
    "a total": (["a,1,2", "b,3,4", "Total,4,6"], 1),
    "a total and a mean": (["a,1,2", "b,3,4", "Total,4,6", "Mean,2,3"], 2),
    "statistics of days": (["2026-01-01,1,2", "2026-01-02,3,4", "Min,1,2", "Max,3,4"], 2),
    "totals of each year": ([f"{a},{y},5" for y in (1, 2) for a in (*range(20), "Total")], 0),
    "thousands, of numbers below": (["a,1,249", "b,3,700", 'Total,4,"12.345"'], 1),
    "prices with three decimals": (["Aral,1,1.650", "Esso,1,1.700", "Total,1,1.640"], 0),
    "a negative one": (["a,-1,2", "b,3,4", "Total,2,6"], 1),
}


@pytest.mark.parametrize("name", TOTALS)
@pytest.mark.filterwarnings("ignore:.*left out")
def test_totals_and_names(name):
    rows, n = TOTALS[name]
    Path("x.csv").write_text("\n".join(["name,x,y", *rows, ""]))
    found = tables.read_csv("x.csv", lambda *_: tables.Columns([2])).values
    assert len(found) == len(rows) - n


@pytest.mark.parametrize("end", ["", "\n", "\r\n\n"])
def test_totals_of_a_stream_are_no_points(end):
    """They are learned where the end of the input is not known: in a pipe, and in a file that is followed."""
    rows = [f"{i},{a},{b}" for i, (a, b) in enumerate(POINTS)]
    total = ",".join(str(sum(column)) for column in zip(*POINTS, strict=True))
    text = "\n".join(["n,a,b", *rows, f"Total,{total}", "", "moved in May"]) + end
    Path("x.csv").write_text(text)
    done = called(*["stream", "x.csv", "--columns", "a,b", "--warmup", "20", "--state", "s.mdpm"])
    assert "x.csv: the last 3 lines left out, as no row of the table" in done.stderr
    assert "60 points learned, 0 skipped" in done.stderr
    again = called(*["stream", "x.csv", "--columns", "a,b", "--state", "s.mdpm"])
    assert "60 points learned, 0 skipped" in again.stderr
    Path("x.csv").write_text(text.replace("Total", "60").replace("\n\nmoved in May", "\n61,9.5,9"))
    more = called(*["stream", "x.csv", "--columns", "a,b", "--state", "t.mdpm", "--warmup", "20"])
    assert "62 points learned" in more.stderr


def test_lines_that_come_while_a_stream_reads_are_points(monkeypatch):
    """What stood at the end is no total any more, and what comes after it is not left out."""
    rows = [f"{i},{a},{b}" for i, (a, b) in enumerate(POINTS)]
    Path("x.csv").write_text("\n".join(["n,a,b", *rows, "Total,3,4", "", ""]))
    taken = feed.Lines.taken

    def grows(self, item):
        taken(self, item)
        if item.number == 30:
            with Path("x.csv").open("a") as file:
                file.write("61,9.5,9\n62,0.5,1\n")

    monkeypatch.setattr(feed.Lines, "taken", grows)
    argv = "stream x.csv --columns a,b --warmup 20 --on-error skip --output o.jsonl"
    assert cli.main(argv.split()) == 0
    assert len(Path("o.jsonl").read_text().splitlines()) == 63


def test_a_total_that_is_a_channel_is_learned_when_more_comes():
    """What stands at the end of a file is kept back: the next run knows better."""
    cycle = [*(f"room{i},{i % 3},{i}" for i in range(9)), "total,9,40"]
    lines = ["ch,x,y"]
    for _ in range(5):
        lines += cycle
        Path("x.csv").write_text("\n".join([*lines, ""]))
        done = called(*["stream", "x.csv", "--columns", "x,y", "--state", "s.mdpm", "--warmup", "20"])
    assert "50 points learned" in done.stderr
