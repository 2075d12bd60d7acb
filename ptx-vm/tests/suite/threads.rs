//! Launches on several threads of the host, in random orders, and canceled ones.
#![allow(clippy::unwrap_used, reason = "tests fail by panics")]

use std::sync::atomic::{AtomicU64, Ordering};

use ptx_ir::Module;
use ptx_vm::{Executor, Launch, Machine, Progress, RunError, RunOptions, StopReason};

/// Four threads, which count the tasks.
#[derive(Debug, Default)]
struct Threads {
    tasks: AtomicU64,
}

impl Executor for Threads {
    fn run(&self, tasks: u64, task: &(dyn Fn(u64) + Sync)) {
        self.tasks.fetch_add(tasks, Ordering::Relaxed);
        std::thread::scope(|scope| {
            for start in 0..4 {
                // The last tasks begin first.
                let own: Vec<u64> = (start..tasks).step_by(4).collect();
                scope.spawn(move || own.into_iter().rev().for_each(task));
            }
        });
    }
}

/// A kernel with the address of words in `%a` and that of the word of its thread in `%mine`, and the number of its CTA in `%c`.
fn module(before: &str, body: &str) -> Module {
    let text = format!(
        ".version 8.5\n.target sm_90\n.address_size 64\n\
        .extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n\
        .extern .func (.param .b64 r) malloc(.param .b64 n);\n{before}\n\
        .visible .entry k(.param .u64 to)\n{{\n\
        .reg .b32 %r<8>; .reg .b32 %c; .reg .b64 %a; .reg .b64 %b; .reg .b64 %mine; .reg .pred %p;\n\
        .local .align 8 .b8 arguments[8];\n\
        ld.param.u64 %a, [to];\n\
        mov.u32 %c, %ctaid.x;\nmov.u32 %r0, %ntid.x;\nmov.u32 %r1, %tid.x;\n\
        mad.lo.u32 %r2, %c, %r0, %r1;\n\
        mad.wide.u32 %mine, %r2, 4, %a;\n{body}\nret;\n}}\n"
    );
    ptx_parse::parse_str(&text).into_result().unwrap()
}

const PRINT: &str = "st.local.u32 [arguments], %c;\nmov.b64 %b, arguments;\ncvta.local.u64 %b, %b;\n\
    { .reg .b64 %f; .param .b64 f; .param .b64 a; .param .b32 r;\n\
    mov.b64 %f, text; cvta.global.u64 %f, %f;\n\
    st.param.b64 [f], %f; st.param.b64 [a], %b;\ncall.uni (r), vprintf, (f, a); }\n";

const TEXT: &str = ".global .b8 text[4] = {37, 117, 32, 0};";

/// The words and what was printed, or the error.
fn run(
    module: &Module,
    launch: &Launch,
    options: RunOptions<'_>,
) -> (Vec<u8>, String, Option<RunError>) {
    let mut machine = Machine::new(module);
    let data = machine.allocate(4096).unwrap();
    let launch = launch.clone().argument(data.to_le_bytes());
    let ended = machine.launch_with(&launch, options);
    let printed = String::from_utf8(machine.output().to_vec()).unwrap();
    (machine.read(data, 4096).unwrap(), printed, ended.err())
}

#[test]
fn the_same_on_one_thread_and_on_many() {
    // The later a CTA begins, the sooner it is done.
    let body = format!(
        "sub.u32 %r3, 40, %c;\nmul.lo.u32 %r3, %r3, 200;\nmov.u32 %r4, 7;\n\
        LOOP: mad.lo.u32 %r4, %r4, 1664525, %c;\nsub.u32 %r3, %r3, 1;\nsetp.ne.u32 %p, %r3, 0;\n@%p bra LOOP;\n\
        st.global.u32 [%mine], %r4;\nsetp.eq.u32 %p, %r1, 0;\n@!%p bra END;\n{PRINT}END:"
    );
    let module = module(TEXT, &body);
    let launch = Launch::new("k").shape(24, 33);
    let one = run(&module, &launch, RunOptions::default());
    let numbers: Vec<String> = (0..24).map(|n| format!("{n} ")).collect();
    assert_eq!((one.1.as_str(), &one.2), (numbers.concat().as_str(), &None));
    let threads = Threads::default();
    let progress = Progress::default();
    let options = RunOptions::default()
        .with_executor(&threads)
        .with_progress(&progress);
    assert!(run(&module, &launch, options) == one);
    assert_eq!(threads.tasks.into_inner(), 24);
    assert_eq!(progress.blocks(), 24);
    assert!(progress.steps() > 24 * 2 * 200 * 16);
    let mut clusters = launch;
    clusters.cluster = [4, 1, 1];
    let threads = Threads::default();
    let many = run(
        &module,
        &clusters,
        RunOptions::default().with_executor(&threads),
    );
    assert!(many == one);
    assert_eq!(threads.tasks.into_inner(), 6);
}

