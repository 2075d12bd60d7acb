//! The text of an `.isa` file as a tree of lines, and the lexical parsers that all statements share.
//!
//! Every error names the file, the line, the column, what was expected and what was found.

use std::fmt;
use std::sync::Arc;

use nom::branch::alt;
use nom::bytes::complete::{tag, take_till, take_while1};
use nom::character::complete::{char, multispace0};
use nom::combinator::{eof, map, map_opt, opt, peek, recognize, value, verify};
use nom::multi::{many0, many1};
use nom::sequence::{delimited, preceded, terminated};
use nom::{Err, IResult, Input as _, Parser};
use nom_locate::LocatedSpan;

/// A part of a file; carries the name of the file.
pub(crate) type Span<'a> = LocatedSpan<&'a str, &'a str>;
pub(crate) type Parsed<'a, T> = IResult<Span<'a>, T, Error>;
pub(crate) type Result<T> = std::result::Result<T, Error>;

/// A position in an `.isa` file; lines and columns count from one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Pos {
    file: Arc<str>,
    line: u32,
    column: usize,
}

impl Pos {
    pub(crate) fn of(span: Span<'_>) -> Self {
        Self {
            file: span.extra.into(),
            line: span.location_line(),
            column: span.get_utf8_column(),
        }
    }
}

impl fmt::Display for Pos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// A mistake in an `.isa` file.
#[derive(Debug)]
pub(crate) struct Error {
    pos: Pos,
    message: String,
}

impl Error {
    pub(crate) fn new(pos: &Pos, message: impl Into<String>) -> Self {
        let (pos, message) = (pos.clone(), message.into());
        Self { pos, message }
    }

    /// "expected X, found Y" at the next token.
    fn expected(input: Span<'_>, what: &str) -> Self {
        let token = input.take_from(input.len() - input.trim_start().len());
        let text = token
            .split_whitespace()
            .next()
            .unwrap_or("the end of the line");
        Self::new(&Pos::of(token), format!("expected {what}, found {text}"))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.pos, self.message)
    }
}

impl std::error::Error for Error {}

impl nom::error::ParseError<Span<'_>> for Error {
    fn from_error_kind(input: Span<'_>, _: nom::error::ErrorKind) -> Self {
        Self::new(&Pos::of(input), String::new())
    }

    fn append(_: Span<'_>, _: nom::error::ErrorKind, other: Self) -> Self {
        other
    }
}

/// A name with its position.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Word {
    pub(crate) text: String,
    pub(crate) pos: Pos,
}

impl Word {
    pub(crate) fn error<T>(&self, message: impl Into<String>) -> Result<T> {
        Err(Error::new(&self.pos, message))
    }
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A line without its comment, and the lines that are indented below it.
pub(crate) struct Line<'a> {
    pub(crate) text: Span<'a>,
    indent: usize,
    pub(crate) children: Vec<Self>,
}

impl<'a> Line<'a> {
    /// Runs a parser that must take the whole line.
    pub(crate) fn parse<T>(
        &self,
        parser: impl Parser<Span<'a>, Output = T, Error = Error>,
    ) -> Result<T> {
        let end = expect("the end of the line", preceded(multispace0, eof));
        match terminated(parser, end).parse(self.text) {
            Ok((_, result)) => Ok(result),
            Err(Err::Error(error) | Err::Failure(error)) => Err(error),
            Err(Err::Incomplete(_)) => self.error("incomplete"),
        }
    }

    pub(crate) fn error<T>(&self, message: impl Into<String>) -> Result<T> {
        Err(Error::new(&Pos::of(self.text), message))
    }

    /// Returns an error if lines are indented below the line.
    pub(crate) fn leaf(&self) -> Result<()> {
        match self.children.first() {
            Some(child) => child.error("no line may be indented below the line above"),
            None => Ok(()),
        }
    }

    /// The first word of the line.
    pub(crate) fn keyword(&self) -> &'a str {
        word(self.text).map_or("", |(_, w)| *w.fragment())
    }
}

