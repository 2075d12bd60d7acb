//! An edited module runs as its text does, and errors and reports show instructions as they are now.
#![allow(clippy::unwrap_used, reason = "tests fail by panics")]

use std::path::Path;

use ptx_edit::EditModule as _;
use ptx_ir::{FunctionKind, Module};
use ptx_vm::{Checker, Launch, Machine, StopReason};
use test_support::edits::{EDITS, make};
use test_support::observe::{Shape, launch_of};

use crate::common::kernel;
use crate::files::entries;
use crate::observe::observe;
use test_support::sample::sample;

/// The text of a module, parsed.
fn printed(module: &Module) -> Module {
    ptx_parse::parse(&ptx_print::verbatim(module)).module
}

/// The names of the kernels.
fn kernels(module: &Module) -> Vec<&str> {
    module
        .definitions()
        .filter(|(_, f, _)| f.kind == FunctionKind::Entry)
        .map(|(_, f, _)| module.name(f.name))
        .collect()
}

/// The error and the reports of a checked launch, with the texts of the instructions.
fn messages(module: &Module, kernel: &str) -> Vec<String> {
    let mut machine = Machine::new(module);
    let shape = Shape::new([2, 1, 1], [64, 1, 1]);
    let (launch, _) = launch_of(&mut machine, module, kernel, 1, &shape);
    let mut launch = launch.check(Checker::Racecheck).check(Checker::Initcheck);
    launch.limits.steps = 5_000;
    let mut all = Vec::new();
    if let Err(error) = machine.launch(&launch) {
        all.push(format!("{}: {error}", error.instruction));
        let waits = error.waits.iter();
        all.extend(waits.map(|wait| format!("{}: {wait}", wait.instruction)));
    }
    let reports = machine.reports().iter();
    all.extend(reports.map(|report| {
        let other = report.other.as_ref().map(|(o, _)| o.instruction.clone());
        format!("{}: {} {other:?}", report.at.instruction, report.message)
    }));
    all
}

#[test]
fn edited_modules_run_as_their_text() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus");
    let mut rng = fastrand::Rng::with_seed(36);
    let (mut made, mut shown) = (0, 0);
    for entry in sample(12, 4).of(entries(&folder)) {
        let text = entry.read();
        if text.len() > 20_000 || ptx_parse::parse(&text).has_errors() {
            continue;
        }
        for (what, edit) in EDITS {
            let mut module = ptx_parse::parse(&text).module;
            if !make(&mut module, *edit, &mut rng) {
                continue;
            }
            made += 1;
            let printed = printed(&module);
            assert_eq!(kernels(&module).len(), kernels(&printed).len());
            for kernel in kernels(&printed).into_iter().take(2) {
                let place = format!("{}: {what}: {kernel}", entry.name);
                let (mut left, mut right) =
                    (observe(&module, kernel, 1), observe(&printed, kernel, 1));
                for seen in [&mut left, &mut right] {
                    seen.without_function_addresses();
                }
                assert_eq!(left, right, "{place}");
                let (left, right) = (messages(&module, kernel), messages(&printed, kernel));
                shown += left.len();
                assert_eq!(left, right, "{place}");
            }
        }
    }
    assert!(made > 50 && shown > 20, "{made} {shown}");
}

/// An inserted store to address 0, and one whose operand an edit replaced.
#[test]
fn errors_show_edited_instructions() {
    let text = kernel(
        "",
        "st.global.u32 [%mine], %r0;\nst.global.u32 [%mine], %r1;",
    );
    let mut module = ptx_parse::parse_str(&text).module;
    let k = module.function("k").unwrap();
    let mut editor = module.edit(k).unwrap();
    let last = editor.body().statements().next_back().unwrap().0;
    editor
        .insert_text_before(last, "st.global.u32 [%rd15], %r0;")
        .unwrap();
    let mut machine = Machine::new(&module);
    let data = machine.allocate(256).unwrap();
    let launch = Launch::new("k").argument(data.to_le_bytes());
    let error = machine.launch(&launch).unwrap_err();
    assert!(
        matches!(error.reason, StopReason::OutOfBounds(_)),
        "{error:?}"
    );
    assert_eq!(error.instruction, "st.global.u32 [%rd15], %r0;");
    assert!(error.span.is_some_and(ptx_ir::Span::is_empty), "{error:?}");
}
