"""The wrapper for C++, c_kernels/amalgamation/src/mapdpm.hpp: the bits of the C functions, without a C++ library."""

import pytest

from compiling import SOURCE, library_object, links, need, run
from repository import ROOT

PROGRAMS = ROOT / "tests" / "c_kernels" / "programs"
CXX_FLAGS = ["-O1", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wsign-conversion", "-Wshadow", "-Werror"]
CXX_FLAGS += ["-fno-exceptions", "-fno-rtti", f"-I{SOURCE}"]
CHIPS = {
    "avr-g++ -mmcu=atmega2560": "gcc-avr avr-libc",
    "arm-none-eabi-g++ -mthumb -mcpu=cortex-m4 -mfloat-abi=hard -mfpu=fpv4-sp-d16 --specs=nosys.specs":
        "gcc-arm-none-eabi libnewlib-arm-none-eabi",
}  # fmt: skip


@pytest.mark.complete
@pytest.mark.parametrize(
    ("cxx", "standard", "real"),
    [
        ("g++", 11, "float"),
        ("g++", 17, "double"),
        ("clang++", 17, "float"),
    ],
)
def test_wrapper_gives_the_bits_of_the_c_functions(cxx, standard, real, tmp_path):
    flags = [f"-std=c++{standard}", *CXX_FLAGS, f"-DMAPDPM_REAL={real}"]
    run(need(cxx), *flags, PROGRAMS / "wrapper.cpp", library_object(real), "-o", tmp_path / "wrapper")
    assert run(tmp_path / "wrapper") == ""


def test_wrapper_does_not_link_with_a_library_of_another_real_type(tmp_path):
    need("g++")
    program = tmp_path / "main.cpp"
    program.write_text(
        "#include <mapdpm.hpp>\n"
        "int main()\n{\n"
        "    mapdpm::Learner<1, 2> learner;\n"
        "    const mapdpm::real one[1] = {1};\n"
        "    return learner.init(one, one);\n"
        "}\n"
    )
    command = ["g++", "-std=c++11", *CXX_FLAGS, program, library_object("float"), "-o", tmp_path / "main"]
    assert links(*command, "-DMAPDPM_REAL=float")
    assert not links(*command, "-DMAPDPM_REAL=double")


@pytest.mark.complete
@pytest.mark.parametrize("cxx", CHIPS)
def test_wrapper_links_for_chips_without_a_library_of_c_plus_plus(cxx, tmp_path):
    words = cxx.split()
    need(words[0], CHIPS[cxx])
    cc = [words[0].replace("g++", "gcc"), *words[1:]]
    small = ["-Os", "-DMAPDPM_REAL=float", "-ffunction-sections", "-fdata-sections"]
    run(*cc, *small, "-std=c99", "-c", SOURCE / "mapdpm.c", "-o", tmp_path / "mapdpm.o")
    source = PROGRAMS / "wrapper_on_chip.cpp"
    run(*words, "-std=c++11", *CXX_FLAGS, *small, "-c", source, "-o", tmp_path / "firmware.o")
    objects = [tmp_path / "firmware.o", tmp_path / "mapdpm.o"]
    run(*cc, *objects, "-Wl,--gc-sections", "-o", tmp_path / "firmware")  # linked as C: no libstdc++, no runtime of it
