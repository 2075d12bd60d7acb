//! Launches that never end are diagnosed: what threads wait for, and where. Those that go on are not.
#![allow(clippy::unwrap_used)] // test helpers outside #[test] functions

use ptx_vm::{Checker, Executor, Launch, Machine, OneThread, RunError, RunOptions, StopReason};

use crate::common::kernel;

/// Four threads of the host.
#[derive(Debug)]
struct Threads;

impl Executor for Threads {
    fn run(&self, tasks: u64, task: &(dyn Fn(u64) + Sync)) {
        std::thread::scope(|scope| {
            for start in 0..4 {
                scope.spawn(move || (start..tasks).step_by(4).for_each(task));
            }
        });
    }
}

/// The first words of memory after a launch, or its error.
fn end(
    text: &str,
    change: impl Fn(&mut Launch),
    executor: &dyn Executor,
) -> Result<Vec<u32>, RunError> {
    let parsed = ptx_parse::parse_str(text);
    assert!(parsed.diagnostics.is_empty(), "{:?}", parsed.diagnostics);
    let mut machine = Machine::new(&parsed.module);
    let data = machine.allocate(4096).unwrap();
    let mut launch = Launch::new("k").argument(data.to_le_bytes());
    launch.limits.steps = 1 << 27;
    change(&mut launch);
    machine.launch_with(&launch, RunOptions::new().on(executor))?;
    let bytes = machine.read(data, 64)?;
    let words = bytes.chunks(4);
    Ok(words
        .map(|w| u32::from_le_bytes(w.try_into().unwrap()))
        .collect())
}

fn run(text: &str, grid: u32, block: u32) -> Result<Vec<u32>, RunError> {
    end(
        text,
        |launch| *launch = launch.clone().shape(grid, block),
        &OneThread,
    )
}

/// What threads wait for in a launch that ends with a deadlock.
fn waits(text: &str, grid: u32, block: u32) -> Vec<String> {
    let error = run(text, grid, block).unwrap_err();
    assert_eq!(error.reason, StopReason::Deadlock, "{error}");
    assert!(error.span.is_some());
    error.waits.iter().map(ToString::to_string).collect()
}

/// Four rounds in which one thread copies 64 bytes to one of two stages, and a warp adds them up.
const STAGES: &str = "
    .shared .align 16 .b8 stage[128];
    .shared .align 8 .b64 filled[2];
    .shared .align 8 .b64 drained[2];
    .reg .b32 %n, %s, %odd, %a, %b, %to, %v, %sum, %wait;
    setp.ne.u32 %p1, %r0, 0;
    @%p1 bra begin;
    mbarrier.init.shared.b64 [filled], 1;
    mbarrier.init.shared.b64 [filled+8], 1;
    mbarrier.init.shared.b64 [drained], 32;
    mbarrier.init.shared.b64 [drained+8], 32;
begin:
    bar.sync 0;
    mov.u32 %n, 0; mov.u32 %s, 0; mov.u32 %odd, 0; mov.u32 %sum, 0;
    setp.ge.u32 %p2, %r0, 32;
    @%p2 bra reader;
    @%p1 bra done;
writer:
    mov.u32 %a, filled; mad.lo.u32 %a, %s, 8, %a;
    mov.u32 %b, drained; mad.lo.u32 %b, %s, 8, %b;
    mov.u32 %to, stage; mad.lo.u32 %to, %s, 64, %to;
    xor.b32 %wait, %odd, 1;
empty:
    mbarrier.try_wait.parity.shared.b64 %p3, [%b], %wait;
    @!%p3 bra empty;
    mbarrier.arrive.expect_tx.shared.b64 _, [%a], 64;
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%to], [%out], 64, [%a];
    xor.b32 %s, %s, 1;
    setp.eq.u32 %p4, %s, 0;
    @%p4 xor.b32 %odd, %odd, 1;
    add.u32 %n, %n, 1;
    setp.lt.u32 %p5, %n, 4;
    @%p5 bra writer;
    bra done;
