"""The pytest plugin, with a program instead of ``ptxkit`` and a log that the tests themselves write."""

import os
import stat
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

# Runs the command after `--`, as `ptxkit exec` does.
PROGRAM = """\
#!/bin/sh
echo "options: $*"
export PTXKIT_CUDA_REPORT="$(dirname "$0")/reports"
mkdir -p "$PTXKIT_CUDA_REPORT"
while [ "$1" != -- ]; do shift; done
shift
exec "$@"
"""

TESTS = """\
import json, os

def write(event):
    with open(f"{os.environ['PTXKIT_CUDA_REPORT']}/{os.getpid()}-1.jsonl", "a") as file:
        print(json.dumps(event), file=file)

def test_clean():
    write({"event": "process", "process": os.getpid(), "program": "python"})

def test_first():
    diagnostic = {"code": "PTX1441", "span": [0, 1], "message": "racecheck: write", "labels": [], "help": "add a barrier"}
    write({"event": "finding", "finding": 0, "module": 0, "kernel": "k", "launch": 1, "ended_launch": False, "occurrences": 1, "diagnostic": diagnostic})

def test_between():
    pass

def test_again():
    write({"event": "again", "finding": 0, "occurrences": 3})
"""


@pytest.fixture
def session(tmp_path):
    program = tmp_path / "ptxkit"
    program.write_text(PROGRAM)
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    (tmp_path / "test_kernels.py").write_text(TESTS)

    def run(*options):
        environment = {name: value for name, value in os.environ.items() if name != "PTXKIT_CUDA_REPORT"}
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options, "test_kernels.py"]
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)

    return run


def test_tests_with_findings_fail(session):
    options = ["--ptxkit", "--ptxkit-program=./ptxkit", "--ptxkit-check", "racecheck", "--ptxkit-options=--first 3"]
    result = session("-v", *options)
    assert "options: exec --check racecheck --first 3 -- " in result.stdout
    verdicts = {name: f"::{name} {verdict}" in result.stdout for name, verdict in
                [("test_clean", "PASSED"), ("test_first", "FAILED"), ("test_between", "PASSED"), ("test_again", "FAILED")]}
    assert all(verdicts.values()), result.stdout
    assert result.stdout.count("PTX1441: racecheck: write") >= 2
    assert "help: add a barrier" in result.stdout
    assert result.returncode == 1


def test_a_missing_program_is_an_error(session):
    result = session("--ptxkit", "--ptxkit-program=./missing")
    assert result.returncode == 4
    assert "--ptxkit-program" in result.stderr


# The wheel of the checks contains it, one from `pip install ./bindings/python` need not.
INSTALLED = Path(sysconfig.get_path("scripts"), "ptxkit")


@pytest.mark.skipif(not sys.platform.startswith("linux") or not INSTALLED.exists(), reason="the wheel was built without the program")
def test_the_installed_program_and_its_library_are_found(tmp_path):
    (tmp_path / "test_driver.py").write_text("""\
import ctypes

def test_count():
    driver = ctypes.CDLL("libcuda.so.1")
    count = ctypes.c_int()
    assert driver.cuInit(0) == 0
    assert driver.cuDeviceGetCount(ctypes.byref(count)) == 0
    assert count.value == 1
""")
    environment = {name: value for name, value in os.environ.items() if name not in ("PTXKIT_CUDA_REPORT", "PTXKIT_CUDA_LIBRARY")}
    environment["PATH"] = "/usr/bin:/bin"
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--ptxkit"]
    result = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "1 passed" in result.stdout
