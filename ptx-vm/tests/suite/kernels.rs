//! Kernels, and what they leave in memory.
#![allow(clippy::unwrap_used, reason = "tests fail by panics")]

use crate::common;
use common::{kernel, run};
use ptx_vm::{Launch, Machine, StopReason};

/// The words that a body leaves, one for each thread.
fn threads(before: &str, body: &str, block: u32) -> Vec<u32> {
    run(&kernel(before, body), 1, block, &vec![0; block as usize]).unwrap()
}

#[test]
fn lanes_leave_a_loop_at_different_times() {
    let body = "mov.u32 %r1, 0;\nmov.u32 %r2, 0;\n\
                LOOP: setp.ge.u32 %p1, %r1, %r0;\n@%p1 bra DONE;\n\
                add.u32 %r1, %r1, 1;\nadd.u32 %r2, %r2, %r1;\nbra LOOP;\n\
                DONE: activemask.b32 %r3;\npopc.b32 %r3, %r3;\n\
                mad.lo.u32 %r2, %r3, 1000, %r2;\nst.global.u32 [%mine], %r2;";
    // All lanes meet after the loop.
    let expected: Vec<u32> = (0..32).map(|i| 32_000 + i * (i + 1) / 2).collect();
    assert_eq!(threads("", body, 32), expected);
}

#[test]
fn a_lane_gets_a_lock_that_another_lane_of_the_warp_holds() {
    let body = "SPIN: atom.global.cas.b32 %r1, [%out], 0, 1;\n\
                setp.ne.u32 %p1, %r1, 0;\n@%p1 bra SPIN;\n\
                ld.global.u32 %r2, [%out+4];\nadd.u32 %r2, %r2, 1;\nst.global.u32 [%out+4], %r2;\n\
                atom.global.exch.b32 %r1, [%out], 0;";
    let found = run(&kernel("", body), 1, 32, &[0, 0]).unwrap();
    assert_eq!(found, [0, 32]);
}

#[test]
fn warps_exchange_words_through_shared_memory() {
    let before = ".shared .align 4 .b8 words[512];";
    let body = "mov.u32 %r1, words;\nshl.b32 %r2, %r0, 2;\nadd.u32 %r3, %r1, %r2;\n\
                st.shared.u32 [%r3], %r0;\nbar.sync 0;\n\
                sub.u32 %r4, 508, %r2;\nadd.u32 %r4, %r1, %r4;\nld.shared.u32 %r5, [%r4];\n\
                st.global.u32 [%mine], %r5;";
    let expected: Vec<u32> = (0..128).rev().collect();
    assert_eq!(threads(before, body, 128), expected);
}

#[test]
fn barriers_reduce() {
    let body = "setp.lt.u32 %p1, %r0, 37;\nbar.red.popc.u32 %r1, 0, %p1;\n\
                bar.red.and.pred %p2, 1, %p1;\nbar.red.or.pred %p3, 1, !%p1;\n\
                selp.u32 %r2, 100, 0, %p2;\nselp.u32 %r3, 200, 0, %p3;\n\
                add.u32 %r1, %r1, %r2;\nadd.u32 %r1, %r1, %r3;\nst.global.u32 [%mine], %r1;";
    assert_eq!(threads("", body, 64), [237; 64]);
}

#[test]
fn lanes_exchange_values() {
    let body = "mov.u32 %r1, %r0;\n\
                shfl.sync.bfly.b32 %r2, %r1, 16, 31, -1;\nadd.u32 %r1, %r1, %r2;\n\
                shfl.sync.bfly.b32 %r2, %r1, 8, 31, -1;\nadd.u32 %r1, %r1, %r2;\n\
                shfl.sync.bfly.b32 %r2, %r1, 4, 31, -1;\nadd.u32 %r1, %r1, %r2;\n\
                shfl.sync.bfly.b32 %r2, %r1, 2, 31, -1;\nadd.u32 %r1, %r1, %r2;\n\
                shfl.sync.bfly.b32 %r2, %r1, 1, 31, -1;\nadd.u32 %r1, %r1, %r2;\n\
                shfl.sync.up.b32 %r3|%p1, %r0, 1, 0, -1;\nselp.u32 %r3, %r3, 1000, %p1;\n\
                add.u32 %r1, %r1, %r3;\nst.global.u32 [%mine], %r1;";
    let expected: Vec<u32> = (0..32u32)
        .map(|i| 496 + i.checked_sub(1).unwrap_or(1000))
        .collect();
    assert_eq!(threads("", body, 32), expected);
}

