//! Kernels: their executions, deadlocks and races.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use ptx_ir::facts::ModuleFacts;
use ptx_memory::kernel::{Failure, Kernel, KernelArgument, KernelBuffer, KernelLaunch};
use ptx_memory::{End, Ending, ExploreOptions, Statistics, explore};

/// The executions of a kernel with one buffer of zeros.
struct Explored {
    /// The final words of the buffer.
    words: BTreeSet<Vec<u32>>,
    has_race: bool,
    is_stuck: bool,
    faults: BTreeSet<String>,
    statistics: Statistics,
}

/// Explores a kernel with the parameter `p`, a buffer of 64 bytes, that does nothing unsupported.
fn run(ctas: u32, threads: u32, shown: &[usize], code: &str) -> Explored {
    let explored = run_any(ctas, threads, shown, code);
    assert_eq!(explored.statistics.unsupported, None, "{code}");
    explored
}

fn run_any(ctas: u32, threads: u32, shown: &[usize], code: &str) -> Explored {
    let text = format!(
        ".version 8.6\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p) {{\n{code}\n}}\n"
    );
    let module = crate::module(&text);
    let facts = ModuleFacts::new(&module);
    let function = facts.function(module.function("k").unwrap()).unwrap();
    let launch = KernelLaunch::new(
        ctas,
        threads,
        vec![KernelArgument::Buffer(KernelBuffer::zeros(64))],
    );
    let kernel = Kernel::new(function, launch).unwrap();
    let start = kernel.buffer_address(0).unwrap();
    let ranges: Vec<(u64, u32)> = shown
        .iter()
        .map(|&word| (start + 4 * word as u64, 4))
        .collect();
    let mut explored = Explored {
        words: BTreeSet::new(),
        has_race: false,
        is_stuck: false,
        faults: BTreeSet::new(),
        statistics: Statistics::default(),
    };
    explored.statistics = explore(
        &kernel,
        &ExploreOptions::default(),
        &mut |ending: &Ending<'_, Kernel<'_>>| {
            explored.has_race |= !ending.races().is_empty();
            match &ending.end {
                End::Complete => {
                    for contents in ending.final_contents(&ranges, 1000) {
                        let words = contents.iter().map(|bits| bits.unwrap() as u32);
                        explored.words.insert(words.collect());
                    }
                }
                End::Stuck { .. } => explored.is_stuck = true,
                End::Fault { message, .. } => {
                    explored.faults.insert(message.clone());
                }
                _ => {}
            }
            ControlFlow::Continue(())
        },
    );
    explored
}

const START: &str = ".reg .b64 %a<9>; .reg .b32 %r<20>; .reg .pred %p<9>;
ld.param.u64 %a0, [p]; cvta.to.global.u64 %a1, %a0; mov.u32 %r0, %ctaid.x; mov.u32 %r9, %tid.x;
setp.ne.u32 %p0, %r0, 0;";

/// What orders less than the model of it would be a missed execution: it is unsupported.
#[test]
fn weaker_synchronization_is_not_taken_for_a_stronger_one() {
    for code in [
        "fence.release.sync_restrict::shared::cta.cluster; ret;",
        "fence.acquire.sync_restrict::shared::cluster.cluster; ret;",
    ] {
        let explored = run_any(1, 1, &[], code);
        assert!(explored.statistics.unsupported.is_some(), "{code}");
    }
    run(
        1,
        1,
        &[],
        "barrier.cluster.arrive; barrier.cluster.wait; ret;",
    );
}

/// Message passing between two CTAs: the words are the data, the flag, and what the reader returned plus 10.
fn message_passing(store: &str, load: &str) -> Explored {
    let code = format!(
        "{START}
@%p0 bra READER;
st.global.u32 [%a1], 1;
{store}
ret;
READER:
{load}
setp.ne.u32 %p1, %r1, 1;
@%p1 bra READER;
ld.global.u32 %r2, [%a1];
add.u32 %r3, %r2, 10;
st.global.u32 [%a1+8], %r3;
ret;"
    );
    run(2, 1, &[2], &code)
}

