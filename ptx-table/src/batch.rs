//! Record batches, which are built from the rows of a table.

use std::sync::Arc;

use arrow_array::builder::{
    ArrayBuilder as _, BooleanBuilder, Int32Builder, Int64Builder, LargeListBuilder,
    LargeStringBuilder,
};
use arrow_array::{ArrayRef, DictionaryArray, RecordBatch};
use arrow_schema::{ArrowError, SchemaRef};
use hashbrown::HashMap;

use crate::column::{Table, Value};
use crate::output::Output;
use crate::table::TableName;

/// The number of rows that are added to all columns before the size of the batch is checked.
const CHUNK: usize = 1 << 10;

/// The size of text in bytes at which a batch is finished before it has the maximum number of rows.
const MAX_TEXT: usize = 1 << 26;

/// Builds the batches of a table.
pub(crate) struct BatchBuilder<T: Table> {
    table: TableName,
    schema: SchemaRef,
    columns: Vec<(&'static Value<T>, ColumnBuilder)>,
    /// The number of rows that are not in a batch yet.
    rows: usize,
    max_rows: usize,
}

impl<T: Table> BatchBuilder<T> {
    /// Creates a builder of batches with the columns of the schema and at most `max_rows` rows.
    pub(crate) fn new(table: TableName, schema: SchemaRef, max_rows: usize) -> Self {
        let columns = T::COLUMNS
            .iter()
            .filter(|column| schema.column_with_name(column.name).is_some())
            .map(|column| (&column.value, ColumnBuilder::new(&column.value)))
            .collect();
        Self {
            table,
            schema,
            columns,
            rows: 0,
            max_rows: max_rows.max(1),
        }
    }

    /// Whether the schema has a column that is only computed on request.
    pub(crate) fn has_requested(&self) -> bool {
        T::COLUMNS
            .iter()
            .any(|column| column.on_request && self.schema.column_with_name(column.name).is_some())
    }

    /// Adds rows, and passes full batches to `output`.
    pub(crate) fn extend(&mut self, mut rows: &[T::Row<'_>], output: &mut dyn Output) {
        while !rows.is_empty() {
            let chunk_len = rows.len().min(self.max_rows - self.rows).min(CHUNK);
            let (chunk, remaining) = rows.split_at(chunk_len);
            rows = remaining;
            let mut text = 0;
            for (value, builder) in &mut self.columns {
                builder.extend(value, chunk);
                text += builder.text_len();
            }
            self.rows += chunk.len();
            if self.rows >= self.max_rows || text >= MAX_TEXT {
                output.batch(self.table, self.build());
            }
        }
    }

    /// Passes the rows that are not in a batch yet to `output`.
    pub(crate) fn flush(&mut self, output: &mut dyn Output) {
        if self.rows > 0 {
            output.batch(self.table, self.build());
        }
    }

    fn build(&mut self) -> Result<RecordBatch, ArrowError> {
        // After a full batch, another one of about the same size is expected.
        let next_rows = if self.rows >= self.max_rows {
            self.rows
        } else {
            0
        };
        self.rows = 0;
        let columns = self
            .columns
            .iter_mut()
            .map(|(_, builder)| builder.finish(next_rows))
            .collect::<Result<_, _>>()?;
        RecordBatch::try_new(Arc::clone(&self.schema), columns)
    }
}

/// Builds the array of a column.
enum ColumnBuilder {
    Int(Int32Builder),
    Long(Int64Builder),
    Flag(BooleanBuilder),
    Word(DictionaryBuilder),
    Text(LargeStringBuilder),
    TextList(LargeListBuilder<LargeStringBuilder>),
    IntList(LargeListBuilder<Int32Builder>),
}

impl ColumnBuilder {
    fn new<T: Table>(value: &Value<T>) -> Self {
        match value {
            Value::Int(_) => Self::Int(Int32Builder::new()),
            Value::Long(_) => Self::Long(Int64Builder::new()),
            Value::Flag(_) => Self::Flag(BooleanBuilder::new()),
            Value::Word(_) => Self::Word(DictionaryBuilder::default()),
            Value::Text(_) => Self::Text(LargeStringBuilder::new()),
            Value::TextList(_) => Self::TextList(LargeListBuilder::new(LargeStringBuilder::new())),
            Value::IntList(_) => Self::IntList(LargeListBuilder::new(Int32Builder::new())),
        }
    }

