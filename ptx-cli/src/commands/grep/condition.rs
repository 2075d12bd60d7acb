//! The condition of `--where`, such as `bytes>=8 && !guarded`.
//!
//! ```text
//! any = all ("||" all)*
//! all = one ("&&" one)*
//! one = "(" any ")" | "!" one | FLAG | NUMBER comparison INTEGER | NAME ("==" | "!=") TEXT
//! ```

use nom::branch::alt;
use nom::bytes::complete::{tag, take_while};
use nom::character::complete::multispace0;
use nom::combinator::value;
use nom::error::{ErrorKind, ParseError};
use nom::multi::separated_list1;
use nom::sequence::terminated;
use nom::{IResult, Parser};
use ptx_ir::facts::{Facts, Flow, MemoryAccess, Space};
use ptx_isa::{Access, Modifier};

use crate::render::labels;

/// A condition on an instruction.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Condition {
    Any(Vec<Condition>),
    All(Vec<Condition>),
    Not(Box<Condition>),
    Flag(Flag),
    Number(Number, Comparison, i64),
    /// Whether the property has this text, or has not.
    Text(Text, bool, String),
}

/// A property that holds or not.
#[derive(Copy, Clone, PartialEq, Debug)]
pub(crate) enum Flag {
    Guarded,
    Memory,
    Atomic,
    Volatile,
    Barrier,
    Fence,
    Control,
    Call,
    SideEffects,
    Known,
}

/// A property that is a number.
#[derive(Copy, Clone, PartialEq, Debug)]
pub(crate) enum Number {
    Bytes,
    Offset,
    Reads,
    Writes,
}

/// A property that is a text.
#[derive(Copy, Clone, PartialEq, Debug)]
pub(crate) enum Text {
    Space,
    Order,
    Scope,
    Access,
    Function,
}

#[derive(Copy, Clone, PartialEq, Debug)]
pub(crate) enum Comparison {
    Equal,
    NotEqual,
    Less,
    AtMost,
    Greater,
    AtLeast,
}

const FLAGS: &[(&str, Flag)] = &[
    ("guarded", Flag::Guarded),
    ("memory", Flag::Memory),
    ("atomic", Flag::Atomic),
    ("volatile", Flag::Volatile),
    ("barrier", Flag::Barrier),
    ("fence", Flag::Fence),
    ("control", Flag::Control),
    ("call", Flag::Call),
    ("side_effects", Flag::SideEffects),
    ("known", Flag::Known),
];
const NUMBERS: &[(&str, Number)] = &[
    ("bytes", Number::Bytes),
    ("offset", Number::Offset),
    ("reads", Number::Reads),
    ("writes", Number::Writes),
];
const TEXTS: &[(&str, Text)] = &[
    ("space", Text::Space),
    ("order", Text::Order),
    ("scope", Text::Scope),
    ("access", Text::Access),
    ("function", Text::Function),
];
/// The deepest nesting of parentheses and `!`.
const MAX_DEPTH: u32 = 64;

impl Condition {
    /// Parses a condition; the error says what was expected.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        match any(text.trim_start(), 0) {
            Ok(("", condition)) => Ok(condition),
            Ok((rest, _)) => Err(format!("expected `&&`, `||` or the end, found `{rest}`")),
            Err(nom::Err::Error(error) | nom::Err::Failure(error)) => Err(error.0),
            Err(nom::Err::Incomplete(_)) => Err("incomplete condition".into()),
        }
    }

    /// Whether it is true of an instruction. A property of memory is true if it is true of one access.
    pub(crate) fn holds(&self, facts: &Facts<'_>, function: &str) -> bool {
        match self {
            Self::Any(all) => all.iter().any(|c| c.holds(facts, function)),
            Self::All(all) => all.iter().all(|c| c.holds(facts, function)),
            Self::Not(inner) => !inner.holds(facts, function),
            Self::Flag(flag) => flag.holds(facts),
            Self::Number(number, comparison, value) => {
                number.values(facts).any(|n| comparison.holds(n, *value))
            }
            Self::Text(Text::Function, equal, text) => (function == text) == *equal,
            Self::Text(kind, equal, text) => facts
                .memory()
                .any(|m| (kind.of(&m) == Some(text.as_str())) == *equal),
        }
    }
}

