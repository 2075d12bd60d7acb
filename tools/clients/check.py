#!/usr/bin/env python3
"""Runs CUDA programs and libraries from PyPI and crates.io, unmodified, with `ptxkit exec`.

    check.py PROGRAM PYTHON [--cudarc PROGRAM] [--nightly] [--only TEXT]

PYTHON is the interpreter of an environment with the packages. Each run prints a line for each of its tests. A run fails if a test fails that `known.tsv` does not
list with its reason, if fewer tests pass than its bar, or if the checkers report something. `--nightly` runs all tests of numba-cuda.
"""

import argparse
import concurrent.futures
import csv
import dataclasses
import fnmatch
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
CHECKERS = ["--check", "memcheck,initcheck,synccheck,racecheck"]
# Seconds after which a launch ends, and after which a run does.
LAUNCH_SECONDS = 600
RUN_SECONDS = 3600

# The modules of the tests of numba-cuda that run in each check: together they take less than a minute of a processor.
NUMBA_MODULES = (HERE / "numba_modules.txt").read_text().split()


@dataclasses.dataclass
class Run:
    """A run: its name, options of `ptxkit exec`, a command, the tests that must pass at least, and variables of the environment."""

    name: str
    options: list
    command: list
    least: int
    variables: dict = dataclasses.field(default_factory=dict)


@dataclasses.dataclass
class Outcome:
    """The names of the tests, with reasons where they did not pass; the summary and other lines of standard error; and the exit status."""

    passed: list
    skipped: dict
    failed: dict
    errors: list
    status: int
    seconds: float


def package_folder(python):
    """The folder of the packages of an environment."""
    code = "import sysconfig; print(sysconfig.get_paths()['purelib'])"
    return pathlib.Path(subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip())


def numba_runs(packages, nightly):
    """The tests of numba-cuda, a process for several modules. In the nightly form, one for each module."""
    options = ["--hide", "nvjitlink"]
    unit = [str(HERE / "unit.py")]
    if not nightly:
        half = len(NUMBA_MODULES) // 2
        parts = NUMBA_MODULES[:half], NUMBA_MODULES[half:]
        return [Run(f"numba-cuda {number}", options, [*unit, *part], least) for number, part, least in zip((1, 2), parts, (80, 88))]
    root = packages / "numba_cuda" / "numba" / "cuda" / "tests"
    runs = []
    for path in sorted(root.glob("*/test_*.py")):
        name = f"{path.parent.name}.{path.stem}"
        runs.append(Run(f"numba-cuda {name}", options, [*unit, f"numba.cuda.tests.{name}"], 0))
    return runs


def all_runs(arguments):
    packages = package_folder(arguments.python)
    toolkit = packages / "nvidia" / "cu13"
    unit = [str(HERE / "unit.py")]
    triton = [str(HERE / "triton" / "main.py")]
    tinygrad = {"LD_LIBRARY_PATH": str(toolkit / "lib"), "CUDA_PATH": str(toolkit)}
    runs = [
        Run(f"Triton, compute capability {capability}", ["--cc", capability, *CHECKERS], triton, least)
        for capability, least in (("9.0", 82), ("10.0", 85), ("8.0", 76))
    ]
    runs += numba_runs(packages, arguments.nightly)
    runs += [
        Run("tinygrad, CUDA", CHECKERS, [*unit, "tinygrad_tests"], 59, {**tinygrad, "DEV": "CUDA", "RENDERER": "CUDARenderer"}),
        Run("tinygrad, PTX", CHECKERS, [*unit, "tinygrad_tests"], 59, {"DEV": "CUDA:PTX", "RENDERER": "PTXRenderer"}),
        Run("cuda.core, 8.0", ["--hide", "nvjitlink", "--replace", "nvrtc", *CHECKERS], [*unit, "core_tests"], 9),
        Run("cuda.core, 9.0", ["--cc", "9.0", "--hide", "nvjitlink", "--replace", "nvrtc", *CHECKERS], [*unit, "core_tests"], 10),
    ]
    if arguments.cudarc:
        nvrtc = {"LD_LIBRARY_PATH": str(toolkit / "lib")}
        runs.append(Run("cudarc", ["--cc", "9.0", *CHECKERS], [arguments.cudarc], 8, nvrtc))
    return [run for run in runs if arguments.only in run.name]


