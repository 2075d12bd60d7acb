//! Launches of kernels with arguments that fit most of them.

use std::sync::Mutex;

use ptx_ir::{FunctionKind, Module};
use ptx_vm::{ExecutedStep, Launch, Machine, RunOptions, StepObserver};

use super::checked::Checked;
use super::function::functions;
use super::threads::Threads;

/// The size of a launch.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Shape {
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
}

/// Bytes of the memory of each argument.
pub(crate) const BUFFER: u64 = 8 << 20;

/// Shows the steps of a launch to what is known of the threads.
#[derive(Debug)]
struct Observer<'a>(Mutex<Threads<'a>>);

impl StepObserver for Observer<'_> {
    fn step(&self, step: &ExecutedStep<'_>) {
        self.0.lock().unwrap().step(step);
    }
}

/// Runs all kernels of a module in several shapes.
pub(crate) fn run_all(
    name: &str,
    module: &Module,
    shapes: &[Shape],
    steps: u64,
    checked: &mut Checked,
) {
    let known = functions(module);
    for (id, function, _) in module.definitions() {
        if function.kind != FunctionKind::Entry {
            continue;
        }
        let kernel = module.name(function.name);
        let params = function.interface.params.of(module.params());
        let required = known.get(&id).and_then(|f| f.values.bounds().threads);
        for (seed, shape) in (1u64..).zip(shapes) {
            let mut machine = Machine::new(module);
            let start = machine.allocate(BUFFER * 18).unwrap().next_multiple_of(256);
            let mut launch = Launch::new(kernel);
            (launch.grid, launch.block) = (shape.grid, required.unwrap_or(shape.block));
            launch.shared = 16 << 10;
            launch.limits.steps = steps;
            let mut pointers = 0;
            for param in params {
                let size = param
                    .layout(module.pool())
                    .and_then(|l| l.size)
                    .unwrap_or(0);
                let mut bytes = Vec::new();
                while bytes.len() as u64 + 8 <= size {
                    pointers += 1;
                    let at = start + (1 + pointers % 16) * BUFFER;
                    let words: Vec<u8> = (0..1024u32)
                        .flat_map(|n| (n.wrapping_mul(2_654_435_761) >> 26).to_le_bytes())
                        .collect();
                    machine.write(at, &words).unwrap();
                    bytes.extend(at.to_le_bytes());
                }
                let number = 1 + (seed * 7 + bytes.len() as u64 + pointers * 5) % 37;
                let left = (size as usize - bytes.len()).min(8);
                bytes.extend(&number.to_le_bytes()[..left]);
                launch = launch.argument(bytes);
            }
            let mut threads = Threads::new(format!("{name}: {kernel} {shape:?}"), module, &known);
            (threads.block, threads.buffers) = (launch.block, start);
            let observer = Observer(Mutex::new(threads));
            let options = RunOptions::default().with_observer(&observer);
            // What it did until it failed counts.
            let is_complete = machine.launch_with(&launch, options).is_ok();
            checked.launches += 1;
            checked.add(observer.0.into_inner().unwrap().finish(is_complete));
        }
    }
}
