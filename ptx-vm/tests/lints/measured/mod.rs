//! What lints say of the addresses of accesses against what warps access when kernels run.

mod claims;
mod observer;
mod tally;

use std::collections::BTreeSet;

use ptx_analysis::calls::CallGraph;
use ptx_analysis::values::LaunchBounds;
use ptx_ir::facts::ModuleFacts;
use ptx_ir::{FuncId, FunctionKind, Module};
use ptx_vm::{Machine, RunOptions, StopReason};

pub(crate) use claims::LINTS;
use observer::Observer;
pub(crate) use tally::Measured;

use crate::FIXED;
use crate::launches::{SEEDS, Shape, launch_of};

/// Shapes of launches with whole warps in the first dimension, as lints take for granted, and where the pointers that kernels get are in a line of memory.
const SHAPES: [([u32; 3], u64); 5] = [
    ([64, 1, 1], 0),
    ([128, 2, 1], 16),
    ([32, 4, 2], 0),
    ([256, 1, 1], 48),
    ([512, 1, 1], 0),
];

/// Runs the kernels of a module that come to a definite finding about addresses, with a limit of steps for each warp of a CTA, and compares.
pub(crate) fn check(module: &Module, name: &str, steps: u64) -> Measured {
    let facts = ModuleFacts::new(module);
    let claims = claims::claims(&facts);
    if claims.is_empty() {
        return Measured::default();
    }
    let calls = CallGraph::new(&facts);
    let observer = Observer::new(claims);
    for (id, function, _) in module.definitions() {
        let is_kernel = function.kind == FunctionKind::Entry;
        let reached: BTreeSet<FuncId> = calls.reachable([id]).into_iter().chain([id]).collect();
        if is_kernel && observer.is_about(&reached) {
            run(&facts, (name, id), &observer, steps, &reached);
        }
    }
    observer.finish(name)
}

/// Runs a kernel in all shapes.
fn run(
    facts: &ModuleFacts<'_>,
    (name, kernel): (&str, FuncId),
    observer: &Observer,
    steps: u64,
    reached: &BTreeSet<FuncId>,
) {
    let module = facts.module();
    let most = facts
        .function(kernel)
        .map_or(1024, |of| LaunchBounds::of(of).most);
    let Some(header) = module.functions().get(kernel) else {
        return;
    };
    let kernel = module.name(header.name);
    for (nth, (block, offset)) in (0..).zip(SHAPES) {
        // Small numbers first, then any.
        let seed = nth % 4 * SEEDS + nth;
        let mut machine = Machine::new(module);
        let fixed = FIXED.iter().find(|(part, _)| name.contains(part));
        let block = fixed.map_or(block, |(_, fixed)| *fixed);
        let block = match block.iter().product::<u32>() > most {
            true => [most, 1, 1],
            false => block,
        };
        let shape = Shape::new([2, 1, 1], block).with_offset(offset);
        let (mut launch, _) = launch_of(&mut machine, module, kernel, seed, &shape);
        launch.limits.steps = steps * u64::from(launch.block.iter().product::<u32>().div_ceil(32));
        launch.schedule = (nth > 0).then_some(ptx_vm::Schedule::Seed(nth));
        observer.begin(&format!("{name}: {kernel} with {block:?} threads"));
        let options = RunOptions::default().with_observer(observer);
        let stopped = machine.launch_with(&launch, options).err();
        observer.end(stopped.as_ref().map(|error| reason(&error.reason)), reached);
    }
}

/// Why a run ended.
fn reason(of: &StopReason) -> &'static str {
    match of {
        StopReason::OutOfBounds(_) => "the arguments of the test lead out of memory before",
        StopReason::StepLimit => "the run is too long",
        StopReason::Unsupported(_) | StopReason::Undefined(_) => {
            "something is not supported, or has no body, before"
        }
        StopReason::Launch(_) => "the kernel cannot be launched with the shapes of the test",
        _ => "the kernel fails before with the arguments of the test",
    }
}
