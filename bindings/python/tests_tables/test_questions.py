"""The Python code of `docs/scale.md` runs as it is shown, and its questions have the same answers with DuckDB and with Polars."""

import os
import pathlib
import re
import sys

import duckdb
import polars
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "scale.md").read_text()
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE, re.S | re.M)
QUESTION = re.compile(r"^\*\*(\d+\. [^\n]*)\*\*\n\n```sql\n(.*?)```\n\n```python\n(.*?)```\n", re.S | re.M)
QUESTIONS = QUESTION.findall(PAGE)


@pytest.fixture(scope="module")
def in_root():
    """The page names files of the repository."""
    before = os.getcwd()
    os.chdir(ROOT)
    yield
    os.chdir(before)


@pytest.fixture(scope="module")
def session(in_root):
    """The names that the last block before the questions defines."""
    names = {}
    exec(BLOCKS[-len(QUESTIONS) - 1], names)
    return names


def test_every_block_is_run():
    assert len(QUESTIONS) == 10 == PAGE.count("```sql\n")
    assert len(BLOCKS) == 3 + len(QUESTIONS)


def test_databases_and_data_frames_read_streams(in_root, capsys):
    names = {}
    exec(BLOCKS[0], names)
    assert len(names["frame"]) == len(names["pandas"]) > 10
    assert "instructions" in capsys.readouterr().out


def test_spark_reads_paths_and_records(in_root, capsys):
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    names = {}
    exec(BLOCKS[1], names)
    names["spark"].stop()
    assert "opcode" in capsys.readouterr().out


@pytest.mark.parametrize("question, sql, python", QUESTIONS, ids=[title for title, *_ in QUESTIONS])
def test_duckdb_and_polars_agree(session, question, sql, python):
    connection = duckdb.connect()
    for name, table in session.items():
        if isinstance(table, polars.DataFrame):
            connection.register(name, table)
    answer = connection.sql(sql)
    rows = answer.fetchall()
    assert rows, question

    printed = []
    exec(python, {**session, "print": printed.append})
    [frame] = printed
    assert frame.columns == answer.columns
    assert [tuple(map(rounded, row)) for row in frame.rows()] == [tuple(map(rounded, row)) for row in rows]


def rounded(value):
    return round(value, 6) if isinstance(value, float) else value
