//! Inline assembly of CUDA C++ and LLVM IR: checked alone, added to kernels, and assembled where `PTXAS` is set.
#![allow(missing_docs)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]
#![allow(clippy::too_many_lines, reason = "lists of cases")]

use ptx_build::{
    AsmOperand, AsmReport, AsmStyle, BuildError, BuildErrorKind, ModuleBuilder, OperandExpr,
    check_asm, check_inline_asm,
};
use ptx_isa::{PtxVersion, ScalarType as T, Target};

const SM80: (PtxVersion, Target) = (PtxVersion::new(8, 0), Target::Sm80);
const SM90: (PtxVersion, Target) = (PtxVersion::new(8, 0), Target::Sm90);

/// Operands by their constraints; a number is a constant.
fn operands(constraints: &[&str]) -> Vec<AsmOperand> {
    let one = |c: &&str| match c.strip_prefix("n:") {
        Some(value) => AsmOperand::constant(value.parse().unwrap()),
        None => AsmOperand::from_constraint(c).unwrap(),
    };
    constraints.iter().map(one).collect()
}

fn check(
    (version, target): (PtxVersion, Target),
    style: AsmStyle,
    text: &str,
    constraints: &[&str],
) -> Result<AsmReport, BuildError> {
    check_inline_asm(version, target, style, text, &operands(constraints))
}

/// Checks that ptxas accepts a kernel with the text twice.
fn assemble((version, target): (PtxVersion, Target), style: AsmStyle, text: &str, all: &[&str]) {
    let mut m = ModuleBuilder::new(version, target);
    let mut k = m.kernel("k").unwrap();
    let operands: Vec<(&str, OperandExpr)> = all
        .iter()
        .map(|c| match c.strip_prefix("n:") {
            Some(value) => ("", OperandExpr::Int(value.parse().unwrap())),
            None => {
                let ty = match c.trim_start_matches(['=', '+', '&']) {
                    "b" => T::Pred,
                    "h" => T::B16,
                    "l" => T::B64,
                    "f" => T::F32,
                    "d" => T::F64,
                    _ => T::B32,
                };
                ("", k.reg(ty).into())
            }
        })
        .collect();
    for _ in 0..2 {
        let report = k.inline_asm(style, text, &operands).unwrap();
        assert!(report.is_repeatable());
    }
    k.ret().emit(()).unwrap();
    k.finish().unwrap();
    let module = m.finish().unwrap();
    let text = crate::common::printed(&module);
    let said = crate::common::ptxas(text.as_bytes(), target.text(), &[]).unwrap_or_default();
    assert!(said.is_empty(), "{said}\n{text}");
}

#[test]
fn texts_of_cuda() {
    // What is checked, its operands, what is read and written, and what else it does.
    type Case<'c> = (
        (PtxVersion, Target),
        &'c str,
        &'c [&'c str],
        &'c [&'c str],
        &'c [&'c str],
        fn(&AsmReport) -> bool,
    );
    let cases: &[Case<'_>] = &[
        (
            SM80,
            "{\n  .reg .pred p;\n  setp.ne.b32 p, %0, 0;\n  @p cp.async.cg.shared.global.L2::128B [%1], [%2], %3;\n}\n",
            &["r", "r", "l", "n:16"],
            &["%0", "p", "%1", "%2"],
            &["p"],
            |r| r.memory().len() == 2 && r.has_side_effects() && r.instruction_count() == 2,
        ),
        (
            SM80,
            "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};\n",
            &[
                "=f", "=f", "=f", "=f", "r", "r", "r", "r", "r", "r", "f", "f", "f", "f",
            ],
            &[
                "%4", "%5", "%6", "%7", "%8", "%9", "%10", "%11", "%12", "%13",
            ],
            &["%0", "%1", "%2", "%3"],
            |r| !r.has_control_flow() && r.instruction_count() == 1,
        ),
        (
            SM80,
            "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];",
            &["=r", "=r", "=r", "=r", "r"],
            &["%4"],
            &["%0", "%1", "%2", "%3"],
            |r| r.memory().len() == 1,
        ),
        (
            SM90,
            "{\n.reg .pred done;\nwait_%=:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n@done bra end_%=;\nbra wait_%=;\nend_%=:\n}",
            &["r", "r"],
            &["%0", "%1", "done"],
            &["done"],
            |r| r.has_control_flow() && r.instruction_count() == 3,
        ),
        (
            SM90,
            "spin_%=:\n\tmbarrier.try_wait.parity.shared::cta.b64 %0, [%1], %2;\n\t@!%0 bra.uni spin_%=;\n",
            &["=b", "r", "r"],
            &["%1", "%2", "%0"],
            &["%0"],
            |r| r.has_control_flow(),
        ),
        (
            SM80,
            "prmt.b32 %0, %1, %2, 0x5410;\n\tlop3.b32 %0, %0, %1, %2, (0xf0 & 0xcc) ^ 0xaa;",
            &["=r", "r", "r"],
            &["%1", "%2", "%0"],
            &["%0"],
            |r| r.memory().is_empty() && !r.has_side_effects() && r.instruction_count() == 2,
        ),
        (
            SM80,
            "red.release.gpu.global.add.s32 [%0], %1; // counts\nfence.acq_rel.gpu;",
            &["l", "r"],
            &["%0", "%1"],
            &[],
            |r| r.has_fence() && r.has_side_effects(),
        ),
        (
            SM80,
            "{ .reg .u32 t; mov.u32 t, %%laneid; add.u32 %0, %0, t; }",
            &["+r"],
            &["%0", "t"],
            &["t", "%0"],
            |r| r.instruction_count() == 2,
        ),
        (
            SM80,
            "bar.sync %0, %1;",
            &["r", "n:128"],
            &["%0"],
            &[],
            |r| r.has_barrier(),
        ),
        (
            SM80,
            "add.u32 %0, %2, %1;",
            &["=r", "r", "0"],
            &["%0", "%1"],
            &["%0"],
            |_| true,
        ),
        (SM80, "", &["+f"], &[], &[], |r| r.instruction_count() == 0),
    ];
    for (target, text, constraints, reads, writes, more) in cases {
        let report = check(*target, AsmStyle::Cuda, text, constraints)
            .unwrap_or_else(|e| panic!("{text}: {e}"));
        assert_eq!(
            (report.reads(), report.writes()),
            (&owned(reads)[..], &owned(writes)[..]),
            "{text}"
        );
        assert!(more(&report), "{text}: {report:?}");
        assert!(report.is_repeatable(), "{text}");
        if !constraints.contains(&"0") {
            assemble(*target, AsmStyle::Cuda, text, constraints);
        }
    }
}

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(ToString::to_string).collect()
}

