"""The same bits on a laptop and on a chip: c_kernels/firmware, and the pair of files that goes there."""

import importlib
import json
import re
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest

from compiling import FIRMWARE, SOURCE
from mapdpm import NormalGamma, OnlineHDP, OnlineHDPHMM, OnlineMAPDPM
from mapdpm.features import (
    PCA,
    RMS,
    Autoperiod,
    BandEnergy,
    Centre,
    Clock,
    CrestFactor,
    Difference,
    Lag,
    Seasonal,
    Silence,
    Smooth,
    Spread,
    Stuck,
    Window,
)
from mapdpm.features.c_pipeline import JOIN, CPipeline, Step
from mapdpm.stream import summaries
from mapdpm.stream.assessing import assess
from mapdpm.stream.c_learner import NO_GROUP, Learner
from tests.marks import complete_but

D, N_POINTS, SCORE_EVERY, GAP_EVERY, SNAPSHOT_EVERY = 3, 2000, 5, 300, 500
STATIONARY, FULL, WARM_UP, DRIFT, MISSING, GROUPS, STATES = KINDS = range(7)
PRIOR = NormalGamma([0.0, 0.0, 0.0], 0.05, 1.0, [1.0, 1.0, 1.0])


def known_crc(group):
    return json.loads((FIRMWARE / "figures.json").read_text())["crc"][group]