#[test]
fn the_error_of_the_first_cta() {
    let body = format!(
        "setp.eq.u32 %p, %r1, 0;\n@!%p bra END;\n{PRINT}setp.gt.u32 %p, %c, 4;\n@%p trap;\nEND:"
    );
    let module = module(TEXT, &body);
    let launch = Launch::new("k").shape(40, 32);
    let one = run(&module, &launch, RunOptions::default());
    let error = one.2.as_ref().unwrap();
    assert_eq!((&error.reason, error.block), (&StopReason::Trap, [5, 0, 0]));
    assert_eq!(one.1, "0 1 2 3 4 5 ");
    for _ in 0..8 {
        let many = run(
            &module,
            &launch,
            RunOptions::default().with_executor(&Threads::default()),
        );
        assert_eq!((&many.1, &many.2), (&one.1, &one.2));
    }
    let stuck = self::module(
        "",
        "setp.lt.u32 %p, %c, 3;\n@%p bra END;\nbarrier.sync 0, 64;\nEND:",
    );
    let found = run(
        &stuck,
        &launch,
        RunOptions::default().with_executor(&Threads::default()),
    );
    let error = found.2.unwrap();
    assert_eq!(
        (error.reason, error.block),
        (StopReason::Deadlock, [3, 0, 0])
    );
}

#[test]
fn ctas_that_depend_on_each_other_run_on_one_thread() {
    let call =
        "{ .param .b64 n; .param .b64 r;\nst.param.b64 [n], 16;\ncall.uni (r), malloc, (n); }";
    let function =
        ".func f(.reg .b64 %a)\n{\n.reg .b32 %r;\natom.global.add.u32 %r, [%a], 1;\nret;\n}\n";
    let dependent = [
        ("", "atom.global.add.u32 %r3, [%a], 1;"),
        ("", "red.relaxed.gpu.global.add.f32 [%a], 0f3f800000;"),
        ("", "atom.exch.b32 %r3, [%a], 1;"),
        ("", "ld.volatile.global.u32 %r3, [%a];"),
        ("", "ld.acquire.gpu.u32 %r3, [%a];"),
        ("", "st.relaxed.gpu.global.u32 [%a], 1;"),
        ("", "mov.u32 %r3, %clock;"),
        ("", call),
        (function, "call f, (%a);"),
        (
            function,
            "{ .reg .b64 %f;\nmov.b64 %f, f;\nprototype: .callprototype _ (.reg .b64 _);\ncall %f, (%a), prototype; }",
        ),
    ];
    let independent = [
        ("", "ld.global.u32 %r3, [%a];\nst.u32 [%mine], %r3;"),
        (
            ".shared .b32 s;",
            "atom.shared.add.u32 %r3, [s], 1;\nst.volatile.shared.u32 [s], 1;",
        ),
        (
            ".shared .b32 s;",
            "bar.sync 0;\nld.shared.u32 %r3, [s];\nfence.acq_rel.gpu;",
        ),
        (function, ""),
    ];
    let tasks = |(before, body): (&str, &str)| {
        let threads = Threads::default();
        let module = module(before, body);
        let (_, _, error) = run(
            &module,
            &Launch::new("k").shape(8, 1),
            RunOptions::default().with_executor(&threads),
        );
        assert_eq!(error, None, "{body}");
        threads.tasks.into_inner()
    };
    for case in dependent {
        assert_eq!(tasks(case), 0, "{}", case.1);
    }
    for case in independent {
        assert_eq!(tasks(case), 8, "{}", case.1);
    }
}

