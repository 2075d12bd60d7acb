//! The computation of a form after the keyword `computes`: assignments of expressions to results, and bounds of their error after `within`.

use nom::Parser;
use nom::branch::alt;
use nom::bytes::complete::{tag, take_while, take_while1};
use nom::character::complete::{char, satisfy};
use nom::combinator::{map, map_opt, not, opt, peek, recognize, value};
use nom::multi::{many0, separated_list1};
use nom::sequence::{preceded, terminated};

use crate::input::{Parsed, Pos, Span, Word, enclosed, expect, number, punct, token};
use crate::notation::{Assignment, Computation, ErrorBound, ErrorLimit, Expr, Range};
use crate::read_condition::condition;

/// The binary operators and their functions in the order of increasing precedence, as in Rust.
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
pub(crate) fn computation(input: Span<'_>) -> Parsed<'_, Computation> {
    let pos = Pos::of(input);
    let text = input.trim().to_string();
    let (remaining, assignments) = separated_list1(punct(";"), assignment).parse(input)?;
    let (remaining, accuracy) = opt(preceded(reserved("within"), accuracy)).parse(remaining)?;
    Ok((
        remaining,
        Computation {
            pos,
            text,
            assignments,
            accuracy,
        },
    ))
}

fn assignment(input: Span<'_>) -> Parsed<'_, Assignment> {
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
    .parse(input)
}

fn expression(input: Span<'_>) -> Parsed<'_, Expr> {
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
    alt((conditional, |input| binary(input, 0))).parse(input)
}

/// An expression of operators whose precedence is at least a level.
fn binary(input: Span<'_>, level: usize) -> Parsed<'_, Expr> {
    let Some(operators) = BINARY.get(level) else {
        return unary(input);
    };
    let (mut remaining, mut left) = binary(input, level + 1)?;
    while let Ok((operand, function)) = operator(remaining, operators) {
        let right;
        (remaining, right) =
            expect("an operand", |input| binary(input, level + 1)).parse(operand)?;
        left = Expr::Call(function, vec![left, right]);
    }
    Ok((remaining, left))
}

fn operator<'a>(input: Span<'a>, operators: &[(&str, &str)]) -> Parsed<'a, Word> {
    let symbol = alt((
        tag("<<"),
        tag(">>"),
        tag("=="),
        tag("!="),
        tag("<="),
        tag(">="),
        recognize(satisfy(|c| "|^&<>+-*/%".contains(c))),
    ));
    map_opt(token(symbol), |symbol: Span<'_>| {
        let (_, function) = operators
            .iter()
            .find(|(text, _)| text == symbol.fragment())?;
        Some(Word {
            text: (*function).into(),
            pos: Pos::of(symbol),
        })
    })
    .parse(input)
}

fn unary(input: Span<'_>) -> Parsed<'_, Expr> {
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
    alt((sign('-', "negate"), sign('~', "not"), primary)).parse(input)
}

fn primary(input: Span<'_>) -> Parsed<'_, Expr> {
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
    .parse(input)
}

fn argument(input: Span<'_>) -> Parsed<'_, Expr> {
    expect("an argument", expression).parse(input)
}

fn is_part(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// A name of letters, digits and underscores.
pub(crate) fn plain_name(input: Span<'_>) -> Parsed<'_, Word> {
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
    .parse(input)
}

/// `.type`, `.shared::cta`
fn modifier(input: Span<'_>) -> Parsed<'_, Word> {
    let letters = recognize((char('.'), many0(satisfy(|c| is_part(c) || c == ':'))));
    map(token(letters), |w: Span<'_>| Word {
        text: w.to_string(),
        pos: Pos::of(w),
    })
    .parse(input)
}

pub(crate) fn reserved<'a>(
    text: &'static str,
) -> impl Parser<Span<'a>, Output = (), Error = crate::input::Error> {
    let end = not(peek(satisfy(is_part)));
    value((), terminated(token(tag(text)), end))
}

/// `2^-20.5 absolute for 0 <= a <= 2 pi, 2^-14.7 absolute for 0 <= a <= 100 pi`; `unspecified`
pub(crate) fn accuracy(input: Span<'_>) -> Parsed<'_, Vec<ErrorBound>> {
    alt((
        value(Vec::new(), reserved("unspecified")),
        separated_list1(punct(","), bound),
    ))
    .parse(input)
}

fn bound(input: Span<'_>) -> Parsed<'_, ErrorBound> {
    let parts = (
        expect("an error such as `2 ulp`", limit),
        opt(preceded(reserved("if"), condition)),
        opt(preceded(reserved("for"), range)),
    );
    map(parts, |(limit, when, range)| ErrorBound {
        limit,
        when,
        range,
    })
    .parse(input)
}

fn limit(input: Span<'_>) -> Parsed<'_, ErrorLimit> {
    let kind = alt((
        map(reserved("absolute"), |()| {
            ErrorLimit::Absolute as fn(i32) -> ErrorLimit
        }),
        map(reserved("relative"), |()| {
            ErrorLimit::Relative as fn(i32) -> ErrorLimit
        }),
    ));
    let power = (
        preceded(punct("2^"), thousandths),
        expect("`absolute` or `relative`", kind),
    );
    let ulp = terminated(number, expect("`ulp`", reserved("ulp")));
    alt((
        map(power, |(exponent, limit)| limit(exponent)),
        map(ulp, ErrorLimit::Ulp),
    ))
    .parse(input)
}

/// A number in thousandths.
fn thousandths(input: Span<'_>) -> Parsed<'_, i32> {
    map_opt(decimal, |number| {
        let scaled = (number * 1000.0).round();
        (scaled.abs() < 1e6).then_some(scaled as i32)
    })
    .parse(input)
}

fn decimal(input: Span<'_>) -> Parsed<'_, f64> {
    let digits = take_while1(|c: char| c.is_ascii_digit() || c == '.');
    let text = recognize((opt(char('-')), digits));
    map_opt(token(text), |text: Span<'_>| text.parse().ok()).parse(input)
}

/// `2^-126 <= b <= 2^126`
fn range(input: Span<'_>) -> Parsed<'_, Range> {
    let end = || expect("a number such as `2^-126` or `2 pi`", magnitude);
    let name = expect("an operand", plain_name);
    let less_equal = || expect("`<=`", punct("<="));
    let parts = (
        end(),
        preceded(less_equal(), name),
        preceded(less_equal(), end()),
    );
    map(parts, |(low, operand, high)| Range { operand, low, high }).parse(input)
}

fn magnitude(input: Span<'_>) -> Parsed<'_, f64> {
    let power = map(preceded(punct("2^"), decimal), f64::exp2);
    let multiple_of_pi = map(terminated(decimal, reserved("pi")), |factor| {
        factor * std::f64::consts::PI
    });
    alt((power, multiple_of_pi, decimal)).parse(input)
}
