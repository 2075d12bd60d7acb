//! Launches that never end are diagnosed: what threads wait for, and where. Those that go on are not.
#![allow(clippy::unwrap_used, reason = "tests fail by panics")]

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
    machine.launch_with(&launch, RunOptions::default().with_executor(executor))?;
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
                    "{} wait{} for another value of the 32 bits at 0x600000000000 in global memory, which are 0x0 and which no thread changes",
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

/// A kernel of the families below, and how it is launched.
struct Case {
    name: &'static str,
    before: &'static str,
    body: &'static str,
    grid: u32,
    cluster: u32,
    block: u32,
}

impl Case {
    const fn new(name: &'static str, block: u32, body: &'static str) -> Self {
        Self {
            name,
            before: "",
            body,
            grid: 1,
            cluster: 1,
            block,
        }
    }

    fn run(&self) -> Result<Vec<u32>, RunError> {
        let change = |launch: &mut Launch| {
            *launch = launch.clone().shape(self.grid, self.block);
            launch.cluster = [self.cluster, 1, 1];
        };
        end(&kernel(self.before, self.body), change, &OneThread)
    }

    /// The launch ends with a deadlock whose description contains a text.
    fn hangs(&self, expected: &str) {
        let result = self.run();
        assert!(result.is_err(), "{}", self.name);
        let error = result.unwrap_err();
        assert_eq!(error.reason, StopReason::Deadlock, "{}: {error}", self.name);
        let all: Vec<_> = error.waits.iter().map(ToString::to_string).collect();
        let is_described = all.iter().any(|wait| wait.contains(expected));
        assert!(is_described, "{}: {expected}: {all:?}", self.name);
    }

    fn ends(&self) {
        let result = self.run();
        assert!(result.is_ok(), "{}: {:?}", self.name, result.err());
    }
}

/// The family of loops that read several places in turn.
#[test]
fn loops_of_several_reads() {
    for (mask, expected) in [
        (1, "0x600000000000"),
        (7, "0x600000000000"),
        (255, "0x600000000"),
    ] {
        let scan = |end: &str| {
            format!(
                "mov.u32 %r9, 0;\nagain: and.b32 %r1, %r9, {mask};\nmul.wide.u32 %rd1, %r1, 4;\nadd.s64 %rd2, %out, %rd1;\nld.volatile.global.u32 %r2, [%rd2];\n{end}\n@%p1 bra again;"
            )
        };
        let text = scan("add.u32 %r9, %r1, 1;\nsetp.eq.u32 %p1, %r2, 0;");
        let all = waits(&kernel("", &text), 1, 32);
        assert!(all[0].contains(expected), "{all:?}");
        let text = scan("add.u32 %r9, %r9, 1;\nsetp.lt.u32 %p1, %r9, 300000;");
        run(&kernel("", &text), 1, 32).unwrap();
    }
}

/// The family of loops with reductions at a barrier.
#[test]
fn reductions_at_a_barrier_in_a_loop() {
    for (reduce, test) in [
        ("bar.red.popc.u32 %r1, 0, %p1;", "setp.ne.u32 %p2, %r1, 0;"),
        ("bar.red.or.pred %p2, 0, %p1;", ""),
        ("barrier.red.and.pred %p2, 0, 96, %p1;", ""),
    ] {
        let text = |first: &str| {
            let text =
                format!("mov.u32 %r9, 0;\nagain: {first}\n{reduce}\n{test}\n@!%p2 bra again;");
            kernel("", &text)
        };
        let all = waits(
            &text("ld.volatile.global.u32 %r2, [%out];\nsetp.ne.u32 %p1, %r2, 0;"),
            1,
            96,
        );
        assert!(
            all[0].starts_with("96 threads wait for another value"),
            "{all:?}"
        );
        run(
            &text("add.u32 %r9, %r9, 1;\nsetp.gt.u32 %p1, %r9, 150000;"),
            1,
            96,
        )
        .unwrap();
    }
    // One warp counts for the others.
    Case::new(
        "counter of a warp",
        96,
        "mov.u32 %r9, 0;\nsetp.ge.u32 %p3, %r0, 64;\nagain: @%p3 add.u32 %r9, %r9, 1;\nsetp.gt.u32 %p1, %r9, 150000;\nbar.red.or.pred %p2, 0, %p1;\n@!%p2 bra again;",
    )
    .ends();
    // The warps bring true predicates in every 19th, 23rd and 29th loop: each repeats its part, but all are true together only once in 12,673 loops.
    Case::new(
        "different periods",
        96,
        "mov.u32 %r9, 1;\nmov.u32 %r5, 19;\nsetp.ge.u32 %p3, %r0, 32;\n@%p3 mov.u32 %r5, 23;\nsetp.ge.u32 %p3, %r0, 64;\n@%p3 mov.u32 %r5, 29;\n\
         again: ld.volatile.global.u32 %r2, [%out];\nadd.u32 %r9, %r9, 1;\nrem.u32 %r9, %r9, %r5;\nsetp.eq.u32 %p1, %r9, 0;\nbar.red.popc.u32 %r1, 0, %p1;\nsetp.ne.u32 %p2, %r1, 96;\n@%p2 bra again;",
    )
    .ends();
}

