//! Parquet files. The columns of a batch are encoded on several threads.

use anyhow::Result;
use arrow_array::ArrayRef;
use arrow_schema::{DataType, Field};
use parquet::arrow::arrow_writer::{
    ArrowColumnChunk, ArrowColumnWriter, ArrowRowGroupWriterFactory, compute_leaves,
};
use parquet::arrow::{ArrowSchemaConverter, ArrowWriter};
use parquet::basic::{Compression, Encoding};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::ColumnDescPtr;
use ptx_table::{RecordBatch, SchemaRef};
use rayon::prelude::*;

use super::words::{self, Words};
use crate::replace::NewFile;

/// The least number of rows of a row group, but for the last one. The encoded part of a row group waits in memory.
const MIN_GROUP_ROWS: usize = 1 << 18;

/// The bytes of the texts of a column with which a row group is complete earlier.
const MAX_TEXT_BYTES: usize = 1 << 24;

/// A file that is being written.
pub(super) struct Writer {
    schema: SchemaRef,
    file: SerializedFileWriter<NewFile>,
    columns: ArrowRowGroupWriterFactory,
    /// The row group that is being written.
    group: Vec<Column>,
    rows: usize,
}

impl Writer {
    pub(super) fn new(file: NewFile, schema: &SchemaRef) -> Result<Self> {
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
            self.group = self.new_group()?;
        }
        let values = self.schema.fields().par_iter().zip(batch.columns());
        self.group
            .par_iter_mut()
            .zip(values)
            .try_for_each(|(column, (field, values))| column.write(field, values))?;
        self.rows += batch.num_rows();
        let has_long_column = self
            .group
            .iter()
            .any(|column| column.text_len() >= MAX_TEXT_BYTES);
        if self.rows >= MIN_GROUP_ROWS || has_long_column {
            self.finish_group()?;
        }
        Ok(())
    }

    /// The columns of the next row group. A list of values is one column, too.
    fn new_group(&self) -> Result<Vec<Column>> {
        let index = self.file.flushed_row_groups().len();
        let writers = self.columns.create_column_writers(index)?;
        Ok(writers
            .into_iter()
            .zip(self.file.schema_descr().columns())
            .zip(self.schema.fields())
            .map(|((writer, column), field)| match field.data_type() {
                DataType::Dictionary(..) => Column::Words(Words::new(ColumnDescPtr::clone(column))),
                _ => Column::Values(Box::new(writer)),
            })
            .collect())
    }

    fn finish_group(&mut self) -> Result<()> {
        self.rows = 0;
        let group = std::mem::take(&mut self.group).into_par_iter();
        let chunks: Vec<_> = group.map(Column::close).collect::<Result<_, _>>()?;
        let mut group = self.file.next_row_group()?;
        for chunk in chunks {
            chunk.append(&mut group)?;
        }
        group.close()?;
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<()> {
        if self.rows > 0 {
            self.finish_group()?;
        }
        self.file.into_inner()?.finish()?;
        Ok(())
    }
}

/// A column of a row group that is being written.
enum Column {
    Words(Words),
    Values(Box<ArrowColumnWriter>),
}

impl Column {
    fn write(&mut self, field: &Field, values: &ArrayRef) -> Result<(), ParquetError> {
        match self {
            Self::Words(words) => words.write(values),
            Self::Values(writer) => {
                let leaves = compute_leaves(field, values)?;
                leaves.iter().try_for_each(|leaf| writer.write(leaf))
            }
        }
    }

    /// The bytes of the texts of words.
    fn text_len(&self) -> usize {
        match self {
            Self::Words(words) => words.text_len(),
            Self::Values(_) => 0,
        }
    }

    fn close(self) -> Result<Chunk, ParquetError> {
        Ok(match self {
            Self::Words(words) => Chunk::Words(Box::new(words.close()?)),
            Self::Values(writer) => Chunk::Values(Box::new(writer.close()?)),
        })
    }
}

/// A column of a row group that is complete.
enum Chunk {
    Words(Box<words::Chunk>),
    Values(Box<ArrowColumnChunk>),
}

impl Chunk {
    fn append(self, group: &mut SerializedRowGroupWriter<'_, NewFile>) -> Result<(), ParquetError> {
        match self {
            Self::Words(chunk) => group.append_column(&chunk.bytes, chunk.result),
            Self::Values(chunk) => chunk.append_to_row_group(group),
        }
    }
}

/// The encodings of columns of values. Numbers differ little from one row to the next, and texts often repeat. The least and the
/// greatest value are recorded of numbers, as they are of words; those of texts would be long and of little use.
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

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::path::Path;

    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
    use ptx_table::{Scan, ScanOptions, Source, TableName};

    use super::super::json;
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus/hand");
        let path = std::env::temp_dir().join(format!("ptxkit-{}.parquet", std::process::id()));
        for table in TableName::ALL {
            let options = ScanOptions::new(&[table]).rows(700);
            let (_, schema) = &options.tables()[0];
            let mut writer = Writer::new(NewFile::replace(&path).unwrap(), schema).unwrap();
            let mut written = Vec::new();
            for (number, batch) in Scan::new([Source::Path(folder.clone())], &options).enumerate() {
                let (_, batch) = batch.unwrap();
                json::write(&batch, &mut written).unwrap();
                writer.write(&batch).unwrap();
                if number % 3 == 2 {
                    writer.finish_group().unwrap();
                }
            }
            writer.finish().unwrap();
            let file =
                ParquetRecordBatchReaderBuilder::try_new(File::open(&path).unwrap()).unwrap();
            let words = file.metadata().row_group(0).column(0).statistics().unwrap();
            assert!(
                words.min_bytes_opt() <= words.max_bytes_opt() && words.null_count_opt() == Some(0)
            );
            let mut read = Vec::new();
            for batch in file.with_batch_size(300).build().unwrap() {
                json::write(&batch.unwrap(), &mut read).unwrap();
            }
            assert!(read == written && !read.is_empty(), "{table}");
        }
        std::fs::remove_file(path).unwrap();
    }
}
