//! Runs the kernels of `corpus/src/tensors` and compares with results that slow code computes from definitions: products of warpgroups, copies of parts
//! of tensors, tensor memory, clusters, multimem addresses, and launches from kernels. Each program runs in all orders and at all times of asynchronous operations.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests fail by panics"
)]

mod cells;
mod clusters;
mod copies;
mod dense;
mod extremes;
mod formats;
mod host;
mod maps;
mod matrix;
mod nested;
mod scaled;
mod triton;
mod warpgroups;

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use host::{Host, Mode};
use libtest_mimic::{Arguments, Trial};
use ptx_vm::Machine;

/// A program: a file of `corpus/compiled/tensors` and what to do with its kernels.
struct Program {
    name: &'static str,
    module: &'static str,
    run: fn(&mut Host<'_>) -> Result<(), String>,
}

/// A program of a file.
macro_rules! program {
    ($module:ident, $name:ident) => {
        $crate::Program {
            name: stringify!($name),
            module: stringify!($module),
            run: $name,
        }
    };
}
use program;

const FAMILIES: [&[Program]; 10] = [
    warpgroups::PROGRAMS,
    copies::PROGRAMS,
    maps::PROGRAMS,
    dense::PROGRAMS,
    scaled::PROGRAMS,
    cells::PROGRAMS,
    clusters::PROGRAMS,
    extremes::PROGRAMS,
    nested::PROGRAMS,
    triton::PROGRAMS,
];

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let mut trials = Vec::new();
    for program in FAMILIES.into_iter().flatten() {
        for (mode_name, mode) in Mode::all() {
            let title = format!("{}::{}::{mode_name}", program.module, program.name);
            trials.push(Trial::test(title, move || Ok(run(program, mode)?)));
        }
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn run(program: &Program, mode: Mode) -> Result<(), String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus/compiled/tensors");
    let file = folder.join(program.module).with_extension("ptx");
    let text = fs::read(file).map_err(|error| error.to_string())?;
    let parsed = ptx_parse::parse(&text);
    if let Some(error) = parsed.diagnostics.first() {
        return Err(error.message.to_string());
    }
    let mut host = Host::new(Machine::new(&parsed.module), mode);
    (program.run)(&mut host)
}