/// The lines of a file as a tree; `#` begins a comment except in a string.
pub(crate) fn lines<'a>(file: &'a str, text: &'a str) -> Vec<Line<'a>> {
    let mut open: Vec<Line<'a>> = Vec::new();
    let mut roots = Vec::new();
    let mut unread = Span::new_extra(text, file);
    for line in text.split_inclusive('\n') {
        let mut quoted = false;
        let end = line.find(|c| {
            quoted ^= c == '"';
            c == '#' && !quoted
        });
        let content = line
            .get(..end.unwrap_or(line.len()))
            .unwrap_or(line)
            .trim_end();
        let indent = content.len() - content.trim_start().len();
        if !content.is_empty() {
            close(&mut open, &mut roots, indent);
            let text = unread.take(content.len()).take_from(indent);
            open.push(Line {
                text,
                indent,
                children: Vec::new(),
            });
        }
        unread = unread.take_from(line.len());
    }
    close(&mut open, &mut roots, 0);
    roots
}

/// Moves the open lines that are indented as far as `indent` into their parents.
fn close<'a>(open: &mut Vec<Line<'a>>, roots: &mut Vec<Line<'a>>, indent: usize) {
    while let Some(line) = open.pop_if(|line| line.indent >= indent) {
        match open.last_mut() {
            Some(parent) => parent.children.push(line),
            None => roots.push(line),
        }
    }
}

/// A parser after whitespace.
pub(crate) fn token<'a, T>(
    parser: impl Parser<Span<'a>, Output = T, Error = Error>,
) -> impl Parser<Span<'a>, Output = T, Error = Error> {
    preceded(multispace0, parser)
}

/// A parser that must succeed: its failure is reported as "expected WHAT".
pub(crate) fn expect<'a, T>(
    what: impl AsRef<str>,
    mut parser: impl Parser<Span<'a>, Output = T, Error = Error>,
) -> impl Parser<Span<'a>, Output = T, Error = Error> {
    move |input: Span<'a>| {
        parser.parse(input).map_err(|error| match error {
            Err::Error(_) => Err::Failure(Error::expected(input, what.as_ref())),
            error => error,
        })
    }
}

/// A punctuation mark.
pub(crate) fn punct<'a>(mark: &'static str) -> impl Parser<Span<'a>, Output = (), Error = Error> {
    value((), token(tag(mark)))
}

/// Characters up to whitespace or punctuation.
pub(crate) fn word(input: Span<'_>) -> Parsed<'_, Span<'_>> {
    token(take_while1(|c: char| {
        !c.is_whitespace() && !"{}[](),;\"|=".contains(c)
    }))
    .parse(input)
}

/// A certain word.
pub(crate) fn keyword<'a>(text: &'static str) -> impl Parser<Span<'a>, Output = (), Error = Error> {
    value(
        (),
        verify(word, move |word: &Span<'_>| *word.fragment() == text),
    )
}

/// An optional keyword; the result is true if it is present.
pub(crate) fn flag<'a>(text: &'static str) -> impl Parser<Span<'a>, Output = bool, Error = Error> {
    map(opt(keyword(text)), |keyword| keyword.is_some())
}

pub(crate) fn name(input: Span<'_>) -> Parsed<'_, Word> {
    map(word, |w: Span<'_>| Word {
        text: w.to_string(),
        pos: Pos::of(w),
    })
    .parse(input)
}

