"""Scoring on a Cortex-M4F: mapdpm_predict against emlearn's Gaussian mixture, on a smart watch's recording.

Run: python bench/emlearn_gmm.py. Needs emlearn (pip install emlearn==0.23.2), scikit-learn, and of Debian
gcc-arm-none-eabi, libnewlib-arm-none-eabi and qemu-system-arm; says what is missing, and ends.

The data are the three acceleration columns, all 8000 samples. mapdpm: OnlineMAPDPM(max_clusters=8, dtype="float32"),
whose bytes the chip reads. emlearn: scikit-learn's GaussianMixture of as many components as that found, diagonal
covariances, best of five starts; emlearn.convert makes full matrices of them, for its C code knows no others. Both
programs give each sample's likeliest component and its log density, are made with -Os, and run in QEMU.

A heading, then one line of JSON each. "mapdpm, smallest" is the same clusters without the points that the warm-up keeps
(OnlineMAPDPM.merged), and the library without what they do not need; "emlearn, float constants" is compiled with
-fsingle-precision-constant, since eml_mixture.h has constants of type double, and this chip no such arithmetic.

text            bytes of code, tables and initial values: its own, libm's, libgcc's, other (newlib's errno); not what
                start-up code and the measuring need by themselves. text_scoring: without reading a snapshot
model           bytes of the model in flash; ram: of all that lies in RAM; stack: of the deepest score, in bytes
mean, most      instructions a score, less those of the measuring (overhead)
log_density     mean of what the chip says, in nats; error: the largest difference from Python's
ami             of the chip's components and the four activities
auc             of scores as those of anomalies, by Python: learned from standing and walking, then shown all four
"""

from __future__ import annotations

import csv
import json
import re
import sys
import tempfile
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, distribution, version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from machine import first_line
from numpy.typing import NDArray

import mapdpm

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
FIRMWARE = ROOT / "c_kernels" / "firmware"
COLUMNS = ("accel_x", "accel_y", "accel_z")
PACKAGES = ("emlearn", "scikit-learn")
CLUSTERS = 8
CALM = ("standing", "walking")
SMALLEST = (
    "-DMAPDPM_FEATURES=3 -DMAPDPM_CLUSTERS=8 -DMAPDPM_WHEN_FULL=MAPDPM_FULL_LEAST_LOSS -DMAPDPM_NO_WARMUP"
    " -DMAPDPM_NO_KNOWN_VARIANCE -DMAPDPM_NO_WINDOW -DMAPDPM_NO_FORGETTING -DMAPDPM_NO_ERROR_NAMES"
)
sys.path.insert(0, str(FIRMWARE))


class Program(NamedTuple):
    """Bytes that the linker kept (text of each source, data, bss), and the output of the chip."""

    text: dict[str, int]
    model: int
    ram: int
    printed: str

    def numbers(self, what: str) -> NDArray[np.uint32]:
        """A number for each sample."""
        return np.array([int(word, 16) for word in re.findall(rf"^{what} (\w+)$", self.printed, re.MULTILINE)], "u4")

    def figure(self, pattern: str) -> int:
        """The first number that comes after something."""
        return int(re.findall(rf"{pattern} (\d+)", self.printed)[0])


