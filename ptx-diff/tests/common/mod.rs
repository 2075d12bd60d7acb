//! Runs functions to see whether they do the same.

use ptx_ir::Module;
use ptx_ir::facts::ModuleFacts;
use ptx_machine::{End, Machine, Trace};

const STEPS: usize = 300;

fn run(module: &Module, name: &str, seed: u64) -> Trace {
    let facts = ModuleFacts::of(module, |id| {
        module.name(module.functions()[id].name) == name
    });
    let id = module.function(name).unwrap();
    Machine::new(facts.function(id).unwrap(), id, seed).run(STEPS)
}

/// Whether both functions have the same effects, as far as they are followed.
pub(crate) fn agree(left: &Module, right: &Module, name: &str, seed: u64) -> bool {
    let (a, b) = (run(left, name, seed), run(right, name, seed));
    let mut effects = a.effects.iter().zip(&b.effects);
    let limited = [&a, &b].iter().any(|t| t.end == End::StepLimit);
    let whole = a.end == b.end && a.effects.len() == b.effects.len();
    effects.all(|(x, y)| x.0 == y.0) && (limited || whole)
}