impl Flag {
    fn holds(self, facts: &Facts<'_>) -> bool {
        match self {
            Self::Guarded => facts.guard().is_some(),
            Self::Memory => facts.memory().next().is_some(),
            Self::Atomic => facts.memory().any(|m| m.access == Access::ReadModifyWrite),
            Self::Volatile => facts.is_volatile(),
            Self::Barrier => facts.is_barrier(),
            Self::Fence => facts.is_fence(),
            Self::Control => facts.flow() != Flow::Next,
            Self::Call => facts.flow() == Flow::Call,
            Self::SideEffects => facts.has_side_effects(),
            Self::Known => facts.is_known(),
        }
    }
}

impl Number {
    /// The number of an instruction, or those of its memory accesses where they are known.
    fn values(self, facts: &Facts<'_>) -> impl Iterator<Item = i64> {
        let registers = match self {
            Self::Reads => Some(facts.reads().count()),
            Self::Writes => Some(facts.writes().count() + facts.conditional_writes().count()),
            Self::Bytes | Self::Offset => None,
        };
        let of_access = move |access: MemoryAccess| match self {
            Self::Bytes => access.bytes.map(|b| b as i64),
            Self::Offset => access.offset,
            Self::Reads | Self::Writes => None,
        };
        let accesses = facts.memory().filter_map(of_access);
        registers.map(|n| n as i64).into_iter().chain(accesses)
    }
}

impl Comparison {
    fn holds(self, left: i64, right: i64) -> bool {
        match self {
            Self::Equal => left == right,
            Self::NotEqual => left != right,
            Self::Less => left < right,
            Self::AtMost => left <= right,
            Self::Greater => left > right,
            Self::AtLeast => left >= right,
        }
    }
}

impl Text {
    fn of(self, access: &MemoryAccess) -> Option<&'static str> {
        let text = |modifier: Option<Modifier>| modifier.map(|m| m.text().trim_start_matches('.'));
        match self {
            Self::Order => text(access.order),
            Self::Scope => text(access.scope),
            Self::Access => Some(labels::access(access.access)),
            Self::Space | Self::Function => Some(match access.space {
                // `shared::cta` counts as `shared`.
                Space::State(space) => labels::space(Space::State(space.base())),
                other => labels::space(other),
            }),
        }
    }
}

/// Why a text is not a condition.
struct Error(String);

impl ParseError<&str> for Error {
    fn from_error_kind(input: &str, _: ErrorKind) -> Self {
        Self(format!("unexpected {}", found(input)))
    }

    fn append(_: &str, _: ErrorKind, other: Self) -> Self {
        other
    }
}

type Parsed<'a, T> = IResult<&'a str, T, Error>;

fn fail<T>(message: String) -> Parsed<'static, T> {
    Err(nom::Err::Failure(Error(message)))
}

/// What is left of the input, for messages.
fn found(rest: &str) -> String {
    match rest {
        "" => "the end".into(),
        rest => format!("`{rest}`"),
    }
}

fn token<'a>(text: &'static str) -> impl Parser<&'a str, Output = &'a str, Error = Error> {
    terminated(tag(text), multispace0)
}

/// Letters, digits and the punctuation of PTX names; may be empty.
fn name(input: &str) -> Parsed<'_, &str> {
    let is_inside = |c: char| c.is_alphanumeric() || "_$%:.-".contains(c);
    terminated(take_while(is_inside), multispace0).parse(input)
}

fn comparison(input: &str) -> Parsed<'_, Comparison> {
    alt((
        value(Comparison::Equal, token("==")),
        value(Comparison::NotEqual, token("!=")),
        value(Comparison::AtMost, token("<=")),
        value(Comparison::AtLeast, token(">=")),
        value(Comparison::Less, token("<")),
        value(Comparison::Greater, token(">")),
    ))
    .parse(input)
}

fn any(input: &str, depth: u32) -> Parsed<'_, Condition> {
    let all = |input| all(input, depth);
    separated_list1(token("||"), all)
        .map(Condition::Any)
        .parse(input)
}

fn all(input: &str, depth: u32) -> Parsed<'_, Condition> {
    let one = |input| one(input, depth);
    separated_list1(token("&&"), one)
        .map(Condition::All)
        .parse(input)
}

