//! Random kernels with extreme operands end within the limits, with a result or an error.
#![allow(clippy::unwrap_used, reason = "tests fail by panics")]

use std::time::{Duration, Instant};

use ptx_vm::{Checks, Launch, Machine};

use crate::common::kernel;

/// Instructions over `%r1` to `%r3`, `%rd1` to `%rd3`, `%f1` and `%p1`, whose values are extreme.
const INSTRUCTIONS: [&str; 40] = [
    "add.s32 %r4, %r1, %r2;",
    "mul.hi.s64 %rd4, %rd1, %rd2;",
    "div.s32 %r4, %r1, %r2;",
    "rem.u64 %rd4, %rd1, %rd2;",
    "shl.b32 %r4, %r1, %r2;",
    "shf.l.wrap.b32 %r4, %r1, %r2, %r3;",
    "bfe.s64 %rd4, %rd1, %r2, %r3;",
    "bfi.b32 %r4, %r1, %r2, %r3, %r1;",
    "prmt.b32 %r4, %r1, %r2, %r3;",
    "fns.b32 %r4, %r1, %r2, %r3;",
    "lop3.b32 %r4, %r1, %r2, %r3, 0x5a;",
    "mad24.hi.s32 %r4, %r1, %r2, %r3;",
    "dp4a.s32.s32 %r4, %r1, %r2, %r3;",
    "vadd.s32.s32.s32.sat %r4, %r1.h0, %r2.b3;",
    "cvt.rzi.s64.f32 %rd4, %f1;",
    "fma.rn.f32 %f2, %f1, %f1, %f1;",
    "ex2.approx.f32 %f2, %f1;",
    "shfl.sync.idx.b32 %r4|%p2, %r1, %r2, %r3, %r1;",
    "vote.sync.ballot.b32 %r4, %p1, %r1;",
    "match.any.sync.b64 %r4, %rd1, %r1;",
    "redux.sync.add.s32 %r4, %r1, %r2;",
    "bar.warp.sync %r1;",
    "barrier.sync %r1, %r2;",
    "barrier.arrive %r1, %r2;",
    "ld.u32 %r4, [%rd1];",
    "ld.global.v4.u32 {%r4, %r5, %r6, %r7}, [%rd1];",
    "st.u64 [%rd1], %rd2;",
    "st.shared.u16 [%r1], %h1;",
    "ld.local.u8 %h1, [%rd1];",
    "atom.add.u32 %r4, [%rd1], %r2;",
    "atom.shared.cas.b64 %rd4, [%r1], %rd2, %rd3;",
    "red.global.max.s64 [%rd1], %rd2;",
    "mbarrier.init.shared.b64 [%r1], %r2;",
    "mbarrier.arrive.shared.b64 %rd4, [%r1], %r2;",
    "mbarrier.try_wait.parity.shared.b64 %p2, [%r1], %r2;",
    "cp.async.ca.shared.global [%r1], [%rd1], 16, %r2;",
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1], %r2, [%r3];",
    "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd1], [%r1], %r2;",
    "alloca.u64 %rd4, %rd1;",
    "nanosleep.u32 %r1;",
];

/// Values of operands, among them addresses.
const VALUES: [u64; 22] = [
    0,
    1,
    31,
    32,
    63,
    64,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x7f80_0000,
    0x7fc0_0000,
    1 << 63,
    u64::MAX,
    u64::MAX - 15,
    0x1000_0000,
    0x1000_0100,
    0x6000_0000_0000,
    0x6000_0000_0100,
    0x7000_0000_0000,
    0x7100_0000_0000,
    0x7200_0000_0000,
    0x7300_0000_0000,
];

#[test]
fn random_kernels_with_extreme_operands_end() {
    let mut random = fastrand::Rng::with_seed(7);
    for nth in 0..600 {
        let mut body = String::new();
        for at in 1..4 {
            let value = VALUES[random.usize(..VALUES.len())];
            body.push_str(&format!("mov.u64 %rd{at}, {value:#x};\n"));
            let value = VALUES[random.usize(..VALUES.len())] as u32;
            body.push_str(&format!("mov.u32 %r{at}, {value:#x};\n"));
            if random.u8(..4) == 0 {
                body.push_str(&format!("add.u32 %r{at}, %r{at}, %r0;\n"));
            }
        }
        body.push_str("mov.b32 %f1, %r1;\nsetp.lt.s32 %p1, %r1, %r2;\n");
        let instruction = INSTRUCTIONS[nth % INSTRUCTIONS.len()];
        body.push_str(&match random.u8(..3) {
            0 => format!("again: {instruction}\nbra again;"),
            1 => format!("@%p1 {instruction}"),
            _ => instruction.to_owned(),
        });
        let text = kernel(".shared .align 128 .b8 shared[1024];", &body);
        let parsed = ptx_parse::parse_str(&text);
        assert!(parsed.diagnostics.is_empty(), "{:?}", parsed.diagnostics);
        let mut machine = Machine::new(&parsed.module);
        let data = machine.allocate(4096).unwrap();
        let threads = [1, 32, 33, 64][random.usize(..4)];
        let mut launch = Launch::new("k").shape(1, threads);
        launch = launch.argument(data.to_le_bytes());
        launch.limits.steps = 20_000;
        launch.limits.memory_bytes = 64 << 20;
        launch.limits.time = Some(Duration::from_secs(2));
        if random.bool() {
            let names = ["memcheck", "initcheck", "synccheck", "racecheck"];
            let checkers = names.iter().map(|name| name.parse().unwrap());
            launch.checks = checkers.collect::<Checks>();
        }
        let start = Instant::now();
        let _ = machine.launch(&launch);
        let taken = start.elapsed();
        assert!(taken < Duration::from_secs(10), "{taken:?}: {instruction}");
    }
}
