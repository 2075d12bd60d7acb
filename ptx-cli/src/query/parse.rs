//! The grammar of conditions.
//!
//! ```text
//! any  = all ("||" all)*
//! any  = all ("||" all)*
//! all  = term ("&&" term)*
//! term = "(" any ")" | "!" term | FLAG | "memory(" any ")" | ("after" | "before") (PATTERN | "(" any ")")
//!      | FIELD [ "(" INTEGER ")" ] comparison VALUE
//! ```

use std::borrow::Cow;

use nom::branch::alt;
use nom::bytes::complete::{tag, take_while};
use nom::character::complete::multispace0;
use nom::combinator::value;
use nom::error::{ErrorKind, ParseError};
use nom::sequence::terminated;
use nom::{IResult, Parser};
use ptx_isa::{PtxVersion, Target};
use wildmatch::WildMatch;

use super::fields::{self, Comparison, Direction, FIELDS, Field, Index, Kind};
use super::values::{target_rank, version_rank};
use super::{Condition, Query, Test};
use ptx_report::clean;
use ptx_report::demangle::normalized;

/// The deepest nesting of parentheses and `!`.
const MAX_DEPTH: u32 = 64;
/// The largest number of words that an error lists.
const MAX_LISTED: usize = 12;

/// Parses a condition. The error message shows the position of the mistake.
pub(super) fn parse(text: &str) -> Result<Query, String> {
    parse_all(text, |conditions, input| conditions.any(input, 0))
}

/// Parses a text up to its end.
pub(super) fn parse_all(
    text: &str,
    parse: for<'a> fn(&mut Conditions<'_>, &'a str) -> Parsed<'a, Condition>,
) -> Result<Query, String> {
    let mut paths = Vec::new();
    let mut conditions = Conditions { paths: &mut paths };
    let error = match parse(&mut conditions, text.trim_start()) {
        Ok(("", condition)) => return Ok(Query { condition, paths }),
        Ok((remaining, _)) => Error::new(
            remaining,
            format!(
                "expected `&&`, `||` or the end, found {}",
                quoted_word(remaining)
            ),
        ),
        Err(nom::Err::Error(error) | nom::Err::Failure(error)) => error,
        Err(nom::Err::Incomplete(_)) => Error::new("", "incomplete condition".into()),
    };
    Err(error.display_text(text))
}

/// The error for a text that is not a condition.
pub(super) struct Error {
    /// The length of the text from the mistake to the end, in bytes.
    remaining: usize,
    message: String,
}

impl Error {
    fn new(input: &str, message: String) -> Self {
        Self {
            remaining: input.len(),
            message,
        }
    }

    /// The message, and the text with a mark at the mistake.
    fn display_text(self, text: &str) -> String {
        let prefix = text.get(..text.len() - self.remaining).unwrap_or(text);
        let column = prefix.chars().count() + 1;
        let mark = " ".repeat(clean(prefix).chars().count()) + "^";
        format!(
            "column {column}: {}\n  {}\n  {mark}",
            self.message,
            clean(text)
        )
    }
}

impl ParseError<&str> for Error {
    fn from_error_kind(input: &str, _: ErrorKind) -> Self {
        Self::new(input, format!("unexpected {}", quoted_word(input)))
    }

    fn append(_: &str, _: ErrorKind, other: Self) -> Self {
        other
    }
}

pub(super) type Parsed<'a, T> = IResult<&'a str, T, Error>;

pub(super) fn fail<'a, T>(input: &str, message: String) -> Parsed<'a, T> {
    Err(nom::Err::Failure(Error::new(input, message)))
}

/// The next word of the input, for messages.
pub(super) fn quoted_word(input: &str) -> String {
    match input.split_whitespace().next() {
        Some(word) => format!("`{}`", clean(word)),
        None => "the end".into(),
    }
}

fn token<'a>(text: &'static str) -> impl Parser<&'a str, Output = &'a str, Error = Error> {
    terminated(tag(text), multispace0)
}