fn one(input: &str, depth: u32) -> Parsed<'_, Condition> {
    if depth > MAX_DEPTH {
        return fail(format!("parentheses and `!` nest deeper than {MAX_DEPTH}"));
    }
    if let Ok((rest, _)) = token("(").parse(input) {
        let (rest, inner) = any(rest, depth + 1)?;
        return match token(")").parse(rest) {
            Ok((rest, _)) => Ok((rest, inner)),
            Err(_) => fail(format!("expected `)`, found {}", found(rest))),
        };
    }
    if let Ok((rest, _)) = token("!").parse(input) {
        let (rest, inner) = one(rest, depth + 1)?;
        return Ok((rest, Condition::Not(Box::new(inner))));
    }
    property(input)
}

/// A flag, or a number or a text with its comparison.
fn property(input: &str) -> Parsed<'_, Condition> {
    let (rest, property) = name(input)?;
    if let Some(flag) = named(FLAGS, property) {
        return Ok((rest, Condition::Flag(flag)));
    }
    let (number, text) = (named(NUMBERS, property), named(TEXTS, property));
    if number.is_none() && text.is_none() {
        return fail(match property {
            "" => format!("expected a property, found {}", found(input)),
            _ => format!("unknown property `{property}`{}", did_you_mean(property)),
        });
    }
    let Ok((rest, comparison)) = comparison(rest) else {
        return fail(format!(
            "expected a comparison after `{property}`, found {}",
            found(rest)
        ));
    };
    let (rest, operand) = name(rest)?;
    match (number, text, comparison) {
        (Some(number), ..) => match operand.parse() {
            Ok(operand) => Ok((rest, Condition::Number(number, comparison, operand))),
            Err(_) => fail(format!(
                "`{property}` is a number, found {}",
                found(operand)
            )),
        },
        (_, Some(text), Comparison::Equal | Comparison::NotEqual) => {
            let equal = comparison == Comparison::Equal;
            Ok((rest, Condition::Text(text, equal, operand.to_owned())))
        }
        _ => fail(format!(
            "`{property}` can only be compared with `==` or `!=`"
        )),
    }
}

fn named<T: Copy>(table: &[(&str, T)], name: &str) -> Option<T> {
    table.iter().find(|(n, _)| *n == name).map(|&(_, t)| t)
}

/// The property with the most similar name, as the end of a message.
fn did_you_mean(name: &str) -> String {
    let flags = FLAGS.iter().map(|f| f.0);
    let all = flags
        .chain(NUMBERS.iter().map(|n| n.0))
        .chain(TEXTS.iter().map(|t| t.0));
    let similar = all.map(|n| (strsim::osa_distance(n, name), n)).min();
    match similar {
        Some((distance @ 0..=2, similar)) if distance < name.len() => {
            format!("; did you mean `{similar}`?")
        }
        _ => "; `ptxkit grep --help` lists them".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::Condition;

    #[test]
    fn malformed_conditions_are_rejected() {
        for (text, message) in [
            ("", "expected a property, found the end"),
            ("!", "expected a property, found the end"),
            (
                "bytes",
                "expected a comparison after `bytes`, found the end",
            ),
            ("bytes>", "`bytes` is a number, found the end"),
            ("bytes>=x", "`bytes` is a number, found `x`"),
            (
                "nothing",
                "unknown property `nothing`; `ptxkit grep --help` lists them",
            ),
            (
                "gaurded",
                "unknown property `gaurded`; did you mean `guarded`?",
            ),
            ("space>1", "`space` can only be compared with `==` or `!=`"),
            ("(guarded", "expected `)`, found the end"),
            ("guarded)", "expected `&&`, `||` or the end, found `)`"),
            ("guarded ||", "expected a property, found the end"),
            (
                "guarded != 1",
                "expected `&&`, `||` or the end, found `!= 1`",
            ),
        ] {
            assert_eq!(Condition::parse(text), Err(message.to_owned()), "{text}");
        }
        for deep in ["(", "!"] {
            let error = Condition::parse(&deep.repeat(100_000));
            assert_eq!(
                error,
                Err("parentheses and `!` nest deeper than 64".to_owned())
            );
        }
    }

    #[test]
    fn and_binds_more_tightly_than_or() {
        let parsed = Condition::parse("bytes >= 8 && !guarded || (space==global)").unwrap();
        let Condition::Any(alternatives) = parsed else {
            panic!("{parsed:?}")
        };
        let [Condition::All(first), Condition::All(second)] = &alternatives[..] else {
            panic!("{alternatives:?}")
        };
        assert_eq!((first.len(), second.len()), (2, 1));
    }
}
