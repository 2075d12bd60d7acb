"""The tables of `ptxkit.scan` with databases, data frames and Spark. `.ci/tables` runs these tests."""

import os
import pathlib

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]


@pytest.fixture(scope="session")
def program() -> str:
    """The program `ptxkit`."""
    return os.environ["PTXKIT"]


@pytest.fixture(scope="session")
def corpus() -> pathlib.Path:
    """Many files: the shared corpus, or the compiled files of the repository."""
    shared = ROOT.parent / "shared" / "corpus"
    return shared if shared.is_dir() else ROOT / "corpus" / "compiled"


@pytest.fixture(scope="session")
def small() -> list:
    """Some files with all kinds of statements, errors and containers, and one that is missing."""
    hand = sorted((ROOT / "corpus" / "hand").glob("*.ptx"))
    broken = sorted((ROOT / "corpus" / "broken").glob("*.ptx"))
    return [*hand, *broken]