#[test]
fn registers_wider_than_a_result_get_zeros() {
    // `a` to `d` must not change: words and pairs of words are numbered separately.
    for (result, computed) in [
        (0x3f80_0000, "cvt.rn.sat.f32.u64 wide, 7;"),
        (0x4000, "cvt.rn.f16.f32 wide, 0f40000000;"),
        (
            0x4000_4000,
            "cvt.rn.f16x2.f32 wide, 0f40000000, 0f40000000;",
        ),
        (0xffff_fff9, "cvt.u32.s32 wide, -7;"),
    ] {
        let body = format!(
            ".reg .b32 a, b, c, d; .reg .b64 other, wide;\n\
             mov.b32 a, 1;\nmov.b32 b, 2;\nmov.b32 c, 3;\nmov.b32 d, 4;\n\
             mov.b64 other, -1;\nmov.b64 wide, -1;\n{computed}\n\
             mov.b64 {{%r1, %r2}}, wide;\nmov.b64 {{%r3, %r4}}, other;\n\
             add.u32 a, a, b;\nadd.u32 c, c, d;\n\
             st.global.v4.b32 [%out], {{%r1, %r2, %r3, %r4}};\nst.global.v2.b32 [%out+16], {{a, c}};"
        );
        let found = run(&kernel("", &body), 1, 1, &[0; 6]).unwrap();
        let all = u32::MAX;
        assert_eq!(found, [result, 0, all, all, 3, 7], "{computed}");
    }
}

#[test]
fn registers_of_128_bits_are_filled_by_signs() {
    for (low, high, computed) in [
        (0x3f80_0000i64, 0i64, "cvt.rn.f32.u64 wide, 1;"),
        (0x3f80_0000, 0, "cvt.rn.sat.f32.u64 wide, 7;"),
        (-7, 0, "cvt.u64.s64 wide, -7;"),
        (-7, -1, "cvt.s64.s32 wide, -7;"),
        (-7, -1, "cvt.s32.s64 wide, -7;"),
        (-9, 0, "ld.global.b64 wide, [value];"),
        (-9, -1, "ld.global.s64 wide, [value];"),
        (-9, -1, "ld.global.s8 wide, [value];"),
        (0xf7, 0, "ld.global.u8 wide, [value];"),
    ] {
        let before = ".global .b64 value = -9;";
        let body = format!(
            ".reg .b128 wide; .reg .b64 low, high;\nmov.b64 low, -1;\nmov.b128 wide, {{low, low}};\n{computed}\n\
             mov.b128 {{low, high}}, wide;\nst.global.v2.b64 [%out], {{low, high}};"
        );
        let found = run(&kernel(before, &body), 1, 1, &[0; 4]).unwrap();
        let words = [low as u32, (low >> 32) as u32, high as u32, high as u32];
        assert_eq!(found, words, "{computed}");
    }
}

#[test]
fn lanes_at_different_places_vote_together() {
    let body = "and.b32 %r1, %r0, 1;\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 bra EVEN;\n\
                vote.sync.ballot.b32 %r2, %p1, -1;\nbra END;\n\
                EVEN: vote.sync.ballot.b32 %r2, %p1, -1;\n\
                END: st.global.u32 [%mine], %r2;";
    assert_eq!(threads("", body, 32), [0x5555_5555; 32]);
}

#[test]
fn lanes_with_equal_values_find_each_other() {
    let body = "shr.u32 %r1, %r0, 3;\nmatch.any.sync.b32 %r2, %r1, -1;\n\
                redux.sync.max.s32 %r3, %r0, -1;\nadd.u32 %r2, %r2, %r3;\nst.global.u32 [%mine], %r2;";
    let expected: Vec<u32> = (0..32)
        .map(|i: u32| (0xffu32 << (i / 8 * 8)).wrapping_add(31))
        .collect();
    assert_eq!(threads("", body, 32), expected);
}

