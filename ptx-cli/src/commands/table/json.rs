//! Rows as JSON objects. They are written byte by byte, since a serializer would take most of the time.

use anyhow::{Result, bail};
use arrow_array::types::Int32Type;
use arrow_array::{
    Array, ArrayRef, BooleanArray, DictionaryArray, Int32Array, Int64Array, LargeListArray,
    LargeStringArray,
};
use ptx_table::RecordBatch;

/// Appends an object for each row, and a newline after it.
pub(super) fn write(batch: &RecordBatch, out: &mut Vec<u8>) -> Result<()> {
    let mut columns = Vec::new();
    for (field, column) in batch.schema_ref().fields().iter().zip(batch.columns()) {
        columns.push((field.name().as_str(), Column::new(column)?));
    }
    for row in 0..batch.num_rows() {
        out.push(b'{');
        let mut is_first = true;
        for (name, column) in &columns {
            comma(out, &mut is_first);
            string(out, name);
            out.push(b':');
            column.write(row, out);
        }
        raw(out, "}\n");
    }
    Ok(())
}

/// A column by the type of its values.
pub(super) enum Column<'a> {
    Int(&'a Int32Array),
    Long(&'a Int64Array),
    Flag(&'a BooleanArray),
    Word(&'a Int32Array, &'a LargeStringArray),
    Text(&'a LargeStringArray),
    List(&'a LargeListArray, Box<Column<'a>>),
}

impl<'a> Column<'a> {
    pub(super) fn new(array: &'a ArrayRef) -> Result<Self> {
        let any = array.as_any();
        Ok(if let Some(array) = any.downcast_ref() {
            Self::Int(array)
        } else if let Some(array) = any.downcast_ref() {
            Self::Long(array)
        } else if let Some(array) = any.downcast_ref() {
            Self::Flag(array)
        } else if let Some(array) = any.downcast_ref() {
            Self::Text(array)
        } else if let Some(array) = any.downcast_ref::<LargeListArray>() {
            Self::List(array, Self::new(array.values())?.into())
        } else if let Some(array) = any.downcast_ref::<DictionaryArray<Int32Type>>()
            && let Some(texts) = array.values().as_any().downcast_ref()
        {
            Self::Word(array.keys(), texts)
        } else {
            bail!("a column of the type {}", array.data_type());
        })
    }

    pub(super) fn is_null(&self, row: usize) -> bool {
        match self {
            Self::Int(array) | Self::Word(array, _) => array.is_null(row),
            Self::Long(array) => array.is_null(row),
            Self::Flag(array) => array.is_null(row),
            Self::Text(array) => array.is_null(row),
            Self::List(array, _) => array.is_null(row),
        }
    }

    pub(super) fn is_list(&self) -> bool {
        matches!(self, Self::List(..))
    }

    /// The text of a value; `None` for a column of other values.
    pub(super) fn text(&self, row: usize) -> Option<&'a str> {
        match self {
            Self::Word(keys, texts) => Some(texts.value(keys.value(row) as usize)),
            Self::Text(array) => Some(array.value(row)),
            _ => None,
        }
    }

    /// Appends a value as JSON.
    pub(super) fn write(&self, row: usize, out: &mut Vec<u8>) {
        if self.is_null(row) {
            return raw(out, "null");
        }
        match self {
            Self::Int(array) => raw(out, &array.value(row).to_string()),
            Self::Long(array) => raw(out, &array.value(row).to_string()),
            Self::Flag(array) => raw(out, if array.value(row) { "true" } else { "false" }),
            Self::Word(keys, texts) => string(out, texts.value(keys.value(row) as usize)),
            Self::Text(array) => string(out, array.value(row)),
            Self::List(array, values) => {
                let offsets = array.value_offsets();
                let end = offsets.get(row + 1).copied().unwrap_or(0);
                out.push(b'[');
                let mut is_first = true;
                for index in array.value_offsets()[row]..end {
                    comma(out, &mut is_first);
                    values.write(index as usize, out);
                }
                out.push(b']');
            }
        }
    }
}

/// Appends a string with its quotes.
fn string(out: &mut Vec<u8>, text: &str) {
    if serde_json::to_writer(&mut *out, text).is_err() {
        out.extend_from_slice(b"\"\"");
    }
}

/// Appends a text without escapes.
#[inline]
pub(super) fn raw(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
}

/// Appends a comma, except before the first element.
#[inline]
pub(super) fn comma(out: &mut Vec<u8>, is_first: &mut bool) {
    if !std::mem::replace(is_first, false) {
        out.push(b',');
    }
}
