//! The format of `.test` files of the mixed-proxy model.

use super::condition::ConditionParser;
use super::{Formula, Litmus, LitmusError, Quantifier, Thread, error};
use crate::event::ThreadPlace;

pub(super) fn parse(text: &str) -> Result<Vec<Litmus>, LitmusError> {
    let text = without_comments(text);
    let Some((template, table)) = text.split_once("$$") else {
        return Ok(vec![parse_one(&text, String::new())?]);
    };
    let mut tests = Vec::new();
    for row in table.lines().filter(|row| !row.trim().is_empty()) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let mut text = template.to_owned();
        // `$10` has to be replaced before `$1`.
        for (number, cell) in cells.iter().enumerate().rev() {
            text = text.replace(&format!("${number}"), cell);
        }
        tests.push(parse_one(&text, format!(" [{}]", cells.join(" | ")))?);
    }
    Ok(tests)
}

fn without_comments(text: &str) -> String {
    let lines: Vec<&str> = text
        .lines()
        .map(|line| line.split("//").next().unwrap_or(""))
        .collect();
    lines.join("\n")
}

/// One test without `$`.
fn parse_one(text: &str, suffix: String) -> Result<Litmus, LitmusError> {
    let mut litmus = Litmus::new(suffix);
    let mut remaining = text;
    let mut condition = None;
    loop {
        let line = 1 + text
            .get(..text.len() - remaining.len())
            .unwrap_or("")
            .matches('\n')
            .count();
        let trimmed = remaining.trim_start();
        if trimmed.is_empty() {
            break;
        }
        let end = trimmed
            .find([';', '{'])
            .ok_or_else(|| error(line, "expected `;` or `{`"))?;
        let (head, others) = trimmed.split_at(end);
        if others.starts_with('{') {
            let Some((body, next)) = others.get(1..).and_then(|body| body.split_once('}')) else {
                return Err(error(line, "a `}` is missing"));
            };
            add_thread(&mut litmus, head.trim(), body, line)?;
            remaining = next;
        } else {
            add_statement(&mut litmus, head.trim(), line, &mut condition)?;
            remaining = others.get(1..).unwrap_or("");
        }
    }
    let Some((quantifier, formula, line)) = condition else {
        return Err(error(1, "a condition is missing"));
    };
    litmus.quantifier = quantifier;
    let find_register = |litmus: &Litmus, name: &str| {
        litmus
            .threads
            .iter()
            .enumerate()
            .find_map(|(number, thread)| {
                let register = thread
                    .registers
                    .iter()
                    .position(|(register, _)| register == name)?;
                Some((number, register))
            })
    };
    let formula: Formula =
        ConditionParser::new(&mut litmus, &formula, line, &find_register).parse()?;
    litmus.formula = formula;
    Ok(litmus)
}

/// A declaration or a condition.
fn add_statement(
    litmus: &mut Litmus,
    text: &str,
    line: usize,
    condition: &mut Option<(Quantifier, String, usize)>,
) -> Result<(), LitmusError> {
    let words: Vec<&str> = text.split_whitespace().collect();
    match words[..] {
        [".global", name] => {
            litmus.add_variable(name);
            Ok(())
        }
        [".global", name, "physically", "aliases", target] => {
            litmus.add_alias(name, target, false);
            Ok(())
        }
        [
            ".texref" | ".surfref" | ".constref" | ".const",
            name,
            "virtually",
            "aliases",
            target,
        ] => {
            litmus.add_alias(name, target, true);
            Ok(())
        }
        _ => {
            let (quantifier, formula) = if let Some(formula) = text.strip_prefix("assert") {
                (Quantifier::ForAll, formula)
            } else if let Some(formula) = text.strip_prefix("permit") {
                (Quantifier::Exists, formula)
            } else {
                return Err(error(line, format!("unknown statement `{text}`")));
            };
            let (formula, name) = formula.rsplit_once(" as ").unwrap_or((formula, ""));
            litmus.name = format!("{}{}", name.trim(), litmus.name);
            *condition = Some((quantifier, formula.to_owned(), line));
            Ok(())
        }
    }
}

/// A thread, such as `d0.b0.t0`.
fn add_thread(litmus: &mut Litmus, name: &str, body: &str, line: usize) -> Result<(), LitmusError> {
    let number = |prefix: char| {
        name.split('.')
            .find_map(|part| part.strip_prefix(prefix)?.parse::<u32>().ok())
            .ok_or_else(|| error(line, format!("`{name}` is not a thread")))
    };
    let (gpu, cta) = (number('d')?, number('b')?);
    let thread = litmus.threads.len();
    litmus.threads.push(Thread {
        name: name.to_owned(),
        place: ThreadPlace {
            cta,
            cluster: cta,
            gpu,
        },
        ..Thread::default()
    });
    for statement in body.split(';') {
        let (instruction, value) = match statement.split_once("==") {
            Some((instruction, value)) => (instruction, Some(value.trim())),
            None => (statement, None),
        };
        litmus.add_instruction(thread, instruction, line)?;
        let Some(value) = value else {
            continue;
        };
        let value = value
            .parse()
            .map_err(|_| error(line, format!("`{value}` is not a number")))?;
        let destination = litmus
            .threads
            .get(thread)
            .and_then(|thread| thread.instructions.last())
            .and_then(super::Instruction::destination);
        match destination {
            Some(register) => litmus.assumptions.push((thread, register, value)),
            None => return Err(error(line, "only a register can have a demanded value")),
        }
    }
    Ok(())
}
