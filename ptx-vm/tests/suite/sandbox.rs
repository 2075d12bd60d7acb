//! Kernels that use all memory or time that they can get.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panics")]

use std::time::{Duration, Instant};

use ptx_vm::{Checker, Launch, Machine, Progress, RunError, RunOptions, StopReason};

use crate::common::kernel;

fn end(text: &str, change: impl Fn(&mut Launch)) -> Result<usize, RunError> {
    let parsed = ptx_parse::parse_str(text);
    assert!(parsed.diagnostics.is_empty(), "{:?}", parsed.diagnostics);
    let mut machine = Machine::new(&parsed.module);
    let data = machine.allocate(4096).unwrap();
    let mut launch = Launch::new("k").argument(data.to_le_bytes());
    launch.limits.steps = 1 << 24;
    launch.limits.memory_bytes = 16 << 20;
    change(&mut launch);
    let ended = machine.launch(&launch);
    assert!(machine.output().len() <= 1 << 20);
    ended.map(|outcome| outcome.output.len())
}

/// The text of an error that a limit of 16 MiB gives.
fn refused(text: &str, change: impl Fn(&mut Launch)) -> String {
    match end(text, change).unwrap_err().reason {
        StopReason::MemoryLimit(what) => what,
        other => panic!("{other}"),
    }
}

const LARGE: &str = ".global .align 128 .b8 large[1000000000000];";

/// Goes through a variable in steps of a page.
fn touch(access: &str) -> String {
    let body = format!(
        "mov.u64 %rd1, large;\nmov.u32 %r1, 0;\nagain: {access}\nadd.s64 %rd1, %rd1, 65536;\nadd.u32 %r1, %r1, 1;\nsetp.lt.u32 %p1, %r1, 100000;\n@%p1 bra again;"
    );
    kernel(LARGE, &body)
}

#[test]
fn declared_memory_and_reads_of_it_cost_nothing() {
    let start = Instant::now();
    for access in [
        "ld.global.u32 %r2, [%rd1];",
        "ld.global.v2.u64 {%rd2, %rd3}, [%rd1+64];",
        "ld.global.u8 %h1, [%rd1+3];",
    ] {
        end(&touch(access), |_| {}).unwrap();
    }
    assert!(start.elapsed() < Duration::from_secs(20));
}

#[test]
fn written_memory_is_limited() {
    for access in [
        "st.global.u32 [%rd1], 0;",
        "st.global.v4.u32 [%rd1], {%r0, %r0, %r0, %r0};",
        "st.global.u8 [%rd1+5], %h1;",
        "st.global.u64 [%rd1], %rd1;",
        "red.global.add.u32 [%rd1], 1;",
        "atom.global.exch.b64 %rd2, [%rd1], %rd1;",
        "st.u32 [%rd1], 1;",
    ] {
        let what = refused(&touch(access), |_| {});
        assert_eq!(
            what,
            "the memory limit of 16 MiB was reached: global memory needs 64 KiB more"
        );
    }
}

#[test]
fn stacks_and_registers_are_limited() {
    let frame = kernel("", ".local .b8 x[400000];\nst.local.u8 [x], 1;");
    let what = refused(&frame, |launch| *launch = launch.clone().shape(1, 256));
    assert!(what.contains("the stacks of threads need"), "{what}");
    let deep = ".func f(.reg .b32 %n)\n{\n.reg .b64 %x<40>; .reg .pred %q;\n%set\n\
        setp.eq.u32 %q, %n, 0;\n@%q ret;\nsub.u32 %n, %n, 1;\ncall f, (%n);\n%use\nret;\n}";
    let set: String = (0..40)
        .map(|n| format!("cvt.u64.u32 %x{n}, %n;\n"))
        .collect();
    let used: String = (1..40)
        .map(|n| format!("add.u64 %x0, %x0, %x{n};\n"))
        .collect();
    let deep = deep.replace("%set", &set).replace("%use", &used);
    let text = kernel(&deep, "call f, (4000);");
    let what = refused(&text, |launch| *launch = launch.clone().shape(1, 32));
    assert!(what.contains("the registers of a call need"), "{what}");
    let grow = kernel(
        "",
        "again: alloca.u64 %rd1, 64;\nst.local.u32 [%rd1], 1;\nbra again;",
    );
    let change = |launch: &mut Launch| {
        *launch = launch.clone().shape(1, 256);
        launch.limits.stack_bytes = 1 << 20;
    };
    let what = refused(&grow, change);
    assert!(what.contains("the stacks of threads need"), "{what}");
}

