//! The order of products of a warpgroup among its warps.
#![allow(clippy::unwrap_used, reason = "tests fail by panics")]

use ptx_vm::{Asynchrony, Checker, Launch, Machine, RunError, Schedule};

const TIMES: [Asynchrony; 4] = [
    Asynchrony::Immediate,
    Asynchrony::Late,
    Asynchrony::Random(1),
    Asynchrony::Random(2),
];

/// Declarations, and the constants of threads: `%t` is the index, `%r1` the memory of the factors, `%full` and `%empty` are mbarrier objects.
const START: &str = ".version 8.8\n.target sm_90a\n.address_size 64\n\
     .shared .align 1024 .b8 memory[2048];\n.shared .align 8 .b64 objects[2];\n\
     .visible .entry k(.param .u64 data)\n{\n\
     .reg .pred %p<4>;\n.reg .b32 %t, %full, %empty, %step, %parity, %r<8>;\n.reg .f32 %c<4>;\n.reg .b64 %rd<8>;\n\
     ld.param.u64 %rd1, [data];\nmov.u32 %t, %tid.x;\nmov.u32 %r1, memory;\nmov.u32 %full, objects;\nadd.u32 %empty, %full, 8;\n\
     mov.f32 %c0, 0f00000000;\nmov.f32 %c1, %c0;\nmov.f32 %c2, %c0;\nmov.f32 %c3, %c0;\nsetp.eq.u32 %p1, %t, %t;\n\
     bfe.u32 %r2, %r1, 4, 14;\ncvt.u64.u32 %rd4, %r2;\nor.b64 %rd4, %rd4, 0x1000080000;\nmov.u32 %step, 0;\n";

/// The product of the factors in memory, which is added.
const PRODUCT: &str = "wgmma.fence.sync.aligned;\n\
     wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%c0, %c1, %c2, %c3}, %rd4, %rd4, %p1, 1, 1, 0, 0;\n";

const COMMIT: &str = "wgmma.commit_group.sync.aligned;\n";

const STORE: &str = "mad.wide.u32 %rd2, %t, 4, %rd1;\nst.global.f32 [%rd2], %c3;\n";

/// Waits for the phase of an object with the parity `%parity`.
fn wait(object: &str, label: &str) -> String {
    format!(
        "{label}: mbarrier.try_wait.parity.shared::cta.b64 %p2, [{object}], %parity;\n@!%p2 bra {label};\n"
    )
}

/// Fills the memory of the factors with `%r3` by the threads of a warp.
fn fill() -> String {
    let stores: String = (0..4)
        .map(|part| {
            format!(
                "st.shared.v4.b32 [%r4+{}], {{%r3, %r3, %r3, %r3}};\n",
                512 * part
            )
        })
        .collect();
    format!("and.b32 %r4, %t, 31;\nmad.lo.u32 %r4, %r4, 16, %r1;\n{stores}fence.proxy.async;\n")
}

/// A producer, the fifth warp, overwrites the factors as soon as the first thread of the consumers, the first warpgroup, releases them. The number in all
/// places is 1, 2, 4 and 8.
fn pipeline() -> String {
    let [full, empty] = [wait("%full", "FULL"), wait("%empty", "EMPTY")];
    let fill = fill();
    format!(
        "{START}setp.ne.u32 %p2, %t, 0;\n@%p2 bra READY;\n\
         mbarrier.init.shared::cta.b64 [%full], 32;\nmbarrier.init.shared::cta.b64 [%empty], 1;\nREADY: bar.sync 0;\n\
         setp.lt.u32 %p3, %t, 128;\n@%p3 bra CONSUME;\n\
         PRODUCE: and.b32 %parity, %step, 1;\nxor.b32 %parity, %parity, 1;\n{empty}\
         mul.lo.u32 %r3, %step, 0x04000400;\nadd.u32 %r3, %r3, 0x3c003c00;\n{fill}\
         mbarrier.arrive.shared::cta.b64 %rd3, [%full];\nadd.u32 %step, %step, 1;\nsetp.lt.u32 %p3, %step, 4;\n@%p3 bra PRODUCE;\nret;\n\
         CONSUME: and.b32 %parity, %step, 1;\n{full}{PRODUCT}{COMMIT}wgmma.wait_group.sync.aligned 0;\n\
         setp.eq.u32 %p3, %t, 0;\n@%p3 mbarrier.arrive.shared::cta.b64 %rd3, [%empty];\nadd.u32 %step, %step, 1;\nsetp.lt.u32 %p3, %step, 4;\n\
         @%p3 bra CONSUME;\n{STORE}ret;\n}}\n"
    )
}

