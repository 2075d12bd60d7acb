//! Statements about a block or a form: slots, operands, rules, effects, notes.

use nom::Parser;
use nom::branch::alt;
use nom::combinator::{map, not, opt, peek, rest, success, value};
use nom::multi::{many0, many1, separated_list1};
use nom::sequence::{pair, preceded, terminated};

use crate::input::{
    Error, Line, Parsed, Pos, Result, Span, Word, dotted, enclosed, expand, expect, expect_one_of,
    flag, keyword, name, number, one_of, pattern, punct, split, string, version, word,
};
use crate::notation::{
    Body, Cell, Cond, Digits, Effect, EffectKind, Length, OperandDef, Role, Row, Rule, RuleKind,
    Since, Size, SlotDef, Table, TypeExpr,
};
use crate::read_condition::{atom, condition, condition_of_modifiers};
use crate::read_expression::computation;

/// Words that begin a statement and are not names of operands.
const STATEMENTS: &[&str] = &[
    "require",
    "deny",
    "together",
    "since",
    "removed-in",
    "deprecated",
    "effect",
    "note",
    "differs",
    "must-agree",
    "ordered",
];

/// Adds what a line says to a body.
pub(crate) fn statement(line: &Line<'_>, body: &mut Body) -> Result<()> {
    if line.keyword() == "table" {
        body.tables.push(table(line)?);
        return Ok(());
    }
    line.leaf()?;
    match line.keyword() {
        keyword if keyword.starts_with('.') => body.slots.push(line.parse(slot_def)?),
        "effect" => body.effects.extend(line.parse(effects)?),
        "computes" => body
            .computations
            .push(line.parse(preceded(word, computation))?),
        "performs" => {
            let operation = expect("an operation of actions.isa", name);
            body.performs = Some(line.parse(preceded(word, operation))?);
        }
        "about" => {
            let sentence = expect("a sentence in quotes", string);
            body.about = Some(line.parse(preceded(word, sentence))?);
        }
        "note" => body
            .notes
            .push(line.parse(preceded(word, expect("a note in quotes", string)))?),
        "differs" => body
            .differences
            .push(line.parse(preceded(word, expect("a reason in quotes", string)))?),
        "ptxas" => body.rules.extend(line.parse(rules)?),
        keyword if STATEMENTS.contains(&keyword) => body.rules.extend(line.parse(rules)?),
        _ => body.operands.push(line.parse(operand_def)?),
    }
    Ok(())
}