reader:
    mov.u32 %a, filled; mad.lo.u32 %a, %s, 8, %a;
    mov.u32 %b, drained; mad.lo.u32 %b, %s, 8, %b;
    mov.u32 %to, stage; mad.lo.u32 %to, %s, 64, %to;
full:
    mbarrier.try_wait.parity.shared.b64 %p3, [%a], %odd;
    @!%p3 bra full;
    ld.shared.u32 %v, [%to];
    add.u32 %sum, %sum, %v;
    mbarrier.arrive.shared.b64 _, [%b];
    xor.b32 %s, %s, 1;
    setp.eq.u32 %p4, %s, 0;
    @%p4 xor.b32 %odd, %odd, 1;
    add.u32 %n, %n, 1;
    setp.lt.u32 %p5, %n, 4;
    @%p5 bra reader;
    st.global.u32 [%mine+-64], %sum;
done:
";

#[test]
fn a_ring_of_mbarriers_with_a_mistake() {
    let right = kernel("", STAGES);
    run(&right, 1, 64).unwrap();
    for (from, to, expected) in [
        // No thread arrives where the writer waits.
        (
            "mbarrier.arrive.shared.b64 _, [%b];",
            "",
            "lacks 32 of 32 arrivals",
        ),
        // The wrong object.
        (
            "mbarrier.arrive.shared.b64 _, [%b];\n    xor",
            "mbarrier.arrive.shared.b64 _, [%a];\n    xor",
            "mbarrier object",
        ),
        // More bytes than come, and fewer.
        (
            "[%a], 64;\n    cp",
            "[%a], 96;\n    cp",
            "lacks 32 bytes of copies",
        ),
        (
            "[%a], 64;\n    cp",
            "[%a], 48;\n    cp",
            "received 16 bytes more than it expects",
        ),
        // The bytes are not expected by an arrival.
        (
            "mbarrier.arrive.expect_tx.shared.b64 _, [%a], 64;",
            "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%a], 64;",
            "lacks 1 of 1 arrivals",
        ),
        // The copy is missing.
        (
            "    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%to], [%out], 64, [%a];\n",
            "",
            "lacks 64 bytes of copies",
        ),
        // The reader stays at its stage, or at its parity.
        (
            "mbarrier.arrive.shared.b64 _, [%b];\n    xor.b32 %s, %s, 1;",
            "mbarrier.arrive.shared.b64 _, [%b];",
            "mbarrier object `filled`",
        ),
        (
            "xor.b32 %wait, %odd, 1;",
            "mov.u32 %wait, %odd;",
            "`drained` at 0x90 in shared memory, whose phase of parity 0 lacks 32 of 32 arrivals",
        ),
        // Too many arrivals are expected.
        ("[drained], 32", "[drained], 33", "lacks 1 of 33 arrivals"),
        ("[filled+8], 1", "[filled+8], 2", "`filled`+8"),
    ] {
        let text = right.replacen(from, to, 1);
        assert_ne!(text, right, "{from}");
        for checks in [&[][..], &[Checker::Synccheck, Checker::Racecheck]] {
            let change = |launch: &mut Launch| {
                *launch = launch.clone().shape(1, 64);
                launch.checks = checks.iter().copied().collect();
            };
            let error = end(&text, change, &OneThread).unwrap_err();
            if error.reason == StopReason::Deadlock {
                let all: Vec<_> = error.waits.iter().map(ToString::to_string).collect();
                assert!(
                    all.iter().any(|w| w.contains(expected)),
                    "{expected}: {all:?}"
                );
            } else {
                assert!(matches!(error.reason, StopReason::Invalid(_)), "{error}");
            }
        }
    }
}

#[test]
fn a_flag_that_is_only_read() {
    for load in [
        "ld.global.u32",
        "ld.volatile.global.u32",
        "ld.acquire.gpu.global.u32",
    ] {
        let spin = format!("again: {load} %r1, [%out];\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 bra again;");
        for (grid, block) in [(1, 1), (1, 64), (5, 32)] {
            let all = waits(&kernel("", &spin), grid, block);
            assert_eq!(
                all,
                [format!(
                    "{} wait{} for another value of the 32 bits at 0x10000100 in global memory, which are 0x0 and which no thread changes",
                    if grid * block == 1 {
                        "1 thread".into()
                    } else {
                        format!("{} threads", grid * block)
                    },
                    if grid * block == 1 { "s" } else { "" },
                )]
            );
        }
    }
}

