//! Evaluation by ptxas: each expression initializes a variable on a separate line, so that messages identify the refused ones; values are
//! read from the cubin.

use anyhow::{Context as _, Result, bail};
use object::{Object as _, ObjectSection as _, ObjectSymbol as _};

use rayon::prelude::*;

use crate::assembler::{Assemblers, Job};

/// The value as eight bytes, or the error message.
pub(crate) type Answer = Result<u64, String>;

/// The number of expressions in one text.
const BATCH: usize = 100;

/// Asks for the values of expressions as variables of type `ty`.
pub(crate) fn ask(assemblers: &Assemblers, ty: &str, texts: &[String]) -> Result<Vec<Answer>> {
    let answers: Vec<Vec<Answer>> = texts
        .par_chunks(BATCH)
        .map(|texts| batch(assemblers, ty, texts))
        .collect::<Result<_>>()?;
    Ok(answers.into_iter().flatten().collect())
}

/// The message for an expression that crashes ptxas.
pub(crate) const CRASH: &str = "it crashes";

fn batch(assemblers: &Assemblers, ty: &str, texts: &[String]) -> Result<Vec<Answer>> {
    let mut answers: Vec<Answer> = vec![Ok(0); texts.len()];
    let mut lines: Vec<usize> = (0..texts.len()).collect();
    refusals(assemblers, ty, texts, &lines, &mut answers)?;
    lines.retain(|&i| answers[i].is_ok());
    let verdict = assemblers.run(module(ty, texts, &lines).as_bytes(), Job::Code)?;
    if !verdict.accepted {
        bail!(
            "accepted one by one, refused together: {}",
            verdict.reason()
        );
    }
    for i in lines {
        answers[i] = Ok(value(&verdict.cubin, i)?);
    }
    Ok(answers)
}

/// Finds the expressions that are refused.
fn refusals(
    assemblers: &Assemblers,
    ty: &str,
    texts: &[String],
    lines: &[usize],
    answers: &mut [Answer],
) -> Result<()> {
    let mut lines = lines;
    while !lines.is_empty() {
        let verdict = assemblers.run(module(ty, texts, lines).as_bytes(), Job::Check)?;
        if verdict.accepted {
            return Ok(());
        }
        let messages: Vec<Message<'_>> =
            verdict.output.lines().filter_map(Message::parse).collect();
        if messages.is_empty() {
            if let &[expression] = lines {
                answers[expression] = Err(CRASH.to_owned());
                return Ok(());
            }
            let (first, second) = lines.split_at(lines.len() / 2);
            refusals(assemblers, ty, texts, first, answers)?;
            return refusals(assemblers, ty, texts, second, answers);
        }
        // A fatal message hides the errors that follow it: the remaining lines are checked again.
        let mut checked = lines.len();
        for Message {
            line,
            is_fatal,
            text,
        } in messages
        {
            let index = line
                .checked_sub(HEADER.lines().count() + 1)
                .filter(|&index| index < lines.len())
                .with_context(|| format!("a message on another line: {text}"))?;
            answers[lines[index]] = Err(text.to_owned());
            if is_fatal {
                checked = index + 1;
            }
        }
        lines = &lines[checked..];
    }
    Ok(())
}

const HEADER: &str = ".version 8.0\n.target sm_90\n.address_size 64\n";

fn module(ty: &str, texts: &[String], lines: &[usize]) -> String {
    let mut module = HEADER.to_owned();
    for &i in lines {
        // The second element keeps variables that are zero in the data.
        let text = &texts[i];
        module += &format!(".visible .global .align 8 {ty} x{i}[2] = {{ {text}, 1 }};\n");
    }
    module + ".visible .entry k() { ret; }\n"
}

/// An error message of ptxas.
struct Message<'o> {
    line: usize,
    is_fatal: bool,
    text: &'o str,
}

impl<'o> Message<'o> {
    fn parse(output_line: &'o str) -> Option<Self> {
        let (_, location) = output_line.split_once(", line ")?;
        let (number, message) = location.split_once(';')?;
        let (severity, text) = message.split_once(':')?;
        let is_fatal = match severity.trim() {
            "fatal" => true,
            "error" => false,
            _ => return None,
        };
        Some(Self {
            line: number.parse().ok()?,
            is_fatal,
            text: text.trim(),
        })
    }
}

fn value(cubin: &[u8], index: usize) -> Result<u64> {
    let file = object::File::parse(cubin)?;
    let name = format!("x{index}");
    let symbol = file
        .symbol_by_name(&name)
        .with_context(|| format!("no symbol {name}"))?;
    let section = symbol
        .section_index()
        .context("a symbol without a section")?;
    let section = file.section_by_index(section)?;
    let offset = (symbol.address() - section.address()) as usize;
    let bytes = section
        .data()?
        .get(offset..offset + 8)
        .context("a symbol outside its section")?;
    Ok(u64::from_le_bytes(bytes.try_into()?))
}
