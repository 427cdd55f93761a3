"""Build conformance.c for each target, run it, print a line: ids, scores and snapshots must be the same everywhere.

python3 firmware.py [--quick | --ci] [--fresh] [--update] [NAME ...]

- --quick runs three emulated machines of different kinds; --ci runs all but those that CI has no tools or no time for.
- A target whose tools are missing is skipped. Its line names the Debian packages.
- A run fails if a CRC differs from figures.json. It also fails if the same compiler makes the library more than 3 %
  larger or slower than figures.json says. --update writes both.
- A run fails if a call used up the painted part of the stack, or more than the worst case that stacks.py finds.
- A target is built and run again only if its sources, its definition, its compiler or its emulator have changed.
  --fresh runs it anyway.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import functools
import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import amalgamate  # lies beside this folder
import stacks
from tables import with_tables
from targets import TARGETS, Target

HERE = Path(__file__).resolve().parent
BUILD = Path(os.environ.get("BUILD", HERE.parents[1] / "build" / "firmware"))
PAIR = amalgamate.current()
FIGURES = HERE / "figures.json"
README = HERE.parent / "README.md"
COLUMNS = ("text", "data", "bss", "state", "stack", "worst", "learn", "most", "settle", "score", "save", "load")
TOLERATED = 1.03
SECONDS = 900
A_WEEK = 7 * 24 * 3600
GRAPH = "-fcallgraph-info=su"
MOST = {"learn": "most", "settle": "settle most"}  # of which functions the longest call counts
SUFFIXES = (".c", ".h", ".ld", ".mjs")


class Result(NamedTuple):
    """The output of a target, or the reason why there is none."""

    target: Target
    crc: str = ""
    compiler: str = ""
    figures: dict[str, int] = {}  # noqa: RUF012 -- never changed
    problem: str = ""


def run(*command: str) -> str:
    """Return the output of a command, of both streams; raise RuntimeError with it if the command fails."""
    done = subprocess.run(command, cwd=HERE, text=True, capture_output=True, timeout=SECONDS, check=False)
    if done.returncode:
        msg = f"{shlex.join(command)}: status {done.returncode}\n{done.stdout}{done.stderr}"
        raise RuntimeError(msg)
    return done.stdout + done.stderr


def missing_tools(target: Target) -> list[str]:
    """Return the programs that this machine lacks."""
    return [tool for tool in tools_of(target) if shutil.which(tool) is None]


def tools_of(target: Target) -> list[str]:
    """Return the names of the compiler, of a linker of its own, and of the emulator."""
    tools = [target.compiler.split()[0], *(["wasm-ld"] if "wasm" in target.name else []), target.runner.split()[0]]
    tools += target.linker.split()[:1]
    tools += ["gcc"] if target.program == "score.c" else []  # of image.c
    return [tool for tool in tools if tool != "{program}"]


@functools.cache
def version_of(tool: str) -> str:
    """Return what a tool says of its version; its path and time of change if it says nothing, as simavr does."""
    path = shutil.which(tool) or tool
    done = subprocess.run([path, "--version"], text=True, capture_output=True, timeout=SECONDS, check=False)
    return done.stdout if done.returncode == 0 else f"{path} {Path(path).stat().st_mtime_ns}"


@functools.cache
def sources_hash() -> str:
    """Hash the two library files, this folder's programs, and the processor on which -march=native depends."""
    files = sorted([*PAIR.glob("*.[ch]"), *(path for path in HERE.rglob("*") if path.suffix in SUFFIXES)])
    files += [HERE / "stacks.py", HERE / "machine_code.py"]
    parts = [path.name.encode() + path.read_bytes() for path in files]
    return hashlib.sha256(b"\0".join([*parts, cpu_flags().encode()])).hexdigest()


@functools.cache
def cpu_flags() -> str:
    """Return what the processor can, on which -march=native depends."""
    cpu = Path("/proc/cpuinfo")
    return next((line for line in cpu.read_text().splitlines() if line.startswith("flags")), "") if cpu.exists() else ""


def key_of(target: Target) -> str:
    """Return a hash of everything that the result of a target depends on."""
    parts = [sources_hash(), repr(target), *map(version_of, tools_of(target))]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def known_result(target: Target) -> Result | None:
    """Return the result of an earlier run that nothing has changed for."""
    path = BUILD / target.name / "result.json"
    if missing_tools(target) or not path.exists():
        return None
    saved = json.loads(path.read_text())
    if saved["key"] != key_of(target):
        return None
    return Result(target, saved["crc"], saved["compiler"], saved["figures"])