/// The family of loops in which threads arrive at a barrier without waiting.
#[test]
fn arrivals_without_waiting() {
    let pairs = |first: &str, second: &str| {
        let text = format!(
            "setp.lt.u32 %p1, %r0, 32;\nmov.u32 %r9, 0;\n@%p1 bra consume;\nproduce: bar.sync 1, 64;\nbar.arrive 2, 64;\n{first}\nbra end;\n\
             consume: bar.arrive 1, 64;\nbar.sync 2, 64;\n{second}\nend:"
        );
        kernel("", &text)
    };
    let poll = "ld.volatile.global.u32 %r1, [%out];\nsetp.eq.u32 %p2, %r1, 0;\n@%p2 bra consume;";
    let all = waits(&pairs("bra produce;", poll), 1, 64);
    assert!(
        all.iter()
            .any(|wait| wait.contains("32 threads wait for another value")),
        "{all:?}"
    );
    let count = |label: &str| {
        format!("add.u32 %r9, %r9, 1;\nsetp.lt.u32 %p2, %r9, 100000;\n@%p2 bra {label};")
    };
    run(&pairs(&count("produce"), &count("consume")), 1, 64).unwrap();
    // A barrier is completed by the 1,000th arrival of a warp that repeats a loop.
    Case::new(
        "many arrivals",
        64,
        "mov.u32 %r5, 32000;\nsetp.ge.u32 %p1, %r0, 32;\n@%p1 bra wait;\nagain: mov.u32 %r4, 0;\nmore: add.u32 %r4, %r4, 1;\nsetp.lt.u32 %p3, %r4, 100;\n@%p3 bra more;\n\
         bar.arrive 1, %r5;\nld.volatile.global.u32 %r1, [%out];\nsetp.eq.u32 %p2, %r1, 0;\n@%p2 bra again;\nbra end;\nwait: bar.sync 1, %r5;\nst.volatile.global.u32 [%out], 1;\nend:",
    )
    .ends();
    // Arrivals that are needed come late.
    Case::new(
        "late arrival",
        64,
        "mov.u32 %r9, 0;\nsetp.ge.u32 %p1, %r0, 32;\n@%p1 bra wait;\nagain: add.u32 %r9, %r9, 1;\nsetp.lt.u32 %p2, %r9, 300000;\n@%p2 bra again;\nbar.arrive 1, 64;\nbra end;\n\
         wait: bar.sync 1, 64;\nend:",
    )
    .ends();
}

/// The family of barriers of which only some are completed again and again.
#[test]
fn another_barrier_than_that_of_the_loop() {
    Case::new(
        "two warps loop at barrier 1",
        96,
        "setp.ge.u32 %p1, %r0, 64;\n@%p1 bra wait;\nagain: bar.sync 1, 64;\nld.volatile.global.u32 %r1, [%out];\nsetp.eq.u32 %p2, %r1, 0;\n@%p2 bra again;\nwait: bar.sync 2, 96;",
    )
    .hangs("32 threads wait for barrier 2, at which 32 of 96 threads have arrived");
    Case::new(
        "two warps loop at barrier 1 for long",
        96,
        "mov.u32 %r9, 0;\nsetp.ge.u32 %p1, %r0, 64;\n@%p1 bra wait;\nagain: bar.sync 1, 64;\nadd.u32 %r9, %r9, 1;\nsetp.lt.u32 %p2, %r9, 150000;\n@%p2 bra again;\nwait: bar.sync 2, 96;",
    )
    .ends();
}

