"""The worst case of the stack (c_kernels/firmware/stacks.py), on graphs and machine code that are made here."""

import importlib

import pytest

from repository import ROOT


@pytest.fixture
def stacks(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "c_kernels" / "firmware"))
    return importlib.import_module("stacks")


def node(name, frame, line=1, kind="static"):
    return (
        f'node: {{ title: "{name}" label: "{name}\\nlib.c:{line}:5\\n{frame} bytes ({kind})\\n0 dynamic objects" }}\n'
    )


def outside(name):
    return f'node: {{ title: "{name}" label: "__builtin_{name}\\n<built-in>" shape : ellipse }}\n'


def edge(source, target):
    return f'edge: {{ sourcename: "{source}" targetname: "{target}" label: "lib.c:7:3" }}\n'


GRAPH = (
    'graph: { title: "lib.c"\n'
    + node("learn", 100)
    + node("lib.c:split", 40, 20)
    + node("lib.c:gain.isra.0", 8, 30, "dynamic,bounded")
    + node("lib.c:settle", 300, 55)
    + outside("memcpy")
    + edge("learn", "lib.c:split")
    + edge("learn", "memcpy")
    + edge("learn", "lib.c:settle")
    + edge("lib.c:split", "lib.c:gain.isra.0")
    + edge("lib.c:settle", "lib.c:gain.isra.0")
    + edge("lib.c:settle", "lib.c:gain.isra.0")
    + "}\n"
)


def test_the_deepest_path_counts(stacks):
    functions, named = stacks.graph_of(GRAPH)
    assert named == {"memcpy"}
    assert functions["learn"] == (100, {"lib.c:split", "memcpy", "lib.c:settle"}, 1)
    functions["memcpy"] = stacks.Function(50, frozenset())
    assert stacks.deepest(functions, "learn") == 100 + 300 + 8
    assert stacks.deepest(functions, "learn", (range(50, 60),)) == 100 + 50  # memcpy is deeper than split and gain
    functions["memcpy"] = stacks.Function(0, frozenset())
    assert stacks.deepest(functions, "learn", (range(50, 60),)) == 100 + 40 + 8


@pytest.mark.parametrize(
    ("more", "complaint"),
    [
        (edge("lib.c:gain.isra.0", "learn"), "recursion: learn -> .* -> learn"),
        (
            outside("__indirect_call") + edge("lib.c:split", "__indirect_call"),
            "a call by a pointer: learn -> lib.c:spl",
        ),
    ],
)
def test_what_has_no_bound_is_an_error(stacks, more, complaint):
    functions, _ = stacks.graph_of(GRAPH + more)
    functions["memcpy"] = stacks.Function(0, frozenset())
    with pytest.raises(ValueError, match=complaint):
        stacks.deepest(functions, "learn")


def test_a_frame_without_a_bound_is_an_error(stacks):
    with pytest.raises(ValueError, match="alloca"):
        stacks.graph_of(node("alloca", 16, kind="dynamic"))
    functions, _ = stacks.graph_of(GRAPH)
    with pytest.raises(ValueError, match="no memcpy"):  # nothing says what it takes
        stacks.deepest(functions, "learn")


@pytest.mark.parametrize(
    ("instruction", "taken"),
    [
        ("push\t{r3, r4, r5, lr}", 16),
        ("stmdb\tsp!, {r4, r5, r6, r7, r8, r9, sl, lr}", 32),
        ("vpush\t{d8-d11}", 32),
        ("vpush\t{s16}", 4),
        ("sub\tsp, #100", 100),
        ("sub.w\tsp, sp, #620", 620),
        ("str.w\tlr, [sp, #-4]!", 4),
        ("addi\tsp,sp,-48", 48),
        ("add\tsp,sp,-48", 48),
        ("stwu\tr1,-64(r1)", 64),
        ("add\tsp, #100", 0),
        ("addi\tsp,sp,48", 0),
        ("pop\t{r4, pc}", 0),
        ("str\tr0, [sp, #4]", 0),
        ("ldr\tr0, [r1, #-4]!", 0),
    ],
)
def test_what_an_instruction_takes(stacks, instruction, taken):
    assert stacks.bytes_taken(instruction) == taken


@pytest.mark.parametrize("instruction", ["add\tsp, r4", "sub\tsp, sp, r3", "sub\tsp,sp,t0", "stwux\tr1,r1,r0"])
def test_an_unknown_number_of_bytes_is_an_error(stacks, instruction):
    with pytest.raises(ValueError, match="not known"):
        stacks.bytes_taken(instruction)


LISTING = """
00000100 <__divide>:
 100:\tpush\t{r4, lr}
 102:\tbl\t200 <__clz>
 106:\tcbz\tr0, 300 <__zero+0x2>
 108:\tpop\t{r4, pc}
 10a:\tnop
00000200 <__clz>:
 200:\tpush\t{r5, r6, r7}
 202:\tbx\tlr
 204:\t.word\t0x00000100
00000300 <__zero>:
 300:\tsub\tsp, #4
 302:\tadd\tsp, #4
00000304 <__after>:
 304:\tsub\tsp, #32
 306:\tbx\tlr
00000400 <__unrelated>:
 400:\tsub\tsp, #4000
"""
NAMES = "00000100 T __divide\n00000100 T __aeabi_divide\n00000200 T __clz\n00000300 t __zero\n00000304 t __after\n"


def test_machine_code_says_what_the_graph_does_not(stacks):
    """Jumps and running on join functions; calls do not. A name may stand for another one."""
    functions = stacks.machine_code(LISTING, NAMES, {"__aeabi_divide"})
    assert functions["__aeabi_divide"] == (8 + 4 + 32, {"__clz"}, 0)
    assert functions["__clz"] == (12, frozenset(), 0)
    assert stacks.deepest(functions, "__aeabi_divide") == 56
    with pytest.raises(ValueError, match="__multiply is not in the program"):
        stacks.machine_code(LISTING, NAMES, {"__multiply"})
    by_pointer = stacks.machine_code(LISTING.replace("bl\t200 <__clz>", "blx\tr3"), NAMES, {"__divide"})
    with pytest.raises(ValueError, match="pointer"):
        stacks.deepest(by_pointer, "__divide")


def test_a_frame_is_at_least_what_is_pushed(stacks):
    """gcc 12 forgets arguments that are pushed; where a large frame is in a register, its figure stands."""
    functions = {
        "lib.c:gain.isra.0": stacks.Function(8, frozenset({"memcpy"})),
        "learn": stacks.Function(700, frozenset()),
        "lib.c:inlined": stacks.Function(5, frozenset()),
    }
    listing = "00000010 <gain.isra.0>:\n  10:\tsub\tsp, #8\n  12:\tpush\t{r4, lr}\n"
    listing += "00000020 <learn>:\n  20:\tpush\t{r4, lr}\n  22:\tadd\tsp, r4\n"
    frames = {name: found.frame for name, found in stacks.with_pushes(functions, listing).items()}
    assert frames == {"lib.c:gain.isra.0": 16, "learn": 700, "lib.c:inlined": 5}


def test_the_lines_of_a_file_in_the_pair(stacks):
    text = "/* head */\n/* ==== a.h === */\nx\n/* ==== b.c === */\ny\nz\n/* ==== c.c === */\nw\n"
    assert stacks.lines_of(text, ("b.c",)) == (range(4, 7),)
    assert stacks.lines_of(text, ("a.h", "c.c")) == (range(2, 4), range(7, 9))
