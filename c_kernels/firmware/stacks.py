"""The worst case of the stack of each public function, found without running it.

gcc writes the frame of each function and the calls that it compiled into a graph (-fcallgraph-info=su). What the graph
does not know, memcpy, memset and the functions of libgcc, is read from the machine code: everything that they push. The
library has no recursion and no function pointers, so the longest path from a function is its worst case. The stack of
the caller, and that of interrupts, come on top.

gcc 12 for Arm forgets what a function pushes of its arguments that are passed in registers (a structure by value). So a
frame is at least what the machine code of the function pushes.
"""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from targets import Target

NODE = re.compile(r'^node: \{ title: "([^"]+)" label: "([^"]*)"( shape : ellipse)? \}', re.MULTILINE)
EDGE = re.compile(r'^edge: \{ sourcename: "([^"]+)" targetname: "([^"]+)"', re.MULTILINE)
FRAME = re.compile(r"(\d+) bytes \(([\w,]+)\)")
INDIRECT = "__indirect_call"

# The table of stacks: its targets, and what it calls which function.
STACK_COLUMNS = ("cortex-m4f", "cortex-m4f-surprise", "cortex-m4f-smallest")
STACK_ROWS = {
    "`mapdpm_learn`": "learn",
    "`mapdpm_learn`, with a warm-up to end": "settle",
    "`mapdpm_learn_assessed`, likewise": "learn_assessed",
    "`mapdpm_settle_step`": "settle_step",
    "`mapdpm_predict`": "predict",
    "`mapdpm_snapshot_write`": "snapshot_write",
    "`mapdpm_snapshot_read`": "snapshot_read",
    "`mapdpm_reduce`": "reduce",
}
# The functions that the programs measure, by what they call them.
MEASURED = {"learn": "learn", "settle": "settle", "score": "predict", "save": "snapshot_write", "load": "snapshot_read"}
MEASURED_FEATURES = {"learn": "features_step", "save": "features_write", "load": "features_read"}

# What takes stack in machine code: all registers of a list, or a number of bytes.
LISTS = re.compile(r"^(?:push|stmdb|stmfd|vpush|vstmdb)(?:\.w)?\s+(?:sp!,\s*)?\{(.*)\}")
BYTES = re.compile(
    r"^(?:sub\w*(?:\.w)?\s+sp,\s*(?:sp,\s*)?#(\d+)"  # Arm
    r"|str\w*(?:\.w)?\s.*\[sp, #-(\d+)\]!"
    r"|(?:c\.)?addi?(?:16sp)?\s+sp,(?:sp,)?-(\d+)"  # RISC-V
    r"|stwu\s+r1,-(\d+)\(r1\))"  # PowerPC
)
UNKNOWN = re.compile(r"^(?:sub\w*(?:\.w)?\s+sp,\s*(?:sp,\s*)?[a-z]|add\w*(?:\.w)?\s+sp,\s*r|mov\s+sp|stwux\s+r1)")
CALLS, JUMPS = re.compile(r"^(?:blx?|jal|jalr|bctrl)(?:\.w)?(?:\s|$)"), re.compile(r"^(?:b|cb|j)\w*(?:\.[nw])?\s")
ENDS = re.compile(r"^(?:(?:b|bx|j|jr|blr|ret)(?:\.[nw])?(?:\s|$)|(?:pop|ldmia).*\bpc\}|mov\s+pc)")
PADDING = re.compile(r"^(?:\.|nop|unimp|movs\s+r0, r0$)")
SYMBOL = re.compile(r"<([\w.$]+?)(?:\+0x[0-9a-f]+)?>")


class Function(NamedTuple):
    """The bytes that a function takes itself, the functions that it calls, and its line in the source (0: none)."""

    frame: int
    calls: frozenset[str]
    line: int = 0


