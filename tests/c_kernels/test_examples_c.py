"""The examples of c_kernels/amalgamation compile and run, with small stand-ins for the vendors' libraries.

The stand-ins (stubs/) have the signatures of the real ones, and check how they are called. Each board loses its power,
starts again, and must go on with what it had saved; Python reads what it saved.
"""

import os
import re

import pytest

import mapdpm
from compiling import FOLDER, SOURCE, STUBS, library_object, need, run
from repository import ROOT

EXAMPLES = FOLDER / "examples"
HERE = ROOT / "tests" / "c_kernels"
WARNINGS = ["-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-Wno-sign-conversion", "-Werror"]
TWO_SLOTS = EXAMPLES / "TwoSlots"


def compiled(program, real, *words):
    """Compile a program with the library."""
    flags = ["-O1", *WARNINGS, f"-I{SOURCE}", f"-DMAPDPM_REAL={real}"]
    run(need("gcc"), *flags, *words, library_object(real), "-o", program)
    return program


def cmake(example, folder, **environment):
    """The program of a CMake project among the examples."""
    build = folder / "build"
    settings = ["-DCMAKE_C_FLAGS=-Wall -Wextra -Werror -O1", "-DCMAKE_BUILD_TYPE="]
    environment = os.environ | {name: str(value) for name, value in environment.items()}
    run(need("cmake"), "-S", EXAMPLES / example, "-B", build, *settings, env=environment)
    run("cmake", "--build", build, env=environment)
    return build


def n_seen(data, folder):
    """The number of points that a learner in a file has seen, as Python reads it; what follows the file is cut off."""
    path = folder / "read.mdpm"
    path.write_bytes(data[: int.from_bytes(data[32:40], "little")])
    return mapdpm.load(path).n_seen


# ---- two slots in flash ----------------------------------------------------------------------------------------------


def test_two_slots_go_on_where_the_last_run_ended(tmp_path):
    program = compiled(tmp_path / "main", "float", "-std=c99", TWO_SLOTS / "main.c", TWO_SLOTS / "two_slots.c")
    printed = [run(program, cwd=tmp_path).strip() for _ in range(3)]
    assert printed == [
        "10 points, 2 clusters, file 1 in slot 1",
        "20 points, 2 clusters, file 2 in slot 0",
        "30 points, 2 clusters, file 3 in slot 1",
    ]
    flash = bytearray((tmp_path / "learner.flash").read_bytes())
    assert [n_seen(flash[at:], tmp_path) for at in (0, 4096)] == [20, 30]
    flash[4096 + 200] ^= 1  # the newest file is damaged: the one before it counts
    (tmp_path / "learner.flash").write_bytes(flash)
    assert run(program, cwd=tmp_path).strip() == printed[2]


@pytest.mark.parametrize("real", ["float", pytest.param("double", marks=pytest.mark.complete)])
def test_power_loss_at_each_byte_of_each_erase_and_write(real, tmp_path):
    page = 64
    words = ["-std=c99", f"-DTWO_SLOTS_PAGE={page}", f"-I{TWO_SLOTS}"]
    sources = [HERE / "programs" / "power_loss.c", TWO_SLOTS / "two_slots.c"]
    cuts = int(run(compiled(tmp_path / "power_loss", real, *words, *sources)))
    each, rest = divmod(cuts, 3 * 3)  # three saves, from three contents of the flash
    assert rest == 0
    assert each > 1024  # a slot is erased,
    assert (each - 1024) % page == 0  # and pages are written


# ---- boards ----------------------------------------------------------------------------------------------------------


def test_freertos_learns_in_a_task(tmp_path):
    stub = STUBS / "freertos"
    words = ["-std=c11", f"-I{stub}", f"-I{EXAMPLES / 'FreeRTOS'}"]
    printed = run(compiled(tmp_path / "main", "float", *words, EXAMPLES / "FreeRTOS" / "main.c", stub / "board.c"))
    # Of 20 interrupts before the task runs, the queue has places for 16.
    assert re.match(r"400 readings, 320 learned, \d\d+ times a cluster was shown", printed)


@pytest.mark.complete
def test_rp2040_goes_on_after_a_loss_of_power(tmp_path):
    build = cmake("RP2040", tmp_path, PICO_SDK_PATH=STUBS / "pico")
    seen = []
    for _ in range(2):
        printed = run(build / "learner", cwd=tmp_path)
        assert len(printed.splitlines()) == 1500  # seconds until the power is lost; it saves each 600
        seen.append(sorted(n_seen(slot, tmp_path) for slot in slots_of_pico(tmp_path)))
    assert seen == [[600, 1200], [1800, 2400]]


def slots_of_pico(folder):
    flash = (folder / "pico.flash").read_bytes()
    assert set(flash[:-8192]) == {0xFF}  # nothing else was written
    return flash[-8192:-4096], flash[-4096:]


@pytest.mark.complete
@pytest.mark.parametrize(
    ("example", "variable", "stub"), [("ESP32", "IDF_PATH", "idf"), ("Zephyr", "ZEPHYR_BASE", "zephyr")]
)
def test_boards_with_nvs_go_on_after_a_loss_of_power(example, variable, stub, tmp_path):
    build = cmake(example, tmp_path, **{variable: STUBS / stub})
    program = build / {"ESP32": "learner", "Zephyr": "app"}[example]
    restored, seen = [], []
    for _ in range(2):
        printed = run(program, cwd=tmp_path)
        assert "error" not in printed
        restored += re.findall(r"restored: (.*)", printed)
        seen.append(n_seen((tmp_path / "nvs").read_bytes(), tmp_path))
    assert restored[1] == "yes" != restored[0]
    assert seen == [6000, 12000]  # it runs for 9000 points, and saves each 6000
