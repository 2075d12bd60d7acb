"""Spark gives the rows of a scan on one machine, also when a worker process is killed."""

import json
import os
import pathlib
import signal
import sys
import threading
import time
import urllib.request

import pyarrow as pa
import pytest

import ptxkit
import ptxkit.spark

TABLES = ["instructions", "memory", "functions", "diagnostics"]


@pytest.fixture(scope="module")
def spark():
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    # Two threads; each task is tried four times.
    builder = SparkSession.builder.master("local[2, 4]").config("spark.ui.enabled", "true")
    builder = builder.config("spark.driver.host", "127.0.0.1").config("spark.ui.showConsoleProgress", "false")
    session = builder.config("spark.driver.memory", "2g").config("spark.sql.shuffle.partitions", "2").getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


def plain(rows):
    return [tuple(row.values()) for row in rows]


def collected(frame):
    return [tuple(row) for row in frame.collect()]


def test_rows_are_those_of_one_machine(spark, small):
    paths = ["no such file.ptx", *small]
    frames = ptxkit.spark.scan(spark, paths, TABLES)
    for table in TABLES:
        wanted = pa.table(ptxkit.scan(paths, [table])).to_pylist()
        assert collected(frames[table]) == plain(wanted), table
    missing = frames["diagnostics"].where("code = 'unreadable'").collect()
    assert [row.file for row in missing] == ["no such file.ptx"]


def test_columns(spark, small):
    columns = {"instructions": ["file", "opcode"]}
    frame = ptxkit.spark.scan(spark, small, columns=columns, partitions=3)["instructions"]
    assert frame.columns == ["file", "opcode"] and frame.rdd.getNumPartitions() == 3


def test_binary_files(spark, small):
    folder = pathlib.Path(small[0]).parent
    files = spark.read.format("binaryFile").option("pathGlobFilter", "*.ptx").load(str(folder))
    frame = ptxkit.spark.scan(spark, files, ["instructions"])["instructions"]
    columns = [name for name in frame.columns if name != "file"]
    wanted = pa.table(ptxkit.scan(folder, ["instructions"])).select(columns).to_pylist()
    assert sorted(map(repr, collected(frame.select(columns)))) == sorted(map(repr, plain(wanted)))


def workers():
    """The processes of PySpark that execute tasks: children of the daemon, which is a child of the JVM."""
    parents = {}
    for path in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            status = (path / "status").read_text().splitlines()
            command = (path / "cmdline").read_bytes()
        except OSError:
            continue
        parent = next(int(line.split()[1]) for line in status if line.startswith("PPid:"))
        if b"pyspark.daemon" in command:
            parents[int(path.name)] = parent
    return [process for process, parent in parents.items() if parent in parents]


def processor_time(process):
    """The time for which a process has run, in ticks; 0 if it ended."""
    try:
        fields = pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return int(fields[11]) + int(fields[12])


def busy_workers():
    """The workers that compute, also on a busy machine; idle ones wait for their next task."""
    before = {process: processor_time(process) for process in workers()}
    time.sleep(0.1)
    return [process for process, ticks in before.items() if processor_time(process) >= ticks + 2]


def failed_tasks(spark):
    context = spark.sparkContext
    url = f"{context.uiWebUrl}/api/v1/applications/{context.applicationId}/stages"
    with urllib.request.urlopen(url) as answer:
        return sum(stage["numFailedTasks"] for stage in json.load(answer))


def test_a_killed_worker_loses_nothing(spark, small, corpus):
    large = sorted(corpus.rglob("*.ptx"), key=lambda path: (-path.stat().st_size, path))[:12]
    paths = [*small, *large]
    columns = {"instructions": ["file", "start", "mnemonic", "loop_depth"]}
    frame = ptxkit.spark.scan(spark, paths, columns=columns, partitions=8)["instructions"]
    wanted = pa.table(ptxkit.scan(paths, ["instructions"], columns=columns)).to_pylist()
    before = failed_tasks(spark)
    # A worker may end its task in the moment before it is killed.
    for _ in range(10):
        rows = []
        job = threading.Thread(target=lambda: rows.extend(collected(frame)))
        job.start()
        killed = 0
        while job.is_alive() and killed < 2:
            for worker in busy_workers()[:1]:
                os.kill(worker, signal.SIGKILL)
                killed += 1
                time.sleep(0.5)
        job.join()
        assert rows == plain(wanted)
        time.sleep(1)
        if failed_tasks(spark) > before:
            return
    raise AssertionError("no worker was killed while it was working")
