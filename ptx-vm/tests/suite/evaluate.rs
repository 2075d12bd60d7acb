//! The evaluation of single instructions (`ptx_semantics::evaluate`) against the machine, for every step of the kernels of the corpus.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::HashMap;
use std::sync::Mutex;

use ptx_ir::facts::ModuleFacts;
use ptx_ir::{FunctionKind, Module};
use ptx_semantics::{Place, evaluate};
use ptx_vm::{
    ExecutedStep, Machine, RegisterValues, RunOptions, StepObserver, StepRegister, StepState,
};

use crate::{files, observe};

/// Files up to this size are tested.
const MOST_BYTES: u64 = 60_000;
/// Steps of a launch.
const STEPS: u64 = 3000;

/// Compares the steps of a launch.
#[derive(Debug)]
struct Observer<'a> {
    facts: &'a ModuleFacts<'a>,
    counts: Mutex<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    evaluated: u64,
    guarded: u64,
    differences: Vec<String>,
}

/// The value of a register in a lane before a step. If it is read by several operands, the widest is the value.
fn before(step: &ExecutedStep<'_>, place: Place, lane: usize) -> Option<u128> {
    let register = match place {
        Place::Register(register) => StepRegister::Register(register),
        Place::Special(special, component) => {
            StepRegister::Special(special, component.unwrap_or(0))
        }
        _ => return None,
    };
    let reads = step.reads.iter().filter(|read| read.register() == register);
    let widest = reads.max_by_key(|read| read.ty().bits())?;
    Some(widest.bits(lane))
}

/// Whether the lowest bits of a result, as many as the machine shows, are those of the machine.
fn is_same(bits: u128, written: &RegisterValues, lane: usize) -> bool {
    let width = u32::from(written.ty().bits().clamp(1, 128));
    bits & (u128::MAX >> (128 - width)) == written.bits(lane)
}

impl StepObserver for Observer<'_> {
    fn step(&self, step: &ExecutedStep<'_>) {
        if step.state != StepState::Done {
            return;
        }
        let Some(function) = self.facts.function(step.place.function) else {
            return;
        };
        let facts = function.inst(step.place.inst);
        let mut counts = self.counts.lock().unwrap();
        for lane in (0..32).filter(|lane| step.lanes >> lane & 1 == 1) {
            let Some(results) = evaluate(&facts, |place| before(step, place, lane)) else {
                continue;
            };
            if step.place.active >> lane & 1 == 0 {
                counts.guarded += 1;
                assert_eq!(results.iter().count(), 0, "the guard is false");
                continue;
            }
            let values: HashMap<Place, u128> = results
                .iter()
                .filter_map(|(place, bits)| Some((place, bits?)))
                .collect();
            for written in step.writes {
                let StepRegister::Register(register) = written.register() else {
                    continue;
                };
                let Some(bits) = values.get(&Place::Register(register)) else {
                    continue;
                };
                counts.evaluated += 1;
                if !is_same(*bits, written, lane) {
                    let inst = function.body().inst(step.place.inst).unwrap();
                    let mnemonic = function.module().signature(inst.sig).text();
                    counts.differences.push(format!(
                        "{mnemonic}: {bits:#x} instead of {:#x}, reads {:x?}",
                        written.bits(lane),
                        step.reads
                            .iter()
                            .map(|read| read.bits(lane))
                            .collect::<Vec<_>>()
                    ));
                }
            }
        }
    }
}

fn run(module: &Module, counts: &mut Counts) {
    let facts = ModuleFacts::new(module);
    for (_, function, _) in module.definitions() {
        if function.kind != FunctionKind::Entry {
            continue;
        }
        let kernel = module.name(function.name);
        let mut machine = Machine::new(module);
        let shape = observe::Shape::new([1, 1, 1], [40, 1, 1]);
        let (mut launch, _) = observe::launch_of(&mut machine, module, kernel, 3, &shape);
        launch.limits.steps = STEPS;
        let observer = Observer {
            facts: &facts,
            counts: Mutex::default(),
        };
        // The steps until it failed count.
        let _ = machine.launch_with(&launch, RunOptions::default().with_observer(&observer));
        let launched = observer.counts.into_inner().unwrap();
        counts.evaluated += launched.evaluated;
        counts.guarded += launched.guarded;
        counts.differences.extend(launched.differences);
    }
}

#[test]
fn instructions_are_evaluated_as_the_machine_executes_them() {
    let mut counts = Counts::default();
    for entry in files::small(MOST_BYTES).into_iter().step_by(4) {
        run(&ptx_parse::parse(&entry.read()).module, &mut counts);
    }
    assert!(counts.differences.is_empty(), "{:#?}", counts.differences);
    assert!(
        counts.evaluated > 1_000_000 && counts.guarded > 20,
        "{} results, {} inactive lanes",
        counts.evaluated,
        counts.guarded
    );
}
