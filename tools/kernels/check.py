#!/usr/bin/env python3
"""Runs kernels of current compilers, and copies with one planted bug, with `ptxkit run`.

    check.py PROGRAM [FOLDER]

FOLDER/kernels contains PTX files. Their kernels are recognized by name (`triton.py`, `cuda.py`), get random inputs, and are compared with NumPy: without
checkers, with all checkers in several orders of warps and CTAs, and, if the program has the option `--async`, with asynchronous operations that are
performed late. FOLDER/mutants contains copies of them with one planted bug; INDEX.tsv names the original and the change. A planted bug is found if a
checker reports something that it does not report for the original, or if a launch ends with an error. With `--exec`, a CUDA program launches the kernels. FOLDER is `../shared/modern` by default, and
may be absent. Needs NumPy.
"""

import argparse
import concurrent.futures
import csv
import dataclasses
import os
import pathlib
import sys

import numpy as np

import cuda
import triton
from case import Output
from driver import DriverProgram
from program import ALL_CHECKERS, Program, write_script
from ptx import Unknown, read_kernels

CASES = {**triton.CASES, **cuda.CASES}

CHECK = ["--check", ALL_CHECKERS]

# The most findings of a correct kernel that are printed.
MOST_FINDINGS = 4

RESULTS = {
    "found": "found",
    "changed": "not found, with other results",
    "equal": "not found, with the same results",
    "not run": "not run",
}


@dataclasses.dataclass
class Mode:
    """Options with which cases run. `is_slow` excludes large cases."""

    name: str
    options: list
    is_slow: bool = True


def modes(program, orders):
    """All ways in which cases run, the fastest first."""
    result = [Mode("plain", [], False), Mode("checked", CHECK, False)]
    if orders == 0:
        return result
    if program.has_schedule:
        for order in ("seed:1", "starve:0", "delay:0"):
            result.append(Mode(order, ["--schedule", order]))
    result.append(Mode("orders", [*CHECK, "--schedules", str(orders)]))
    if program.has_async:
        for time in ("late", "random:1", "random:2"):
            result.append(Mode(f"async {time}", [*CHECK, "--async", time]))
    return result


class Subject:
    """A kernel of a file with its cases."""

    def __init__(self, program, path, kernel):
        self.path = path
        self.cases = list(CASES[kernel.name](kernel))
        self.shared = program.needed_shared(path, self.cases) if kernel.has_dynamic_shared else 0

    def outcomes(self, program, mode, path=None):
        """The outcomes of the cases in a mode, of the kernel in another file if there is a path."""
        for case in self.cases:
            if not (case.is_large and mode.is_slow):
                yield case, program.run(path or self.path, case, self.shared, mode.options)


class Row:
    """The results of a correct kernel: `state` is `right`, `wrong`, `refused` (an instruction is not supported) or `unknown` (no arguments)."""

    def __init__(self, name, state, text, subject=None, findings=()):
        self.name = name
        self.state = state
        self.text = text
        self.subject = subject
        self.findings = set(findings)


def check_kernel(program, path, kernel, orders):
    """The row of a correct kernel."""
    name = f"{path.name}: {kernel.name}"
    if kernel.name not in CASES:
        return Row(name, "unknown", "no cases for a kernel of this name")
    try:
        subject = Subject(program, path, kernel)
    except Unknown as error:
        return Row(name, "unknown", f"not found in the text: {error}")
    names, texts, findings = [], [], set()
    for mode in modes(program, orders):
        for case, outcome in subject.outcomes(program, mode):
            if outcome.unsupported():
                return Row(name, "refused", outcome.unsupported(), subject)
            if not outcome.is_right():
                return Row(name, "wrong", f"{mode.name}, {case.name}: {outcome.describe()}", subject, findings)
            new = [finding for finding in outcome.findings if finding.key() not in findings]
            findings.update(finding.key() for finding in new)
            texts += [f"\n    {mode.name}, {case.name}: {finding.code} {finding.message}" for finding in new]
        names.append(mode.name)
    text = f"{len(subject.cases)} cases ({', '.join(names)}), {subject.shared} bytes of dynamic shared memory"
    if len(texts) > MOST_FINDINGS:
        texts[MOST_FINDINGS:] = [f"\n    and {len(texts) - MOST_FINDINGS} more findings"]
    return Row(name, "right", text + "".join(texts), subject, findings)


def changed_kernels(original, mutant):
    """The names of the kernels with different texts, or of all kernels if another part of the file differs."""
    originals = read_kernels(original)
    kernels = read_kernels(mutant)
    changed = [name for name, kernel in kernels.items() if name not in originals or originals[name].body != kernel.body]
    return changed or list(kernels)


