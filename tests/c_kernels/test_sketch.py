"""The Arduino sketch: it compiles with the flags of Arduino, and learns on a board that is made up."""

import pytest

from compiling import FOLDER, SKETCH, links, need, run

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
    linked = links("g++", *FLAGS, "wearer.cpp", "sketch.o", "mapdpm.o", "-o", "wearer", cwd=folder)
    return run(folder / "wearer").splitlines() if linked else []


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
    assert what_sketch_prints(tmp_path, "double", "float") == []
