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
            other => return line.error(format!("expected `insn` or `define`, found {other}")),
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
        names_since: Vec::new(),
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
                .names_since
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
fn form(at: Span<'_>) -> Parsed<'_, Form> {
    let (rest, (ptxas, start)) = (
        flag("ptxas"),
        verify(word, |w: &Span<'_>| *w.fragment() == "form"),
    )
        .parse(at)?;
    let text = rest.split_whitespace().collect::<Vec<_>>().join(" ");
    let (rest, (slots, positions)) = (token(many0(slots)), positions).parse(rest)?;
    let operands = positions.into_iter().enumerate();
    let operands = operands
        .flat_map(|(position, list)| list.into_iter().map(move |o| OperandUse { position, ..o }));
    let form = Form {
        pos: Pos::of(start),
        text,
        slots: slots.into_iter().flatten().collect(),
        operands: operands.collect(),
        ptxas,
        body: Body::default(),
    };
    Ok((rest, form))
}

/// `.sync.aligned`, `{.rnd}`, `{.xorsign.abs}` or `.shared{::cta, ::cluster}`
fn slots(at: Span<'_>) -> Parsed<'_, Vec<SlotUse>> {
    let chain = || {
        recognize((
            char('.'),
            take_while1(|c: char| c.is_ascii_alphanumeric() || "._:".contains(c)),
        ))
    };
    let suffix = || map(word, |w: Span<'_>| w.to_string());
    let suffixes = || {
        let list = delimited(
            tag("{"),
            separated_list1(punct(","), suffix()),
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
    let (rest, (optional, (names, suffixes))) = alt((
        map(optional, |slot| (true, slot)),
        map((chain(), suffixes()), |slot| (false, slot)),
    ))
    .parse(at)?;
    let slot = |text: String| SlotUse {
        name: Word {
            text,
            pos: Pos::of(names),
        },
        optional,
        suffixes: Vec::new(),
    };
    let modifiers = split(&names);
    // All or none: one slot with one alternative of several modifiers.
    let mut slots: Vec<SlotUse> = if optional && modifiers.len() > 1 {
        vec![slot(names.to_string())]
    } else {
        modifiers.into_iter().map(slot).collect()
    };
    if let Some(last) = slots.last_mut() {
        last.suffixes = suffixes;
    }
    Ok((rest, slots))
}

/// The operands of each comma-separated position: `d, [a, c]{, e}` has three positions.
fn positions(at: Span<'_>) -> Parsed<'_, Vec<Vec<OperandUse>>> {
    let mut all = Vec::new();
    let (mut at, ()) = value((), many0(token(char(' ')))).parse(at)?;
    if at.trim().is_empty() {
        return Ok((at, all));
    }
    loop {
        // `{(ret),} func`: an optional first operand.
        let leading = enclosed("{", terminated(operand, punct(",")), "}");
        let is_leading = at
            .trim_start()
            .strip_prefix('{')
            .and_then(|t| t.split_once('}'));
        if is_leading.is_some_and(|(inside, _)| inside.trim_end().ends_with(',')) {
            let (rest, list) = { leading }.parse(at)?;
            all.push(optional(list));
            at = rest;
            continue;
        }
        let trailing = many0(preceded(
            (punct("{"), punct(",")),
            terminated(positions, expect("`}`", punct("}"))),
        ));
        let (rest, (list, trailing)) = (operand, trailing).parse(at)?;
        all.push(list);
        all.extend(trailing.into_iter().flatten().map(optional));
        match opt(punct(",")).parse(rest)? {
            (rest, Some(())) => at = rest,
            (rest, None) => return Ok((rest, all)),
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
fn operand(at: Span<'_>) -> Parsed<'_, Vec<OperandUse>> {
    let named = |nesting: fn(u8) -> Nesting| {
        move |list: Vec<(bool, Word)>| -> Vec<OperandUse> {
            let one = |(i, (optional, name))| OperandUse {
                name,
                position: 0,
                nesting: nesting(i as u8),
                optional,
            };
            list.into_iter().enumerate().map(one).collect()
        }
    };
    let required = || expect("the name of an operand", name);
    let (rest, mut list) = alt((
        map(enclosed("[", parts, "]"), named(Nesting::Bracket)),
        map(enclosed("{", parts, "}"), named(Nesting::Vector)),
        map(enclosed("(", required(), ")"), |name| {
            named(|_| Nesting::Parentheses)(vec![(false, name)])
        }),
        map(required(), |name| {
            named(|_| Nesting::Whole)(vec![(false, name)])
        }),
    ))
    .parse(at)?;
    let mut half = opt(alt((
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
    let (rest, half) = half.parse(rest)?;
    list.extend(half.map(|(optional, name)| OperandUse {
        name,
        position: 0,
        nesting: Nesting::Pair,
        optional,
    }));
    Ok((rest, list))
}

/// `map, coords{, im2col}`
fn parts(at: Span<'_>) -> Parsed<'_, Vec<(bool, Word)>> {
    let optional = delimited(
        (punct("{"), punct(",")),
        expect("the name of an operand", name),
        expect("`}`", punct("}")),
    );
    let part = (expect("the name of an operand", name), many0(optional));
    map(separated_list1(punct(","), part), |list| {
        let flat = list.into_iter().flat_map(|(name, optional)| {
            std::iter::once((false, name)).chain(optional.into_iter().map(|name| (true, name)))
        });
        flat.collect()
    })
    .parse(at)
}
