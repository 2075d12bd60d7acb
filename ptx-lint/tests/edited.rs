//! An edited or built module is linted as its text is.
#![allow(clippy::unwrap_used, reason = "tests")]

use ptx_edit::EditModule as _;
use ptx_ir::facts::ModuleFacts;
use ptx_ir::{Module, Operand};
use ptx_lint::{Certainty, Finding, LintOptions, LintSession, lint};
use test_support::edits::check_edited_files;

fn options() -> LintOptions {
    let mut options = LintOptions::default();
    options.certainty = Certainty::Possible;
    options
}

fn findings(module: &Module) -> Vec<Finding> {
    lint(&ModuleFacts::new(module), &options())
}

/// The findings without their places, in order.
fn messages(module: &Module, findings: &[Finding]) -> Vec<String> {
    let mut messages: Vec<String> = findings
        .iter()
        .map(|finding| {
            let function = module.name(module.functions()[finding.function].name);
            let diagnostic = &finding.diagnostic;
            let repeats = diagnostic.repeats.len();
            let labels: Vec<&str> = diagnostic.labels.iter().map(|l| &*l.message).collect();
            format!(
                "{function}: {} {:?} {repeats} {labels:?}",
                diagnostic.message, finding.certainty
            )
        })
        .collect();
    messages.sort();
    messages
}

/// Checks that a module has the findings of its text, and no span or fix of another text.
#[track_caller]
fn check(module: &Module, place: &str) {
    let found = findings(module);
    let printed = ptx_parse::parse(&ptx_print::verbatim(module)).module;
    let expected = findings(&printed);
    assert_eq!(
        messages(module, &found),
        messages(&printed, &expected),
        "{place}"
    );
    let end = module.source().len() as u32;
    for finding in &found {
        let diagnostic = &finding.diagnostic;
        assert!(
            diagnostic.span.end <= end && diagnostic.fix.is_empty(),
            "{place}: {diagnostic:?}"
        );
    }
    let mut session = LintSession::new(options());
    session.parsed(module);
    while !session.advance(
        module,
        &mut ptx_analysis::incremental::EvaluationLimit::new(u64::MAX),
    ) {}
    let in_session: Vec<Finding> = session.findings().cloned().collect();
    assert_eq!(
        messages(module, &in_session),
        messages(&printed, &expected),
        "{place}"
    );
}

#[test]
fn edited_modules_are_linted_as_their_text() {
    // The borders of inline assembly are comments, and a moved statement may get to either side of them.
    let is_tested = |text: &[u8], edit: &str| {
        let has_assembly = text.windows(10).any(|window| window == b"inline asm");
        !(has_assembly && edit == "move a statement")
    };
    check_edited_files(is_tested, check);
}

/// Functions are inlined into kernels as they are now: a barrier that an edit inserted into a callee is found in the context of its kernel.
#[test]
fn inlined_functions_are_those_after_the_edit() {
    let text = "\
.version 8.0
.target sm_80
.address_size 64
.func helper(.reg .b32 %a)
{
\t.reg .pred %p;
\tsetp.ne.s32 %p, %a, 0;
\t@%p bra L;
L:
\tret;
}
.visible .entry k()
{
\t.reg .b32 %r<2>;
\tmov.u32 %r0, %tid.x;
\tcall helper, (%r0);
\tret;
}
";
    let mut module = ptx_parse::parse_str(text).module;
    assert!(!format!("{:?}", findings(&module)).contains("barrier"));
    let helper = module.function("helper").unwrap();
    let mut editor = module.edit(helper).unwrap();
    let branch = editor.body().statements().nth(2).unwrap().0;
    let barrier = editor.inst("bar.sync", &[Operand::Small(0)]).unwrap();
    editor.insert_after(branch, barrier).unwrap();
    let found = format!("{:?}", findings(&module));
    assert!(found.contains("BarrierDivergence"), "{found}");
    check(&module, "a barrier in a callee");
}

/// A function whose end is missing has no findings: what is cut off may read a register.
#[test]
fn a_function_without_its_end_is_not_linted() {
    let text = ".version 8.0\n.target sm_80\n.address_size 64\n.entry k()\n{\n    .reg .b32 a;\n    mov.u32 a, %tid.x;\n    ret;\n}\n";
    for (text, count) in [
        (text, 1),
        (text.strip_suffix("    ret;\n}\n").unwrap_or(text), 0),
    ] {
        let module = ptx_parse::parse_str(text).module;
        let findings = ptx_lint::lint(&ModuleFacts::new(&module), &LintOptions::default());
        assert_eq!(findings.len(), count, "{text}");
    }
}
