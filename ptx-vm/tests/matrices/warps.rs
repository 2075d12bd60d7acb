//! Which threads execute matrix instructions.

use ptx_vm::{Launch, Machine, RunError, StopReason};

use crate::{kernel, run};

const PRODUCT: &str =
    "mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%r2, %r3}, {%r1}, {%r1}, {%r4, %r5};\n";

/// The sum of products is stored by each lane.
const STORE: &str = "cvt.u64.u32 %rd3, %t;\nmul.lo.u64 %rd3, %rd3, 8;\nadd.s64 %rd3, %rd3, %rd2;\nst.global.v2.b32 [%rd3], {%r2, %r3};\n";

fn ones() -> String {
    "mov.u32 %r1, 0x01010101;\nmov.u32 %r4, 5;\nmov.u32 %r5, 6;\n".into()
}

fn sums() -> Vec<u8> {
    [21u32, 22].map(u32::to_le_bytes).concat().repeat(32)
}

#[test]
fn lanes_wait_for_the_others() {
    // The lanes come to the instruction one after the other, and a group of them has to wait.
    let body = ones()
        + "and.b32 %r7, %t, 3;\nmov.u32 %r6, 0;\nLOOP: setp.ge.u32 %p1, %r6, %r7;\n@%p1 bra PRODUCT;\n\
           add.u32 %r6, %r6, 1;\nbra LOOP;\nPRODUCT:\n"
        + PRODUCT
        + STORE;
    assert_eq!(
        run(&kernel("sm_80", "", &body), &[0; 4], 256).unwrap(),
        sums()
    );
    // Some lanes are there long before the others, and the machine lets them run in between.
    let product = PRODUCT.replace("%r4, %r5", "%r2, %r3");
    let body = ones()
        + "mov.u32 %r2, 5;\nmov.u32 %r3, 6;\nand.b32 %r7, %t, 1;\nmul.lo.u32 %r7, %r7, 3000;\nmov.u32 %r6, 0;\n\
           LOOP: setp.ge.u32 %p1, %r6, %r7;\n@%p1 bra PRODUCT;\nld.volatile.global.b32 %r8, [%rd1];\nadd.u32 %r6, %r6, 1;\nbra LOOP;\nPRODUCT:\n"
        + &product
        + STORE;
    assert_eq!(
        run(&kernel("sm_80", "", &body), &[0; 4], 256).unwrap(),
        sums()
    );
    // The target of the branch is not where the lanes meet.
    let body = ones()
        + "setp.gt.u32 %p1, %t, 7;\n@%p1 bra OTHER;\nadd.u32 %r4, %r4, 0;\nbra SAME;\nOTHER: add.u32 %r5, %r5, 0;\nSAME:\n"
        + PRODUCT
        + STORE;
    assert_eq!(
        run(&kernel("sm_80", "", &body), &[0; 4], 256).unwrap(),
        sums()
    );
}

#[test]
fn results_may_be_dropped() {
    let product = PRODUCT.replace("%r2, %r3", "_, %r3");
    let body = ones() + "mov.u32 %r2, 21;\n" + &product + STORE;
    assert_eq!(
        run(&kernel("sm_80", "", &body), &[0; 4], 256).unwrap(),
        sums()
    );
}

#[test]
fn a_false_guard_skips_the_instruction() {
    let body = ones()
        + "setp.gt.u32 %p1, %t, 99;\nmov.u32 %r2, 21;\nmov.u32 %r3, 22;\n@%p1 "
        + PRODUCT
        + STORE;
    assert_eq!(
        run(&kernel("sm_80", "", &body), &[0; 4], 256).unwrap(),
        sums()
    );
}

#[test]
fn different_instructions_are_an_error() {
    let body = ones()
        + "setp.gt.u32 %p1, %t, 7;\n@%p1 bra OTHER;\n"
        + PRODUCT
        + "bra END;\nOTHER:\n"
        + PRODUCT
        + "END:\n";
    let error = run(&kernel("sm_80", "", &body), &[0; 4], 4).unwrap_err();
    assert!(
        matches!(&error.reason, StopReason::Invalid(what) if what.contains("different")),
        "{error}"
    );
}

fn launched(text: &str, threads: u32) -> RunError {
    let parsed = ptx_parse::parse_str(text);
    let mut machine = Machine::new(&parsed.module);
    let data = machine.allocate(256).unwrap().to_le_bytes();
    let launch = Launch::new("k")
        .shape(1, threads)
        .argument(data)
        .argument(data);
    machine.launch(&launch).unwrap_err()
}

#[test]
fn a_part_of_a_warp_is_an_error() {
    let error = launched(&kernel("sm_80", "", &(ones() + PRODUCT)), 48);
    assert!(
        matches!(&error.reason, StopReason::Invalid(what) if what.contains("32 threads")),
        "{error}"
    );
    // One lane never comes.
    let body = ones() + "setp.eq.u32 %p1, %t, 3;\n@%p1 exit;\n" + PRODUCT;
    let error = launched(&kernel("sm_80", "", &body), 32);
    assert!(matches!(error.reason, StopReason::Invalid(_)), "{error}");
}