/// Letters, digits and the punctuation of PTX names and patterns; may be empty.
pub(super) fn word(input: &str) -> Parsed<'_, &str> {
    let is_inside = |c: char| c.is_alphanumeric() || "_$%:.-*?/+@".contains(c);
    terminated(take_while(is_inside), multispace0).parse(input)
}

/// A word, or any text in quotes; may be empty.
fn text(input: &str) -> Parsed<'_, &str> {
    let Some(quote) = input.chars().next().filter(|c| "'\"".contains(*c)) else {
        return word(input);
    };
    let inside = &input[quote.len_utf8()..];
    match inside.split_once(quote) {
        Some((text, remaining)) => Ok((remaining.trim_start(), text)),
        None => fail(input, format!("expected a second {quote} at the end")),
    }
}

fn comparison(input: &str) -> Parsed<'_, Comparison> {
    alt((
        value(Comparison::Equal, token("==")),
        value(Comparison::NotEqual, token("!=")),
        value(Comparison::Contains, token("=~")),
        value(Comparison::AtMost, token("<=")),
        value(Comparison::AtLeast, token(">=")),
        value(Comparison::Less, token("<")),
        value(Comparison::Greater, token(">")),
    ))
    .parse(input)
}

pub(super) struct Conditions<'p> {
    paths: &'p mut Vec<(Direction, Condition)>,
}

impl Conditions<'_> {
    pub(super) fn any<'a>(&mut self, input: &'a str, depth: u32) -> Parsed<'a, Condition> {
        let (mut input, first) = self.all(input, depth)?;
        let mut conditions = vec![first];
        while let Ok((operand, _)) = token("||").parse(input) {
            let next;
            (input, next) = self.all(operand, depth)?;
            conditions.push(next);
        }
        Ok((input, Condition::Any(conditions)))
    }

    fn all<'a>(&mut self, input: &'a str, depth: u32) -> Parsed<'a, Condition> {
        let (mut input, first) = self.term(input, depth)?;
        let mut conditions = vec![first];
        while let Ok((operand, _)) = token("&&").parse(input) {
            let next;
            (input, next) = self.term(operand, depth)?;
            conditions.push(next);
        }
        Ok((input, Condition::All(conditions)))
    }

    fn term<'a>(&mut self, input: &'a str, depth: u32) -> Parsed<'a, Condition> {
        if depth > MAX_DEPTH {
            let message = format!("parentheses and `!` nest deeper than {MAX_DEPTH}");
            return fail(input, message);
        }
        if let Ok((inner, _)) = token("(").parse(input) {
            return self.closed(inner, depth);
        }
        if let Ok((operand, _)) = token("!").parse(input) {
            let (remaining, inner) = self.term(operand, depth + 1)?;
            return Ok((remaining, Condition::Not(Box::new(inner))));
        }
        let (remaining, name) = word(input)?;
        let Some(field) = fields::find(name) else {
            return fail(
                input,
                match name {
                    "" => format!("expected a field, found {}", quoted_word(input)),
                    _ => unknown_field(name),
                },
            );
        };
        match field.kind {
            Kind::Path(direction) => self.path(remaining, field, direction, depth),
            Kind::Access => match token("(").parse(remaining) {
                Ok((condition, _)) => {
                    let (remaining, inner) = self.closed(condition, depth)?;
                    Ok((remaining, Condition::Access(Box::new(inner))))
                }
                Err(_) => field_test(remaining, field),
            },
            _ => field_test(remaining, field),
        }
    }

    /// A condition after `(`, and the `)`.
    fn closed<'a>(&mut self, input: &'a str, depth: u32) -> Parsed<'a, Condition> {
        let (remaining, inner) = self.any(input, depth + 1)?;
        match token(")").parse(remaining) {
            Ok((remaining, _)) => Ok((remaining, inner)),
            Err(_) => fail(
                remaining,
                format!("expected `)`, found {}", quoted_word(remaining)),
            ),
        }
    }

    /// Parses the argument of `after` and `before`: a pattern for the mnemonic or a condition.
    fn path<'a>(
        &mut self,
        input: &'a str,
        field: &Field,
        direction: Direction,
        depth: u32,
    ) -> Parsed<'a, Condition> {
        let (remaining, inner) = match token("(").parse(input) {
            Ok((remaining, _)) => self.closed(remaining, depth)?,
            Err(_) => {
                let (remaining, pattern) = text(input)?;
                if pattern.is_empty() {
                    let (name, word) = (field.name, quoted_word(input));
                    let expected = format!("a mnemonic or `(` after `{name}`");
                    return fail(input, format!("expected {expected}, found {word}"));
                }
                let Some(mnemonic) = fields::find("mnemonic") else {
                    return fail(input, "there is no field `mnemonic`".into());
                };
                let test = Test::Text(WildMatch::new(pattern), true);
                (remaining, Condition::Field(mnemonic, None, test))
            }
        };
        self.paths.push((direction, inner));
        Ok((remaining, Condition::Path(self.paths.len() - 1)))
    }
}

