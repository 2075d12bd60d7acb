//! Suggestions that convert a value, or complete an instruction, instead of naming another register.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests fail by panics"
)]

use ptx_ir::{Applicability, Diagnostic, Severity, apply_fix};
use ptx_verify::Options;

fn errors(text: &str) -> Vec<Diagnostic> {
    let parsed = ptx_parse::parse(text.as_bytes());
    let mut found = parsed.diagnostics;
    found.extend(ptx_verify::verify(&parsed.module, &Options::default()));
    found.retain(|d| d.severity == Severity::Error);
    found
}

fn kernel(statement: &str) -> String {
    format!(
        "\
.version 8.8
.target sm_90a
.address_size 64
.entry k(.param .u64 p)
{{
	.reg .pred %p<4>;
	.reg .b16 %h<4>;
	.reg .b32 %r<8>;
	.reg .f32 %f<4>;
	.reg .f64 %d<4>;
	.reg .b64 %a<8>;
	.shared .align 8 .b8 bar[8];
	mov.u64 %a1, 0;
	{statement}
	ret;
}}
"
    )
}

/// The statement with a block around it in which a register holds a converted value.
fn block(ty: &str, first: &str, second: &str) -> String {
    format!("{{\n\t.reg {ty} %converted;\n\t{first}\n\t{second}\n\t}}")
}

/// The only error of a statement, and the statement after its fix, which is a suggestion after which no error is left.
fn suggested(statement: &str) -> String {
    let text = kernel(statement);
    let found = errors(&text);
    let [error] = &found[..] else {
        panic!("{statement}: {found:?}");
    };
    let fixed = apply_fix(text.as_bytes(), error).expect(statement);
    let fixed = String::from_utf8(fixed.text).unwrap();
    assert_eq!(
        error.applicability,
        Applicability::MaybeIncorrect,
        "{statement}"
    );
    assert_eq!(errors(&fixed), [], "{fixed}");
    let start = text.find(statement).unwrap();
    let end = text.len() - start - statement.len();
    fixed[start..fixed.len() - end].to_owned()
}

#[test]
fn a_missing_conversion_is_suggested() {
    let converted = "%converted";
    let around = |ty: &str, conversion: &str, value: &str, statement: &str| {
        let conversion = format!("{conversion} {converted}, {value};");
        block(ty, &conversion, &statement.replace('_', converted))
    };
    let cases = [
        // A source of another width, kind or sign.
        (
            "sub.s64 %a2, %a1, %r1;",
            around(".s64", "cvt.s64.s32", "%r1", "sub.s64 %a2, %a1, _;"),
        ),
        (
            "xor.b64 %a2, %a1, %r1;",
            around(".b64", "cvt.u64.u32", "%r1", "xor.b64 %a2, %a1, _;"),
        ),
        (
            "@%p1 max.u32 %r2, %r1, %h1;",
            around(".u32", "cvt.u32.u16", "%h1", "@%p1 max.u32 %r2, %r1, _;"),
        ),
        (
            "mul.f64 %d2, %d1, %f1;",
            around(".f64", "cvt.f64.f32", "%f1", "mul.f64 %d2, %d1, _;"),
        ),
        (
            "sub.f32 %f2, %f1, %d1;",
            around(".f32", "cvt.rn.f32.f64", "%d1", "sub.f32 %f2, %f1, _;"),
        ),
        (
            "min.s32 %r2, %r1, %f1;",
            around(".s32", "cvt.rzi.s32.f32", "%f1", "min.s32 %r2, %r1, _;"),
        ),
        (
            "multimem.red.release.gpu.global.add.u32 [%r1+4], 1;",
            around(
                ".b64",
                "cvt.u64.u32",
                "%r1",
                "multimem.red.release.gpu.global.add.u32 [_+4], 1;",
            ),
        ),
        // A predicate as a number, and a number as a predicate.
        (
            "sub.u32 %r2, %r1, %p1;",
            block(
                ".u32",
                "selp.u32 %converted, 1, 0, %p1;",
                "sub.u32 %r2, %r1, %converted;",
            ),
        ),
        (
            "xor.pred %p2, %p1, %r1;",
            block(
                ".pred",
                "setp.ne.u32 %converted, %r1, 0;",
                "xor.pred %p2, %p1, %converted;",
            ),
        ),
        // A result.
        (
            "shr.u32 %a2, %r1, 2;",
            block(
                ".u32",
                "shr.u32 %converted, %r1, 2;",
                "cvt.u64.u32 %a2, %converted;",
            ),
        ),
    ];
    for (wrong, right) in cases {
        assert_eq!(suggested(wrong), right, "{wrong}");
    }
}