#[test]
fn message_passing_needs_release_and_acquire() {
    let right = message_passing(
        "st.release.gpu.global.u32 [%a1+4], 1;",
        "ld.acquire.gpu.global.u32 %r1, [%a1+4];",
    );
    assert_eq!(right.words, BTreeSet::from([vec![11]]));
    assert!(!right.has_race && !right.is_stuck && right.statistics.is_exhaustive());
    assert_eq!(right.statistics.executions, 1);
    for (store, load) in [
        (
            "st.relaxed.gpu.global.u32 [%a1+4], 1;",
            "ld.acquire.gpu.global.u32 %r1, [%a1+4];",
        ),
        (
            "st.release.gpu.global.u32 [%a1+4], 1;",
            "ld.relaxed.gpu.global.u32 %r1, [%a1+4];",
        ),
        (
            "st.release.cta.global.u32 [%a1+4], 1;",
            "ld.acquire.gpu.global.u32 %r1, [%a1+4];",
        ),
        (
            "st.volatile.global.u32 [%a1+4], 1;",
            "ld.volatile.global.u32 %r1, [%a1+4];",
        ),
    ] {
        let wrong = message_passing(store, load);
        assert_eq!(
            wrong.words,
            BTreeSet::from([vec![10], vec![11]]),
            "{store} {load}"
        );
        assert!(wrong.has_race);
    }
    let fenced = message_passing(
        "fence.acq_rel.gpu; st.relaxed.gpu.global.u32 [%a1+4], 1;",
        "ld.relaxed.gpu.global.u32 %r1, [%a1+4]; fence.acq_rel.gpu;",
    );
    assert_eq!(fenced.words, BTreeSet::from([vec![11]]));
    assert!(!fenced.has_race);
}

#[test]
fn a_wait_without_a_signal_is_stuck() {
    let explored = message_passing("", "ld.acquire.gpu.global.u32 %r1, [%a1+4];");
    assert!(explored.is_stuck && explored.words.is_empty());
}

/// Threads that add 1 to a word under a lock.
fn lock(ctas: u32, acquire: &str, release: &str) -> Explored {
    let code = format!(
        "{START}
LOCK:
atom.{acquire}.gpu.global.cas.b32 %r1, [%a1], 0, 1;
setp.ne.u32 %p1, %r1, 0;
@%p1 bra LOCK;
ld.global.u32 %r2, [%a1+4];
add.u32 %r2, %r2, 1;
st.global.u32 [%a1+4], %r2;
atom.{release}.gpu.global.exch.b32 %r3, [%a1], 0;
ret;"
    );
    run(ctas, 1, &[1], &code)
}

#[test]
fn locks_need_acquire_and_release() {
    let right = lock(3, "acquire", "release");
    assert_eq!(right.words, BTreeSet::from([vec![3]]));
    assert!(!right.has_race && !right.is_stuck && right.statistics.is_exhaustive());
    assert_eq!(
        right.statistics.executions, 6,
        "one for each order of the threads"
    );
    for (acquire, release) in [("relaxed", "release"), ("acquire", "relaxed")] {
        let wrong = lock(2, acquire, release);
        assert!(
            wrong.words.contains(&vec![1]) && wrong.has_race,
            "{acquire} {release}"
        );
    }
}

#[test]
fn barriers_order_threads_of_a_cta() {
    let exchange = |barrier: &str| {
        let code = format!(
            ".shared .align 4 .b8 s[64];
{START}
shl.b32 %r1, %r9, 2; mov.u32 %r2, s; add.u32 %r3, %r2, %r1;
add.u32 %r4, %r9, 5;
st.shared.u32 [%r3], %r4;
{barrier}
xor.b32 %r5, %r1, 4; add.u32 %r6, %r2, %r5;
ld.shared.u32 %r7, [%r6];
cvt.u64.u32 %a2, %r1; add.u64 %a3, %a1, %a2;
st.global.u32 [%a3], %r7;
ret;"
        );
        run(1, 2, &[0, 1], &code)
    };
    let right = exchange("bar.sync 0;");
    assert_eq!(right.words, BTreeSet::from([vec![6, 5]]));
    assert!(!right.has_race);
    let wrong = exchange("");
    assert!(wrong.words.len() == 4 && wrong.has_race);
}

#[test]
fn a_barrier_that_a_thread_does_not_reach_is_passed_after_its_end_only() {
    let code = format!(
        "{START}
setp.ne.u32 %p1, %r9, 0;
@%p1 bra END;
bar.sync 0;
END:
ret;"
    );
    assert!(!run(1, 2, &[], &code).is_stuck);
    let code = format!(
        "{START}
setp.ne.u32 %p1, %r9, 0;
@%p1 bra OTHER;
bar.sync 0;
ret;
OTHER:
bar.sync 1;
ret;"
    );
    assert!(run(1, 2, &[], &code).is_stuck);
}