class Builder:
    """Builds programs for the chip in a folder, with the tools of c_kernels/firmware."""

    def __init__(self, folder: Path) -> None:
        import firmware  # noqa: PLC0415 -- a program by itself, found by the path above
        from targets import M4F, cortex  # noqa: PLC0415

        self.folder, self.firmware = folder, firmware
        self.target = cortex("emlearn", M4F, "mps2-an386")
        self.link = [part.replace("boards/", f"{FIRMWARE}/boards/") for part in self.target.link.split()]
        self.compile = f"arm-none-eabi-gcc -mthumb {M4F} -std=c99 -Os -ffunction-sections -fdata-sections -Wall".split()

    def make(self, name: str, more: Sequence[str] = (), flags: str = "") -> Path:
        """Link main.c with with_NAME.c, and the files that are named besides."""
        sources = [FIRMWARE / "boards" / f"{part}.c" for part in ("cortex_m", "report", "memory")]
        sources += [HERE / "chip" / "main.c", HERE / "chip" / f"with_{name}.c", *map(Path, more)]
        headers = Path(str(distribution("emlearn").locate_file("emlearn")))
        search = [f"-I{path}" for path in (self.folder, HERE / "chip", FIRMWARE, self.firmware.PAIR, headers)]
        objects = [self.folder / f"{source.stem}.o" for source in sources]
        for source, part in zip(sources, objects, strict=True):
            command = [*self.compile, "-DMAPDPM_REAL=float", *flags.split(), *search, "-c"]
            self.firmware.run(*command, str(source), "-o", str(part))
        program = self.folder / "program"
        libraries = ["-lm", "-lc_nano", "-lgcc", f"-Wl,-Map={self.folder / 'map'}"]
        self.firmware.run(*self.compile, *self.link, *map(str, objects), *libraries, "-o", str(program))
        return program

    def run(self, name: str, more: Sequence[str] = (), flags: str = "") -> Program:
        """Make it, and let the chip score all samples."""
        program = self.make(name, more, flags)
        plugin = self.firmware.counting(self.target, program)
        printed = self.firmware.run(*self.target.runner.format(program=program, plugin=plugin).split())
        if "error" in printed or "crc" not in printed:
            raise RuntimeError(printed)
        return self.sizes()._replace(printed=printed)

    def sizes(self) -> Program:
        """Sizes from the linker's map of the last program."""
        kept = (self.folder / "map").read_text().partition("Linker script and memory map")[2]
        text, model, ram = {"own": 0, "libm": 0, "libgcc": 0, "other": 0}, 0, 0
        for kind, size, file in re.findall(r"^ \.(\w+)\S*\s+0x\w+\s+0x(\w+) (\S+)$", kept, re.MULTILINE):
            ours = Path(file).name.startswith("with_")
            own = ours or Path(file).name == "mapdpm.o"
            source = "own" if own else next((name for name in ("libm", "libgcc") if f"/{name}" in file), "other")
            if ours and kind in {"data", "rodata"}:
                model += int(size, 16)
            elif kind in {"text", "data", "rodata"}:
                text[source] += int(size, 16)
            ram += int(size, 16) if kind in {"data", "bss"} else 0
        return Program(text, model, ram, "")


