//! Record batches from the rows of a table.

use std::sync::Arc;

use arrow_array::builder::{
    ArrayBuilder as _, BooleanBuilder, Int32Builder, Int64Builder, LargeListBuilder,
    LargeStringBuilder,
};
use arrow_array::{ArrayRef, DictionaryArray, RecordBatch};
use arrow_schema::{ArrowError, SchemaRef};
use hashbrown::HashMap;

use crate::column::{Rows, Value};

/// Rows that are added together.
const CHUNK: usize = 1 << 10;

/// A batch with more text than this is finished before it has the usual number of rows.
const MOST_TEXT: usize = 1 << 26;

/// Collects the rows of a table, and makes batches of them.
pub(crate) struct Batches<T: Rows> {
    schema: SchemaRef,
    columns: Vec<(&'static Value<T>, Values)>,
    rows: usize,
    most_rows: usize,
}

impl<T: Rows> Batches<T> {
    /// The columns of the schema, and batches of at most this number of rows.
    pub(crate) fn new(schema: SchemaRef, most_rows: usize) -> Self {
        let wanted = |name: &str| schema.column_with_name(name).is_some();
        let columns = T::COLUMNS.iter().filter(|c| wanted(c.name));
        Self {
            columns: columns.map(|c| (&c.value, Values::new(&c.value))).collect(),
            schema,
            rows: 0,
            most_rows: most_rows.max(1),
        }
    }

    /// Whether any of the columns is only computed if it is asked for.
    pub(crate) fn has_requested(&self) -> bool {
        let requested = T::COLUMNS.iter().filter(|c| c.on_request);
        let mut names = requested.map(|c| c.name);
        names.any(|name| self.schema.column_with_name(name).is_some())
    }

    /// Adds rows; full batches go to `out`.
    pub(crate) fn extend(
        &mut self,
        mut rows: &[T::Row<'_>],
        out: &mut dyn FnMut(Result<RecordBatch, ArrowError>),
    ) {
        while !rows.is_empty() {
            let (now, later) = rows.split_at(rows.len().min(self.most_rows - self.rows).min(CHUNK));
            rows = later;
            let mut text = 0;
            for (value, values) in &mut self.columns {
                values.extend(value, now);
                text += values.text_len();
            }
            self.rows += now.len();
            if self.rows >= self.most_rows || text >= MOST_TEXT {
                out(self.finish());
            }
        }
    }

    /// The rows that are not in a batch yet.
    pub(crate) fn rest(&mut self) -> Option<Result<RecordBatch, ArrowError>> {
        (self.rows > 0).then(|| self.finish())
    }

    fn finish(&mut self) -> Result<RecordBatch, ArrowError> {
        // After a full batch comes another one, of about the same size.
        let next = if self.rows >= self.most_rows {
            self.rows
        } else {
            0
        };
        self.rows = 0;
        let columns = self
            .columns
            .iter_mut()
            .map(|(_, values)| values.finish(next));
        RecordBatch::try_new(Arc::clone(&self.schema), columns.collect::<Result<_, _>>()?)
    }
}

/// The values of a column.
enum Values {
    Int(Int32Builder),
    Long(Int64Builder),
    Flag(BooleanBuilder),
    Word(Words),
    Text(LargeStringBuilder),
    TextList(LargeListBuilder<LargeStringBuilder>),
    IntList(LargeListBuilder<Int32Builder>),
}

impl Values {
    fn new<T: Rows>(of: &Value<T>) -> Self {
        match of {
            Value::Int(_) => Self::Int(Int32Builder::new()),
            Value::Long(_) => Self::Long(Int64Builder::new()),
            Value::Flag(_) => Self::Flag(BooleanBuilder::new()),
            Value::Word(_) => Self::Word(Words::default()),
            Value::Text(_) => Self::Text(LargeStringBuilder::new()),
            Value::TextList(_) => Self::TextList(LargeListBuilder::new(LargeStringBuilder::new())),
            Value::IntList(_) => Self::IntList(LargeListBuilder::new(Int32Builder::new())),
        }
    }