/// `.type = .u32 .m64n{8..256 step 8}k16 .shared{::cta, ::cluster} default .u32`
pub(crate) fn slot_def(at: Span<'_>) -> Parsed<'_, SlotDef> {
    let dotted_pattern = preceded(peek(dotted), pattern);
    let head = terminated(
        expect("a slot such as .type", name),
        expect("`=`", punct("=")),
    );
    let default = opt(preceded(keyword("default"), expect("a modifier", dotted)));
    let (rest, (name, patterns, default)) =
        (head, expect("a modifier", many1(dotted_pattern)), default).parse(at)?;
    let mut alternatives: Vec<Vec<String>> = Vec::new();
    for pattern in patterns {
        let Some(found) = expand_alternative(&pattern.text) else {
            return failure(&pattern, format!("cannot read the alternative {pattern}"));
        };
        for modifiers in found {
            if alternatives.contains(&modifiers) {
                return failure(&pattern, format!("{} is listed twice", modifiers.concat()));
            }
            alternatives.push(modifiers);
        }
    }
    Ok((
        rest,
        SlotDef {
            name,
            alternatives,
            default: default.map(|d| d.text),
        },
    ))
}

fn failure<'a, T>(at: &Word, message: String) -> Parsed<'a, T> {
    Err(nom::Err::Failure(Error::new(&at.pos, message)))
}

fn expand_alternative(pattern: &str) -> Option<Vec<Vec<String>>> {
    if let Some((base, rest)) = pattern.split_once("{::") {
        let suffixes = rest.strip_suffix('}')?;
        let longer = format!("::{suffixes}");
        let longer = longer
            .split(',')
            .map(|suffix| split(&format!("{base}{}", suffix.trim())));
        return Some(std::iter::once(split(base)).chain(longer).collect());
    }
    Some(expand(pattern)?.iter().map(|words| split(words)).collect())
}

/// Rules: `require A => B`, `since .x ptx 8.0; .y ptx 8.1` …, each after `ptxas` where only ptxas has it.
fn rules(at: Span<'_>) -> Parsed<'_, Vec<Rule>> {
    let pos = Pos::of(at);
    let (at, ptxas) = flag("ptxas").parse(at)?;
    let (rest, statement) = expect("a rule", word).parse(at)?;
    let (rest, kinds) = match *statement.fragment() {
        "require" => map(
            (condition, opt(preceded(punct("=>"), condition))),
            |(first, then)| {
                vec![match then {
                    Some(then) => RuleKind::Require(Some(first), then),
                    None => RuleKind::Require(None, first),
                }]
            },
        )
        .parse(rest)?,
        "deny" => map(condition, |c| vec![RuleKind::Deny(c)]).parse(rest)?,
        "together" => map(many1(preceded(peek(word), atom)), together).parse(rest)?,
        "since" => map(separated_list1(punct(";"), conditional_since), |list| {
            list.into_iter()
                .map(|(when, since)| RuleKind::RequiresTarget(when, since))
                .collect()
        })
        .parse(rest)?,
        "removed-in" => map(separated_list1(punct(";"), conditional_since), |list| {
            list.into_iter()
                .map(|(when, since)| RuleKind::RemovedIn(when, since))
                .collect()
        })
        .parse(rest)?,
        "deprecated" => {
            let instead = expect("the replacement in quotes", string);
            map((conditional_since, instead), |((when, since), text)| {
                vec![RuleKind::Deprecated(when, since, text)]
            })
            .parse(rest)?
        }
        "ordered" => {
            let operand = || expect("an operand", name);
            map((operand(), operand()), |(low, high)| {
                vec![RuleKind::Ordered(low, high)]
            })
            .parse(rest)?
        }
        "must-agree" => map(
            (expect("a slot", dotted), flag("warning")),
            |(slot, warning)| vec![RuleKind::MustAgree { slot, warning }],
        )
        .parse(rest)?,
        _ => {
            return expect("a rule after `ptxas`", not(success(())))
                .parse(at)
                .map(|(rest, ())| (rest, Vec::new()));
        }
    };
    let rule = |kind| Rule {
        pos: pos.clone(),
        ptxas,
        kind,
    };
    Ok((rest, kinds.into_iter().map(rule).collect()))
}

/// Each condition requires the next one.
fn together(slots: Vec<Cond>) -> Vec<RuleKind> {
    let next = slots.iter().cycle().skip(1);
    slots
        .iter()
        .zip(next)
        .map(|(slot, next)| RuleKind::Require(Some(slot.clone()), next.clone()))
        .collect()
}

fn conditional_since(at: Span<'_>) -> Parsed<'_, (Option<Cond>, Vec<Since>)> {
    let when = alt((
        map(peek(keyword("ptx")), |()| None),
        map(condition_of_modifiers, Some),
    ));
    pair(when, since_alternatives).parse(at)
}

/// `ptx 8.6 sm_100a or ptx 8.8 sm_100f+`
pub(crate) fn since_alternatives(at: Span<'_>) -> Parsed<'_, Vec<Since>> {
    separated_list1(keyword("or"), since).parse(at)
}

fn since(at: Span<'_>) -> Parsed<'_, Since> {
    let target = preceded(
        peek(preceded(
            nom::character::complete::multispace0,
            nom::bytes::complete::tag("sm_"),
        )),
        name,
    );
    let (rest, start) = expect(
        "`ptx` and a version",
        nom::combinator::verify(word, |w: &Span<'_>| *w.fragment() == "ptx"),
    )
    .parse(at)?;
    let (rest, (version, targets)) =
        (expect("a version of the PTX ISA", version), many0(target)).parse(rest)?;
    Ok((
        rest,
        Since {
            pos: Pos::of(start),
            version,
            targets,
        },
    ))
}

/// `order .sem; volatile if .x`
fn effects(at: Span<'_>) -> Parsed<'_, Vec<Effect>> {
    let when = opt(preceded(keyword("if"), condition));
    let effect = map((effect_kind, when), |(kind, when)| Effect { kind, when });
    preceded(word, separated_list1(punct(";"), effect)).parse(at)
}

fn effect_kind(at: Span<'_>) -> Parsed<'_, EffectKind> {
    let (rest, kind) = expect("an effect", word).parse(at)?;
    let modifier = || expect("a modifier or a slot", dotted);
    match *kind.fragment() {
        "order" => map(modifier(), EffectKind::Order).parse(rest),
        "scope" => map(modifier(), EffectKind::Scope).parse(rest),
        "proxy" => map(expect_one_of, EffectKind::Proxy).parse(rest),
        "control" => map(expect_one_of, EffectKind::Control).parse(rest),
        "converge" => map(expect_one_of, EffectKind::Converge).parse(rest),
        "lanes" => map(expect("an operand", name), EffectKind::Lanes).parse(rest),
        "async" => map((expect_one_of, expect_one_of), |(by, phase)| {
            EffectKind::Async(by, phase)
        })
        .parse(rest),
        "memory" => map((expect_one_of, modifier()), |(access, space)| {
            EffectKind::Memory(access, space)
        })
        .parse(rest),
        "carry" => map(expect_one_of, EffectKind::Carry).parse(rest),
        _ => map(expect_one_of, EffectKind::Plain).parse(at),
    }
}

/// `NAME ROLE` and attributes in any order.
fn operand_def(at: Span<'_>) -> Parsed<'_, OperandDef> {
    let operand = expect(
        "the name of an operand or a keyword",
        alt((enclosed("[", name, "]"), name)),
    );
    let (mut at, (name, role)) = (operand, expect_one_of::<Role>).parse(at)?;
    let mut def = OperandDef {
        name,
        role,
        ty: TypeExpr::None,
        length: Length::Scalar,
        marks: Vec::new(),
        range: None,
        access: None,
        spaces: Vec::new(),
        align: 0,
        size: Size::Unknown,
        iff: None,
    };
    while let (rest, Some(())) = opt(|at| attribute(at, &mut def)).parse(at)? {
        at = rest;
    }
    Ok((at, def))
}

fn attribute<'a>(at: Span<'a>, def: &mut OperandDef) -> Parsed<'a, ()> {
    if let (rest, Some(ty)) = opt(dotted).parse(at)? {
        def.ty = TypeExpr::Named(ty);
        return Ok((rest, ()));
    }
    let typed = (one_of, expect("a type or a slot", dotted));
    if let (rest, Some((derived, of))) = opt(typed).parse(at)? {
        def.ty = TypeExpr::Derived(derived, of);
        return Ok((rest, ()));
    }
    if let (rest, Some(access)) = opt(one_of).parse(at)? {
        def.access = Some(access);
        return Ok((rest, ()));
    }
    let (rest, found) = name(at)?;
    let operand = || expect("an operand", name);
    let bytes = || expect("a number of bytes", number);
    let rest = match found.text.as_str() {
        "vec" => put(&mut def.length, length, rest),
        "range" => put(
            &mut def.range,
            map(expect("a range such as 0..15", range), Some),
            rest,
        ),
        "space" => {
            let space = expect("a state space, a slot or `generic`", name);
            put(
                &mut def.spaces,
                preceded(
                    expect("`=`", punct("=")),
                    separated_list1(punct("|"), space),
                ),
                rest,
            )
        }
        "align" => put(&mut def.align, bytes(), rest),
        "size" => put(
            &mut def.size,
            alt((map(number, Size::Fixed), map(operand(), Size::Like))),
            rest,
        ),
        "by" => put(&mut def.size, map(operand(), Size::Value), rest),
        "iff" => put(&mut def.iff, map(condition, Some), rest),
        _ => {
            def.marks.push(found);
            Ok(rest)
        }
    }?;
    Ok((rest, ()))
}

/// Stores what a parser finds.
fn put<'a, T>(
    to: &mut T,
    mut parser: impl Parser<Span<'a>, Output = T, Error = Error>,
    at: Span<'a>,
) -> std::result::Result<Span<'a>, nom::Err<Error>> {
    let (rest, found) = parser.parse(at)?;
    *to = found;
    Ok(rest)
}

/// `0..15`, `24..256 step 8`, `1..16 pow2` or one value.
fn range(at: Span<'_>) -> Parsed<'_, (i64, i64, i64)> {
    let limits = |w: Span<'_>| {
        let (low, high) = w.split_once("..").unwrap_or((&w, &w));
        Some((low.parse().ok()?, high.parse().ok()?))
    };
    let step = alt((
        preceded(keyword("step"), expect("a step", number)),
        value(0, keyword("pow2")),
        success(1),
    ));
    map(
        (nom::combinator::map_opt(word, limits), step),
        |((low, high), step)| (low, high, step),
    )
    .parse(at)
}

/// `4`, `.vec`, `fragment .shape`, `product .num last .ratio / 32` or `{ .1d 1, .2d 2; .tile::gather4 5 }`, of which a later group has precedence.
fn length(at: Span<'_>) -> Parsed<'_, Length> {
    let case = || {
        pair(
            condition_of_modifiers,
            expect("a number of elements", number),
        )
    };
    let groups = separated_list1(punct(";"), separated_list1(punct(","), case()));
    let cases = map(enclosed("{", groups, "}"), |groups| {
        Length::Cases(groups.into_iter().rev().flatten().collect())
    });
    let last = map(opt(keyword("last")), |last| match last {
        Some(_) => Digits::Last,
        None => Digits::First,
    });
    let factor = map(pair(last, dotted), |(digits, slot)| (slot, digits));
    let divisor = map(opt(preceded(punct("/"), number)), |n| n.unwrap_or(1));
    alt((
        map(dotted, Length::Slot),
        map(
            preceded(keyword("fragment"), expect("a slot", dotted)),
            Length::Fragment,
        ),
        map(
            preceded(keyword("product"), (many1(factor), divisor)),
            |(factors, divisor)| Length::Product(factors, divisor),
        ),
        cases,
        map(expect("a number of elements", number), Length::Fixed),
    ))
    .parse(at)
}

/// `table SLOTS | OPERANDS |` with a row in each line below. Cells are two or more spaces apart.
fn table(line: &Line<'_>) -> Result<Table> {
    let names = || many0(name);
    let head = (names(), opt(preceded(punct("|"), names())), opt(punct("|")));
    let (columns, operands, _) = line.parse(preceded(word, head))?;
    let mut table = Table {
        columns,
        operands: operands.unwrap_or_default(),
        rows: Vec::new(),
    };
    for line in &line.children {
        line.leaf()?;
        table.rows.push(row(line, &table)?);
    }
    Ok(table)
}

fn row(line: &Line<'_>, table: &Table) -> Result<Row> {
    // Lengths may hold a `|` without whitespace before it.
    let text = |at| {
        map(
            (
                nom::bytes::complete::take_until(" |"),
                nom::bytes::complete::tag(" |"),
            ),
            |(t, _)| t,
        )
        .parse(at)
    };
    let part = |at| map(opt(text), |t: Option<Span<'_>>| t).parse(at);
    let parts = |at| {
        let (at, cells) = part(at)?;
        let Some(cells) = cells else {
            return map(rest, |cells: Span<'_>| (cells, None, None)).parse(at);
        };
        match part(at)? {
            (at, Some(lengths)) => {
                let since = opt(preceded(peek(keyword("ptx")), since_alternatives));
                map(since, |since| (cells, Some(lengths), since)).parse(at)
            }
            (at, None) => map(rest, |lengths: Span<'_>| (cells, Some(lengths), None)).parse(at),
        }
    };
    let (cells, lengths, since) = line.parse(parts)?;
    let cells: Vec<Cell> = cells
        .split("  ")
        .map(str::trim)
        .filter(|c| !c.is_empty())
        .map(cell)
        .collect();
    if cells.len() != table.columns.len() {
        return line.error(format!(
            "{} cells under {} columns",
            cells.len(),
            table.columns.len()
        ));
    }
    let mut found = Vec::new();
    for cell in lengths.iter().flat_map(|l| l.split_whitespace()) {
        match cell.split('|').map(str::parse).collect() {
            Ok(numbers) => found.push(numbers),
            Err(_) => return line.error(format!("expected vector lengths, found {cell}")),
        }
    }
    if found.len() != table.operands.len() {
        return line.error(format!(
            "{} lengths under {} operands",
            found.len(),
            table.operands.len()
        ));
    }
    Ok(Row {
        pos: Pos::of(line.text),
        cells,
        lengths: found,
        since: since.unwrap_or_default(),
    })
}

fn cell(text: &str) -> Cell {
    match text {
        "*" => Cell::Any,
        "-" => Cell::Absent,
        _ => match text.strip_prefix('=') {
            Some(slot) => Cell::Same(format!(".{}", slot.trim_start_matches('.'))),
            None => Cell::Words(text.split_whitespace().map(str::to_string).collect()),
        },
    }
}