#[test]
fn texts_of_llvm() {
    let cases: &[(&str, &[&str], &[&str])] = &[
        (
            "{ .reg .b64 t; cvta.to.global.u64 t, $1; ld.global.L1::no_allocate.v2.b32 {$0, ${2}}, [t + ${3:c}]; }",
            &["=r", "l", "=r", "n:8"],
            &["t", "$0", "$2"],
        ),
        (
            "$$L__wait_${:uid}:\n\tmbarrier.test_wait.shared.b64 $0, [$1], $2;\n\t@!$0 bra $$L__wait_${:uid};",
            &["=b", "r", "l"],
            &["$0"],
        ),
        (
            "mov.u32 $0, %tid.x; ${:comment} a register of the machine",
            &["=r"],
            &["$0"],
        ),
        ("add.s32 $0, $1, ${2:n};", &["=r", "r", "n:16"], &["$0"]),
    ];
    for (text, constraints, writes) in cases {
        let report = check(SM80, AsmStyle::Llvm, text, constraints)
            .unwrap_or_else(|e| panic!("{text}: {e}"));
        assert_eq!(report.writes(), owned(writes), "{text}");
        assert!(report.is_repeatable(), "{text}");
        assemble(SM80, AsmStyle::Llvm, text, constraints);
    }
}

#[test]
fn errors_have_spans_in_the_text() {
    let wrong = |style, text: &str, constraints: &[&str]| {
        let error = check(SM80, style, text, constraints).unwrap_err();
        assert_eq!(error.text(), text);
        let found = &error.diagnostics()[0];
        let at = String::from_utf8_lossy(found.span.of(text.as_bytes())).into_owned();
        assert!(!error.to_string().contains("operand0_"), "{error}");
        (at, error.code().to_string(), found.message.clone())
    };
    let is = |(at, code, message): (String, String, String), a: &str, c: &str, m: &str| {
        assert_eq!((at.as_str(), code.as_str()), (a, c), "{message}");
        assert!(message.contains(m), "{message}");
    };
    let cuda = AsmStyle::Cuda;
    is(
        wrong(
            cuda,
            "{ .reg .b32 t;\n\tadd.f64 %0, %1, %0; }",
            &["=d", "r"],
        ),
        "%1",
        "PTX0506",
        "`%1`",
    );
    is(
        wrong(cuda, "mov.u32 %0, %laneid;", &["=r"]),
        "%laneid",
        "PTX0201",
        "unknown operand `%laneid`",
    );
    is(
        wrong(cuda, "add.s32 %0, %1, %2;", &["=r", "r"]),
        "%2",
        "PTX0201",
        "not one of the 2 operands",
    );
    is(
        wrong(cuda, "add.s32 %0, %1, 1;\nadd.s32 %1, %0, 1;", &["=r", "r"]),
        "add.s32 %1, %0, 1;",
        "PTX0505",
        "`%1` is an input",
    );
    is(
        wrong(cuda, "mov.u32 %0, %%tid.q;", &["=r"]),
        ".q",
        "PTX0113",
        "q",
    );
    is(
        wrong(cuda, "elect.sync _|%0, -1;", &["=b"]),
        "elect.sync",
        "PTX0513",
        "elect.sync",
    );
    is(
        wrong(AsmStyle::Llvm, "add.s64 $0, $1, $1;", &["=l", "r"]),
        "$1",
        "PTX0506",
        "`$1`",
    );
    is(
        wrong(AsmStyle::Llvm, "bra $L;", &[]),
        "$",
        "PTX0201",
        "unknown operand",
    );
    // A statement without its end.
    is(
        wrong(cuda, "add.s32 %0, %0, 1", &["+r"]),
        "",
        "PTX0102",
        "`;`",
    );
    let error = check_asm(
        SM80.0,
        SM80.1,
        "add.s32 {d}, {d}, {x};",
        &[("d", T::F32), ("x", T::B32)],
    );
    assert!(error.unwrap_err().message().contains("`{d}`"));
}

