"""Databases and data frames read the streams."""

import duckdb
import pandas
import polars
import pyarrow as pa
import pytest

import ptxkit

TABLES = ["instructions", "memory", "blocks", "loops", "functions", "modules", "diagnostics", "requirements"]


@pytest.mark.parametrize("table", TABLES)
def test_all_read_the_same(small, table):
    scan = ptxkit.scan(small, TABLES, batch_rows=1000)
    arrow = pa.table(scan[table])
    wanted = arrow.to_pylist()
    assert len(wanted) > 0 and scan[table].column_names == arrow.column_names

    rows = scan[table]  # noqa: F841: DuckDB finds it by its name.
    found = duckdb.sql("SELECT * FROM rows").fetchall()
    assert found == [tuple(row.values()) for row in wanted]

    assert polars.DataFrame(scan[table]).to_dicts() == wanted

    frame = pa.table(scan[table]).to_pandas()
    assert isinstance(frame, pandas.DataFrame) and len(frame) == len(wanted)
    assert list(frame["file"]) == [row["file"] for row in wanted]


def test_one_pass_over_several_tables(small):
    scan = ptxkit.scan(small, ["functions", "instructions"])
    found = {name: [] for name in scan.tables}
    for name, batch in scan:
        assert len(batch) == batch.num_rows
        found[name] += pa.record_batch(batch).to_pylist()
    for name in scan.tables:
        assert found[name] == pa.table(scan[name]).to_pylist()


def test_columns_and_schema(small):
    scan = ptxkit.scan(small, ["instructions"], columns={"instructions": ["line", "opcode"]}, threads=1)
    assert pa.schema(scan).names == pa.table(scan).column_names == ["line", "opcode"]
    assert repr(scan["instructions"]) == "<Table instructions of 2 columns>"


def test_missing_files():
    with pytest.raises(ValueError, match="unknown table `rows`, expected one of instructions"):
        ptxkit.scan([], ["rows"])
    with pytest.raises(KeyError, match="not a table of this scan"):
        ptxkit.scan([], ["loops"])["memory"]
    with pytest.raises(TypeError, match="choose one"):
        pa.table(ptxkit.scan([], ["loops", "memory"]))
    with pytest.raises(ValueError, match="color"):
        ptxkit.scan([], ["loops"], columns={"loops": ["color"]})
    rows = pa.table(ptxkit.scan(["no such file.ptx"], ["diagnostics"])).to_pylist()
    assert [(row["file"], row["code"]) for row in rows] == [("no such file.ptx", "unreadable")]


def test_memory_does_not_grow(corpus):
    """Ten times the files take no more memory."""
    code = (
        "import ptxkit, resource, sys\n"
        "rows = 0\n"
        "for _, batch in ptxkit.scan([sys.argv[1]] * int(sys.argv[2]), ['instructions'], threads=2): rows += len(batch)\n"
        "print(rows, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)\n"
    )
    import subprocess
    import sys

    file = max(corpus.rglob("*.ptx"), key=lambda path: (path.stat().st_size < 200_000, path.stat().st_size))
    used = []
    for times in (30, 300):
        out = subprocess.run([sys.executable, "-c", code, str(file), str(times)], capture_output=True, text=True, check=True)
        used.append([int(n) for n in out.stdout.split()])
    assert used[1][0] == 10 * used[0][0]
    assert used[1][1] < 1.3 * used[0][1], used
