//! `cargo oracle constants`: random constant expressions, evaluated by ptxas and by `ptx_ir::raw::read_expression`. Both have to accept the same ones
//! and agree on every bit.

mod expression;
mod judge;

use std::collections::BTreeSet;

use anyhow::{Result, bail};
use fastrand::Rng;
use ptx_ir::ConstKind;
use ptx_ir::raw::read_expression;

use crate::assembler::Assemblers;
use crate::shared::Shared;
use expression::Expr;
use judge::Answer;

/// Arguments of `cargo oracle constants`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The number of expressions
    #[arg(long, default_value_t = 3000)]
    pub(crate) count: usize,
    /// Evaluate only these expressions, and print both values
    #[arg(long, value_name = "EXPRESSION", allow_hyphen_values = true)]
    pub(crate) show: Vec<String>,
}

/// The greatest number of disagreements that are reduced to small expressions.
const REDUCED: usize = 200;

/// A type of variables.
#[derive(Clone, Copy)]
struct VariableType {
    name: &'static str,
    /// Whether floating-point initializers are legal.
    allows_float: bool,
}

const TYPES: [VariableType; 3] = [
    VariableType {
        name: ".b64",
        allows_float: true,
    },
    VariableType {
        name: ".s64",
        allows_float: false,
    },
    VariableType {
        name: ".u64",
        allows_float: false,
    },
];

pub(crate) fn run(args: &Args, shared: &Shared) -> Result<()> {
    let Some(assemblers) = shared.assemblers("CONSTANT EXPRESSIONS")? else {
        return Ok(());
    };
    println!("{}", assemblers.describe());
    if !args.show.is_empty() {
        return show(args, assemblers);
    }
    let mut rng = Rng::with_seed(shared.seed());
    let expressions: Vec<Expr> = (0..args.count)
        .map(|i| expression::random(&mut rng, 1 + (i % 5) as u32))
        .collect();
    let texts: Vec<String> = expressions.iter().map(Expr::text).collect();
    let (mut passed, mut failed) = (0, 0);
    for ty in TYPES {
        let answers = judge::ask(assemblers, ty.name, &texts)?;
        let refused = answers.iter().filter(|a| a.is_err()).count();
        let wrong: Vec<&Expr> = (expressions.iter().zip(&texts).zip(&answers))
            .filter(|((_, text), answer)| !agree(ty, text, answer))
            .map(|((expression, _), _)| expression)
            .collect();
        println!(
            "{}: {} expressions, ptxas refuses {refused}",
            ty.name,
            texts.len()
        );
        passed += texts.len() - wrong.len();
        failed += wrong.len();
        report(assemblers, ty, &wrong)?;
    }
    println!("{passed} passed, {failed} failed");
    if failed > 0 {
        bail!("{failed} expressions have different values");
    }
    Ok(())
}

/// The value that the library computes, or its error.
fn ours(text: &str, ty: VariableType) -> Answer {
    let expression = read_expression(text.as_bytes(), 0, 10_000);
    let value = expression
        .value
        .map_err(|(error, _)| format!("{error:?}"))?;
    if expression.end != text.len() {
        return Err(format!("ends before `{}`", &text[expression.end..]));
    }
    let is_float = matches!(value.kind(), ConstKind::Double | ConstKind::Single);
    // The variable, not the expression, disallows floats.
    if is_float && !ty.allows_float {
        Err("a float".to_owned())
    } else {
        Ok(value.bits())
    }
}

fn agree(ty: VariableType, text: &str, answer: &Answer) -> bool {
    match (ours(text, ty), answer) {
        (Ok(ours), Ok(theirs)) => ours == *theirs,
        (Err(_), Err(_)) => true,
        (_, Err(message)) => message == judge::CRASH,
        _ => false,
    }
}

fn words(answer: &Answer) -> String {
    match answer {
        Ok(bits) => format!("{bits:#x}"),
        Err(message) => format!("refused ({message})"),
    }
}

/// Reduces disagreements to minimal expressions and prints one of each shape.
fn report(assemblers: &Assemblers, ty: VariableType, wrong: &[&Expr]) -> Result<()> {
    let mut smallest: Vec<String> = Vec::new();
    let mut current: Vec<Expr> = wrong.iter().take(REDUCED).map(|e| (*e).clone()).collect();
    while !current.is_empty() {
        let candidates: Vec<Vec<Expr>> = current.iter().map(Expr::smaller).collect();
        let texts: Vec<String> = candidates.iter().flatten().map(Expr::text).collect();
        let mut answers = judge::ask(assemblers, ty.name, &texts)?.into_iter();
        let mut next = Vec::new();
        for (expression, candidates) in current.iter().zip(candidates) {
            let count = candidates.len();
            // All answers on these candidates are consumed, although the first disagreement is sufficient.
            let candidate_answers: Vec<Answer> = answers.by_ref().take(count).collect();
            let disagreement = candidates
                .into_iter()
                .zip(candidate_answers)
                .find(|(candidate, answer)| !agree(ty, &candidate.text(), answer));
            match disagreement {
                Some((smaller, _)) => next.push(smaller),
                None => smallest.push(expression.text()),
            }
        }
        current = next;
    }
    let texts = one_of_each_shape(smallest);
    for (text, answer) in texts.iter().zip(judge::ask(assemblers, ty.name, &texts)?) {
        println!("  DIFFERENT {}", comparison(ty, text, &answer));
    }
    Ok(())
}

/// The shortest text of each shape. Texts have one shape if they differ only in literals.
fn one_of_each_shape(mut texts: Vec<String>) -> Vec<String> {
    texts.sort_by_key(|t| (t.len(), t.clone()));
    let mut shapes = BTreeSet::new();
    texts.retain(|text| {
        let mut shape = text.replace(|c: char| c.is_ascii_alphanumeric() || c == '.', "0");
        shape.retain(|c| c != ' ');
        while shape.contains("00") {
            shape = shape.replace("00", "0");
        }
        shapes.insert(shape)
    });
    texts
}

fn show(args: &Args, assemblers: &Assemblers) -> Result<()> {
    for ty in TYPES {
        let answers = judge::ask(assemblers, ty.name, &args.show)?;
        for (text, answer) in args.show.iter().zip(answers) {
            println!("{}", comparison(ty, text, &answer));
        }
    }
    Ok(())
}

/// Both values of an expression, as a line.
fn comparison(ty: VariableType, text: &str, answer: &Answer) -> String {
    let (ours, theirs) = (words(&ours(text, ty)), words(answer));
    format!("{} `{text}`: ptxas {theirs}, ptx-ir {ours}", ty.name)
}
