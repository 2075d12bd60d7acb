//! Parquet files. The columns of a batch are encoded on several threads.

use std::fs::File;

use anyhow::Result;
use arrow_array::ArrayRef;
use arrow_schema::{DataType, Field};
use parquet::arrow::arrow_writer::{ArrowColumnWriter, ArrowRowGroupWriterFactory, compute_leaves};
use parquet::arrow::{ArrowSchemaConverter, ArrowWriter};
use parquet::basic::{Compression, Encoding};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use ptx_table::{RecordBatch, SchemaRef};
use rayon::prelude::*;

/// The least rows of a row group, but for the last one. What is encoded of a row group waits in memory.
const GROUP_ROWS: usize = 1 << 18;

/// A file that is being written.
pub(super) struct Writer {
    schema: SchemaRef,
    file: SerializedFileWriter<File>,
    columns: ArrowRowGroupWriterFactory,
    /// The row group that is being written.
    group: Vec<ArrowColumnWriter>,
    rows: usize,
}

impl Writer {
    pub(super) fn new(file: File, schema: &SchemaRef) -> Result<Self> {
        let properties = properties(schema)?;
        let writer = ArrowWriter::try_new(file, SchemaRef::clone(schema), Some(properties))?;
        let (file, columns) = writer.into_serialized_writer()?;
        Ok(Self {
            schema: SchemaRef::clone(schema),
            file,
            columns,
            group: Vec::new(),
            rows: 0,
        })
    }

    pub(super) fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        if self.group.is_empty() {
            let index = self.file.flushed_row_groups().len();
            self.group = self.columns.create_column_writers(index)?;
        }
        let columns = self.schema.fields().iter().zip(batch.columns());
        // A list of values is one column of the file, too.
        let columns = self.group.iter_mut().zip(columns);
        let columns: Vec<_> = columns
            .map(|(writer, (field, of))| (writer, field, of))
            .collect();
        columns
            .into_par_iter()
            .try_for_each(|(writer, field, of)| encode(writer, field, of))?;
        self.rows += batch.num_rows();
        if self.rows >= GROUP_ROWS {
            self.finish_group()?;
        }
        Ok(())
    }

    fn finish_group(&mut self) -> Result<()> {
        self.rows = 0;
        let group = std::mem::take(&mut self.group).into_par_iter();
        let chunks: Vec<_> = group
            .map(ArrowColumnWriter::close)
            .collect::<Result<_, _>>()?;
        let mut group = self.file.next_row_group()?;
        for chunk in chunks {
            chunk.append_to_row_group(&mut group)?;
        }
        group.close()?;
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<()> {
        if self.rows > 0 {
            self.finish_group()?;
        }
        self.file.close()?;
        Ok(())
    }
}

fn encode(
    writer: &mut ArrowColumnWriter,
    field: &Field,
    of: &ArrayRef,
) -> Result<(), ParquetError> {
    let leaves = compute_leaves(field, of)?;
    leaves.iter().try_for_each(|leaf| writer.write(leaf))
}

/// Numbers differ little from one row to the next. Texts often repeat, also those that are not a dictionary in a batch. The least and
/// the greatest value are recorded of numbers and words, which are what queries select by.
fn properties(schema: &SchemaRef) -> Result<WriterProperties> {
    let columns = ArrowSchemaConverter::new().convert(schema)?;
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_statistics_enabled(EnabledStatistics::Chunk);
    for (field, column) in schema.fields().iter().zip(columns.columns()) {
        let path = column.path().clone();
        properties = match field.data_type() {
            DataType::Int32 | DataType::Int64 => properties
                .set_column_dictionary_enabled(path.clone(), false)
                .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED),
            _ => properties.set_column_statistics_enabled(path, EnabledStatistics::None),
        };
    }
    Ok(properties.build())
}
