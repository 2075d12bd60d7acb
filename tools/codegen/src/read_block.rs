//! The blocks of an instruction file: headers and forms.

use nom::Parser;
use nom::branch::alt;
use nom::bytes::complete::{tag, take_while1};
use nom::character::complete::char;
use nom::combinator::{map, opt, peek, recognize, value, verify};
use nom::multi::{many0, many1, separated_list1};
use nom::sequence::{delimited, preceded, terminated};

use crate::input::{
    Line, Parsed, Pos, Result, Span, Word, enclosed, expect, flag, keyword, name, punct, split,
    string, token, word,
};
use crate::notation::{Block, Body, Family, Form, Nesting, OperandUse, SlotUse};
use crate::read_statement::{since_alternatives, slot_def, statement};
use crate::read_text::{is_text, text};

pub(crate) fn read(name: &str, lines: &[Line<'_>]) -> Result<Family> {
    let mut family = Family {
        name: name.to_string(),
        ..Family::default()
    };
    for line in lines {
        match line.keyword() {
            "define" => {
                line.leaf()?;
                family.shared.push(line.parse(preceded(word, slot_def))?);
            }
            "insn" => family.blocks.push(block(line)?),
            keyword => return line.error(format!("expected `insn` or `define`, found {keyword}")),
        }
    }
    Ok(family)
}

fn block(line: &Line<'_>) -> Result<Block> {
    let names = expect("a name or a section in quotes", many1(name));
    let section = expect("a section in quotes", string);
    let head = (preceded(word, names), section);
    let (names, section) = line.parse(head)?;
    let mut block = Block {
        pos: Pos::of(line.text),
        names,
        section,
        name_floors: Vec::new(),
        forms: Vec::new(),
        texts: Vec::new(),
        body: Body::default(),
    };
    for line in &line.children {
        if is_text(line) {
            line.leaf()?;
            block.texts.push(line.parse(text)?);
            continue;
        }
        let since_name = preceded((keyword("since"), keyword("name")), name);
        if peek(since_name).parse(line.text).is_ok() {
            let name = preceded((keyword("since"), keyword("name")), name);
            block
                .name_floors
                .push(line.parse((name, since_alternatives))?);
        } else if preceded(flag("ptxas"), keyword("form"))
            .parse(line.text)
            .is_ok()
        {
            let mut form = line.parse(form)?;
            for line in &line.children {
                statement(line, &mut form.body)?;
            }
            block.forms.push(form);
        } else {
            statement(line, &mut block.body)?;
        }
    }
    Ok(block)
}

/// `ptxas form {.rnd}.type  d, [a]{, b}`
fn form(input: Span<'_>) -> Parsed<'_, Form> {
    let (remaining, (ptxas, start)) = (
        flag("ptxas"),
        verify(word, |w: &Span<'_>| *w.fragment() == "form"),
    )
        .parse(input)?;
    let text = remaining.split_whitespace().collect::<Vec<_>>().join(" ");
    let (remaining, (slots, positions)) = (token(many0(slots)), positions).parse(remaining)?;
    let mut operands = Vec::new();
    for (position, list) in positions.into_iter().enumerate() {
        operands.extend(list.into_iter().map(|o| OperandUse { position, ..o }));
    }
    let form = Form {
        pos: Pos::of(start),
        text,
        slots: slots.into_iter().flatten().collect(),
        operands,
        ptxas,
        body: Body::default(),
    };
    Ok((remaining, form))
}

/// `.sync.aligned`, `{.rnd}`, `{.xorsign.abs}` or `.shared{::cta, ::cluster}`
fn slots(input: Span<'_>) -> Parsed<'_, Vec<SlotUse>> {
    let chain = || {
        recognize((
            char('.'),
            take_while1(|c: char| c.is_ascii_alphanumeric() || "._:".contains(c)),
        ))
    };
    let suffixes = || {
        let suffix = map(word, |w: Span<'_>| w.to_string());
        let list = delimited(
            tag("{"),
            separated_list1(punct(","), suffix),
            expect("`}`", punct("}")),
        );
        map(
            opt(preceded(peek(tag("{::")), list)),
            Option::unwrap_or_default,
        )
    };
    let optional = delimited(
        (char('{'), peek(char('.'))),
        (chain(), suffixes()),
        expect("`}`", token(char('}'))),
    );
    let (remaining, (optional, (names, suffixes))) = alt((
        map(optional, |slot| (true, slot)),
        map((chain(), suffixes()), |slot| (false, slot)),
    ))
    .parse(input)?;
    let slot = |text: String| SlotUse {
        name: Word {
            text,
            pos: Pos::of(names),
        },
        optional,
        suffixes: Vec::new(),
    };
    let modifiers = split(&names);
    // `{.a.b}` is one slot with one alternative of several modifiers.
    let mut slots: Vec<SlotUse> = if optional && modifiers.len() > 1 {
        vec![slot(names.to_string())]
    } else {
        modifiers.into_iter().map(slot).collect()
    };
    if let Some(last) = slots.last_mut() {
        last.suffixes = suffixes;
    }
    Ok((remaining, slots))
}

/// The operands of each comma-separated position: `d, [a, c]{, e}` has three positions.
fn positions(input: Span<'_>) -> Parsed<'_, Vec<Vec<OperandUse>>> {
    let mut positions = Vec::new();
    let (mut input, ()) = value((), many0(token(char(' ')))).parse(input)?;
    if input.trim().is_empty() {
        return Ok((input, positions));
    }
    loop {
        // `{(ret),} func`: an optional first operand.
        let group = input
            .trim_start()
            .strip_prefix('{')
            .and_then(|t| t.split_once('}'));
        if group.is_some_and(|(content, _)| content.trim_end().ends_with(',')) {
            let (remaining, list) =
                enclosed("{", terminated(operand, punct(",")), "}").parse(input)?;
            positions.push(optional(list));
            input = remaining;
            continue;
        }
        let trailing = many0(preceded(
            (punct("{"), punct(",")),
            terminated(self::positions, expect("`}`", punct("}"))),
        ));
        let (remaining, (list, trailing)) = (operand, trailing).parse(input)?;
        positions.push(list);
        positions.extend(trailing.into_iter().flatten().map(optional));
        match opt(punct(",")).parse(remaining)? {
            (remaining, Some(())) => input = remaining,
            (remaining, None) => return Ok((remaining, positions)),
        }
    }
}

fn optional(list: Vec<OperandUse>) -> Vec<OperandUse> {
    list.into_iter()
        .map(|o| OperandUse {
            optional: true,
            ..o
        })
        .collect()
}

/// The operands of one position: `a`, `[a, c]`, `{a, b}`, `(a)`, `d|p`, `d{|p}`.
fn operand(input: Span<'_>) -> Parsed<'_, Vec<OperandUse>> {
    let required = || expect("the name of an operand", name);
    let (remaining, mut list) = alt((
        map(enclosed("[", parts, "]"), |parts| {
            nested(parts, Nesting::Bracket)
        }),
        map(enclosed("{", parts, "}"), |parts| {
            nested(parts, Nesting::Vector)
        }),
        map(enclosed("(", required(), ")"), |name| {
            nested(vec![(false, name)], |_| Nesting::Parentheses)
        }),
        map(required(), |name| {
            nested(vec![(false, name)], |_| Nesting::Whole)
        }),
    ))
    .parse(input)?;
    let mut second_part = opt(alt((
        map(
            delimited(
                (punct("{"), tag("|")),
                required(),
                expect("`}`", punct("}")),
            ),
            |name| (true, name),
        ),
        map(preceded(punct("|"), required()), |name| (false, name)),
    )));
    let (remaining, second_part) = second_part.parse(remaining)?;
    list.extend(second_part.map(|(optional, name)| OperandUse {
        name,
        position: 0,
        nesting: Nesting::Pair,
        optional,
    }));
    Ok((remaining, list))
}

/// The parts of an operand, of which each is optional or not.
fn nested(parts: Vec<(bool, Word)>, nesting: fn(u8) -> Nesting) -> Vec<OperandUse> {
    (0..)
        .zip(parts)
        .map(|(i, (optional, name))| OperandUse {
            name,
            position: 0,
            nesting: nesting(i),
            optional,
        })
        .collect()
}

/// `map, coords{, im2col}`
fn parts(input: Span<'_>) -> Parsed<'_, Vec<(bool, Word)>> {
    let optional = delimited(
        (punct("{"), punct(",")),
        expect("the name of an operand", name),
        expect("`}`", punct("}")),
    );
    let part = (expect("the name of an operand", name), many0(optional));
    map(separated_list1(punct(","), part), |list| {
        let mut parts = Vec::new();
        for (required, optional) in list {
            parts.push((false, required));
            parts.extend(optional.into_iter().map(|name| (true, name)));
        }
        parts
    })
    .parse(input)
}