#[test]
fn lanes_exchange_values_without_order() {
    let exchange = |instructions: &str| {
        let code = format!(
            ".shared .align 4 .b8 s[64];
{START}
shl.b32 %r1, %r9, 2; add.u32 %r4, %r9, 5; setp.eq.u32 %p1, %r9, 1;
{instructions}
cvt.u64.u32 %a2, %r1; add.u64 %a3, %a1, %a2;
st.global.u32 [%a3], %r7;
ret;"
        );
        run_any(1, 2, &[0, 1], &code)
    };
    for (instruction, words) in [
        ("shfl.sync.bfly.b32 %r7, %r4, 1, 31, -1;", [6, 5]),
        ("shfl.sync.idx.b32 %r7|%p2, %r4, 1, 31, 3;", [6, 6]),
        ("shfl.sync.up.b32 %r7, %r4, 1, 0, -1;", [5, 5]),
        ("vote.sync.ballot.b32 %r7, %p1, -1;", [2, 2]),
        (
            "vote.sync.any.pred %p2, !%p1, -1; selp.u32 %r7, 1, 0, %p2;",
            [1, 1],
        ),
        (
            "vote.sync.all.pred %p2, %p1, -1; selp.u32 %r7, 1, 0, %p2;",
            [0, 0],
        ),
        ("match.any.sync.b32 %r7, %r4, -1;", [1, 2]),
        ("redux.sync.add.u32 %r7, %r4, -1;", [11, 11]),
        ("elect.sync %r7|%p2, -1; selp.u32 %r7, 7, 8, %p2;", [7, 8]),
        ("barrier.cta.red.popc.u32 %r7, 0, %p1;", [1, 1]),
    ] {
        let explored = exchange(instruction);
        assert_eq!(explored.statistics.unsupported, None, "{instruction}");
        assert_eq!(
            explored.words,
            BTreeSet::from([words.to_vec()]),
            "{instruction}"
        );
        assert!(!explored.has_race && !explored.is_stuck);
    }
    // The lane below the first one of the segment has no value.
    let undefined = exchange("shfl.sync.down.b32 %r7, %r4, 16, 31, -1;");
    assert!(undefined.statistics.unsupported.is_some());
    let through_memory = |meeting: &str| {
        exchange(&format!(
            "mov.u32 %r2, s; add.u32 %r3, %r2, %r1;
st.shared.u32 [%r3], %r4;
{meeting}
xor.b32 %r5, %r1, 4; add.u32 %r6, %r2, %r5;
ld.shared.u32 %r7, [%r6];"
        ))
    };
    assert!(through_memory("shfl.sync.bfly.b32 %r8, %r4, 1, 31, -1;").has_race);
    assert!(!through_memory("bar.warp.sync -1;").has_race);
    assert!(!through_memory("barrier.cta.red.popc.u32 %r8, 0, %p1;").has_race);
}

#[test]
fn lanes_do_not_wait_for_lanes_that_ended() {
    let code = format!(
        "{START}
setp.ne.u32 %p1, %r9, 0;
@%p1 bra END;
bar.warp.sync -1;
END:
ret;"
    );
    assert!(!run(1, 2, &[], &code).is_stuck);
}

/// What an atomic operation read before the next write of its thread is ordered with that write, and so is the whole operation that wrote it.
#[test]
fn a_counter_is_reset_after_the_last_arrival() {
    let arrive = |reset: &str| {
        let code = format!(
            "{START}
atom.global.add.u32 %r1, [%a1], 1;
setp.ne.u32 %p1, %r1, 1;
@%p1 bra END;
{reset}
END:
ret;"
        );
        run(2, 1, &[0], &code)
    };
    let right = arrive("st.global.u32 [%a1], 0;");
    assert!(!right.has_race && right.words == BTreeSet::from([vec![0]]));
    assert!(
        arrive("st.global.u16 [%a1+2], 1; ld.global.u32 %r2, [%a1+4];")
            .words
            .len()
            == 1
    );
}

