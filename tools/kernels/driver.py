"""Runs cases as CUDA programs, with `ptxkit exec`, and compares the buffers with the expected values."""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np

from case import Input, Scratch
from program import Finding, Outcome, Program, finding_of, wrong_buffers
from ptx import read_kernels

CLIENT = pathlib.Path(__file__).with_name("launch.py")


class DriverProgram(Program):
    """The program, which runs a client of the CUDA driver. Sizes of shared memory are found with `ptxkit run`."""

    has_schedule = False

    def __init__(self, path, timeout):
        super().__init__(path, timeout)
        self.machine = Program(path, timeout)

    def needed_shared(self, path, cases):
        return self.machine.needed_shared(path, cases)

    def run(self, path, case, shared, options=()):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            write_case(path, case, shared, folder)
            text = pathlib.Path(path).read_text()
            command = [self.path, "exec", "--cc", capability(text), "--timeout", str(self.timeout), "--format", "json", "--report", str(folder / "report.json")]
            command += [*options, "--", sys.executable, str(CLIENT), str(folder)]
            try:
                process = subprocess.run(command, capture_output=True, text=True, timeout=2 * self.timeout)
            except subprocess.TimeoutExpired:
                return Outcome(False, [], [])
            try:
                report = json.loads((folder / "report.json").read_text())
            except FileNotFoundError:
                return Outcome(False, [Finding("error", process.stderr.strip().splitlines()[0], "")], [])
            findings = [finding_of(finding, text.splitlines()) for finding in report["findings"]]
            ended = report["status"] == 0
            if not ended and not findings:
                findings = [Finding("error", process.stderr.strip().splitlines()[-1], "")]
            return Outcome(ended, findings, wrong_buffers(case, folder) if ended else [], report["steps"])


def capability(text):
    """The compute capability of the device: that of the target."""
    number = int(re.search(r"^\.target\s+sm_(\d+)", text, re.MULTILINE).group(1))
    return f"{number // 10}.{number % 10}"


def write_case(path, case, shared, folder):
    """Writes the inputs and `case.json`."""
    buffers = {}
    for name, buffer in case.buffers.items():
        if isinstance(buffer, Scratch):
            buffers[name] = {"bytes": buffer.bytes}
            continue
        is_input = isinstance(buffer, Input)
        np.save(folder / f"{name}.npy", buffer.values if is_input else np.zeros_like(buffer.expected))
        buffers[name] = {"input": f"{name}.npy"} if is_input else {"input": f"{name}.npy", "output": f"{name}.out.npy"}
    kernels = read_kernels(path)
    launches = [
        {
            "kernel": launch.kernel,
            "grid": (list(launch.grid) + [1, 1])[:3],
            "block": (list(launch.block) + [1, 1])[:3],
            "shared": shared,
            "types": kernels[launch.kernel].parameters,
            "arguments": [value if isinstance(value, str) else value + 0 for value in launch.arguments],
        }
        for launch in case.launches
    ]
    text = json.dumps({"module": str(pathlib.Path(path).resolve()), "buffers": buffers, "launches": launches}, default=lambda value: value.item())
    (folder / "case.json").write_text(text)
