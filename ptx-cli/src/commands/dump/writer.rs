//! Writes records, one per line or as one object per file.

use std::io::{self, Write};

use anyhow::Result;
use ptx_report::records::Record;

use super::Format;
use crate::select::Selection;

/// The output is written after a record if it is longer than this.
const FLUSH: usize = 1 << 16;
/// A part of a record is written if it is longer than this.
const FLUSH_PART: usize = 1 << 20;

pub(super) struct Writer<'a> {
    out: Buffer<'a>,
    format: Format,
    fields: Option<&'a Selection>,
    /// With one object per file: the list `statements` of a function is open.
    in_function: bool,
    /// With one object per file: nothing was written to the open list.
    is_first: bool,
}

/// Output that is not written yet.
struct Buffer<'a> {
    bytes: Vec<u8>,
    sink: &'a mut dyn Write,
    /// Parts of records are written.
    writes_parts: bool,
    /// The last byte is kept, because it may be replaced. Standard output is faster with whole lines.
    keeps_last_byte: bool,
}

impl<'a> Writer<'a> {
    pub(super) fn new(
        format: Format,
        fields: Option<&'a Selection>,
        sink: &'a mut dyn Write,
    ) -> Self {
        Self {
            out: Buffer {
                bytes: Vec::with_capacity(2 * FLUSH),
                sink,
                writes_parts: fields.is_none(),
                keeps_last_byte: format == Format::Json,
            },
            format,
            fields,
            in_function: false,
            is_first: true,
        }
    }

    /// Writes a record of a file.
    pub(super) fn record(&mut self, record: &Record<'_>) -> Result<()> {
        let is_item = record.head().is_none_or(|head| head.function.is_none());
        if self.format == Format::Json {
            if is_item {
                self.close_function();
            }
            if !std::mem::replace(&mut self.is_first, false) {
                self.out.bytes.push(b',');
            }
        }
        let start = self.out.bytes.len();
        serde_json::to_writer(&mut self.out, record)?;
        if let Some(fields) = self.fields {
            fields.filter_text(&mut self.out.bytes, start, &[])?;
        }
        match (self.format, record) {
            (Format::Ndjson, _) => self.out.bytes.push(b'\n'),
            (Format::Json, Record::File(_)) => self.open("items"),
            (Format::Json, Record::Function(function)) if is_item && function.defined => {
                self.open("statements");
                self.in_function = true;
            }
            (Format::Json, _) => {}
        }
        self.out.flush_if_longer(FLUSH)?;
        Ok(())
    }

    /// Ends the output of a file.
    pub(super) fn finish(mut self) -> Result<()> {
        if self.format == Format::Json {
            self.close_function();
            self.out.bytes.extend_from_slice(b"]}\n");
        }
        Ok(self.out.sink.write_all(&self.out.bytes)?)
    }

    /// Begins a list in the last record, which contains the following records.
    fn open(&mut self, list: &str) {
        let bytes = &mut self.out.bytes;
        bytes.pop();
        bytes.extend_from_slice(b",\"");
        bytes.extend_from_slice(list.as_bytes());
        bytes.extend_from_slice(b"\":[");
        self.is_first = true;
    }

    fn close_function(&mut self) {
        if std::mem::replace(&mut self.in_function, false) {
            self.out.bytes.extend_from_slice(b"]}");
            self.is_first = false;
        }
    }
}

impl Buffer<'_> {
    fn flush_if_longer(&mut self, len: usize) -> io::Result<()> {
        if self.bytes.len() > len {
            let end = self.bytes.len() - usize::from(self.keeps_last_byte);
            self.sink.write_all(&self.bytes[..end])?;
            self.bytes.drain(..end);
        }
        Ok(())
    }
}

impl Write for Buffer<'_> {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_all(bytes)?;
        Ok(bytes.len())
    }

    #[inline]
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.bytes.extend_from_slice(bytes);
        if self.writes_parts && self.bytes.len() > FLUSH_PART {
            self.flush_if_longer(FLUSH_PART)?;
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