/// The family of loops with the barrier of the cluster.
#[test]
fn cluster_barriers_in_a_loop() {
    let cluster = |name, body| Case {
        grid: 4,
        cluster: 2,
        ..Case::new(name, 64, body)
    };
    cluster(
        "flag",
        "again: barrier.cluster.arrive;\nbarrier.cluster.wait;\nld.volatile.global.u32 %r1, [%out];\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 bra again;",
    )
    .hangs("256 threads wait for another value of the 32 bits at 0x600000000000");
    cluster(
        "counter",
        "mov.u32 %r9, 0;\nagain: barrier.cluster.arrive;\nbarrier.cluster.wait;\nadd.u32 %r9, %r9, 1;\nsetp.lt.u32 %p1, %r9, 60000;\n@%p1 bra again;",
    )
    .ends();
    cluster(
        "counter of a CTA",
        "mov.u32 %r9, 0;\nmov.u32 %r2, %ctaid.x;\nsetp.eq.u32 %p3, %r2, 1;\nagain: barrier.cluster.arrive;\nbarrier.cluster.wait;\n@%p3 add.u32 %r9, %r9, 1;\nsetp.gt.u32 %p4, %r9, 60000;\n\
         @%p4 st.volatile.global.u32 [%out], 1;\nbarrier.cluster.arrive;\nbarrier.cluster.wait;\nld.volatile.global.u32 %r1, [%out];\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 bra again;",
    )
    .ends();
}

/// The family of loops that call functions through addresses.
#[test]
fn calls_through_addresses() {
    let call = |function: &str, argument: &str, end: &str| {
        let before = format!(
            ".func (.reg .b32 r) get(.reg .b64 a, .reg .b32 n)\n{{\n.reg .pred %q;\n{function}\nret;\n}}\n"
        );
        let body = format!(
            "mov.u64 %rd3, get;\nmov.u32 %r9, 0;\nproto: .callprototype (.reg .b32 _) _ (.reg .b64 _, .reg .b32 _);\nagain: add.u32 %r9, %r9, 1;\ncall (%r1), %rd3, (%out, {argument}), proto;\n{end}\n@%p1 bra again;"
        );
        kernel(&before, &body)
    };
    let zero = "setp.eq.u32 %p1, %r1, 0;";
    let read = "ld.volatile.global.u32 r, [a];";
    assert_eq!(waits(&call(read, "%r9", zero), 1, 32).len(), 1);
    for text in [
        call(read, "%r9", "setp.lt.u32 %p1, %r9, 200000;"),
        call(
            "setp.gt.u32 %q, n, 200000;\nselp.b32 r, 1, 0, %q;",
            "%r9",
            zero,
        ),
    ] {
        run(&text, 1, 32).unwrap();
    }
}

/// The family of waits for an mbarrier with a hint of the time that they may take.
#[test]
fn waits_with_a_growing_hint() {
    for (phase, parity) in [("%rd1", ""), ("0", ".parity")] {
        let wait = |arrivals: u32, end: &str| {
            let body = format!(
                "setp.ne.u32 %p7, %r0, 0;\n@%p7 bra begin;\nmbarrier.init.shared.b64 [bar], {arrivals};\nbegin: bar.sync 0;\nmov.u32 %r2, 10;\nmbarrier.arrive.shared.b64 %rd1, [bar];\n\
                 wait: mbarrier.try_wait{parity}.shared.b64 %p1, [bar], {phase}, %r2;\nadd.u32 %r2, %r2, 13;\n{end}\n@!%p1 bra wait;\nend:"
            );
            kernel(".shared .align 8 .b64 bar;", &body)
        };
        let all = waits(&wait(65, ""), 1, 64);
        assert_eq!(
            all,
            [
                "64 threads wait for the mbarrier object `bar` at 0x0 in shared memory, whose phase of parity 0 lacks 1 of 65 arrivals"
            ]
        );
        let limited = wait(65, "setp.gt.u32 %p2, %r2, 3000000;\n@%p2 bra end;");
        run(&limited, 1, 64).unwrap();
        run(&wait(64, ""), 1, 64).unwrap();
    }
}

