//! The kernels that examples make: what is in them, and that NVIDIA's assembler takes them where `PTXAS` names it.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::process::Command;

use ptx_examples::{
    Kernel, Parameter, attention, checked, expression, hopper, matmul, merged, peephole, saxpy,
};
use ptx_ir::FunctionKind;

/// The verifier and ptxas accept it, and it has the documented parameters.
fn check(kernel: &Kernel) {
    let text = kernel.text.as_bytes();
    let parsed = ptx_parse::parse(text);
    let module = &parsed.module;
    let mut found = parsed.diagnostics;
    found.extend(ptx_verify::verify(module, &Default::default()));
    assert!(
        found.is_empty(),
        "{}: {found:?}\n{}",
        kernel.name,
        kernel.text
    );
    let function = &module.functions()[module.function(kernel.name).unwrap()];
    assert_eq!(function.kind, FunctionKind::Entry);
    let types = function.interface.params.of(module.params()).iter();
    let types: Vec<&str> = types.map(|p| p.ty.known().unwrap().text()).collect();
    let told = kernel.parameters.iter().map(|p| match p {
        Parameter::Buffer { .. } => ".u64",
        Parameter::U32(_) => ".u32",
        Parameter::F32(_) => ".f32",
        Parameter::Map { .. } => ".b8",
    });
    assert_eq!(types, told.collect::<Vec<_>>(), "{}", kernel.name);
    assert!(kernel.block.iter().product::<u32>() <= 1024);

    let Some(ptxas) = std::env::var_os("PTXAS") else {
        eprintln!(
            "!!! SKIPPED: PTXAS names no assembler, {} IS NOT ASSEMBLED !!!",
            kernel.name
        );
        return;
    };
    // The oldest target that new assemblers make code for.
    let target = module.header().target.unwrap().to_string();
    let target = target.replace("sm_70", "sm_75");
    let file = std::env::temp_dir().join(format!(
        "example-{}-{}.ptx",
        kernel.name,
        std::process::id()
    ));
    std::fs::write(&file, text).unwrap();
    let null = if cfg!(windows) { "NUL" } else { "/dev/null" };
    let output = Command::new(ptxas)
        .arg(format!("-arch={target}"))
        .args(["-o", null])
        .arg(&file)
        .output()
        .unwrap();
    std::fs::remove_file(&file).unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}\n{}", kernel.text);
}

/// What the program prints is the kernel.
fn prints(program: &str, arguments: &[&str], text: &str) {
    let output = Command::new(program).args(arguments).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    assert_eq!(String::from_utf8(output.stdout).unwrap(), text);
}

#[test]
fn saxpy_from_scratch() {
    let kernel = saxpy::kernel().unwrap();
    check(&kernel);
    prints(env!("CARGO_BIN_EXE_saxpy"), &[], &kernel.text);
}

#[test]
fn a_product_in_tiles() {
    let kernel = matmul::kernel().unwrap();
    check(&kernel);
    assert_eq!(kernel.text.matches("mma.sync.aligned.m16n8k16").count(), 8);
    assert_eq!(kernel.text.matches("cp.async.cg.shared.global ").count(), 6);
    prints(env!("CARGO_BIN_EXE_matmul"), &[], &kernel.text);
}

#[test]
fn a_product_on_hopper() {
    let kernel = hopper::kernel().unwrap();
    check(&kernel);
    for part in [
        "cp.async.bulk.tensor.2d",
        "mbarrier.try_wait.parity",
        "wgmma.mma_async",
    ] {
        assert!(kernel.text.contains(part), "{part}");
    }
    prints(env!("CARGO_BIN_EXE_hopper"), &[], &kernel.text);
}

#[test]
fn attention_on_hopper() {
    let kernel = attention::kernel().unwrap();
    check(&kernel);
    assert_eq!(kernel.text.matches("wgmma.mma_async").count(), 8);
    prints(env!("CARGO_BIN_EXE_attention"), &[], &kernel.text);
}

