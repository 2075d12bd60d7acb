//! Runs the programs of `corpus/src/programs` and compares with what the CPU computed: `corpus/README.md` describes the files.
//! `PTXKIT_PROGRAMS` names another folder with programs.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests fail by panics"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};
use ptx_vm::{Checker, Checks, Machine};
use test_support::programs::machine::Checked;
use test_support::programs::{case, compare, list, run};

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let own = std::env::var_os("PTXKIT_PROGRAMS").map(PathBuf::from);
    let mut trials = Vec::new();
    for program in list::programs(own) {
        let list::Program {
            title,
            steps,
            module,
        } = program;
        for (title, checks) in [
            (format!("{title}::checked"), checkers(&title)),
            (title, Checks::NONE),
        ] {
            let (text, module) = (steps.clone(), module.clone());
            let check = move || Ok(check(&text, &module, checks)?);
            trials.push(Trial::test(title, check));
        }
    }
    trials.push(Trial::test("differences_are_found", || {
        Ok(differences_are_found()?)
    }));
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// Programs that have what a checker finds, and how the test is called: paths of a forest are shortened by ordinary stores, whatever the order;
/// threads that merge lists read the element that follows theirs, also where there is none, and do not use it; Triton converts pairs of numbers where
/// there is one, and stores only the half of the result that has a value.
const FOUND: [(&str, Checker); 3] = [
    ("graphs", Checker::Racecheck),
    ("device_merge", Checker::Initcheck),
    ("existing_triton_narrow", Checker::Initcheck),
];

/// The checkers that find nothing in a program.
fn checkers(title: &str) -> Checks {
    let found = |c: &Checker| {
        let mut all = FOUND.iter();
        all.any(|(name, checker)| title.starts_with(name) && checker == c)
    };
    Checker::ALL.into_iter().filter(|c| !found(c)).collect()
}

/// Runs the steps of a program with the kernels of a file.
fn check(text: &str, module: &Path, checks: Checks) -> Result<(), String> {
    let module = fs::read(module).map_err(|e| e.to_string())?;
    let parsed = ptx_parse::parse(&module);
    if let Some(error) = parsed.diagnostics.first() {
        return Err(error.message.to_string());
    }
    let machine = Machine::new(&parsed.module);
    run::run(text, &mut Checked::new(machine, checks))?;
    Ok(())
}

/// A result that differs from the expected one by more than allowed is reported.
fn differences_are_found() -> Result<(), String> {
    use case::{Allowed, Type};
    let check = |a: f32, b: f32, allowed| {
        compare::compare(&a.to_le_bytes(), &b.to_le_bytes(), Type::F32, allowed).is_ok()
    };
    let next = f32::from_bits(1.0f32.to_bits() + 1);
    let cases = [
        (check(1.0, 1.0, Allowed::Exact), true),
        (check(1.0, next, Allowed::Exact), false),
        (check(next, 1.0, Allowed::Ulps(1)), true),
        (check(-0.0, f32::from_bits(3), Allowed::Ulps(2)), false),
        (check(100.0, 101.0, Allowed::Relative(0.005)), false),
        (check(100.0, 101.0, Allowed::Absolute(1.0)), true),
        (check(f32::NAN, 1.0, Allowed::Absolute(1.0)), false),
    ];
    match cases.iter().position(|(found, expected)| found != expected) {
        Some(n) => Err(format!("comparison {n}")),
        None => Ok(()),
    }
}