#[test]
fn clusters_that_wait_share_the_memory() {
    let text = kernel(
        ".shared .b8 s[200000];\n.global .u32 flag;",
        "st.shared.u8 [s], %h0;\nagain: ld.volatile.global.u32 %r1, [flag];\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 bra again;",
    );
    let what = refused(&text, |launch| *launch = launch.clone().shape(100, 1));
    assert!(
        what.contains("the shared memory and the warps of a cluster need"),
        "{what}"
    );
    // Those that end give it back.
    let text = kernel(
        ".shared .b8 s[200000];",
        "st.shared.u8 [s], %h0;\natom.global.add.u32 %r1, [%out], 1;",
    );
    end(&text, |launch| *launch = launch.clone().shape(300, 1)).unwrap();
}

#[test]
fn checkers_count() {
    for (checker, access) in [
        (Checker::Racecheck, "ld.global.u32 %r2, [%rd1];"),
        (Checker::Initcheck, "ld.global.u32 %r2, [%rd1];"),
    ] {
        let text = touch(access).replace("mov.u64 %rd1, large;", "add.s64 %rd1, %out, 512;");
        let parsed = ptx_parse::parse_str(&text);
        let mut machine = Machine::new(&parsed.module);
        let data = machine.allocate(1 << 33).unwrap();
        let mut launch = Launch::new("k").argument(data.to_le_bytes()).check(checker);
        launch.limits.memory_bytes = 16 << 20;
        let reason = machine.launch(&launch).unwrap_err().reason;
        let expected = "the memory limit of 16 MiB was reached: the checkers need";
        assert!(reason.to_string().starts_with(expected), "{reason}");
    }
}

/// What checkers keep besides the accesses: allocations, mbarrier objects, groups of copies, values that were not written, and calls.
#[test]
fn what_checkers_remember_counts() {
    let malloc = ".extern .func (.param .b64 r) malloc(.param .b64 n);";
    let deep = ".func f(.reg .b32 n)\n{\n.reg .b32 %a; .reg .b32 %b;\nadd.u32 %a, %a, n;\nadd.u32 %b, %b, %a;\ncall f, (%b);\nadd.u32 %b, %a, %b;\nret;\n}";
    for (checker, before, body) in [
        (
            Checker::Memcheck,
            malloc,
            "again: { .param .b64 n; .param .b64 r; st.param.b64 [n], 1; call (r), malloc, (n); ld.param.b64 %rd1, [r]; }\nsetp.ne.u64 %p1, %rd1, 0;\n@%p1 bra again;",
        ),
        (
            Checker::Racecheck,
            ".shared .align 8 .b64 s[25000];",
            "mov.u32 %r2, s;\nagain: mbarrier.init.shared.b64 [%r2], 1;\nadd.u32 %r2, %r2, 8;\nadd.u32 %r1, %r1, 1;\nsetp.lt.u32 %p1, %r1, 25000;\n@%p1 bra again;",
        ),
        (
            Checker::Racecheck,
            "",
            "again: cp.async.commit_group;\nadd.u32 %r1, %r1, 1;\nsetp.lt.u32 %p1, %r1, 3000000;\n@%p1 bra again;",
        ),
        (
            Checker::Initcheck,
            "",
            ".reg .b32 %u; .local .align 8 .b32 s[60000];\nmov.u64 %rd2, s;\nagain: add.u32 %r3, %u, 1;\nst.local.u32 [%rd2], %r3;\nadd.u64 %rd2, %rd2, 4;\nadd.u32 %r1, %r1, 1;\nsetp.lt.u32 %p1, %r1, 60000;\n@%p1 bra again;",
        ),
        (Checker::Initcheck, deep, "call f, (%r0);"),
    ] {
        let text = kernel(before, &format!("mov.u32 %r1, 0;\n{body}"));
        let launch = |launch: &mut Launch| {
            *launch = launch.clone().check(checker).shape(1, 32);
            launch.limits.heap_bytes = 1 << 30;
            launch.limits.call_depth = u32::MAX;
            launch.limits.stack_bytes = 1 << 30;
        };
        let what = refused(&text, launch);
        assert!(what.contains("need"), "{body}: {what}");
    }
}