/// Parses the text after the name of a field: the number of an operand, a comparison and a value.
fn field_test<'a>(input: &'a str, field: &'static Field) -> Parsed<'a, Condition> {
    let (remaining, index) = index(input, field)?;
    let name = field.name;
    let (remaining, comparison) = match comparison(remaining) {
        Ok(parsed) => parsed,
        Err(_) if matches!(field.kind, Kind::Flag | Kind::Access) => {
            return Ok((remaining, Condition::Field(field, index, Test::Flag(true))));
        }
        Err(_) => {
            let word = quoted_word(remaining);
            return fail(
                remaining,
                format!("expected a comparison after `{name}`, found {word}"),
            );
        }
    };
    let (end, value) = text(remaining)?;
    let test = test(field, comparison, value).map_err(|mistake| {
        nom::Err::Failure(match mistake {
            Mistake::Value(message) => Error::new(remaining, message),
            Mistake::Comparison(message) => Error::new(input, message),
        })
    })?;
    Ok((end, Condition::Field(field, index, test)))
}

/// The number of an operand in parentheses.
fn index<'a>(input: &'a str, field: &Field) -> Parsed<'a, Option<usize>> {
    let name = field.name;
    let Ok((inside, _)) = token("(").parse(input) else {
        return match field.index {
            Index::Required => fail(
                input,
                format!("expected the number of an operand: `{name}(0)` is the first one"),
            ),
            _ => Ok((input, None)),
        };
    };
    if field.index == Index::None {
        return fail(input, format!("`{name}` is not a field of single operands"));
    }
    let (remaining, number) = word(inside)?;
    let Ok(number) = number.parse() else {
        let word = quoted_word(inside);
        return fail(
            inside,
            format!("expected the number of an operand, found {word}"),
        );
    };
    match token(")").parse(remaining) {
        Ok((remaining, _)) => Ok((remaining, Some(number))),
        Err(_) => fail(
            remaining,
            format!("expected `)`, found {}", quoted_word(remaining)),
        ),
    }
}

/// A mistake in a test, at its comparison or at its value.
enum Mistake {
    Comparison(String),
    Value(String),
}

