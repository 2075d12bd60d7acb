//! The edits of diagnostics: after them the source is what was meant.

use ptx_ir::apply_fixes;
use ptx_parse::parse;

/// A kernel around statements.
fn kernel(statements: &str) -> String {
    format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 a)\n{{\n\t.reg .pred %p<3>;\n\t.reg .b32 %r<9>;\n\t.reg .b64 %rd<3>;\n\t.reg .f32 %f<3>;\n{statements}\n\tret;\n}}\n"
    )
}

fn fixed(source: &str) -> String {
    let parsed = parse(source.as_bytes());
    assert!(parsed.has_errors(), "no error in {source}");
    match apply_fixes(source.as_bytes(), &parsed.diagnostics) {
        Some(new) => String::from_utf8(new.text).unwrap_or_default(),
        None => source.to_owned(),
    }
}

#[test]
fn statements_are_repaired() {
    let cases = [
        ("mov.u32 %r1, %r2", "mov.u32 %r1, %r2;"),
        ("sr.global.u32 [%rd1], %r1;", "st.global.u32 [%rd1], %r1;"),
        ("ot.b32 %r1, %r2, %r3;", "or.b32 %r1, %r2, %r3;"),
        ("mov.u32 %r1, threadIdx.x;", "mov.u32 %r1, %tid.x;"),
        ("mov.float %f1, %f2;", "mov.f32 %f1, %f2;"),
        (
            "fma.rn.f32 %f1, %f2, 1.0f, %f1;",
            "fma.rn.f32 %f1, %f2, 1.0, %f1;",
        ),
        ("L: bra$L;", "L: bra $L;"),
        ("$L; bra $L;", "$L: bra $L;"),
        ("$L\n\tbra $L;", "$L:\n\tbra $L;"),
        ("!@%p1 ret;", "@!%p1 ret;"),
        (
            "ld.global.u32 %r1, (%rd1+16];",
            "ld.global.u32 %r1, [%rd1+16];",
        ),
        (
            "ld.global.u32 %r1, [%rd1+16);",
            "ld.global.u32 %r1, [%rd1+16];",
        ),
        (
            "ld.global.u32 %r1, %rd1+16];",
            "ld.global.u32 %r1, [%rd1+16];",
        ),
        (
            "ld.global.u32 %r1, [%rd1+16;",
            "ld.global.u32 %r1, [%rd1+16];",
        ),
        (
            "ld.global.u32 %r1, [%rd1-16];",
            "ld.global.u32 %r1, [%rd1+-16];",
        ),
        ("add.s32 %r1; %r2, %r3;", "add.s32 %r1, %r2, %r3;"),
        ("add.s32 %r1, %r2; 5;", "add.s32 %r1, %r2, 5;"),
        ("mov.u32 %r1, −1;", "mov.u32 %r1, -1;"),
        (".pragma “nounroll”;", ".pragma \"nounroll\";"),
        (".pragma \"nounroll;", ".pragma \"nounroll\";"),
        (
            "\t.pragma \"nounroll;\n\t.pragma \"nounroll\";",
            "\t.pragma \"nounroll\";\n\t.pragma \"nounroll\";",
        ),
        ("\t# next", "\t// next"),
        ("\t-- next", "\t// -- next"),
        (".b32 %x;", ".reg .b32 %x;"),
        (".reg .b32$x;", ".reg .b32 $x;"),
        ("mov.u32 %r1, %rr2;", "mov.u32 %r1, %r2;"),
        ("<<<<<<< HEAD", ""),
    ];
    for (wrong, right) in cases {
        assert_eq!(
            fixed(&kernel(wrong)),
            kernel(right).replace("\n\n", "\n"),
            "{wrong}"
        );
    }
}

#[test]
fn declarations_are_repaired() {
    let cases = [
        (
            kernel("mov.u32 %r20, 0;"),
            ".reg .b32 %r<9>;",
            ".reg .b32 %r<21>;",
        ),
        (
            kernel("mov.f64 %fd3, 0d0000000000000000;"),
            "{\n\t.reg",
            "{\n\t.reg .f64 %fd<4>;\n\t.reg",
        ),
        (kernel("}\n\tmov.u32 %r1, 0;"), "}\n\tmov", "\n\tmov"),
        (
            kernel("").replace("k(.param", "k .param"),
            "k .param",
            "k( .param",
        ),
        (
            kernel("").replace("(.param", "("),
            "( .u64",
            "( .param .u64",
        ),
        (kernel("").replace("a)\n{", "a)\n"), "a)\n", "a)\n{\n"),
        (kernel("").replace("sm_90", "cc_90"), "cc_90", "sm_90"),
        (kernel(".reg %fd<5>;"), ".reg %fd<5>", ".reg .f64 %fd<5>"),
        (kernel(".reg .v4 .b32 v; mov.b32 %r1, v.Y;"), "v.Y", "v.y"),
    ];
    for (wrong, from, to) in cases {
        let right = wrong.replacen(from, to, 1);
        assert_eq!(fixed(&wrong), right, "{wrong}");
        assert!(!parse(right.as_bytes()).has_errors(), "{right}");
    }
}

#[test]
fn a_missing_header_directive_fits_the_rest_of_the_header() {
    let cases = [
        ("sm_90", "8.0", ".version 8.0\n.target sm_90\n"),
        ("sm_100a", "8.6", ".version 8.6\n.target sm_100a\n"),
    ];
    for (target, version, head) in cases {
        let whole = format!(".version {version}\n.target {target}\n.address_size 64\n");
        let lost = whole.replace(&format!(".version {version}\n"), "");
        assert!(fixed(&lost).starts_with(head), "{}", fixed(&lost));
    }
    for (version, target) in [("8.0", "sm_75"), ("6.0", "sm_70"), ("3.1", "sm_35")] {
        let lost = format!(".version {version}\n.address_size 64\n");
        let head = format!(".version {version}\n.target {target}\n");
        assert!(fixed(&lost).starts_with(&head), "{}", fixed(&lost));
    }
}

#[test]
fn no_guess_among_equally_similar_names() {
    for statement in ["mov.u32 %ra, %r1;", "setp.lz.s32 %p1, %r1, %r2;", "int x;"] {
        let source = kernel(statement);
        assert_eq!(fixed(&source), source);
    }
}
