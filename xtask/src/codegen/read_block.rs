//! Reads the instruction blocks of a family file: headers, slots and forms.

use super::notation::{Block, Body, Family, Form, OperandUse, SlotDef, SlotUse, Within};
use super::read_statement::{floors, statement, table};
use super::source::{Cursor, Error, Line, Result, expand};

pub(crate) fn read(name: &str, lines: &[Line]) -> Result<Family> {
    let mut family = Family {
        name: name.to_string(),
        ..Family::default()
    };
    let mut i = 0;
    while i < lines.len() {
        let line = &lines[i];
        let mut c = Cursor::new(line);
        i += 1;
        if line.indent == 0 {
            match c.peek_word().as_str() {
                "define" => {
                    c.word("")?;
                    family.shared.push(slot_def(&mut c)?);
                    c.end()?;
                }
                "insn" => family.blocks.push(block_header(&mut c)?),
                _ => return c.expected("`insn` or `define`"),
            }
            continue;
        }
        let Some(block) = family.blocks.last_mut() else {
            return c.error("an indented line belongs to an `insn`, and none is open");
        };
        if c.rest().starts_with("since name ") {
            c.expect("since name")?;
            let (pos, name) = (c.pos(), c.word("a name of the instruction")?);
            let floors = floors(&mut c)?;
            c.end()?;
            block.name_floors.push((name, pos, floors));
            continue;
        }
        if c.peek_word() == "form" || c.rest().starts_with("ptxas form") {
            block.forms.push(form(&mut c)?);
            continue;
        }
        // Deeper than the block's own lines: it belongs to the form above.
        let body = match block.forms.last_mut() {
            Some(form) if line.indent >= 4 => &mut form.body,
            _ if line.indent >= 4 => {
                return c.error("a line this deep belongs to a `form`, and none is open");
            }
            _ => &mut block.body,
        };
        if c.peek_word() == "table" {
            let rows = lines[i..]
                .iter()
                .take_while(|l| l.indent > line.indent)
                .count();
            body.tables.push(table(&mut c, &lines[i..i + rows])?);
            i += rows;
        } else {
            statement(&mut c, body)?;
            c.end()?;
        }
    }
    Ok(family)
}

fn block_header(c: &mut Cursor) -> Result<Block> {
    let pos = c.pos();
    c.expect("insn")?;
    let mut names = Vec::new();
    while c.peek_char() != Some('"') {
        names.push(c.word("a name or a section in quotes")?);
    }
    let section = c.string("a section in quotes")?;
    let syntax_only = c.eat_word("syntax-only");
    c.end()?;
    Ok(Block {
        pos,
        names,
        section,
        syntax_only,
        name_floors: Vec::new(),
        forms: Vec::new(),
        body: Body::default(),
    })
}

/// The words of a slot's alternatives up to a keyword or the end.
pub(crate) fn slot_def(c: &mut Cursor) -> Result<SlotDef> {
    c.skip_blanks();
    let pos = c.pos();
    let name = c.word("a slot such as .type")?;
    c.expect("=")?;
    let mut alternatives = Vec::new();
    while c.peek_char() == Some('.') {
        let at = c.pos();
        let pattern = c.pattern("a modifier")?;
        let Some(words) = alternative(&pattern) else {
            return Err(Error {
                pos: at,
                message: format!("cannot read the alternative {pattern}"),
            });
        };
        for words in words {
            if alternatives.contains(&words) {
                return Err(Error {
                    pos: at,
                    message: format!("{} is listed twice", words.concat()),
                });
            }
            alternatives.push(words);
        }
    }
    if alternatives.is_empty() {
        return c.expected("a modifier");
    }
    let default = if c.eat_word("default") {
        Some(c.word("a modifier")?)
    } else {
        None
    };
    Ok(SlotDef {
        pos,
        name,
        alternatives,
        default,
    })
}

/// `.shared{::cta, ::cluster}`, `.m64n{8..256 step 8}k16`, `.global.shared::cta` or a plain word.
fn alternative(pattern: &str) -> Option<Vec<Vec<String>>> {
    if let Some((base, rest)) = pattern.split_once("{::") {
        let suffixes = rest.strip_suffix('}')?;
        let mut out = vec![split(base)];
        for suffix in format!("::{suffixes}").split(',') {
            out.push(split(&format!("{base}{}", suffix.trim())));
        }
        return Some(out);
    }
    Some(expand(pattern)?.iter().map(|word| split(word)).collect())
}

/// `.xorsign.abs` is two words.
pub(crate) fn split(words: &str) -> Vec<String> {
    words
        .split('.')
        .filter(|w| !w.is_empty())
        .map(|w| format!(".{w}"))
        .collect()
}