#[test]
fn a_lock_that_is_never_free() {
    let lock = kernel(
        ".global .u32 lock = 1;",
        "again: atom.global.cas.b32 %r1, [lock], 0, 1;\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 bra again;",
    );
    let all = waits(&lock, 2, 32);
    assert!(
        all[0].starts_with("64 threads wait for another value of the 32 bits `lock` at"),
        "{all:?}"
    );
}

#[test]
fn waits_with_a_back_off() {
    // The time to sleep doubles up to a limit, and attempts are counted for nothing.
    let text = kernel(
        "",
        "mov.u32 %r2, 8; mov.u32 %r3, 0;\nagain: ld.volatile.global.u32 %r1, [%out];\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 bra end;\n\
         nanosleep.u32 %r2;\nshl.b32 %r2, %r2, 1;\nmin.u32 %r2, %r2, 256;\nadd.u32 %r3, %r3, 1;\nmov.u32 %r4, %clock;\nbra again;\nend:\nst.global.u32 [%out], %r3;",
    );
    assert_eq!(waits(&text, 1, 32).len(), 1);
}

#[test]
fn waits_in_a_function() {
    let before = ".func (.param .b32 r) read(.param .b64 a)\n{\n.reg .b64 %a; .reg .b32 %v;\nld.param.u64 %a, [a];\nld.volatile.u32 %v, [%a];\n\
        st.param.b32 [r], %v;\nret;\n}\n";
    let text = kernel(
        before,
        "again: { .param .b64 a; .param .b32 r; st.param.b64 [a], %out; call (r), read, (a); ld.param.b32 %r1, [r]; }\n\
         setp.eq.u32 %p1, %r1, 0;\n@%p1 bra again;",
    );
    let all = waits(&text, 1, 32);
    assert!(
        all[0].contains("32 threads wait for another value"),
        "{all:?}"
    );
}

/// Kernels of the family of loops that call functions: what decides when they end is not in the registers of the function that jumps back.
#[test]
fn functions_that_are_called_for_long() {
    let twice = ".func inner()\n{\n.reg .b32 %j; .reg .pred %q;\nmov.u32 %j, 0;\nagain: add.u32 %j, %j, 1;\nsetp.lt.u32 %q, %j, 2;\n@%q bra again;\nret;\n}\n\
         .func outer()\n{\n.reg .b32 %j; .reg .pred %q;\nmov.u32 %j, 0;\nagain: call inner;\nadd.u32 %j, %j, 1;\nsetp.lt.u32 %q, %j, 3;\n@%q bra again;\nret;\n}\n";
    let counts = kernel(
        twice,
        "mov.u32 %r1, 0;\nagain: call outer;\nadd.u32 %r1, %r1, 1;\nsetp.lt.u32 %p1, %r1, 200000;\n@%p1 bra again;",
    );
    run(&counts, 1, 32).unwrap();
    for (register, limit) in [("%clock64", 3_000_000), ("%globaltimer", 1_000_000)] {
        let elapsed = format!(
            ".func (.reg .b32 r) elapsed(.reg .b64 start)\n{{\n.reg .b64 %c; .reg .pred %q;\nmov.u64 %c, {register};\nsub.u64 %c, %c, start;\n\
             setp.gt.u64 %q, %c, {limit};\nselp.b32 r, 1, 0, %q;\nret;\n}}\n"
        );
        let timeout = kernel(
            &elapsed,
            &format!(
                "mov.u64 %rd1, {register};\nagain: call (%r1), elapsed, (%rd1);\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 bra again;"
            ),
        );
        run(&timeout, 1, 32).unwrap();
    }
    let recursive = ".func walk(.reg .b32 n)\n{\n.reg .b32 %a, %j; .reg .pred %q;\nsetp.eq.u32 %q, n, 0;\n@%q bra leaf;\nsub.u32 %a, n, 1;\n\
         call walk, (%a);\ncall walk, (%a);\nret;\nleaf: mov.u32 %j, 0;\nagain: add.u32 %j, %j, 1;\nsetp.lt.u32 %q, %j, 4;\n@%q bra again;\nret;\n}\n";
    run(&kernel(recursive, "call walk, (17);"), 1, 1).unwrap();
}

