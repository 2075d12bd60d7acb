//! Statements about a block or a form: slots, operands, rules, effects, notes.

use nom::Parser;
use nom::branch::alt;
use nom::combinator::{map, not, opt, peek, success, value};
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

/// Adds the statement of a line to a body.
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
pub(crate) fn slot_def(input: Span<'_>) -> Parsed<'_, SlotDef> {
    let dotted_pattern = preceded(peek(dotted), pattern);
    let head = terminated(
        expect("a slot such as .type", name),
        expect("`=`", punct("=")),
    );
    let default = opt(preceded(keyword("default"), expect("a modifier", dotted)));
    let (remaining, (name, patterns, default)) =
        (head, expect("a modifier", many1(dotted_pattern)), default).parse(input)?;
    let mut alternatives: Vec<Vec<String>> = Vec::new();
    for pattern in patterns {
        let Some(expanded) = expand_alternative(&pattern.text) else {
            return failure(&pattern, format!("cannot read the alternative {pattern}"));
        };
        for modifiers in expanded {
            if alternatives.contains(&modifiers) {
                return failure(&pattern, format!("{} is listed twice", modifiers.concat()));
            }
            alternatives.push(modifiers);
        }
    }
    Ok((
        remaining,
        SlotDef {
            name,
            alternatives,
            default: default.map(|d| d.text),
        },
    ))
}

fn failure<'a, T>(word: &Word, message: String) -> Parsed<'a, T> {
    Err(nom::Err::Failure(Error::new(&word.pos, message)))
}

fn expand_alternative(pattern: &str) -> Option<Vec<Vec<String>>> {
    if let Some((base, suffixes)) = pattern.split_once("{::") {
        let suffixes = format!("::{}", suffixes.strip_suffix('}')?);
        let mut alternatives = vec![split(base)];
        for suffix in suffixes.split(',') {
            alternatives.push(split(&format!("{base}{}", suffix.trim())));
        }
        return Some(alternatives);
    }
    Some(expand(pattern)?.iter().map(|words| split(words)).collect())
}

/// Rules: `require A => B`, `since .x ptx 8.0; .y ptx 8.1` …. `ptxas` precedes rules that the PTX ISA manual does not document.
fn rules(input: Span<'_>) -> Parsed<'_, Vec<Rule>> {
    let pos = Pos::of(input);
    let (input, ptxas) = flag("ptxas").parse(input)?;
    let (remaining, statement) = expect("a rule", word).parse(input)?;
    let (remaining, kinds) = match *statement.fragment() {
        "require" => map(
            (condition, opt(preceded(punct("=>"), condition))),
            |(first, then)| {
                vec![match then {
                    Some(then) => RuleKind::Require(Some(first), then),
                    None => RuleKind::Require(None, first),
                }]
            },
        )
        .parse(remaining)?,
        "deny" => map(condition, |c| vec![RuleKind::Deny(c)]).parse(remaining)?,
        "together" => map(many1(preceded(peek(word), atom)), together).parse(remaining)?,
        "since" => map(separated_list1(punct(";"), conditional_since), |list| {
            list.into_iter()
                .map(|(when, since)| RuleKind::RequiresTarget(when, since))
                .collect()
        })
        .parse(remaining)?,
        "removed-in" => map(separated_list1(punct(";"), conditional_since), |list| {
            list.into_iter()
                .map(|(when, since)| RuleKind::RemovedIn(when, since))
                .collect()
        })
        .parse(remaining)?,
        "deprecated" => {
            let instead = expect("the replacement in quotes", string);
            map((conditional_since, instead), |((when, since), text)| {
                vec![RuleKind::Deprecated(when, since, text)]
            })
            .parse(remaining)?
        }
        "ordered" => {
            let operand = || expect("an operand", name);
            map((operand(), operand()), |(low, high)| {
                vec![RuleKind::Ordered(low, high)]
            })
            .parse(remaining)?
        }
        "must-agree" => map(
            (expect("a slot", dotted), flag("warning")),
            |(slot, warning)| vec![RuleKind::MustAgree { slot, warning }],
        )
        .parse(remaining)?,
        _ => {
            return expect("a rule after `ptxas`", not(success(())))
                .parse(input)
                .map(|(remaining, ())| (remaining, Vec::new()));
        }
    };
    let rules = kinds.into_iter().map(|kind| Rule {
        pos: pos.clone(),
        ptxas,
        kind,
    });
    Ok((remaining, rules.collect()))
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

fn conditional_since(input: Span<'_>) -> Parsed<'_, (Option<Cond>, Vec<Since>)> {
    let when = alt((
        map(peek(keyword("ptx")), |()| None),
        map(condition_of_modifiers, Some),
    ));
    pair(when, since_alternatives).parse(input)
}

/// `ptx 8.6 sm_100a or ptx 8.8 sm_100f+`
pub(crate) fn since_alternatives(input: Span<'_>) -> Parsed<'_, Vec<Since>> {
    separated_list1(keyword("or"), since).parse(input)
}

fn since(input: Span<'_>) -> Parsed<'_, Since> {
    let target = preceded(
        peek(preceded(
            nom::character::complete::multispace0,
            nom::bytes::complete::tag("sm_"),
        )),
        name,
    );
    let (remaining, start) = expect(
        "`ptx` and a version",
        nom::combinator::verify(word, |w: &Span<'_>| *w.fragment() == "ptx"),
    )
    .parse(input)?;
    let (remaining, (version, targets)) =
        (expect("a version of the PTX ISA", version), many0(target)).parse(remaining)?;
    Ok((
        remaining,
        Since {
            pos: Pos::of(start),
            version,
            targets,
        },
    ))
}

/// `order .sem; volatile if .x`
fn effects(input: Span<'_>) -> Parsed<'_, Vec<Effect>> {
    let when = opt(preceded(keyword("if"), condition));
    let effect = map((effect_kind, when), |(kind, when)| Effect { kind, when });
    preceded(word, separated_list1(punct(";"), effect)).parse(input)
}

fn effect_kind(input: Span<'_>) -> Parsed<'_, EffectKind> {
    let (remaining, kind) = expect("an effect", word).parse(input)?;
    let modifier = || expect("a modifier or a slot", dotted);
    match *kind.fragment() {
        "order" => map(modifier(), EffectKind::Order).parse(remaining),
        "scope" => map(modifier(), EffectKind::Scope).parse(remaining),
        "proxy" => map(expect_one_of, EffectKind::Proxy).parse(remaining),
        "control" => map(expect_one_of, EffectKind::Control).parse(remaining),
        "converge" => map(expect_one_of, EffectKind::Converge).parse(remaining),
        "lanes" => map(expect("an operand", name), EffectKind::Lanes).parse(remaining),
        "async" => map((expect_one_of, expect_one_of), |(mechanism, phase)| {
            EffectKind::Async(mechanism, phase)
        })
        .parse(remaining),
        "memory" => map((expect_one_of, modifier()), |(access, space)| {
            EffectKind::Memory(access, space)
        })
        .parse(remaining),
        "carry" => map(expect_one_of, EffectKind::Carry).parse(remaining),
        _ => map(expect_one_of, EffectKind::Plain).parse(input),
    }
}

/// `NAME ROLE` and attributes in any order.
fn operand_def(input: Span<'_>) -> Parsed<'_, OperandDef> {
    let operand = expect(
        "the name of an operand or a keyword",
        alt((enclosed("[", name, "]"), name)),
    );
    let (mut input, (name, role)) = (operand, expect_one_of::<Role>).parse(input)?;
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
    while let (remaining, Some(())) = opt(|input| attribute(input, &mut def)).parse(input)? {
        input = remaining;
    }
    Ok((input, def))
}

fn attribute<'a>(input: Span<'a>, def: &mut OperandDef) -> Parsed<'a, ()> {
    if let (remaining, Some(ty)) = opt(dotted).parse(input)? {
        def.ty = TypeExpr::Named(ty);
        return Ok((remaining, ()));
    }
    let typed = (one_of, expect("a type or a slot", dotted));
    if let (remaining, Some((derived, slot))) = opt(typed).parse(input)? {
        def.ty = TypeExpr::Derived(derived, slot);
        return Ok((remaining, ()));
    }
    if let (remaining, Some(access)) = opt(one_of).parse(input)? {
        def.access = Some(access);
        return Ok((remaining, ()));
    }
    let (value, attribute) = name(input)?;
    let operand = || expect("an operand", name);
    let remaining = match attribute.text.as_str() {
        "vec" => parse_into(&mut def.length, length, value),
        "range" => parse_into(
            &mut def.range,
            map(expect("a range such as 0..15", range), Some),
            value,
        ),
        "space" => {
            let space = expect("a state space, a slot or `generic`", name);
            parse_into(
                &mut def.spaces,
                preceded(
                    expect("`=`", punct("=")),
                    separated_list1(punct("|"), space),
                ),
                value,
            )
        }
        "align" => parse_into(&mut def.align, expect("a number of bytes", number), value),
        "size" => parse_into(
            &mut def.size,
            alt((map(number, Size::Fixed), map(operand(), Size::Like))),
            value,
        ),
        "by" => parse_into(&mut def.size, map(operand(), Size::Value), value),
        "iff" => parse_into(&mut def.iff, map(condition, Some), value),
        _ => {
            def.marks.push(attribute);
            Ok(value)
        }
    }?;
    Ok((remaining, ()))
}

/// Stores the result of a parser and returns the remaining text.
fn parse_into<'a, T>(
    target: &mut T,
    mut parser: impl Parser<Span<'a>, Output = T, Error = Error>,
    input: Span<'a>,
) -> std::result::Result<Span<'a>, nom::Err<Error>> {
    let (remaining, result) = parser.parse(input)?;
    *target = result;
    Ok(remaining)
}

/// `0..15`, `24..256 step 8`, `1..16 pow2` or one value.
fn range(input: Span<'_>) -> Parsed<'_, (i64, i64, i64)> {
    let limits = nom::combinator::map_opt(word, |w: Span<'_>| {
        let (low, high) = w.split_once("..").unwrap_or((&w, &w));
        Some((low.parse().ok()?, high.parse().ok()?))
    });
    let step = alt((
        preceded(keyword("step"), expect("a step", number)),
        value(0, keyword("pow2")),
        success(1),
    ));
    map((limits, step), |((low, high), step)| (low, high, step)).parse(input)
}

/// `4`, `.vec`, `fragment .shape`, `product .num last .ratio / 32` or `{ .1d 1, .2d 2; .tile::gather4 5 }`, of which a later group has precedence.
fn length(input: Span<'_>) -> Parsed<'_, Length> {
    let case = pair(
        condition_of_modifiers,
        expect("a number of elements", number),
    );
    let groups = separated_list1(punct(";"), separated_list1(punct(","), case));
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
    .parse(input)
}

/// `table SLOTS | OPERANDS |` with a row in each line below. Cells are two or more spaces apart.
fn table(line: &Line<'_>) -> Result<Table> {
    let columns = many0(name);
    let operands = opt(preceded(punct("|"), many0(name)));
    let head = (columns, operands, opt(punct("|")));
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

/// The texts of the parts of a row.
struct RowParts<'a> {
    cells: Span<'a>,
    lengths: Option<Span<'a>>,
    since: Vec<Since>,
}

/// `CELLS | LENGTHS | SINCE`, of which the last parts may be missing.
fn row_parts(input: Span<'_>) -> Parsed<'_, RowParts<'_>> {
    // Lengths may contain a `|` without whitespace before it.
    let part = || {
        opt(terminated(
            nom::bytes::complete::take_until(" |"),
            nom::bytes::complete::tag(" |"),
        ))
    };
    let (remaining, cells) = part().parse(input)?;
    let Some(cells) = cells else {
        return map(nom::combinator::rest, |cells| RowParts {
            cells,
            lengths: None,
            since: Vec::new(),
        })
        .parse(input);
    };
    let (remaining, lengths) = part().parse(remaining)?;
    if lengths.is_none() {
        return map(nom::combinator::rest, |lengths| RowParts {
            cells,
            lengths: Some(lengths),
            since: Vec::new(),
        })
        .parse(remaining);
    }
    let since = opt(preceded(peek(keyword("ptx")), since_alternatives));
    map(since, |since| RowParts {
        cells,
        lengths,
        since: since.unwrap_or_default(),
    })
    .parse(remaining)
}

fn row(line: &Line<'_>, table: &Table) -> Result<Row> {
    let parts = line.parse(row_parts)?;
    let cells: Vec<Cell> = parts
        .cells
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
    let mut lengths = Vec::new();
    for cell in parts.lengths.iter().flat_map(|l| l.split_whitespace()) {
        match cell.split('|').map(str::parse).collect() {
            Ok(numbers) => lengths.push(numbers),
            Err(_) => return line.error(format!("expected vector lengths, found {cell}")),
        }
    }
    if lengths.len() != table.operands.len() {
        return line.error(format!(
            "{} lengths under {} operands",
            lengths.len(),
            table.operands.len()
        ));
    }
    Ok(Row {
        pos: Pos::of(line.text),
        cells,
        lengths,
        since: parts.since,
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
