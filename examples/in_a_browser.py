"""A page that learns a smart watch's recording in the browser, by the C library as WebAssembly.

Writes smartwatch.html, which has all it needs in it: open it. Needs clang and lld (Debian: clang lld).

    python examples/in_a_browser.py && xdg-open smartwatch.html
"""

import base64
import csv
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import mapdpm

HERE = Path(__file__).resolve().parent
CHANNELS = ("accel_x", "accel_y", "accel_z")
PAGE = Path("smartwatch.html")


def compiled() -> bytes:
    """The learner in WebAssembly: the pair of files, and what the page calls."""
    missing = [tool for tool in ("clang", "wasm-ld") if shutil.which(tool) is None]
    if missing:
        sys.exit(f"there is no {', '.join(missing)}; apt-get install clang lld")
    kernels = Path(mapdpm.get_include())
    pair = kernels / "amalgamation" / "src"
    sources = [HERE / "browser" / "learner.c", pair / "mapdpm.c", kernels / "firmware" / "boards" / "memory.c"]
    flags = "--target=wasm32 -std=c99 -O2 -ffreestanding -fno-builtin-memcpy -fno-builtin-memset -nostdlib"
    linker = "-Wl,--no-entry -Wl,--strip-all -Wl,-z,stack-size=16384"
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "learner.wasm"
        command = ["clang", *flags.split(), *linker.split(), "-DMAPDPM_REAL=float", f"-I{pair}"]
        subprocess.run([*command, *map(str, sources), "-o", str(program)], check=True)
        return program.read_bytes()


def main() -> None:
    """Put program and recording into the page."""
    with (HERE / "data" / "smartwatch.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    program = compiled()
    parts = {
        "@WASM@": base64.b64encode(program).decode(),
        "@READINGS@": json.dumps([[float(row[name]) for name in CHANNELS] for row in rows], separators=(",", ":")),
        "@ACTIVITIES@": json.dumps([row["activity"] for row in rows], separators=(",", ":")),
    }
    page = (HERE / "browser" / "page.html").read_text(encoding="utf-8")
    for mark, text in parts.items():
        page = page.replace(mark, text)
    PAGE.write_text(page, encoding="utf-8")
    print(f"{PAGE}: {len(page)} bytes, of which the learner takes {len(program)}")
    print("open it in a browser; smartwatch.html#all learns everything at once")


if __name__ == "__main__":
    main()