/// The factorial, by recursion, with parameters in memory.
const FACTORIAL: &str = ".func (.param .b32 result) factorial(.param .b32 n)\n{\n\
    .reg .b32 %r<4>;\n.reg .pred %p;\n.local .b32 kept;\n\
    ld.param.u32 %r0, [n];\nsetp.gt.u32 %p, %r0, 1;\n@%p bra MORE;\n\
    st.param.b32 [result], 1;\nret;\n\
    MORE: st.local.u32 [kept], %r0;\nsub.u32 %r1, %r0, 1;\n\
    {\n.param .b32 argument;\n.param .b32 found;\n\
    st.param.b32 [argument], %r1;\ncall (found), factorial, (argument);\n\
    ld.param.b32 %r2, [found];\n}\n\
    ld.local.u32 %r3, [kept];\nmul.lo.u32 %r2, %r2, %r3;\nst.param.b32 [result], %r2;\nret;\n}";

#[test]
fn functions_call_themselves() {
    let body = "and.b32 %r1, %r0, 7;\n\
                {\n.param .b32 argument;\n.param .b32 found;\n\
                st.param.b32 [argument], %r1;\ncall (found), factorial, (argument);\n\
                ld.param.b32 %r2, [found];\n}\nst.global.u32 [%mine], %r2;";
    let factorial = |n: u32| (1..=n).product::<u32>();
    let expected: Vec<u32> = (0..32).map(|i| factorial(i & 7)).collect();
    assert_eq!(threads(FACTORIAL, body, 32), expected);
}

#[test]
fn a_call_determines_the_number_of_arguments() {
    let before = ".func (.param .b32 sum) add(.param .b32 n, .param .align 8 .b8 others[])\n{\n\
        .reg .b32 %r<8>;\n.reg .b64 %rd<4>;\n.reg .pred %p;\n.local .b32 kept;\n\
        ld.param.u32 %r0, [n];\nmov.u64 %rd0, others;\nmov.u32 %r1, 0;\n\
        LOOP: ld.local.u32 %r2, [%rd0];\nadd.u32 %r1, %r1, %r2;\nst.local.u32 [kept], %r1;\nadd.u64 %rd0, %rd0, 4;\n\
        sub.u32 %r0, %r0, 1;\nsetp.ne.u32 %p, %r0, 0;\n@%p bra LOOP;\n\
        ld.local.u32 %r1, [kept];\nst.param.b32 [sum], %r1;\nret;\n}";
    let body = "{\n.param .b32 n;\n.param .align 8 .b8 others[12];\n.param .b32 sum;\nst.param.b32 [n], 3;\n\
                st.param.b32 [others], %r0;\nst.param.b32 [others+4], 100;\nst.param.b32 [others+8], 1000;\n\
                call (sum), add, (n, others);\nld.param.b32 %r1, [sum];\n}\n\
                {\n.param .b32 n;\n.param .align 8 .b8 others[4];\n.param .b32 sum;\nst.param.b32 [n], 1;\nst.param.b32 [others], %r1;\n\
                call (sum), add, (n, others);\nld.param.b32 %r1, [sum];\n}\nst.global.u32 [%mine], %r1;";
    let expected: Vec<u32> = (1100..1132).collect();
    assert_eq!(threads(before, body, 32), expected);
}

#[test]
fn the_clock_advances_with_each_step() {
    let body = "mov.u64 %rd1, %clock64;\nadd.u32 %r1, %r0, 1;\nadd.u32 %r1, %r1, 1;\nmov.u64 %rd2, %clock64;\n\
                sub.s64 %rd3, %rd2, %rd1;\ncvt.u32.u64 %r2, %rd3;\nst.global.u32 [%mine], %r2;";
    assert_eq!(threads("", body, 2), [3, 3]);
}

