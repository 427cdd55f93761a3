"""The page to play with, as one file: ``python web/build.py build/web/index.html``, or ``make web``.

It needs clang and lld (Debian: clang lld). The C library becomes WebAssembly. The modules of JavaScript become one
script, because a browser loads no modules from files on a disk: each becomes a function that returns its exports, and
comes after those that it imports (decision 148).
"""

import base64
import csv
import hashlib
import importlib
import itertools
import json
import re
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path[:0] = [str(ROOT), str(ROOT / "c_kernels")]
PAIR = importlib.import_module("amalgamate").current()
RULES = importlib.import_module("web.rules").rules()
SOURCES = (HERE / "learner.c", PAIR / "mapdpm.c", ROOT / "c_kernels" / "firmware" / "boards" / "memory.c")
COMPILER = "clang --target=wasm32 -std=c99 -O2 -Wall -Wextra -ffreestanding -fno-builtin-memcpy -fno-builtin-memset"
LINKER = "-nostdlib -Wl,--no-entry -Wl,--strip-all -Wl,-z,stack-size=16384"
SWITCHES = "-DMAPDPM_REAL=float -DMAPDPM_SURPRISE -DMAPDPM_RELEVANCE -DMAPDPM_RESOLUTION -DMAPDPM_MISSING"
CHANNELS = ("accel_x", "accel_y", "accel_z")
IMPORT = re.compile(r'^import (\{ [^}]+ \}) from "\./(\w+)\.js";$', flags=re.MULTILINE)
EXPORT = re.compile(r"^export (?=(?:const|class|function) (\w+))", flags=re.MULTILINE)


def missing_tools() -> str:
    """A message that names the tools that are not there; empty if all are."""
    missing = [tool for tool in ("clang", "wasm-ld") if shutil.which(tool) is None]
    return f"the page needs {' and '.join(missing)}; on Debian and Ubuntu: apt-get install clang lld" if missing else ""


def program() -> bytes:
    """The learner in WebAssembly."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "learner.wasm"
        command = [
            *COMPILER.split(),
            *LINKER.split(),
            *SWITCHES.split(),
            f"-I{PAIR}",
            *map(str, SOURCES),
            "-o",
            str(file),
        ]
        subprocess.run(command, check=True)
        return file.read_bytes()


def recording() -> str:
    """The smart watch's recording: readings as float32 in base64, and the row at which each activity begins."""
    with (ROOT / "examples" / "data" / "smartwatch.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    values = [float(row[name]) for row in rows for name in CHANNELS]
    activities = [(i, row["activity"]) for i, row in enumerate(rows)]
    firsts = [next(group) for _, group in itertools.groupby(activities, key=lambda each: each[1])]
    readings = base64.b64encode(struct.pack(f"<{len(values)}f", *values)).decode()
    return json.dumps({"columns": CHANNELS, "readings": readings, "activities": firsts}, separators=(",", ":"))


def script(name: str = "main", known: set[str] | None = None) -> str:
    """A module after all those that it needs and that are not in ``known``."""
    known = set() if known is None else known
    text = (HERE / f"{name}.js").read_text(encoding="utf-8")
    before = ""
    for _, needed in IMPORT.findall(text):
        if needed not in known:
            before += script(needed, known)
    known.add(name)
    names = ", ".join(EXPORT.findall(text))
    body = EXPORT.sub("", IMPORT.sub(r"const \1 = module_\2;", text))
    return before + (f"const module_{name} = (() => {{\n{body}\nreturn {{ {names} }};\n}})();\n" if names else body)


def digest(text: str) -> str:
    """The name of an inline script or style in the content security policy: no other one runs."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def page() -> str:
    """The whole page."""
    style, main_script = (HERE / "style.css").read_text(encoding="utf-8"), f"\n{script()}\n"
    parts = {
        "@STYLE@": style,
        "@STYLE-HASH@": digest(style),
        "@PROGRAM@": base64.b64encode(program()).decode(),
        "@RECORDING@": recording(),
        "@RULES@": json.dumps(RULES, separators=(",", ":")).replace("<", "\\u003c"),
        "@SCRIPT@": main_script,
        "@SCRIPT-HASH@": digest(main_script),
    }
    text = (HERE / "index.html").read_text(encoding="utf-8")
    return re.sub("|".join(parts), lambda mark: parts[mark[0]], text)


def main(target: Path) -> None:
    """Write the page."""
    if problem := missing_tools():
        sys.exit(problem)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(page(), encoding="utf-8")
    print(target)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
