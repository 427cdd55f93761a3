"""The worst case of the stack (c_kernels/firmware/stacks.py), on graphs and machine code that are made here."""

import importlib

import pytest


@pytest.fixture
def machine(stacks):
    return importlib.import_module("machine_code")


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
        ("push\tr28", 1),
        ("rcall\t.+0      ; 0xd4 <crc_of_word+0x6>", 2),
        ("rcall\t.+24     ; 0xec <crc_of_word+0x1e>", 0),
        ("add\tsp, #100", 0),
        ("addi\tsp,sp,48", 0),
        ("pop\t{r4, pc}", 0),
        ("str\tr0, [sp, #4]", 0),
        ("ldr\tr0, [r1, #-4]!", 0),
    ],
)
def test_what_an_instruction_takes(machine, instruction, taken):
    assert machine.bytes_taken(instruction) == taken


@pytest.mark.parametrize(
    "instruction", ["add\tsp, r4", "sub\tsp, sp, r3", "sub\tsp,sp,t0", "stwux\tr1,r1,r0", "out\t0x3d, r28"]
)
def test_an_unknown_number_of_bytes_is_an_error(machine, instruction):
    with pytest.raises(ValueError, match="not known"):
        machine.bytes_taken(instruction)


LISTING = """
00000100 <__divide>:
 100:\tpush\t{r4, lr}
 102:\tbl\t200 <SIZE+0x100>
 106:\tcbz\tr0, 302 <__zero+0x2>
 108:\tpop\t{r4, pc}
 10a:\tpush\t{r4, lr}
00000200 <__clz>:
 200:\tpush\t{r5, r6, r7}
 202:\tbx\tlr
 204:\t.word\t0x00000100
00000300 <__zero>:
 300:\tsub\tsp, #400
 302:\tsub\tsp, #4
00000304 <__after>:
 304:\tsub\tsp, #32
 306:\tb.n\t308 <__after+0x4>
 308:\tbx\tlr
00000400 <__table>:
 400:\tpush\t{lr}
 402:\ttbb\t[pc, r0]
 406:\t.byte\t0x04
 408:\tsub\tsp, #12
 40a:\tpop\t{pc}
00000480 <__jumps>:
 480:\tpush\tr4
 482:\tijmp
 484:\tpush\tr5
 486:\tret
00000500 <__unrelated>:
 500:\tsub\tsp, #4000
"""
NAMES = "".join(
    f"{place} {kind} {name}\n"
    for place, kind, name in (
        ("00000100", "A", "SIZE"),
        ("00000100", "T", "__divide"),
        ("00000100", "T", "__aeabi_divide"),
        ("00000200", "T", "__clz"),
        ("00000400", "t", "__table"),
        ("00000480", "t", "__jumps"),
    )
)


def test_machine_code_says_what_the_graph_does_not(stacks, machine):
    """It is followed over jumps and from a function into the next; only what is reached counts."""
    functions = machine.machine_code(machine.Listing(LISTING), NAMES, {"__aeabi_divide", "__table", "__jumps"})
    assert functions["__aeabi_divide"] == (8 + 4 + 32, {"__clz"}, 0)
    assert functions["__clz"] == (12, frozenset(), 0)
    assert functions["__table"] == (4 + 12, frozenset(), 0)  # a jump to an address that is computed
    assert functions["__jumps"] == (1 + 1, frozenset(), 0)
    assert stacks.deepest(functions, "__aeabi_divide") == 56
    with pytest.raises(ValueError, match="__multiply is not in the program"):
        machine.machine_code(machine.Listing(LISTING), NAMES, {"__multiply"})
    text = LISTING.replace("bl\t200 <SIZE+0x100>", "blx\tr3")
    with pytest.raises(ValueError, match="pointer"):
        stacks.deepest(machine.machine_code(machine.Listing(text), NAMES, {"__divide"}), "__divide")
    text = LISTING.replace("push\t{r5, r6, r7}", "bl\t100 <__divide>")
    with pytest.raises(ValueError, match="recursion: __divide -> __clz -> __divide"):
        stacks.deepest(machine.machine_code(machine.Listing(text), NAMES, {"__divide"}), "__divide")


AVR = """
program:     file format elf32-avr

00000100 <mapdpm_learn>:
 100:\tpush\tr28
 102:\tin\tr28, 0x3d\t; 61
 104:\tsbiw\tr28, 0x1c\t; 28
 106:\tout\t0x3d, r28\t; 61
 108:\tcall\t0x200\t; 0x200 <__subtract>
 10c:\tret
00000200 <__subtract>:
 200:\tpush\tr4
 202:\tsbrc\tr0, 7
 204:\trjmp\t.+8\t; 0x20e <__subtract+0xe>
 206:\trcall\t.+0\t; 0x208 <__subtract+0x8>
 208:\trcall\t.+6\t; 0x210 <__subtract+0x10>
 20a:\tpush\tr5
 20c:\tret
 20e:\trjmp\t.+0xf0\t; 0x300 <__wide>
 210:\tpush\tr6
 212:\tret
00000300 <__wide>:
 300:\tldi\tr26, 0x0A\t; 10
 302:\tjmp\t0x402\t; 0x402 <__prologue_saves__+0x2>
 304:\tpush\tr7
 306:\tjmp\t0x500\t; 0x500 <__epilogue_restores__>
00000400 <__prologue_saves__>:
 400:\tpush\tr2
 402:\tpush\tr3
 404:\tout\t0x3d, r28\t; 61
 406:\tijmp
00000500 <__epilogue_restores__>:
 500:\tout\t0x3d, r28\t; 61
 502:\tret
"""


