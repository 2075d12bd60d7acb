"""Tables of PTX files with Apache Spark.

Needs ``pyspark`` and ``pyarrow``. Every worker needs this package, and paths that mean the same files as on the driver.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Optional, Union

from ptxkit._native import scan as _scan

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["scan"]


def scan(
    spark: SparkSession,
    paths: Union[DataFrame, Iterable[Union[str, os.PathLike[str]]]],
    tables: Sequence[str] = ("instructions",),
    *,
    columns: Optional[dict[str, list[str]]] = None,
    partitions: Optional[int] = None,
) -> dict[str, DataFrame]:
    """Read tables of files on the workers of a cluster: one ``DataFrame`` for each table, with the rows of ``ptxkit.scan``.

    ``paths`` are files and directories, or a ``DataFrame`` with the columns ``path`` and ``content``, such as
    ``spark.read.format("binaryFile").load(...)``. The files are divided among ``partitions``, in order; each one is read in
    constant memory. A partition that fails is computed again from its files, so that no row is lost or repeated: Spark retries
    a failed task three times, in local mode only with a master such as ``local[2, 4]``.
    """
    if isinstance(paths, (str, os.PathLike)):
        paths = [paths]
    files: DataFrame
    if hasattr(paths, "mapInArrow"):
        frame: DataFrame = paths
        files = frame.select("path", "content")
    else:
        names = [(os.fspath(path),) for path in paths]
        parallel = spark.sparkContext.defaultParallelism
        count = partitions or max(1, min(len(names), 4 * parallel))
        files = spark.createDataFrame(spark.sparkContext.parallelize(names, count), "path string")
    return {table: _table(files, table, (columns or {}).get(table)) for table in tables}


def _table(files: DataFrame, table: str, columns: Optional[list[str]]) -> DataFrame:
    from pyspark.sql.pandas.types import from_arrow_schema

    chosen = {table: columns} if columns else None
    schema = _spark_schema(_rows(table, chosen, []).schema)

    def rows_of_batches(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        for batch in batches:
            sources = batch.column("path").to_pylist()
            if "content" in batch.schema.names:
                sources = list(zip(sources, batch.column("content").to_pylist()))
            for rows in _rows(table, chosen, sources):
                yield rows.cast(schema)

    return files.mapInArrow(rows_of_batches, from_arrow_schema(schema))


def _rows(
    table: str, columns: Optional[dict[str, list[str]]], sources: list[Any]
) -> pyarrow.RecordBatchReader:
    import pyarrow

    # Spark runs a worker for each processor.
    stream = _scan(sources, [table], columns=columns, threads=1)
    return pyarrow.RecordBatchReader.from_stream(stream)


def _spark_schema(schema: pyarrow.Schema) -> pyarrow.Schema:
    """Replace the types of columns by types that Spark supports."""
    import pyarrow

    def spark_type(data_type: pyarrow.DataType) -> pyarrow.DataType:
        if pyarrow.types.is_dictionary(data_type):
            return spark_type(data_type.value_type)
        if pyarrow.types.is_large_string(data_type):
            return pyarrow.string()
        if pyarrow.types.is_large_list(data_type):
            return pyarrow.list_(spark_type(data_type.value_type))
        return data_type

    return pyarrow.schema([field.with_type(spark_type(field.type)) for field in schema])