/// The outcome of a launch: the numbers that 128 threads stored, or the error, and the messages of reports.
struct Ran {
    result: Result<Vec<f32>, RunError>,
    reports: Vec<String>,
}

fn run(
    text: &str,
    threads: u32,
    asynchrony: Asynchrony,
    schedule: Option<Schedule>,
    checks: &[Checker],
) -> Ran {
    let parsed = ptx_parse::parse_str(text);
    let errors: Vec<_> = parsed.diagnostics.iter().map(|d| &d.message).collect();
    assert!(errors.is_empty(), "{errors:?}\n{text}");
    let mut machine = Machine::new(&parsed.module);
    let data = machine.allocate(4 * 128).unwrap();
    machine.write_slice(data, &[0u32; 128]).unwrap();
    let mut launch = Launch::new("k").shape(1, threads);
    if text.contains("%cluster_ctarank") {
        (launch.grid, launch.cluster) = ([2, 1, 1], [2, 1, 1]);
    }
    for check in checks {
        launch = launch.check(*check);
    }
    launch = launch.argument(data.to_le_bytes());
    (launch.asynchrony, launch.schedule) = (asynchrony, schedule);
    launch.limits.steps = 1 << 22;
    let outcome = machine.launch(&launch);
    let reports = machine.reports().iter();
    Ran {
        result: outcome.and_then(|_| machine.read_slice(data, 128)),
        reports: reports.map(|report| report.message.clone()).collect(),
    }
}

/// The schedules under which one warp runs ahead or begins later.
fn schedules() -> Vec<Option<Schedule>> {
    let warps = (0..5).flat_map(|warp| [Schedule::StarveWarp(warp), Schedule::FavorWarp(warp)]);
    let seeds = (0..4).map(Schedule::Seed);
    core::iter::once(None)
        .chain(warps.chain(seeds).map(Some))
        .collect()
}

#[test]
fn a_buffer_is_overwritten_after_all_warps_have_read_it() {
    let text = pipeline();
    let expected = vec![16. * (1. + 4. + 16. + 64.); 128];
    for schedule in schedules() {
        for time in TIMES {
            let result = run(&text, 160, time, schedule, &[]).result.unwrap();
            assert_eq!(result, expected, "{schedule:?} {time}");
        }
        let checks = [Checker::Racecheck, Checker::Synccheck, Checker::Initcheck];
        for time in [Asynchrony::Immediate, Asynchrony::Late] {
            let ran = run(&text, 160, time, schedule, &checks);
            assert_eq!(ran.result.unwrap(), expected, "{schedule:?} {time}");
            assert!(ran.reports.is_empty(), "{schedule:?} {:?}", ran.reports);
        }
    }
}

#[test]
fn factors_are_read_as_late_as_the_groups_allow() {
    // The factors become 2 after the wait for the first product, although the second one may still read them.
    let fill = fill();
    let body = format!(
        "mov.b32 %r3, 0x3c003c00;\n{fill}bar.sync 0;\n{PRODUCT}{COMMIT}{PRODUCT}{COMMIT}wgmma.wait_group.sync.aligned 1;\nbar.sync 0;\n\
         mov.b32 %r3, 0x40004000;\n{fill}bar.sync 0;\nwgmma.wait_group.sync.aligned 0;\n{STORE}ret;\n}}\n"
    );
    let result = |time| {
        let ran = run(&format!("{START}{body}"), 128, time, None, &[]);
        ran.result.unwrap()
    };
    assert_eq!(result(Asynchrony::Immediate), [32.; 128]);
    assert_eq!(result(Asynchrony::Late), [16. + 64.; 128]);
}

#[test]
fn products_of_a_warp_are_performed_in_their_order() {
    // The first product replaces the registers, and the second one is added.
    let fill = fill();
    let replacing = PRODUCT.replace("%p1", "%p3");
    let work = "add.u32 %r7, %r7, 1;\n".repeat(64);
    let text = format!(
        "{START}mov.b32 %r3, 0x3c003c00;\n{fill}bar.sync 0;\nmov.u32 %r7, 0;\nsetp.ne.u32 %p3, %t, %t;\n\
         {replacing}{PRODUCT}{COMMIT}{work}wgmma.wait_group.sync.aligned 0;\n{STORE}ret;\n}}\n"
    );
    for seed in 0..20 {
        let ran = run(&text, 128, Asynchrony::Random(seed), None, &[]);
        assert_eq!(ran.result.unwrap(), [32.; 128], "{seed}");
    }
}

