//! Reads what is said of a block or a form: operands, rules, effects, tables.

use super::condition::{self, Cond};
use super::notation::{
    Body, Cell, Effect, Floor, Length, OperandDef, Row, Rule, RuleKind, Size, Table, TypeExpr,
};
use super::read_block::slot_def;
use super::source::{Cursor, Line, Result};
use super::vocabulary::one_of;

const ROLES: &[&str] = &[
    "def", "use", "both", "addr", "imm", "label", "func", "symbol", "args", "rets", "table", "sreg",
];
/// Marks without an argument.
const MARKS: &[&str] = &[
    "sink",
    "sink-only",
    "not",
    "neg",
    "reg",
    "widen",
    "lanes",
    "unified",
    "pair",
    "tmem",
    "mbarrier",
    "tensormap",
    "descriptor",
    "multimem",
    "texture",
    "sampler",
    "surface",
    "braced",
    "tied",
    "longer",
    "parts",
    "bare",
    "halves",
    "bytes",
    "indexed",
    "lax",
    "exact",
    "plain",
    "long",
    "long-generic",
    "fraction",
    "layer",
];
const RULE_WORDS: &[&str] = &[
    "require",
    "deny",
    "together",
    "since",
    "until",
    "deprecated",
    "effect",
    "note",
    "differs",
    "table",
    "same",
    "at-most-one",
    "limit",
    "default",
    "ptxas",
];

pub(crate) fn statement(c: &mut Cursor, body: &mut Body) -> Result<()> {
    let word = c.peek_word();
    if word.starts_with('.') {
        body.slots.push(slot_def(c)?);
        return Ok(());
    }
    let pos = c.pos();
    let ptxas = c.eat_word("ptxas");
    let word = c.peek_word();
    if !RULE_WORDS.contains(&word.as_str()) {
        if ptxas {
            return c.expected("a rule after `ptxas`");
        }
        body.operands.push(operand_def(c)?);
        return Ok(());
    }
    c.word("")?;
    let mut rule = |kind| {
        body.rules.push(Rule {
            pos: pos.clone(),
            ptxas,
            kind,
        })
    };
    match word.as_str() {
        "require" => {
            let first = condition::read(c)?;
            let kind = if c.eat("=>") {
                RuleKind::Require(Some(first), condition::read(c)?)
            } else {
                RuleKind::Require(None, first)
            };
            rule(kind);
        }
        "deny" => rule(RuleKind::Deny(condition::read(c)?)),
        "together" => {
            let mut slots = Vec::new();
            while !c.at_end() {
                slots.push(condition::atom(c)?);
            }
            for i in 0..slots.len() {
                let next = slots[(i + 1) % slots.len()].clone();
                rule(RuleKind::Require(Some(slots[i].clone()), next));
            }
        }
        "since" | "until" => loop {
            let when = if c.peek_word() == "ptx" {
                None
            } else {
                Some(condition::tokens_or(c)?)
            };
            let floors = floors(c)?;
            rule(if word == "since" {
                RuleKind::Since(when, floors)
            } else {
                RuleKind::Until(when, floors)
            });
            if !c.eat(";") {
                break;
            }
        },
        "deprecated" => {
            let when = if c.peek_word() == "ptx" {
                None
            } else {
                Some(condition::tokens_or(c)?)
            };
            let floors = floors(c)?;
            let instead = c.string("what to write instead, in quotes")?;
            rule(RuleKind::Deprecated(when, floors, instead));
        }
        "default" => {
            let slot = c.word("a slot")?;
            let token = c.word("a modifier")?;
            if !c.eat_word("if") {
                return c.expected("`if`");
            }
            rule(RuleKind::Default(slot, token, condition::read(c)?));
        }
        "at-most-one" => {
            let mut names = Vec::new();
            while !c.at_end() {
                names.push(c.word("an operand")?);
            }
            match names.pop() {
                Some(mark) => rule(RuleKind::AtMostOne(names, mark)),
                None => return c.expected("operands and a mark"),
            }
        }
        "limit" => {
            let low = c.word("an operand")?;
            let high = c.word("an operand")?;
            rule(RuleKind::Limit(low, high));
        }
        "same" => {
            let slot = c.word("a slot")?;
            let warning = c.eat_word("warning");
            rule(RuleKind::Same(slot, warning));
        }
        "effect" => loop {
            let pos = c.pos();
            let mut words = Vec::new();
            while !c.at_end() && c.peek_char() != Some(';') && c.peek_word() != "if" {
                words.push(c.word("an effect")?);
            }
            let when = if c.eat_word("if") {
                Some(condition::read(c)?)
            } else {
                None
            };
            body.effects.push(Effect { pos, words, when });
            if !c.eat(";") {
                break;
            }
        },
        "note" => body.notes.push(c.string("a note in quotes")?),
        "differs" => body.differences.push(c.string("a reason in quotes")?),
        _ => return c.expected("a statement"),
    }
    Ok(())
}

