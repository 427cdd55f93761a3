"""The machines on which `make firmware` runs conformance.c. A new one takes a line here and a file in boards/."""

from __future__ import annotations

from typing import NamedTuple


class Target(NamedTuple):
    """How to build a program for a machine, and how to run it."""

    name: str
    compiler: str  # and flags
    link: str  # flags of the link
    board: tuple[str, ...]  # files of boards/
    runner: str  # with {program}, and with {plugin} if QEMU is to count instructions
    packages: str  # of Debian
    real: str = "float"
    switches: str = "-DMAPDPM_MISSING -DMAPDPM_GROUPS -DMAPDPM_STATES"  # of the library
    group: str = "all"  # targets of a group must agree
    in_ci: bool = True
    is_quick: bool = False
    program: str = "conformance.c"
    linker: str = ""  # and flags, if the compiler does not link


WARNINGS = "-Wall -Wextra -Wshadow -Wundef -Wconversion -Werror"
REALS = {
    "float": "-Wdouble-promotion -DMAPDPM_REAL=float",
    "double": "-DMAPDPM_REAL=double",
    "int": "-DMAPDPM_REAL=int",
}
OF_REALS = ("float", "double")
FIXED = (
    "-DMAPDPM_FEATURES=3 -DMAPDPM_CLUSTERS=8 -DMAPDPM_WHEN_FULL=MAPDPM_FULL_LEAST_LOSS -DMAPDPM_NO_KNOWN_VARIANCE"
    " -DMAPDPM_NO_WARMUP -DMAPDPM_NO_WINDOW -DMAPDPM_NO_FORGETTING -DMAPDPM_NO_ERROR_NAMES"
)
SMALL = f"-std=c99 -Os -ffunction-sections -fdata-sections {WARNINGS} {REALS['float']}"
BARE = "-nostdlib -nostartfiles -Wl,--gc-sections"
SEMIHOSTING = "-nographic -semihosting-config enable=on,target=native {plugin} -kernel {program}"
M0 = "-mcpu=cortex-m0"
M4F = "-mcpu=cortex-m4 -mfpu=fpv4-sp-d16 -mfloat-abi=hard"


def cortex(name: str, cpu: str, machine: str, flash: str = "0", ram: str = "0x20000000", size: str = "64K") -> Target:
    """A Cortex-M on one of QEMU's boards, with the addresses of its memories."""
    return Target(
        name,
        f"arm-none-eabi-gcc -mthumb {cpu} {SMALL}",
        f"{BARE} -T boards/cortex_m.ld -Wl,--defsym=FLASH={flash} -Wl,--defsym=RAM={ram} -Wl,--defsym=RAM_SIZE={size}",
        ("cortex_m.c", "memory.c"),
        f"qemu-system-arm -M {machine} {SEMIHOSTING}",
        "gcc-arm-none-eabi libnewlib-arm-none-eabi qemu-system-arm",
    )


def riscv(name: str, arch: str, abi: str, bits: int) -> Target:
    """A RISC-V, on QEMU's board virt."""
    return Target(
        name,
        f"riscv64-unknown-elf-gcc -march={arch} -mabi={abi} -mcmodel=medany --specs=picolibc.specs {SMALL}",
        f"{BARE} -T boards/riscv.ld -Wl,--no-warn-rwx-segments",
        ("riscv.c", "memory.c"),
        f"qemu-system-riscv{bits} -M virt -bios none {SEMIHOSTING}",
        "gcc-riscv64-unknown-elf picolibc-riscv64-unknown-elf qemu-system-misc",
        in_ci=False,
    )


def clang(target: Target, level: str) -> Target:
    """A Cortex-M's target with clang as the compiler, and gcc's linker and library. -meabi gnu: it calls memcpy."""
    cpu = target.compiler.removesuffix(SMALL).removeprefix("arm-none-eabi-gcc")
    flags = (
        f"--target=arm-none-eabi -meabi gnu -isystem /usr/lib/arm-none-eabi/include{cpu}{SMALL.replace('-Os', level)}"
    )
    return target._replace(
        name=f"{target.name}-clang{level}",
        compiler=f"clang {flags}",
        linker=f"arm-none-eabi-gcc{cpu}",
        packages=f"clang {target.packages}",
    )


