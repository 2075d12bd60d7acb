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

/// What is wrong in an `.isa` file, and where.
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
    fn expected(at: Span<'_>, what: &str) -> Self {
        let at = skip_space(at);
        let found = at
            .split_whitespace()
            .next()
            .unwrap_or("the end of the line");
        Self::new(&Pos::of(at), format!("expected {what}, found {found}"))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.pos, self.message)
    }
}

impl std::error::Error for Error {}

impl nom::error::ParseError<Span<'_>> for Error {
    fn from_error_kind(at: Span<'_>, _: nom::error::ErrorKind) -> Self {
        Self::new(&Pos::of(at), String::new())
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
            Ok((_, found)) => Ok(found),
            Err(Err::Error(error) | Err::Failure(error)) => Err(error),
            Err(Err::Incomplete(_)) => self.error("incomplete"),
        }
    }

    pub(crate) fn error<T>(&self, message: impl Into<String>) -> Result<T> {
        Err(Error::new(&Pos::of(self.text), message))
    }

    /// An error where a line that takes no lines below it has some.
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
    let mut rest = Span::new_extra(text, file);
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
            let text = rest.take(content.len()).take_from(indent);
            open.push(Line {
                text,
                indent,
                children: Vec::new(),
            });
        }
        rest = rest.take_from(line.len());
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

fn skip_space(at: Span<'_>) -> Span<'_> {
    at.take_from(at.len() - at.trim_start().len())
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
    move |at: Span<'a>| {
        parser.parse(at).map_err(|error| match error {
            Err::Error(_) => Err::Failure(Error::expected(at, what.as_ref())),
            error => error,
        })
    }
}

/// A punctuation mark.
pub(crate) fn punct<'a>(mark: &'static str) -> impl Parser<Span<'a>, Output = (), Error = Error> {
    value((), token(tag(mark)))
}

/// Characters up to whitespace or punctuation.
pub(crate) fn word(at: Span<'_>) -> Parsed<'_, Span<'_>> {
    token(take_while1(|c: char| {
        !c.is_whitespace() && !"{}[](),;\"|=".contains(c)
    }))
    .parse(at)
}

/// A certain word.
pub(crate) fn keyword<'a>(text: &'static str) -> impl Parser<Span<'a>, Output = (), Error = Error> {
    value(
        (),
        verify(word, move |found: &Span<'_>| *found.fragment() == text),
    )
}

/// Whether a keyword is there.
pub(crate) fn flag<'a>(text: &'static str) -> impl Parser<Span<'a>, Output = bool, Error = Error> {
    map(opt(keyword(text)), |found| found.is_some())
}

pub(crate) fn name(at: Span<'_>) -> Parsed<'_, Word> {
    map(word, |w: Span<'_>| Word {
        text: w.to_string(),
        pos: Pos::of(w),
    })
    .parse(at)
}

/// A name that begins with a dot: a slot, a modifier, a type.
pub(crate) fn dotted(at: Span<'_>) -> Parsed<'_, Word> {
    preceded(peek(token(char('.'))), name).parse(at)
}

/// A word with a range in it, which may hold whitespace and punctuation: `.m64n{8..256 step 8}k16`.
pub(crate) fn pattern(at: Span<'_>) -> Parsed<'_, Word> {
    let braces = recognize((char('{'), take_till(|c| c == '}'), char('}')));
    let plain = take_while1(|c: char| !c.is_whitespace() && c != '{');
    let parts = recognize(many1(alt((plain, braces))));
    map(token(parts), |w: Span<'_>| Word {
        text: w.to_string(),
        pos: Pos::of(w),
    })
    .parse(at)
}

/// A string in double quotes, or in single quotes if it contains double ones.
pub(crate) fn string(at: Span<'_>) -> Parsed<'_, String> {
    let (rest, quote) = alt((value('"', punct("\"")), value('\'', punct("'")))).parse(at)?;
    let end = expect("a quote at the end of the string", char(quote));
    let (rest, text) = terminated(take_till(|c| c == quote), end).parse(rest)?;
    Ok((rest, text.to_string()))
}

pub(crate) fn number<T: std::str::FromStr>(at: Span<'_>) -> Parsed<'_, T> {
    map_opt(word, |w: Span<'_>| w.parse().ok()).parse(at)
}

/// `9.2`
pub(crate) fn version(at: Span<'_>) -> Parsed<'_, (u8, u8)> {
    let parts = |w: Span<'_>| {
        let (major, minor) = w.split_once('.')?;
        Some((major.parse().ok()?, minor.parse().ok()?))
    };
    map_opt(word, parts).parse(at)
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

/// The expected keywords, one of which is written; each denotes a variant of an enum.
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
pub(crate) fn one_of<K: Keyword>(at: Span<'_>) -> Parsed<'_, K> {
    let find = |w: Span<'_>| {
        K::WORDS
            .iter()
            .find(|(text, _)| text == w.fragment())
            .map(|(_, k)| *k)
    };
    map_opt(word, find).parse(at)
}

/// One of the keywords of an enum; an error that lists them where there is none.
pub(crate) fn expect_one_of<K: Keyword>(at: Span<'_>) -> Parsed<'_, K> {
    let words: Vec<&str> = K::WORDS.iter().map(|(text, _)| *text).collect();
    expect(format!("one of {}", words.join(", ")), one_of).parse(at)
}

/// As many keywords of an enum as there are.
pub(crate) fn several<K: Keyword>(at: Span<'_>) -> Parsed<'_, Vec<K>> {
    many0(one_of).parse(at)
}

/// Expands the ranges of a pattern: `%pm{0..3}`, `.m64n{8..256 step 8}k16`. `None` when a range cannot be read.
#[must_use]
pub fn expand(pattern: &str) -> Option<Vec<String>> {
    let Some((head, rest)) = pattern.split_once('{') else {
        return Some(vec![pattern.to_string()]);
    };
    let (range, tail) = rest.split_once('}')?;
    let (range, step) = match range.split_once(" step ") {
        Some((range, step)) => (range, step.trim().parse().ok()?),
        None => (range, 1),
    };
    let (first, last) = range.split_once("..")?;
    let (first, last): (usize, usize) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
    let mut out = Vec::new();
    for n in (first..=last).step_by(step) {
        out.extend(expand(tail)?.iter().map(|tail| format!("{head}{n}{tail}")));
    }
    Some(out)
}

/// The modifiers of a chain: `.xorsign.abs` is two.
pub(crate) fn split(modifiers: &str) -> Vec<String> {
    modifiers
        .split('.')
        .filter(|w| !w.is_empty())
        .map(|w| format!(".{w}"))
        .collect()
}