/// `ptx 8.6 sm_100a or ptx 8.8 sm_100f+`
pub(crate) fn floors(c: &mut Cursor) -> Result<Vec<Floor>> {
    let mut floors = vec![floor(c)?];
    while c.eat_word("or") {
        floors.push(floor(c)?);
    }
    Ok(floors)
}

/// `ptx 8.6 sm_90 sm_100f+`
fn floor(c: &mut Cursor) -> Result<Floor> {
    c.skip_blanks();
    let pos = c.pos();
    if !c.eat_word("ptx") {
        return c.expected("`ptx` and a version");
    }
    let version = c.version()?;
    let mut targets = Vec::new();
    while c.peek_word().starts_with("sm_") {
        c.skip_blanks();
        let pos = c.pos();
        targets.push((c.word("a target")?, pos));
    }
    Ok(Floor {
        pos,
        version,
        targets,
    })
}

fn operand_def(c: &mut Cursor) -> Result<OperandDef> {
    let pos = c.pos();
    let bracketed = c.eat("[");
    let name = c.word("the name of an operand or a keyword")?;
    if bracketed {
        c.expect("]")?;
    }
    let role = one_of(c, ROLES)?;
    let mut def = OperandDef {
        pos,
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
    while !c.at_end() {
        if c.peek_char() == Some('.') {
            def.ty = TypeExpr::Plain(c.word("a type")?);
            continue;
        }
        let word = c.peek_word();
        if MARKS.contains(&word.as_str()) {
            def.marks.push(c.word("")?);
            continue;
        }
        match word.as_str() {
            "bits" | "wide" | "hold" => {
                c.word("")?;
                let of = c.word("a type or a slot")?;
                def.ty = match word.as_str() {
                    "bits" => TypeExpr::Bits(of),
                    "wide" => TypeExpr::Wide(of),
                    _ => TypeExpr::Reg(of),
                };
            }
            "vec" => {
                c.word("")?;
                def.length = length(c)?;
            }
            "range" => {
                c.word("")?;
                def.range = Some(range(c)?);
            }
            "read" | "write" | "update" | "atomic" => def.access = Some(c.word("")?),
            "space" => {
                c.word("")?;
                c.expect("=")?;
                loop {
                    def.spaces
                        .push(c.word("a state space, a slot or `generic`")?);
                    if !c.eat("|") {
                        break;
                    }
                }
            }
            "align" => {
                c.word("")?;
                def.align = c.number("a number of bytes")?;
            }
            "size" => {
                c.word("")?;
                def.size = if c.peek_char().is_some_and(|c| c.is_ascii_digit()) {
                    Size::Fixed(c.number("a number of bytes")?)
                } else {
                    Size::Like(c.word("an operand")?)
                };
            }
            "by" => {
                c.word("")?;
                def.size = Size::Value(c.word("an operand")?);
            }
            "iff" => {
                c.word("")?;
                def.iff = Some(condition::read(c)?);
            }
            _ => {
                return c.expected(
                    "a type, a mark, `vec`, `range`, an access, `space`, `align`, `size`, `by` or `iff`",
                );
            }
        }
    }
    Ok(def)
}

/// `0..15`, `24..256 step 8`, `1..16 pow2` or one value.
fn range(c: &mut Cursor) -> Result<(i64, i64, i64)> {
    let mut ahead = c.clone();
    let word = ahead.word("a range such as 0..15")?;
    let (low, high) = word.split_once("..").unwrap_or((&word, &word));
    let (Ok(low), Ok(high)) = (low.parse(), high.parse()) else {
        return c.expected("a range such as 0..15");
    };
    *c = ahead;
    let step = if c.eat_word("step") {
        c.number("a step")?
    } else if c.eat_word("pow2") {
        0
    } else {
        1
    };
    Ok((low, high, step))
}

/// `4`, `.vec` or `{ .1d 1, .2d 2; .tile::gather4 5 }`, of which a later group overrides an earlier one.
fn length(c: &mut Cursor) -> Result<Length> {
    if c.peek_char() == Some('.') {
        return Ok(Length::Slot(c.word("a slot")?));
    }
    if c.eat_word("share") {
        return Ok(Length::Share(c.word("a slot")?));
    }
    if !c.eat("{") {
        return Ok(Length::Fixed(c.number("a number of elements")?));
    }
    let mut groups: Vec<Vec<(Cond, u16)>> = vec![Vec::new()];
    loop {
        let when = condition::tokens_or(c)?;
        let count = c.number("a number of elements")?;
        if let Some(group) = groups.last_mut() {
            group.push((when, count));
        }
        if c.eat(";") {
            groups.push(Vec::new());
        } else if !c.eat(",") {
            break;
        }
    }
    c.expect("}")?;
    Ok(Length::Cases(groups.into_iter().rev().flatten().collect()))
}

/// Cells are two blanks or more apart; `|` separates slots, lengths and floors.
pub(crate) fn table(c: &mut Cursor, rows: &[Line]) -> Result<Table> {
    let pos = c.pos();
    c.expect("table")?;
    let header: Vec<&str> = c.rest().split(" |").collect();
    let mut table = Table {
        pos,
        columns: header
            .first()
            .into_iter()
            .flat_map(|h| h.split_whitespace())
            .map(str::to_string)
            .collect(),
        operands: header
            .get(1)
            .into_iter()
            .flat_map(|h| h.split_whitespace())
            .map(str::to_string)
            .collect(),
        rows: Vec::new(),
    };
    for line in rows {
        let mut at = Cursor::new(line);
        let pos = at.pos();
        let text = at.rest().to_string();
        let parts: Vec<&str> = text.split(" |").collect();
        let cells: Vec<Cell> = parts
            .first()
            .into_iter()
            .flat_map(|p| p.split("  "))
            .map(str::trim)
            .filter(|cell| !cell.is_empty())
            .map(|cell| match cell {
                "*" => Cell::Any,
                "-" => Cell::Absent,
                _ if cell.starts_with('=') => Cell::Same(cell[1..].to_string()),
                _ => Cell::Words(cell.split_whitespace().map(str::to_string).collect()),
            })
            .collect();
        if cells.len() != table.columns.len() {
            return at.error(format!(
                "{} cells under {} columns",
                cells.len(),
                table.columns.len()
            ));
        }
        let mut lengths = Vec::new();
        for cell in parts.get(1).into_iter().flat_map(|p| p.split_whitespace()) {
            let numbers: std::result::Result<Vec<u16>, _> =
                cell.split('|').map(str::parse).collect();
            match numbers {
                Ok(numbers) => lengths.push(numbers),
                Err(_) => return at.error(format!("expected vector lengths, found {cell}")),
            }
        }
        if lengths.len() != table.operands.len() {
            return at.error(format!(
                "{} lengths under {} operands",
                lengths.len(),
                table.operands.len()
            ));
        }
        let floors = match parts.get(2) {
            Some(part) if !part.trim().is_empty() => {
                let start = text.len() - part.len();
                at.eat(&text[..start]);
                let floors = floors(&mut at)?;
                at.end()?;
                floors
            }
            _ => Vec::new(),
        };
        table.rows.push(Row {
            pos,
            cells,
            lengths,
            floors,
        });
    }
    Ok(table)
}