def graph_of(text: str) -> tuple[dict[str, Function], set[str]]:
    """Return the functions of gcc's graph, and the names of those that it has no frame of."""
    frames: dict[str, int] = {}
    lines: dict[str, int] = {}
    calls: dict[str, set[str]] = {}
    outside: set[str] = set()
    for title, label, is_outside in NODE.findall(text):
        if is_outside:
            outside.add(title)
            continue
        found = FRAME.search(label)
        if found is None or found[2] not in {"static", "dynamic,bounded"}:
            msg = f"{title}: no bounded frame in {label!r}"
            raise ValueError(msg)
        line = re.search(r":(\d+):\d+", label)
        frames[title], lines[title], calls[title] = int(found[1]), int(line[1]) if line else 0, set()
    for source, target in EDGE.findall(text):
        calls[source].add(target)
    return {name: Function(frames[name], frozenset(calls[name]), lines[name]) for name in frames}, outside


def registers(text: str) -> int:
    """Return the bytes of a list of Arm's registers, as {r4-r7, lr} or {d8-d11}."""
    total = 0
    for part in text.split(","):
        first, _, last = part.strip().partition("-")
        size = 8 if first.startswith("d") else 4
        total += size * (int(last[1:]) - int(first[1:]) + 1 if last else 1)
    return total


def bytes_taken(instruction: str) -> int:
    """Return the bytes that an instruction takes from the stack."""
    if found := LISTS.match(instruction):
        return registers(found[1])
    if found := BYTES.match(instruction):
        return int(next(filter(None, found.groups())))
    if UNKNOWN.match(instruction):
        msg = f"the stack of {instruction!r} is not known"
        raise ValueError(msg)
    return 0


def aliases_of(names: str) -> dict[str, tuple[str, ...]]:
    """Return the names that share an address with each name in what `nm` prints: a listing shows one of them."""
    places: dict[str, list[str]] = {}
    for address, name in re.findall(r"^([0-9a-f]+) [tTwW] (\S+)$", names, re.MULTILINE):
        places.setdefault(address, []).append(name)
    return {name: tuple(same) for same in places.values() for name in same}


def symbols_of(listing: str) -> dict[str, list[str]]:
    """Return the instructions of each symbol in what `objdump -d --no-show-raw-insn` prints."""
    symbols: dict[str, list[str]] = {}
    name = ""
    for line in listing.splitlines():
        if found := re.match(r"^[0-9a-f]+ <([^>]+)>:$", line):
            name = found[1]
            symbols[name] = []
        elif name and (found := re.match(r"^\s*[0-9a-f]+:\s+(\S.*)$", line)):
            symbols[name].append(re.sub(r"\s*[;@].*", "", found[1]) if "<" not in found[1] else found[1])
    return symbols


def machine_code(listing: str, names: str, wanted: set[str]) -> dict[str, Function]:
    """Return the functions of a listing that `wanted` ones lead to, given the output of `nm` too.

    Symbols that jump into each other, or run on into the next, are one function. It takes all that it pushes anywhere,
    which is at least what it takes on any path.
    """
    symbols = symbols_of(listing)
    order, aliases = list(symbols), aliases_of(names)
    functions: dict[str, Function] = {}
    waiting = set(wanted)
    while waiting:
        name = waiting.pop()
        shown = [alias for alias in aliases.get(name, ()) if alias in symbols]
        if not shown:
            msg = f"{name} is not in the program"
            raise ValueError(msg)
        parts, calls, frame = shown[:1], set(), 0
        for part in parts:  # grows
            code = [instruction for instruction in symbols[part] if not PADDING.match(instruction)]
            frame += sum(map(bytes_taken, code))
            reached = []
            for instruction in code:
                target = SYMBOL.search(instruction)
                if CALLS.match(instruction):
                    calls.add(target[1] if target else INDIRECT)
                elif JUMPS.match(instruction) and target:
                    reached.append(target[1])
            if not (code and ENDS.match(code[-1])):
                reached += order[order.index(part) + 1 :][:1]
            parts += [other for other in dict.fromkeys(reached) if other not in parts]
        functions[name] = Function(frame, frozenset(calls - set(parts)))
        waiting |= functions[name].calls - set(functions) - {INDIRECT}
    return functions