def result_of_any_run(target: Target, *, fresh: bool) -> Result:
    """Return the result of an earlier run; else build, run and remember a result without a problem."""
    result = None if fresh else known_result(target)
    if result is None:
        result = result_of(target)
        if not result.problem:
            saved = {"key": key_of(target), "crc": result.crc, "compiler": result.compiler, "figures": result.figures}
            (BUILD / target.name / "result.json").write_text(json.dumps(saved))
    return result


def switches_of(target: Target, library: Path) -> list[str]:
    """Return the switches of a target that the library knows: others are for the program."""
    known = set(re.findall(r"\w+", library.read_text() + (PAIR / "mapdpm.h").read_text()))
    return [each for each in shlex.split(target.switches) if re.match(r"-D(\w*)|", each)[1] in known]


@functools.cache
def lock_of(folder: Path) -> threading.Lock:  # noqa: ARG001  (one lock each)
    """Return the lock of who makes a folder."""
    return threading.Lock()


def compiled_library(target: Target, library: Path) -> Path:
    """Return the folder of the library's object, and of what its compiler says of stacks; targets share them."""
    command = [*shlex.split(target.compiler), *switches_of(target, library), *stack_flags(target), f"-I{PAIR}", "-c"]
    parts = [*command, version_of(command[0]), library.read_text(), (PAIR / "mapdpm.h").read_text(), cpu_flags()]
    folder = BUILD / "objects" / hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
    with lock_of(folder):
        if not folder.exists():
            ours = folder.with_suffix(f".{os.getpid()}")  # another process may compile it, too
            ours.mkdir(parents=True, exist_ok=True)
            run(*command, str(library), "-o", str(ours / "library.o"))
            try:
                ours.rename(folder)
            except OSError:
                shutil.rmtree(ours)
    return folder


def build(target: Target, library: Path) -> Path:
    """Compile the library's one file and the program, and link them; the linker's map is in the same folder."""
    folder = BUILD / target.name
    folder.mkdir(parents=True, exist_ok=True)
    compile_ = shlex.split(f"{target.compiler} {target.switches} -I{PAIR} -I. -I{folder}")
    if target.program == "score.c":
        write_image(target, folder)
    for made in compiled_library(target, library).iterdir():
        shutil.copyfile(made, folder / made.name)
    sources = {"main.o": Path(target.program)}
    sources |= {f"{name}.o": Path("boards", name) for name in ("report.c", *target.board)}
    for part, source in sources.items():
        run(*compile_, "-c", str(source), "-o", f"{folder / part}")
    program, link = folder / "program", shlex.split(f"{target.linker or target.compiler} {target.link}")
    map_ = [] if "wasm" in target.name else [f"-Wl,-Map={folder / 'map'}"]
    last = ["-lgcc"] if "-nostdlib" in link and map_ else []
    run(*link, *map_, *(str(folder / part) for part in ("library.o", *sources)), *last, "-o", str(program))
    return program


def write_image(target: Target, folder: Path) -> None:
    """Write the learner of score.c, which this machine makes, into image.h."""
    command = shlex.split(f"gcc -std=c99 -O1 -DMAPDPM_REAL={target.real} {target.switches} -I{PAIR} -I. image.c")
    run(*command, str(PAIR / "mapdpm.c"), "-o", str(folder / "image"))
    (folder / "image.h").write_text(run(str(folder / "image")))


def binary_tool(target: Target, name: str) -> str:
    """Return the name of a tool of gcc's linker, as nm."""
    return (target.linker or target.compiler).split()[0].removesuffix("gcc") + name


@functools.cache
def has_graphs(compiler: str) -> bool:
    """Return whether a compiler writes a graph of calls: gcc does from 10 on."""
    command = [compiler, GRAPH, "-E", "-x", "c", os.devnull]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def stack_flags(target: Target) -> tuple[str, ...]:
    """Return the flags of the library for what stacks.py reads; nothing for desktops and clang."""
    if target.runner == "{program}" or "gcc" not in target.compiler:
        return ()
    return (GRAPH if has_graphs(target.compiler.split()[0]) else "-fstack-usage",)


