//! The lexer. Every byte of a text is in exactly one token or piece of trivia.
//!
//! It serves editors, diagnostics and tools that want tokens; the parser uses the functions of `scan` directly and keeps no
//! tokens.
//!
//! ```
//! use ptx_ir::lex::{Lexer, TokenKind};
//! let kinds: Vec<_> = Lexer::new(b"add.s32 %r1, %r2, -1;").map(|t| t.kind).collect();
//! assert_eq!(kinds[0], TokenKind::Ident);
//! assert_eq!(kinds[1], TokenKind::DotWord);
//! ```

pub(crate) mod ident_tokens;
pub(crate) mod number;
pub(crate) mod scan;

use crate::Span;
use number::NumberKind;
use scan::{class, is, peek};

/// The kind of a token.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum TokenKind {
    /// Spaces, tabs and newlines.
    Whitespace,
    /// `// …` up to the newline.
    LineComment,
    /// `/* … */`; ends at the end of the source where `*/` is missing.
    BlockComment,
    /// `# 1 "file"` or `#line 1 "file"`, a whole line.
    LineMarker,
    /// The three bytes of a UTF-8 byte order mark at the very start.
    ByteOrderMark,
    /// An identifier, opcode or register name.
    Ident,
    /// A word with its dot: directive, modifier, type, component. `::` parts belong to it.
    DotWord,
    /// An integer literal.
    Integer,
    /// A decimal floating-point literal.
    Decimal,
    /// `0f…`: the bits of a single.
    Single,
    /// `0d…`: the bits of a double.
    Double,
    /// A string with its quotes.
    String,
    /// An operator or punctuation mark of one or two bytes.
    Punct,
    /// The lines after `.source_begin` up to that of `.source_end`: a source that the module contains.
    SourceText,
    /// A malformed number, such as `08` or `1_000`.
    BadNumber,
    /// A string that is not closed on its line.
    BadString,
    /// A preprocessor line other than a line marker.
    BadLine,
    /// Unexpected characters.
    Unknown,
}

impl TokenKind {
    /// Whether the token only separates others.
    #[inline]
    #[must_use]
    pub const fn is_trivia(self) -> bool {
        matches!(
            self,
            Self::Whitespace
                | Self::LineComment
                | Self::BlockComment
                | Self::LineMarker
                | Self::ByteOrderMark
        )
    }

    /// A stable lower-case name, as in the output of `ptxkit debug tokens`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Whitespace => "whitespace",
            Self::LineComment => "line_comment",
            Self::BlockComment => "block_comment",
            Self::LineMarker => "line_marker",
            Self::ByteOrderMark => "byte_order_mark",
            Self::Ident => "ident",
            Self::DotWord => "dot_word",
            Self::Integer => "integer",
            Self::Decimal => "decimal",
            Self::Single => "single",
            Self::Double => "double",
            Self::String => "string",
            Self::Punct => "punct",
            Self::SourceText => "source_text",
            Self::BadNumber => "bad_number",
            Self::BadString => "bad_string",
            Self::BadLine => "bad_line",
            Self::Unknown => "unknown",
        }
    }
}

/// A token or a piece of trivia.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct Token {
    /// The kind.
    pub kind: TokenKind,
    /// Its span, from the start of the lexed text.
    pub span: Span,
}

/// Iterates over the tokens and trivia of a text; their spans tile it without gap.
#[derive(Clone, Debug)]
pub struct Lexer<'s> {
    src: &'s [u8],
    pos: usize,
    /// The last token was an identifier or a dotted word: a dot now begins a word even before a
    /// digit (`tex.1d`), not a number.
    after_word: bool,
    /// Whether the text is a whole file.
    file: bool,
    /// The end of the source text that begins after the last token; `None` if that is not a `.source_begin`.
    source_end: Option<usize>,
    /// Whether there was a `.source_begin` without an end. Then no later one has an end.
    no_source_end: bool,
}

impl<'s> Lexer<'s> {
    /// Lexes `src` from its start. Texts beyond [`Limits::source_bytes`](crate::Limits) are read
    /// up to there.
    #[must_use]
    pub fn new(src: &'s [u8]) -> Self {
        Self {
            file: true,
            ..Self::fragment(src)
        }
    }

