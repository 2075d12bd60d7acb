//! Parses debug sections. They contain labels and data, often hundreds of thousands.

use alloc::vec::Vec;
use ptx_ir::lex::Lexer;
use ptx_ir::raw::RawModule;
use ptx_ir::{Item, Operand, Section, SectionEntry};
use ptx_isa::ScalarType;

use crate::cursor::ParseResult;
use crate::parser::Parser;

/// Other names that ptxas accepts for the types of data.
const ALIASES: [(&[u8], ScalarType); 3] = [
    (b".byte", ScalarType::B8),
    (b".4byte", ScalarType::B32),
    (b".quad", ScalarType::B64),
];

impl Parser<'_> {
    /// Parses `.section .name { … }` after the directive, which begins at `start`.
    pub(crate) fn section(&mut self, start: usize) {
        if let Err(error) = self.section_parts(start) {
            // The section stays text, up to its `}`.
            self.report_unless_cascading(start, *error);
            self.out.scratch.clear();
            let end = self.end_of_closing_brace();
            self.opaque_section(start, end);
        }
    }

    fn section_parts(&mut self, start: usize) -> ParseResult<()> {
        let Some(word) = self.cursor.dot_word() else {
            return Err(self
                .cursor
                .unexpected("the name of a section, such as `.debug_info`"));
        };
        let name_start = self.cursor.pos;
        self.cursor.advance(word.len());
        let name = self.intern(name_start, self.cursor.pos);
        self.cursor
            .expect(b'{', "`{` before the data of a section")?;
        let mut entries: Vec<SectionEntry> = Vec::new();
        self.section_entries(&mut entries)?;
        entries.shrink_to_fit();
        let id = self
            .out
            .module
            .sections_mut()
            .push(Section::new(name, entries));
        let comments = self.cursor.trivia.comment;
        self.out
            .push_item(Item::Section(id), start, self.cursor.pos, comments);
        Ok(())
    }

    fn section_entries(&mut self, entries: &mut Vec<SectionEntry>) -> ParseResult<()> {
        loop {
            self.plain_lines(entries);
            self.cursor.skip_trivia();
            match self.cursor.peek() {
                b'}' => {
                    self.cursor.advance(1);
                    return Ok(());
                }
                b'.' => self.data(entries)?,
                _ if self.cursor.at_ident() => {
                    let (start, end) = self.cursor.take_ident();
                    self.cursor.expect(b':', "`:` after a label")?;
                    entries.push(SectionEntry::Label(self.intern(start, end)));
                }
                _ => return Err(self.cursor.unexpected("a label, `.b8` to `.b64`, or `}`")),
            }
            if entries.len() == entries.capacity() {
                entries.reserve_exact((entries.len() / 2).max(256));
            }
        }
    }

    /// Parses lines such as `.b8 17` with the type of the previous line. Most lines of a section are of this kind.
    #[inline]
    fn plain_lines(&mut self, entries: &mut Vec<SectionEntry>) {
        let Some(SectionEntry::Int { ty, .. }) = entries.last() else {
            return;
        };
        let (ty, first) = (*ty, true);
        let word = ty.text().as_bytes();
        let mut text = self.cursor.src.get(self.cursor.pos..).unwrap_or_default();
        if let [b'\n', line @ ..] = text {
            text = line;
        }
        while let Some([b' ', digits @ ..]) = text.strip_prefix(word) {
            let Some((value, following)) = small_line(digits) else {
                break;
            };
            entries.push(SectionEntry::Int { ty, first, value });
            text = following;
            self.cursor.last = self.cursor.src.len() - following.len() - 1;
            self.cursor.pos = self.cursor.last + 1;
        }
    }

    /// The end of the next `}`, or of the source.
    #[cold]
    fn end_of_closing_brace(&self) -> usize {
        let following = &self.cursor.src[self.cursor.pos..];
        let brace = Lexer::fragment(following).find(|t| t.span.of(following) == b"}");
        brace.map_or(self.cursor.src.len(), |t| {
            self.cursor.pos + t.span.end as usize
        })
    }

    /// Parses data such as `.b8 1, 2` or `.b32 label`.
    #[inline]
    fn data(&mut self, entries: &mut Vec<SectionEntry>) -> ParseResult<()> {
        let ty = self.datum_type(entries)?;
        let mut first = true;
        loop {
            self.cursor.skip_trivia();
            let entry = match self.cursor.peek() {
                b'0'..=b'9' | b'-' => match self.datum()? {
                    Operand::Small(value) => SectionEntry::Int { ty, first, value },
                    operand => {
                        let value = self.out.module.pool_mut().extend(&[operand]).at(0);
                        SectionEntry::Other { ty, first, value }
                    }
                },
                // A label is the only datum of its line.
                _ if !first => return Err(self.cursor.unexpected("a whole number")),
                _ => {
                    let datum = self.debug_name()?;
                    let value = self.out.module.pool_mut().extend(&[datum]).at(0);
                    entries.push(SectionEntry::Other { ty, first, value });
                    return Ok(());
                }
            };
            entries.push(entry);
            first = false;
            if !self.cursor.eat_optional(b',') {
                return Ok(());
            }
        }
    }

    /// Takes the type of the next data, which is mostly that of the previous data.
    #[inline]
    fn datum_type(&mut self, entries: &[SectionEntry]) -> ParseResult<ScalarType> {
        if let Some(SectionEntry::Int { ty, .. } | SectionEntry::Other { ty, .. }) = entries.last()
        {
            let len = ty.text().len();
            let has_space_after = matches!(self.cursor.peek_at(len), b' ' | b'\t');
            if has_space_after
                && self.cursor.src.get(self.cursor.pos..self.cursor.pos + len)
                    == Some(ty.text().as_bytes())
            {
                self.cursor.advance(len);
                return Ok(*ty);
            }
        }
        let word = self.cursor.dot_word().unwrap_or_default();
        let alias = ALIASES.iter().find(|(alias, _)| *alias == word);
        match alias.map_or_else(|| ScalarType::from_text(word), |(_, ty)| Some(*ty)) {
            Some(ty @ (ScalarType::B8 | ScalarType::B16 | ScalarType::B32 | ScalarType::B64)) => {
                self.cursor.advance(word.len());
                Ok(ty)
            }
            _ => Err(self
                .cursor
                .unexpected("`.b8`, `.b16`, `.b32`, `.b64`, a label or `}`")),
        }
    }

    /// Parses an integer with an optional sign. Data cannot be expressions, as no token marks their end.
    #[inline]
    fn datum(&mut self) -> ParseResult<Operand> {
        if self.cursor.peek() != b'-' {
            return self.integer();
        }
        let start = self.cursor.pos;
        self.cursor.advance(1);
        self.cursor.skip_trivia();
        let digits_start = self.cursor.pos;
        match self.integer()? {
            Operand::Small(n) if n != 0 => Ok(Operand::Small(-n)),
            // The number without the sign has to fit 63 bits.
            number if self.out.pool().integer(number).is_some_and(|n| n < 0) => {
                self.cursor.pos = start;
                Err(self.cursor.unexpected("a number from -9223372036854775807"))
            }
            _ if self
                .cursor
                .src
                .get(start..self.cursor.pos)
                .is_some_and(|text| text.ends_with(b"U")) =>
            {
                self.cursor.pos = digits_start;
                Err(self.cursor.unexpected("a number without `U` after `-`"))
            }
            _ => self.integer_literal(start, self.cursor.pos),
        }
    }
}

/// Splits a line with a decimal integer of at most nine digits and no leading zeros from the text after it.
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