#[test]
fn lanes_call_different_functions() {
    let before = ".func (.reg .u32 d) twice(.reg .u32 a) { add.u32 d, a, a; ret; }\n\
                  .func (.reg .u32 d) square(.reg .u32 a) { mul.lo.u32 d, a, a; ret; }\n\
                  .global .u64 functions[2] = { twice, square };";
    let body = "prototype: .callprototype (.reg .u32 d) _ (.reg .u32 a);\n\
                and.b32 %r1, %r0, 1;\nmul.wide.u32 %rd1, %r1, 8;\nmov.u64 %rd2, functions;\nadd.s64 %rd2, %rd2, %rd1;\n\
                ld.global.u64 %rd3, [%rd2];\ncall (%r2), %rd3, (%r0), prototype;\nst.global.u32 [%mine], %r2;";
    let expected: Vec<u32> = (0..32)
        .map(|i| if i % 2 == 0 { 2 * i } else { i * i })
        .collect();
    assert_eq!(threads(before, body, 32), expected);
}

#[test]
fn an_index_selects_a_label() {
    let body = "targets: .branchtargets A, B, C;\nrem.u32 %r1, %r0, 3;\nbrx.idx %r1, targets;\n\
                A: mov.u32 %r2, 10;\nbra END;\nB: mov.u32 %r2, 20;\nbra END;\nC: mov.u32 %r2, 30;\n\
                END: st.global.u32 [%mine], %r2;";
    let expected: Vec<u32> = (0..32).map(|i| [10, 20, 30][i % 3]).collect();
    assert_eq!(threads("", body, 32), expected);
}

/// Lanes that change the same places do so in their order.
#[test]
fn atomic_operations_of_lanes_at_few_places() {
    let before = ".shared .align 8 .b64 sums[8];\n.shared .align 4 .b32 counts[8];";
    let body = "rem.u32 %r1, %r0, 5;\nshl.b32 %r2, %r1, 2;\nmov.u32 %r3, counts;\nadd.u32 %r3, %r3, %r2;\n\
                shl.b32 %r2, %r1, 3;\nmov.u32 %r4, sums;\nadd.u32 %r4, %r4, %r2;\n\
                mov.u64 %rd1, 0;\ncvt.u64.u32 %rd2, %r0;\n\
                st.shared.u32 [%r3], 0;\nst.shared.u64 [%r4], %rd1;\nbar.sync 0;\n\
                atom.shared.add.u32 %r5, [%r3], 1;\natom.shared.add.u64 %rd3, [%r4], %rd2;\n\
                cvt.u32.u64 %r6, %rd3;\nmad.lo.u32 %r5, %r5, 1000, %r6;\nst.global.u32 [%mine], %r5;";
    let earlier = |lane: u32| (0..lane).filter(move |l| l % 5 == lane % 5);
    let expected: Vec<u32> = (0..32)
        .map(|lane| earlier(lane).count() as u32 * 1000 + earlier(lane).sum::<u32>())
        .collect();
    assert_eq!(threads(before, body, 32), expected);
}

#[test]
fn atomic_operations_of_all_lanes_count() {
    let body = "atom.global.add.u32 %r1, [%out], 1;\nred.global.max.u32 [%out+4], %r0;\n\
                atom.global.inc.u32 %r2, [%out+8], 9;\n\
                cvt.rn.f32.u32 %f1, %r0;\nred.global.add.f32 [%out+12], %f1;";
    let found = run(&kernel("", body), 2, 64, &[0; 4]).unwrap();
    assert_eq!(found, [128, 63, 8, 4032.0f32.to_bits()]);
}

#[test]
fn bytes_vectors_and_generic_addresses() {
    let before =
        ".const .align 4 .b8 table[4] = { 0x80, 2, 3, 4 };\n.shared .align 16 .b8 buffer[64];";
    let body = "mov.u64 %rd1, table;\nld.const.s8 %r1, [%rd1];\nst.global.u32 [%out], %r1;\n\
                ld.const.u8 %r2, [table+3];\nst.global.u32 [%out+4], %r2;\n\
                mov.u64 %rd2, buffer;\ncvta.shared.u64 %rd3, %rd2;\n\
                st.v4.u32 [%rd3+16], {1, 2, 3, 4};\nld.shared.v2.u32 {%r3, %r4}, [buffer+24];\n\
                st.global.v2.u32 [%out+8], {%r3, %r4};\nisspacep.shared %p1, %rd3;\nisspacep.global %p2, %rd3;\n\
                selp.u32 %r5, 1, 0, %p1;\nselp.u32 %r6, 2, 0, %p2;\nadd.u32 %r5, %r5, %r6;\nst.global.u32 [%out+16], %r5;";
    let found = run(&kernel(before, body), 1, 1, &[0; 6]).unwrap();
    assert_eq!(found, [0xffff_ff80, 4, 3, 4, 1, 0]);
}

