//! Debug sections: labels and data, by the hundred thousand.

use alloc::vec::Vec;
use ptx_ir::lex::Lexer;
use ptx_ir::{Item, Operand, Origin, Section, SectionEntry, Span};
use ptx_isa::ScalarType;

use crate::parser::{Parser, Step};

impl Parser<'_> {
    /// `.section .name { … }`; the directive is taken, `start` is its dot.
    pub(crate) fn section(&mut self, start: usize) -> Step<()> {
        let Some(word) = self.dot_word() else {
            return Err(self.unexpected("the name of a section, such as `.debug_info`"));
        };
        let name_start = self.pos;
        self.take(word.len());
        let name = self.intern(name_start, self.pos);
        self.expect(b'{', "`{` before the data of a section")?;
        let mut entries: Vec<SectionEntry> = Vec::new();
        if let Err(d) = self.section_entries(&mut entries) {
            // The whole section stays text, up to its own `}`.
            self.report(*d);
            let end = self.closing_brace();
            self.opaque_item(start, end);
            return Ok(());
        }
        entries.shrink_to_fit();
        let id = self.module.sections.push(Section { name, entries });
        let origin = Origin::new(Span::at(start, self.pos), self.trivia.comment);
        self.module.push_item(Item::Section(id), origin);
        Ok(())
    }

    fn section_entries(&mut self, entries: &mut Vec<SectionEntry>) -> Step<()> {
        loop {
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

    /// One past the next `}`, or the end of the source.
    #[cold]
    fn closing_brace(&self) -> usize {
        let rest = &self.src[self.pos..];
        let close = Lexer::new(rest).find(|t| t.span.of(rest) == b"}");
        close.map_or(self.src.len(), |t| self.pos + t.span.end as usize)
    }

    /// `.b8 1, 2, label`
    #[inline]
    fn data(&mut self, entries: &mut Vec<SectionEntry>) -> Step<()> {
        let word = match self.src.get(self.pos..self.pos + 3) {
            Some(b".b8") if !self.peek_at(3).is_ascii_alphanumeric() => &b".b8"[..],
            _ => self.dot_word().unwrap_or_default(),
        };
        let ty = match ScalarType::from_text(word) {
            Some(ty @ (ScalarType::B8 | ScalarType::B16 | ScalarType::B32 | ScalarType::B64)) => ty,
            _ => return Err(self.unexpected("`.b8`, `.b16`, `.b32`, `.b64`, a label or `}`")),
        };
        self.take(word.len());
        let mut first = true;
        loop {
            self.blanks();
            let entry = match self.peek() {
                b'0'..=b'9' | b'-' | b'(' | b'+' | b'~' | b'!' => match self.datum()? {
                    Operand::Small(value) => SectionEntry::Int { ty, first, value },
                    other => {
                        let value = self.module.pool.extend(&[other]).at(0);
                        SectionEntry::Other { ty, first, value }
                    }
                },
                _ => {
                    let datum = self.debug_name()?;
                    let value = self.module.pool.extend(&[datum]).at(0);
                    SectionEntry::Other { ty, first, value }
                }
            };
            entries.push(entry);
            first = false;
            if !self.eat_ahead(b',') {
                return Ok(());
            }
        }
    }

    /// A number; nothing separates it from the next line.
    #[inline]
    fn datum(&mut self) -> Step<Operand> {
        let mut len = 0;
        let mut value = 0i32;
        while len < 9 && self.peek_at(len).is_ascii_digit() {
            value = value * 10 + (self.peek_at(len) - b'0') as i32;
            len += 1;
        }
        let plain = len == 1 || (len > 1 && self.peek() != b'0');
        if plain && matches!(self.peek_at(len), b'\n' | b',' | b'\r') {
            self.take(len);
            return Ok(Operand::Small(value));
        }
        self.constant()
    }
}