#[test]
fn expressions() {
    for (text, instructions) in [
        ("a", ""),
        ("2.5", ""),
        ("a + b * c", "mul add"),
        ("(a + b) * c", "add mul"),
        ("a - b - c", "sub sub"),
        ("a - (b - c)", "sub sub"),
        ("-a * --b / 3", "neg neg neg mul div"),
        ("((a))+-(b*0.5)", "mul neg add"),
    ] {
        let kernel = expression::kernel(text).unwrap();
        check(&kernel);
        let body = kernel.text.split("ld.global").last().unwrap();
        let opcodes = body.lines().filter_map(|l| l.trim().split('.').next());
        let arithmetic = ["add", "sub", "mul", "div", "neg"];
        let found: Vec<&str> = opcodes.filter(|o| arithmetic.contains(o)).collect();
        // The last addition is that of the address.
        let wanted: Vec<&str> = instructions.split_whitespace().chain(["add"]).collect();
        if text.contains('a') {
            assert_eq!(found, wanted, "{text}");
        }
    }
    for wrong in [
        "", "a +", "* a", "(a", "a)", "a b", "x", "a + é", "()", "1..2", "a ^ b",
    ] {
        assert!(expression::kernel(wrong).is_err(), "{wrong}");
    }
    let kernel = expression::kernel("a * a + b").unwrap();
    prints(
        env!("CARGO_BIN_EXE_expression"),
        &["a * a + b"],
        &kernel.text,
    );
}

#[test]
fn a_peephole_pass() {
    let kernel = peephole::kernel().unwrap();
    check(&kernel);
    let wanted = peephole::BEFORE
        .replace("mul.lo.s32 %r1, %r1, 8;", "shl.b32 %r1, %r1, 3;")
        .replace("add.s32 %r2, %r1, 0;", "mov.b32 %r2, %r1;");
    assert_eq!(kernel.text, wanted);
    let file = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../corpus/compiled/nvcc/nbody.O3.sm_86.ptx"
    );
    let mut module = ptx_parse::parse(&std::fs::read(file).unwrap()).module;
    peephole::peephole(&mut module).unwrap();
    let text = String::from_utf8(ptx_print::verbatim(&module)).unwrap();
    prints(env!("CARGO_BIN_EXE_peephole"), &[file], &text);
}

#[test]
fn bounds_are_checked() {
    let kernel = checked::kernel().unwrap();
    check(&kernel);
    // Two loads and a store, each counted and checked.
    assert_eq!(kernel.text.matches(" trap;").count(), 6);
    assert_eq!(
        kernel
            .text
            .matches("red.global.add.u64 [accesses], 1;")
            .count(),
        3
    );
    let original = saxpy::kernel().unwrap();
    for line in original.text.lines() {
        assert!(kernel.text.lines().any(|l| l == line), "{line}");
    }
    let file = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../corpus/compiled/nvcc/vecadd.O3.sm_75.ptx"
    );
    let module = ptx_parse::parse(&std::fs::read(file).unwrap()).module;
    let (module, places) = checked::check(&module, 16, 32).unwrap();
    assert!(places > 0);
    let text = String::from_utf8(ptx_print::verbatim(&module)).unwrap();
    prints(env!("CARGO_BIN_EXE_checked"), &[file, "16", "32"], &text);
}

#[test]
fn llvm_and_a_function_by_hand() {
    let kernel = merged::kernel().unwrap();
    check(&kernel);
    assert!(!kernel.text.contains(".extern .func"), "{}", kernel.text);
    assert_eq!(
        kernel
            .text
            .matches(".func  (.param .b32 func_retval0) elsewhere")
            .count(),
        0
    );
    assert!(kernel.text.contains("// written by hand"));
    prints(env!("CARGO_BIN_EXE_merged"), &[], &kernel.text);
}

#[test]
fn examples_are_short() {
    for (name, text) in [
        ("saxpy", include_str!("../../src/saxpy.rs")),
        ("matmul", include_str!("../../src/matmul.rs")),
        ("hopper", include_str!("../../src/hopper.rs")),
        ("attention", include_str!("../../src/attention.rs")),
        ("expression", include_str!("../../src/expression.rs")),
        ("peephole", include_str!("../../src/peephole.rs")),
        ("checked", include_str!("../../src/checked.rs")),
        ("merged", include_str!("../../src/merged.rs")),
    ] {
        let lines = text.lines().count();
        assert!(lines <= 240, "{name} has {lines} lines");
    }
}