/// The family of loops that change memory that no other thread accesses: counters and temporary values on the stack, signs of life, a lock that is taken
/// around a read.
#[test]
fn changes_that_no_other_thread_sees() {
    let poll = "ld.volatile.global.u32 %r2, [%out];\nsetp.ne.u32 %p1, %r2, 0;\n@%p1 bra end;\n";
    let flag = "for another value of the 32 bits at 0x600000000000";
    let on_stack = |limit: &str| {
        format!(
            ".local .align 8 .b8 depot[16];\nmov.u32 %r1, 0;\nst.local.u32 [depot], %r1;\nagain: {poll}ld.local.u32 %r3, [depot];\nadd.u32 %r3, %r3, 1;\nst.local.u32 [depot], %r3;\n{limit}\nbra again;\nend:"
        )
    };
    let sign_of_life = |store: &str, limit: &str| {
        format!(
            "mov.u32 %r9, 0;\nagain: add.u32 %r9, %r9, 1;\n{store}\n{poll}{limit}\nbra again;\nend:"
        )
    };
    for text in [
        on_stack(""),
        sign_of_life("st.global.u32 [%mine], %r9;", ""),
        sign_of_life("red.global.add.u32 [%mine], 3;", ""),
        sign_of_life("atom.global.exch.b32 %r3, [%mine], %r9;", ""),
        // Written twice with different values.
        sign_of_life("st.global.u32 [%mine], 1;\nst.global.u32 [%mine], 2;", ""),
    ] {
        let all = waits(&kernel("", &text.replace("%mine", "%mine+256")), 1, 1);
        assert!(all[0].contains(flag), "{all:?}");
    }
    for text in [
        on_stack("setp.gt.u32 %p1, %r3, 500000;\n@%p1 bra end;"),
        sign_of_life(
            "atom.global.add.u32 %r3, [%mine], 3;",
            "setp.gt.u32 %p1, %r3, 1500000;\n@%p1 bra end;",
        ),
        sign_of_life(
            "st.global.u32 [%mine], %r9;\nld.global.u32 %r3, [%mine];",
            "setp.gt.u32 %p1, %r3, 500000;\n@%p1 bra end;",
        ),
        // Changes once in 2^19 loops.
        sign_of_life(
            "shr.u32 %r4, %r9, 19;\nst.global.u32 [%mine], %r4;\nld.global.u32 %r3, [%mine];",
            "setp.eq.u32 %p1, %r3, 1;\n@%p1 bra end;",
        ),
    ] {
        run(&kernel("", &text.replace("%mine", "%mine+256")), 1, 1).unwrap();
    }
    // A copy of what changes once in 2^17 loops.
    let copied = sign_of_life(
        "shr.u32 %r4, %r9, 17;\nst.global.u32 [%mine+512], %r9;\nst.global.u32 [%mine+256], %r4;\ncp.async.ca.shared.global [copy], [%mine+256], 4;\ncp.async.wait_all;\nld.shared.u32 %r3, [copy];",
        "setp.eq.u32 %p1, %r3, 1;\n@%p1 bra end;",
    );
    run(&kernel(".shared .align 4 .u32 copy;", &copied), 1, 1).unwrap();
    let locked = "setp.ne.u32 %p5, %r0, 0;\n@%p5 bra end;\nagain: atom.global.cas.b32 %r1, [lock], 0, 1;\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 bra again;\n\
         ld.global.u32 %r2, [%out];\natom.global.exch.b32 %r3, [lock], 0;\nsetp.eq.u32 %p2, %r2, 0;\n@%p2 bra again;\nend:";
    let all = waits(&kernel(".global .u32 lock;", locked), 1, 32);
    // The flag, and not the lock, which is before it.
    assert!(all[0].contains("at 0x600000000200"), "{all:?}");
    assert_eq!(all.len(), 1, "{all:?}");
}

/// The family of changes that another thread sees, at once or after long.
#[test]
fn changes_that_others_see() {
    // The other warp reads the counter in each loop, in some of the steps of a longer loop, or only after long, and then writes the flag.
    for wait in [
        "wait: mov.u32 %r4, 0;\nmore: add.u32 %r4, %r4, 1;\nsetp.lt.u32 %p3, %r4, 100;\n@%p3 bra more;\nld.volatile.global.u32 %r3, [%out+256];\nsetp.lt.u32 %p3, %r3, 300000;\n@%p3 bra wait;",
        "wait: ld.volatile.global.u32 %r3, [%out+256];\nsetp.lt.u32 %p3, %r3, 300000;\n@%p3 bra wait;",
        "wait: mov.u32 %r4, 0;\nmore: add.u32 %r4, %r4, 1;\nsetp.lt.u32 %p3, %r4, 500000;\n@%p3 bra more;\nld.volatile.global.u32 %r3, [%out+256];\nsetp.eq.u32 %p3, %r3, 0;\n@%p3 bra wait;",
    ] {
        // The warp that waits runs before or after the other one.
        for waits in ["lt", "ge"] {
            let body = format!(
                "setp.{waits}.u32 %p2, %r0, 32;\nmov.u32 %r9, 0;\n@%p2 bra wait;\nagain: add.u32 %r9, %r9, 1;\nst.volatile.global.u32 [%out+256], %r9;\nld.volatile.global.u32 %r2, [%out];\n\
             setp.eq.u32 %p1, %r2, 0;\n@%p1 bra again;\nbra end;\n{wait}\nst.volatile.global.u32 [%out], 1;\nend:"
            );
            run(&kernel("", &body), 1, 64).unwrap();
        }
    }
}