#[test]
fn a_wait_does_not_read_the_factors_of_another_cta() {
    // The second CTA changes its factors after the first one waited for its own product.
    let fill = fill();
    let cluster_barrier = "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n";
    let text = format!(
        "{START}mov.u32 %r5, %cluster_ctarank;\nsetp.eq.u32 %p3, %r5, 0;\nmov.b32 %r3, 0x3c003c00;\n{fill}bar.sync 0;\n{PRODUCT}{COMMIT}\
         {cluster_barrier}@!%p3 bra OTHER;\nwgmma.wait_group.sync.aligned 0;\n{cluster_barrier}ret;\n\
         OTHER: {cluster_barrier}mov.b32 %r3, 0x40004000;\n{fill}bar.sync 0;\nwgmma.wait_group.sync.aligned 0;\n{STORE}ret;\n}}\n"
    );
    let result = |time| run(&text, 128, time, None, &[]).result.unwrap();
    assert_eq!(result(Asynchrony::Immediate), [16.; 128]);
    assert_eq!(result(Asynchrony::Late), [64.; 128]);
}

/// A kernel of one warpgroup, with factors of ones, in which a warp goes to `OTHER`.
fn with_other(warp: u32, common: &str, other: &str) -> String {
    let fill = fill();
    format!(
        "{START}mov.b32 %r3, 0x3c003c00;\n{fill}bar.sync 0;\nshr.u32 %r5, %t, 5;\nsetp.eq.u32 %p3, %r5, {warp};\n@%p3 bra OTHER;\n\
         {common}{STORE}ret;\nOTHER: {other}{STORE}ret;\n}}\n"
    )
}

#[test]
fn warps_that_do_not_execute_the_products_end_the_run() {
    let wait = "wgmma.wait_group.sync.aligned 0;\nEND: ";
    for (products, count) in [(String::new(), 0), (format!("{PRODUCT}{COMMIT}"), 1)] {
        let error = error_of(&format!("{products}@%p3 bra END;\n{PRODUCT}{COMMIT}{wait}"));
        assert!(error.instruction.starts_with("wgmma.wait_group"), "{error}");
        assert_eq!(
            error.reason.to_string(),
            format!(
                "warp 2 ended after {count} groups of products of the warpgroup, and warp 0 waits for {}: all four warps must execute the same products",
                count + 1
            )
        );
    }
}

/// The error of a kernel of one warpgroup, in which `body` follows after the third warp was selected by `%p3`.
fn error_of(body: &str) -> RunError {
    let fill = fill();
    let text = format!(
        "{START}mov.b32 %r3, 0x3c003c00;\n{fill}bar.sync 0;\nshr.u32 %r5, %t, 5;\nsetp.eq.u32 %p3, %r5, 2;\n{body}ret;\n}}\n"
    );
    let mut errors = TIMES.map(|time| run(&text, 128, time, None, &[]).result.unwrap_err());
    for error in &errors {
        assert_eq!(error.reason, errors[0].reason);
    }
    let [first, ..] = &mut errors;
    first.clone()
}

#[test]
fn all_warps_execute_the_same_instructions() {
    let wait = "wgmma.wait_group.sync.aligned 0;\n";
    let wider = PRODUCT
        .replace("m64n8k16", "m64n16k16")
        .replace("%c3}", "%c3, %c0, %c1, %c2, %c3}");
    for (common, other, executed) in [
        (PRODUCT.to_owned(), wider, "wgmma.fence.sync.aligned;"),
        (
            format!("{PRODUCT}{COMMIT}"),
            format!("{PRODUCT}{PRODUCT}{COMMIT}"),
            "wgmma.fence.sync.aligned;",
        ),
        (
            COMMIT.into(),
            wait.into(),
            "wgmma.commit_group.sync.aligned;",
        ),
        (
            wait.into(),
            COMMIT.into(),
            "wgmma.wait_group.sync.aligned 0;",
        ),
        (wait.into(), wait.into(), "wgmma.wait_group.sync.aligned 0;"),
    ] {
        let error = error_of(&format!("@%p3 bra OTHER;\n{common}ret;\nOTHER: {other}"));
        assert_eq!(
            error.reason.to_string(),
            format!(
                "all four warps of a warpgroup must execute the same instructions: warp 2 executes this instruction instead of `{executed}`, which warp 0 executed"
            )
        );
        assert!(other.starts_with(&error.instruction), "{error}");
        assert_eq!(error.thread, [64, 0, 0]);
    }
}

