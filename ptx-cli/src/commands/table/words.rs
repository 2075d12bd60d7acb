//! Columns of Parquet files that are dictionaries in Arrow. Their numbers are written as they are, which costs a fraction of
//! what it costs to look up each text again.

use std::collections::HashMap;

use arrow_array::types::Int32Type;
use arrow_array::{Array as _, ArrayRef, DictionaryArray, LargeStringArray};
use bytes::Bytes;
use parquet::basic::{Compression, Encoding};
use parquet::column::page::{CompressedPage, Page, PageWriter as _};
use parquet::column::writer::ColumnCloseResult;
use parquet::data_type::ByteArray;
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::statistics::Statistics;
use parquet::file::writer::{SerializedPageWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;

use super::rle;

/// A column of a row group.
pub(super) struct Words {
    column: ColumnDescPtr,
    /// The number of each text in the dictionary.
    numbers: HashMap<Box<str>, u32>,
    /// The texts of the dictionary, as they are written.
    dictionary: Vec<u8>,
    pages: Vec<u8>,
    rows: usize,
    nulls: usize,
}

/// A column of a row group that is complete.
pub(super) struct Chunk {
    pub(super) bytes: Bytes,
    pub(super) result: ColumnCloseResult,
}

impl Words {
    pub(super) fn new(column: ColumnDescPtr) -> Self {
        Self {
            column,
            numbers: HashMap::new(),
            dictionary: Vec::new(),
            pages: Vec::new(),
            rows: 0,
            nulls: 0,
        }
    }

    /// Adds a page with the rows of a batch.
    pub(super) fn write(&mut self, values: &ArrayRef) -> Result<()> {
        let (words, texts) = dictionary_of_texts(values)
            .ok_or_else(|| ParquetError::General("expected a dictionary of texts".to_owned()))?;
        let text_numbers: Vec<u32> = texts
            .iter()
            .map(|text| self.number(text.unwrap_or_default()))
            .collect();
        let number = |key: i32| text_numbers.get(key as usize).copied().unwrap_or(0);
        let keys = words.keys();
        let numbers: Vec<u32> = match keys.nulls() {
            Some(_) => keys.iter().flatten().map(number).collect(),
            None => keys.values().iter().copied().map(number).collect(),
        };
        let mut page = Vec::new();
        if self.column.max_def_level() > 0 {
            let levels: Vec<u32> = (0..keys.len())
                .map(|row| keys.is_valid(row).into())
                .collect();
            page.extend_from_slice(&[0; 4]);
            rle::encode(&levels, 1, &mut page);
            let length = page.len() as u32 - 4;
            page[..4].copy_from_slice(&length.to_le_bytes());
        }
        let width = rle::width(self.numbers.len().saturating_sub(1) as u32);
        page.push(width);
        rle::encode(&numbers, width, &mut page);
        self.rows += keys.len();
        self.nulls += keys.len() - numbers.len();
        let page = Page::DataPage {
            buf: page.into(),
            num_values: keys.len() as u32,
            encoding: Encoding::RLE_DICTIONARY,
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        };
        append(page, &mut self.pages)
    }

    /// The number of a text in the dictionary of the row group.
    fn number(&mut self, text: &str) -> u32 {
        if let Some(&number) = self.numbers.get(text) {
            return number;
        }
        let number = self.numbers.len() as u32;
        self.numbers.insert(text.into(), number);
        let length = text.len() as u32;
        self.dictionary.extend_from_slice(&length.to_le_bytes());
        self.dictionary.extend_from_slice(text.as_bytes());
        number
    }

    /// The bytes of the texts.
    pub(super) fn text_len(&self) -> usize {
        self.dictionary.len()
    }

    /// The dictionary and the pages. They are not compressed: the numbers take few bits.
    pub(super) fn close(self) -> Result<Chunk> {
        let least = self
            .numbers
            .keys()
            .min()
            .map(|text| ByteArray::from(&**text));
        let greatest = self
            .numbers
            .keys()
            .max()
            .map(|text| ByteArray::from(&**text));
        let nulls = Some(self.nulls as u64);
        let dictionary = Page::DictionaryPage {
            buf: self.dictionary.into(),
            num_values: self.numbers.len() as u32,
            encoding: Encoding::PLAIN,
            is_sorted: false,
        };
        let mut bytes = Vec::new();
        append(dictionary, &mut bytes)?;
        let first = bytes.len() as i64;
        bytes.extend_from_slice(&self.pages);
        let metadata = ColumnChunkMetaData::builder(self.column)
            .set_compression(Compression::UNCOMPRESSED)
            .set_encodings(vec![
                Encoding::PLAIN,
                Encoding::RLE,
                Encoding::RLE_DICTIONARY,
            ])
            .set_num_values(self.rows as i64)
            .set_total_compressed_size(bytes.len() as i64)
            .set_total_uncompressed_size(bytes.len() as i64)
            .set_dictionary_page_offset(Some(0))
            .set_data_page_offset(first)
            .set_statistics(Statistics::byte_array(least, greatest, None, nulls, false))
            .build()?;
        let result = ColumnCloseResult {
            bytes_written: bytes.len() as u64,
            rows_written: self.rows as u64,
            metadata,
            bloom_filter: None,
            column_index: None,
            offset_index: None,
        };
        let bytes = bytes.into();
        Ok(Chunk { bytes, result })
    }
}

/// The dictionary that a column is, and its texts.
fn dictionary_of_texts(
    values: &ArrayRef,
) -> Option<(&DictionaryArray<Int32Type>, &LargeStringArray)> {
    let words = values
        .as_any()
        .downcast_ref::<DictionaryArray<Int32Type>>()?;
    let texts = words.values().as_any().downcast_ref()?;
    Some((words, texts))
}

/// Appends a page with its header.
fn append(page: Page, out: &mut Vec<u8>) -> Result<()> {
    let mut sink = TrackedWrite::new(out);
    let len = page.buffer().len();
    let mut writer = SerializedPageWriter::new(&mut sink);
    writer.write_page(CompressedPage::new(page, len))?;
    writer.close()
}
