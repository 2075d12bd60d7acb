//! Asynchronous operations on blocks of memory.
#![allow(clippy::unwrap_used, reason = "tests fail by panics")]

use crate::common;
use common::{kernel, run};

/// Copies 64 bytes from global memory to `words` in shared memory.
const LOAD: &str = "mov.u32 %r2, words;\nmov.u32 %r1, barrier;\n\
    ld.global.v4.u32 {%r3, %r4, %r5, %r6}, [%out];\nst.shared.v4.u32 [%r2], {%r3, %r4, %r5, %r6};\n";
const SHARED: &str = ".shared .align 16 .b8 words[64];\n.shared .align 8 .b64 barrier;";

#[test]
fn blocks_are_combined_by_elements() {
    let reduce = |operation: &str| {
        let body = format!(
            "{LOAD}cp.reduce.async.bulk.global.shared::cta.bulk_group.{operation} [%out+16], [%r2], 16;\n\
             cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;"
        );
        let words = [1, 2, u32::MAX, 4, 10, 1, 2, 4];
        run(&kernel(SHARED, &body), 1, 1, &words).unwrap()[4..].to_vec()
    };
    assert_eq!(reduce("add.u32"), [11, 3, 1, 8]);
    assert_eq!(reduce("min.s32"), [1, 1, u32::MAX, 4]);
    assert_eq!(reduce("min.u32"), [1, 1, 2, 4]);
    assert_eq!(reduce("xor.b32"), [11, 3, u32::MAX - 2, 0]);
    // Two elements of 64 bits: the first sum carries.
    assert_eq!(reduce("add.u64"), [11, 3, 1, 9]);
    assert_eq!(reduce("inc.u32"), [0, 2, 3, 0]);
}

#[test]
fn numbers_in_blocks_are_combined_in_their_format() {
    let bits = |a: f32| a.to_bits();
    let body = format!(
        "{LOAD}cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%out+16], [%r2], 16;"
    );
    let words = [1.5, -2.0, 0.25, 1e30, 1.0, 2.0, 4.0, 1e30].map(bits);
    let found = run(&kernel(SHARED, &body), 1, 1, &words).unwrap();
    assert_eq!(found[4..], [2.5, 0.0, 4.25, 2e30].map(bits));

    // 1 + 2 and 0.5 + 0.5 in each word.
    let body = format!(
        "{LOAD}cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.f16 [%out+16], [%r2], 16;"
    );
    let words = [[0x3c00_3800; 4], [0x4000_3800; 4]].concat();
    let found = run(&kernel(SHARED, &body), 1, 1, &words).unwrap();
    assert_eq!(found[4..], [0x4200_3c00; 4]);
}

#[test]
fn a_combined_block_completes_at_an_mbarrier() {
    let body = format!(
        "{LOAD}mbarrier.init.shared::cta.b64 [%r1], 1;\nmov.u32 %r7, 5;\nst.shared.u32 [words+32], %r7;\n\
         mbarrier.arrive.expect_tx.shared::cta.b64 %rd1, [%r1], 16;\n\
         cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u32 [%r2+32], [%r2], 16, [%r1];\n\
         SPIN: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r1], 0;\n@!%p2 bra SPIN;\n\
         ld.shared.u32 %r8, [words+32];\nst.global.u32 [%out+16], %r8;"
    );
    let found = run(&kernel(SHARED, &body), 1, 1, &[7, 2, 3, 4, 0]).unwrap();
    assert_eq!(found[4], 12);
}

#[test]
fn asynchronous_reductions_complete_at_an_mbarrier() {
    let body = "mov.u32 %r2, words;\nmov.u32 %r1, barrier;\nsetp.ne.u32 %p1, %r0, 0;\n@%p1 bra GO;\n\
         st.shared.u32 [words], 100;\nmbarrier.init.shared::cta.b64 [%r1], 1;\n\
         mbarrier.arrive.expect_tx.shared::cta.b64 %rd1, [%r1], 128;\n\
         GO: bar.sync 0;\n\
         red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r2], %r0, [%r1];\n\
         SPIN: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r1], 0;\n@!%p2 bra SPIN;\n\
         ld.shared.u32 %r8, [words];\nst.global.u32 [%mine], %r8;";
    let found = run(&kernel(SHARED, body), 1, 32, &[0; 32]).unwrap();
    assert_eq!(found, [100 + 31 * 16; 32]);
}

#[test]
fn parts_of_blocks_are_copied() {
    let body = format!(
        "{LOAD}mov.b16 %h0, 0x00f1;\n\
         cp.async.bulk.global.shared::cta.bulk_group.cp_mask [%out+16], [%r2], 16, %h0;"
    );
    let text = kernel(SHARED, &body).replacen(".target sm_90", ".target sm_100", 1);
    let found = run(&text, 1, 1, &[0x0102_0304, 2, 3, 4, 9, 9, 9, 9]).unwrap();
    assert_eq!(found[4..], [4, 2, 9, 9]);

    let body = "mov.u32 %r1, barrier;\nmov.u32 %r2, words;\nst.shared.v4.u32 [words], {%r0, %r0, %r0, %r0};\n\
         st.shared.v4.u32 [words+16], {%r0, %r0, %r0, %r0};\nmbarrier.init.shared::cta.b64 [%r1], 1;\n\
         mbarrier.arrive.expect_tx.shared::cta.b64 %rd1, [%r1], 32;\n\
         cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes.ignore_oob [%r2], [%out], 32, 4, 8, [%r1];\n\
         SPIN: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r1], 0;\n@!%p2 bra SPIN;\n\
         ld.shared.v4.u32 {%r2, %r3, %r4, %r5}, [words];\nst.global.v4.u32 [%out+32], {%r2, %r3, %r4, %r5};\n\
         ld.shared.v4.u32 {%r2, %r3, %r4, %r5}, [words+16];\nst.global.v4.u32 [%out+48], {%r2, %r3, %r4, %r5};";
    let words: Vec<u32> = (1..=16).collect();
    let found = run(&kernel(SHARED, body), 1, 1, &words).unwrap();
    assert_eq!(found[8..], [0, 2, 3, 4, 5, 6, 0, 0]);
}

/// A thread completes phase after phase without waiting for the others, which test each phase: every warp sees each phase complete.
#[test]
fn warps_see_each_phase_that_another_one_completes() {
    let body = "mov.u32 %r1, barrier;\nmov.u32 %r2, %tid.x;\nsetp.ne.u32 %p1, %r2, 0;\n@%p1 bra READY;\n\
         mbarrier.init.shared::cta.b64 [%r1], 1;\nREADY: bar.sync 0;\nmov.u32 %r4, 0;\n\
         LOOP: setp.ne.u32 %p1, %r2, 0;\n@!%p1 mbarrier.arrive.shared::cta.b64 %rd1, [%r1];\nand.b32 %r5, %r4, 1;\n\
         SPIN: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r1], %r5;\n@!%p2 bra SPIN;\n\
         add.u32 %r4, %r4, 1;\nsetp.lt.u32 %p1, %r4, 6;\n@%p1 bra LOOP;\nst.global.u32 [%out], %r4;";
    assert_eq!(run(&kernel(SHARED, body), 1, 96, &[0]).unwrap(), [6]);
}
