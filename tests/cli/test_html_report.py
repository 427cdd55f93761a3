"""`mapdpm fit --report`: one page that is whole by itself, with the numbers of the fit."""

import re
from html.parser import HTMLParser
from xml.etree import ElementTree as ET

import numpy as np
import pandas as pd
import pytest

import mapdpm
from command_line import called
from mapdpm.cli import html_report
from mapdpm.cli.html_page import escaped, paragraph, table


class Page(HTMLParser):
    """The tables of a page, its text, and what it would load."""

    VOID = ("meta", "link", "img", "br", "input")

    def __init__(self, text):
        super().__init__()
        self.tables, self.ids, self.open, self.loads, self.text = [], [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        if tag not in self.VOID:
            self.open.append(tag)
        if tag == "table":
            self.tables.append([])
        if tag == "tr":
            self.tables[-1].append([])
        if tag in {"td", "th"}:
            self.tables[-1][-1].append("")
        for name, value in attributes:
            self.ids += [value] if name == "id" else []
            self.loads += [value] if name in {"src", "href", "xlink:href", "data"} else []
        assert tag not in {"script", "iframe", "object", "link", "img"}

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in self.VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)
        if self.open and self.open[-1] in {"td", "th"}:
            self.tables[-1][-1][-1] += data


def page_of(tmp_path, *options, name="data.csv"):
    done = called("fit", tmp_path / name, "--report", tmp_path / "out.html", "--out", tmp_path / "m.mdpm", *options)
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "out.html").read_text(encoding="utf-8")
    return text, Page(text)


@pytest.fixture
def data(tmp_path):
    """Names that HTML and terminals would take for orders, a category, a far row, a row without values, a group."""
    rng = np.random.default_rng(0)
    z = rng.integers(0, 2, 200)
    frame = pd.DataFrame(
        {
            "<script>alert(1)</script>": (5.0 * z + rng.normal(size=200)).round(3),
            "mode & more": np.array(["<b>cook", "eat"])[z],
            "noise": rng.normal(size=200).round(3),
            "room": np.array(["hall", "roof"])[rng.integers(0, 2, 200)],
        }
    )
    frame.loc[7, "<script>alert(1)</script>"] = 99.0
    frame.loc[3, ["<script>alert(1)</script>", "mode & more", "noise"]] = None
    frame.to_csv(tmp_path / "data.csv", index=False)
    return tmp_path


def test_the_page_is_whole_and_loads_nothing(data):
    text, page = page_of(data, "--columns", "all-but:room", "--missing", "skip")
    assert len(page.ids) == len(set(page.ids))
    assert all(each.startswith("#") for each in page.loads)
    assert {each[1:] for each in page.loads} <= set(page.ids)
    assert set(re.findall(r"url\(#([^)]*)\)", text)) <= set(page.ids)
    assert "<script" not in text
    assert "<b>cook" not in text
    pictures = re.findall(r"<svg.*?</svg>", text, re.DOTALL)
    assert len(pictures) >= 3
    for each in pictures:
        ET.fromstring(each)  # noqa: S314  (ours)


def test_the_numbers_of_the_page(data):
    _, page = page_of(data, "--columns", "all-but:room", "--missing", "skip")
    model = mapdpm.load(data / "m.mdpm")
    facts, clusters, columns, lowest, *_ = page.tables
    assert ["rows", "199"] in facts
    assert [row[1] for row in clusters[1:]] == [str(n) for n in sorted(model.cluster_sizes_.tolist(), reverse=True)]
    assert [row[0] for row in columns[1:]] == ["<script>alert(1)</script>", "mode & more", "noise"]
    assert [row[1] for row in columns[1:]][1] == "category"
    assert lowest[0][:4] == ["row", "log density", "label", "surprise"]
    assert lowest[1][0] == "8"  # the far one; that without values counts
    assert lowest[1][4] == "99"
    assert float(lowest[1][3]) < 1e-6
    assert len(lowest) == 11
    assert f"mapdpm predict {data / 'm.mdpm'} new.csv" in "".join(page.text)


def test_groups_of_rows_and_of_clusters(data):
    frame = pd.read_csv(data / "data.csv").dropna()
    frame.to_csv(data / "whole.csv", index=False)
    text, page = page_of(data, "--groups", "room", "--columns", "1", name="whole.csv")
    assert "Groups of rows" in text
    assert "--groups room" in "".join(page.text)
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(100, 2)) + c for c in ([0, 0], [9, 0], [60, 60], [69, 60])])
    np.savetxt(data / "four.csv", X, delimiter=",")
    text, page = page_of(data, "--merge-to", "2", name="four.csv")
    assert "Groups of clusters" in text
    rows = next(rows for rows in page.tables if rows[0] == ["group", "share", "clusters"])
    assert sorted(row[1] for row in rows[1:]) == ["50.0%", "50.0%"]
    assert sorted(" ".join(row[2] for row in rows[1:]).split()) == list("0123")


def test_large_tables_are_sampled_in_pictures(data, monkeypatch):
    monkeypatch.setattr(html_report, "_MOST_POINTS", 50)
    few, page = page_of(data, "--columns", "1,3", "--missing", "skip")
    assert "A sample of 50 rows." in few
    assert ["rows", "199"] in page.tables[0]  # only pictures are of a sample


def test_without_a_model_and_without_matplotlib(data, monkeypatch):
    done = called(
        "fit", data / "data.csv", "--columns", "3", "--missing", "skip", "--report", data / "x.html", "--quiet"
    )
    assert (done.returncode, done.stdout) == (0, "")
    assert "was not saved" in (data / "x.html").read_text(encoding="utf-8")
    assert called("fit", data / "data.csv", "--report", data / "data.csv").returncode == 2
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    done = called("fit", data / "data.csv", "--report", data / "y.html")
    assert done.returncode == 1
    assert "matplotlib" in done.stderr
    assert not (data / "y.html").exists()


def test_texts_are_escaped():
    assert escaped('<a href="x">\x1b[2J') == "&lt;a href=&quot;x&quot;&gt;\\x1b[2J"
    assert paragraph("say `<b>`") == "<p>say <code>&lt;b&gt;</code></p>"
    assert paragraph("") == ""
    assert table([("<i>",)], ("&",)) == "<table>\n<tr><th>&amp;</th></tr>\n<tr><td>&lt;i&gt;</td></tr>\n</table>"
