"""The rooms of the C library: which of them may include and call which, as the table of c_kernels/README.md says."""

import re
import shutil
from pathlib import Path

import pytest

from compiling import KERNELS, amalgamate
from repository import ROOT

ROW = re.compile(r"^\| `(\w+)` \|(.+)\|(.*)\|$", re.MULTILINE)
INCLUDE = re.compile(r'^#include "(?:(\w+)/)?[\w.]+"', re.MULTILINE)
DEFINED = re.compile(r"^(?!static|typedef|else|return)[A-Za-z][\w ]*[ *](\w+)\([^;]*?\)\n?\s*\{", re.MULTILINE)
COMMENT = re.compile(r"/\*.*?\*/|\"[^\"\n]*\"", re.DOTALL)


def listed():
    """The rooms of the table in their order, each with those that it may use. All may use the folder above."""
    text = Path(f"{KERNELS}/README.md").read_text(encoding="utf-8").partition("## Rooms\n")[2].partition("\n## ")[0]
    return {room: set(re.findall(r"\w+", uses)) for room, _, uses in ROW.findall(text)}


def sources(kernels, room):
    """The text of each file of a room, without comments; `room` may be "", the folder of the public headers."""
    return {path: path.read_text(encoding="utf-8") for path in sorted((kernels / room).glob("*.[ch]"))}


def used(kernels, rooms):
    """The rooms that each room uses, by what its files include and by the functions that they call."""
    homes = {}  # the learner of reals and that in whole numbers have public functions of the same names
    for room in rooms:
        for path, text in sources(kernels, room).items():
            for name in DEFINED.findall(COMMENT.sub("", text)) if path.suffix == ".c" else ():
                homes.setdefault(name, []).append(room)
    found = {}
    for room in ("", *rooms):
        text = "\n".join(sources(kernels, room).values())
        called = set(re.findall(r"\w+(?=\()", COMMENT.sub("", text))) & homes.keys()
        calls = {homes[name][0] for name in called if room not in homes[name]}
        found[room] = ({*INCLUDE.findall(text)} | (calls if room else set())) - {room, ""}
    return found


def test_each_room_is_in_every_list():
    folders = {path.parent.name for path in KERNELS.glob("*/*.[ch]")} - {"checks", "firmware", "fuzz", "tests"}
    shipped = re.findall(r'^  "(\w+)/\*",$', (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)
    assert [*listed()] == [*amalgamate.ROOMS]
    assert folders == {*amalgamate.ROOMS}
    assert shipped == sorted(folders)


def test_a_room_uses_rooms_above_it_in_the_table_and_no_other():
    rooms = listed()
    above = set()
    for room, uses in rooms.items():
        assert uses <= above, f"{room} stands above {uses - above} in the table"
        above.add(room)
    assert used(KERNELS, rooms) == {"": set()} | rooms


@pytest.mark.parametrize(
    ("room", "fault"),
    [
        ("arithmetic", '#include "families/mapdpm_priors.h"\n'),
        ("files", "static void f(mapdpm_stream *s) { stream_refresh(s, 0); }\n"),
        ("groups", "static int g(void) { return mapdpm_learn_many(0, 0, 0, 0, 0, 0, 0); }\n"),
        ("", '#include "stream/mapdpm_steps.h"\n'),
    ],
)
def test_a_fault_is_noticed(room, fault, tmp_path):
    """An include, a call within the library, a call of a public function; and the public header includes no room."""
    rooms = listed()
    shutil.copytree(KERNELS, tmp_path, dirs_exist_ok=True, ignore=shutil.ignore_patterns("amalgamation", "firmware"))
    path = next((tmp_path / room).glob("*.h"))
    path.write_text(path.read_text(encoding="utf-8") + fault, encoding="utf-8")
    assert used(tmp_path, rooms) != {"": set()} | rooms
