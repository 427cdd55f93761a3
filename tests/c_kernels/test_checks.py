"""The checks of the C library, c_kernels/checks: that they pass, and that they find bugs that are planted."""

import shutil
import subprocess
import sys

import pytest

from repository import ROOT

CHECKS = ROOT / "c_kernels" / "checks"


def printed_by(name, *arguments):
    run = subprocess.run([sys.executable, CHECKS / name, *arguments], check=False, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cppcheck") is None, reason="no cppcheck (apt-get install cppcheck)")
def test_deviations_from_misra_are_stated():
    said = printed_by("misra.py")
    if said.startswith("skipped"):
        pytest.skip(said.strip())
    assert "all of them stated" in said


@pytest.mark.slow
@pytest.mark.skipif(
    not all(shutil.which(tool) for tool in ("gcc", "clang", "arm-none-eabi-gcc", "qemu-system-arm")),
    reason="no gcc, clang, arm-none-eabi-gcc or qemu-system-arm (apt-get install those)",
)
def test_planted_bugs_are_found():
    said = printed_by("planted.py").splitlines()
    assert len(said) == 3
    assert not any("NOT FOUND" in line or "skipped" in line for line in said)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("frama-c") is None, reason="no frama-c (apt-get install frama-c-base)")
def test_eva_has_no_alarms():
    said = printed_by("eva.py", "--case", "least learner").splitlines()
    assert len(said) == 4
    assert all(": 0 alarms" in line for line in said)
