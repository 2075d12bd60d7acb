//! Random straight-line programs on a GPU and on `ptx-vm`: the bytes of all results are equal where the tables define them, and approximations
//! are as close as they state. Without a GPU these tests are ignored; the generator and the comparison are then tested with `ptx-vm` in both
//! places, and with defective devices. `PTXKIT_SEED=n` selects other programs.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests fail by panics"
)]

#[path = "../common/mod.rs"]
mod common;
mod compare;
mod error;
mod kernel;
mod program;
mod report;
mod tests;

use std::sync::{Arc, Mutex};

use compare::{Place, Tally};
use fastrand::Rng;
use libtest_mimic::{Arguments, Trial};
use program::Program;
use ptx_isa::{PtxVersion, Target};
use runner::{Abilities, Device};
use template::{Template, targets_of};
use test_support::instances::{assign, case, expected, operand, template, values};
use test_support::sample::seed;

/// Instructions of a program.
const STEPS: usize = 100;
/// In how many programs a GPU gets each template.
const ROUNDS: usize = 4;
/// The tests among which the programs of a GPU are divided.
const PARTS: usize = 16;

/// The instances of all forms whose results the tables compute from registers and constants.
fn templates(version: PtxVersion, target: Target, rng: &mut Rng) -> Vec<Template> {
    let legal = |case: &_| {
        let targets = targets_of(case, version);
        targets.contains(target).then(|| (version, vec![target]))
    };
    let mut all = template::all(&legal, rng);
    let place = Place { version, target };
    all.retain(|t| {
        // The generator does not know which parts of registers can be selected.
        let mut is_legal = || report::accepted(&Program::random(&[t], rng), place).is_ok();
        let selects = t.case.operands.iter().any(|o| o.lanes.is_some());
        t.form.computation().is_some() && (!selects || is_legal())
    });
    all
}

fn main() {
    let arguments = Arguments::from_args();
    let (gpu, abilities) = common::gpu().unzip();
    let mut trials = tests::trials();
    let rng = &mut Rng::with_seed(seed() + 1);
    let all = abilities.map(|a| templates(a.version, a.target, rng));
    let all = Arc::new(all.unwrap_or_default());
    let total = Arc::new(Mutex::new((0, Tally::default())));
    for part in 0..PARTS {
        let (gpu, all, total) = (gpu.clone(), all.clone(), total.clone());
        let ignored = gpu.is_none();
        let mut rng = rng.fork();
        let trial = Trial::test(format!("programs_{part}::gpu"), move || {
            let gpu = gpu.as_deref().ok_or("there is no GPU")?;
            let abilities = abilities.ok_or("there is no GPU")?;
            let own: Vec<&Template> = all.iter().skip(part).step_by(PARTS).collect();
            let tally = compare_on(gpu, abilities, &own, &mut rng)?;
            let mut total = total.lock().map_err(|e| e.to_string())?;
            total.0 += 1;
            total.1.add(tally);
            println!("{} of {PARTS} parts: {}", total.0, total.1);
            Ok(())
        });
        trials.push(trial.with_ignored_flag(ignored));
    }
    libtest_mimic::run(&arguments, trials).exit();
}

/// Compares programs that together have each template as often as there are rounds.
fn compare_on(
    device: &dyn Device,
    abilities: Abilities,
    templates: &[&Template],
    rng: &mut Rng,
) -> Result<Tally, String> {
    let mut order: Vec<&Template> = Vec::new();
    for _ in 0..ROUNDS {
        let mut all = templates.to_vec();
        rng.shuffle(&mut all);
        order.extend(all);
    }
    let place = Place {
        version: abilities.version,
        target: abilities.target,
    };
    let mut total = Tally::default();
    for templates in order.chunks(STEPS) {
        let program = Program::random(templates, rng);
        total.add(compare::compare(&program, place, device, rng)?);
    }
    Ok(total)
}