def test_without_a_graph_the_machine_code_has_the_calls(stacks):
    """On AVR a call takes 2 bytes; an instruction may be skipped; a part of a function may be called."""
    names = "00000100 T mapdpm_learn\n00000200 T __subtract\n"
    usage = "lib.c:7:5:mapdpm_learn\t31\tstatic\nlib.c:9:1:other.part.3\t999\tstatic\n"
    worst = stacks.worst_cases_without_graph(usage, AVR, names)
    part, wide = 2 + 1, 10 + 1 + 1  # __wide has the bytes in r26, and what __prologue_saves__ and itself push
    assert worst == {"learn": 31 + (2 + 1 + 2 + 1 + wide) + part, "settle": 31 + 18 + part}
    found = stacks.worst_cases_without_graph(f"{usage}lib.c:9:1:__wide\t99\tstatic\n", AVR, names)
    assert found["learn"] == 31 + (2 + 1 + 2 + 1) + 99  # a jump to a function that has a frame of its own
    copy = usage.replace("mapdpm_learn\t31", "mapdpm_learn.isra\t40")
    renamed = AVR.replace("<mapdpm_learn>", "<mapdpm_learn.isra.2>"), names.replace("_learn", "_learn.isra.2")
    assert stacks.usage_of(copy)["mapdpm_learn.isra"] == 40
    functions = stacks.machine_code(
        stacks.Listing(renamed[0]), renamed[1], ["mapdpm_learn.isra.2"], stacks.usage_of(copy)
    )
    assert functions["mapdpm_learn.isra.2"].frame == 40
    with pytest.raises(ValueError, match="0x3d"):  # the frame of a function that is not in the file
        stacks.worst_cases_without_graph("", AVR, names)
    with pytest.raises(ValueError, match="no bounded frame"):
        stacks.usage_of("lib.c:7:5:f\t31\tdynamic\n")


POINTERS = (
    node("mapdpm_learn_float", 20)
    + node("mapdpm_send", 30)
    + node("lib.c:move", 10, 60)
    + node("lib.c:put", 24, 70)
    + node("lib.c:get", 16, 80)
    + outside("__indirect_call")
    + edge("mapdpm_learn_float", "lib.c:move")
    + edge("mapdpm_send", "lib.c:move")
    + edge("lib.c:move", "__indirect_call")
)


def test_a_call_by_a_pointer_may_reach_what_nothing_calls(stacks):
    """The caller's functions take stack of the caller. settle is all of learn, and learn leaves warm-ups out."""
    heads = [f"/* ==== stream/{name}.c ==== */\n" for name in ("warmup", "prior", "settle", "online")]
    library = f"{heads[0]}{heads[1]}{heads[3]}" + "\n" * 50 + heads[2] + "\n" * 20 + heads[3]
    assert stacks.worst_cases(POINTERS, "", "", library) == {"learn": 20, "settle": 20 + 10 + 24, "send": 64}
    assert stacks.worst_cases(POINTERS + edge("lib.c:get", "lib.c:put"), "", "", library)["send"] == 30 + 10 + 16 + 24
    with pytest.raises(ValueError, match="recursion"):
        stacks.worst_cases(POINTERS + edge("lib.c:put", "lib.c:move"), "", "", library)
    text = AVR.replace("sbrc\tr0, 7", "icall\t")
    names = "00000100 T mapdpm_learn\n00000200 t __subtract\n00000300 t __wide\n00000500 t __other\n"
    usage = "lib.c:7:5:mapdpm_learn\t31\tstatic\nlib.c:9:1:__wide\t70\tstatic\n"
    found = stacks.worst_cases_without_graph(usage, text.replace("rjmp\t.+0xf0\t; 0x300 <__wide>", "ret"), names)
    assert found["learn"] == 31 + (2 + 1) + 70  # nothing is skipped, so what follows the jump is not reached


def test_a_frame_is_at_least_what_is_pushed(stacks, machine):
    """gcc 12 forgets arguments that are pushed; where a large frame is in a register, its figure stands."""
    functions = {
        "lib.c:gain.isra.0": stacks.Function(8, frozenset({"memcpy"})),
        "learn": stacks.Function(700, frozenset()),
        "lib.c:inlined": stacks.Function(5, frozenset()),
    }
    listing = "00000010 <gain.isra.0>:\n  10:\tsub\tsp, #8\n  12:\tpush\t{r4, lr}\n"
    listing += "00000020 <learn>:\n  20:\tpush\t{r4, lr}\n  22:\tadd\tsp, r4\n"
    frames = {name: found.frame for name, found in machine.with_pushes(functions, machine.Listing(listing)).items()}
    assert frames == {"lib.c:gain.isra.0": 16, "learn": 700, "lib.c:inlined": 5}


def test_the_lines_of_a_file_in_the_pair(stacks):
    text = "/* head */\n/* ==== a.h === */\nx\n/* ==== b.c === */\ny\nz\n/* ==== c.c === */\nw\n"
    assert stacks.lines_of(text, ("b.c",)) == (range(4, 7),)
    assert stacks.lines_of(text, ("a.h", "c.c")) == (range(2, 4), range(7, 9))
    with pytest.raises(ValueError, match="there is no d"):
        stacks.lines_of(text, ("b.c", "d.c"))