#[test]
fn addresses_of_variables_are_initial_values() {
    let before =
        ".global .u32 value = 7;\n.global .u64 pointer = generic(value);\n.global .f32 half = 0.5;";
    let body = "ld.global.u64 %rd1, [pointer];\nld.u32 %r1, [%rd1];\nst.global.u32 [%out], %r1;\n\
                ld.global.f32 %f1, [half];\nst.global.f32 [%out+4], %f1;";
    let found = run(&kernel(before, body), 1, 1, &[0; 2]).unwrap();
    assert_eq!(found, [7, 0.5f32.to_bits()]);
}

fn reason(body: &str, block: u32) -> StopReason {
    run(&kernel("", body), 1, block, &[0; 64])
        .unwrap_err()
        .reason
}

#[test]
fn faults_end_a_run() {
    assert_eq!(reason("trap;", 1), StopReason::Trap);
    assert_eq!(reason("FOREVER: bra FOREVER;", 1), StopReason::StepLimit);
    assert!(matches!(
        reason("ld.global.u32 %r1, [%out+2];", 1),
        StopReason::Misaligned(_)
    ));
    assert!(matches!(
        reason("mov.u64 %rd1, 64;\nld.global.u32 %r1, [%rd1];", 1),
        StopReason::OutOfBounds(64)
    ));
    assert_eq!(
        reason("mov.u32 %r2, 1024;\nld.shared.u32 %r1, [%r2];", 1),
        StopReason::OutOfBounds(1024)
    );
    let waits = "setp.eq.u32 %p1, %r0, 0;\n@%p1 bra END;\nbar.sync 0, 64;\nEND:";
    assert_eq!(reason(waits, 64), StopReason::Deadlock);
}

#[test]
fn an_error_names_the_place() {
    let body = "setp.eq.u32 %p1, %r0, 5;\n@%p1 trap;";
    let error = run(&kernel("", body), 1, 32, &[0]).unwrap_err();
    assert_eq!(error.thread, [5, 0, 0]);
    assert_eq!(error.function, "k");
    assert_eq!(error.instruction, "@%p1 trap;");
}

#[test]
fn threads_wait_for_a_phase_of_an_mbarrier() {
    let before = ".shared .align 8 .b64 barrier;\n.shared .align 16 .b8 words[512];";
    // One thread expects the bytes of the copy; all threads wait for them.
    let body = "mov.u32 %r1, barrier;\nmov.u32 %r2, words;\nsetp.ne.u32 %p1, %r0, 0;\n@%p1 bra WAIT;\n\
                mbarrier.init.shared::cta.b64 [%r1], 1;\n\
                mbarrier.arrive.expect_tx.shared::cta.b64 %rd1, [%r1], 256;\n\
                cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%out], 256, [%r1];\n\
                WAIT: bar.sync 0;\n\
                SPIN: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r1], 0;\n@!%p2 bra SPIN;\n\
                shl.b32 %r3, %r0, 2;\nsub.u32 %r3, 252, %r3;\nadd.u32 %r3, %r2, %r3;\nld.shared.u32 %r4, [%r3];\n\
                st.global.u32 [%mine], %r4;";
    let words: Vec<u32> = (100..164).collect();
    let found = run(&kernel(before, body), 1, 64, &words).unwrap();
    assert_eq!(found, words.into_iter().rev().collect::<Vec<_>>());
}