#[test]
fn mbarriers_order_arrivals_and_waits() {
    let pass = |arrive: &str| {
        let code = format!(
            ".shared .align 8 .b64 m; .shared .align 4 .b32 d;
{START}
setp.ne.u32 %p1, %r9, 0;
@%p1 bra READY;
mbarrier.init.shared.b64 [m], 1;
READY:
bar.sync 0;
@%p1 bra CONSUMER;
st.shared.u32 [d], 7;
{arrive}
ret;
CONSUMER:
mbarrier.try_wait.parity.shared::cta.b64 %p2, [m], 0;
@!%p2 bra CONSUMER;
ld.shared.u32 %r7, [d];
st.global.u32 [%a1], %r7;
ret;"
        );
        run(1, 2, &[0], &code)
    };
    let right = pass("mbarrier.arrive.shared.b64 %a4, [m];");
    assert_eq!(right.words, BTreeSet::from([vec![7]]));
    assert!(!right.has_race && !right.is_stuck);
    let wrong = pass("mbarrier.arrive.relaxed.cta.shared.b64 %a4, [m];");
    assert!(wrong.has_race && wrong.words.len() == 2);
    assert!(pass("").is_stuck);
}

/// A wait that is repeated until it succeeds may come before the initialization, although the last repetition does not.
#[test]
fn waits_before_the_initialization_are_found() {
    let failures = |barrier: &str| {
        let text = format!(
            ".version 8.6\n.target sm_90\n.address_size 64\n.visible .entry k() {{
.shared .align 8 .b64 m; .reg .pred %p<3>; .reg .b32 %r<2>; .reg .b64 %d;
mov.u32 %r1, %tid.x;
setp.ne.u32 %p1, %r1, 0;
@%p1 bra READY;
mbarrier.init.shared.b64 [m], 1;
READY:
{barrier}
@%p1 bra WAIT;
mbarrier.arrive.shared.b64 %d, [m];
ret;
WAIT:
mbarrier.try_wait.parity.shared.b64 %p2, [m], 0;
@!%p2 bra WAIT;
ret; }}"
        );
        let module = crate::module(&text);
        let facts = ModuleFacts::new(&module);
        let function = facts.function(module.function("k").unwrap()).unwrap();
        let kernel = Kernel::new(function, KernelLaunch::new(1, 2, Vec::new())).unwrap();
        let report = kernel.check(&ExploreOptions::default(), &[]);
        assert!(report.is_complete());
        let examples = report.counterexamples.into_iter();
        examples.map(|e| e.failure).collect::<Vec<_>>()
    };
    assert_eq!(failures("bar.sync 0;"), []);
    let without_barrier = failures("");
    assert!(
        matches!(
            without_barrier[..],
            [Failure::Race { .. }, Failure::UnwrittenRead { .. }]
        ),
        "{without_barrier:?}"
    );
}

#[test]
fn accesses_of_different_sizes_share_bytes() {
    let code = format!(
        "{START}
st.global.u64 [%a1], 0x0000000200000001;
ld.global.u32 %r1, [%a1+4];
st.global.u8 [%a1+8], 255;
st.global.v2.u32 [%a1+16], {{%r1, 9}};
ld.global.s8 %r2, [%a1+8];
st.global.u32 [%a1+12], %r2;
ret;"
    );
    let explored = run(1, 1, &[0, 1, 2, 3, 4, 5], &code);
    assert_eq!(
        explored.words,
        BTreeSet::from([vec![1, 2, 255, u32::MAX, 2, 9]])
    );
}

#[test]
fn accesses_outside_of_buffers_are_faults() {
    let explored = run(
        1,
        1,
        &[],
        &format!("{START} st.global.u32 [%a1+64], 1; ret;"),
    );
    assert_eq!(explored.faults.len(), 1);
}

#[test]
fn addresses_in_initializers_are_known() {
    let text = ".version 8.6\n.target sm_90\n.address_size 64
.global .u32 first[2] = {3, 7};
.global .u64 current = generic(first)+4;
.global .f32 half = 0f3F000000;
.visible .entry k(.param .u64 p) {
.reg .b64 %a<3>; .reg .b32 %r<3>;
ld.param.u64 %a0, [p]; ld.global.u64 %a1, [current]; ld.u32 %r1, [%a1]; ld.global.u32 %r2, [half];
st.u32 [%a0], %r1; st.u32 [%a0+4], %r2;
ret;
}\n";
    let module = ptx_parse::parse(text.as_bytes()).module;
    let facts = ModuleFacts::new(&module);
    let function = facts.function(module.function("k").unwrap()).unwrap();
    let arguments = vec![KernelArgument::Buffer(KernelBuffer::zeros(8))];
    let kernel = Kernel::new(function, KernelLaunch::new(1, 1, arguments)).unwrap();
    let condition = kernel.assertion("[p] == 7 && [p+4] == 0x3f000000").unwrap();
    let report = kernel.check(&ExploreOptions::default(), &[condition]);
    assert!(report.counterexamples.is_empty() && report.is_complete());
}

