//! The values of columns.

use anyhow::{Result, bail};
use arrow_array::types::Int32Type;
use arrow_array::{
    Array, ArrayRef, BooleanArray, DictionaryArray, Int32Array, Int64Array, LargeListArray,
    LargeStringArray,
};
use ptx_report::json_text::{comma, flag, raw, string};

/// A column whose type is known.
pub(super) enum Column<'a> {
    Int(&'a Int32Array),
    Long(&'a Int64Array),
    Flag(&'a BooleanArray),
    Word(&'a Int32Array, &'a LargeStringArray),
    Text(&'a LargeStringArray),
    List(&'a LargeListArray, Box<Column<'a>>),
}

impl<'a> Column<'a> {
    pub(super) fn new(of: &'a ArrayRef) -> Result<Self> {
        let any = of.as_any();
        Ok(if let Some(of) = any.downcast_ref() {
            Self::Int(of)
        } else if let Some(of) = any.downcast_ref() {
            Self::Long(of)
        } else if let Some(of) = any.downcast_ref() {
            Self::Flag(of)
        } else if let Some(of) = any.downcast_ref() {
            Self::Text(of)
        } else if let Some(of) = any.downcast_ref::<LargeListArray>() {
            Self::List(of, Self::new(of.values())?.into())
        } else if let Some(of) = any.downcast_ref::<DictionaryArray<Int32Type>>()
            && let Some(texts) = of.values().as_any().downcast_ref()
        {
            Self::Word(of.keys(), texts)
        } else {
            bail!("a column of the type {}", of.data_type());
        })
    }

    pub(super) fn is_null(&self, row: usize) -> bool {
        match self {
            Self::Int(of) | Self::Word(of, _) => of.is_null(row),
            Self::Long(of) => of.is_null(row),
            Self::Flag(of) => of.is_null(row),
            Self::Text(of) => of.is_null(row),
            Self::List(of, _) => of.is_null(row),
        }
    }

    pub(super) fn is_list(&self) -> bool {
        matches!(self, Self::List(..))
    }

    /// The text of a value that is one.
    pub(super) fn text(&self, row: usize) -> Option<&'a str> {
        match self {
            Self::Word(keys, texts) => Some(texts.value(keys.value(row) as usize)),
            Self::Text(of) => Some(of.value(row)),
            _ => None,
        }
    }

    /// Appends a value as JSON.
    pub(super) fn write(&self, row: usize, out: &mut Vec<u8>) {
        if self.is_null(row) {
            return raw(out, "null");
        }
        match self {
            Self::Int(of) => raw(out, &of.value(row).to_string()),
            Self::Long(of) => raw(out, &of.value(row).to_string()),
            Self::Flag(of) => flag(out, of.value(row)),
            Self::Word(keys, texts) => string(out, texts.value(keys.value(row) as usize)),
            Self::Text(of) => string(out, of.value(row)),
            Self::List(of, values) => {
                let offsets = of.value_offsets();
                let end = offsets.get(row + 1).copied().unwrap_or(0);
                out.push(b'[');
                let mut first = true;
                for index in of.value_offsets()[row]..end {
                    comma(out, &mut first);
                    values.write(index as usize, out);
                }
                out.push(b']');
            }
        }
    }
}