#[test]
fn an_instruction_that_a_warp_skips_is_missing() {
    let skipped = format!(
        "@%p3 bra SKIP;\n{COMMIT}SKIP: {PRODUCT}{COMMIT}wgmma.wait_group.sync.aligned 0;\n"
    );
    let error = error_of(&skipped);
    assert_eq!(error.instruction, "wgmma.fence.sync.aligned;");
    assert!(
        error
            .reason
            .to_string()
            .contains("instead of `wgmma.commit_group.sync.aligned;`, which warp 0 executed"),
        "{error}"
    );
}

#[test]
fn operands_of_a_warpgroup_are_the_same_in_all_warps() {
    let product = PRODUCT.replace("%rd4, %rd4", "%rd5, %rd6");
    for (change, expected, found) in [
        ("@%p3 add.s64 %rd5, %rd5, 1;\n", 0, 1),
        ("@%p3 add.s64 %rd6, %rd6, 2;\n", 0, 2),
    ] {
        let error = error_of(&format!(
            "mov.b64 %rd5, %rd4;\nmov.b64 %rd6, %rd4;\n{change}{product}"
        ));
        let descriptor = 0x10_0008_0000u64;
        let [expected, found] =
            [expected, found].map(|offset| format!("{:#x}", descriptor + offset));
        assert_eq!(
            error.reason.to_string(),
            format!(
                "all four warps of a warpgroup must execute the instruction with the same matrix descriptors, sparsity selector and predicate: expected {expected} as in warp 0, found {found} in warp 2"
            )
        );
    }
    let error = error_of(&PRODUCT.replace("%p1", "%p3"));
    assert!(
        error
            .reason
            .to_string()
            .ends_with("expected 0x0 as in warp 0, found 0x1 in warp 2"),
        "{error}"
    );
}

/// The instructions of a warp that is far ahead are not kept.
#[test]
fn warps_may_be_far_apart() {
    let fill = fill();
    let text = format!(
        "{START}mov.b32 %r3, 0x3c003c00;\n{fill}bar.sync 0;\n\
         REPEAT: wgmma.fence.sync.aligned;\n{COMMIT}add.u32 %step, %step, 1;\nsetp.lt.u32 %p3, %step, 5000;\n@%p3 bra REPEAT;\n\
         {PRODUCT}{COMMIT}wgmma.wait_group.sync.aligned 0;\n{STORE}ret;\n}}\n"
    );
    for schedule in schedules() {
        let result = run(&text, 128, Asynchrony::Immediate, schedule, &[]).result;
        assert_eq!(result.unwrap(), [16.; 128], "{schedule:?}");
    }
}

#[test]
fn a_warp_waits_only_for_the_groups_that_its_wait_names() {
    // The third warp executes the second product after it has seen that the first warp has passed its wait for the first product.
    let fill = fill();
    let text = format!(
        "{START}mov.b32 %r3, 0x3c003c00;\n{fill}bar.sync 0;\nshr.u32 %r5, %t, 5;\nsetp.eq.u32 %p3, %r5, 2;\n\
         {PRODUCT}{COMMIT}@%p3 bar.sync 1, 128;\n{PRODUCT}{COMMIT}wgmma.wait_group.sync.aligned 1;\n@!%p3 bar.sync 1, 128;\n\
         wgmma.wait_group.sync.aligned 0;\n{STORE}ret;\n}}\n"
    );
    for schedule in schedules() {
        for time in TIMES {
            let result = run(&text, 128, time, schedule, &[]).result.unwrap();
            assert_eq!(result, [32.; 128], "{schedule:?} {time}");
        }
    }
}

#[test]
fn a_deadlock_names_the_warps_that_are_missing() {
    let common = format!("{PRODUCT}{COMMIT}wgmma.wait_group.sync.aligned 0;\nbar.sync 1, 128;\n");
    let other = format!("bar.sync 1, 128;\n{PRODUCT}{COMMIT}wgmma.wait_group.sync.aligned 0;\n");
    let text = with_other(1, &common, &other);
    let ran = run(
        &text,
        128,
        Asynchrony::Immediate,
        None,
        &[Checker::Synccheck],
    );
    let waits = ran.result.unwrap_err().waits;
    let waits: Vec<_> = waits.iter().map(|wait| wait.what.as_str()).collect();
    let expected = "for 1 groups of products of the warpgroup: warp 1 has committed 0";
    assert!(waits.contains(&expected), "{waits:?}");
    let expected =
        "not all warps of the warpgroup execute the products that the instruction waits for";
    assert!(
        ran.reports.iter().any(|report| report == expected),
        "{:?}",
        ran.reports
    );
}