#[test]
fn asynchronous_copies_fill_with_zeros() {
    let before = ".shared .align 16 .b8 words[64];";
    let body = "mov.u32 %r1, words;\nst.shared.u32 [words+12], 9;\n\
                cp.async.ca.shared.global [%r1], [%out], 16, 8;\ncp.async.commit_group;\ncp.async.wait_group 0;\n\
                ld.shared.v4.u32 {%r2, %r3, %r4, %r5}, [words];\nst.global.v4.u32 [%out+16], {%r2, %r3, %r4, %r5};";
    let found = run(&kernel(before, body), 1, 1, &[1, 2, 3, 4, 5, 6, 7, 8]).unwrap();
    assert_eq!(found, [1, 2, 3, 4, 1, 2, 0, 0]);
}

#[test]
fn kernels_print() {
    let text = |text: &str| {
        let bytes: Vec<String> = text.bytes().map(|b| b.to_string()).collect();
        format!("{{ {}, 0 }}", bytes.join(", "))
    };
    let before = format!(
        ".extern .func (.param .b32 result) vprintf(.param .b64 format, .param .b64 arguments);\n\
         .global .b8 message[] = {};\n.global .b8 name[] = {};",
        text("%s: %5d|%-6u|%08.3f|%#llx|%c|%g|%e%%\n"),
        text("lane")
    );
    let body = "{\n.local .align 8 .b8 arguments[56];\n.reg .b64 %pointer;\n.reg .b64 %generic;\n\
                .param .b64 first;\n.param .b64 second;\n.param .b32 written;\n\
                mov.u64 %pointer, arguments;\ncvta.local.u64 %generic, %pointer;\n\
                mov.u64 %rd1, name;\nst.local.u64 [%pointer], %rd1;\n\
                sub.s32 %r1, 0, %r0;\nst.local.u32 [%pointer+8], %r1;\nst.local.u32 [%pointer+12], 42;\n\
                st.local.f64 [%pointer+16], 0dC00921FB54442D18;\nst.local.u64 [%pointer+24], 0xabcdef0123;\n\
                st.local.u32 [%pointer+32], 65;\nst.local.f64 [%pointer+40], 0d3F50624DD2F1A9FC;\n\
                st.local.f64 [%pointer+48], 0d40F86A0000000000;\n\
                st.param.b64 [first], message;\nst.param.b64 [second], %generic;\n\
                call (written), vprintf, (first, second);\nld.param.b32 %r2, [written];\n}\nst.global.u32 [%mine], %r2;";
    let text = kernel(&before, body).replace(
        "st.param.b64 [first], message;",
        "mov.u64 %rd2, message;\nst.param.b64 [first], %rd2;",
    );
    let parsed = ptx_parse::parse_str(&text);
    let mut machine = Machine::new(&parsed.module);
    let data = machine.allocate(8).unwrap();
    let launch = Launch::new("k").shape(1, 2).argument(data.to_le_bytes());
    let outcome = machine.launch(&launch).unwrap();
    let line =
        |n: &str| format!("lane: {n:>5}|42    |-003.142|0xabcdef0123|A|0.001|1.000000e+05%\n");
    let expected = format!("{}{}", line("0"), line("-1"));
    assert_eq!(String::from_utf8_lossy(&outcome.output), expected);
    assert_eq!(machine.read(data, 4).unwrap(), [8, 0, 0, 0]);
}

#[test]
fn clusters_reach_the_shared_memory_of_each_other() {
    let before = ".shared .b32 word;";
    let body = "mov.u32 %r1, %cluster_ctarank;\nadd.u32 %r2, %r1, 7;\nst.shared.u32 [word], %r2;\n\
                barrier.cluster.arrive;\nbarrier.cluster.wait;\n\
                xor.b32 %r3, %r1, 1;\nmov.u32 %r4, word;\nmapa.shared::cluster.u32 %r5, %r4, %r3;\n\
                ld.shared::cluster.u32 %r6, [%r5];\n\
                mov.u32 %r7, %ctaid.x;\nmul.wide.u32 %rd1, %r7, 4;\nadd.s64 %rd1, %out, %rd1;\nst.global.u32 [%rd1], %r6;\n\
                barrier.cluster.arrive;\nbarrier.cluster.wait;";
    let text = kernel(before, body);
    let parsed = ptx_parse::parse_str(&text);
    assert!(!parsed.has_errors());
    let mut machine = Machine::new(&parsed.module);
    let data = machine.allocate(16).unwrap();
    let mut launch = Launch::new("k").shape(4, 1).argument(data.to_le_bytes());
    launch.cluster = [2, 1, 1];
    machine.launch(&launch).unwrap();
    let words = machine.read(data, 16).unwrap();
    let words: Vec<u8> = words.chunks(4).map(|w| w[0]).collect();
    assert_eq!(words, [8, 7, 8, 7]);
}

