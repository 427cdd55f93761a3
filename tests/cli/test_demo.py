"""The demo on the recording that comes with mapdpm."""

import csv
import re
import sys

import numpy as np
import pytest
from sklearn.metrics import adjusted_mutual_info_score

from mapdpm import cli
from mapdpm.cli import demo
from repository import ROOT

DATA = ROOT / "examples" / "data" / "smartwatch.csv"


@pytest.fixture(scope="module")
def result():
    return demo.run(DATA)


def recording(path, rows=20, **columns):
    """Write a recording of ``rows`` samples; ``columns`` replace or, as None, drop what it has."""
    rng = np.random.default_rng(3)
    content = {"recording": [0] * rows, "activity": ["rest"] * rows}
    content |= {name: rng.normal(size=rows).tolist() for name in demo.CHANNELS}
    content = {name: column for name, column in (content | columns).items() if column is not None}
    lines = [",".join(content), *(",".join(map(str, cells)) for cells in zip(*content.values(), strict=True))]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_windows_are_seconds_of_one_recording(result):
    with DATA.open(newline="") as file:
        rows = list(csv.DictReader(file))
    features, activities = [], []
    for number in range(80):
        own = [row for row in rows if int(row["recording"]) == number]
        for first in range(0, len(own), 10):
            window = np.array([[float(row[name]) for name in demo.CHANNELS] for row in own[first : first + 10]])
            features.append(np.log(window.std(axis=0)))
            activities.append(own[first]["activity"])
    assert result.windows.features.shape == (800, 6)
    assert np.allclose(result.windows.features, features, rtol=1e-12, atol=1e-12)  # ten terms a sum
    assert result.windows.activities.tolist() == activities


def test_agreement_is_that_of_scikit_learn(result):
    expected = adjusted_mutual_info_score(result.windows.activities, result.merged)
    assert result.ami == pytest.approx(expected, abs=1e-9)
    printed = re.search(r"^mapdpm AMI (0\.\d+)$", demo.report(result), re.MULTILINE)
    assert float(printed[1]) == pytest.approx(expected, abs=5.01e-4)  # three decimals


def test_the_printed_table_is_the_clustering(result):
    lines = demo.report(result).splitlines()
    top = next(i for i, line in enumerate(lines) if line.startswith(" merged  "))
    names = lines[top].split()[1:]
    rows = [list(map(int, line.split())) for line in lines[top + 1 : top + 5]]
    assert names == sorted({"badminton", "running", "standing", "walking"})
    assert [sum(row[1:]) for row in rows] == np.bincount(result.merged).tolist()
    clusters = [row[0] for row in rows for count in row[1:] for _ in range(count)]
    activities = [name for row in rows for name, count in zip(names, row[1:], strict=True) for _ in range(count)]
    assert adjusted_mutual_info_score(activities, clusters) == pytest.approx(result.ami, abs=1e-9)


def test_groups_are_activities_rather_than_chance(result):
    # Unrelated groups have 0 on average; k-means told K = 4 has 0.645 on these features.
    assert result.ami >= 0.66
    assert result.model.n_clusters_ > 4
    assert adjusted_mutual_info_score(result.windows.activities, result.by_the_paper.labels_) < result.ami
    assert result.model.converged_


def test_command_writes_a_picture(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["demo", str(DATA)]) == 0
    out = capsys.readouterr().out
    assert "mapdpm AMI 0." in out
    assert " nats, " in out
    assert (tmp_path / "mapdpm_demo.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "mapdpm_demo.png").stat().st_size > 20_000


def test_command_finds_the_recording_from_anywhere(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["demo", "--no-picture"]) == 0
    assert "mapdpm AMI 0." in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []


def test_the_current_folder_comes_first(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples" / "data").mkdir(parents=True)
    own = recording(tmp_path / "examples" / "data" / "smartwatch.csv")
    assert demo.found().resolve() == own.resolve()


def test_says_that_there_is_no_recording(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(demo, "_FILE", "gone.csv")
    with pytest.raises(ValueError, match=r"was not found; name it: mapdpm demo path/to/gone\.csv"):
        demo.run()


def test_without_matplotlib_one_line_says_how_to_get_it(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert cli.main(["demo", str(DATA)]) == 0
    assert "pip install 'mapdpm[plot]'" in capsys.readouterr().out.splitlines()[-1]
    assert cli.main(["demo", str(DATA), "--picture", "asked.png"]) == 1
    assert capsys.readouterr().err.startswith("mapdpm: error: pictures need matplotlib")
    assert list(tmp_path.iterdir()) == []


def test_a_dead_channel_stays_finite(tmp_path):
    dead = demo.read(recording(tmp_path / "dead.csv", accel_x=[1.0] * 20, gyro_x=[*[0.0] * 10, *range(10)]))
    assert np.all(np.isfinite(dead.features))


def test_what_is_left_of_a_recording_is_dropped(tmp_path):
    windows = demo.read(recording(tmp_path / "odd.csv", rows=39, recording=[0] * 15 + [1] * 24))
    assert len(windows.features) == 3


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"gyro_z": None, "activity": None}, "it has no column activity, gyro_z"),
        ({"accel_y": [*range(19), "oops"]}, r"line 21, column 4 \(accel_y\) is not a number: 'oops'"),
        ({"accel_y": [*range(19), "nan"]}, r"line 21, column 4 \(accel_y\) is not a finite number: 'nan'"),
        ({"recording": range(20)}, "has no window of 10 rows"),
        ({"accel_x": [1e200, *range(19)]}, r"X contains 1e\+200, beyond 1e\+49, at row 0"),
    ],
)
def test_bad_recordings(tmp_path, capsys, change, message):
    path = recording(tmp_path / "bad.csv", **change)
    with pytest.raises(ValueError, match=message):
        demo.run(path)
    assert cli.main(["demo", str(path), "--no-picture"]) == 1
    assert len(capsys.readouterr().err.splitlines()) == 1
