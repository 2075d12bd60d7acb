//! The position in the source, and the smallest steps: trivia, tokens, errors about a token.

use alloc::boxed::Box;
use alloc::string::String;
use ptx_ir::raw::number::scan_number;
use ptx_ir::raw::scan::{self, Trivia, class, is};
use ptx_ir::{Code, Diagnostic, Linkage, Span};
use ptx_isa::Directive;

use crate::record::Record;
use crate::statement_extent::line_end;

/// The result of parsing a construct, or the error that ended it.
pub(crate) type ParseResult<T> = Result<T, Box<Record>>;

/// A position in the source.
pub(crate) struct Cursor<'s> {
    pub(crate) src: &'s [u8],
    pub(crate) pos: usize,
    /// The end of the last token that was taken. A statement ends there, and a missing `;` belongs there.
    pub(crate) last: usize,
    /// Trivia since the statement began.
    pub(crate) trivia: Trivia,
}

/// A position to go back to.
#[derive(Copy, Clone)]
pub(crate) struct Checkpoint {
    pos: usize,
    last: usize,
    trivia: Trivia,
}

impl<'s> Cursor<'s> {
    pub(crate) fn new(src: &'s [u8]) -> Self {
        Self {
            src,
            pos: 0,
            last: 0,
            trivia: Trivia::default(),
        }
    }

    pub(crate) fn checkpoint(&self) -> Checkpoint {
        Checkpoint {
            pos: self.pos,
            last: self.last,
            trivia: self.trivia,
        }
    }

    pub(crate) fn reset(&mut self, checkpoint: Checkpoint) {
        self.pos = checkpoint.pos;
        self.last = checkpoint.last;
        self.trivia = checkpoint.trivia;
    }

    // --- bytes ---

    #[inline(always)]
    pub(crate) fn peek(&self) -> u8 {
        scan::peek(self.src, self.pos)
    }

    #[inline(always)]
    pub(crate) fn peek_at(&self, offset: usize) -> u8 {
        scan::peek(self.src, self.pos + offset)
    }

    #[inline]
    pub(crate) fn at_end(&self) -> bool {
        self.pos >= self.src.len()
    }

    /// The offset of the next token. The cursor does not move.
    pub(crate) fn next_token(&self) -> usize {
        scan::skip_trivia(self.src, self.pos, &mut Trivia::default())
    }

    // --- tokens ---

    /// Skips white space and comments.
    #[inline(always)]
    pub(crate) fn skip_trivia(&mut self) {
        let (src, mut pos) = (self.src, self.pos);
        let mut byte = scan::peek(src, pos);
        while is(byte, class::WHITESPACE) {
            self.trivia.newline |= byte == b'\n';
            pos += 1;
            byte = scan::peek(src, pos);
        }
        self.pos = pos;
        if byte == b'/' || byte == b'#' {
            self.skip_comments();
        }
    }

    #[inline(never)]
    fn skip_comments(&mut self) {
        self.pos = scan::skip_trivia(self.src, self.pos, &mut self.trivia);
    }

    /// Moves to the next token if it begins with `byte`. Otherwise the cursor does not move. Returns whether it moved.
    pub(crate) fn skip_to(&mut self, byte: u8) -> bool {
        let mut trivia = self.trivia;
        let next = scan::skip_trivia(self.src, self.pos, &mut trivia);
        let is_next = scan::peek(self.src, next) == byte;
        if is_next {
            self.trivia = trivia;
            self.pos = next;
        }
        is_next
    }

    /// Takes the punctuation mark `byte` if it is the next token; skips the trivia before it in
    /// either case.
    #[inline(always)]
    pub(crate) fn eat(&mut self, byte: u8) -> bool {
        self.skip_trivia();
        if self.peek() == byte && self.pos < self.src.len() {
            self.pos += 1;
            self.last = self.pos;
            true
        } else {
            false
        }
    }

    /// Takes `byte` if it is the next token. Otherwise the cursor does not move, not even over trivia, which may
    /// follow the end of a statement without a token at its end.
    #[inline]
    pub(crate) fn eat_optional(&mut self, byte: u8) -> bool {
        let mut next = self.pos;
        while is(scan::peek(self.src, next), class::WHITESPACE) {
            next += 1;
        }
        let first_byte = scan::peek(self.src, next);
        if first_byte != byte && first_byte != b'/' && first_byte != b'#' {
            return false;
        }
        let mut trivia = self.trivia;
        let next = scan::skip_trivia(self.src, next, &mut trivia);
        if next < self.src.len() && self.src[next] == byte {
            self.trivia = trivia;
            self.pos = next;
            self.advance(1);
            true
        } else {
            false
        }
    }

    /// Takes `byte` or fails; `expected` names it in the error.
    #[inline]
    pub(crate) fn expect(&mut self, byte: u8, expected: &str) -> ParseResult<()> {
        if self.eat(byte) {
            Ok(())
        } else {
            Err(self.unexpected(expected))
        }
    }

    #[inline]
    pub(crate) fn at_ident(&self) -> bool {
        scan::starts_ident(self.src, self.pos)
    }

    /// Takes the identifier that begins here.
    #[inline(always)]
    pub(crate) fn take_ident(&mut self) -> (usize, usize) {
        let start = self.pos;
        let end = scan::ident_end(self.src, start);
        self.pos = end;
        self.last = end;
        (start, end)
    }

    /// Takes an identifier after trivia, or fails.
    pub(crate) fn expect_ident(&mut self, expected: &str) -> ParseResult<(usize, usize)> {
        self.skip_trivia();
        if self.at_ident() {
            Ok(self.take_ident())
        } else {
            Err(self.unexpected(expected))
        }
    }