def hosted(name: str, compiler: str, packages: str, real: str, link: str = "", runner: str = "{program}") -> Target:
    """A machine with an operating system."""
    name += "" if real == "float" else "-double"
    return Target(name, f"{compiler} -std=c99 {WARNINGS} {REALS[real]}", link, ("hosted.c",), runner, packages, real)


def powerpc(real: str) -> Target:
    """A big-endian machine."""
    return hosted(
        "powerpc",
        "powerpc-linux-gnu-gcc -O2",
        "gcc-powerpc-linux-gnu libc6-dev-powerpc-cross qemu-user",
        real,
        "-static",
        "qemu-ppc {plugin} {program}",
    )


def wasm(real: str) -> Target:
    """WebAssembly, in node."""
    return Target(
        "wasm32" if real == "float" else "wasm32-double",
        f"clang --target=wasm32 -std=c99 -O2 {WARNINGS} {REALS[real]} -ffreestanding -fno-builtin-memcpy"
        " -fno-builtin-memset",
        "-nostdlib -Wl,--no-entry -Wl,--export=main -Wl,-z,stack-size=16384",
        ("wasm.c", "memory.c"),
        "node boards/wasm.mjs {program}",
        "clang lld nodejs",
        real,
    )


def smallest(target: Target) -> Target:
    """The target with the smallest library."""
    return target._replace(name=f"{target.name}-smallest", switches=f"-DSMALLEST {FIXED}", group="smallest")


def pipelines(target: Target) -> Target:
    """The target with features instead of learners: both together are more than the memory of the smallest chip."""
    return target._replace(name=f"{target.name}-features", switches="-DPIPELINES_ONLY", group="features")


def assessments(target: Target) -> Target:
    """The target whose learners assess points and choose features, for the smallest chip cannot hold all."""
    switches = "-DMAPDPM_MISSING -DMAPDPM_SURPRISE -DMAPDPM_RELEVANCE -DMAPDPM_RESOLUTION"
    return target._replace(name=f"{target.name}-surprise", switches=switches, group="surprise")


def in_integers(target: Target) -> Target:
    """The target with the learner in whole numbers."""
    compiler = target.compiler.replace(REALS[target.real], REALS["int"])
    return target._replace(
        name=f"{target.name}-int", compiler=compiler, switches="", group="int", real="int", program="integers.c"
    )


def in_fixed_integers(target: Target) -> Target:
    """The target with the smallest learner in whole numbers."""
    switches = " ".join(each for each in FIXED.split() if not each.endswith(("VARIANCE", "WARMUP", "WINDOW")))
    return in_integers(target)._replace(
        name=f"{target.name}-int-smallest", switches=f"-DSMALLEST {switches}", group="int-smallest"
    )


def troubled(target: Target) -> Target:
    """The target with a program that meets power cuts, forged files and clocks that begin anew."""
    return target._replace(name=f"{target.name}-trouble", program="trouble.c", switches="", group="trouble")


# What a program may need of the library: the program, its switches, and those who must agree.
PROFILES = {
    "score": ("score.c", "", "score"),
    "score-fixed": ("score.c", FIXED, "score"),
    "score-snapshot": ("score.c", f"-DFROM_SNAPSHOT {FIXED}", "score"),
    "raw-no-split": ("conformance.c", f"-DSMALLEST -DRAW_IMAGE -DMAPDPM_NO_SPLIT {FIXED}", "raw-no-split"),
    "raw": ("conformance.c", f"-DSMALLEST -DRAW_IMAGE {FIXED}", "raw"),
}


def profiled(target: Target, name: str) -> Target:
    """The target with the part of the library that a profile needs."""
    program, switches, group = PROFILES[name]
    return target._replace(name=f"{target.name}-{name}", program=program, switches=switches, group=group)


