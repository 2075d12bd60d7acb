//! Kernels with asynchronous copies: what `ptx_analysis::asynchrony` calls definite happens when `ptx-vm` runs them, and the kernels without a
//! violation have no report.
//!
//! The kernels are those of the file tests of the lint `async-copy-wait`, whose parameters are buffers and numbers of iterations.
#![allow(clippy::unwrap_used, reason = "tests fail by panics")]

use std::fs;
use std::path::Path;

use ptx_analysis::asynchrony::{Certainty, Rule};
use ptx_analysis::function_analysis::FunctionAnalysis;
use ptx_analysis::values::LaunchBounds;
use ptx_ir::facts::ModuleFacts;
use ptx_ir::{FuncId, Statement};
use ptx_vm::{Checker, Launch, Machine, StopReason};

const THREADS: u32 = 128;
const BYTES: u64 = 1 << 16;

/// The line of an offset.
fn line(text: &str, offset: u32) -> usize {
    text[..offset as usize].matches('\n').count() + 1
}

/// The number of threads that run a kernel: those of `.reqntid`, else one if nothing depends on the thread.
fn threads(facts: &ModuleFacts<'_>, id: FuncId, name: &str, text: &str) -> u32 {
    let bounds = LaunchBounds::of(facts.function(id).unwrap());
    if let Some(threads) = bounds.threads {
        return threads.iter().product();
    }
    let start = text.find(&format!(" {name}(")).unwrap();
    let end = text[start..].find("\n}").unwrap() + start;
    match text[start..end].contains("%tid") {
        true => THREADS,
        false => 1,
    }
}

/// The lines of the reports of a launch, and why it ended early.
fn run(facts: &ModuleFacts<'_>, id: FuncId, text: &str) -> (Vec<usize>, Option<StopReason>) {
    let module = facts.module();
    let mut machine = Machine::new(module);
    let function = module.functions().get(id).unwrap();
    let name = module.name(function.name);
    let threads = threads(facts, id, name, text);
    let mut launch = Launch::new(name).shape(1, threads);
    let checkers = [Checker::Synccheck, Checker::Racecheck];
    launch.checks = checkers.into_iter().collect();
    launch.limits.steps = 200_000;
    for param in function.interface.params.of(module.params()) {
        let size = param.layout(module.pool()).and_then(|layout| layout.size);
        let argument = match size.unwrap() {
            4 => 4u32.to_le_bytes().to_vec(),
            8 => {
                let at = machine.allocate(BYTES).unwrap();
                machine.write(at, &vec![0; BYTES as usize]).unwrap();
                at.to_le_bytes().to_vec()
            }
            size => vec![0; size as usize],
        };
        launch = launch.argument(argument);
    }
    let stopped = machine.launch(&launch).err().map(|error| error.reason);
    let spans = machine.reports().iter().flat_map(|report| {
        let other = report.other.as_ref().and_then(|(at, _)| at.span);
        report.at.span.into_iter().chain(other)
    });
    (spans.map(|span| line(text, span.start)).collect(), stopped)
}

/// The lines of what breaks a protocol for copies, and whether that is definite.
fn expected(facts: &ModuleFacts<'_>, id: FuncId, text: &str) -> Vec<(usize, Rule, Certainty)> {
    let of = facts.function(id).unwrap();
    let body = of.body();
    let found = FunctionAnalysis::new(of).violations().to_vec().into_iter();
    found
        .map(|violation| {
            let mut statements = body.statements();
            let stmt = statements.find(|(_, s)| *s == Statement::Inst(violation.inst));
            let span = body.source_span(stmt.unwrap().0);
            (line(text, span.start), violation.rule, violation.certainty)
        })
        .collect()
}

#[test]
fn definite_violations_happen_and_correct_kernels_have_no_reports() {
    let folder =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../ptx-lint/tests/lints/async-copy-wait");
    let (mut faulty, mut correct, mut wrong) = (0, 0, Vec::new());
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        let module = ptx_parse::parse_str(&text).module;
        let facts = ModuleFacts::new(&module);
        for (id, function, _) in module.definitions() {
            let name = module.name(function.name);
            let expected = expected(&facts, id, &text);
            let (lines, stopped) = run(&facts, id, &text);
            // Kernels with tensor maps do not run, because their arguments are zero.
            if let Some(StopReason::Unsupported(_)) = stopped {
                continue;
            }
            if matches!(&stopped, Some(StopReason::Invalid(why)) if why.contains("tensor map")) {
                continue;
            }
            let definite = expected
                .iter()
                .filter(|(_, _, c)| *c == Certainty::Definite);
            let missing: Vec<_> = definite
                .filter(|(line, _, _)| !lines.contains(line))
                .collect();
            if stopped.is_none() && !missing.is_empty() {
                wrong.push(format!("{name}: {missing:?} did not happen: {lines:?}"));
            }
            if expected.is_empty() && !(lines.is_empty() && stopped.is_none()) {
                wrong.push(format!("{name}: reports in {lines:?}, {stopped:?}"));
            }
            match expected.is_empty() {
                true => correct += 1,
                false => faulty += 1,
            }
        }
    }
    println!("{faulty} faulty and {correct} correct kernels ran");
    assert_eq!(wrong, Vec::<String>::new());
    assert!(faulty >= 20 && correct >= 20, "{faulty}, {correct}");
}
