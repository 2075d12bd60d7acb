//! The format of `.litmus` files.

use super::condition::ConditionParser;
use super::liveness::target;
use super::{Instruction, Litmus, LitmusError, Quantifier, Thread, error};

/// A part of the text with the number of its first line.
struct Part<'a> {
    text: &'a str,
    line: usize,
}

pub(super) fn parse(text: &str) -> Result<Litmus, LitmusError> {
    let name = text
        .lines()
        .next()
        .unwrap_or_default()
        .trim()
        .trim_start_matches("PTX")
        .trim();
    let mut litmus = Litmus::new(name.to_owned());
    let (declarations, code, condition) = split(text)?;
    let mut lines = code.text.split(';');
    let header = lines.next().unwrap_or_default();
    for column in header.split('|') {
        litmus.threads.push(thread(column, code.line)?);
    }
    for (offset, declaration) in with_lines(declarations.text, ';') {
        add_declaration(&mut litmus, declaration.trim(), declarations.line + offset)?;
    }
    let first = code.line + header.matches('\n').count();
    let mut branches: Vec<(usize, String, usize)> = Vec::new();
    for (offset, row) in with_lines(code.text.get(header.len() + 1..).unwrap_or(""), ';') {
        let line = first + offset;
        for (number, cell) in row.split('|').enumerate() {
            if number >= litmus.threads.len() {
                return Err(error(line, "there are more columns than threads"));
            }
            litmus.add_instruction(number, cell, line)?;
            let thread = litmus.threads.get(number);
            if let Some(Instruction::Branch(label) | Instruction::BranchIf(_, _, label)) =
                thread.and_then(|thread| thread.instructions.last())
            {
                branches.push((number, label.clone(), line));
            }
        }
    }
    for (number, label, line) in branches {
        let thread = litmus.threads.get(number);
        if thread.is_none_or(|thread| target(thread, &label).is_none()) {
            return Err(error(line, format!("there is no label `{label}`")));
        }
    }
    add_condition(&mut litmus, &condition)?;
    Ok(litmus)
}

/// The parts of a text between separators, with the numbers of line ends before their first character.
fn with_lines(text: &str, separator: char) -> impl Iterator<Item = (usize, &str)> {
    let mut line = 0;
    text.split(separator).map(move |part| {
        let indent = part.len() - part.trim_start().len();
        let first = line + part.get(..indent).unwrap_or("").matches('\n').count();
        line += part.matches('\n').count();
        (first, part)
    })
}

/// The declarations, the code and the condition.
fn split(text: &str) -> Result<(Part<'_>, Part<'_>, Part<'_>), LitmusError> {
    let mut is_quoted = false;
    let mut open = None;
    let mut close = None;
    for (index, c) in text.char_indices() {
        match c {
            '"' => is_quoted = !is_quoted,
            '{' if !is_quoted && open.is_none() => open = Some(index + 1),
            '}' if !is_quoted && open.is_some() && close.is_none() => close = Some(index),
            _ => {}
        }
    }
    let (Some(open), Some(close)) = (open, close) else {
        return Err(error(1, "the declarations in braces are missing"));
    };
    let line = |index: usize| 1 + text.get(..index).unwrap_or("").matches('\n').count();
    let code = text.get(close + 1..).unwrap_or("");
    // The code ends with the last semicolon.
    let Some(end) = code.rfind(';') else {
        return Err(error(line(close), "there are no instructions"));
    };
    let condition = code.get(end + 1..).unwrap_or("");
    Ok((
        Part {
            text: text.get(open..close).unwrap_or(""),
            line: line(open),
        },
        Part {
            text: code.get(..end).unwrap_or(""),
            line: line(close + 1),
        },
        Part {
            text: condition,
            line: line(close + 1 + end + 1),
        },
    ))
}

/// A thread from the head of a column, such as `P0@cta 0,gpu 0`.
fn thread(text: &str, line: usize) -> Result<Thread, LitmusError> {
    let text = text.trim();
    let (name, place) = text
        .split_once('@')
        .ok_or_else(|| error(line, format!("`{text}` is not a thread with a place")))?;
    let mut thread = Thread {
        name: name.trim().to_owned(),
        ..Thread::default()
    };
    let mut cluster = None;
    for part in place.split(',') {
        let mut words = part.split_whitespace();
        let (Some(level), Some(number)) = (words.next(), words.next()) else {
            return Err(error(line, "expected a level and a number"));
        };
        let number = number
            .parse()
            .map_err(|_| error(line, format!("`{number}` is not a number")))?;
        match level {
            "cta" => thread.place.cta = number,
            "cluster" => cluster = Some(number),
            "gpu" => thread.place.gpu = number,
            "sys" => {}
            _ => return Err(error(line, format!("unknown level `{level}`"))),
        }
    }
    // Without clusters, each CTA is one.
    thread.place.cluster = cluster.unwrap_or(thread.place.cta);
    Ok(thread)
}

/// A declaration: an initial value of a variable or register, or an alias.
fn add_declaration(litmus: &mut Litmus, text: &str, line: usize) -> Result<(), LitmusError> {
    if text.is_empty() {
        return Ok(());
    }
    if let Some((name, alias)) = text.split_once('@') {
        let words: Vec<&str> = alias.split_whitespace().collect();
        let [proxy, "aliases", target] = words[..] else {
            return Err(error(line, "expected `NAME @ PROXY aliases NAME`"));
        };
        litmus.add_alias(name.trim(), target, proxy != "generic");
        return Ok(());
    }
    let (name, value) = text.split_once('=').unwrap_or((text, "0"));
    let value = value
        .trim()
        .parse()
        .map_err(|_| error(line, format!("`{}` is not a number", value.trim())))?;
    match name.split_once(':') {
        Some((thread, register)) => {
            let thread = litmus
                .threads
                .iter_mut()
                .find(|candidate| candidate.name == thread.trim());
            if let Some(thread) = thread {
                let register = thread.add_register(register.trim());
                if let Some(slot) = thread.registers.get_mut(register) {
                    slot.1 = value;
                }
            }
        }
        None => {
            let variable = litmus.add_variable(name.trim());
            if let Some(variable) = litmus.variables.get_mut(variable) {
                variable.initial = value;
            }
        }
    }
    Ok(())
}

fn add_condition(litmus: &mut Litmus, part: &Part<'_>) -> Result<(), LitmusError> {
    let text = part.text.trim();
    let (quantifier, text) = [
        ("~exists", Quantifier::NotExists),
        ("exists", Quantifier::Exists),
        ("forall", Quantifier::ForAll),
    ]
    .into_iter()
    .find_map(|(word, quantifier)| Some((quantifier, text.strip_prefix(word)?)))
    .ok_or_else(|| error(part.line, "expected `exists`, `~exists` or `forall`"))?;
    litmus.quantifier = quantifier;
    litmus.formula = ConditionParser::new(litmus, text, part.line, &|_, _| None).parse()?;
    Ok(())
}