    fn extend<T: Rows>(&mut self, value: &Value<T>, rows: &[T::Row<'_>]) {
        match (self, value) {
            (Self::Int(out), Value::Int(of)) => {
                rows.iter()
                    .for_each(|row| out.append_option(of(row).map(int)));
            }
            (Self::Long(out), Value::Long(of)) => {
                rows.iter().for_each(|row| out.append_option(of(row)));
            }
            (Self::Flag(out), Value::Flag(of)) => {
                rows.iter().for_each(|row| out.append_option(of(row)));
            }
            (Self::Word(out), Value::Word(of)) => out.extend(rows.iter().map(of)),
            (Self::Text(out), Value::Text(of)) => {
                for row in rows {
                    let mut found = false;
                    of(row, &mut |text| {
                        if !std::mem::replace(&mut found, true) {
                            out.append_value(text);
                        }
                    });
                    if !found {
                        out.append_null();
                    }
                }
            }
            (Self::TextList(out), Value::TextList(of)) => {
                for row in rows {
                    let is_list = of(row, &mut |text| out.values().append_value(text));
                    out.append(is_list);
                }
            }
            (Self::IntList(out), Value::IntList(of)) => {
                for row in rows {
                    let is_list = of(row, &mut |n| out.values().append_value(int(n)));
                    out.append(is_list);
                }
            }
            // `new` makes values of the kind of the column.
            _ => {}
        }
    }

    /// The bytes of the texts.
    fn text_len(&mut self) -> usize {
        match self {
            Self::Text(out) => out.values_slice().len(),
            Self::TextList(out) => out.values().values_slice().len(),
            Self::Word(words) => words.texts.values_slice().len(),
            _ => 0,
        }
    }

    /// The array, after which the capacity is that for as much text and this number of rows.
    fn finish(&mut self, next: usize) -> Result<ArrayRef, ArrowError> {
        let text = if next > 0 { self.text_len() } else { 0 };
        Ok(match self {
            Self::Int(out) => {
                let mut full = std::mem::replace(out, Int32Builder::with_capacity(next));
                Arc::new(full.finish())
            }
            Self::Long(out) => {
                let mut full = std::mem::replace(out, Int64Builder::with_capacity(next));
                Arc::new(full.finish())
            }
            Self::Flag(out) => Arc::new(out.finish()),
            Self::Word(words) => words.finish(next)?,
            Self::Text(out) => {
                let mut full =
                    std::mem::replace(out, LargeStringBuilder::with_capacity(next, text));
                Arc::new(full.finish())
            }
            Self::TextList(out) => {
                let values =
                    LargeStringBuilder::with_capacity(out.values().len().min(next * 8), text);
                let mut full =
                    std::mem::replace(out, LargeListBuilder::with_capacity(values, next));
                Arc::new(full.finish())
            }
            Self::IntList(out) => Arc::new(out.finish()),
        })
    }
}

/// Sources have less than 2^31 bytes, and so less than 2^31 of anything.
fn int(number: u32) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}

/// How many texts are remembered by their address.
const RECENT: usize = 256;

/// A column with few different texts.
#[derive(Default)]
struct Words {
    keys: Int32Builder,
    texts: LargeStringBuilder,
    known: HashMap<Box<str>, i32>,
}

impl Words {
    /// The texts are borrowed from the rows, so equal addresses mean equal texts until all are added.
    fn extend<'r>(&mut self, words: impl Iterator<Item = Option<&'r str>>) {
        let mut recent = [("", -1); RECENT];
        for word in words {
            let Some(word) = word else {
                self.keys.append_null();
                continue;
            };
            let address = word.as_ptr() as usize ^ word.len() << 32;
            let slot = &mut recent[(address ^ address >> 8 ^ address >> 32) % RECENT];
            if slot.1 < 0 || !std::ptr::eq(slot.0, word) {
                *slot = (word, self.key(word));
            }
            self.keys.append_value(slot.1);
        }
    }

    fn key(&mut self, word: &str) -> i32 {
        if let Some(&key) = self.known.get(word) {
            return key;
        }
        let key = self.known.len() as i32;
        self.known.insert(word.into(), key);
        self.texts.append_value(word);
        key
    }

    fn finish(&mut self, next: usize) -> Result<ArrayRef, ArrowError> {
        self.known.clear();
        let texts = Arc::new(self.texts.finish());
        let next = Int32Builder::with_capacity(next);
        let keys = std::mem::replace(&mut self.keys, next).finish();
        Ok(Arc::new(DictionaryArray::try_new(keys, texts)?))
    }
}