    /// Skips trivia and returns the dotted token at the cursor, without taking it.
    #[inline]
    pub(crate) fn dot_word(&mut self) -> Option<&'s [u8]> {
        self.skip_trivia();
        if self.peek() == b'.' && is(self.peek_at(1), class::WORD) {
            let end = scan::dot_word_end(self.src, self.pos);
            Some(&self.src[self.pos..end])
        } else {
            None
        }
    }

    /// Whether a function begins here, with its linkage if it has any.
    pub(crate) fn is_function(&mut self) -> bool {
        let checkpoint = self.checkpoint();
        let mut is_function = false;
        while let Some(word) = self.dot_word() {
            match Directive::from_text(word) {
                Some(Directive::Entry | Directive::Func) => {
                    is_function = true;
                    break;
                }
                Some(directive) if Linkage::from_directive(directive).is_some() => {
                    self.pos += word.len()
                }
                _ => break,
            }
        }
        self.reset(checkpoint);
        is_function
    }

    /// Takes `len` bytes that are one token.
    #[inline]
    pub(crate) fn advance(&mut self, len: usize) {
        self.pos += len;
        self.last = self.pos;
    }

    /// One past the token that begins here.
    pub(crate) fn token_end(&self) -> usize {
        let (src, pos) = (self.src, self.pos);
        let first_byte = self.peek();
        if self.at_ident() {
            scan::ident_end(src, pos)
        } else if first_byte.is_ascii_digit() {
            scan_number(src, pos).0
        } else if first_byte == b'.' {
            scan::dot_word_end(src, pos)
        } else if first_byte == b'"' {
            scan::string_end(src, pos).0
        } else if first_byte == b'#' && scan::at_line_start(src, pos) {
            scan::line_end(src, pos)
        } else {
            let mut end = (pos + 1).min(src.len());
            if first_byte >= 0x80 {
                while end < src.len() && src[end] >= 0x80 {
                    end += 1;
                }
            }
            end
        }
    }

    // --- errors ---

    #[cold]
    pub(crate) fn error(
        &self,
        code: Code,
        start: usize,
        end: usize,
        message: impl Into<String>,
    ) -> Box<Record> {
        Box::new(Diagnostic::error(code, Span::at(start, end), message).into())
    }

    /// The end of the token at the cursor, and its description for a message.
    pub(crate) fn describe_token(&self) -> (usize, String) {
        const LONGEST: usize = 40;
        if self.at_end() {
            return (self.pos, String::from("the end of the file"));
        }
        let end = self.token_end();
        let text = String::from_utf8_lossy(&self.src[self.pos..end.min(self.pos + LONGEST)]);
        let escaped: String = text
            .chars()
            .map(|c| match c {
                '"' | '\'' => String::from(c),
                _ => c.escape_debug().collect(),
            })
            .collect();
        let ellipsis = if end > self.pos + LONGEST { "…" } else { "" };
        (end, format!("`{escaped}{ellipsis}`"))
    }

    /// The error of a token in the place of `expected`.
    #[cold]
    pub(crate) fn unexpected(&mut self, expected: &str) -> Box<Record> {
        self.skip_trivia();
        let (end, token) = self.describe_token();
        let code = match self.peek() {
            b'#' if scan::at_line_start(self.src, self.pos) => Code::PreprocessorLine,
            b'"' if !scan::string_end(self.src, self.pos).1 => Code::UnterminatedString,
            b'`' | b'\\' | b'\'' => Code::StrayByte,
            0x21..=0x7e => Code::UnexpectedToken,
            _ if self.at_end() => Code::UnexpectedToken,
            _ => Code::StrayByte,
        };
        let message = match code {
            Code::StrayByte => format!("unexpected character {token}; expected {expected}"),
            Code::PreprocessorLine => String::from(
                "expected a line marker such as `# 1 \"file\"`, found a preprocessor directive",
            ),
            _ => format!("expected {expected}, found {token}"),
        };
        let end = end.max(self.pos + 1).min(self.src.len()).max(self.pos);
        let error = self.error(code, self.pos, end, message);
        match code {
            Code::PreprocessorLine => Box::new(error.with_help("run the preprocessor first")),
            Code::UnterminatedString => Box::new(unterminated(self.src, self.pos).into()),
            _ => error,
        }
    }
}

/// The error of the string at `start`, which is not closed on its line.
#[cold]
pub(crate) fn unterminated(src: &[u8], start: usize) -> Diagnostic {
    let line = src[start..line_end(src, start)].trim_ascii_end();
    let text = line.strip_suffix(b";").unwrap_or(line);
    let end = start + text.len();
    let message = "expected a closing quote on this line";
    Diagnostic::error(Code::UnterminatedString, Span::at(start, end), message)
        .with_help("close the string with `\"`")
        .with_fix(Span::at(end, end), "\"")
}

/// The error of a string that was meant to end on its line, and runs up to `offset` on another one.
pub(crate) fn unclosed_string(src: &[u8], offset: usize) -> Option<Diagnostic> {
    let preceding = src.get(..offset)?.trim_ascii_end();
    let inside = preceding.strip_suffix(b"\"")?;
    let start = memchr::memrchr(b'"', inside)?;
    memchr::memchr(b'\n', &inside[start..])?;
    let mut diagnostic = unterminated(src, start);
    // ptxas reports an unexpected token at `offset`.
    diagnostic.repeats = [Span::at(offset, (offset + 1).min(src.len()))].into();
    Some(diagnostic)
}