def worst_stacks(target: Target, library: Path) -> dict[str, int]:
    """Return the worst case of the stack of each public function of a library that was built.

    With a graph of calls, all of the library is linked once more, because the linker leaves out what the program does
    not call.
    """
    folder, flags = BUILD / target.name, stack_flags(target)
    if not flags:
        return {}
    whole = str(folder / ("whole" if GRAPH in flags else "program"))
    if GRAPH in flags:
        link = target.link if "-nostdlib" in target.link else "-nostdlib -static"
        command = shlex.split(f"{target.compiler} {link} -Wl,--no-gc-sections -Wl,-e,mapdpm_version")
        run(*command, str(folder / "library.o"), "boards/memory.c", "-lgcc", "-o", whole)
    listing = run(binary_tool(target, "objdump"), "-d", "--no-show-raw-insn", whole)
    names = run(binary_tool(target, "nm"), whole)
    if GRAPH in flags:
        return stacks.worst_cases((folder / "library.ci").read_text(), listing, names, library.read_text())
    return stacks.worst_cases_without_graph((folder / "library.su").read_text(), listing, names)


def library_sizes(map_: Path) -> dict[str, int]:
    """Return the bytes of the library that the linker kept."""
    sizes = {"text": 0, "data": 0, "bss": 0}
    kept = map_.read_text().partition("Linker script and memory map")[2]
    for kind, size, file in re.findall(r"^ \.(\w+)\S*\s+0x\w+\s+0x(\w+) (\S+)$", kept, re.MULTILINE):
        if file.endswith("library.o") and kind in {*sizes, "rodata"}:
            sizes["text" if kind == "rodata" else kind] += int(size, 16)
    return sizes


def counting(target: Target, program: Path) -> str:
    """Return the argument of QEMU that counts instructions between the marks of the program."""
    plugin = BUILD / "count.so"
    listing = run(binary_tool(target, "nm"), str(program))
    marks = {name: address for address, name in re.findall(r"^(\w+) T mark_(\w+)$", listing, re.MULTILINE)}
    start = marks.pop("start")
    return f"-plugin {plugin},start={start}," + ",".join(f"{name}={address}" for name, address in marks.items())


def figures_of(printed: str) -> dict[str, int]:
    """Return the numbers in the output of a program and of the plugin."""
    figures: dict[str, int] = {}
    for name, mean, most in re.findall(r"^(\w+) mean (\d+) most (\d+)", printed, re.MULTILINE):
        if name != "settle":  # takes longer than the clock of a small board counts
            figures |= {name: int(mean)} | ({"most": int(most)} if name == "learn" else {})
    for name, mean, most in re.findall(r"^(\w+) instructions mean (\d+) most (\d+)", printed, re.MULTILINE):
        figures |= {name: int(mean)} | ({MOST[name]: int(most)} if name in MOST else {})
    figures |= {
        "stack": max(stacks.depths_of(printed).values()),
        "state": int(re.findall(r"^state (\d+)", printed, re.MULTILINE)[0]),
    }
    return {name: figure for name, figure in figures.items() if figure}


def result_of(target: Target, library: Path = PAIR / "mapdpm.c") -> Result:
    """Build and run a target."""
    missing = missing_tools(target)
    if missing:
        return Result(target, problem=f"skipped: no {', '.join(missing)}; apt-get install {target.packages}")
    try:
        program = build(target, library)
        plugin = counting(target, program) if "{plugin}" in target.runner else ""
        printed = run(*shlex.split(target.runner.format(program=shlex.quote(str(program)), plugin=plugin)))
        printed = re.sub(r"\x1b\[\d*m|\.$", "", printed, flags=re.MULTILINE)  # simavr colours lines, and ends them so
        compiler = run(target.compiler.split()[0], "--version").splitlines()[0]
        if "error" in printed or "crc" not in printed:
            return Result(target, problem=f"failed: {printed}")
        crc = re.findall(r"^crc (\w+)", printed, re.MULTILINE)[0]
        sizes = library_sizes(program.with_name("map")) if "--gc-sections" in target.link else {}
        worst = worst_stacks(target, library)
        if deep := stacks.too_deep(target, stacks.depths_of(printed), worst):
            return Result(target, problem=f"failed: {'; '.join(deep)}")
        kept = run(binary_tool(target, "nm"), str(program)) if "--gc-sections" in target.link else None
        bounds = stacks.figures(target, worst, kept) if worst else {}
        return Result(target, crc, compiler, sizes | figures_of(printed) | bounds)
    except (RuntimeError, ValueError, subprocess.TimeoutExpired, OSError) as error:
        return Result(target, problem=f"failed: {error}")