#[test]
fn waits_in_a_function_with_a_counter() {
    let before = ".func (.reg .b32 r) read(.reg .b64 a, .reg .b32 n)\n{\n.reg .b32 %v;\nadd.u32 %v, n, 1;\nld.volatile.global.u32 r, [a];\nret;\n}\n";
    let text = kernel(
        before,
        "mov.u32 %r3, 0;\nagain: add.u32 %r3, %r3, 1;\ncall (%r1), read, (%out, %r3);\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 bra again;\nst.global.u32 [%out], %r3;",
    );
    assert_eq!(waits(&text, 1, 32).len(), 1);
    // The function gives up after some attempts.
    let limited = text.replace(
        "ld.volatile.global.u32 r, [a];",
        "ld.volatile.global.u32 r, [a];\n.reg .pred %q;\nsetp.gt.u32 %q, n, 200000;\n@%q mov.u32 r, 1;",
    );
    assert_ne!(limited, text);
    run(&limited, 1, 32).unwrap();
}

#[test]
fn barriers_that_are_not_reached() {
    let named = kernel("", "setp.lt.u32 %p1, %r0, 32;\n@%p1 bar.sync 1, 96;");
    assert_eq!(
        waits(&named, 1, 64),
        ["32 threads wait for barrier 1, at which 32 of 96 threads have arrived"]
    );
    let lanes = kernel(
        "",
        "setp.eq.u32 %p1, %r0, 3;\n@%p1 bra other;\nbar.warp.sync 0xffffffff;\nbra end;\nother: bar.sync 2, 64;\nend:",
    );
    let all = waits(&lanes, 1, 32);
    assert!(
        all.contains(&"31 threads wait for the lanes 0x00000008 of their warp".into()),
        "{all:?}"
    );
    let mixed = kernel(
        "",
        "setp.lt.u32 %p1, %r0, 32;\n@%p1 bra wait;\nagain: ld.volatile.global.u32 %r1, [%out];\nsetp.eq.u32 %p2, %r1, 0;\n@%p2 bra again;\nwait: bar.sync 0;",
    );
    let all = waits(&mixed, 1, 64);
    assert_eq!(all.len(), 2);
    assert!(
        all.contains(
            &"32 threads wait for barrier 0, at which 32 of 64 threads have arrived".into()
        ),
        "{all:?}"
    );
}

#[test]
fn loops_with_barriers() {
    let spin = |counter: &str| {
        format!(
            "mov.u32 %r3, 0;\nagain: bar.sync 0;\nld.volatile.global.u32 %r1, [%out];\nbar.sync 0;\n{counter}\n@%p1 bra again;"
        )
    };
    let endless = spin("add.u32 %r3, %r3, 1;\nsetp.eq.u32 %p1, %r1, 0;");
    let all = waits(&kernel("", &endless), 1, 96);
    assert_eq!(all.len(), 1, "{all:?}");
    assert!(
        all[0].starts_with("96 threads wait for another value of the 32 bits"),
        "{all:?}"
    );
    for counter in [
        // All threads give up.
        "add.u32 %r3, %r3, 1;\nsetp.lt.u32 %p1, %r3, 100000;",
        // Only one warp does, and the others go on without it: it writes what they read.
        "add.u32 %r3, %r3, 1;\nsetp.gt.u32 %p2, %r3, 100000;\nsetp.gt.and.u32 %p2, %r0, 63, %p2;\n@%p2 st.volatile.global.u32 [%out], 1;\nsetp.eq.u32 %p1, %r1, 0;",
    ] {
        run(&kernel("", &spin(counter)), 1, 96).unwrap();
    }
    // One warp does not come to the barrier any more.
    let leaves = kernel(
        "",
        "setp.lt.u32 %p2, %r0, 32;\n@%p2 bra other;\nagain: bar.sync 0;\nbra again;\nother: mov.u32 %r3, 0;\nmore: bar.sync 0;\nadd.u32 %r3, %r3, 1;\nsetp.lt.u32 %p1, %r3, 100000;\n@%p1 bra more;\n\
         spin: ld.volatile.global.u32 %r1, [%out];\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 bra spin;",
    );
    let all = waits(&leaves, 1, 64);
    assert!(
        all.iter().any(|wait| wait.contains("another value")),
        "{all:?}"
    );
}