fn test(field: &Field, comparison: Comparison, value: &str) -> Result<Test, Mistake> {
    use Comparison::{Contains, Equal, NotEqual};
    let name = field.name;
    let kind = field.kind.name();
    let is_text = matches!(comparison, Equal | NotEqual | Contains);
    let value_text = match value {
        "" => "nothing".to_owned(),
        _ => format!("`{}`", clean(value)),
    };
    let expected = |kind: &str| Mistake::Value(format!("`{name}` is a {kind}, found {value_text}"));
    let numeric = |parsed: Option<i64>| match parsed {
        _ if comparison == Contains => Err(Mistake::Comparison(format!(
            "`{name}` is a {kind}, which `=~` cannot search"
        ))),
        Some(number) => Ok(Test::Number(comparison, number)),
        None => Err(expected(kind)),
    };
    match field.kind {
        Kind::Flag | Kind::Access | Kind::Path(_) => match (comparison, value) {
            (Equal, "true") | (NotEqual, "false") => Ok(Test::Flag(true)),
            (Equal, "false") | (NotEqual, "true") => Ok(Test::Flag(false)),
            (Equal | NotEqual, _) => Err(expected("flag, `true` or `false`")),
            _ => Err(Mistake::Comparison(format!(
                "`{name}` is a flag: write `{name}` or `!{name}`"
            ))),
        },
        Kind::Number => numeric(integer(value)),
        Kind::Version => numeric(PtxVersion::from_text(value.as_bytes()).map(version_rank)),
        Kind::Target => match Target::from_text(value.as_bytes()) {
            None if !value.is_empty() => Err(Mistake::Value(unknown_value(field, value))),
            target => numeric(target.map(target_rank)),
        },
        Kind::List if comparison != Contains && integer(value).is_some() => {
            Ok(Test::Count(comparison, integer(value).unwrap_or_default()))
        }
        Kind::List if !is_text => Err(expected("list: its length is compared with a number")),
        _ if !is_text => Err(Mistake::Comparison(format!(
            "`{name}` is a {kind}, which can only be compared with `==`, `!=` and `=~`"
        ))),
        _ if value.is_empty() => Err(expected(kind)),
        _ => {
            let value = &*match field.kind {
                Kind::Word(_) => Cow::Borrowed(value.trim_start_matches('.')),
                Kind::Name => Cow::Owned(normalized(value)),
                _ => Cow::Borrowed(value),
            };
            let pattern = match comparison {
                Contains => WildMatch::new(&format!("*{value}*")),
                _ => WildMatch::new(value),
            };
            let words = field.kind.words();
            if !words.is_empty() && !words.iter().any(|w| pattern.matches(w)) {
                return Err(Mistake::Value(unknown_value(field, value)));
            }
            Ok(Test::Text(pattern, comparison != NotEqual))
        }
    }
}