#[test]
fn results_below_the_normal_numbers_are_flushed_by_their_rounding() {
    // The product is 2^-126 - 2^-150 or so: with the digits of a subnormal number it would be rounded up to 2^-126.
    let body = "mov.b32 %f1, 0x3f7fffff;\nmov.b32 %f2, 0x00800000;\nmul.ftz.f32 %f3, %f1, %f2;\nmul.f32 %f4, %f1, %f2;\n\
                fma.rn.ftz.f32 %f5, %f1, %f2, 0f00000000;\n\
                st.global.f32 [%out], %f3;\nst.global.f32 [%out+4], %f4;\nst.global.f32 [%out+8], %f5;";
    let found = run(&kernel("", body), 1, 1, &[9; 3]).unwrap();
    assert_eq!(found, [0, 0x0080_0000, 0]);
}

#[test]
fn impossible_sizes_are_errors() {
    let launch = |before: &str, body: &str, change: &dyn Fn(&mut Launch)| {
        let text = kernel(before, body);
        let parsed = ptx_parse::parse_str(&text);
        let mut launch = Launch::new("k").argument([0; 8]);
        change(&mut launch);
        let found = Machine::new(&parsed.module).launch(&launch);
        found.map_err(|e| e.reason)
    };
    let is_refused = |found: Result<_, StopReason>| matches!(found, Err(StopReason::Launch(_)));
    assert!(is_refused(launch("", "", &|l| l.block = [u32::MAX; 3])));
    assert!(is_refused(launch("", "", &|l| l.grid = [u32::MAX; 3])));
    assert!(is_refused(launch("", "", &|l| l.shared = u32::MAX)));
    let huge = ".global .b8 huge[9223372036854775807];";
    assert!(is_refused(launch(huge, "", &|_| {})));
    let local = ".local .b8 huge[4294967296];";
    assert_eq!(
        launch("", local, &|_| {}).err(),
        Some(StopReason::StackLimit)
    );
    // The last address of all, in a store of 8 bytes.
    let end = "mov.u64 %rd1, -8;\nst.global.u64 [%rd1], %rd1;";
    let last = StopReason::OutOfBounds(u64::MAX - 7);
    assert_eq!(launch("", end, &|_| {}).err(), Some(last));
}

#[test]
fn packed_halves_are_added_in_memory() {
    // 1 and 2 in halves of 16 bits are added to 3 and 4; the lanes add one after the other.
    let body = "mov.b32 %r5, 0x40003c00;\n\
                atom.global.add.noftz.f16x2 %r1, [%out], %r5;\nst.global.u32 [%mine+4], %r1;\n\
                mov.b32 %r5, 0x40003f80;\nred.global.add.noftz.bf16x2 [%out+12], %r5;";
    let found = run(&kernel("", body), 1, 2, &[0x4400_4200, 0, 0, 0x4080_4040]).unwrap();
    // 3 + 1 = 4, 4 + 2 = 6; 4 + 1 = 5, 6 + 2 = 8.
    assert_eq!(found, [0x4800_4500, 0x4400_4200, 0x4600_4400, 0x4100_40a0]);
}