#[test]
fn output_of_many_ctas_counts() {
    let text = printing("x", "list").replace("100000;\n@%p1", "1;\n@%p1");
    let what = refused(&text, |launch| *launch = launch.clone().shape(200_000, 1));
    assert!(what.contains("the output of `printf` needs"), "{what}");
}

#[test]
fn checkers_keep_nothing_of_accesses_without_memory() {
    let checkers = [
        Checker::Initcheck,
        Checker::Racecheck,
        Checker::Synccheck,
        Checker::Memcheck,
    ];
    for access in [
        "st.global.u32 [%rd1], 0;",
        "ld.global.u32 %r2, [%rd1];",
        "st.u64 [%rd1], %rd1;",
        "st.local.u32 [%rd1], 0;",
        "atom.add.u32 %r2, [%rd1], 1;",
        "st.shared::cluster.u32 [%rd1], 0;",
        "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r9];",
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd1], [s], 4294967280;",
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r9], [%rd1], 4294967280, [%r9];",
    ] {
        for address in [
            0u64,
            16,
            0x1000_0000,
            0xffff_fff0,
            0x6000_0000_0000,
            0x60ff_ffff_fff0,
            0x7000_0000_0000,
            0x7200_ffff_fff0,
            0x7fff_ffff_ffff_fff0,
            u64::MAX - 15,
        ] {
            let body = format!(
                "mov.u64 %rd1, {address};\nmov.u32 %r9, {};\n{access}",
                address as u32
            );
            let text = kernel(".shared .align 16 .b8 s[64];", &body);
            for checker in checkers {
                let launch = |launch: &mut Launch| {
                    *launch = launch.clone().check(checker).shape(2, 32);
                    launch.cluster = [2, 1, 1];
                };
                if let Err(error) = end(&text, launch) {
                    let is_limit = matches!(error.reason, StopReason::MemoryLimit(_));
                    assert!(!is_limit, "{access} {address:#x}: {error}");
                }
            }
        }
    }
}

#[test]
fn the_limit_of_the_host_is_that_of_the_machine() {
    let text = kernel("", "");
    let parsed = ptx_parse::parse_str(&text);
    let mut machine = Machine::new(&parsed.module);
    machine.limit_memory(1 << 20);
    let data = machine.allocate(1 << 30).unwrap();
    machine.write(data, &vec![1; 1 << 19]).unwrap();
    let error = machine.write(data, &vec![1; 1 << 21]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the memory limit of 1 MiB was reached: global memory needs 64 KiB more"
    );
    machine.write(data + (1 << 29), &vec![0; 1 << 21]).unwrap();
}

/// A kernel that prints a format with the addresses of itself as arguments; `%s` are strings.
fn printing(format: &str, times: &str) -> String {
    let bytes: Vec<String> = format.bytes().map(|b| b.to_string()).collect();
    let arguments = vec!["generic(text)"; 400].join(", ");
    let before = format!(
        ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n\
         .global .b8 text[] = {{{}, 0}};\n.global .align 8 .u64 list[] = {{{arguments}}};\n.global .align 8 .b32 wide[] = {{2147483647, 2147483647, 2147483647, 2147483647}};",
        bytes.join(", ")
    );
    let body = format!(
        "mov.u64 %rd1, text;\nmov.u64 %rd2, {times};\nagain: {{ .param .b64 f; .param .b64 a; .param .b32 r; st.param.b64 [f], %rd1; st.param.b64 [a], %rd2;\n\
         call (r), vprintf, (f, a); ld.param.b32 %r1, [r]; }}\nadd.u32 %r2, %r2, 1;\nsetp.lt.u32 %p1, %r2, 100000;\n@%p1 bra again;"
    );
    kernel(&before, &body)
}

