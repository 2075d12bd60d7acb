//! The edits of diagnostics: after them the source is what was meant, and which of them are certain.

use ptx_ir::{Applicability, apply_fixes};
use ptx_parse::parse;

/// A kernel around statements.
fn kernel(statements: &str) -> String {
    format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 a)\n{{\n\t.reg .pred %p<3>;\n\t.reg .b32 %r<9>;\n\t.reg .b64 %rd<3>;\n\t.reg .f32 %f<3>;\n{statements}\n\tret;\n}}\n"
    )
}

/// The source after all fixes, suggestions included.
fn fixed(source: &str) -> String {
    let parsed = parse(source.as_bytes());
    assert!(parsed.has_errors(), "no error in {source}");
    let found = parsed.diagnostics.into_iter();
    let found: Vec<_> = found.map(|d| d.machine_applicable()).collect();
    match apply_fixes(source.as_bytes(), &found) {
        Some(new) => String::from_utf8(new.text).unwrap_or_default(),
        None => source.to_owned(),
    }
}

/// The source after the fixes that are certain.
fn certainly_fixed(source: &str) -> String {
    let parsed = parse(source.as_bytes());
    assert!(parsed.has_errors(), "no error in {source}");
    match apply_fixes(source.as_bytes(), &parsed.diagnostics) {
        Some(new) => String::from_utf8(new.text).unwrap_or_default(),
        None => source.to_owned(),
    }
}

#[test]
fn a_fix_is_certain_if_nothing_else_can_be_meant() {
    let cases = [
        ("mov.u32 %r1, %r2", "mov.u32 %r1, %r2;"),
        (
            "mov.u32 %r1, %r2\nL: bra L;",
            "mov.u32 %r1, %r2;\nL: bra L;",
        ),
        (
            "ld.global.u32 %r1, [%rd1+16;",
            "ld.global.u32 %r1, [%rd1+16];",
        ),
        (
            "ld.global.u32 %r1, %rd1+16];",
            "ld.global.u32 %r1, [%rd1+16];",
        ),
        ("ld.global.u32 %r1, [%rd1]];", "ld.global.u32 %r1, [%rd1];"),
        (
            "ld.global.u32 %r1, [%rd1-16];",
            "ld.global.u32 %r1, [%rd1+-16];",
        ),
        ("add.s32 %r1 %r2, 5;", "add.s32 %r1, %r2, 5;"),
        ("add.s32 %r1, %r2, 5;;", "add.s32 %r1, %r2, 5;"),
        ("ld.golbal.u32 %r1, [%rd1];", "ld.global.u32 %r1, [%rd1];"),
        ("ADD.S32 %r1, %r2, 5;", "add.s32 %r1, %r2, 5;"),
        ("mov.u32 %r1, −1;", "mov.u32 %r1, -1;"),
        ("mov.u32 %r1,\u{a0}1;", "mov.u32 %r1, 1;"),
        ("mov.u32 %r1, %tid.X;", "mov.u32 %r1, %tid.x;"),
        ("mov.u32 %r1, 5L;", "mov.u32 %r1, 5;"),
        ("!@%p1 ret;", "@!%p1 ret;"),
        ("@(%p1) ret;", "@%p1 ret;"),
        ("%p1 ret;", "@%p1 ret;"),
        ("reg .b32 %x;", ".reg .b32 %x;"),
        ("L: bra$L;", "L: bra $L;"),
    ];
    for (wrong, right) in cases {
        assert_eq!(certainly_fixed(&kernel(wrong)), kernel(right), "{wrong}");
    }
}

#[test]
fn a_guess_is_not_certain() {
    let guesses = [
        // Words of other languages and short words.
        "xnor.b32 %r1, %r2, %r3;",
        "rsub.s32 %r1, %r2, %r3;",
        "sbb.u32 %r1, %r2, %r3;",
        "ctz.b32 %r1, %r2;",
        "sinh.f32 %f1, %f2;",
        "sqr.f32 %f1, %f2;",
        "exp.f32 %f1, %f2;",
        "addd.s32 %r1, %r2, %r3;",
        "mov.u36 %r1, %r2;",
        "mov.f33 %f1, %f2;",
        "setp.lz.s32 %p1, %r1, %r2;",
        "ld.global.v3.f32 {%f1, %f2, %f0}, [%rd1];",
        // A register, a label, a declaration.
        "mov.u32 %r1, %rr2;",
        "mov.u32 %r1, %r20;",
        "mov.u32 %r1, x;",
        "bra M;",
        "L: bra L; L: ret;",
        ".reg .b32 %x; .reg .b32 %x;",
        "$L\n\tbra $L;",
        // An operand may be missing.
        "add.s32 %r1,, %r2;",
        "bar.sync 0,;",
        "add.s32 %r1, %r2 5;",
        "add.s32 %r1; %r2, %r3;",
        "add.s32 %r1, %r2,x 5;",
        "add.s64 %rd1, %rd2, %rd0[\n\tst.global.u32 [%rd1], %r1;",
        // Width, value and invisible characters.
        "mov.u32 %r1, %r\u{200b}2;",
        "mov.f32 %f1, 1.0f;",
        ".f64 %rd2, %rd1;",
        "// text\n\t#next",
    ];
    for wrong in guesses {
        assert_eq!(certainly_fixed(&kernel(wrong)), kernel(wrong), "{wrong}");
    }
}

