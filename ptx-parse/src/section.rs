//! Debug sections: labels and data, by the hundred thousand.

use alloc::vec::Vec;
use ptx_ir::lex::Lexer;
use ptx_ir::{Item, Operand, Section, SectionEntry, Span, StmtSpan};
use ptx_isa::ScalarType;

use crate::parser::{ParseResult, Parser};

impl Parser<'_> {
    /// `.section .name { … }`; the directive is taken, `start` is its dot.
    pub(crate) fn section(&mut self, start: usize) {
        if let Err(d) = self.section_parts(start) {
            // The whole section stays text, up to its own `}`.
            self.report_unless_spoiled(start, *d);
            self.scratch.clear();
            let end = self.closing_brace();
            self.trouble.desync();
            self.opaque_item(start, end);
        }
    }

    fn section_parts(&mut self, start: usize) -> ParseResult<()> {
        let Some(word) = self.dot_word() else {
            return Err(self.unexpected("the name of a section, such as `.debug_info`"));
        };
        let name_start = self.pos;
        self.take(word.len());
        let name = self.intern(name_start, self.pos);
        self.expect(b'{', "`{` before the data of a section")?;
        let mut entries: Vec<SectionEntry> = Vec::new();
        self.section_entries(&mut entries)?;
        entries.shrink_to_fit();
        let id = self.module.sections.push(Section { name, entries });
        let origin = StmtSpan::new(Span::at(start, self.pos), self.trivia.comment);
        self.module.push_item(Item::Section(id), origin);
        Ok(())
    }

    fn section_entries(&mut self, entries: &mut Vec<SectionEntry>) -> ParseResult<()> {
        loop {
            self.plain_lines(entries);
            self.blanks();
            match self.peek() {
                b'}' => {
                    self.take(1);
                    return Ok(());
                }
                b'.' => self.data(entries)?,
                _ if self.at_ident() => {
                    let (a, b) = self.take_ident();
                    self.expect(b':', "`:` behind a label")?;
                    entries.push(SectionEntry::Label(self.intern(a, b)));
                }
                _ => return Err(self.unexpected("a label, `.b8` to `.b64`, or `}`")),
            }
            if entries.len() == entries.capacity() {
                entries.reserve_exact((entries.len() / 2).max(256));
            }
        }
    }

    /// Lines such as `.b8 17` of the type of the line before, which are nearly all of a section.
    #[inline]
    fn plain_lines(&mut self, entries: &mut Vec<SectionEntry>) {
        let Some(SectionEntry::Int { ty, .. }) = entries.last() else {
            return;
        };
        let (ty, first) = (*ty, true);
        let word = ty.text().as_bytes();
        let mut rest = self.src.get(self.pos..).unwrap_or_default();
        if let [b'\n', line @ ..] = rest {
            rest = line;
        }
        while let Some([b' ', digits @ ..]) = rest.strip_prefix(word) {
            let Some((value, tail)) = small_line(digits) else {
                break;
            };
            entries.push(SectionEntry::Int { ty, first, value });
            rest = tail;
            self.last = self.src.len() - tail.len() - 1;
            self.pos = self.last + 1;
        }
    }

    /// One past the next `}`, or the end of the source.
    #[cold]
    fn closing_brace(&self) -> usize {
        let rest = &self.src[self.pos..];
        let close = Lexer::fragment(rest).find(|t| t.span.of(rest) == b"}");
        close.map_or(self.src.len(), |t| self.pos + t.span.end as usize)
    }

    /// `.b8 1, 2, label`
    #[inline]
    fn data(&mut self, entries: &mut Vec<SectionEntry>) -> ParseResult<()> {
        let ty = self.datum_type(entries)?;
        let mut first = true;
        loop {
            self.blanks();
            let entry = match self.peek() {
                b'0'..=b'9' | b'-' => match self.datum()? {
                    Operand::Small(value) => SectionEntry::Int { ty, first, value },
                    other => {
                        let value = self.module.pool.extend(&[other]).at(0);
                        SectionEntry::Other { ty, first, value }
                    }
                },
                // A label stands alone.
                _ if !first => return Err(self.unexpected("a whole number")),
                _ => {
                    let datum = self.debug_name()?;
                    let value = self.module.pool.extend(&[datum]).at(0);
                    entries.push(SectionEntry::Other { ty, first, value });
                    return Ok(());
                }
            };
            entries.push(entry);
            first = false;
            if !self.eat_ahead(b',') {
                return Ok(());
            }
        }
    }

    /// The type of the data that follow: mostly that of the data before.
    #[inline]
    fn datum_type(&mut self, entries: &[SectionEntry]) -> ParseResult<ScalarType> {
        if let Some(SectionEntry::Int { ty, .. } | SectionEntry::Other { ty, .. }) = entries.last()
        {
            let len = ty.text().len();
            let blank = matches!(self.peek_at(len), b' ' | b'\t');
            if blank && self.src.get(self.pos..self.pos + len) == Some(ty.text().as_bytes()) {
                self.take(len);
                return Ok(*ty);
            }
        }
        let word = self.dot_word().unwrap_or_default();
        match ScalarType::from_text(word) {
            Some(ty @ (ScalarType::B8 | ScalarType::B16 | ScalarType::B32 | ScalarType::B64)) => {
                self.take(word.len());
                Ok(ty)
            }
            _ => Err(self.unexpected("`.b8`, `.b16`, `.b32`, `.b64`, a label or `}`")),
        }
    }

    /// An integer with an optional sign; no expression, as nothing ends it before the next line.
    #[inline]
    fn datum(&mut self) -> ParseResult<Operand> {
        if self.peek() != b'-' {
            return self.integer();
        }
        let start = self.pos;
        self.take(1);
        self.blanks();
        match self.integer()? {
            Operand::Small(n) if n != 0 => Ok(Operand::Small(-n)),
            _ => self.integer_literal(start, self.pos),
        }
    }
}

/// A decimal integer of at most nine digits without zeros before it, up to its newline, and what
/// follows that.
#[inline]
fn small_line(text: &[u8]) -> Option<(i32, &[u8])> {
    let mut value = 0i32;
    for (i, &b) in text.iter().take(10).enumerate() {
        match b {
            b'0'..=b'9' if i < 9 => value = value * 10 + (b - b'0') as i32,
            b'\n' if i == 1 || (i > 1 && text[0] != b'0') => return Some((value, &text[i + 1..])),
            _ => return None,
        }
    }
    None
}