#[test]
fn printed_text_is_limited() {
    // Widths and precisions are at most 4095.
    for (format, arguments) in [
        ("%.99999d", "wide"),
        ("%.*d", "wide"),
        ("%*d", "wide"),
        ("%99999999999999999999d", "wide"),
        ("%.65536f", "list"),
    ] {
        let text = printing(format, arguments).replace("100000;\n@%p1", "1;\n@%p1");
        let printed = end(&text, |_| {}).unwrap();
        assert!((4095..4500).contains(&printed), "{format}: {printed}");
    }
    // The text of a call.
    let squared = printing(&"%s".repeat(400), "list").replace("100000;\n@%p1", "1;\n@%p1");
    end(&squared, |_| {}).unwrap();
    let what = refused(&printing(&"%4000s".repeat(300), "list"), |_| {});
    assert_eq!(
        what,
        "the text of one call of `printf` is longer than 1 MiB"
    );
    // The text of all calls.
    let what = refused(&printing("%4000s", "list"), |_| {});
    assert!(
        what.starts_with("the memory limit of 16 MiB was reached: the output of `printf` needs"),
        "{what}"
    );
}

/// Instructions of which each takes long.
const LONG: [&str; 3] = [
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [large], 196608, [bar];\nmbarrier.expect_tx.relaxed.cta.shared::cta.b64 [bar], 196608;",
    "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [large], [s], 196608;",
    "st.bulk.weak.shared::cta [%r9], %rd5, 0;",
];

fn long(instruction: &str) -> String {
    let before = format!("{LARGE}\n.shared .align 128 .b8 s[196608];\n.shared .align 8 .b64 bar;");
    let body = format!(
        "mov.u64 %rd5, 196608;\nmov.u32 %r9, s;\nmbarrier.init.shared.b64 [bar], 1;\nagain: {instruction}\nbra again;"
    );
    kernel(&before, &body).replace("sm_90", "sm_100")
}

#[test]
fn long_steps_count_as_several() {
    for instruction in LONG {
        let start = Instant::now();
        let change = |launch: &mut Launch| {
            *launch = launch.clone().shape(1, 32);
            launch.limits.steps = 1000;
        };
        let error = end(&long(instruction), change).unwrap_err();
        assert_eq!(error.reason, StopReason::StepLimit, "{error}");
        assert!(start.elapsed() < Duration::from_secs(10));
    }
}

#[test]
fn time_is_limited() {
    let spin = kernel(
        "",
        "mov.u64 %rd1, 0;\nagain: add.u64 %rd1, %rd1, 1;\nst.global.u64 [%out], %rd1;\nsetp.lt.u64 %p1, %rd1, 0x100000000000;\n@%p1 bra again;",
    );
    let texts = LONG.map(long).into_iter().chain([spin]);
    for text in texts {
        let start = Instant::now();
        let change = |launch: &mut Launch| {
            *launch = launch.clone().shape(1, 32);
            launch.limits.time = Some(Duration::from_millis(300));
            launch.limits.steps = u64::MAX;
        };
        let error = end(&text, change).unwrap_err();
        assert_eq!(
            error.reason,
            StopReason::TimeLimit(Duration::from_millis(300)),
            "{error}"
        );
        assert!(start.elapsed() < Duration::from_secs(5));
    }
}

#[test]
fn a_long_step_is_canceled() {
    let text = long(LONG[1]);
    let parsed = ptx_parse::parse_str(&text);
    let mut machine = Machine::new(&parsed.module);
    let data = machine.allocate(4096).unwrap();
    let launch = Launch::new("k").shape(1, 32).argument(data.to_le_bytes());
    let progress = Progress::default();
    let (error, waited) = std::thread::scope(|scope| {
        let running = scope
            .spawn(|| machine.launch_with(&launch, RunOptions::default().with_progress(&progress)));
        std::thread::sleep(Duration::from_millis(200));
        progress.cancel();
        let start = Instant::now();
        (running.join().unwrap().unwrap_err(), start.elapsed())
    });
    assert_eq!(error.reason, StopReason::Canceled);
    assert!(waited < Duration::from_secs(3), "{waited:?}");
}
