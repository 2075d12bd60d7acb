//! Conditions: `and`, `or` and `not` of the contents of slots and of tests of operands.

use nom::Parser;
use nom::branch::alt;
use nom::combinator::{map, not, opt, peek, value};
use nom::multi::{many0, many1, separated_list1};
use nom::sequence::preceded;

use crate::input::{
    Parsed, Span, dotted, enclosed, expect, expect_one_of, keyword, name, number, punct,
};
use crate::notation::{Cond, Test};

/// `A and not B or C`
pub(crate) fn condition(input: Span<'_>) -> Parsed<'_, Cond> {
    let all = map(separated_list1(keyword("and"), unary), |list| {
        joined(list, Cond::All)
    });
    map(separated_list1(keyword("or"), all), |list| {
        joined(list, Cond::Any)
    })
    .parse(input)
}

/// A condition in which modifiers side by side mean "one of": `.tile::gather4 .im2col::w`.
pub(crate) fn condition_of_modifiers(input: Span<'_>) -> Parsed<'_, Cond> {
    let first_token = alt((punct("("), keyword("not"), value((), dotted)));
    let alternative = preceded(peek(first_token), condition);
    let (remaining, first) = condition(input)?;
    map(many0(alternative), |mut list| {
        list.insert(0, first.clone());
        joined(list, Cond::Any)
    })
    .parse(remaining)
}

fn joined(mut list: Vec<Cond>, join: fn(Vec<Cond>) -> Cond) -> Cond {
    if list.len() == 1 {
        list.remove(0)
    } else {
        join(list)
    }
}

fn unary(input: Span<'_>) -> Parsed<'_, Cond> {
    let negated = map(preceded(keyword("not"), unary), |c| Cond::Not(Box::new(c)));
    let grouped = enclosed("(", condition, ")");
    alt((negated, grouped, function_kind, unified_textures, atom)).parse(input)
}

fn function_kind(input: Span<'_>) -> Parsed<'_, Cond> {
    let kinds = alt((
        value(Cond::InEntry, keyword("entry")),
        value(Cond::InFunc, keyword("func")),
    ));
    preceded(keyword("in"), expect("`entry` or `func`", kinds)).parse(input)
}

fn unified_textures(input: Span<'_>) -> Parsed<'_, Cond> {
    let mode = expect("`unified`", keyword("unified"));
    value(Cond::UnifiedTextures, preceded(keyword("textures"), mode)).parse(input)
}

/// A slot, a modifier, or the test of an operand.
pub(crate) fn atom(input: Span<'_>) -> Parsed<'_, Cond> {
    let reserved = alt((keyword("and"), keyword("or"), keyword("if"), keyword("ptx")));
    let name = preceded(not(reserved), alt((enclosed("[", name, "]"), name)));
    let (remaining, word) = expect("a slot, a modifier or an operand", name).parse(input)?;
    if !word.text.starts_with('.') {
        let (remaining, ()) = expect("`is`", keyword("is")).parse(remaining)?;
        let length = preceded(keyword("vec"), expect("a number of elements", number));
        let width = preceded(keyword("below"), expect("a number of bits", number));
        return alt((
            map(length, |n| Cond::Vector(word.clone(), n)),
            map(width, |n| Cond::Below(word.clone(), n)),
            map(expect_one_of::<Test>, |test| {
                Cond::Operand(word.clone(), test)
            }),
        ))
        .parse(remaining);
    }
    let listed = preceded(
        alt((keyword("is"), keyword("in"))),
        expect("a modifier", many1(dotted)),
    );
    map(opt(listed), |listed| match listed {
        Some(modifiers) => Cond::In(word.clone(), modifiers),
        None => Cond::Word(word.clone()),
    })
    .parse(remaining)
}