def with_pushes(functions: dict[str, Function], listing: str) -> dict[str, Function]:
    """Return the functions of a graph, with frames that are at least what their machine code takes.

    Where it takes a number of bytes that is in a register (a large frame in Thumb-1), gcc's number stands.
    """
    symbols = symbols_of(listing)
    known = {name: [i for i in code if not UNKNOWN.match(i) or BYTES.match(i)] for name, code in symbols.items()}
    pushed = {name: sum(map(bytes_taken, known.get(name.rpartition(":")[2], ()))) for name in functions}
    return {name: found._replace(frame=max(found.frame, pushed[name])) for name, found in functions.items()}


def deepest(functions: dict[str, Function], start: str, without: tuple[range, ...] = ()) -> int:
    """Return the bytes of the deepest path from a function, but for paths through the given lines of the source.

    Raises ValueError for recursion and for a call by a pointer.
    """
    path: list[str] = []

    @functools.cache
    def depth(name: str) -> int:
        if name in path or name == INDIRECT or name not in functions:
            why = "recursion" if name in path else "a call by a pointer" if name == INDIRECT else f"no {name}"
            msg = f"{why}: {' -> '.join([*path, name])}"
            raise ValueError(msg)
        path.append(name)
        found = functions[name]
        below = [depth(called) for called in sorted(found.calls) if not is_left_out(called)]
        path.pop()
        return found.frame + max(below, default=0)

    def is_left_out(name: str) -> bool:
        return name in functions and any(functions[name].line in lines for lines in without)

    return depth(start)


def lines_of(library: str, files: tuple[str, ...]) -> tuple[range, ...]:
    """Return the lines that the given files have in the library's one file."""
    heads = [(i, line.split()[2]) for i, line in enumerate(library.splitlines(), 1) if line.startswith("/* ==== ")]
    ends = [i for i, _ in heads[1:]] + [len(library.splitlines()) + 1]
    return tuple(range(i, end) for (i, name), end in zip(heads, ends, strict=True) if name in files)


def worst_cases(graph: str, listing: str, names: str, library: str) -> dict[str, int]:
    """Return the worst case of each public function, without its prefix.

    `settle` is that of mapdpm_learn; `learn` is that of its calls that end no warm-up.
    """
    functions, outside = graph_of(graph)
    functions = with_pushes(functions, listing) | machine_code(listing, names, outside)
    public = [name for name in functions if name.startswith("mapdpm_")]
    found = {name.removeprefix("mapdpm_"): deepest(functions, name) for name in public}
    found["settle"] = found["learn"]
    found["learn"] = deepest(functions, "mapdpm_learn", lines_of(library, ("warmup.c", "prior.c")))
    return found


def measured_by(target: Target) -> dict[str, str]:
    """Return the functions that the program of a target measures."""
    return MEASURED_FEATURES if target.group == "features" else MEASURED


def figures(target: Target, worst: dict[str, int], kept: str | None) -> dict[str, int]:
    """Return the worst case of all functions that a program calls, and those of the table of stacks.

    `kept` is what `nm` prints of the program; None if the linker keeps all. Then those count that are measured.
    """
    called = set(measured_by(target).values())
    if kept is not None:
        called = set(re.findall(r"^\w+ T mapdpm_(\w+)$", kept, re.MULTILINE))
    left_out = {"learn_assessed"} if "MAPDPM_SURPRISE" not in target.switches else set()
    if "MAPDPM_NO_WARMUP" in target.switches or "learn" not in called:
        left_out |= {"settle", "settle_step"}
    else:
        called.add("settle")
    shown = {name for name in STACK_ROWS.values() if name in worst} if target.name in STACK_COLUMNS else set()
    return {"worst": max(worst[name] for name in called - left_out)} | {
        f"worst {name}": worst[name] for name in sorted(shown - left_out)
    }


def depths_of(printed: str) -> dict[str, int]:
    """Return the measured stack of each function, in the output of a program."""
    return {name: int(depth) for name, depth in re.findall(r"^(\w+) mean .* stack (\d+)", printed, re.MULTILINE)}


def too_deep(target: Target, depths: dict[str, int], worst: dict[str, int]) -> list[str]:
    """Return the functions whose measured stack exceeds their worst case, which is impossible."""
    return [
        f"the stack of {name} was {depths[name]}, but its worst case is {worst[function]}"
        for name, function in measured_by(target).items()
        if function in worst and depths.get(name, 0) > worst[function]
    ]