def table_line(result: Result) -> str:
    """Return one line, with a dash for a figure that a machine does not give."""
    if result.problem:
        return f"target {result.target.name:34} {result.problem}"
    numbers = " ".join(f"{result.figures.get(name, '-'):>9}" for name in COLUMNS)
    return f"target {result.target.name:34} {numbers} crc {result.crc}"


def complaints(result: Result, known: dict[str, Any]) -> list[str]:
    """Return the complaints about a result, given figures.json."""
    target, name = result.target, result.target.name
    if result.problem:
        return [] if result.problem.startswith("skipped") else [f"{name} {result.problem}"]
    wanted = known["crc"].get(f"{target.group} {target.real}", "in figures.json, which has none of this group")
    found = [] if result.crc == wanted else [f"{name}: crc {result.crc}, but it should be {wanted}"]
    before = known["targets"].get(name, {})
    if before.get("compiler") == result.compiler:
        found += [
            f"{name}: {column} was {before[column]} and is {figure}, more than 3 % above"
            for column, figure in result.figures.items()
            if column in before and figure > TOLERATED * before[column]
        ]
    return found


def update(results: list[Result]) -> None:
    """Write figures.json: the CRCs of gcc -O2, and all figures of emulated machines."""
    known = json.loads(FIGURES.read_text()) if FIGURES.exists() else {"crc": {}, "targets": {}}
    for result in results:
        if result.crc and result.target.name.startswith("gcc-O2"):
            known["crc"][f"{result.target.group} {result.target.real}"] = result.crc
        if result.crc and result.target.runner != "{program}":
            known["targets"][result.target.name] = {"compiler": result.compiler, **result.figures}
    FIGURES.write_text(_a_line_each(known))
    README.write_text(with_tables(README.read_text(), known))


def _a_line_each(known: dict[str, dict[str, object]]) -> str:
    """Return JSON with a line for each entry of a part: a CRC, or the figures of a target."""
    parts = []
    for part, entries in sorted(known.items()):
        lines = ",\n".join(
            f"    {json.dumps(name)}: {json.dumps(entries[name], sort_keys=True)}" for name in sorted(entries)
        )
        parts.append(f"  {json.dumps(part)}: {{\n{lines}\n  }}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def sharing_last(targets: list[Target]) -> list[Target]:
    """Return targets so that none waits for another one's object of the library while it is compiled."""
    turns: dict[tuple[str, ...], int] = {}
    turn_of = {}
    for target in targets:
        key = (target.compiler, *switches_of(target, PAIR / "mapdpm.c"))
        turn_of[target] = turns[key] = turns.get(key, -1) + 1
    return sorted(targets, key=turn_of.__getitem__)


def main() -> int:
    """Run the chosen targets; return 0 if all is as it should be."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="names of targets; all targets if there is none")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--quick", action="store_true")
    which.add_argument("--ci", action="store_true")
    parser.add_argument("--fresh", action="store_true")
    parser.add_argument("--update", action="store_true", help="write figures.json and the tables of README.md")
    options = parser.parse_args()
    unknown = sorted(set(options.names) - {target.name for target in TARGETS})
    if unknown:
        parser.error(f"no target is named {', '.join(unknown)}; targets.py lists them")
    chosen = [
        target
        for target in TARGETS
        if (not options.names or target.name in options.names)
        and (target.in_ci or not options.ci)
        and (target.is_quick or not options.quick)
    ]
    BUILD.mkdir(parents=True, exist_ok=True)
    for old in (BUILD / "objects").glob("*"):
        if options.fresh or time.time() - old.stat().st_mtime > A_WEEK:
            shutil.rmtree(old)
    if options.fresh or any(known_result(target) is None for target in chosen):
        run("cc", "-shared", "-fPIC", "-O2", "-Wall", "-Wextra", "-o", str(BUILD / "count.so"), "count.c")
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        runs = {target: pool.submit(result_of_any_run, target, fresh=options.fresh) for target in sharing_last(chosen)}
    results = [runs[target].result() for target in chosen]
    print(f"{'':41} {' '.join(f'{name:>9}' for name in COLUMNS)}")
    for result in results:
        print(table_line(result))
    if options.update:
        update(results)
    known = json.loads(FIGURES.read_text())
    wrong = [complaint for result in results for complaint in complaints(result, known)]
    for line in wrong:
        print(line, file=sys.stderr)
    agree = sum(1 for result in results if result.crc)
    print(f"firmware: {agree - len(wrong)} passed, {len(wrong)} failed, {len(results) - agree} skipped")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