/// A name that begins with a dot: a slot, a modifier, a type.
pub(crate) fn dotted(input: Span<'_>) -> Parsed<'_, Word> {
    preceded(peek(token(char('.'))), name).parse(input)
}

/// A word with ranges, which may contain whitespace and punctuation: `.m64n{8..256 step 8}k16`.
pub(crate) fn pattern(input: Span<'_>) -> Parsed<'_, Word> {
    let braces = recognize((char('{'), take_till(|c| c == '}'), char('}')));
    let plain = take_while1(|c: char| !c.is_whitespace() && c != '{');
    let parts = recognize(many1(alt((plain, braces))));
    map(token(parts), |w: Span<'_>| Word {
        text: w.to_string(),
        pos: Pos::of(w),
    })
    .parse(input)
}

/// A string in double quotes, or in single quotes if it contains double ones.
pub(crate) fn string(input: Span<'_>) -> Parsed<'_, String> {
    let (content, quote) = alt((value('"', punct("\"")), value('\'', punct("'")))).parse(input)?;
    let end = expect("a quote at the end of the string", char(quote));
    let (remaining, text) = terminated(take_till(|c| c == quote), end).parse(content)?;
    Ok((remaining, text.to_string()))
}

pub(crate) fn number<T: std::str::FromStr>(input: Span<'_>) -> Parsed<'_, T> {
    map_opt(word, |w: Span<'_>| w.parse().ok()).parse(input)
}

/// `9.2`
pub(crate) fn version(input: Span<'_>) -> Parsed<'_, (u8, u8)> {
    map_opt(word, |w: Span<'_>| {
        let (major, minor) = w.split_once('.')?;
        Some((major.parse().ok()?, minor.parse().ok()?))
    })
    .parse(input)
}

/// A list in parentheses, brackets or braces.
pub(crate) fn enclosed<'a, T>(
    open: &'static str,
    inner: impl Parser<Span<'a>, Output = T, Error = Error>,
    close: &'static str,
) -> impl Parser<Span<'a>, Output = T, Error = Error> {
    delimited(
        punct(open),
        inner,
        expect(format!("`{close}`"), punct(close)),
    )
}

/// An enum whose variants are keywords.
pub(crate) trait Keyword: Copy + 'static {
    const WORDS: &'static [(&'static str, Self)];
}

/// Defines enums whose variants are keywords of the notation.
macro_rules! keywords {
    ($($(#[$meta:meta])* $name:ident { $($variant:ident = $word:literal),* $(,)? })*) => {$(
        $(#[$meta])*
        #[derive(Copy, Clone, Debug, PartialEq, Eq)]
        pub(crate) enum $name { $($variant),* }
        impl $crate::input::Keyword for $name {
            const WORDS: &'static [(&'static str, Self)] = &[$(($word, Self::$variant)),*];
        }
    )*};
}
pub(crate) use keywords;

/// One of the keywords of an enum.
pub(crate) fn one_of<K: Keyword>(input: Span<'_>) -> Parsed<'_, K> {
    map_opt(word, |w: Span<'_>| {
        K::WORDS
            .iter()
            .find(|(text, _)| text == w.fragment())
            .map(|(_, keyword)| *keyword)
    })
    .parse(input)
}

/// One of the keywords of an enum; the error for any other word lists them.
pub(crate) fn expect_one_of<K: Keyword>(input: Span<'_>) -> Parsed<'_, K> {
    let words: Vec<&str> = K::WORDS.iter().map(|(text, _)| *text).collect();
    expect(format!("one of {}", words.join(", ")), one_of).parse(input)
}

/// Keywords of an enum up to the first other word.
pub(crate) fn several<K: Keyword>(input: Span<'_>) -> Parsed<'_, Vec<K>> {
    many0(one_of).parse(input)
}

/// Expands the ranges of a pattern: `%pm{0..3}`, `.m64n{8..256 step 8}k16`. `None` if a range cannot be parsed.
#[must_use]
pub fn expand(pattern: &str) -> Option<Vec<String>> {
    let Some((head, tail)) = pattern.split_once('{') else {
        return Some(vec![pattern.to_string()]);
    };
    let (range, tail) = tail.split_once('}')?;
    let (range, step) = match range.split_once(" step ") {
        Some((range, step)) => (range, step.trim().parse().ok()?),
        None => (range, 1),
    };
    let (first, last) = range.split_once("..")?;
    let (first, last): (usize, usize) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
    let mut words = Vec::new();
    for n in (first..=last).step_by(step) {
        words.extend(expand(tail)?.iter().map(|tail| format!("{head}{n}{tail}")));
    }
    Some(words)
}

/// The modifiers of a chain: `.xorsign.abs` is two.
pub(crate) fn split(modifiers: &str) -> Vec<String> {
    modifiers
        .split('.')
        .filter(|w| !w.is_empty())
        .map(|w| format!(".{w}"))
        .collect()
}