def points(kind, noise=False):
    """The data of firmware/streams.h, and the group of each point."""
    random, cluster = 2463534242 + kind, 0

    def random16():
        nonlocal random
        random = (random * 1664525 + 1013904223) % 2**32
        return random >> 16

    for n in range(N_POINTS):
        c = random16() % (11 if kind == FULL else 6)
        c = cluster = cluster if kind == STATES and random16() % 16 else c
        missing = random16() & random16() & random16() & 7 if kind == MISSING else 0
        x = []
        for d in range(D):
            place = ((c * (2 * d + 3) + d) % 11 - 5) * (2 if kind == STATES else 10) * 32768
            place *= not (noise and kind == WARM_UP and d == D - 1)
            place += n * (c * 5 % 7 - 3) * 20 if kind == DRIFT else 0
            place += sum(random16() - 32768 for _ in range(4))
            if noise and kind == WARM_UP and d == 0:
                place = int(place / 16384) * 16384
            x.append(float("nan") if missing >> d & 1 and missing != 7 else place / 32768)
        yield x, (c // 2 + (n + 1) // 64 + random16() % 2) % 4 if kind == GROUPS else NO_GROUP


def model_for(kind, dtype, surprise=False):
    """The learner of firmware/conformance.c."""
    if kind == GROUPS:
        given = {"gamma": 2.0, "when_groups_full": "replace", "with_base": True, "likelihood": PRIOR, "n_features": D}
        return OnlineHDP(8, 3, dtype=dtype, **given)
    if kind == STATES:
        return OnlineHDPHMM(8, gamma=2.0, kappa=1.0, lag=4, likelihood=PRIOR, n_features=D, dtype=dtype)
    return OnlineMAPDPM(
        4 if kind == FULL else 8,
        likelihood="auto" if kind == WARM_UP else PRIOR,
        warmup=60,
        n_features=D,
        half_life=300.0 if kind == DRIFT else None,
        window=12 if kind == DRIFT else 0,
        missing="skip" if kind == MISSING else "error",
        dtype=dtype,
        surprise=surprise,
        relevance="auto" if surprise else "all",
        resolution="auto" if surprise else 0,
        rare=0.0625,
    )


def crc_of_real(crc, value, dtype):
    if np.isnan(value):
        return zlib.crc32(struct.pack("<I", 0x7FC00000), crc)
    return zlib.crc32(np.array(value, dtype).astype(np.dtype(dtype).newbyteorder("<")).tobytes(), crc)


def crc_of_stream(kind, dtype, surprise=False):
    learner, crc = model_for(kind, dtype, surprise).ready_learner(), 0
    for i, (x, group) in enumerate(points(kind, noise=surprise), 1):
        learner.set_group(group)
        if kind == STATES and i % GAP_EVERY == 0:
            learner.lib.mapdpm_gap(learner.stream)
        if i % SCORE_EVERY == 0:
            crc = crc_of_real(crc, learner.predict_score(x), dtype)
        if surprise and i % SCORE_EVERY == 0:
            found = assess(learner, x, learns=False)
            crc = crc_of_real(crc_of_real(crc, found.novelty, dtype), found.surprise, dtype)
        number, score = learner.learn_scored(x)
        crc = crc_of_real(zlib.crc32(struct.pack("<I", number), crc), score, dtype)
        if i % SNAPSHOT_EVERY == 0:
            data = learner.write()
            crc = zlib.crc32(data[:-4], crc)
            learner, _ = Learner.read(dtype, data)
        if kind == GROUPS and i % SNAPSHOT_EVERY == 0:
            base = summaries.summary_of(learner)
            crc = zlib.crc32(base[:-4], crc)
            summaries.set_base(learner, base)
    return crc


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_python_has_the_bits_of_the_chips(dtype):
    crc = 0
    for kind in KINDS:
        crc = zlib.crc32(struct.pack("<I", crc_of_stream(kind, dtype)), crc)
    assert f"{crc:08x}" == known_crc("all float" if dtype == "float32" else "all double")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_assessments_have_the_bits_of_the_chips(dtype):
    crc = 0
    for kind in (STATIONARY, FULL, WARM_UP, DRIFT, MISSING):
        crc = zlib.crc32(struct.pack("<I", crc_of_stream(kind, dtype, surprise=True)), crc)
    assert f"{crc:08x}" == known_crc("surprise float" if dtype == "float32" else "surprise double")


POINTWISE = (
    Step(Lag.kind, 0, n=2),
    Step(Difference.kind, 0, n=3),
    Step(Centre.kind, 1, n=13),
    Step(Seasonal.kind, 0, n=24, offset=-150, half_life=6.0),
    Step(JOIN, 2, second=3),
    Step(JOIN, 5, second=4),
    Step(Stuck.kind, 0, n=8),
    Step(Silence.kind, 0, n=8),
    Step(JOIN, 6, second=7),
    Step(JOIN, 9, second=8),
    Step(Window.kind, 4, n=5, first=2),
    Step(Spread.kind, 4, n=24, offset=90, half_life=6.0),
    Step(JOIN, 11, second=12),
    Step(JOIN, 10, second=13),
)
BLOCKS = (
    Step(RMS.kind, 0, n=16, centred=1),
    Step(CrestFactor.kind, 0, n=16, centred=1),
    Step(BandEnergy.kind, 0, n=16, first=1, end=9),
    Step(JOIN, 1, second=2),
    Step(JOIN, 4, second=3),
    Step(Seasonal.kind, 5, n=7),
    Step(JOIN, 5, second=6),
)
WINDOWS = (
    Step(Smooth.kind, 0, n=5),
    Step(Autoperiod.kind, 1, n=32, first=3),
    Step(PCA.kind, 2, n=40, first=2),
    Step(Clock.kind, 0, n=24, offset=90),
    Step(Clock.kind, 0, n=168, offset=-90),
    Step(JOIN, 4, second=5),
    Step(JOIN, 3, second=6),
)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_features_have_the_bits_of_the_chips(dtype):
    """The three pipelines of firmware/conformance.c."""
    crc = 0
    for steps, kind in ((POINTWISE, MISSING), (BLOCKS, DRIFT), (WINDOWS, DRIFT)):
        pipeline, of_one = CPipeline.new(dtype, list(steps), D), 0
        for i, (x, _) in enumerate(points(kind), 1):
            for value in pipeline.one(x, -90_000_000_000 + 1_234_567_890 * i) or []:
                of_one = crc_of_real(of_one, value, dtype)
            if i % SNAPSHOT_EVERY == 0:
                data = pipeline.write()
                of_one = zlib.crc32(data[:-4], of_one)
                pipeline, _ = CPipeline.read(dtype, data)
        crc = zlib.crc32(struct.pack("<I", of_one), crc)
    assert f"{crc:08x}" == known_crc("features float" if dtype == "float32" else "features double")


HOSTS = ("gcc-O0", "gcc-O3-native", "clang-O2", "clang-O3-native-double", "gcc-O2-smallest")


@pytest.mark.parametrize("name", complete_but(["gcc-O0"], HOSTS))
def test_compilers_have_the_same_bits(shared, name):
    """A target that `make test-firmware-all` has run is not built again."""
    (target,) = [target for target in shared.TARGETS if target.name == name]
    result = shared.result_of_any_run(target, fresh=False)
    if result.problem.startswith("skipped"):
        pytest.skip(f"{target.name} {result.problem}")
    assert not result.problem, result.problem
    assert result.crc == known_crc(f"{target.group} {target.real}")


def has_fma():
    return "fma" in Path("/proc/cpuinfo").read_text().split() if Path("/proc/cpuinfo").exists() else False


def fused(target, flags):
    return target._replace(compiler=target.compiler.replace("-std=c99", f"-std=gnu99 {flags}"), link=target.link)


@pytest.mark.complete
@pytest.mark.skipif(not has_fma(), reason="this processor has no fused multiply-add")
def test_the_sources_forbid_what_a_command_line_allows(firmware):
    """A fused multiply-add changes bits, which the CRC shows; but gcc does not fuse although the flag asks for it."""
    (target,) = [target for target in firmware.TARGETS if target.name == "gcc-O2"]
    target = fused(target, "-mfma -ffp-contract=fast")
    assert firmware.result_of(target).crc == known_crc("all float")
    text = (SOURCE / "mapdpm.c").read_text()
    without = firmware.BUILD / "mapdpm.c"
    without.write_text(text.replace('#pragma GCC optimize("fp-contract=off", ', "#pragma GCC optimize("))
    assert without.read_text() != text
    result = firmware.result_of(target, without)
    assert result.crc not in {"", known_crc("all float")}
    assert any(
        "crc" in line
        for line in firmware.complaints(result, {"crc": {"all float": known_crc("all float")}, "targets": {}})
    )


def test_a_larger_figure_is_a_complaint(firmware):
    (target,) = [target for target in firmware.TARGETS if target.name == "cortex-m4f-smallest"]
    known = json.loads((FIRMWARE / "figures.json").read_text())
    before = dict(known["targets"][target.name])
    compiler, crc = before.pop("compiler"), known["crc"]["smallest float"]
    assert firmware.complaints(firmware.Result(target, crc, compiler, before), known) == []
    for name, figure in before.items():
        larger = before | {name: int(figure * 1.04) + 1}
        (complaint,) = firmware.complaints(firmware.Result(target, crc, compiler, larger), known)
        assert name in complaint
    assert firmware.complaints(firmware.Result(target, crc, "another compiler", {"text": 10**6}), known) == []


@pytest.mark.complete
def test_the_deepest_call_is_measured_or_the_run_fails(firmware):
    """No call takes more than its worst case, which a warm-up has; a painted part that is too small fails."""
    (target,) = [target for target in firmware.TARGETS if target.name == "cortex-m4f-surprise"]
    if missing := firmware.missing_tools(target):
        pytest.skip(f"there is no {', '.join(missing)}; apt-get install {target.packages}")
    firmware.run("cc", "-shared", "-fPIC", "-O2", "-o", str(firmware.BUILD / "count.so"), "count.c")
    short = target._replace(compiler=f"{target.compiler} -DN_POINTS=70")
    figures = firmware.result_of(short).figures
    assert 0 < figures["stack"] <= figures["worst settle"] == figures["worst"] > figures["worst learn"]
    small = firmware.result_of(short._replace(compiler=f"{short.compiler} -DPAINTED=256u"))
    assert "used up" in small.problem


PROFILED = (
    "cortex-m4f-score",
    "cortex-m4f-raw-no-split",
    "cortex-m0-clang-Oz-score-snapshot",
    "cortex-m4f-clang-Os-raw",
)


@pytest.mark.complete
@pytest.mark.parametrize("name", PROFILED)
def test_a_program_with_part_of_the_library_has_the_same_bits(shared, name):
    """The host agrees; a program that scores only takes at most 6 KB of the library."""
    (target,) = [t for t in shared.TARGETS if t.name == name]
    (host,) = [t for t in shared.TARGETS if t.group == target.group and t.name == f"gcc-O2-{target.group}"]
    if missing := shared.missing_tools(target):
        pytest.skip(f"there is no {', '.join(missing)}; apt-get install {target.packages}")
    shared.BUILD.mkdir(parents=True, exist_ok=True)
    shared.run("cc", "-shared", "-fPIC", "-O2", "-o", str(shared.BUILD / "count.so"), "count.c")
    results = [shared.result_of_any_run(each, fresh=False) for each in (target, host)]
    assert [result.problem for result in results] == ["", ""]
    assert results[0].crc == results[1].crc != ""
    assert name != "cortex-m4f-score" or results[0].figures["text"] <= 6 * 1024


def test_the_tables_show_the_figures(shared):
    """A name that figures.json has not is an empty cell; times are one or two cycles for each instruction."""
    tables = importlib.import_module("tables")
    known = {
        "targets": {
            "cortex-m0": {"learn": 48_000, "settle": 48_000_000, "text": 45_498, "stack": 900, "worst": 1_000},
            "avr": {"learn": 160_000, "text": 1},
            "cortex-m4f": {"learn": 1_680, "worst learn": 936, "worst settle": 968, "text": 40_000},
            "cortex-m4f-score": {"score": 10, "text": 4_280},
            "cortex-m4f-clang-Oz-score": {"text": 4_740},
            "cortex-m4f-raw": {"learn": 1},
            "cortex-m0-trouble": {"learn": 1, "settle": 1, "settle most": 96_000},
            "cortex-m4f-clang-Oz": {"learn": 1, "text": 46_056},
        }
    }
    assert "|cortex-m0, 48 MHz|1.0 to 2.0 ms||1.0 to 2.0 s|2.0 to 4.0 ms||||" in tables.table_of_times(known)
    assert "|cortex-m4f, 168 MHz|10 to 20 µs|" in tables.table_of_times(known)
    assert "|avr, 16 MHz|10 ms|" in tables.table_of_times(known)
    assert tables.span(0.0006, 0.0012) == "600 µs to 1.2 ms"
    assert "|`mapdpm_learn`|936|||\n|`mapdpm_learn`, with a warm-up to end|968|||" in tables.table_of_stacks(known)
    profiles = tables.table_of_profiles(known).splitlines()
    assert profiles[2].endswith("raw image|4,280||4,740|||")
    assert profiles[-1] == "|all|40,000||46,056|45,498||"
    lines = tables.table_of_figures(known).splitlines()
    assert [line.split("|")[1] for line in lines[2:]] == ["avr", "cortex-m0", "cortex-m4f"]
    assert lines[3] == "|cortex-m0|45,498|900|1,000|48,000||48,000,000||||"
    with pytest.raises(ValueError, match="marks of the table figures"):
        tables.with_tables("no table", known)


def test_the_longest_calls_are_figures(shared):
    """Of learn and of settle, which the clock of a small board cannot count."""
    lines = [
        "learn mean 5 most 9 stack 40",
        "settle mean 7 most 8 stack 60",
        "score mean 0 most 0 stack 0",
        "state 1848",
    ]
    counted = ["learn instructions mean 50 most 90", "settle instructions mean 70 most 80"]
    found = shared.figures_of("\n".join(lines))
    assert found == {"learn": 5, "most": 9, "stack": 60, "state": 1848}
    found = shared.figures_of("\n".join(lines + counted))
    assert found == {"learn": 50, "most": 90, "settle": 70, "settle most": 80, "stack": 60, "state": 1848}


def test_the_worst_case_is_that_of_the_calls_of_a_program(shared, stacks):
    """A public function that is not called does not count; a warm-up counts where it is compiled in."""
    targets = {target.name: target for target in shared.TARGETS}
    worst = {"learn": 300, "settle": 500, "learn_assessed": 600, "predict": 200, "reduce": 400, "bank_learn": 900}
    names = "00000100 T mapdpm_learn_double\n00000200 T mapdpm_predict\n00000300 t learn\n"
    found = stacks.figures(targets["cortex-m4f"], worst, names)
    assert found == {"worst": 500, "worst learn": 300, "worst settle": 500, "worst predict": 200, "worst reduce": 400}
    found = stacks.figures(targets["cortex-m4f-smallest"], worst, names)
    assert found == {"worst": 300, "worst learn": 300, "worst predict": 200, "worst reduce": 400}
    assert stacks.figures(targets["cortex-m4f-surprise"], worst, names)["worst learn_assessed"] == 600
    assert stacks.figures(targets["cortex-m0-score"], worst, "00000200 T mapdpm_predict\n") == {"worst": 200}


def test_a_stack_above_the_worst_case_is_a_failure(firmware, stacks):
    learner, features = (
        next(target for target in firmware.TARGETS if target.group == group) for group in ("all", "features")
    )
    worst = {"learn": 300, "settle": 500, "predict": 200, "features_step": 100}
    assert stacks.too_deep(learner, {"learn": 300, "settle": 500, "score": 200, "save": 999}, worst) == []
    for name, depth in (("learn", 304), ("settle", 504), ("score", 204)):
        (problem,) = stacks.too_deep(learner, {name: depth}, worst)
        assert name in problem
        assert str(depth) in problem
    assert stacks.too_deep(features, {"learn": 100}, worst) == []
    assert len(stacks.too_deep(features, {"learn": 104}, worst)) == 1


def test_a_target_runs_again_only_after_a_change(firmware, monkeypatch, tmp_path):
    (target,) = [target for target in firmware.TARGETS if target.name == "gcc-O2-smallest"]
    (tmp_path / target.name).mkdir()
    runs = []

    def counted(target):
        runs.append(target.name)
        return firmware.Result(target, f"{len(runs):08x}", "a compiler", {"text": 1})

    monkeypatch.setattr(firmware, "result_of", counted)
    monkeypatch.setattr(firmware, "missing_tools", lambda _: [])
    first = firmware.result_of_any_run(target, fresh=False)
    assert firmware.result_of_any_run(target, fresh=False) == first
    assert firmware.result_of_any_run(target._replace(switches="-DSMALLEST"), fresh=False).crc == "00000002"
    assert firmware.result_of_any_run(target, fresh=True).crc == "00000003"
    monkeypatch.setattr(firmware, "sources_hash", lambda: "other sources")
    assert firmware.result_of_any_run(target, fresh=False).crc == "00000004"
    monkeypatch.setattr(firmware, "version_of", lambda _: "another version")
    assert firmware.result_of_any_run(target, fresh=False).crc == "00000005"
    assert firmware.result_of_any_run(target, fresh=False).crc == "00000005"
    failed = firmware.Result(target, problem="failed: why")
    monkeypatch.setattr(firmware, "result_of", lambda _: failed)
    assert firmware.result_of_any_run(target, fresh=True) == failed
    assert firmware.result_of_any_run(target, fresh=False).crc == "00000005"


def test_the_quick_targets_are_of_different_kinds(firmware):
    quick = [target for target in firmware.TARGETS if target.is_quick]
    assert {target.compiler.split("-")[0] for target in quick} == {"arm", "powerpc"}  # little-endian and big-endian
    assert {target.group for target in quick} == {"all", "smallest"}
    assert all(target.in_ci for target in quick)


def test_the_readme_says_what_was_measured(firmware):
    text = firmware.README.read_text()
    assert firmware.with_tables(text, json.loads(firmware.FIGURES.read_text())) == text
    sizes = re.findall(r"^\| D = (\d+) \| (.*) \|$", text, re.MULTILINE)
    assert len(sizes) == 5
    for width, cells in sizes:
        prior = NormalGamma(np.zeros(int(width)), 1.0, 1.0, np.ones(int(width)))
        for slots, cell in zip((4, 8, 16, 32), cells.split(" | "), strict=True):
            learners = [
                OnlineMAPDPM(slots, likelihood=prior, n_features=int(width), dtype=t, surprise=False)
                for t in ("float32", "float64")
            ]
            assert cell == " / ".join(str(learner.nbytes) for learner in learners)