def execute(arguments, run, folder):
    """Executes a run, whose caches are in a separate folder."""
    home = pathlib.Path(folder) / re.sub(r"\W+", "-", run.name)
    home.mkdir()
    variables = {
        **os.environ,
        "HOME": str(home),
        "XDG_CACHE_HOME": str(home),
        "TRITON_CACHE_DIR": str(home / "triton"),
        "NUMBA_CACHE_DIR": str(home / "numba"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": str(HERE),
        **run.variables,
    }
    interpreter = [arguments.python] if run.command[0].endswith(".py") else []
    command = [arguments.program, "exec", *run.options, "--timeout", str(LAUNCH_SECONDS), "--", *interpreter, *run.command]
    start = time.monotonic()
    try:
        process = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=RUN_SECONDS, env=variables, cwd=home)
        output, errors, status = process.stdout, process.stderr, process.returncode
    except subprocess.TimeoutExpired as error:
        output, errors, status = (error.stdout or b"").decode(), f"no end after {RUN_SECONDS} s", 124
    outcome = Outcome([], {}, {}, errors.splitlines(), status, time.monotonic() - start)
    for line in output.splitlines():
        match = re.match(r"(passed|skipped|failed) (\S+?)(?:: (.*))?$", re.sub(r" \([\d.]+ s\)$", "", line))
        if match:
            kind, name, reason = match.groups()
            if kind == "passed":
                outcome.passed.append(name)
            else:
                getattr(outcome, kind)[name] = reason or ""
    return outcome


def known_reason(known, run, name):
    """The reason for which a test is known to fail, or `None`."""
    for row in known:
        if run.name.startswith(row["client"]) and fnmatch.fnmatch(name, row["test"]):
            return row["reason"]
    return None


def report(run, outcome, known):
    """Prints the outcome of a run. Returns whether it is as required."""
    reasons = {name: known_reason(known, run, name) for name in outcome.failed}
    new = [name for name, reason in reasons.items() if not reason]
    findings = [line for line in outcome.errors if re.search(r"\b(error|warning)\[PTX\d+\]", line)]
    count = len(outcome.passed) + len(outcome.failed)
    print(f"{run.name}: {len(outcome.passed)} of {count} passed, {len(outcome.skipped)} skipped, {outcome.seconds:.0f} s", flush=True)
    for name, reason in reasons.items():
        if reason:
            print(f"    known: {name}: {reason}")
    for name in new:
        print(f"    FAILED: {name}: {outcome.failed[name]}")
    problems = len(new)
    if len(outcome.passed) < run.least:
        problems += 1
        print(f"    FEWER than {run.least} passed; exit status {outcome.status}")
    # Tests of numba-cuda cause errors of kernels themselves.
    if "--check" in run.options and findings:
        problems += 1
        print(*(f"    FINDING: {line}" for line in findings[:9]), sep="\n")
    if problems or outcome.status not in (0, 1):
        print(*(f"    | {line}" for line in outcome.errors[-9:]), sep="\n")
    return problems == 0 and outcome.status in (0, 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("program", help="ptxkit")
    parser.add_argument("python")
    parser.add_argument("--cudarc", help="the built program of the folder cudarc")
    parser.add_argument("--nightly", action="store_true")
    parser.add_argument("--only", default="", help="only runs whose names contain this text")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="the number of concurrent runs")
    arguments = parser.parse_args()
    for name in ("program", "python", "cudarc"):
        if getattr(arguments, name):
            setattr(arguments, name, os.path.abspath(getattr(arguments, name)))
    with (HERE / "known.tsv").open() as file:
        known = list(csv.DictReader(file, delimiter="\t"))
    passed, failed = 0, 0
    is_right = True
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(arguments.jobs) as executor:
        futures = [(run, executor.submit(execute, arguments, run, folder)) for run in all_runs(arguments)]
        for run, future in futures:
            outcome = future.result()
            passed += len(outcome.passed)
            failed += len(outcome.failed)
            is_right &= report(run, outcome, known)
    print(f"{passed} of {passed + failed} tests passed")
    return int(not is_right)


if __name__ == "__main__":
    sys.exit(main())