#[test]
fn names_that_would_be_declared_twice() {
    let repeatable = |text: &str| {
        check(SM80, AsmStyle::Cuda, text, &["+r"])
            .unwrap()
            .is_repeatable()
    };
    assert!(!repeatable(".reg .b32 t; add.s32 %0, %0, 1;"));
    assert!(!repeatable("L: sub.s32 %0, %0, 1;"));
    assert!(repeatable("{ .reg .b32 t; add.s32 %0, %0, 1; }"));
    assert!(repeatable("L%=: sub.s32 %0, %0, 1;"));
}

#[test]
fn operands_with_names_and_wrong_ones() {
    let named = |name| AsmOperand::in_out(T::B32).named(name);
    let (version, target) = SM80;
    let all = [
        named("x"),
        AsmOperand::text("rn"),
        AsmOperand::input(T::F32),
    ];
    let text = "cvt.%1.f32.s32 %2, %[x];";
    let error = check_inline_asm(version, target, AsmStyle::Cuda, text, &all).unwrap_err();
    assert!(error.message().contains("`%2` is an input"), "{error}");
    let text = "cvt.%1i.s32.f32 %[x], %2;";
    let report = check_inline_asm(version, target, AsmStyle::Cuda, text, &all).unwrap();
    assert_eq!(
        (report.reads(), report.writes()),
        (&owned(&["%2"])[..], &owned(&["%[x]"])[..])
    );
    // Invalid constraints, and an input tied to an input.
    let error = AsmOperand::from_constraint("=x").unwrap_err();
    assert_eq!(error.kind(), BuildErrorKind::Spelling);
    let tied = [AsmOperand::input(T::B32), AsmOperand::same_as(0)];
    let error = check_inline_asm(version, target, AsmStyle::Cuda, "", &tied).unwrap_err();
    assert_eq!(error.kind(), BuildErrorKind::Argument);
    // A register that the target does not have.
    let old = PtxVersion::new(7, 0);
    let wide = [AsmOperand::output(T::B128)];
    let error = check_inline_asm(old, target, AsmStyle::Cuda, "", &wide).unwrap_err();
    assert!(error.to_string().contains(".b128"), "{error}");
}

#[test]
fn a_name_inside_does_not_catch_an_operand() {
    let (version, target) = SM80;
    let mut m = ModuleBuilder::new(version, target);
    let mut k = m.kernel("k").unwrap();
    let t = k.named_reg(T::B32, "t").unwrap();
    let text = "{ .reg .b32 t; mov.b32 t, {a}; }";
    let error = k.asm(text, &[("a", t.into())]).unwrap_err();
    assert_eq!(error.kind(), BuildErrorKind::Duplicate);
    assert_eq!(
        error.message(),
        "the fragment declares `t`, which `{a}` would be taken for"
    );
    // In a text that is checked alone operands have no names that it could have.
    let text = "{ .reg .b32 %operand0_; mov.b32 %operand0_, {a}; }";
    assert_eq!(
        check_asm(version, target, text, &[("a", T::B32)])
            .unwrap()
            .reads(),
        ["a"]
    );
    k.ret().emit(()).unwrap();
    k.finish().unwrap();
}

#[test]
fn a_guard_goes_over_all_of_it() {
    let (version, target) = SM80;
    let mut m = ModuleBuilder::new(version, target);
    let mut k = m.kernel("k").unwrap();
    let (r, p) = (k.reg(T::B32), k.reg(T::Pred));
    k.guard(p)
        .asm(
            "add.s32 {r}, {r}, 1; add.s32 {r}, {r}, 2;",
            &[("r", r.into())],
        )
        .unwrap();
    k.ret().emit(()).unwrap();
    k.finish().unwrap();
    let text = m.text();
    let all = "\t@!%p1 bra $L_1;\n\tadd.s32 %r1, %r1, 1;\n\tadd.s32 %r1, %r1, 2;\n$L_1:\n\tret;\n";
    assert!(text.contains(all), "{text}");
    m.finish().unwrap();
}
