"""The pair of files as CMake, Zephyr and ESP-IDF build it, by the files of c_kernels/amalgamation.

Zephyr and ESP-IDF are not here: small functions stand in for those of their build systems that the files use.
"""

import shutil

import pytest

import mapdpm
from compiling import FOLDER, KERNELS, SOURCE, STUBS, finished, kconfig_options, need, run
from repository import ROOT

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
ZEPHYR = f'include("{STUBS / "zephyr" / "library.cmake"}")\n'
# The part of ESP-IDF's build system that our component uses. It reads a component twice: first for its requirements,
# when there are no options yet and idf_component_register returns.
ESP_IDF = """
set(ESP_PLATFORM 1)
macro(idf_component_register)
  if(COLLECTS_REQUIREMENTS)
    return()
  endif()
  cmake_parse_arguments(register "" "" "SRCS;INCLUDE_DIRS" ${ARGN})
  add_library(mapdpm STATIC ${register_SRCS})
  target_include_directories(mapdpm PUBLIC ${register_INCLUDE_DIRS})
  set(COMPONENT_LIB mapdpm)
endmacro()
"""


def consumer(folder, text, *settings):
    """The output of a small program that a CMake project with this text builds."""
    need("cmake")
    (folder / "main.c").write_text(MAIN)
    start = "cmake_minimum_required(VERSION 3.14)\nproject(consumer C)\n"
    end = "add_executable(consumer main.c)\ntarget_link_libraries(consumer PRIVATE mapdpm{})\n"
    (folder / "CMakeLists.txt").write_text(
        start + text + end.format("" if "zephyr" in text or "idf" in text else "::mapdpm")
    )
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


def test_cmake_makes_the_pair_in_a_checkout(tmp_path):
    shutil.copy(ROOT / "LICENSE", tmp_path)
    ignored = shutil.ignore_patterns("build", "examples", "firmware", "fuzz", "tests")
    copy = shutil.copytree(KERNELS, tmp_path / "c_kernels", ignore=ignored)
    pair = [copy / "amalgamation" / "src" / name for name in ("mapdpm.c", "mapdpm.h")]
    for path in pair:
        path.unlink()
    run(need("cmake"), "-P", copy / "amalgamation" / "pair.cmake")
    assert [path.read_bytes() for path in pair] == [(SOURCE / path.name).read_bytes() for path in pair]


@pytest.mark.complete
def test_cmake_refuses_another_real_type(tmp_path):
    need("cmake")
    done = finished("cmake", "-S", FOLDER, "-B", tmp_path, "-DMAPDPM_REAL=half")
    assert done.returncode != 0
    assert "MAPDPM_REAL is half" in done.stderr


@pytest.mark.complete
@pytest.mark.parametrize(
    ("config", "size", "has_warmup"),
    [
        (["REAL_FLOAT"], "4", "1"),
        ([], "8", "1"),
        (["REAL_FLOAT", "MISSING", "GROUPS", "STATES", "NO_WARMUP"], "4", "0"),
        (["REAL_FLOAT", "CLUSTERS=8", "FEATURES=1"], "4", "1"),
        (["REAL_FLOAT", "CLUSTERS=7"], "4", "0"),
        (["REAL_FLOAT", "WHEN_FULL_REFUSE"], "4", "0"),
    ],
)
@pytest.mark.parametrize("system", ["zephyr", "esp_idf"])
def test_zephyr_module_and_esp_idf_component(system, config, size, has_warmup, tmp_path):
    settings = [f"-DCONFIG_MAPDPM_{name}{'' if '=' in name else '=y'}" for name in config]
    if system == "esp_idf":
        text = f'{ESP_IDF}set(COLLECTS_REQUIREMENTS 1)\nadd_subdirectory("{FOLDER}" requirements)\n'
        text += f'unset(COLLECTS_REQUIREMENTS)\nadd_subdirectory("{FOLDER}" mapdpm)\n'
        assert consumer(tmp_path, text, *settings) == [mapdpm.__version__, size, size, has_warmup]
        return
    settings.append("-DCONFIG_MAPDPM=y")
    printed = consumer(tmp_path, f'{ZEPHYR}add_subdirectory("{FOLDER / "zephyr"}" mapdpm)\n', *settings)
    assert printed == [mapdpm.__version__, size, size, has_warmup]


def definitions(*settings, folder):
    """What kconfig.cmake makes of settings such as "FEATURES=3": the real type, and the switches."""
    script = folder / "print.cmake"
    show = 'message("${mapdpm_real}")\nforeach(switch ${mapdpm_switches})\nmessage("${switch}")\nendforeach()\n'
    script.write_text(f'include("{FOLDER / "kconfig.cmake"}")\n{show}')
    done = finished(need("cmake"), *(f"-DCONFIG_MAPDPM_{setting}" for setting in settings), "-P", script)
    assert done.returncode == 0, done.stderr
    return done.stderr.split()


def test_each_kconfig_option_makes_its_definition(tmp_path):
    assert definitions(folder=tmp_path) == ["MAPDPM_REAL=double"]
    for option in set(kconfig_options()) - {"REAL_FLOAT", "WHEN_FULL_ANY"}:
        policy = option.startswith("WHEN_FULL_")
        value = "3" if option in {"FEATURES", "CLUSTERS"} else "y"
        made = f"MAPDPM_{option}{'=3' if value == '3' else ''}"
        made = option.replace("WHEN_FULL_", "MAPDPM_WHEN_FULL=MAPDPM_FULL_") if policy else made
        assert definitions("REAL_FLOAT=y", f"{option}={value}", folder=tmp_path) == ["MAPDPM_REAL=float", made]
    assert definitions("FEATURES=0", "CLUSTERS=0", "WHEN_FULL_ANY=y", folder=tmp_path) == ["MAPDPM_REAL=double"]
