"""The worst case of the stack of each public function, found without running it.

gcc writes the frame of each function and the calls that it compiled into a graph (-fcallgraph-info=su). What the graph
does not know, memcpy, memset and the functions of libgcc, is read from the machine code: everything that they push. The
library has no recursion, so the longest path from a function is its worst case. The stack of the caller, of functions
that it gives to the library, and of interrupts come on top.

A call by a pointer may reach each static function that nothing calls by its name: if it could not be reached, the
compiler would have left it out. Those of features are in a table that no other room reads; they have pointers of
their own.

gcc 12 for Arm forgets what a function pushes of its arguments that are passed in registers (a structure by value). So a
frame is at least what the machine code of the function pushes.

gcc before 10 writes no graph. Then calls are read from the machine code of the program, and frames are those of
-fstack-usage. clang writes no graph either, and calls functions by their address in a register.
"""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING

from machine_code import INDIRECT, Function, Listing, machine_code, with_pushes

if TYPE_CHECKING:
    from targets import Target

NODE = re.compile(r'^node: \{ title: "([^"]+)" label: "([^"]*)"( shape : ellipse)? \}', re.MULTILINE)
EDGE = re.compile(r'^edge: \{ sourcename: "([^"]+)" targetname: "([^"]+)"', re.MULTILINE)
FRAME = re.compile(r"(\d+) bytes \(([\w,]+)\)")

OF_FEATURES = f"{INDIRECT} of features"
# What only the call that ends a warm-up needs, and the change of its prior.
WARMUP = ("stream/warmup.c", "stream/settle.c", "stream/prior.c")
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
# The functions that the programs measure, by what they call them. Those that call the program back are left out.
MEASURED = {"learn": "learn", "settle": "settle", "score": "predict", "save": "snapshot_write", "load": "snapshot_read"}
MEASURED_BY_OTHERS = {
    "features": {"learn": "features_step", "save": "features_write", "load": "features_read"},
    "trouble": {"learn": "learn_at", "settle": "settle_step"},
}


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


def usage_of(text: str) -> dict[str, int]:
    """Return the frames that -fstack-usage writes, by names that may lack the number of a copy of a function."""
    frames: dict[str, int] = {}
    for name, size, kind in re.findall(r"^\S+:([\w.]+)\t(\d+)\t(\S+)$", text, re.MULTILINE):
        if kind not in {"static", "dynamic,bounded"}:
            msg = f"{name}: no bounded frame"
            raise ValueError(msg)
        frames[name] = max(int(size), frames.get(name, 0))
    return frames


def deepest(functions: dict[str, Function], start: str, without: tuple[range, ...] = ()) -> int:
    """Return the bytes of the deepest path from a function, but for paths through the given lines of the source.

    Raises ValueError for recursion and for a call by a pointer.
    """
    path: list[str] = []

    @functools.cache
    def depth(name: str) -> int:
        if name in path or name not in functions:
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
    if missing := [name for name in files if f"/* ==== {name} " not in library]:
        msg = f"there is no {missing[0]} in the library"
        raise ValueError(msg)
    heads = [(i, line.split()[2]) for i, line in enumerate(library.splitlines(), 1) if line.startswith("/* ==== ")]
    ends = [i for i, _ in heads[1:]] + [len(library.splitlines()) + 1]
    return tuple(range(i, end) for (i, name), end in zip(heads, ends, strict=True) if name in files)


def short_name(symbol: str) -> str:
    """Return the name of a public function without its prefix, and without the real type that some have at the end."""
    return re.sub(r"_(float|double|int)$", "", symbol.removeprefix("mapdpm_"))


def public_in(names: str) -> set[str]:
    """Return the public functions in what `nm` prints of a program."""
    return set(re.findall(r"^\w+ T (mapdpm_\w+)$", names, re.MULTILINE))


def files_in(library: str, room: str) -> tuple[str, ...]:
    """Return the files of a room in the library's one file."""
    return tuple(re.findall(rf"^/\* ==== ({room}/\S+) ", library, re.MULTILINE))


def with_pointers(functions: dict[str, Function], lines: tuple[range, ...]) -> dict[str, Function]:
    """Return the functions with the targets of calls by a pointer: those of some lines call each other alone."""
    own = {name for name, found in functions.items() if any(found.line in part for part in lines)}
    found = dict(functions)
    for name in own:
        calls = {OF_FEATURES if called == INDIRECT else called for called in functions[name].calls}
        found[name] = functions[name]._replace(calls=frozenset(calls))
    static = {name for name in functions if ":" in name}
    return found | {
        INDIRECT: by_pointer(functions, static - own),
        OF_FEATURES: by_pointer(functions, static & own),
    }


def by_pointer(functions: dict[str, Function], candidates: set[str]) -> Function:
    """Return the target of a call by a pointer: any of the candidates that no function calls by its name."""
    called = {name for found in functions.values() for name in found.calls}
    return Function(0, frozenset(candidates - called))


def worst_cases(graph: str, listing: str, names: str, library: str) -> dict[str, int]:
    """Return the worst case of each public function, without its prefix, by gcc's graph.

    `settle` is that of mapdpm_learn; `learn` is that of its calls that end no warm-up.
    """
    functions, outside = graph_of(graph)
    code = Listing(listing)
    functions = with_pushes(functions, code)
    functions = with_pointers(functions, lines_of(library, files_in(library, "features")))
    functions |= machine_code(code, names, outside - {INDIRECT})
    public = {short_name(name): name for name in functions if name.startswith("mapdpm_")}
    found = {name: deepest(functions, public[name]) for name in public}
    found["settle"] = found["learn"]
    found["learn"] = deepest(functions, public["learn"], lines_of(library, WARMUP))
    return found


def worst_cases_without_graph(usage: str, listing: str, names: str) -> dict[str, int]:
    """Return the worst case of each public function in a program, given what -fstack-usage wrote."""
    code, frames = Listing(listing), usage_of(usage)
    functions = machine_code(code, names, public_in(names), frames)
    static = set(re.findall(r"^\w+ t (\S+)$", names, re.MULTILINE)) & set(frames)
    pointees = by_pointer(functions, static - set(functions))
    functions |= machine_code(code, names, pointees.calls, frames)
    functions[INDIRECT] = pointees
    found = {short_name(name): deepest(functions, name) for name in public_in(names)}
    return found | ({"settle": found["learn"]} if "learn" in found else {})


def measured_by(target: Target) -> dict[str, str]:
    """Return the functions that the program of a target measures."""
    return MEASURED_BY_OTHERS.get(target.group, MEASURED)


def figures(target: Target, worst: dict[str, int], kept: str | None) -> dict[str, int]:
    """Return the worst case of all functions that a program calls, and those of the table of stacks.

    `kept` is what `nm` prints of the program; None if the linker keeps all. Then those count that are measured.
    """
    called = set(measured_by(target).values())
    if kept is not None:
        called = {short_name(name) for name in public_in(kept)}
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