#[test]
fn an_instruction_for_the_operands_is_suggested() {
    let cases = [
        ("mul.lo.u64 %a2, %r1, 12;", "mul.wide.u32 %a2, %r1, 12;"),
        ("mul.lo.s32 %r2, %h1, %h2;", "mul.wide.s16 %r2, %h1, %h2;"),
        (
            "mad.lo.s64 %a2, %r1, %r2, %a1;",
            "mad.wide.s32 %a2, %r1, %r2, %a1;",
        ),
        ("mov.u64 %a2, %r1;", "cvt.u64.u32 %a2, %r1;"),
        ("mov.s32 %h2, %r1;", "cvt.s16.s32 %h2, %r1;"),
        ("mov.f32 %f2, %d1;", "cvt.rn.f32.f64 %f2, %d1;"),
        (
            "mbarrier.test_wait.shared.b64 %p1, [bar], %r1;",
            "mbarrier.test_wait.parity.shared.b64 %p1, [bar], %r1;",
        ),
        (
            "mbarrier.try_wait.shared::cta.b64 %p1, [bar], 1;",
            "mbarrier.try_wait.parity.shared::cta.b64 %p1, [bar], 1;",
        ),
    ];
    for (wrong, right) in cases {
        assert_eq!(suggested(wrong), right, "{wrong}");
    }
}

#[test]
fn several_operands_are_converted_together() {
    let right = "{
	.reg .s64 %converted0;
	cvt.s64.s32 %converted0, %r1;
	.reg .s64 %converted1;
	cvt.s64.s32 %converted1, %r2;
	add.s64 %a2, %converted0, %converted1;
	}";
    assert_eq!(suggested("add.s64 %a2, %r1, %r2;"), right);
}

#[test]
fn no_scope_is_assumed() {
    for statement in [
        "fence.acq_rel;",
        "fence.sc;",
        "ld.acquire.global.u32 %r1, [%a1];",
        "st.release.global.u32 [%a1], %r1;",
        "membar;",
        "membar.gpu;",
    ] {
        let found = errors(&kernel(statement));
        assert_eq!(found.len(), 1, "{statement}: {found:?}");
        let [error] = &found[..] else { continue };
        assert_eq!(error.fix.len(), 0, "{statement}: {error:?}");
        let help = error.help.as_deref().unwrap_or_default();
        assert!(help.starts_with("choose the scope"), "{statement}: {help}");
    }
}

#[test]
fn modifiers_and_marks_are_certain_only_where_nothing_else_can_be_meant() {
    let certain = |statement: &str| {
        let found = errors(&kernel(statement));
        let [error] = &found[..] else {
            panic!("{statement}: {found:?}");
        };
        error.is_machine_applicable()
    };
    for statement in [
        "ld.global.u32 %r1, %a1;",
        "ld.global.v2.u32 %r1, %r2, [%a1];",
    ] {
        assert!(certain(statement), "{statement}");
    }
    for statement in [
        // The types may be meant as they are.
        "cvt.rn.s32.f32 %r1, %f1;",
        // Either operand may be the address.
        "atom.shared.add.u32 %r1, %r2, %r3;",
        "mul.s32 %r1, %r2, %r3;",
        "sqrt.f32 %f1, %f2;",
        "add.s32 %r1, %r2, %r3, %r4;",
        "mov.u32 %r1, [%a1];",
        "setp.lt.s32 %p1, %p2, %r1, %r2;",
        "cp.async.cg.shared.global [bar], [%a1], 8;",
    ] {
        assert!(!certain(statement), "{statement}");
    }
}
