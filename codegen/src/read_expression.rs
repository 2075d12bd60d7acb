//! What a form computes: assignments of expressions to results, after the keyword `computes`.

use nom::Parser;
use nom::branch::alt;
use nom::bytes::complete::{tag, take_while};
use nom::character::complete::{char, satisfy};
use nom::combinator::{map, map_opt, not, opt, peek, recognize, value};
use nom::multi::{many0, separated_list1};
use nom::sequence::{preceded, terminated};

use crate::input::{Parsed, Pos, Span, Word, enclosed, expect, punct, token};
use crate::notation::{Assignment, Computation, Expr};
use crate::read_accuracy::accuracy;

/// The binary operators and their functions, from those that bind least to those that bind most, as in Rust.
const BINARY: &[&[(&str, &str)]] = &[
    &[
        ("==", "equal"),
        ("!=", "not-equal"),
        ("<=", "less-equal"),
        (">=", "greater-equal"),
        ("<", "less"),
        (">", "greater"),
    ],
    &[("|", "or")],
    &[("^", "xor")],
    &[("&", "and")],
    &[("<<", "shift-left"), (">>", "shift-right")],
    &[("+", "add"), ("-", "sub")],
    &[("*", "mul"), ("/", "div"), ("%", "rem")],
];

/// `t = a + b; d = t; carry = t >> width(d)`
pub(crate) fn computation(at: Span<'_>) -> Parsed<'_, Computation> {
    let pos = Pos::of(at);
    let text = at.trim().to_string();
    let (rest, assignments) = separated_list1(punct(";"), assignment).parse(at)?;
    let (rest, accuracy) = opt(preceded(reserved("within"), accuracy)).parse(rest)?;
    Ok((
        rest,
        Computation {
            pos,
            text,
            assignments,
            accuracy,
        },
    ))
}

fn assignment(at: Span<'_>) -> Parsed<'_, Assignment> {
    let memory = map(enclosed("[", plain_name, "]"), |name| (name, true));
    let result = map(plain_name, |name| (name, false));
    let target = expect("a result or a new name", alt((memory, result)));
    let parts = (
        terminated(target, expect("`=`", punct("="))),
        expect("an expression", expression),
    );
    map(parts, |((target, to_memory), value)| Assignment {
        target,
        to_memory,
        value,
    })
    .parse(at)
}

fn expression(at: Span<'_>) -> Parsed<'_, Expr> {
    let conditional = preceded(
        reserved("if"),
        (
            expect("a condition", expression),
            preceded(
                expect("`then`", reserved("then")),
                expect("an expression", expression),
            ),
            preceded(
                expect("`else`", reserved("else")),
                expect("an expression", expression),
            ),
        ),
    );
    let conditional = map(conditional, |(when, then, otherwise)| {
        Expr::If(Box::new([when, then, otherwise]))
    });
    alt((conditional, |at| binary(at, 0))).parse(at)
}

/// Operands of operators that bind at least as much as those of a level.
fn binary(at: Span<'_>, level: usize) -> Parsed<'_, Expr> {
    let Some(operators) = BINARY.get(level) else {
        return unary(at);
    };
    let (mut rest, mut left) = binary(at, level + 1)?;
    while let Ok((after, function)) = operator(rest, operators) {
        let (after, right) = expect("an operand", |at| binary(at, level + 1)).parse(after)?;
        left = Expr::Call(function, vec![left, right]);
        rest = after;
    }
    Ok((rest, left))
}

fn operator<'a>(at: Span<'a>, operators: &[(&str, &str)]) -> Parsed<'a, Word> {
    let symbol = alt((
        tag("<<"),
        tag(">>"),
        tag("=="),
        tag("!="),
        tag("<="),
        tag(">="),
        recognize(satisfy(|c| "|^&<>+-*/%".contains(c))),
    ));
    map_opt(token(symbol), |found: Span<'_>| {
        let (_, function) = operators
            .iter()
            .find(|(text, _)| text == found.fragment())?;
        Some(Word {
            text: (*function).into(),
            pos: Pos::of(found),
        })
    })
    .parse(at)
}

fn unary(at: Span<'_>) -> Parsed<'_, Expr> {
    let sign = |mark: char, function: &'static str| {
        map(
            (token(recognize(char(mark))), expect("an operand", unary)),
            move |(mark, operand): (Span<'_>, Expr)| {
                let text = function.into();
                let pos = Pos::of(mark);
                Expr::Call(Word { text, pos }, vec![operand])
            },
        )
    };
    alt((sign('-', "negate"), sign('~', "not"), primary)).parse(at)
}

fn primary(at: Span<'_>) -> Parsed<'_, Expr> {
    let digits = recognize((satisfy(|c| c.is_ascii_digit()), take_while(is_part)));
    let number = map_opt(token(digits), |w: Span<'_>| w.parse().ok());
    let arguments = enclosed("(", separated_list1(punct(","), argument), ")");
    let call = (plain_name, opt(arguments));
    alt((
        map(number, Expr::Integer),
        value(Expr::Undefined, reserved("undefined")),
        enclosed("(", expect("an expression", expression), ")"),
        map(enclosed("[", plain_name, "]"), Expr::Memory),
        map(call, |(name, arguments)| match arguments {
            Some(arguments) => Expr::Call(name, arguments),
            None => Expr::Name(name),
        }),
        map(modifier, Expr::Name),
    ))
    .parse(at)
}

fn argument(at: Span<'_>) -> Parsed<'_, Expr> {
    expect("an argument", expression).parse(at)
}

fn is_part(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// A name of letters, digits and underscores, in which `-` is written for `_`.
pub(crate) fn plain_name(at: Span<'_>) -> Parsed<'_, Word> {
    let keyword = alt((
        reserved("if"),
        reserved("then"),
        reserved("else"),
        reserved("undefined"),
    ));
    let letters = recognize((satisfy(|c| c.is_ascii_alphabetic()), take_while(is_part)));
    map(
        preceded(not(peek(keyword)), token(letters)),
        |w: Span<'_>| Word {
            text: w.to_string(),
            pos: Pos::of(w),
        },
    )
    .parse(at)
}

/// `.type`, `.shared::cta`
fn modifier(at: Span<'_>) -> Parsed<'_, Word> {
    let letters = recognize((char('.'), many0(satisfy(|c| is_part(c) || c == ':'))));
    map(token(letters), |w: Span<'_>| Word {
        text: w.to_string(),
        pos: Pos::of(w),
    })
    .parse(at)
}

pub(crate) fn reserved<'a>(
    text: &'static str,
) -> impl Parser<Span<'a>, Output = (), Error = crate::input::Error> {
    let end = not(peek(satisfy(is_part)));
    value((), terminated(token(tag(text)), end))
}