#[test]
fn a_cluster_barrier_that_one_cta_does_not_reach() {
    let text = kernel(
        "",
        "mov.u32 %r1, %cluster_ctarank;\nsetp.eq.u32 %p1, %r1, 1;\n@%p1 bra spin;\nbarrier.cluster.arrive;\nbarrier.cluster.wait;\nbra end;\n\
         spin: ld.volatile.global.u32 %r2, [%out];\nsetp.eq.u32 %p2, %r2, 0;\n@%p2 bra spin;\nend:",
    );
    let change = |launch: &mut Launch| {
        *launch = launch.clone().shape(2, 32);
        launch.cluster = [2, 1, 1];
    };
    let error = end(&text, change, &OneThread).unwrap_err();
    let all: Vec<_> = error.waits.iter().map(ToString::to_string).collect();
    assert!(all.contains(&"32 threads wait for the barrier of the cluster, at which 32 of 64 threads have arrived".into()), "{error}: {all:?}");
}

#[test]
fn loops_that_nothing_can_end() {
    for body in [
        "again: bra again;",
        "again: add.u32 %r1, %r1, 1;\nbra again;",
        "setp.ne.u32 %p1, %r0, 5;\n@%p1 bra end;\nagain: bra again;\nend: bar.sync 0;",
    ] {
        let all = waits(&kernel("", body), 1, 32);
        assert!(
            all[0].ends_with("in a loop that reads no memory and changes nothing"),
            "{all:?}"
        );
    }
}

#[test]
fn loops_that_end_after_long() {
    for body in [
        // A counter.
        "mov.u32 %r1, 0;\nagain: add.u32 %r1, %r1, 1;\nsetp.lt.u32 %p1, %r1, 500000;\n@%p1 bra again;",
        // Attempts are counted.
        "mov.u32 %r1, 0;\nagain: ld.volatile.global.u32 %r2, [%out];\nadd.u32 %r1, %r1, 1;\nsetp.eq.u32 %p1, %r2, 0;\nsetp.lt.and.u32 %p1, %r1, 300000, %p1;\n@%p1 bra again;",
        // Time passes.
        "mov.u64 %rd1, %clock64;\nagain: mov.u64 %rd2, %clock64;\nsub.s64 %rd3, %rd2, %rd1;\nsetp.lt.u64 %p1, %rd3, 1500000;\n@%p1 bra again;",
        // Every other thread of the warp waits for one that computes for long.
        "setp.eq.u32 %p1, %r0, 7;\n@%p1 bra work;\nwait: ld.volatile.global.u32 %r2, [%out+128];\nsetp.eq.u32 %p2, %r2, 0;\n@%p2 bra wait;\nbra end;\n\
         work: mov.u32 %r1, 0;\nagain: add.u32 %r1, %r1, 1;\nsetp.lt.u32 %p3, %r1, 400000;\n@%p3 bra again;\nst.volatile.global.u32 [%out+128], %r1;\nend:",
        // A pointer follows a list until it finds something.
        "mov.u64 %rd1, 0;\nagain: and.b64 %rd2, %rd1, 1023;\nadd.s64 %rd3, %out, %rd2;\nand.b64 %rd3, %rd3, -4;\nld.volatile.global.u32 %r2, [%rd3];\nadd.s64 %rd1, %rd1, 1;\nsetp.lt.u64 %p1, %rd1, 200000;\n@%p1 bra again;",
    ] {
        for checks in [false, true] {
            let change = |launch: &mut Launch| {
                *launch = launch.clone().shape(1, 32);
                launch.profile = checks;
            };
            end(&kernel("", body), change, &OneThread).unwrap();
        }
    }
}

