"""Runs cases with `ptxkit run` and compares the buffers with the expected values."""

import dataclasses
import json
import pathlib
import subprocess
import tempfile

import numpy as np

from case import Input, Output, Scratch

# The most shared memory of a CTA that a target has, in bytes.
MOST_SHARED = 227 * 1024

ALL_CHECKERS = "memcheck,initcheck,synccheck,racecheck"

# The code of an instruction that the machine does not support.
UNSUPPORTED = "PTX1308"


@dataclasses.dataclass
class Finding:
    """A finding of a checker, or the error that ended a launch."""

    code: str
    message: str
    # The text of the line with single spaces: it is the same in a copy of the file in which other lines differ.
    line: str

    def key(self):
        return self.code, self.line


@dataclasses.dataclass
class Outcome:
    """The outcome of a run: whether all launches ended, the findings, and how many elements of which buffers are wrong."""

    ended: bool
    findings: list
    wrong: list
    # The executed instructions of warps in the launches that ended.
    steps: int = 0

    def is_right(self):
        return self.ended and not self.wrong

    def unsupported(self):
        """The message about an instruction that the machine does not support, or `None`."""
        return next((finding.message for finding in self.findings if finding.code == UNSUPPORTED), None)

    def describe(self):
        if self.findings and not self.ended:
            return f"{self.findings[-1].code}: {self.findings[-1].message}"
        if not self.ended:
            return "no end"
        if self.wrong:
            return "wrong: " + ", ".join(self.wrong)
        return "right"


class Program:
    """The program, and the time in seconds that a run may last. `has_schedule` states whether it has an option for one order of warps and CTAs."""

    has_schedule = True

    def __init__(self, path, timeout):
        self.path = str(path)
        self.timeout = timeout
        options = subprocess.run([self.path, "run", "--help"], capture_output=True, text=True, check=True).stdout
        self.has_async = "--async" in options

    def run(self, path, case, shared, options=()):
        """Runs a case of the kernels in a file, with a size of dynamic shared memory."""
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            write_script(case, shared, folder)
            command = [self.path, "run", str(path), "--script", str(folder / "script.toml"), "--format", "json", *options]
            try:
                process = subprocess.run(command, capture_output=True, text=True, timeout=self.timeout)
            except subprocess.TimeoutExpired:
                return Outcome(False, [], [])
            lines = process.stdout.strip().splitlines()
            if not lines:
                # A wrong argument, or a crash.
                message = process.stderr.strip() or f"exit status {process.returncode}"
                return Outcome(False, [Finding("error", message.splitlines()[0], "")], [])
            report = json.loads(lines[-1])
            text = pathlib.Path(path).read_text().splitlines()
            findings = [finding_of(diagnostic, text) for diagnostic in report["diagnostics"]]
            wrong = wrong_buffers(case, folder) if report["done"] else []
            steps = sum(launch["steps"] or 0 for launch in report["launches"])
            return Outcome(report["done"], findings, wrong, steps)

    def needed_shared(self, path, cases):
        """The least dynamic shared memory, as a multiple of 128 bytes, with which no access of the cases is outside of it. For kernels that do not run,
        the most that a CTA can have."""
        needed = 0
        for case in cases:
            if case.is_large:
                continue
            longest = self.run(path, case, MOST_SHARED)
            if not longest.ended:
                return MOST_SHARED
            # A kernel whose accesses are skipped may wait without end.
            options = ["--check", "memcheck", "--max-steps", str(2 * longest.steps + 10_000)]

            def is_enough(size):
                outcome = self.run(path, case, size, options)
                return outcome.ended and not outcome.findings

            if is_enough(needed):
                continue
            too_small, enough = needed // 128, MOST_SHARED // 128
            while enough - too_small > 1:
                middle = (too_small + enough) // 2
                if is_enough(128 * middle):
                    enough = middle
                else:
                    too_small = middle
            needed = 128 * enough
        return needed


def finding_of(diagnostic, text):
    line = diagnostic["span"]["line"] if diagnostic.get("span") else 0
    source = " ".join(text[line - 1].split()) if 0 < line <= len(text) else ""
    return Finding(diagnostic["code"], diagnostic["message"], source)


def write_script(case, shared, folder):
    """Writes the inputs and `script.toml`."""
    lines = ["[buffers]"]
    for name, buffer in case.buffers.items():
        if isinstance(buffer, Scratch):
            lines.append(f'{name} = "scratch:{buffer.bytes}"')
        elif isinstance(buffer, Input):
            np.save(folder / f"{name}.npy", buffer.values)
            lines.append(f'{name} = "in:{name}.npy"')
        else:
            np.save(folder / f"{name}.npy", np.zeros_like(buffer.expected))
            lines.append(f'{name} = "inout:{name}.npy:{name}.out.npy"')
    for launch in case.launches:
        arguments = [f'"buffer:{value}"' if value in case.buffers else str(value) for value in launch.arguments]
        lines += [
            "[[launch]]",
            f'kernel = "{launch.kernel}"',
            f"grid = {launch.grid}",
            f"block = {launch.block}",
            f"shared = {shared}",
            f"args = [{', '.join(arguments)}]",
        ]
    (folder / "script.toml").write_text("\n".join(lines) + "\n")


def wrong_buffers(case, folder):
    """Descriptions of the buffers with elements that differ from the expected ones by more than allowed."""
    descriptions = []
    for name, buffer in case.buffers.items():
        if not isinstance(buffer, Output):
            continue
        differs = buffer.wrong_elements(np.load(folder / f"{name}.out.npy"))
        if differs.any():
            descriptions.append(f"{int(differs.sum())} of {differs.size} elements of {name}")
    return descriptions
