"""The pair of files: what it needs, its config header, the names of vendors, its version, licence and size."""

import json
import re

import pytest

import mapdpm
from compiling import FIRMWARE, SOURCE, amalgamate, finished, library_object, need, run
from repository import ROOT

# What headers of vendors define: CMSIS and ST's, Arduino, ESP-IDF, Zephyr, avr-libc.
CONSTANTS = """
real NONE CRC FLOOR HEADER FLAGS REAL BLOCK HALF WINDOW SMALL LARGE PI HALF_PI TWO_PI EULER HIGH LOW INPUT OUTPUT SERIAL
DISPLAY CHANGE RISING FALLING DEFAULT INTERNAL EXTERNAL B0 B1 B10 B11 B11111111 byte boolean BIT0 BIT1 EMPTY IRQ RTC PIN
PORT DDR PWR RCC FLASH ADC DAC TIM SPI USART DMA RNG HASH EXTI SCB NVIC DWT ITM TPI MPU FPU SysTick ERROR SUCCESS RESET
SET CLEAR ENABLE DISABLE TAG IRAM_ATTR SREG SP RAMEND TIMER COUNT INDEX STATE STATUS CONTROL MASK OFFSET SIZE LENGTH ID
KIND TYPE MODE LIMIT LEAST MOST TINY HUGE SLOT SLOTS FEATURES WARMUP EVENT NAN_BITS VERSION FORMAT
"""
FUNCTIONS = """
F bit word min max abs constrain sq round radians degrees interrupts lowByte highByte bitRead bitSet bitClear MIN MAX
CLAMP ARRAY_SIZE CONTAINER_OF BIT BIT_MASK ROUND_UP ROUND_DOWN KB MB KHZ MHZ IDENTITY IN_RANGE likely unlikely UNUSED
READ_BIT SET_BIT CLEAR_BIT MODIFY_REG _BV
"""
PARTS = [f"-DMAPDPM_{part}" for part in ("MISSING", "GROUPS", "STATES", "SURPRISE", "RELEVANCE", "RESOLUTION")]
VENDORS = "".join(f"#define {name} $ a constant of the vendor $\n" for name in CONSTANTS.split()) + "".join(
    f"#define {name}(...) $ a function of the vendor $\n" for name in FUNCTIONS.split()
)


@pytest.mark.complete
def test_a_config_header_may_have_the_names_of_vendors(smallest, tmp_path):
    need("gcc")
    switches = [switch.removeprefix("-D").partition("=")[::2] for switch in smallest]
    config = "".join(f"#define {name} {value}\n" for name, value in switches)
    (tmp_path / "my_config.h").write_text(f"{config}#ifdef VENDOR\n{VENDORS}#endif\n")
    flags = ["-std=c99", "-O0", f"-I{SOURCE}", "-I.", '-DMAPDPM_CONFIG="my_config.h"']
    run("gcc", *flags, "-DVENDOR", "-c", SOURCE / "mapdpm.c", cwd=tmp_path)
    sources = [FIRMWARE / name for name in ("conformance.c", "boards/report.c", "boards/hosted.c")]
    run("gcc", *flags, "-DSMALLEST", f"-I{FIRMWARE}", *sources, "mapdpm.o", "-o", "program", cwd=tmp_path)
    crc = json.loads((FIRMWARE / "figures.json").read_text())["crc"]["smallest float"]
    assert f"crc {crc}" in run(tmp_path / "program")


@pytest.mark.complete
def test_the_whole_library_compiles_with_the_names_of_vendors(tmp_path):
    need("gcc")
    (tmp_path / "my_config.h").write_text(VENDORS)
    config = '-DMAPDPM_CONFIG="my_config.h"'
    run("gcc", "-std=c99", "-fsyntax-only", "-I.", config, *PARTS, SOURCE / "mapdpm.c", cwd=tmp_path)


MAKES = '#include "mapdpm.h"\nint main(void) { return mapdpm_init(0, 0, 0) == MAPDPM_OK; }\n'


@pytest.mark.parametrize(("compiler", "language"), [("gcc", "c"), ("g++", "c++")])
def test_a_library_of_the_other_real_type_does_not_link(compiler, language, tmp_path):
    need("gcc")
    need(compiler)
    (tmp_path / "main.c").write_text(MAKES)
    link = [compiler, f"-I{SOURCE}", "-x", language, "main.c", "-x", "none", library_object("float")]
    run(*link, "-DMAPDPM_REAL=float", cwd=tmp_path)
    done = finished(*link, cwd=tmp_path)
    assert done.returncode != 0
    assert "mapdpm_init_double" in done.stderr