    /// Lexes `src`, a part of a source that does not begin it: there is no byte order mark.
    #[must_use]
    pub fn fragment(src: &'s [u8]) -> Self {
        let max_bytes = crate::Limits::default().source_bytes;
        Self {
            src: src.get(..max_bytes).unwrap_or(src),
            pos: 0,
            after_word: false,
            file: false,
            source_end: None,
            no_source_end: false,
        }
    }

    fn scan_token(&self) -> (usize, TokenKind) {
        let (src, pos) = (self.src, self.pos);
        let b = peek(src, pos);
        if is(b, class::WHITESPACE) {
            let mut end = pos + 1;
            while is(peek(src, end), class::WHITESPACE) {
                end += 1;
            }
            return (end, TokenKind::Whitespace);
        }
        if scan::starts_ident(src, pos) {
            return (scan::ident_end(src, pos), TokenKind::Ident);
        }
        match b {
            b'/' if peek(src, pos + 1) == b'/' => {
                (scan::line_end(src, pos), TokenKind::LineComment)
            }
            b'/' if peek(src, pos + 1) == b'*' => {
                let end = scan::block_comment_end(src, pos).unwrap_or(src.len());
                (end, TokenKind::BlockComment)
            }
            b'#' if scan::is_line_marker(src, pos) => {
                (scan::line_end(src, pos), TokenKind::LineMarker)
            }
            b'#' if scan::at_line_start(src, pos) => (scan::line_end(src, pos), TokenKind::BadLine),
            b'0'..=b'9' => self.number(),
            b'.' if !self.after_word && peek(src, pos + 1).is_ascii_digit() => self.number(),
            b'.' if is(peek(src, pos + 1), class::WORD) => {
                (scan::dot_word_end(src, pos), TokenKind::DotWord)
            }
            b'"' => match scan::string_end(src, pos) {
                (end, true) => (end, TokenKind::String),
                (end, false) => (end, TokenKind::BadString),
            },
            0xEF if pos == 0 && self.file && src.starts_with(b"\xEF\xBB\xBF") => {
                (3, TokenKind::ByteOrderMark)
            }
            _ => match punct_len(src, pos) {
                0 => {
                    let mut end = pos + 1;
                    while end < src.len() && src[end] >= 0x80 {
                        end += 1;
                    }
                    (end, TokenKind::Unknown)
                }
                n => (pos + n, TokenKind::Punct),
            },
        }
    }

    fn number(&self) -> (usize, TokenKind) {
        let (end, kind) = number::scan_number(self.src, self.pos);
        let kind = match kind {
            NumberKind::Integer => TokenKind::Integer,
            NumberKind::Decimal => TokenKind::Decimal,
            NumberKind::Single => TokenKind::Single,
            NumberKind::Double => TokenKind::Double,
            NumberKind::Bad => TokenKind::BadNumber,
        };
        (end, kind)
    }
}

/// The length of the punctuation mark at `pos`; 0 if there is none.
pub(crate) fn punct_len(src: &[u8], pos: usize) -> usize {
    match (peek(src, pos), peek(src, pos + 1)) {
        (b'<', b'<' | b'=')
        | (b'>', b'>' | b'=')
        | (b'=', b'=')
        | (b'!', b'=')
        | (b'&', b'&')
        | (b'|', b'|')
        | (b'@', b'@') => 2,
        (
            b'(' | b')' | b'[' | b']' | b'{' | b'}' | b',' | b';' | b':' | b'=' | b'+' | b'-'
            | b'*' | b'/' | b'%' | b'<' | b'>' | b'!' | b'~' | b'&' | b'|' | b'^' | b'?' | b'@'
            | b'.' | b'_' | b'$',
            _,
        ) => 1,
        _ => 0,
    }
}

impl Iterator for Lexer<'_> {
    type Item = Token;

    fn next(&mut self) -> Option<Token> {
        if self.pos >= self.src.len() {
            return None;
        }
        let (end, kind) = match self.source_end.take() {
            Some(end) => (end, TokenKind::SourceText),
            None => self.scan_token(),
        };
        let span = Span::at(self.pos, end);
        self.pos = end;
        if !kind.is_trivia() {
            self.after_word = matches!(kind, TokenKind::Ident | TokenKind::DotWord);
        }
        if kind == TokenKind::DotWord
            && span.of(self.src) == b".source_begin"
            && !self.no_source_end
        {
            self.source_end = scan::source_text_end(self.src, end);
            self.no_source_end = self.source_end.is_none();
        }
        Some(Token { kind, span })
    }
}