#[test]
fn lanes_with_different_masks_exchange_at_one_instruction() {
    // Each quarter of the warp names its own lanes; then two branches exchange values in different registers.
    let body = "and.b32 %r1, %r0, 24;\nshl.b32 %r2, 255, %r1;\nshfl.sync.bfly.b32 %r3, %r0, 1, 6175, %r2;\n\
                bar.warp.sync %r2;\nredux.sync.add.u32 %r4, %r0, %r2;\nmad.lo.u32 %r3, %r4, 100, %r3;\n\
                setp.lt.u32 %p1, %r0, 16;\n@%p1 bra LOW;\n\
                add.u32 %r5, %r0, 1000;\nshfl.sync.idx.b32 %r6, %r5, 0, 31, -1;\nbra END;\n\
                LOW: add.u32 %r7, %r0, 50;\nshfl.sync.idx.b32 %r8, %r7, 31, 31, -1;\nmov.u32 %r6, %r8;\n\
                END: mad.lo.u32 %r3, %r6, 100000, %r3;\nst.global.u32 [%mine], %r3;";
    let expected: Vec<u32> = (0..32)
        .map(|i| {
            let first = i / 8 * 8;
            let from = if i < 16 { 1031 } else { 50 };
            from * 100_000 + (8 * first + 28) * 100 + (i ^ 1)
        })
        .collect();
    assert_eq!(threads("", body, 32), expected);
}

#[test]
fn lanes_that_have_ended_are_not_waited_for() {
    // The even lanes return before the others exchange values with all lanes named.
    let body = "and.b32 %r1, %r0, 1;\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 bra END;\n\
                bar.warp.sync -1;\nvote.sync.ballot.b32 %r2, 1, -1;\nst.global.u32 [%mine], %r2;\nEND:";
    let expected: Vec<u32> = (0..32).map(|i| i % 2 * 0xaaaa_aaaa).collect();
    assert_eq!(threads("", body, 32), expected);
}

#[test]
fn a_lane_gets_a_lock_by_a_function_that_it_calls() {
    let before = ".func (.reg .u32 d) swap(.reg .u64 a, .reg .u32 old, .reg .u32 new) { atom.global.cas.b32 d, [a], old, new; ret; }";
    let body = "SPIN: call (%r1), swap, (%out, 0, 1);\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 bra SPIN;\n\
                ld.global.u32 %r2, [%out+4];\nadd.u32 %r2, %r2, 1;\nst.global.u32 [%out+4], %r2;\n\
                atom.global.exch.b32 %r1, [%out], 0;";
    let found = run(&kernel(before, body), 1, 32, &[0, 0]).unwrap();
    assert_eq!(found, [0, 32]);
}

#[test]
fn lanes_change_a_place_in_their_order() {
    // Four places, and each of them by eight lanes; 64 words apart, so that they look the same to a small set of addresses.
    let body = "and.b32 %r1, %r0, 3;\nmul.wide.u32 %rd1, %r1, 256;\nadd.s64 %rd1, %rd1, %out;\n\
                atom.global.add.u32 %r2, [%rd1+128], 10;\nst.global.u32 [%mine], %r2;";
    let found = run(&kernel("", body), 1, 32, &[0; 256]).unwrap();
    let expected: Vec<u32> = (0..32).map(|lane| lane / 4 * 10).collect();
    assert_eq!(found[..32], expected);
    let sums: Vec<u32> = (0..4).map(|place| found[32 + place * 64]).collect();
    assert_eq!(sums, [80; 4]);
}

#[test]
fn a_grid_has_a_barrier_of_all_blocks() {
    // The first word is the size; the second one counts the blocks, in each launch from zero.
    let body = "mov.u32 %r1, %envreg1;\nmov.u32 %r2, %envreg2;\nmov.b64 %rd1, {%r2, %r1};\n\
                atom.global.add.u32 %r3, [%rd1+4], 1;\n\
                WAIT: ld.volatile.global.u32 %r4, [%rd1+4];\nsetp.ne.u32 %p1, %r4, 2;\n@%p1 bra WAIT;\n\
                red.global.add.u32 [%out], %r4;";
    assert_eq!(run(&kernel("", body), 2, 1, &[0]).unwrap(), [4]);
}

/// Lanes that come to a place in more than two groups go on together.
#[test]
fn all_groups_at_a_place_go_on_together() {
    let body = "mov.u32 %r1, 0;\nLOOP:\nadd.u32 %r1, %r1, 1;\nsetp.le.u32 %p1, %r1, %r0;\n@%p1 bra LOOP;\n\
        activemask.b32 %r2;\nst.global.u32 [%mine], %r2;";
    assert_eq!(run(&kernel("", body), 1, 8, &[0; 8]).unwrap(), [0xff; 8]);
}