def version_of(package: str) -> str:
    """Empty where it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def main() -> None:
    """Learn, build, run, print."""
    with tempfile.TemporaryDirectory() as folder:
        builder = Builder(Path(folder))
        missing = [f"{package} (pip install {package})" for package in PACKAGES if not version_of(package)]
        tools = builder.firmware.missing_tools(builder.target)
        missing += [f"{', '.join(tools)} (apt-get install {builder.target.packages})"] if tools else []
        if missing:
            print(f"skipped: no {'; no '.join(missing)}")
        else:
            compare(builder)


def compare(builder: Builder) -> None:
    """All programs, one line each."""
    with np.errstate():  # emlearn makes numpy raise, for ever
        import emlearn  # noqa: PLC0415 -- optional, like the next
    from sklearn.metrics import adjusted_mutual_info_score, roc_auc_score  # noqa: PLC0415
    from sklearn.mixture import GaussianMixture  # noqa: PLC0415

    with (ROOT / "examples" / "data" / "smartwatch.csv").open() as file:
        rows = list(csv.DictReader(file))
    X = np.array([[row[name] for name in COLUMNS] for row in rows], np.float32)
    activities = np.array([row["activity"] for row in rows])
    calm = np.isin(activities, CALM)

    def online(points: NDArray[np.float32]) -> mapdpm.OnlineMAPDPM:
        return mapdpm.OnlineMAPDPM(max_clusters=CLUSTERS, dtype="float32").fit(points)

    def mixture(points: NDArray[np.float32], n: int) -> GaussianMixture:
        return GaussianMixture(n, covariance_type="diag", n_init=5, random_state=0).fit(points.astype(float))

    compiler, qemu = first_line("arm-none-eabi-gcc", "--version"), first_line("qemu-system-arm", "--version")
    versions = [f"{package} {version_of(package)}" for package in PACKAGES] + [f"mapdpm {mapdpm.__version__}"]
    print("; ".join((compiler, qemu, *versions, f"{len(X)} samples of {', '.join(COLUMNS)}")), flush=True)
    count = ["cc", "-shared", "-fPIC", "-O2", "-o", str(builder.folder / "count.so"), str(FIRMWARE / "count.c")]
    builder.firmware.run(*count)
    builder.firmware.BUILD = builder.folder
    points = ", ".join("{" + ", ".join(f"{float(v)!r}f" for v in x) + "}" for x in X)
    text = f"#define N_POINTS {len(X)}u\nstatic const float points[][{len(COLUMNS)}] = {{{points}}};\n"
    (builder.folder / "points.h").write_text(text)
    nothing = builder.run("nothing")

    def report(name: str, model: Any, program: Program, calm_model: Any, **more: Any) -> None:
        text = {source: program.text[source] - nothing.text[source] for source in program.text}
        overhead, scores = nothing.figure("score instructions mean"), program.numbers("bits").view("f4").astype(float)
        line = {
            "library": name,
            "components": len(model.means) if hasattr(model, "means") else model.n_components,
            **{f"text_{source}": size for source, size in text.items()},
            "text": sum(text.values()),
            **more,
            "model": program.model - nothing.model,
            "ram": program.ram - nothing.ram,
            "stack": program.figure(r"score mean \d+ most \d+ stack"),
            "mean": program.figure("score instructions mean") - overhead,
            "most": program.figure(r"score instructions mean \d+ most") - overhead,
            "overhead": overhead,
            "log_density": round(scores.mean(), 4),
            "error": float(f"{np.abs(scores - model.score_samples(X.astype(float))).max():.3g}"),
            "ami": round(adjusted_mutual_info_score(activities, program.numbers("id")), 4),
            "auc": round(roc_auc_score(~calm, -calm_model.score_samples(X)), 4),
        }
        print(json.dumps(line), flush=True)

    learned, learned_calm = online(X), online(X[calm])
    smaller = mapdpm.OnlineMAPDPM.merged([learned])
    for name, model, flags in (("mapdpm", learned, ""), ("mapdpm, smallest", smaller, SMALLEST)):
        snapshot = f"static const unsigned char snapshot[] = {{{', '.join(map(str, model.to_bytes()))}}};\n"
        (builder.folder / "snapshot.h").write_text(f"enum {{ STATE_BYTES = {model.nbytes} }};\n{snapshot}")
        pair = [str(builder.firmware.PAIR / "mapdpm.c")]
        builder.make("mapdpm", pair, f"-DUNREAD {flags} -Wno-unused-variable")
        scoring = sum(builder.sizes().text.values()) - sum(nothing.text.values())
        report(name, model, builder.run("mapdpm", pair, flags), learned_calm, text_scoring=scoring)
    gmm, gmm_calm = mixture(X, learned.n_clusters), mixture(X[calm], learned_calm.n_clusters)
    sizes = f"enum {{ N_COMPONENTS = {gmm.n_components}, N_FEATURES = {X.shape[1]} }};\n"
    (builder.folder / "model.h").write_text(sizes + emlearn.convert(gmm).save(name="mixture"))
    for name, flags in (("emlearn", ""), ("emlearn, float constants", "-fsingle-precision-constant")):
        report(name, gmm, builder.run("emlearn", flags=flags), gmm_calm)


if __name__ == "__main__":
    main()