#[test]
fn a_cta_that_waits_for_a_later_one_is_not_stuck() {
    for (load, store) in [
        ("ld.global.u32", "st.global.u32"),
        ("ld.volatile.global.u32", "st.volatile.global.u32"),
    ] {
        let text = kernel(
            "",
            &format!(
                "mov.u32 %r1, %ctaid.x;\nsetp.eq.u32 %p1, %r1, 5;\n@%p1 bra last;\nagain: {load} %r2, [%out];\nsetp.eq.u32 %p2, %r2, 0;\n@%p2 bra again;\nbra end;\n\
                 last: mov.u32 %r3, 0;\nwork: add.u32 %r3, %r3, 1;\nsetp.lt.u32 %p3, %r3, 400000;\n@%p3 bra work;\n{store} [%out], 1;\nend:"
            ),
        );
        for executor in [&OneThread as &dyn Executor, &Threads] {
            let change = |launch: &mut Launch| *launch = launch.clone().shape(6, 1);
            let words = end(&text, change, executor).unwrap();
            assert_eq!(words[0], 1);
        }
    }
}

#[test]
fn many_ctas_that_wait_for_what_is_never_written() {
    // More than are resident, and more than one thread of the host could each run for long.
    let text = kernel(
        "",
        "again: ld.global.u32 %r2, [%out];\nsetp.eq.u32 %p2, %r2, 0;\n@%p2 bra again;",
    );
    for (grid, resident) in [(300, 1024), (300, 20)] {
        let change = |launch: &mut Launch| {
            *launch = launch.clone().shape(grid, 1);
            launch.limits.steps = 1 << 24;
            launch.limits.resident_clusters = resident;
        };
        let error = end(&text, change, &OneThread).unwrap_err();
        assert_eq!(error.reason, StopReason::Deadlock, "{error}");
        assert_eq!(error.waits.len(), 1);
    }
}

#[test]
fn a_limit_says_what_was_waited_for() {
    // Thread 32 counts for long, the others wait for it.
    let text = kernel(
        ".global .u32 ready;",
        "setp.lt.u32 %p1, %r0, 32;\n@%p1 bra wait;\nmov.u64 %rd1, 0;\nagain: add.u64 %rd1, %rd1, 1;\nsetp.lt.u64 %p2, %rd1, 1000000000000;\n@%p2 bra again;\n\
         st.volatile.global.u32 [ready], 1;\nwait: ld.volatile.global.u32 %r1, [ready];\nsetp.eq.u32 %p3, %r1, 0;\n@%p3 bra wait;",
    );
    let change = |launch: &mut Launch| {
        *launch = launch.clone().shape(1, 64);
        launch.limits.steps = 1_000_000;
    };
    let error = end(&text, change, &OneThread).unwrap_err();
    assert_eq!(error.reason, StopReason::StepLimit);
    let what = error
        .waits
        .first()
        .map(ToString::to_string)
        .unwrap_or_default();
    assert!(
        what.starts_with("32 threads wait for another value of the 32 bits `ready`")
            // Another thread changes them later.
            && what.ends_with("which are 0x0"),
        "{error}"
    );
}

#[test]
fn objects_that_are_not_initialized() {
    for body in [
        "mbarrier.arrive.shared.b64 _, [bar];",
        "mbarrier.arrive.expect_tx.shared.b64 _, [bar], 16;",
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [stage], [%out], 16, [bar];",
        "mov.u32 %r1, bar;\nmapa.shared::cluster.u32 %r2, %r1, 0;\nmbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r2];",
    ] {
        let text = kernel(
            ".shared .align 8 .b64 bar;\n.shared .align 16 .b8 stage[16];",
            body,
        );
        let error = run(&text, 1, 1).unwrap_err();
        assert_eq!(
            error.reason,
            StopReason::Invalid("the mbarrier object is not initialized".into()),
            "{body}"
        );
    }
}
