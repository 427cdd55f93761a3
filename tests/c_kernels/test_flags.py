"""Flags of compilers: each is harmless, refused, or found by mapdpm_selftest."""

import platform
import re
import shutil
from pathlib import Path

import pytest

from compiling import FIRMWARE, KERNELS, SOURCE, finished, need, run
from tests.marks import complete_but

OK, E_ARITHMETIC = 0, -17
MAIN = """
#include "mapdpm.h"
#include <stdio.h>
int main(void) { printf("%d\\n", mapdpm_selftest()); return 0; }
"""
# Whatever a processor can do: x86-64 may fuse only with -mfma. Each flag alone; those of gcc do nothing one by one.
REORDER = "-fassociative-math -fno-signed-zeros -fno-trapping-math"
UNSAFE = "-funsafe-math-optimizations"
FLAGS = {
    "gcc": ("-ffast-math", "-Ofast", UNSAFE, REORDER, "-freciprocal-math", "-ffinite-math-only", "-ffp-contract=fast"),
    "clang": (
        *("-ffast-math", "-Ofast", UNSAFE, REORDER, "-freciprocal-math", "-ffinite-math-only", "-ffp-contract=fast"),
        *("-ffp-model=fast", "-fno-honor-nans"),
    ),
}
CASES = [(compiler, flag) for compiler, flags in FLAGS.items() for flag in flags]
QUICK = [("gcc", REORDER), ("clang", "-ffp-contract=fast")]
REALS = ("float", "double")


def can_fuse():
    return platform.machine() in {"x86_64", "AMD64"} and "fma" in Path("/proc/cpuinfo").read_text().split()


def compiled_selftest(folder, compiler, flags, real, *, forbidden=True):
    """Compile the self-test; if not `forbidden`, a copy of the library that lets all flags through."""
    sources = ("learner/selftest.c", "files/snapshot.c", "mapdpm.c")
    for path in [KERNELS / name for name in sources] + [*KERNELS.glob("*.h"), *KERNELS.glob("[aflg]*/*.h")]:
        copy = folder / path.relative_to(KERNELS)
        copy.parent.mkdir(exist_ok=True)
        shutil.copy(path, copy)
    if not forbidden:
        switches = folder / "mapdpm_switches.h"
        text = switches.read_text()
        switches.write_text(text[: text.index("#ifdef __FAST_MATH__")] + text[text.index("#if FLT_EVAL_METHOD == 1") :])
    (folder / "main.c").write_text(MAIN)
    target = ["-mfma"] if can_fuse() else []
    command = [compiler, "-std=c99", "-O2", "-ffp-contract=off", *target, *flags.split(), f"-DMAPDPM_REAL={real}"]
    command.append("-ffunction-sections")  # so that the linker takes no more of these files than the self-test needs
    done = finished(*command, "-I.", "-c", *sources, cwd=folder)
    if done.returncode == 0:  # the program has no such flags: at its start they would change the processor's mode
        objects = [f"{Path(name).stem}.o" for name in sources]
        run(compiler, f"-DMAPDPM_REAL={real}", "-Wl,--gc-sections", "main.c", *objects, "-o", "selftest", cwd=folder)
    return done


def selftest(folder, *args, **kwargs):
    """Return what mapdpm_selftest returned, or the message of the compiler."""
    done = compiled_selftest(folder, *args, **kwargs)
    return done.stderr if done.returncode else int(run(folder / "selftest"))


@pytest.mark.parametrize("real", REALS)
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("level", complete_but(["-Os"], ["-O0", "-Os", "-O3"]))
def test_a_build_passes_its_selftest(compiler, level, real, tmp_path):
    need(compiler)
    assert selftest(tmp_path, compiler, level, real) == OK


@pytest.mark.parametrize("real", REALS)
@pytest.mark.parametrize("case", complete_but(QUICK, CASES))
def test_selftest_finds_a_flag_that_the_sources_let_through(case, real, tmp_path):
    compiler, flag = case
    need(compiler)
    if flag == "-ffp-contract=fast" and not can_fuse():
        pytest.skip("this processor fuses nothing")
    assert selftest(tmp_path, compiler, flag, real, forbidden=False) == E_ARITHMETIC


@pytest.mark.parametrize("real", REALS)
@pytest.mark.parametrize("case", complete_but(QUICK, CASES))
def test_a_flag_is_harmless_refused_or_found(case, real, tmp_path):
    compiler, flag = case
    need(compiler)
    found = selftest(tmp_path, compiler, flag, real)
    if flag in {"-ffast-math", "-Ofast", "-ffp-model=fast"} or (compiler, flag) == ("clang", "-ffinite-math-only"):
        assert "compile mapdpm" in found  # and says what to do
    elif (compiler, flag) == ("clang", "-ffp-contract=fast"):
        assert found == (E_ARITHMETIC if can_fuse() else OK)
    elif compiler == "gcc" or platform.machine() == "x86_64":
        assert found == OK
    else:
        assert found in {OK, E_ARITHMETIC}


def test_constants_of_a_double_library_are_doubles(tmp_path):
    need("gcc")
    flag = "-fsingle-precision-constant -w"
    assert "compile_without_single_precision_constant" in selftest(tmp_path, "gcc", flag, "double")
    assert selftest(tmp_path, "gcc", flag, "float") == OK


