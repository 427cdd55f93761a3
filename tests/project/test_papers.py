"""docs/papers.md has every table and figure of the papers, as the records of bench/papers/ have it."""

import importlib
import re
import sys

import pytest

from repository import ROOT
from tests.project.quoted_figures import QUOTES

FOLDER = ROOT / "bench" / "papers"
EXHIBITS = {  # all that the papers have: tables, figures
    "raykov2014": (5, 4),
    "liang2007": (0, 3),
    "porteous2006": (0, 5),
    "chang2013": (1, 5),
    "teh2004": (4, 10),
}


def loaded(name):
    paths = [str(FOLDER), str(FOLDER.parent)]
    sys.path[:0] = paths
    try:
        return importlib.import_module(name)
    finally:
        for path in paths:
            sys.path.remove(path)


@pytest.fixture(scope="module")
def report():
    return loaded("report")


@pytest.fixture(scope="module")
def records(report):
    return report.records(report.RESULTS)


def test_the_page_is_that_of_the_records(report, records):
    assert report.PAGE.read_text(encoding="utf-8") == report.page(records), "run: python bench/papers/report.py"


@pytest.mark.parametrize("paper", EXHIBITS)
def test_every_table_and_figure_has_an_exhibit(paper, records):
    tables, figures = EXHIBITS[paper]
    wanted = {*(f"table-{n + 1}" for n in range(tables)), *(f"figure-{n + 1}" for n in range(figures))}
    exhibits = loaded(paper).EXHIBITS
    names = {name: re.fullmatch(r"((table|figure)-\d+)[a-z]*", name) for name in exhibits}
    assert all(names.values()), f"names are table-1, figure-3, figure-3a: {list(exhibits)}"
    assert {match[1] for match in names.values()} == wanted
    assert [each["name"] for each in records if each["paper"] == paper] == list(exhibits)


def test_an_exhibit_is_measured_or_says_why_not(records):
    for each in records:
        assert each["claims"] or each["note"], f"{each['paper']}, {each['name']}: neither claims nor a note"
        assert not each["picture"] or (
            each["alt"] and (ROOT / "docs" / "pictures" / "papers" / each["picture"]).is_file()
        )
        assert len({claim["says"] for claim in each["claims"]}) == len(each["claims"])


def test_what_does_not_agree_has_a_reason_and_what_has_a_verdict_a_rule(records):
    claims = [(each["paper"], each["name"], claim) for each in records for claim in each["claims"]]
    assert not [where for *where, claim in claims if claim["verdict"] != "agrees" and not claim["why"]]
    assert not [where for *where, claim in claims if claim["agrees"] is not None and not claim["rule"]]


def test_rows_of_a_table_are_as_long_as_its_header(records):
    assert not [each["name"] for each in records if len({len(row) for row in each["table"]}) > 1]


@pytest.mark.parametrize("quote", QUOTES, ids=lambda quote: f"{quote.page}: {quote.paper}, {quote.exhibit}")
def test_other_pages_quote_the_records(quote, records):
    header, *rows = next(
        each["table"] for each in records if (each["paper"], each["name"]) == (quote.paper, quote.exhibit)
    )
    cells = {(row[0], column): cell for row in rows for column, cell in zip(header, row, strict=True)}
    text = quote.text.format(*(cells[cell] for cell in quote.cells))
    assert " ".join(text.split()) in " ".join((ROOT / quote.page).read_text(encoding="utf-8").split())


# ---- the short form --------------------------------------------------------------------------------------------------


def test_verdicts_of_the_short_form_are_kept_for_its_exhibits(report):
    kept = report.json.loads(report.VERDICTS.read_text(encoding="utf-8"))
    assert {paper: list(names) for paper, names in kept.items()} == {
        paper: list(loaded(paper).QUICK) for paper in EXHIBITS
    }


def test_a_change_of_a_verdict_is_named(report):
    before = {"raykov2014": {"table-1": {"NMI is alike": "agrees", "K is too small": "agrees"}}}
    now = {"raykov2014": {"table-1": {"NMI is alike": "differs", "K is too large": "agrees"}}}
    assert report.changes(before, before) == []
    assert report.changes(before, now) == [
        "raykov2014, table-1, NMI is alike: it was 'agrees', and is 'differs' now",
        "raykov2014, table-1, K is too small: it was 'agrees', and is 'not there' now",
        "raykov2014, table-1, K is too large: it was 'not there', and is 'agrees' now",
    ]


def test_a_script_that_did_not_run_is_a_change(report):
    before = {"raykov2014": {"table-1": {"NMI is alike": "agrees"}}}
    assert report.changes(before, {}) == ["raykov2014, table-1, NMI is alike: it was 'agrees', and is 'not there' now"]


@pytest.mark.parametrize(
    ("found", "says"), [("agrees", 0), ("differs", "NMI is alike: it was 'agrees', and is 'differs'")]
)
def test_the_check_fails_where_a_verdict_has_changed(report, monkeypatch, tmp_path, found, says):
    claim = {"says": "NMI is alike", "verdict": found}
    record = {"paper": "raykov2014", "name": "table-1", "claims": [claim]}
    (tmp_path / "raykov2014.jsonl").write_text(report.json.dumps(record))
    (tmp_path / "kept.json").write_text('{"raykov2014": {"table-1": {"NMI is alike": "agrees"}}}')
    monkeypatch.setattr(report, "QUICK", tmp_path)
    monkeypatch.setattr(report, "VERDICTS", tmp_path / "kept.json")
    monkeypatch.setattr(sys, "argv", ["report.py", "--check"])
    with pytest.raises(SystemExit) as ended:
        report.main()
    assert str(says) in str(ended.value.code)
