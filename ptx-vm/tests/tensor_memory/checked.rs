//! What checkers report about tensor memory, and what profiles count.

use ptx_vm::{Checker, Launch, Machine, Report};

use crate::Random;
use crate::elements::F16;
use crate::products::Product;

/// The reports about a kernel of one warp with 32 columns of tensor memory, whose address is in `%r1`.
fn reports(body: &str, checker: Checker) -> Vec<Report> {
    let text = format!(
        ".version 9.0\n.target sm_103a\n.address_size 64\n.global .b32 result;\n.visible .entry k() .reqntid 32\n{{\n\
         .reg .b32 %r<8>;\n.shared .align 4 .b32 address;\n\
         tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [address], 32;\nld.shared.b32 %r1, [address];\nmov.u32 %r2, %tid.x;\n{body}\nret;\n}}\n"
    );
    let module = crate::module(&text);
    let mut machine = Machine::new(&module);
    machine
        .launch(&Launch::new("k").shape(1, 32).check(checker))
        .unwrap();
    machine.reports().to_vec()
}

const FREE: &str = "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r1, 32;";
const LOAD: &str = "tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r3, %r4}, [%r1];\ntcgen05.wait::ld.sync.aligned;\nst.global.b32 [result], %r3;\n";

#[test]
fn initcheck_finds_reads_of_unwritten_cells() {
    let found = reports(&format!("{LOAD}{FREE}"), Checker::Initcheck);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0]
            .message
            .contains("the uninitialized cell in lane 0, column 0"),
        "{}",
        found[0].message
    );
    assert_eq!(found[0].code.to_string(), "PTX1411");
    let store =
        "tcgen05.st.sync.aligned.32x32b.x1.b32 [%r1], {%r2};\ntcgen05.wait::st.sync.aligned;\n";
    // The register of the second column is not used.
    assert_eq!(
        reports(&format!("{store}{LOAD}{FREE}"), Checker::Initcheck),
        []
    );
    let use_of_second = "st.global.b32 [result], %r4;\n";
    let found = reports(
        &format!("{store}{LOAD}{use_of_second}{FREE}"),
        Checker::Initcheck,
    );
    assert!(
        found[0].message.contains("lane 0, column 1"),
        "{}",
        found[0].message
    );
    let store = "tcgen05.st.sync.aligned.32x32b.x2.b32 [%r1], {%r2, %r2};\ntcgen05.wait::st.sync.aligned;\n";
    assert_eq!(
        reports(&format!("{store}{LOAD}{FREE}"), Checker::Initcheck),
        []
    );
}

#[test]
fn initcheck_finds_both_halves_of_packed_cells() {
    let load = "tcgen05.ld.sync.aligned.32x32b.x1.pack::16b.b32 {%r3}, [%r1];\ntcgen05.wait::ld.sync.aligned;\nst.global.b32 [result], %r3;\n";
    let store =
        "tcgen05.st.sync.aligned.32x32b.x1.b32 [%r1], {%r2};\ntcgen05.wait::st.sync.aligned;\n";
    let found = reports(&format!("{store}{load}{FREE}"), Checker::Initcheck);
    assert!(
        found[0].message.contains("lane 0, column 1"),
        "{}",
        found[0].message
    );
}

#[test]
fn initcheck_finds_unwritten_cells_of_loads_that_combine_registers() {
    let load = "tcgen05.ld.red.sync.aligned.32x32b.x2.min.u32 {%r3, %r4}, %r5, [%r1];\ntcgen05.wait::ld.sync.aligned;\nst.global.b32 [result], %r5;\n";
    let store =
        "tcgen05.st.sync.aligned.32x32b.x1.b32 [%r1], {%r2};\ntcgen05.wait::st.sync.aligned;\n";
    let found = reports(&format!("{store}{load}{FREE}"), Checker::Initcheck);
    assert!(
        found[0].message.contains("lane 0, column 1"),
        "{}",
        found[0].message
    );
}

#[test]
fn memcheck_finds_columns_that_are_not_freed() {
    let found = reports("", Checker::Memcheck);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0].message.contains("the columns 0 to 31"),
        "{}",
        found[0].message
    );
    assert!(found[0].at.instruction.contains("tcgen05.alloc"));
    assert_eq!(reports(FREE, Checker::Memcheck), []);
}

#[test]
fn correct_kernels_have_no_reports() {
    let mut random = Random::new(70);
    let product = Product::new("f16", [F16; 2], [64, 16, 16]);
    let matrices = product.matrices(&mut random);
    let experiment = product.experiment(&mut random, &matrices);
    for checker in [
        Checker::Memcheck,
        Checker::Initcheck,
        Checker::Synccheck,
        Checker::Racecheck,
    ] {
        assert_eq!(experiment.reports(checker), [], "{checker}");
    }
}

#[test]
fn shared_memory_of_a_product_is_written_after_its_completion() {
    let mut random = Random::new(72);
    let product = Product::new("f16", [F16; 2], [64, 16, 16]);
    let matrices = product.matrices(&mut random);
    let experiment = product.experiment(&mut random, &matrices);
    let write = "shl.b32 %r40, %r0, 2;\nadd.u32 %r40, %r40, %buffer;\nst.shared.b32 [%r40], %r0;\n";
    let mut late = experiment.clone();
    late.after = write.into();
    let mut early = experiment;
    early.body += write;
    for checker in [Checker::Synccheck, Checker::Racecheck] {
        assert_eq!(late.reports(checker), [], "{checker}");
        assert_eq!(early.reports(checker).len(), 1, "{checker}");
    }
}

#[test]
fn profiles_count_products() {
    let mut random = Random::new(71);
    let product = Product::new("f16", [F16; 2], [64, 16, 16]);
    let matrices = product.matrices(&mut random);
    let profile = product.experiment(&mut random, &matrices).profile();
    let products: Vec<_> = profile
        .instructions
        .iter()
        .filter_map(|inst| inst.matrix)
        .collect();
    assert_eq!(products.len(), 1);
    assert_eq!((products[0].shape, products[0].products), ([64, 16, 16], 1));
    assert_eq!(products[0].multiply_adds, 64 * 16 * 16);
}