LEVELS = ("-O0", "-O1", "-O2", "-O3", "-O3 -march=native")
AVR = Target(
    "avr",
    # double is float here, and size_t has 16 bits. All parts fit into 128 KB with shared prologues only.
    f"avr-gcc -mmcu=atmega1284p -DF_CPU=16000000 {SMALL} -mcall-prologues -Wno-double-promotion -Wno-conversion",
    "-Wl,--gc-sections",
    ("avr.c",),
    "simavr -m atmega1284p -f 16000000 {program}",
    "gcc-avr avr-libc simavr",
)
OF_ALL_KINDS = (
    *(hosted("gcc-O2", "gcc -O2", "gcc", real) for real in OF_REALS),
    *(hosted("clang-O3-native", "clang -O3 -march=native", "clang", real) for real in OF_REALS),
    *(powerpc(real) for real in OF_REALS),
    *(wasm(real) for real in OF_REALS),
    cortex("cortex-m0", M0, "microbit", size="16K"),
    cortex("cortex-m4f", M4F, "mps2-an386"),
    riscv("rv32imac", "rv32imac", "ilp32", 32),
    AVR,
)
RV32IMAC = riscv("rv32imac", "rv32imac", "ilp32", 32)
CORTEX_M4F, CORTEX_M0 = cortex("cortex-m4f", M4F, "mps2-an386"), cortex("cortex-m0", M0, "microbit", size="16K")
# The columns of the table of profiles. clang's -Os optimises for speed, too; its -Oz is what gcc's -Os is.
COLUMNS_OF_PROFILES = {
    "cortex-m4f, gcc -Os": CORTEX_M4F,
    "clang -Os": clang(CORTEX_M4F, "-Os"),
    "clang -Oz": clang(CORTEX_M4F, "-Oz"),
    "cortex-m0, gcc -Os": CORTEX_M0,
    "clang -Oz ": clang(CORTEX_M0, "-Oz"),
}
HOST = hosted("gcc-O2", "gcc -O2", "gcc", "float")
TARGETS = (
    AVR,  # first, because it takes longest
    CORTEX_M0,
    cortex("cortex-m3", "-mcpu=cortex-m3", "mps2-an385"),
    CORTEX_M4F._replace(is_quick=True),
    cortex("cortex-m7", "-mcpu=cortex-m7 -mfpu=fpv5-d16 -mfloat-abi=hard", "mps2-an500"),
    cortex(
        "cortex-m33", "-mcpu=cortex-m33 -mfpu=fpv5-sp-d16 -mfloat-abi=hard", "mps2-an505", "0x10000000", "0x38000000"
    ),
    RV32IMAC,
    riscv("rv32imafc", "rv32imafc", "ilp32f", 32),
    riscv("rv64gc", "rv64gc", "lp64d", 64),
    powerpc("float")._replace(is_quick=True),
    powerpc("double"),
    *(wasm(real) for real in OF_REALS),
    *(
        # CI leaves out levels between those that it has.
        hosted(f"{cc}{level.replace(' -march=', '-')}", f"{cc} {level}", cc, real)._replace(
            in_ci=level != "-O1" and (cc, level) != ("clang", "-O2")
        )
        for real in OF_REALS
        for cc in ("gcc", "clang")
        for level in LEVELS
    ),
    smallest(CORTEX_M4F),
    smallest(CORTEX_M0)._replace(is_quick=True),
    smallest(HOST),
    *(pipelines(target) for target in OF_ALL_KINDS),
    # CI leaves out the longest run, minutes in the simulator.
    *(assessments(target)._replace(in_ci=target.in_ci and target != AVR) for target in OF_ALL_KINDS),
    *(troubled(target) for target in (*map(powerpc, OF_REALS), HOST, CORTEX_M4F, CORTEX_M0, AVR)),
    troubled(hosted("gcc-O2", "gcc -O2", "gcc", "double")),
    *(in_integers(target) for target in OF_ALL_KINDS if target.real == "float"),
    in_integers(cortex("cortex-m3", "-mcpu=cortex-m3", "mps2-an385")),
    *(in_fixed_integers(target) for target in (HOST, CORTEX_M0, CORTEX_M4F, RV32IMAC, AVR)),
    *(profiled(target, name) for target in (HOST, *COLUMNS_OF_PROFILES.values()) for name in PROFILES),
    *(
        make(target)
        for target in COLUMNS_OF_PROFILES.values()
        if target.linker
        for make in (smallest, lambda same: same)
    ),
)
