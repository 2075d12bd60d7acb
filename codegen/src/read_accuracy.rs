//! The bounds of the error of an approximation, after the keyword `within`.

use nom::Parser;
use nom::branch::alt;
use nom::bytes::complete::take_while1;
use nom::character::complete::char;
use nom::combinator::{map, map_opt, opt, recognize, value};
use nom::multi::separated_list1;
use nom::sequence::{preceded, terminated};

use crate::input::{Parsed, Span, expect, number, punct, token};
use crate::notation::{ErrorBound, ErrorLimit, Range};
use crate::read_condition::condition;
use crate::read_expression::{plain_name, reserved};

/// `2^-20.5 absolute for 0 <= a <= 2 pi, 2^-14.7 absolute for 0 <= a <= 100 pi`; `unspecified`
pub(crate) fn accuracy(at: Span<'_>) -> Parsed<'_, Vec<ErrorBound>> {
    alt((
        value(Vec::new(), reserved("unspecified")),
        separated_list1(punct(","), bound),
    ))
    .parse(at)
}

fn bound(at: Span<'_>) -> Parsed<'_, ErrorBound> {
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
    .parse(at)
}

fn limit(at: Span<'_>) -> Parsed<'_, ErrorLimit> {
    let absolute = value(true, reserved("absolute"));
    let kind = alt((absolute, value(false, reserved("relative"))));
    let power = (
        preceded(punct("2^"), thousandths),
        expect("`absolute` or `relative`", kind),
    );
    let power = map(power, |(exponent, absolute)| match absolute {
        true => ErrorLimit::Absolute(exponent),
        false => ErrorLimit::Relative(exponent),
    });
    let ulp = terminated(number, expect("`ulp`", reserved("ulp")));
    alt((power, map(ulp, ErrorLimit::Ulp))).parse(at)
}

/// A number in thousandths.
fn thousandths(at: Span<'_>) -> Parsed<'_, i32> {
    map_opt(decimal, |number| {
        let scaled = (number * 1000.0).round();
        (scaled.abs() < 1e6).then_some(scaled as i32)
    })
    .parse(at)
}

fn decimal(at: Span<'_>) -> Parsed<'_, f64> {
    let digits = take_while1(|c: char| c.is_ascii_digit() || c == '.');
    let text = recognize((opt(char('-')), digits));
    map_opt(token(text), |text: Span<'_>| text.parse().ok()).parse(at)
}

/// `2^-126 <= b <= 2^126`
fn range(at: Span<'_>) -> Parsed<'_, Range> {
    let end = || expect("a number such as `2^-126` or `2 pi`", magnitude);
    let name = expect("an operand", plain_name);
    let less = || expect("`<=`", punct("<="));
    let parts = (end(), preceded(less(), name), preceded(less(), end()));
    map(parts, |(low, operand, high)| Range { operand, low, high }).parse(at)
}

fn magnitude(at: Span<'_>) -> Parsed<'_, f64> {
    let power = map(preceded(punct("2^"), decimal), f64::exp2);
    let multiple = (decimal, opt(reserved("pi")));
    let multiple = map(multiple, |(factor, pi)| match pi {
        Some(()) => factor * std::f64::consts::PI,
        None => factor,
    });
    alt((power, multiple)).parse(at)
}