def test_version_numbers_are_those_of_the_text(tmp_path):
    need("gcc")
    major, minor, patch = (int(part) for part in re.findall(r"\d+", mapdpm.__version__))
    checks = f"""
#include "mapdpm.h"
#if MAPDPM_VERSION_MAJOR != {major} || MAPDPM_VERSION_MINOR != {minor} || MAPDPM_VERSION_PATCH != {patch}
#error "parts"
#endif
#if MAPDPM_VERSION_NUMBER != {major * 10000 + minor * 100 + patch}
#error "number"
#endif
typedef char text_too[sizeof MAPDPM_VERSION == {len(mapdpm.__version__) + 1} ? 1 : -1];
"""
    (tmp_path / "version.c").write_text(checks)
    run("gcc", f"-I{SOURCE}", "-fsyntax-only", "version.c", cwd=tmp_path)


def test_the_pair_carries_licence_and_version():
    licence = (ROOT / "LICENSE").read_text()
    (copyright_,) = re.findall(r"^Copyright .*$", licence, re.MULTILINE)
    for name in ("mapdpm.h", "mapdpm.c"):
        lines = (SOURCE / name).read_text().splitlines()
        assert lines[0] == "/* SPDX-License-Identifier: BSD-3-Clause"
        assert lines[1] == f" * {copyright_}"
        assert f"mapdpm {mapdpm.__version__}: {name}" in lines[3]
    text = re.sub(r"^( \*|/\*) ?", "", (SOURCE / "mapdpm.c").read_text(), flags=re.MULTILINE)
    assert licence.strip() in text


def kept_bytes(folder, switches, linker, *compiler):
    """The bytes of the smallest library that a linker keeps for a program that learns, scores and takes snapshots."""
    flags = [*["-std=c99", "-Os", "-ffunction-sections", "-fdata-sections", "-c"], *switches]
    run(*compiler, *flags, SOURCE / "mapdpm.c", cwd=folder)
    by_real = ("init", "learn", "predict", "snapshot_read")
    names = [*(f"mapdpm_{name}_float" for name in by_real), "mapdpm_snapshot_write", "mapdpm_snapshot_bytes"]
    roots = [part for name in names for part in ("-u", name)]
    run(linker, "-r", "--gc-sections", *roots, "mapdpm.o", "-o", "kept.o", cwd=folder)
    return int(run("size", "kept.o", cwd=folder).splitlines()[1].split()[0])


@pytest.mark.complete
def test_the_library_of_clang_is_about_as_small_as_that_of_gcc(smallest, tmp_path):
    """Half as large again on x86-64 and twice as large on a Cortex-M4 without minsize (amalgamate.py)."""
    for tool in ("clang", "arm-none-eabi-gcc", "arm-none-eabi-ld", "size"):
        need(tool)
    clang = ["clang", "--target=armv7em-none-eabi", "-mfloat-abi=hard", "-mcpu=cortex-m4", "-ffreestanding"]
    gcc = ["arm-none-eabi-gcc", "-mthumb", "-mcpu=cortex-m4", "-mfpu=fpv4-sp-d16", "-mfloat-abi=hard"]
    by_clang = kept_bytes(tmp_path, smallest, "arm-none-eabi-ld", *clang)
    assert by_clang <= 15 * 1024
    assert by_clang <= 1.25 * kept_bytes(tmp_path, smallest, "arm-none-eabi-ld", *gcc)


def test_the_pair_is_made_where_it_is_not_current(tmp_path, monkeypatch):
    text = (SOURCE / "mapdpm.c").read_text()
    monkeypatch.setattr(amalgamate, "PAIR", tmp_path)
    for stale in (None, "", text[:-1]):
        if stale is not None:
            (tmp_path / "mapdpm.c").write_text(stale)
        assert amalgamate.current() == tmp_path
        assert (tmp_path / "mapdpm.c").read_text() == text
    made = (tmp_path / "mapdpm.c").stat()
    amalgamate.current()
    assert (tmp_path / "mapdpm.c").stat() == made  # make compiles nothing anew
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mapdpm.c", "mapdpm.h"]


@pytest.mark.complete
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("real", ["float", "double"])
def test_the_pair_wants_memcpy_and_memset_only(compiler, real, tmp_path):
    """No libm, no errno, no stdio; and no arithmetic on double in a float build (-Wdouble-promotion)."""
    need(compiler)
    warnings = "-pedantic -Wall -Wextra -Wconversion -Wno-sign-conversion -Wshadow -Wundef -Werror"
    warnings += " -Wdouble-promotion" if real == "float" else ""
    command = [compiler, *f"-std=c99 -O2 -DMAPDPM_NO_CLONES {warnings} -DMAPDPM_REAL={real}".split(), *PARTS]
    program = tmp_path / "mapdpm.o"
    run(*command, "-fPIC", "-c", SOURCE / "mapdpm.c", "-o", program)
    wanted = run("nm", "-u", program).split()
    assert set(wanted) - {"U"} <= {"memcpy", "memset"}
    memory, linking = FIRMWARE / "boards" / "memory.c", ["-nostdlib", "-shared", "-fPIC", "-Wl,--no-undefined"]
    run(*command, *linking, program, memory, "-o", tmp_path / "whole.so")
