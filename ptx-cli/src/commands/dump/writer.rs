//! Records: one for each statement, written byte by byte.

use std::io::{self, Write as _};

use anyhow::Result;
use ptx_analysis::source_lines::SourceLines;
use ptx_ir::facts::ModuleFacts;
use ptx_ir::{FuncId, Item, LineCursor, LineIndex, Module, SigId, Span};

use super::Format;
use super::operand::{Registers, Todo};
use crate::functions::Chosen;
use crate::output::Out;
use crate::select::Selection;
use ptx_report::SCHEMA;
use ptx_report::json_text::{number, optional, raw, string, word};
use ptx_report::source_frames::FrameParts;

/// The output is written when it is longer than this.
const FLUSH: usize = 1 << 16;

pub(super) struct Writer<'a> {
    pub(super) module: &'a Module,
    pub(super) out: Vec<u8>,
    /// Operands that are not written yet; nesting needs memory, not stack.
    pub(super) worklist: Vec<Todo<'a>>,
    /// Those of the current function.
    pub(super) registers: Registers,
    pub(super) frame_parts: FrameParts,
    lines: LineCursor<'a>,
    format: Format,
    fields: Option<&'a Selection>,
    sink: &'a mut Out,
    /// Where the record begins.
    start: usize,
    /// Whether no record was written to the current list.
    first: bool,
    /// What prevented that a part of a record was written.
    failure: Option<io::Error>,
    /// The fields `opcode` and `modifiers` of each mnemonic that was written.
    mnemonics: Vec<Vec<u8>>,
}

impl<'a> Writer<'a> {
    pub(super) fn new(
        module: &'a Module,
        lines: &'a LineIndex,
        format: Format,
        fields: Option<&'a Selection>,
        sink: &'a mut Out,
    ) -> Self {
        Self {
            module,
            out: Vec::with_capacity(2 * FLUSH),
            worklist: Vec::new(),
            registers: Registers::default(),
            frame_parts: FrameParts::default(),
            lines: LineCursor::new(lines, module.source()),
            format,
            fields,
            sink,
            start: 0,
            first: true,
            failure: None,
            mnemonics: vec![Vec::new(); module.signatures().len()],
        }
    }

    /// Writes a file, or only some of its functions.
    pub(super) fn file(mut self, name: &str, functions: Option<&Chosen>) -> Result<()> {
        let module = self.module;
        let is_chosen = |id: FuncId| functions.is_none_or(|chosen| chosen.contains(id));
        self.begin("file");
        raw(&mut self.out, ",\"file\":");
        string(&mut self.out, name);
        self.header();
        self.open("items")?;
        let facts = ModuleFacts::of(module, is_chosen);
        let lines = SourceLines::new(module);
        for (id, item) in module.items() {
            let span = module.span(id);
            match item {
                Item::Function(id) if is_chosen(id) => {
                    self.function(id, span, None);
                    if let (Some(facts), Some(body)) = (facts.function(id), module.body(id)) {
                        self.open("statements")?;
                        self.body(id, body, facts, lines.function(body))?;
                        self.close()?;
                    } else {
                        self.end()?;
                    }
                }
                item if functions.is_none() => self.item(item, span)?,
                _ => {}
            }
        }
        self.close()?;
        if self.format == Format::Json {
            self.out.push(b'\n');
        }
        Ok(self.sink.write_all(&self.out)?)
    }

    fn header(&mut self) {
        let (header, source) = (self.module.header(), self.module.source());
        raw(&mut self.out, ",\"header\":{\"ptx\":");
        let version = header.version.map(|v| v.to_string());
        optional(&mut self.out, version.as_deref());
        raw(&mut self.out, ",\"target\":");
        optional(&mut self.out, header.target.map(|t| t.text()));
        raw(&mut self.out, ",\"address_size\":");
        match header.address_size {
            Some(bits) => number(&mut self.out, bits.into()),
            None => raw(&mut self.out, "null"),
        }
        raw(&mut self.out, "},\"bytes\":");
        number(&mut self.out, source.len() as u32);
    }

    /// Begins a record.
    #[inline]
    pub(super) fn begin(&mut self, record: &str) {
        let nested = self.format == Format::Json && record != "file";
        if nested && !std::mem::replace(&mut self.first, false) {
            self.out.push(b',');
        }
        self.start = self.out.len();
        self.out.push(b'{');
        if !nested {
            raw(&mut self.out, "\"schema\":");
            number(&mut self.out, SCHEMA);
            self.out.push(b',');
        }
        raw(&mut self.out, "\"record\":");
        word(&mut self.out, record);
    }

    /// Ends a record.
    #[inline]
    pub(super) fn end(&mut self) -> Result<()> {
        self.out.push(b'}');
        if let Some(fields) = self.fields {
            fields.filter_text(&mut self.out, self.start, &[])?;
        }
        if self.format == Format::Ndjson {
            self.out.push(b'\n');
        }
        self.flush()
    }

    /// Ends a record that others belong to: they are in a list of this name, or follow it.
    fn open(&mut self, list: &str) -> Result<()> {
        self.end()?;
        if self.format == Format::Json {
            self.out.pop();
            self.out.push(b',');
            word(&mut self.out, list);
            raw(&mut self.out, ":[");
            self.first = true;
        }
        Ok(())
    }

    /// Ends the list.
    fn close(&mut self) -> Result<()> {
        if self.format == Format::Json {
            raw(&mut self.out, "]}");
            self.first = false;
        }
        self.flush()
    }

    fn flush(&mut self) -> Result<()> {
        if self.out.len() > FLUSH {
            // The last byte of a JSON object may be replaced. Standard output is faster with whole lines.
            let kept = usize::from(self.format == Format::Json);
            let end = self.out.len() - kept;
            self.sink.write_all(&self.out[..end])?;
            self.out.drain(..end);
        }
        self.failure
            .take()
            .map_or(Ok(()), |error| Err(error.into()))
    }

    /// Writes what is there of a long record, unless it has to be filtered.
    #[inline]
    pub(super) fn flush_part(&mut self) {
        if self.out.len() > FLUSH && self.fields.is_none() {
            let written = self.sink.write_all(&self.out);
            self.failure = self.failure.take().or(written.err());
            self.out.clear();
        }
    }

    pub(super) fn span(&mut self, span: Span) {
        let (start, end) = (
            self.lines.position(span.start),
            self.lines.position(span.end),
        );
        let out = &mut self.out;
        let mut field = |key: &str, value: u32| {
            raw(out, key);
            number(out, value);
        };
        field(",\"span\":{\"start\":", span.start);
        field(",\"end\":", span.end);
        field(",\"line\":", start.line);
        field(",\"column\":", start.column);
        field(",\"end_line\":", end.line);
        field(",\"end_column\":", end.column);
        self.out.push(b'}');
    }

    /// The fields `opcode` and `modifiers`.
    #[inline]
    pub(super) fn mnemonic(&mut self, sig: SigId) {
        let Some(text) = self.mnemonics.get_mut(sig.as_u32() as usize) else {
            return;
        };
        if text.is_empty() {
            let signature = self.module.signature(sig);
            raw(text, ",\"opcode\":");
            string(text, signature.opcode_text());
            raw(text, ",\"modifiers\":[");
            for (nth, &word) in signature.words().iter().enumerate() {
                raw(text, if nth > 0 { "," } else { "" });
                string(text, signature.word_text(word).trim_start_matches('.'));
            }
            text.push(b']');
        }
        self.out.extend_from_slice(text);
    }
}
