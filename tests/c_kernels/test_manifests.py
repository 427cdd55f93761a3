"""The pair of files as Arduino, PlatformIO, CMake and Zephyr take it: what lies around c_kernels/amalgamation/src."""

import json
import re
import shutil
import subprocess

import pytest

import mapdpm
from repository import ROOT

FOLDER = ROOT / "c_kernels" / "amalgamation"
SKETCH = FOLDER / "examples" / "Wristband" / "Wristband.ino"
CATEGORIES = (  # of Arduino
    "Communication|Data Processing|Data Storage|Device Control|Display|Other|Sensors|Signal Input/Output|Timing"
)
MAIN = """
#include <mapdpm.h>

#include <stdio.h>

int main(void)
{
    mapdpm_options options = {0};

    options.family = MAPDPM_NORMAL_GAMMA;
    options.n_features = 1;
    options.max_clusters = 8;
    options.alpha = 1;
    options.warmup = 20;
    printf("%s %d %d %d\\n", mapdpm_version(), (int)sizeof(mapdpm_real), mapdpm_real_size(),
           mapdpm_stream_bytes(&options) > 0);
    return 0;
}
"""
# The part of Zephyr's build system that our module uses; "zephyr" is what the whole program sees.
ZEPHYR = """
add_library(zephyr INTERFACE)
function(zephyr_library_named name)
  add_library(${name} STATIC)
  target_link_libraries(${name} PUBLIC zephyr)
  set(current ${name} PARENT_SCOPE)
endfunction()
function(zephyr_library_sources)
  target_sources(${current} PRIVATE ${ARGN})
endfunction()
function(zephyr_library_compile_definitions)
  target_compile_definitions(${current} PRIVATE ${ARGN})
endfunction()
function(zephyr_include_directories)
  target_include_directories(zephyr INTERFACE ${ARGN})
endfunction()
function(zephyr_compile_definitions)
  target_compile_definitions(zephyr INTERFACE ${ARGN})
endfunction()
"""
ARDUINO_H = """
#pragma once
#include <stddef.h>
#include <stdint.h>
enum { A0 = 14, A1, A2 };
int analogRead(uint8_t pin);
void delay(unsigned long milliseconds);
void write(const char *text);
void write(double number);
struct Printer {
  void begin(unsigned long) {}
  template <class T> void print(T x) { write(x); }
  template <class T> void println(T x) { write(x); write("\\n"); }
  void print(char c) { const char text[] = {c, 0}; write(text); }
  void print(uint32_t n) { write((double)n); }
};
extern Printer Serial;
"""
# A wearer who changes posture each 100 readings: one axis after the other points up. Stops after 400, or at a problem.
WEARER = """
#include "Arduino.h"
#include <stdio.h>
#include <stdlib.h>
Printer Serial;
static int readings;
static uint32_t noise = 1;
void setup();
void loop();
void write(const char *text) { fputs(text, stdout); }
void write(double number) { printf("%g", number); }
int analogRead(uint8_t pin)
{
    noise = noise * 1664525u + 1013904223u;
    return 512 + (int)(noise >> 16) % 9 - 4 + (readings / 100 % 3 == pin - A0 ? 102 : 0);
}
void delay(unsigned long milliseconds)
{
    if (milliseconds != 100 || ++readings == 400)
        exit(0);
}
int main()
{
    for (setup();;)
        loop();
}
"""