def check_mutant(program, path, row, orders):
    """What is found in a copy with a planted bug: a key of `RESULTS`, and a description."""
    changed = None
    for mode in modes(program, orders):
        for case, outcome in row.subject.outcomes(program, mode, path):
            if not outcome.is_right() and changed is None:
                changed = f"{mode.name}, {case.name}: {outcome.describe()}"
            new = [finding for finding in outcome.findings if finding.key() not in row.findings]
            if new or not outcome.ended:
                description = f"{new[0].code} {new[0].message}" if new else "no end"
                suffix = f"; {changed}" if changed and outcome.ended else ""
                return "found", f"{mode.name}, {case.name}: {description}{suffix}"
    return ("changed", changed) if changed else ("equal", "no finding")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("program")
    parser.add_argument("folder", nargs="?", type=pathlib.Path)
    parser.add_argument("--filter", default="", help="only files and mutants whose names contain this text")
    parser.add_argument("--originals", type=pathlib.Path, help="a folder with further originals of mutants")
    parser.add_argument("--orders", type=int, default=6, help="the number of orders of warps and CTAs; with 0, no others and no late operations are tried")
    parser.add_argument("--timeout", type=float, default=300, help="seconds that a run may last")
    parser.add_argument("--exec", action="store_true", help="run a client of the CUDA driver with `ptxkit exec`")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="the number of concurrent runs")
    parser.add_argument("--write", type=pathlib.Path, help="only write the scripts and inputs of the kernels to this folder")
    parser.add_argument("--require", action="store_true", help="fail on wrong results, on findings, on kernels that are refused or have no cases, and on planted bugs that change results and are not found")
    arguments = parser.parse_args()
    folder = arguments.folder or pathlib.Path(__file__).resolve().parents[2].parent / "shared" / "modern"
    if not folder.is_dir():
        print(f"IGNORED: the folder {folder} does not exist")
        return 0
    program = (DriverProgram if arguments.exec else Program)(arguments.program, arguments.timeout)
    if arguments.write:
        write_scripts(program, folder, arguments)
        return 0
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as executor:
        failed = check_folder(program, folder, arguments, executor)
    return int(arguments.require and failed)


def write_scripts(program, folder, arguments):
    """Writes a folder with `script.toml`, inputs and expected values for each case, to run it by hand."""
    for path in sorted(folder.glob(f"kernels/*{arguments.filter}*.ptx")):
        for kernel in read_kernels(path).values():
            subject = Subject(program, path, kernel)
            for number, case in enumerate(subject.cases):
                place = arguments.write / f"{path.stem}.{kernel.name}.{number}"
                place.mkdir(parents=True, exist_ok=True)
                write_script(case, subject.shared, place)
                for name, buffer in case.buffers.items():
                    if isinstance(buffer, Output):
                        np.save(place / f"{name}.expected.npy", buffer.expected)
                print(f"{program.path} run {path} --script {place}/script.toml")


def check_folder(program, folder, arguments, executor):
    """Prints the tables and the sums. Returns whether something fails that `--require` requires."""
    index = folder / "mutants" / "INDEX.tsv"
    mutants = list(csv.DictReader(index.open(), delimiter="\t")) if index.exists() else []
    wanted = {mutant["original"] for mutant in mutants if arguments.filter in mutant["file"]}
    paths = sorted(path for place in (folder / "kernels", arguments.originals) if place for path in place.glob("*.ptx"))
    futures = {
        (path.name, name): executor.submit(check_kernel, program, path, kernel, arguments.orders)
        for path in paths
        if arguments.filter in path.name or path.name in wanted
        for name, kernel in read_kernels(path).items()
    }
    rows = {}
    for key, future in futures.items():
        rows[key] = row = future.result()
        print(f"{row.state:8} {row.name}: {row.text}", flush=True)
    states = [row.state for row in rows.values()]
    counts = ", ".join(f"{states.count(state)} {state}" for state in ("right", "wrong", "refused", "unknown"))
    with_findings = sum(bool(row.findings) for row in rows.values())
    print(f"{len(rows)} kernels: {counts}; {with_findings} with findings\n")
    failed = any(state != "right" for state in states) or with_findings > 0
    originals = {path.name: path for path in paths}
    return check_mutants(program, folder, mutants, originals, rows, arguments, executor) or failed


def check_mutants(program, folder, mutants, originals, rows, arguments, executor):
    """Prints the table of planted bugs. Returns whether one that changes results is not found."""
    submitted = []
    for mutant in mutants:
        if arguments.filter not in mutant["file"]:
            continue
        path = folder / "mutants" / mutant["file"]
        original = originals.get(mutant["original"])
        names = changed_kernels(original, path) if original else [None]
        for name in names:
            row = rows.get((mutant["original"], name))
            future = None
            if row and row.state == "right":
                future = executor.submit(check_mutant, program, path, row, arguments.orders)
            submitted.append((mutant, future))
    results = []
    for mutant, future in submitted:
        result, description = future.result() if future else ("not run", "the original does not run")
        results.append(result)
        print(f"{result:8} {mutant['file']}: {mutant['what was changed']}\n    {description}", flush=True)
    print(f"{len(results)} planted bugs: " + ", ".join(f"{results.count(result)} {text}" for result, text in RESULTS.items()))
    return "changed" in results


if __name__ == "__main__":
    sys.exit(main())