#[test]
fn a_missing_number_is_not_the_next_item() {
    let of = |size: &str| {
        format!(".version 8.0\n.target sm_90\n{size}\n.visible .entry k() {{ ret; }}\n")
    };
    let wrong = of(".address_size");
    assert_eq!(certainly_fixed(&wrong), wrong);
    assert_eq!(fixed(&wrong), of(".address_size 64"));
    let found = parse(wrong.as_bytes()).diagnostics;
    assert_eq!(found[0].applicability, Applicability::HasPlaceholders);
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
fn a_statement_that_an_instruction_follows_lacks_its_end() {
    let cases = [
        ("exit\n\tmov.u32 %r1, 1;", "exit;\n\tmov.u32 %r1, 1;"),
        ("ret // done\n\tret;", "ret; // done\n\tret;"),
        (
            "bar.sync 0\n\tst.global.u32 [%rd1], %r1;",
            "bar.sync 0;\n\tst.global.u32 [%rd1], %r1;",
        ),
        (
            "mov.u32 %r1, %r2\n\tadd.u32 %r1, %r1, 1;",
            "mov.u32 %r1, %r2;\n\tadd.u32 %r1, %r1, 1;",
        ),
    ];
    for (wrong, right) in cases {
        assert_eq!(certainly_fixed(&kernel(wrong)), kernel(right), "{wrong}");
    }
    let open = kernel("add.s64 %rd2, %rd1, %rd1[\n\tst.global.u32 [%rd2], %r1;");
    let found = parse(open.as_bytes()).diagnostics;
    assert!(
        found[0]
            .message
            .starts_with("expected an operand after `[`"),
        "{found:?}"
    );
    let right = "add.s64 %rd2, %rd1, %rd1;\n\tst.global.u32 [%rd2], %r1;";
    assert_eq!(fixed(&open), kernel(right));
}

#[test]
fn words_of_other_assemblers_have_uncertain_fixes() {
    let statements = [
        "ld.global.u32 %r1, dword ptr [%rd1];",
        "ld.global.u32 %r1, 4(%rd1);",
        "ld.global.u32 %r1, [%rd1-%rd2];",
        "mov.u32 %r1, sm@4;",
        "call @helper, (%r1);",
        "@(%r1 < %r2) bra L;",
    ];
    for statement in statements {
        let source = kernel(statement);
        let found = parse(source.as_bytes()).diagnostics;
        assert!(!found.is_empty(), "{statement}");
        let certain = found.iter().any(|d| d.is_machine_applicable());
        assert!(!certain, "{statement}: {found:?}");
    }
}

#[test]
fn no_guess_among_equally_similar_names() {
    let source = kernel("mov.u32 %ra, %r1;");
    assert_eq!(fixed(&source), source);
}

#[test]
fn the_likeliest_of_several_repairs_is_made() {
    let cases = [
        // As similar to `.lt` as to `.le`.
        ("setp.lz.s32 %p1, %r1, %r2;", "setp.lz.s32 %p1, %r1, %r2;"),
        ("mul.WIDE.u32 %rd1, %r1, 4;", "mul.wide.u32 %rd1, %r1, 4;"),
        ("add.int64 %rd1, %rd1, 4;", "add.s64 %rd1, %rd1, 4;"),
        (
            "ld.global.v6.u32 {%r1, %r2}, [%rd1];",
            "ld.global.v2.u32 {%r1, %r2}, [%rd1];",
        ),
        ("int x;", "// int x;"),
        ("#pragma unroll", "// #pragma unroll"),
        ("__syncthreads();", "bar.sync 0;"),
        ("mov.u32 %r1, %tid.xx;", "mov.u32 %r1, %tid.x;"),
        ("mov.u32 %r1, %tid.1;", "mov.u32 %r1, %tid.y;"),
        ("mov.u32 *%r1, %r2;", "mov.u32 %r1, %r2;"),
        ("~mov.u32 %r1, %r2;", "mov.u32 %r1, %r2;"),
        ("mov.f32 %f1, 0f3F80000;", "mov.f32 %f1, 0f3F800000;"),
        ("mov.u32 %r1, 0xffG;", "mov.u32 %r1, 0xff;"),
        (
            "ld.global.u32 %r1, [%rd1]\n\t.loc 1 1 1",
            "ld.global.u32 %r1, [%rd1];\n\t.loc 1 1 1",
        ),
        (
            "add.s32 %r1, %r2 * 4, 1;",
            "{\n\t.reg .s32 %computed;\n\tmul.lo.s32 %computed, %r2, 4;\n\tadd.s32 %r1, %computed, 1;\n\t}",
        ),
        (
            "st.global.u32 [%rd1+4, %r1;",
            "st.global.u32 [%rd1+4], %r1;",
        ),
        (
            "tex.2d.v4.s32.f32 {%r1, %r2, %r3, %r4}, [%rd1, {%f1, %f2};",
            "tex.2d.v4.s32.f32 {%r1, %r2, %r3, %r4}, [%rd1, {%f1, %f2}];",
        ),
        ("MUL.LO.S32 %r1, %r2, 3;", "mul.lo.s32 %r1, %r2, 3;"),
        ("mul.lo.S32 %r1, %r2, 3;", "mul.lo.s32 %r1, %r2, 3;"),
        ("mov.b64 {%r1; %r2}, %rd1;", "mov.b64 {%r1, %r2}, %rd1;"),
        ("mov.b64 %r1, %r2}, %rd1;", "mov.b64 {%r1, %r2}, %rd1;"),
        (
            "bra L;\n\tmov.u32 %r1, 1;",
            "bra L;\n\tL:\n\tmov.u32 %r1, 1;",
        ),
        // Branches to a label that is removed would go elsewhere.
        (
            "L: mov.u32 %r1, 1;\n\tL: ret;",
            "L: mov.u32 %r1, 1;\n\tL: ret;",
        ),
    ];
    for (wrong, right) in cases {
        assert_eq!(fixed(&kernel(wrong)), kernel(right), "{wrong}");
    }
}

#[test]
fn missing_declarations_are_added() {
    let head = ".version 8.0\n.target sm_90\n.address_size 64\n";
    let registers = "\t.reg .b32 %r<3>;\n\t.reg .b64 %rd<3>;\n";
    let cases = [
        (
            ".entry k(.param .u64 a)\n{\nREG\tld.param.u32 %r1, [b];\n\tret;\n}\n",
            ".entry k(.param .u64 a,\n\t.param .u32 b)\n{\nREG\tld.param.u32 %r1, [b];\n\tret;\n}\n",
        ),
        (
            ".entry k()\n{\nREG\tld.param.b8 %r1, [b+2];\n\tret;\n}\n",
            ".entry k(.param .align 8 .b8 b[3])\n{\nREG\tld.param.b8 %r1, [b+2];\n\tret;\n}\n",
        ),
        (
            ".entry k()\n{\nREG\tld.shared.u32 %r1, [v+20];\n\tret;\n}\n",
            ".shared .align 16 .b8 v[24];\n.entry k()\n{\nREG\tld.shared.u32 %r1, [v+20];\n\tret;\n}\n",
        ),
        (
            ".entry k()\n{\n\t.param .b32 p;\n\t.param .align 8 .b8 q[16];\n\tcall (q), f, (p);\n\tret;\n}\n",
            ".extern .func (.param .align 8 .b8 result0[16]) f(.param .b32 f_param_0);\n.entry k()\n{\n\t.param .b32 p;\n\t.param .align 8 .b8 q[16];\n\tcall (q), f, (p);\n\tret;\n}\n",
        ),
        (
            ".entry k()\n{\nREG\t.param .b32 p;\n\tcall %rd1, (p), P;\n\tret;\n}\n",
            ".entry k()\n{\nREG\t.param .b32 p;\n\tP: .callprototype _ (.param .b32 _);\n\tcall %rd1, (p), P;\n\tret;\n}\n",
        ),
        (
            ".entry k(.param a)\n{\nREG\tld.param.u32 %r1, [a];\n\tret;\n}\n",
            ".entry k(.param .u32 a)\n{\nREG\tld.param.u32 %r1, [a];\n\tret;\n}\n",
        ),
        (
            ".entry k(.param .u64 k_param_0, .param .u32)\n{\n\tret;\n}\n",
            ".entry k(.param .u64 k_param_0, .param .u32 k_param_1)\n{\n\tret;\n}\n",
        ),
        (
            ".entry k(.param .u64 a\n{\n\tret;\n}\n",
            ".entry k(.param .u64 a\n)\n{\n\tret;\n}\n",
        ),
        (
            ".entry k(.param .u64 a, .param .u32 b, .param .u64 a)\n{\n\tret;\n}\n",
            ".entry k(.param .u64 a, .param .u32 b)\n{\n\tret;\n}\n",
        ),
        (
            ".entry k()\n{\n\tret;\n}\n.entry k()\n{\n\tret;\n}\n",
            ".entry k()\n{\n\tret;\n}\n\n",
        ),
        (
            ".entry k()\n{\n\t.b32 x;\n\tmov.b32 x, 1;\n\tret;\n}\n",
            ".entry k()\n{\n\t.reg .b32 x;\n\tmov.b32 x, 1;\n\tret;\n}\n",
        ),
        (
            ".entry k()\n{\n\tcall f;\n\tret;\n}\n.func f // f\n{\n\tret;\n}\n",
            ".func f;\n.entry k()\n{\n\tcall f;\n\tret;\n}\n.func f // f\n{\n\tret;\n}\n",
        ),
    ];
    for (wrong, right) in cases {
        let [wrong, right] =
            [wrong, right].map(|text| head.to_owned() + &text.replace("REG", registers));
        assert_eq!(fixed(&wrong), right);
    }
    let versions = [("6.6", "7.0"), ("11.8", "7.8"), ("12.4", "8.4")];
    for (found, likely) in versions {
        let source = |version| format!(".version {version}\n.target sm_60\n");
        assert_eq!(fixed(&source(found)), source(likely));
    }
}

#[test]
fn assembly_text_that_is_inserted_twice_becomes_blocks() {
    let text = |open: &str, close: &str| {
        let copy = |register: &str| {
            format!(
                "\t// begin inline asm{open}\n\t.reg .pred ready;\nspin:\n\tsetp.ne.u32 ready, {register}, 0;\n\t@!ready bra spin;\n\t{close}// end inline asm\n"
            )
        };
        kernel(&[copy("%r1"), copy("%r2")].concat())
    };
    let wrong = text("", "");
    let right = text("\n\t{", "}\n\t");
    let found = parse(wrong.as_bytes()).diagnostics;
    assert_eq!(found.len(), 2, "{found:?}");
    for d in &found {
        let fixed = ptx_ir::apply_fix(wrong.as_bytes(), d).unwrap();
        assert_eq!(String::from_utf8(fixed.text).unwrap(), right);
        assert_eq!(d.applicability, Applicability::MaybeIncorrect);
    }
    assert_eq!(certainly_fixed(&wrong), wrong);
    assert!(!parse(right.as_bytes()).has_errors());
}

/// A type without its dot, of PTX or of another language.
#[test]
fn undotted_types_are_recognized() {
    let header = ".version 8.0\n.target sm_90\n.address_size 64\n";
    for (wrong, right) in [
        (".global float32 x;", ".global .f32 x;"),
        (".global double x[4];", ".global .f64 x[4];"),
        (".shared half x;", ".shared .f16 x;"),
        (
            ".entry k(.param float x) { ret; }",
            ".entry k(.param .f32 x) { ret; }",
        ),
        (
            ".entry k(.param f32 x) { ret; }",
            ".entry k(.param .f32 x) { ret; }",
        ),
        (
            ".entry k(.param int x) { ret; }",
            ".entry k(.param .b32 x) { ret; }",
        ),
        (
            ".func (.param double r) f(.param .b32 n) { ret; }",
            ".func (.param .f64 r) f(.param .b32 n) { ret; }",
        ),
        (
            ".entry k() { .reg float %f<3>; ret; }",
            ".entry k() { .reg .f32 %f<3>; ret; }",
        ),
    ] {
        assert_eq!(
            fixed(&format!("{header}{wrong}\n")),
            format!("{header}{right}\n")
        );
    }
}

/// An operator after a component of a special register.
#[test]
fn operators_need_instructions() {
    for statement in [
        "mov.u32 %r1, %ctaid.x * %ntid.x + %tid.x;",
        "mov.u32 %r1, %tid.x * 4;",
    ] {
        let parsed = parse(kernel(statement).as_bytes());
        let help = parsed.diagnostics[0].help.as_deref();
        assert_eq!(
            help,
            Some(
                "an operand is one register or constant: compute it with an instruction such as `mul` first"
            ),
            "{statement}"
        );
        assert!(parsed.diagnostics[0].fix.is_empty());
    }
}

#[test]
fn a_semicolon_before_the_body_of_a_function_is_removed() {
    let header = ".version 8.0\n.target sm_90\n.address_size 64\n";
    let wrong = format!("{header}.entry k(.param .b32 n)\n.maxntid 32;\n{{\n    ret;\n}}\n");
    let right = format!("{header}.entry k(.param .b32 n)\n.maxntid 32\n{{\n    ret;\n}}\n");
    assert_eq!(fixed(&wrong), right);
    assert_eq!(certainly_fixed(&wrong), wrong);
}