    /// Adds the values of rows. `value` must be the one that the builder was created for.
    fn extend<T: Table>(&mut self, value: &Value<T>, rows: &[T::Row<'_>]) {
        match (self, value) {
            (Self::Int(builder), Value::Int(compute)) => {
                for row in rows {
                    builder.append_option(compute(row).map(to_int32));
                }
            }
            (Self::Long(builder), Value::Long(compute)) => {
                for row in rows {
                    builder.append_option(compute(row));
                }
            }
            (Self::Flag(builder), Value::Flag(compute)) => {
                for row in rows {
                    builder.append_option(compute(row));
                }
            }
            (Self::Word(builder), Value::Word(compute)) => {
                builder.extend(rows.iter().map(compute));
            }
            (Self::Text(builder), Value::Text(compute)) => {
                for row in rows {
                    let mut has_text = false;
                    compute(row, &mut |text| {
                        if !std::mem::replace(&mut has_text, true) {
                            builder.append_value(text);
                        }
                    });
                    if !has_text {
                        builder.append_null();
                    }
                }
            }
            (Self::TextList(builder), Value::TextList(compute)) => {
                for row in rows {
                    let is_list = compute(row, &mut |text| builder.values().append_value(text));
                    builder.append(is_list);
                }
            }
            (Self::IntList(builder), Value::IntList(compute)) => {
                for row in rows {
                    let is_list = compute(row, &mut |number| {
                        builder.values().append_value(to_int32(number));
                    });
                    builder.append(is_list);
                }
            }
            // `new` creates a builder of the kind of the value.
            _ => {}
        }
    }

    /// The size of the texts in bytes.
    fn text_len(&mut self) -> usize {
        match self {
            Self::Text(builder) => builder.values_slice().len(),
            Self::TextList(builder) => builder.values().values_slice().len(),
            Self::Word(builder) => builder.texts.values_slice().len(),
            _ => 0,
        }
    }

    /// Returns the array. The builder then has the capacity for `next_rows` rows, and for as much text as in the array if `next_rows` is not 0.
    fn finish(&mut self, next_rows: usize) -> Result<ArrayRef, ArrowError> {
        let text = if next_rows > 0 { self.text_len() } else { 0 };
        Ok(match self {
            Self::Int(builder) => {
                let next = Int32Builder::with_capacity(next_rows);
                Arc::new(std::mem::replace(builder, next).finish())
            }
            Self::Long(builder) => {
                let next = Int64Builder::with_capacity(next_rows);
                Arc::new(std::mem::replace(builder, next).finish())
            }
            Self::Flag(builder) => Arc::new(builder.finish()),
            Self::Word(builder) => builder.finish(next_rows)?,
            Self::Text(builder) => {
                let next = LargeStringBuilder::with_capacity(next_rows, text);
                Arc::new(std::mem::replace(builder, next).finish())
            }
            Self::TextList(builder) => {
                let value_count = builder.values().len().min(next_rows * 8);
                let values = LargeStringBuilder::with_capacity(value_count, text);
                let next = LargeListBuilder::with_capacity(values, next_rows);
                Arc::new(std::mem::replace(builder, next).finish())
            }
            Self::IntList(builder) => Arc::new(builder.finish()),
        })
    }
}

/// Converts a number. Sources have less than 2^31 bytes, and so all counts and offsets are less than 2^31.
fn to_int32(number: u32) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}

/// The number of entries of the cache of keys by address.
const CACHED_KEYS: usize = 256;

/// Builds the array of a column with few different texts: a dictionary of the texts, and an index into it, the key, for each row.
#[derive(Default)]
struct DictionaryBuilder {
    keys: Int32Builder,
    texts: LargeStringBuilder,
    key_of: HashMap<Box<str>, i32>,
}

impl DictionaryBuilder {
    /// Adds the texts of rows. All texts are borrowed during the call, so equal addresses and lengths mean equal texts, and most keys come from a cache
    /// by address instead of the hash table.
    fn extend<'r>(&mut self, texts: impl Iterator<Item = Option<&'r str>>) {
        let mut cache = [("", None); CACHED_KEYS];
        for text in texts {
            let Some(text) = text else {
                self.keys.append_null();
                continue;
            };
            let hash = text.as_ptr() as usize ^ text.len() << 32;
            let entry = &mut cache[(hash ^ hash >> 8 ^ hash >> 32) % CACHED_KEYS];
            let key = match *entry {
                (cached, Some(key)) if std::ptr::eq(cached, text) => key,
                _ => self.key(text),
            };
            *entry = (text, Some(key));
            self.keys.append_value(key);
        }
    }

    /// The key of a text, which is added to the dictionary if it is new.
    fn key(&mut self, text: &str) -> i32 {
        if let Some(&key) = self.key_of.get(text) {
            return key;
        }
        let key = self.key_of.len() as i32;
        self.key_of.insert(text.into(), key);
        self.texts.append_value(text);
        key
    }

    fn finish(&mut self, next_rows: usize) -> Result<ArrayRef, ArrowError> {
        self.key_of.clear();
        let texts = Arc::new(self.texts.finish());
        let next_keys = Int32Builder::with_capacity(next_rows);
        let keys = std::mem::replace(&mut self.keys, next_keys).finish();
        Ok(Arc::new(DictionaryArray::try_new(keys, texts)?))
    }
}
