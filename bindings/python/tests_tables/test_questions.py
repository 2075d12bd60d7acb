"""The questions of `docs/scale.md`, answered with DuckDB and with Polars."""

import pathlib
import re

import duckdb
import polars
import pyarrow as pa
import pytest

import ptxkit

PAGE = (pathlib.Path(__file__).resolve().parents[2] / "docs" / "scale.md").read_text()
QUESTION = re.compile(r"^\*\*(\d+\. [^\n]*)\*\*\n\n```sql\n(.*?)```\n\n```python\n(.*?)```\n", re.S | re.M)
QUESTIONS = QUESTION.findall(PAGE)
TABLES = ["instructions", "memory", "loops", "functions", "modules", "diagnostics", "requirements"]


@pytest.fixture(scope="module")
def tables(corpus):
    scan = ptxkit.scan([corpus], TABLES)
    batches = {name: [] for name in TABLES}
    for name, batch in scan:
        batches[name].append(pa.record_batch(batch))
    return {name: pa.Table.from_batches(all, pa.schema(scan[name])) for name, all in batches.items()}


def test_there_are_ten():
    assert len(QUESTIONS) == 10 == PAGE.count("```sql\n")


@pytest.mark.parametrize("question, sql, python", QUESTIONS, ids=[title for title, *_ in QUESTIONS])
def test_duckdb_and_polars_agree(tables, question, sql, python):
    connection = duckdb.connect()
    for name, table in tables.items():
        connection.register(name, table)
    answer = connection.sql(sql)
    rows = answer.fetchall()
    assert rows, question

    names = {name: polars.DataFrame(table) for name, table in tables.items() if name in python}
    frame = eval(f"({python})", {"pl": polars}, names)
    assert frame.columns == answer.columns
    assert [tuple(map(rounded, row)) for row in frame.rows()] == [tuple(map(rounded, row)) for row in rows]


def rounded(value):
    return round(value, 6) if isinstance(value, float) else value
