"""The pytest plugin: the kernels of a test session run on the virtual machine of ptxkit, without a GPU.

``pytest --ptxkit --ptxkit-check racecheck`` starts the session again under ``ptxkit exec``. A test fails if a checker reports an error in a kernel that it launched.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
import sysconfig
from collections.abc import Generator
from pathlib import Path
from typing import Any, Optional

import pytest

#: The folder in which ``ptxkit exec`` collects the findings of processes.
_FOLDER = "PTXKIT_CUDA_REPORT"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the options."""
    group = parser.getgroup("ptxkit", "CUDA kernels without a GPU")
    group.addoption("--ptxkit", action="store_true", help="run CUDA kernels on the virtual machine of ptxkit")
    group.addoption("--ptxkit-check", metavar="CHECKERS", help="enable checkers: memcheck, initcheck, synccheck, racecheck")
    group.addoption("--ptxkit-cc", metavar="X.Y", help="the compute capability of the device")
    group.addoption("--ptxkit-options", metavar="OPTIONS", default="", help="other options of `ptxkit exec`")
    group.addoption("--ptxkit-program", metavar="FILE", default="ptxkit", help="the path of the program ptxkit")


def _command(config: pytest.Config) -> list[str]:
    """The command that runs this session under ``ptxkit exec``."""
    # The wheel installs the program beside Python, where PATH leads only to activated environments.
    folders = os.pathsep.join([os.environ.get("PATH", os.defpath), sysconfig.get_path("scripts")])
    program = shutil.which(config.getoption("ptxkit_program"), path=folders)
    if program is None:
        raise pytest.UsageError("the program `ptxkit` is not installed; --ptxkit-program names its path")
    command = [program, "exec"]
    for option, name in [("ptxkit_check", "--check"), ("ptxkit_cc", "--cc")]:
        value = config.getoption(option)
        if value is not None:
            command += [name, value]
    command += shlex.split(config.getoption("ptxkit_options"))
    return [*command, "--", sys.executable, "-m", "pytest", *map(str, config.invocation_params.args)]


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> Optional[int]:
    """Starts the session again under ``ptxkit exec``, unless it is."""
    if not config.getoption("ptxkit") or _FOLDER in os.environ:
        return None
    command = _command(config)
    capture = config.pluginmanager.getplugin("capturemanager")
    if capture is not None:
        capture.stop_global_capturing()
    sys.stdout.flush()
    sys.stderr.flush()
    os.chdir(config.invocation_params.dir)
    os.execv(command[0], command)


class _Log:
    """The findings that this process has written since they were last read."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._offsets: dict[Path, int] = {}
        self._findings: dict[tuple[Path, int], str] = {}

    def read(self) -> list[str]:
        found: dict[str, None] = {}
        for path in sorted(self._folder.glob(f"{os.getpid()}-*.jsonl")):
            with path.open("rb") as file:
                file.seek(self._offsets.get(path, 0))
                for line in file:
                    event: dict[str, Any] = json.loads(line)
                    key = (path, event.get("finding", -1))
                    if event["event"] == "finding":
                        diagnostic = event["diagnostic"]
                        text = f"{diagnostic['code']}: {diagnostic['message']}"
                        if diagnostic["help"]:
                            text += f"\n  help: {diagnostic['help']}"
                        self._findings[key] = text
                    if event["event"] in ("finding", "again") and key in self._findings:
                        found[self._findings[key]] = None
                self._offsets[path] = file.tell()
        return list(found)


class _Findings:
    """Fails tests whose kernels have findings."""

    def __init__(self, folder: Path) -> None:
        self._log = _Log(folder)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self) -> Generator[None, object, object]:
        try:
            result = yield
        finally:
            findings = self._log.read()
        if findings:
            pytest.fail("\n".join(["ptxkit found errors in kernels:", *findings]), pytrace=False)
        return result


def pytest_configure(config: pytest.Config) -> None:
    """Looks for findings after each test of a session that runs under ``ptxkit exec``."""
    folder = os.environ.get(_FOLDER)
    if config.getoption("ptxkit") and folder is not None:
        config.pluginmanager.register(_Findings(Path(folder)), "ptxkit-findings")