fn form(c: &mut Cursor) -> Result<Form> {
    let ptxas = c.eat_word("ptxas");
    let pos = c.pos();
    c.expect("form")?;
    let mut slots = Vec::new();
    c.skip_blanks();
    let text = c.rest().split_whitespace().collect::<Vec<_>>().join(" ");
    while c.rest().starts_with('.') || c.rest().starts_with("{.") {
        let at = c.pos();
        let optional = c.eat("{");
        let mut names = String::new();
        while let Some(ch) = c
            .rest()
            .chars()
            .next()
            .filter(|ch| ch.is_ascii_alphanumeric() || "._:".contains(*ch))
        {
            names.push(ch);
            c.eat(&ch.to_string());
            if c.rest().starts_with(' ') {
                break;
            }
        }
        let mut suffixes = Vec::new();
        if c.rest().starts_with("{::") {
            c.expect("{")?;
            while !c.eat("}") {
                suffixes.push(c.word("a suffix such as ::cta")?);
                c.eat(",");
            }
        }
        if optional {
            c.expect("}")?;
        }
        let mut words = split(&names);
        if words.is_empty() {
            return Err(Error {
                pos: at,
                message: "expected a modifier".into(),
            });
        }
        if optional && words.len() > 1 {
            // All or none: one slot with one alternative of several words.
            slots.push(SlotUse {
                pos: at,
                name: names,
                optional,
                suffixes,
            });
        } else {
            let last = words.len() - 1;
            for (i, name) in words.drain(..).enumerate() {
                let suffixes = if i == last {
                    std::mem::take(&mut suffixes)
                } else {
                    Vec::new()
                };
                slots.push(SlotUse {
                    pos: at.clone(),
                    name,
                    optional,
                    suffixes,
                });
            }
        }
    }
    let mut operands = Vec::new();
    let mut place = 0;
    operand_list(c, &mut operands, &mut place, false)?;
    c.end()?;
    Ok(Form {
        pos,
        text,
        slots,
        operands,
        ptxas,
        body: Body::default(),
    })
}

/// `d, [a, c]{, e}`: the commas separate places.
fn operand_list(
    c: &mut Cursor,
    out: &mut Vec<OperandUse>,
    place: &mut u8,
    optional: bool,
) -> Result<()> {
    if c.at_end() {
        return Ok(());
    }
    loop {
        // `{(ret),} func`: an optional first operand.
        if c.peek_char() == Some('{') && leading_optional(c.rest()) {
            c.expect("{")?;
            operand(c, out, *place, true)?;
            c.expect(",")?;
            c.expect("}")?;
            *place += 1;
            continue;
        }
        operand(c, out, *place, optional)?;
        *place += 1;
        loop {
            let mut ahead = c.clone();
            if ahead.eat("{") && ahead.eat(",") {
                *c = ahead;
                operand_list(c, out, place, true)?;
                c.expect("}")?;
            } else {
                break;
            }
        }
        if !c.eat(",") {
            return Ok(());
        }
    }
}

fn leading_optional(rest: &str) -> bool {
    rest.find('}')
        .is_some_and(|end| rest[..end].trim_end().ends_with(','))
}

fn operand(c: &mut Cursor, out: &mut Vec<OperandUse>, place: u8, optional: bool) -> Result<()> {
    let mut push = |c: &mut Cursor, within: Within, optional: bool| -> Result<()> {
        c.skip_blanks();
        let pos = c.pos();
        let name = c.word("the name of an operand")?;
        out.push(OperandUse {
            pos,
            name,
            place,
            within,
            optional,
        });
        Ok(())
    };
    if c.eat("[") || c.peek_char() == Some('{') {
        let bracket = !c.eat("{");
        let close = if bracket { "]" } else { "}" };
        let mut part = 0;
        loop {
            let within = if bracket {
                Within::Bracket(part)
            } else {
                Within::Vector(part)
            };
            push(c, within, optional)?;
            part += 1;
            while c.rest().trim_start().starts_with("{,") {
                c.expect("{")?;
                c.expect(",")?;
                push(
                    c,
                    if bracket {
                        Within::Bracket(part)
                    } else {
                        Within::Vector(part)
                    },
                    true,
                )?;
                part += 1;
                c.expect("}")?;
            }
            if !c.eat(",") {
                break;
            }
        }
        c.expect(close)?;
    } else if c.eat("(") {
        push(c, Within::Parentheses, optional)?;
        c.expect(")")?;
    } else {
        push(c, Within::Whole, optional)?;
    }
    if c.eat("{|") {
        push(c, Within::Pair, true)?;
        c.expect("}")?;
    } else if c.eat("|") {
        push(c, Within::Pair, optional)?;
    }
    Ok(())
}