/// The family of values that are stored for others and change only after long.
#[test]
fn flags_that_change_after_long() {
    let body = "setp.lt.u32 %p2, %r0, 32;\nmov.u32 %r9, 0;\n@%p2 bra wait;\nagain: add.u32 %r9, %r9, 1;\nshr.u32 %r4, %r9, 17;\nst.global.u32 [%out+512], %r9;\nst.volatile.global.u32 [%out+256], %r4;\n\
         ld.volatile.global.u32 %r2, [%out];\nsetp.eq.u32 %p1, %r2, 0;\n@%p1 bra again;\nbra end;\n\
         wait: ld.volatile.global.u32 %r3, [%out+256];\nsetp.eq.u32 %p3, %r3, 0;\n@%p3 bra wait;\nst.volatile.global.u32 [%out], 1;\nend:";
    run(&kernel("", body), 1, 64).unwrap();
}

/// The family of counters that are passed in memory, which a call copies.
#[test]
fn counters_in_parameters() {
    let before = ".func (.param .b32 r) limited(.param .b32 a)\n{\n.reg .b32 %x; .reg .pred %q;\nld.param.b32 %x, [a];\nsetp.gt.u32 %q, %x, 100000;\nselp.b32 %x, 1, 0, %q;\n\
         st.param.b32 [r], %x;\nret;\n}\n";
    let body = "mov.u32 %r9, 0;\nagain: add.u32 %r9, %r9, 1;\n{ .param .b32 a; .param .b32 r; st.param.b32 [a], %r9; call (r), limited, (a); ld.param.b32 %r1, [r]; }\n\
         setp.eq.u32 %p1, %r1, 0;\n@%p1 bra again;";
    run(&kernel(before, body), 1, 32).unwrap();
}

/// The family of lanes that exchange values among themselves while others wait.
#[test]
fn exchanges_of_a_part_of_a_warp() {
    let half = |first: &str| {
        let body = format!(
            "mov.u32 %r9, 0;\nsetp.lt.u32 %p3, %r0, 16;\n@%p3 bra wait;\nagain: {first}\nvote.sync.any.pred %p2, %p1, 0xffff0000;\n@!%p2 bra again;\nwait: bar.warp.sync 0xffffffff;"
        );
        kernel("", &body)
    };
    let all = waits(
        &half("ld.volatile.global.u32 %r1, [%out];\nsetp.ne.u32 %p1, %r1, 0;"),
        1,
        32,
    );
    assert!(
        all.contains(&"16 threads wait for the lanes 0xffff0000 of their warp".into()),
        "{all:?}"
    );
    run(
        &half("add.u32 %r9, %r9, 1;\nsetp.gt.u32 %p1, %r9, 200000;"),
        1,
        32,
    )
    .unwrap();
}

/// The family of copies and stack memory in a loop.
#[test]
fn copies_and_allocations_in_a_loop() {
    for (name, body) in [
        (
            "copy",
            "again: cp.async.ca.shared.global [buffer], [%out], 4;\ncp.async.commit_group;\ncp.async.wait_group 0;\nld.shared.u32 %r1, [buffer];\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 bra again;",
        ),
        (
            "stack",
            "again: stacksave.u64 %rd1;\nalloca.u64 %rd2, 16, 8;\nst.local.u32 [%rd2], %r0;\nstackrestore.u64 %rd1;\nld.volatile.global.u32 %r1, [%out];\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 bra again;",
        ),
        (
            "no memory of the heap",
            "again: { .param .b64 s; .param .b64 r; st.param.b64 [s], 100000000; call (r), malloc, (s); ld.param.b64 %rd1, [r]; }\nsetp.eq.u64 %p1, %rd1, 0;\n@%p1 bra again;",
        ),
    ] {
        let case = Case {
            before: ".extern .func (.param .b64 r) malloc (.param .b64 s);\n.shared .align 16 .b8 buffer[64];",
            ..Case::new(name, 32, body)
        };
        case.hangs("32 threads wait");
    }
}

/// A wait for an mbarrier object ends the turn of its warp: threads that wait for each other in many phases do not spend whole turns on it.
#[test]
fn waits_end_the_turn_of_a_warp() {
    let right = kernel("", STAGES).replace("%n, 4;", "%n, 5000;");
    let change = |launch: &mut Launch| {
        *launch = launch.clone().shape(1, 64);
        launch.limits.steps = 500_000;
    };
    end(&right, change, &OneThread).unwrap();
}