#[test]
fn no_cta_begins_after_the_error() {
    let module = module("", "trap;");
    let mut launch = Launch::new("k");
    launch.grid = [1 << 30, 1 << 15, 1];
    let threads = Threads::default();
    let (_, _, error) = run(
        &module,
        &launch,
        RunOptions::default().with_executor(&threads),
    );
    assert_eq!(error.unwrap().block, [0; 3]);
    assert!(threads.tasks.into_inner() < 1 << 20);
    let module = self::module("", "");
    launch.limits.steps = 1000;
    let (_, _, error) = run(&module, &launch, RunOptions::default());
    assert_eq!(error.unwrap().reason, StopReason::StepLimit);
}

#[test]
fn shared_memory_at_first() {
    let body = "ld.shared.u32 %r3, [s+4];\nst.u32 [%mine], %r3;";
    let module = module(".shared .align 4 .b8 s[8];", body);
    let words = |seed: Option<u64>| {
        let mut launch = Launch::new("k").shape(2, 1);
        launch.shared_seed = seed;
        let (bytes, _, error) = run(&module, &launch, RunOptions::default());
        assert_eq!(error, None);
        let word = |at: usize| u32::from_le_bytes(bytes[4 * at..4 * at + 4].try_into().unwrap());
        [word(0), word(1)]
    };
    assert_eq!(words(None), [0, 0]);
    let [first, second] = words(Some(1));
    assert!(first != 0 && second != 0 && first != second);
    assert_eq!(words(Some(1)), [first, second]);
    assert_ne!(words(Some(2)), [first, second]);
}

#[test]
fn random_orders() {
    // Each thread appends its number.
    let body = "atom.global.add.u32 %r3, [%a], 1;\nadd.u32 %r3, %r3, 1;\nmad.wide.u32 %mine, %r3, 4, %a;\n\
        st.global.u32 [%mine], %r2;";
    let module = module("", body);
    let words = |seed: Option<u64>| {
        let mut launch = Launch::new("k").shape(5, 96);
        launch.schedule = seed.map(ptx_vm::Schedule::Seed);
        let (bytes, _, error) = run(
            &module,
            &launch,
            RunOptions::default().with_executor(&Threads::default()),
        );
        assert_eq!(error, None);
        let words = bytes[4..4 + 4 * 480].chunks(4);
        words
            .map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]]))
            .collect::<Vec<u32>>()
    };
    assert_eq!(words(None), (0..480).collect::<Vec<u32>>());
    let mut found = std::collections::BTreeSet::new();
    for seed in 0..10 {
        let mut order = words(Some(seed));
        assert_eq!(order, words(Some(seed)), "a seed determines the order");
        found.insert(order.clone());
        order.sort_unstable();
        assert_eq!(
            order,
            (0..480).collect::<Vec<u32>>(),
            "every thread runs once"
        );
    }
    assert!(found.len() > 5, "{}", found.len());
}

#[test]
fn a_canceled_launch() {
    let module = module(
        "",
        "LOOP: add.u32 %r3, %r3, 1;\nst.global.u32 [%mine], %r3;\nbra LOOP;",
    );
    let progress = Progress::default();
    let launch = Launch::new("k").shape(2, 64);
    let error = std::thread::scope(|scope| {
        let run = || {
            run(
                &module,
                &launch,
                RunOptions::default().with_progress(&progress),
            )
        };
        let thread = scope.spawn(run);
        while progress.steps() < 100_000 {
            std::thread::yield_now();
        }
        progress.cancel();
        thread.join().unwrap().2.unwrap()
    });
    assert_eq!(error.reason, StopReason::Canceled);
    assert_eq!(
        (error.diagnostic(ptx_ir::Span::new(0, 0)), progress.blocks()),
        (None, 0)
    );
}