/// A decimal or hexadecimal integer.
fn integer(text: &str) -> Option<i64> {
    match text.strip_prefix("-0x").or(text.strip_prefix("0x")) {
        Some(digits) if text.starts_with('-') => {
            i64::from_str_radix(digits, 16).ok()?.checked_neg()
        }
        Some(digits) => i64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// The error message for the first word of a pattern for mnemonics that is not an opcode or modifier. A word with `*` needs only begin like one.
pub(crate) fn unknown_word(pattern: &str) -> Option<String> {
    let fields = std::iter::once("opcode").chain(std::iter::repeat("modifier"));
    for (name, word) in fields.zip(pattern.split('.')) {
        let field = fields::find(name)?;
        let prefix = match word.split_once('*') {
            Some((start, _)) => WildMatch::new(&format!("{start}*")),
            None => WildMatch::new(word),
        };
        if !field.kind.words().iter().any(|word| prefix.matches(word)) {
            return Some(unknown_value(field, word));
        }
    }
    None
}

fn unknown_field(name: &str) -> String {
    let names: Vec<_> = FIELDS.iter().map(|f| f.name).collect();
    let hint = similar(name, &names).unwrap_or("`ptxkit grep --fields` lists all fields".into());
    format!("unknown field `{}`; {hint}", clean(name))
}

pub(super) fn unknown_value(field: &Field, value: &str) -> String {
    let (name, words) = (field.name, field.kind.words());
    let hint = similar(value, &words).unwrap_or_else(|| match words.len() {
        0..=MAX_LISTED => format!("expected one of `{}`", words.join("`, `")),
        _ => format!("`ptxkit grep --fields={name}` lists its values"),
    });
    format!("`{}` is not a value of `{name}`; {hint}", clean(value))
}

/// A question about the most similar word, if a word is similar.
pub(crate) fn similar(name: &str, words: &[&str]) -> Option<String> {
    let (distance, word) = words
        .iter()
        .map(|word| (strsim::osa_distance(word, name), *word))
        .min()?;
    let is_similar = distance <= 2.max(name.len() / 4) && distance < name.len();
    is_similar.then(|| format!("did you mean `{word}`?"))
}

#[cfg(test)]
mod tests {
    use super::{Condition, parse};

    fn error(text: &str) -> String {
        let error = parse(text).err().unwrap_or_default();
        error.lines().next().unwrap_or_default().to_owned()
    }

    const MALFORMED: &[(&str, &str)] = &[
        ("", "column 1: expected a field, found the end"),
        ("!", "column 2: expected a field, found the end"),
        ("guarded ||", "column 11: expected a field, found the end"),
        (
            "bytes",
            "column 6: expected a comparison after `bytes`, found the end",
        ),
        ("bytes>", "column 7: `bytes` is a number, found nothing"),
        ("bytes>=x", "column 8: `bytes` is a number, found `x`"),
        (
            "bytes=~1",
            "column 6: `bytes` is a number, which `=~` cannot search",
        ),
        (
            "nothing",
            "column 1: unknown field `nothing`; `ptxkit grep --fields` lists all fields",
        ),
        (
            "(gaurded",
            "column 2: unknown field `gaurded`; did you mean `guarded`?",
        ),
        (
            "space>1",
            "column 6: `space` is a word, which can only be compared with `==`, `!=` and `=~`",
        ),
        (
            "space=='gl?bul'",
            "column 8: `gl?bul` is not a value of `space`; did you mean `global`?",
        ),
        (
            "kind==x",
            "column 7: `x` is not a value of `kind`; expected one of `entry`, `func`",
        ),
        (
            "guarded>1",
            "column 8: `guarded` is a flag: write `guarded` or `!guarded`",
        ),
        (
            "guarded==1",
            "column 10: `guarded` is a flag, `true` or `false`, found `1`",
        ),
        ("(guarded", "column 9: expected `)`, found the end"),
        ("memory(guarded", "column 15: expected `)`, found the end"),
        (
            "guarded)",
            "column 8: expected `&&`, `||` or the end, found `)`",
        ),
        (
            "operand==1",
            "column 8: expected the number of an operand: `operand(0)` is the first one",
        ),
        (
            "operand(x)==1",
            "column 9: expected the number of an operand, found `x)==1`",
        ),
        (
            "bytes(1)==1",
            "column 6: `bytes` is not a field of single operands",
        ),
        ("base=='%r", "column 7: expected a second ' at the end"),
        (
            "after",
            "column 6: expected a mnemonic or `(` after `after`, found the end",
        ),
        (
            "reads>x",
            "column 7: `reads` is a list: its length is compared with a number, found `x`",
        ),
        (
            "requires.ptx>=new",
            "column 15: `requires.ptx` is a PTX version, found `new`",
        ),
        (
            "requires.target==sm_8",
            "column 18: `sm_8` is not a value of `requires.target`; did you mean `sm_80`?",
        ),
    ];

    #[test]
    fn malformed_conditions_are_rejected() {
        for &(text, message) in MALFORMED {
            assert_eq!(error(text), message, "{text}");
        }
        let long = "guarded && ".repeat(10_000);
        assert!(error(&long).ends_with("expected a field, found the end"));
        for deep in ["(", "!", "memory(", "after("] {
            let error = error(&deep.repeat(20_000));
            assert!(
                error.ends_with("parentheses and `!` nest deeper than 64"),
                "{error}"
            );
        }
    }

    #[test]
    fn correct_conditions_are_accepted() {
        for text in [
            "offset==-0x10",
            "modifier==.rn",
            "guarded==false",
            "reads==3",
            "reads=~'rd'",
            "base==\"a'b\"",
            "immediate(2) >= 1",
            "requires.ptx>=7.8",
            "requires.target<sm_90a",
            "after bar.*",
            "before(!guarded)",
            "memory",
            "memory!=true",
            "source.file=='a.cu'",
            "opcode==ld*",
            "eviction=~L2",
        ] {
            assert_eq!(error(text), "", "{text}");
        }
    }

    #[test]
    fn and_binds_more_tightly_than_or() {
        let Ok(parsed) = parse("bytes >= 8 && !guarded || (space==global)") else {
            panic!("rejected")
        };
        let Condition::Any(alternatives) = parsed.condition else {
            panic!("no alternatives")
        };
        let [Condition::All(first), Condition::All(second)] = &alternatives[..] else {
            panic!("{}", alternatives.len())
        };
        assert_eq!((first.len(), second.len()), (2, 1));
    }
}