/// The module of a file of `tests/kernels`.
fn compiled_module(name: &str) -> ptx_ir::Module {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/kernels")
        .join(name);
    ptx_parse::parse(&std::fs::read(path).unwrap()).module
}

#[test]
fn a_volatile_flag_orders_nothing() {
    let module = compiled_module("volatile_flag.ptx");
    let facts = ModuleFacts::new(&module);
    let function = facts
        .function(module.function("volatile_flag").unwrap())
        .unwrap();
    let arguments = vec![KernelArgument::Buffer(KernelBuffer::zeros(4))];
    let mut kernel = Kernel::new(function, KernelLaunch::new(2, 1, arguments)).unwrap();
    let conditions = [
        kernel.assertion("[volatile_flag_param_0] == 42").unwrap(),
        kernel
            .forbidden("!([data] != 42 || [flag] < 1) && 1.0:%r3 == 0")
            .unwrap(),
        kernel.assertion("1.0:r1 == 1 && 0:%r1 == 0").unwrap(),
    ];
    let report = kernel.check(&ExploreOptions::default(), &conditions);
    let failures: Vec<&Failure> = report
        .counterexamples
        .iter()
        .map(|example| &example.failure)
        .collect();
    let race = failures
        .iter()
        .any(|failure| matches!(failure, Failure::Race { .. }));
    assert!(race && failures.len() == 3, "{failures:?}");
    assert!(failures.contains(&&Failure::Condition { number: 0 }));
    assert!(failures.contains(&&Failure::Condition { number: 1 }));
    assert!(report.is_complete() && report.outcomes.len() == 2);
    for example in &report.counterexamples {
        let story = kernel.story(example, ptx_memory::Version::default());
        assert_eq!(story.steps.len() + 1, example.execution.len());
        if let Failure::Race { first, .. } = example.failure {
            assert!(kernel.describe(&example.failure).starts_with("data-race"));
            let (line, text) = kernel.source_line(first);
            assert!(kernel.statement(first).is_some() && line > 10 && text.contains(".global.u32"));
            let drawing = kernel.drawing(example, ptx_memory::Version::default());
            assert_eq!(drawing.matches("<rect").count(), 5, "{drawing}");
            assert_eq!(drawing.matches("class=\"failure\"").count(), 2);
            assert_eq!(drawing.matches("<path class=\"reads\"").count(), 1);
            let release = "is neither a release operation nor preceded by a fence (8.8)";
            assert!(story.reasons[1].ends_with(release), "{story:?}");
        }
    }
    let outcome = &report.outcomes[0].memory;
    let names: Vec<String> = outcome
        .iter()
        .map(|value| kernel.location_name(value.address))
        .collect();
    assert_eq!(names, ["volatile_flag_param_0", "data", "flag"]);
    assert_eq!(kernel.place_of_thread(1), (1, 0));
    // The wait ends at once.
    kernel.set_initial("flag", "1").unwrap();
    let report = kernel.check_until_failure(&ExploreOptions::default(), &[]);
    assert!(!report.counterexamples.is_empty());
    assert!(kernel.set_initial("none", "1").is_err());
}

#[test]
fn conditions_with_mistakes_are_refused() {
    let module = compiled_module("released_flag.ptx");
    let facts = ModuleFacts::new(&module);
    let function = facts
        .function(module.function("released_flag").unwrap())
        .unwrap();
    let arguments = vec![KernelArgument::Buffer(KernelBuffer::zeros(4))];
    let kernel = Kernel::new(function, KernelLaunch::new(2, 1, arguments)).unwrap();
    for text in [
        "",
        "[flag]",
        "[flag] == ",
        "[flag] == 1 &&",
        "([flag] == 1",
        "[flag] == 1)",
        "[flag+4] == 1",
        "[u7 flag] == 1",
        "[other] == 1",
        "2.0:%r1 == 1",
        "0.1:%r1 == 1",
        "%none == 1",
        "[flag] == 1 1",
    ] {
        assert!(kernel.assertion(text).is_err(), "{text}");
    }
    let conditions = [
        kernel.assertion("[flag] == 0x1 && -1 < 0").unwrap(),
        kernel
            .assertion("[u16 data] == 42 || [flag] == 7 && [flag] == 8")
            .unwrap(),
    ];
    let report = kernel.check(&ExploreOptions::default(), &conditions);
    assert!(report.counterexamples.is_empty() && report.is_complete());
}
