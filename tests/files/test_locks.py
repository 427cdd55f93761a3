"""Locks on files: one holder at a time, by whatever name, also at the same moment; none after its holder was killed."""

import os
import re
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from mapdpm.files import disk, locks
from mapdpm.files.errors import UnwritableError
from mapdpm.files.locks import BusyError, locked
from repository import ROOT

pytestmark = pytest.mark.skipif(os.name != "posix", reason="links and signals of POSIX")

HOLDER = """
import sys
from pathlib import Path
from mapdpm.files import disk, locks
with locks.locked(*map(Path, sys.argv[1:])):
    print("held", flush=True)
    for line in sys.stdin:
        disk.write_file(sys.argv[1], line.encode())
        print("written", flush=True)
"""

AT_ONCE = """
import os, sys
from pathlib import Path
from mapdpm.files import locks

names = [Path(each) for each in sys.argv[2:]]
for _ in range(int(sys.argv[1])):
    go, begin = os.pipe()
    leave, end = os.pipe()
    told, tell = os.pipe()
    for name in names:
        if not os.fork():
            os.close(begin), os.close(end)
            os.read(go, 1)  # until all are there
            try:
                with locks.locked(name):
                    os.write(tell, b"1")
                    os.read(leave, 1)  # until all have tried
            except locks.BusyError:
                os.write(tell, b"0")
            os._exit(0)
    os.close(begin)
    answers = b""
    while len(answers) < len(names):
        answers += os.read(told, 99)
    os.close(end)
    for _ in names:
        os.wait()
    print(answers.count(b"1"))
    for each in (go, leave, told, tell):
        os.close(each)
"""


def environment():
    return os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}


@pytest.fixture
def holder():
    """Starts a process that holds files until it is killed or its input ends."""
    started = []

    def start(*paths):
        command = [sys.executable, "-c", HOLDER, *map(str, paths)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        process = subprocess.Popen(command, env=environment(), **pipes)
        started.append(process)
        assert process.stdout.readline() == "held\n"
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


@pytest.fixture
def names(tmp_path):
    """A file, and its other names: a symbolic link, one to that, one to the folder, a hard link."""
    path = tmp_path / "state.mdpm"
    path.write_bytes(b"first")
    (tmp_path / "soft").symlink_to(path)
    (tmp_path / "softer").symlink_to("soft")
    (tmp_path / "elsewhere").symlink_to(tmp_path)
    (tmp_path / "hard").hardlink_to(path)
    others = [tmp_path / "soft", tmp_path / "softer", tmp_path / "elsewhere" / "state.mdpm", tmp_path / "hard"]
    return [path, *others]


def is_free(path):
    try:
        with locked(path):
            return True
    except BusyError:
        return False


def test_one_holder_by_whatever_name(holder, names):
    process = holder(names[0])
    assert [is_free(name) for name in names] == [False] * 5
    with pytest.raises(BusyError, match=re.escape(f"{names[0]} is in use by process {process.pid}")):
        locked(names[0]).__enter__()
    process.stdin.write("second\n")
    process.stdin.flush()
    assert process.stdout.readline() == "written\n"
    assert names[0].read_bytes() == b"second\n"
    assert [is_free(name) for name in names] == [False] * 5  # also the one that still has the old contents
    names[3].parent.parent.joinpath("new").hardlink_to(names[0])
    assert not is_free(names[3].parent.parent / "new")  # a name of the contents of now
    process.kill()
    process.wait()
    assert [is_free(name) for name in names] == [True] * 5
    assert not list(names[0].parent.glob(".*.lock"))


def test_the_holder_by_a_link_keeps_the_file(holder, names):
    for name in names[1:]:
        process = holder(name)
        assert not is_free(names[0])
        process.communicate()
        assert is_free(names[0])


def test_a_file_that_is_not_there_yet(holder, tmp_path):
    path = tmp_path / "new"
    process = holder(path)
    assert not is_free(path)
    process.stdin.write("first\n")
    process.stdin.flush()
    process.stdout.readline()
    (tmp_path / "hard").hardlink_to(path)
    assert not is_free(tmp_path / "hard")
    process.communicate()
    assert is_free(path)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["hard", "new"]


@pytest.mark.parametrize("exists", [True, False])
def test_of_many_at_the_same_moment_one_holds(names, exists):
    """A symbolic link, a hard link and the name itself; 25 rounds."""
    chosen = [names[0], names[1], names[4]] if exists else [names[0].with_name("new")] * 3
    done = subprocess.run(
        [sys.executable, "-c", AT_ONCE, "25", *map(str, [*chosen, *chosen])],
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["1"] * 25
    assert not list(names[0].parent.glob(".*.lock"))


def test_one_file_under_two_names_of_one_command(names):
    with pytest.raises(BusyError, match="is the same file as another one of this command"):
        locked(names[0], names[4]).__enter__()
    assert is_free(names[0])


def test_all_or_nothing(holder, tmp_path):
    holder(tmp_path / "b")
    with pytest.raises(UnwritableError):
        locked(tmp_path / "a", tmp_path / "b").__enter__()
    assert is_free(tmp_path / "a")
    assert not is_free(tmp_path / "b")


def test_what_cannot_be_a_file_is_left_alone(tmp_path):
    with locked(None, tmp_path, tmp_path / "gone" / "x", Path(os.devnull)):
        assert list(tmp_path.iterdir()) == []


def test_contents_outlive_many_replacements_with_few_descriptors(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(b"")
    with locked(path):
        for i in range(20):
            disk.write_file(path, b"%d" % i)
        assert len(locks._held[path.resolve()].contents) == 2
    assert locks._held == {}


def test_a_file_system_without_locks_warns(tmp_path, monkeypatch):
    def flock(*_):
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(locks.fcntl, "flock", flock)
    with pytest.warns(UserWarning, match="cannot be locked"), locked(tmp_path / "x"):
        pass


def test_no_warning_else(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert is_free(tmp_path / "x")


def test_a_file_beside_that_its_last_holder_has_removed_since(tmp_path, monkeypatch):
    """Opened before the last holder removed it, locked after: nobody else would find that lock."""
    beside, lock = tmp_path / ".x.lock", locks.fcntl.flock

    def late(*arguments):
        if beside.exists() and not late.done:
            beside.unlink()
            late.done = True
        lock(*arguments)

    late.done = False
    monkeypatch.setattr(locks.fcntl, "flock", late)
    with locked(tmp_path / "x"):
        assert late.done
        assert beside.read_text() == f"{os.getpid()}\n"
