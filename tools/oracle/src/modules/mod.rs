//! `cargo oracle modules`: random modules derived from `tools/conformance/grammar.txt`, most of them with one or two unusual constructs, checked
//! by the verifier and by ptxas.

mod grammar;
mod operand;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Result, bail};
use fastrand::Rng;
use rayon::prelude::*;

use crate::assembler::Assemblers;
use crate::limit;
use crate::outcome::{Outcome, Tally, judge};
use crate::regressions::file_texts;
use crate::shared::Shared;
use grammar::{Derivation, Grammar};
use operand::Instructions;

/// Arguments of `cargo oracle modules`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The number of modules
    #[arg(long, default_value_t = 20_000)]
    pub(crate) count: u64,
    /// Only modules whose unusual constructs include this text
    #[arg(long, value_name = "TEXT")]
    pub(crate) only: Option<String>,
    /// Print the modules on which the verifier and ptxas disagree
    #[arg(long)]
    pub(crate) list: bool,
}

/// The highest percentage of modules on which the verifier and ptxas may disagree.
const DISAGREEMENTS: f64 = 0.5;

pub(crate) fn run(args: &Args, shared: &Shared) -> Result<()> {
    let Some(assemblers) = shared.assemblers("RANDOM MODULES")? else {
        return Ok(());
    };
    println!("{}", assemblers.describe());
    let text = text()?;
    let grammar = Grammar::parse(&text)?;
    let instructions = Instructions::read()?;
    let compared: Vec<Option<Compared>> = (0..args.count)
        .into_par_iter()
        .map(|i| {
            let mut rng = Rng::with_seed(shared.seed().wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ i);
            let module = derive(&grammar, &instructions, &mut rng)?;
            if let Some(only) = &args.only
                && !module.unusual.iter().any(|u| u.contains(only))
            {
                return Ok(None);
            }
            compare(assemblers, module, args.list)
        })
        .collect::<Result<_>>()?;
    let compared: Vec<Compared> = compared.into_iter().flatten().collect();
    report(&compared).or_else(|error| {
        let different = compared
            .iter()
            .filter(|c| c.outcome.accepted_by_verifier != c.outcome.accepted_by_ptxas);
        file_texts(shared, "module", different.map(|c| c.text.as_bytes())).and(Err(error))
    })
}

fn text() -> Result<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../conformance");
    Ok(fs::read_to_string(folder.join("grammar.txt"))?)
}

/// A random module. Half of the modules contain one instruction of the tables with an unusual operand.
fn derive(grammar: &Grammar<'_>, instructions: &Instructions, rng: &mut Rng) -> Result<Derivation> {
    if rng.bool() {
        return instructions.derive(grammar, rng);
    }
    let unusual = match rng.u8(..20) {
        0 => 0,
        1..=11 => 1,
        _ => 2,
    };
    grammar.derive("module", unusual, rng)
}

/// A module with its verdicts.
struct Compared {
    /// The rule of the first unusual construct.
    rule: String,
    text: String,
    outcome: Outcome,
}

/// The verdicts on a module; `None` where ptxas crashes.
fn compare(assemblers: &Assemblers, module: Derivation, list: bool) -> Result<Option<Compared>> {
    let outcome = judge(assemblers, module.text.as_bytes())?;
    if outcome.crashed {
        return Ok(None);
    }
    if list && outcome.accepted_by_verifier != outcome.accepted_by_ptxas {
        let kind = if outcome.accepted_by_verifier {
            "accept"
        } else {
            "reject"
        };
        println!(
            "== false {kind}: {}\n-- {}\n{}",
            module.unusual.join("; "),
            outcome.reason,
            module.text
        );
    }
    let rule = module
        .unusual
        .first()
        .and_then(|u| u.split_once(':'))
        .map_or("usual", |(rule, _)| rule);
    Ok(Some(Compared {
        rule: rule.to_owned(),
        text: module.text,
        outcome,
    }))
}

fn row(name: &str, t: &Tally) {
    println!(
        "{name:<28}{:>9}{:>9}{:>15}{:>15}",
        t.accepted, t.refused, t.false_accepts, t.false_rejects
    );
}

fn report(compared: &[Compared]) -> Result<()> {
    let (mut rules, mut total) = (BTreeMap::<String, Tally>::new(), Tally::default());
    for module in compared {
        rules
            .entry(module.rule.clone())
            .or_default()
            .add(&module.outcome);
        total.add(&module.outcome);
    }
    println!(
        "{:<28}{:>9}{:>9}{:>15}{:>15}",
        "rule", "accepted", "refused", "false accepts", "false rejects"
    );
    for (rule, tally) in rules.iter().filter(|(_, t)| t.wrong() > 0) {
        row(rule, tally);
    }
    row("all", &total);
    let (all, wrong) = (total.all(), total.wrong());
    let percent = 100.0 - 100.0 * wrong as f64 / all.max(1) as f64;
    println!("{all} modules: agreement {percent:.2} %");
    if limit::exceeds(wrong, all, DISAGREEMENTS) {
        bail!("more than {DISAGREEMENTS} % disagreements");
    }
    Ok(())
}