@pytest.mark.skipif(platform.machine() != "x86_64", reason="its control word is that of x86-64")
@pytest.mark.parametrize("real", REALS)
@pytest.mark.parametrize("bits", complete_but(["0x8000"], ["0x8000", "0x0040"]))
def test_selftest_finds_flush_to_zero(bits, real, tmp_path):
    """With 0x8000 results below the least normal real are 0, with 0x0040 arguments."""
    need("gcc")
    assert selftest(tmp_path, "gcc", "-O1", real) == OK
    mode = f"#include <xmmintrin.h>\n__attribute__((constructor)) void f(void) {{ _mm_setcsr(_mm_getcsr() | {bits}); }}"
    (tmp_path / "mode.c").write_text(mode)
    parts = ("main.c", "mode.c", "selftest.o", "snapshot.o", "mapdpm.o")
    run("gcc", f"-DMAPDPM_REAL={real}", "-Wl,--gc-sections", *parts, "-o", "selftest", cwd=tmp_path)
    assert int(run(tmp_path / "selftest")) == E_ARITHMETIC


@pytest.mark.parametrize(
    ("flag", "less"), [(REORDER, "-fno-signed-zeros -fno-trapping-math"), ("-ffp-contract=on", "-ffp-contract=off")]
)
def test_clang_obeys_where_float_control_does_not_exist(flag, less, tmp_path):
    """The same instructions with a flag as without it."""
    need("clang")
    clang = "clang --target=armv7em-none-eabi -mfloat-abi=hard -mcpu=cortex-m4 -ffreestanding -std=c99 -O2 -S"
    texts = []
    for flags in (less, flag):
        more = [f"-I{KERNELS}", KERNELS / "stream" / "online.c", "-o", tmp_path / "a.s"]
        run(*clang.split(), *flags.split(), "-DMAPDPM_REAL=float", *more)
        texts.append(re.sub(r"\s+\.eabi_attribute.*", "", (tmp_path / "a.s").read_text()))
    assert texts[0] == texts[1]


NAN_IS_REFUSED = """
#include "mapdpm.h"
#include <stdio.h>
#include <string.h>
static uint64_t memory[MAPDPM_STATE_BYTES(1, 4) / 8];
int main(void)
{
    static const uint32_t bits[] = {0x7fc00000u, 0xff800001u, 0x7f800000u, 0xff800000u, 0x7f7fffffu};
    static const mapdpm_real prior[] = {0, 1, 1, 1};
    mapdpm_options o = {0};
    mapdpm_stream *const s = (mapdpm_stream *)(void *)memory;
    size_t i;

    o.family = MAPDPM_NORMAL_GAMMA;
    o.n_features = 1;
    o.max_clusters = 4;
    o.parameters = prior;
    o.alpha = 1;
    printf("%d", mapdpm_init(s, sizeof memory, &o));
    for (i = 0; i < sizeof bits / sizeof *bits; i++) {
        mapdpm_real x;
        memcpy(&x, bits + i, 4);
        printf(" %d", mapdpm_learn(s, &x, NULL, NULL));
    }
    return 0;
}
"""


@pytest.mark.complete
@pytest.mark.parametrize(
    ("compiler", "flag"),
    [("gcc", "-ffinite-math-only"), ("clang", "-fno-honor-nans")],
)
def test_nan_is_refused_by_its_bits(compiler, flag, tmp_path):
    """Without the pragmas: nothing but the test of the bits."""
    need(compiler)
    text = (SOURCE / "mapdpm.c").read_text()
    naked = text[: text.index("#ifdef __FAST_MATH__")] + text[text.index("#if FLT_EVAL_METHOD == 1") :]
    (tmp_path / "mapdpm.c").write_text(naked)
    (tmp_path / "main.c").write_text(NAN_IS_REFUSED)
    flags = ["-std=c99", "-O1", flag, "-DMAPDPM_NO_CLONES", "-DMAPDPM_REAL=float", f"-I{SOURCE}"]
    run(compiler, *flags, "main.c", "mapdpm.c", "-o", "main", cwd=tmp_path)
    assert run(tmp_path / "main") == "0 -9 -9 -9 -9 -10"


ON_A_BOARD = """
#include "board.h"
#include "mapdpm.h"
int main(void)
{
    board_write(mapdpm_selftest() == MAPDPM_OK ? "selftest passed\\n" : "selftest failed\\n");
    board_exit(0);
    return 0;
}
"""
BOARDS = ("cortex-m4f", "cortex-m0", "cortex-m7", "rv32imac", "rv32imafc", "powerpc", "powerpc-double", "avr", "wasm32")


@pytest.mark.parametrize("name", complete_but(["cortex-m4f"], BOARDS))
def test_chips_pass_their_selftest(name, shared, tmp_path):
    """With the object of the library that `make test-firmware` compiles, too."""
    (target,) = [target for target in shared.TARGETS if target.name == name]
    if shared.missing_tools(target):
        pytest.skip(f"there is no {', '.join(shared.missing_tools(target))}")
    main = tmp_path / "main.c"
    main.write_text(ON_A_BOARD)
    switches = f"{target.switches} -I{FIRMWARE / 'boards'}"
    own = target._replace(name=str(tmp_path / name), program=str(main), switches=switches)  # the program's folder, too
    program = shared.build(own, SOURCE / "mapdpm.c")
    command = target.runner.format(program=program, plugin="").split()
    done = finished("timeout", "60", *command, cwd=FIRMWARE)
    assert "selftest passed" in done.stdout + done.stderr