def run(*command, cwd=None):
    """The output of a program; fails with its error output."""
    done = subprocess.run([*map(str, command)], cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def need(tool, package=None):
    if shutil.which(tool) is None:
        pytest.skip(f"there is no {tool}; apt-get install {package or tool}")
    return tool


def properties():
    lines = (FOLDER / "library.properties").read_text(encoding="utf-8").splitlines()
    assert all(re.fullmatch(r"\w+=\S.*", line) for line in lines), lines
    return dict(line.split("=", 1) for line in lines)


def platformio():
    return json.loads((FOLDER / "library.json").read_text(encoding="utf-8"))


def project():
    tomllib = pytest.importorskip("tomllib")  # Python 3.11
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


# ---- what they say ---------------------------------------------------------------------------------------------------


def test_versions_agree():
    cmake = re.search(r"^project\(mapdpm VERSION (\S+)", (FOLDER / "CMakeLists.txt").read_text(), re.MULTILINE)
    header = re.search(r'^#define MAPDPM_VERSION "(\S+)"$', (FOLDER / "src" / "mapdpm.h").read_text(), re.MULTILINE)
    versions = [cmake[1], header[1], properties()["version"], platformio()["version"]]
    assert versions == [mapdpm.__version__] * 4


def test_names_and_licence_are_those_of_the_python_package():
    package, arduino, pio = project(), properties(), platformio()
    (author,) = [author["name"] for author in package["authors"]]
    assert {arduino["name"], pio["name"]} == {package["name"]}
    assert {arduino["author"], arduino["maintainer"], pio["authors"][0]["name"]} == {author}
    assert pio["license"] == package["license"]
    assert arduino["url"] in package.get("urls", {"": arduino["url"]}).values()


def test_library_properties_has_the_fields_of_the_specification():
    fields = properties()
    required = {"name", "version", "author", "maintainer", "sentence", "paragraph", "category", "url", "architectures"}
    assert set(fields) == required | {"includes"}
    assert re.fullmatch(r"[A-Za-z0-9][\w .-]{0,62}", fields["name"])
    assert re.fullmatch(r"\d+\.\d+\.\d+", fields["version"])
    assert re.fullmatch(CATEGORIES, fields["category"])
    assert re.fullmatch(r"https://\S+", fields["url"])
    assert fields["architectures"] == "*"
    assert (FOLDER / "src" / fields["includes"]).is_file()


def test_library_json_names_files_that_there_are():
    fields = platformio()
    assert (FOLDER / "src" / fields["headers"]).is_file()
    assert len(fields["description"]) <= 255
    (example,) = fields["examples"]
    assert [FOLDER / example["base"] / file for file in example["files"]] == [SKETCH]
    assert SKETCH.parent.name == SKETCH.stem == example["name"]  # Arduino wants the folder named like the sketch


def test_module_yml_names_files_that_there_are():
    yaml = pytest.importorskip("yaml")
    module = yaml.safe_load((FOLDER / "zephyr" / "module.yml").read_text())
    assert module["name"] == "mapdpm"
    assert (FOLDER / module["build"]["cmake"] / "CMakeLists.txt").is_file()
    assert (FOLDER / module["build"]["kconfig"]).is_file()


def test_kconfig_has_a_switch_of_the_library_for_each_option():
    options = re.findall(r"^(?:menu)?config (\w+)$", (FOLDER / "zephyr" / "Kconfig").read_text(), re.MULTILINE)
    assert options[:2] == ["MAPDPM", "MAPDPM_REAL_FLOAT"]
    cmake = (FOLDER / "zephyr" / "CMakeLists.txt").read_text()
    (named,) = re.findall(r"foreach\(switch (.*)\)", cmake)
    assert options[2:] == [f"MAPDPM_{name}" for name in named.split()]
    library = (FOLDER / "src" / "mapdpm.c").read_text()
    assert all(re.search(rf"^#if(n?def| .*) *\(?{option}\b", library, re.MULTILINE) for option in options[2:])


# ---- what they make --------------------------------------------------------------------------------------------------


def consumer(folder, text, *settings):
    """The output of a small program that a CMake project with this text builds."""
    need("cmake")
    (folder / "main.c").write_text(MAIN)
    start = "cmake_minimum_required(VERSION 3.14)\nproject(consumer C)\n"
    end = "add_executable(consumer main.c)\ntarget_link_libraries(consumer PRIVATE mapdpm{})\n"
    (folder / "CMakeLists.txt").write_text(start + text + end.format("" if "zephyr" in text else "::mapdpm"))
    run("cmake", "-S", folder, "-B", folder / "build", "-DCMAKE_C_FLAGS=-Wall -Wextra -Werror", *settings)
    run("cmake", "--build", folder / "build")
    return run(folder / "build" / "consumer").split()


@pytest.mark.complete
@pytest.mark.parametrize(("real", "size"), [(None, "8"), ("double", "8"), ("float", "4")])
def test_cmake_add_subdirectory(real, size, tmp_path):
    settings = [] if real is None else [f"-DMAPDPM_REAL={real}"]
    printed = consumer(tmp_path, f'add_subdirectory("{FOLDER}" mapdpm)\n', *settings)
    assert printed == [mapdpm.__version__, size, size, "1"]


@pytest.mark.complete
def test_cmake_fetch_content_and_switches(tmp_path):
    text = f"""include(FetchContent)
set(MAPDPM_REAL float CACHE STRING "")
set(MAPDPM_SWITCHES MAPDPM_NO_WARMUP MAPDPM_CLUSTERS=8 CACHE STRING "")
FetchContent_Declare(mapdpm SOURCE_DIR "{FOLDER}")
FetchContent_MakeAvailable(mapdpm)
"""
    assert consumer(tmp_path, text) == [mapdpm.__version__, "4", "4", "0"]


@pytest.mark.complete
def test_cmake_refuses_another_real_type(tmp_path):
    need("cmake")
    command = ["cmake", "-S", FOLDER, "-B", tmp_path, "-DMAPDPM_REAL=half"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "MAPDPM_REAL is half" in done.stderr


@pytest.mark.complete
@pytest.mark.parametrize(
    ("config", "size", "has_warmup"),
    [
        (["REAL_FLOAT"], "4", "1"),
        ([], "8", "1"),
        (["REAL_FLOAT", "MISSING", "GROUPS", "STATES", "NO_WARMUP"], "4", "0"),
    ],
)
def test_zephyr_module(config, size, has_warmup, tmp_path):
    """With the functions of Zephyr that it uses replaced by small ones; Zephyr itself is not tried here."""
    settings = [f"-DCONFIG_MAPDPM{name}=y" for name in ["", *(f"_{name}" for name in config)]]
    printed = consumer(tmp_path, f'{ZEPHYR}add_subdirectory("{FOLDER / "zephyr"}" mapdpm)\n', *settings)
    assert printed == [mapdpm.__version__, size, size, has_warmup]


# ---- the sketch ------------------------------------------------------------------------------------------------------

FLAGS = ["-Os", "-Wall", "-Wextra", "-Werror", "-ffunction-sections", "-fdata-sections"]
CXX_FLAGS = [*FLAGS, "-std=gnu++11", "-fpermissive", "-fno-exceptions", "-include", "Arduino.h"]


def compile_sketch(cxx, folder, *flags):
    (folder / "Arduino.h").write_text(ARDUINO_H)
    command = [*cxx, *CXX_FLAGS, *flags, "-I.", f"-I{FOLDER / 'src'}", "-x", "c++", "-c", SKETCH, "-o", "sketch.o"]
    run(*command, cwd=folder)


@pytest.mark.complete
@pytest.mark.parametrize(
    ("cxx", "package"),
    [
        ("avr-g++ -mmcu=atmega2560", "gcc-avr avr-libc"),
        ("arm-none-eabi-g++ -mthumb -mcpu=cortex-m4", "gcc-arm-none-eabi libnewlib-arm-none-eabi"),
    ],
)
def test_sketch_compiles_with_the_flags_of_arduino(cxx, package, tmp_path):
    need(cxx.split()[0], package)
    compile_sketch(cxx.split(), tmp_path)
    cc = cxx.replace("g++", "gcc").split()
    run(*cc, *FLAGS, "-std=gnu11", "-c", FOLDER / "src" / "mapdpm.c", "-o", tmp_path / "mapdpm.o")


def what_sketch_prints(folder, real_of_library, real_of_sketch):
    need("g++")
    compile_sketch(["g++"], folder, f"-DMAPDPM_REAL={real_of_sketch}")
    run("gcc", *FLAGS, f"-DMAPDPM_REAL={real_of_library}", "-c", FOLDER / "src" / "mapdpm.c", "-o", folder / "mapdpm.o")
    (folder / "wearer.cpp").write_text(WEARER)
    run("g++", *FLAGS, "wearer.cpp", "sketch.o", "mapdpm.o", "-o", "wearer", cwd=folder)
    return run(folder / "wearer").splitlines()


@pytest.mark.complete
@pytest.mark.parametrize("real", ["float", "double"])
def test_sketch_learns_the_postures(real, tmp_path):
    readings = [line.split() for line in what_sketch_prints(tmp_path, real, real)]
    assert len(readings) == 400
    postures = [{cluster for cluster, _ in readings[start + 20 : start + 100]} for start in range(0, 400, 100)]
    assert [len(clusters) for clusters in postures] == [1, 1, 1, 1]
    assert len(set.union(*postures)) == 3
    assert postures[3] == postures[0]
    scores = [float(score) for _, score in readings]
    strange = [scores[start] for start in (100, 200)]
    assert max(strange) < min(scores[120:200] + scores[220:])


@pytest.mark.complete
def test_a_library_of_another_real_type_does_not_link(tmp_path):
    with pytest.raises(AssertionError, match="mapdpm_init_float"):
        what_sketch_prints(tmp_path, "double", "float")
