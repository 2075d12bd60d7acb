//! `cargo oracle fold`: compares the constants that `ptx_semantics::fold` and ptxas compute.
//!
//! Instructions of all forms get constant operands, and their results are stored. A result that ptxas computes is a constant in the machine code,
//! which `nvdisasm` prints. Instructions that ptxas leaves to the GPU are counted, not compared.
//!
//! `ptx-vm` runs the same kernels, and must store the values that `fold` computes.

mod bugs;
mod disassembler;
mod kernel;
mod machine;
mod module;
mod places;
mod sass;
mod tally;

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use fastrand::Rng;
use ptx_isa::Target;
use rayon::prelude::*;
use test_support::instances::{assign, case, expected, template, values};

use crate::shared::Shared;
use disassembler::Disassembler;
use module::{Sample, SampleResults, Tools, judge};
use tally::Tally;
use template::Template;

/// Arguments of `cargo oracle fold`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The number of compared results
    #[arg(long, default_value_t = 100_000)]
    cases: usize,
    /// Print counts for each opcode
    #[arg(long)]
    list: bool,
}

/// The number of kernels of a module, each with a template.
const KERNELS: usize = 48;
/// The number of modules that are assembled before the results are counted.
const MODULES: usize = 8;
/// The greatest number of rounds, in each of which all templates get values.
const ROUNDS: usize = 400;

pub(crate) fn run(args: &Args, shared: &Shared) -> Result<()> {
    let Some(assemblers) = shared.assemblers("COMPARISON OF CONSTANTS")? else {
        return Ok(());
    };
    let Some(disassembler) = Disassembler::find(shared)? else {
        return Ok(());
    };
    let tools = Tools {
        assemblers,
        disassembler,
    };
    let mut rng = Rng::with_seed(shared.seed());
    let mut templates = template::all(&|case| places::places(assemblers, case), &mut rng);
    templates.retain(module::is_computed);
    println!(
        "{}: {} instructions",
        assemblers.describe(),
        templates.len()
    );
    let mut run = Run {
        tools,
        templates: &templates,
        tally: Tally::default(),
        refused: BTreeMap::new(),
        rng,
    };
    for round in 0..ROUNDS {
        if run.tally.compared() < args.cases {
            run.round(round, args.cases)?;
        }
    }
    run.report(args.list)
}

/// The state of a run.
struct Run<'a> {
    tools: Tools<'a>,
    templates: &'a [Template],
    tally: Tally,
    /// Templates that ptxas refuses, with the reason.
    refused: BTreeMap<usize, String>,
    rng: Rng,
}

impl Run<'_> {
    /// Runs all templates of which ptxas computes some result with new values, until enough results are compared.
    fn round(&mut self, round: usize, enough: usize) -> Result<()> {
        let mut groups: BTreeMap<_, Vec<Sample<'_>>> = BTreeMap::new();
        for (number, template) in self.templates.iter().enumerate() {
            if self.refused.contains_key(&number) || !self.tally.is_useful(number) {
                continue;
            }
            let target = self.rng.choice(&template.targets).copied();
            let key = (template.version, target.unwrap_or(Target::Sm90));
            groups.entry(key).or_default().push(Sample {
                number,
                template,
                seed: self.rng.u64(..),
                edges_only: round == 0,
            });
        }
        let mut modules = Vec::new();
        for (&(version, target), samples) in &mut groups {
            self.rng.shuffle(samples);
            modules.extend(
                samples
                    .chunks(KERNELS)
                    .map(|samples| (version, target, samples)),
            );
        }
        self.rng.shuffle(&mut modules);
        for chunk in modules.chunks(MODULES) {
            if self.tally.compared() >= enough {
                break;
            }
            let results: Vec<Vec<SampleResults<'_>>> = chunk
                .par_iter()
                .map(|&(version, target, samples)| judge(&self.tools, version, target, samples))
                .collect::<Result<_>>()?;
            for judged in results.into_iter().flatten() {
                self.count(judged);
            }
        }
        Ok(())
    }

    fn count(&mut self, judged: SampleResults<'_>) {
        let Sample {
            number, template, ..
        } = judged.sample;
        match judged.outcomes {
            Ok(outcomes) => {
                for outcome in outcomes {
                    self.tally.add(number, template, outcome);
                }
            }
            Err(reason) => {
                self.refused.insert(number, reason);
            }
        }
    }

    fn report(&self, list: bool) -> Result<()> {
        self.tally.print(list);
        for reason in self.refused.values() {
            println!("REFUSED {reason}");
        }
        let (compared, different) = (self.tally.compared(), self.tally.different());
        println!("{compared} results compared, {different} differ");
        if different > 0 {
            bail!("{different} constants differ from those of ptxas");
        }
        if compared == 0 {
            bail!("nothing was compared");
        }
        Ok(())
    }
}
