//! The times at which asynchronous operations are performed: missing waits become visible, and correct programs give the same result at any time.
#![allow(clippy::unwrap_used, reason = "tests fail by panics")]

use ptx_vm::{Asynchrony, Checker, Launch, Machine, RunError};

use crate::common::kernel;
use crate::random::Random;

const SHARED: &str = ".shared .align 16 .b8 words[64];\n.shared .align 8 .b64 barrier;";

/// A thread that owns an mbarrier object with one arrival.
const INIT: &str =
    "mov.u32 %r1, barrier;\nmov.u32 %r2, words;\nmbarrier.init.shared::cta.b64 [%r1], 1;\n";

/// Waits for the phase of parity 0.
const WAIT: &str =
    "SPIN: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r1], 0;\n@!%p2 bra SPIN;\n";

const ALL: [Asynchrony; 4] = [
    Asynchrony::Immediate,
    Asynchrony::Late,
    Asynchrony::Random(1),
    Asynchrony::Random(2),
];

/// The words of memory after a launch of the kernel `k`, which begins with `words`.
fn launch(
    text: &str,
    threads: u32,
    words: &[u32],
    asynchrony: Asynchrony,
) -> Result<Vec<u32>, RunError> {
    let parsed = ptx_parse::parse_str(text);
    let errors: Vec<_> = parsed.diagnostics.iter().map(|d| &d.message).collect();
    assert!(errors.is_empty(), "{errors:?}\n{text}");
    let mut machine = Machine::new(&parsed.module);
    let data = machine.allocate(4 * words.len() as u64).unwrap();
    machine.write_slice(data, words)?;
    let mut launch = Launch::new("k").shape(1, threads);
    launch = launch.argument(data.to_le_bytes());
    launch.asynchrony = asynchrony;
    launch.limits.steps = 1 << 22;
    machine.launch(&launch)?;
    machine.read_slice(data, words.len())
}

fn one_thread(body: &str, words: &[u32], asynchrony: Asynchrony) -> Vec<u32> {
    launch(&kernel(SHARED, body), 1, words, asynchrony).unwrap()
}

/// The word at an index of the result, immediately and as late as possible.
fn both(body: &str, words: &[u32], index: usize) -> [u32; 2] {
    [Asynchrony::Immediate, Asynchrony::Late].map(|time| one_thread(body, words, time)[index])
}

const STORE: &str = "ld.shared.u32 %r8, [words];\nst.global.u32 [%out+4], %r8;\n";

#[test]
fn a_copy_that_no_wait_follows_is_not_performed() {
    let copy = "mov.u32 %r2, words;\ncp.async.ca.shared.global [%r2], [%out], 4;\n";
    let after = |wait: &str| both(&format!("{copy}{wait}{STORE}"), &[7, 1], 1);
    assert_eq!(after(""), [7, 0]);
    assert_eq!(after("cp.async.commit_group;\n"), [7, 0]);
    // The group that may be pending is that of the copy.
    assert_eq!(
        after("cp.async.commit_group;\ncp.async.wait_group 1;\n"),
        [7, 0]
    );
    // The copy is in no group.
    assert_eq!(after("cp.async.wait_group 0;\n"), [7, 0]);
    assert_eq!(
        after("cp.async.commit_group;\ncp.async.wait_group 0;\n"),
        [7, 7]
    );
    assert_eq!(after("cp.async.wait_all;\n"), [7, 7]);
    // An empty group counts.
    let two = "cp.async.commit_group;\ncp.async.commit_group;\ncp.async.wait_group 1;\n";
    assert_eq!(after(two), [7, 7]);
    assert_eq!(after("bar.sync 0;\n"), [7, 0]);
}

#[test]
fn the_source_is_read_when_the_copy_is_performed() {
    let body = format!(
        "mov.u32 %r2, words;\ncp.async.ca.shared.global [%r2], [%out], 4;\nst.global.u32 [%out], %r0;\ncp.async.wait_all;\n{STORE}"
    );
    assert_eq!(both(&body, &[7, 1], 1), [7, 0]);
}

#[test]
fn a_bulk_copy_is_performed_when_its_object_is_tested() {
    let copy = format!(
        "{INIT}mbarrier.arrive.expect_tx.shared::cta.b64 %rd1, [%r1], 16;\n\
         cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%out], 16, [%r1];\n"
    );
    let after = |wait: &str| both(&format!("{copy}{wait}{STORE}"), &[7, 2, 3, 4], 1);
    assert_eq!(after(""), [7, 0]);
    assert_eq!(after(WAIT), [7, 7]);
    // A phase that lacks an arrival is not complete, so the copy is not needed yet.
    let lacking = format!(
        "{INIT}mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r1], 16;\n\
         cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%out], 16, [%r1];\n\
         mbarrier.test_wait.parity.shared::cta.b64 %p2, [%r1], 0;\n{STORE}"
    );
    assert_eq!(both(&lacking, &[7, 2, 3, 4], 1), [7, 0]);
}

#[test]
fn stores_and_reductions_are_performed_when_their_object_is_tested() {
    let store = "st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r2], 7, [%r1];\n";
    let reduce = "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r2], %r7, [%r1];\nmov.u32 %r7, 99;\n";
    for operation in [store, reduce] {
        let body = |wait: &str| {
            format!(
                "{INIT}mov.u32 %r7, 7;\nmbarrier.arrive.expect_tx.shared::cta.b64 %rd1, [%r1], 4;\n{operation}{wait}{STORE}"
            )
        };
        assert_eq!(both(&body(""), &[1, 1], 1), [7, 0]);
        assert_eq!(both(&body(WAIT), &[1, 1], 1), [7, 7]);
    }
}

#[test]
fn an_arrival_waits_for_the_copies_before_it() {
    for (noinc, count) in [(".noinc", 1), ("", 2)] {
        let arrivals = if noinc.is_empty() {
            "mbarrier.arrive.shared::cta.b64 %rd1, [%r1];\nmbarrier.arrive.shared::cta.b64 %rd1, [%r1];\n"
        } else {
            ""
        };
        let body = |wait: &str| {
            format!(
                "mov.u32 %r1, barrier;\nmov.u32 %r2, words;\nmbarrier.init.shared::cta.b64 [%r1], {count};\n\
                 cp.async.ca.shared.global [%r2], [%out], 4;\n\
                 cp.async.mbarrier.arrive{noinc}.shared.b64 [%r1];\n\
                 cp.async.ca.shared.global [%r2+4], [%out], 4;\n{arrivals}{wait}{STORE}\
                 ld.shared.u32 %r8, [words+4];\nst.global.u32 [%out+8], %r8;\n"
            )
        };
        assert_eq!(both(&body(""), &[7, 1, 1], 1), [7, 0]);
        assert_eq!(both(&body(WAIT), &[7, 1, 1], 1), [7, 7]);
        // The second copy came after the arrival.
        assert_eq!(both(&body(WAIT), &[7, 1, 1], 2), [7, 0]);
    }
}

const BULK_STORE: &str = "mov.u32 %r2, words;\nmov.u32 %r7, 7;\nst.shared.u32 [words], %r7;\nfence.proxy.async;\n\
    cp.async.bulk.global.shared::cta.bulk_group [%out], [%r2], 16;\ncp.async.bulk.commit_group;\n";

#[test]
fn a_source_may_be_changed_after_it_was_read() {
    let body = |wait: &str| format!("{BULK_STORE}{wait}st.shared.u32 [words], %r0;\n");
    assert_eq!(both(&body(""), &[1; 4], 0), [7, 0]);
    assert_eq!(
        both(&body("cp.async.bulk.wait_group.read 0;\n"), &[1; 4], 0),
        [7, 7]
    );
    assert_eq!(
        both(&body("cp.async.bulk.wait_group 0;\n"), &[1; 4], 0),
        [7, 7]
    );
}

#[test]
fn after_the_source_was_read_the_destination_may_not_be_written() {
    let body = |wait: &str| {
        format!("{BULK_STORE}{wait}ld.global.u32 %r8, [%out];\nst.global.u32 [%out+16], %r8;\n")
    };
    assert_eq!(
        both(&body("cp.async.bulk.wait_group.read 0;\n"), &[1; 5], 4),
        [7, 1]
    );
    assert_eq!(
        both(&body("cp.async.bulk.wait_group 0;\n"), &[1; 5], 4),
        [7, 7]
    );
}

#[test]
fn everything_is_performed_at_the_end() {
    for time in ALL {
        assert_eq!(one_thread(BULK_STORE, &[1; 5], time), [7, 0, 0, 0, 1]);
    }
}

#[test]
fn threads_that_wait_for_the_effect_itself_continue() {
    let body = format!(
        "{BULK_STORE}SPIN: ld.volatile.global.u32 %r8, [%out];\nsetp.ne.u32 %p1, %r8, 7;\n@%p1 bra SPIN;\n"
    );
    for time in ALL {
        assert_eq!(one_thread(&body, &[1; 4], time)[0], 7);
    }
    // The other warp waits at a barrier.
    let body = format!(
        "setp.ge.u32 %p2, %r0, 32;\n@%p2 bra WAITS;\nsetp.ne.u32 %p3, %r0, 0;\n@%p3 bra WAITS;\n{body}WAITS: bar.sync 0;\n"
    );
    for time in ALL {
        let words = launch(&kernel(SHARED, &body), 64, &[1; 4], time).unwrap();
        assert_eq!(words[0], 7);
    }
}

#[test]
fn an_impossible_operation_fails_where_it_starts() {
    let body =
        "mov.u32 %r2, words;\nmov.u64 %rd1, 16;\ncp.async.ca.shared.global [%r2], [%rd1], 4;\nret;";
    for time in ALL {
        let error = launch(&kernel(SHARED, body), 1, &[1], time).unwrap_err();
        assert!(error.instruction.starts_with("cp.async"), "{error}");
    }
}

#[test]
fn an_arrival_does_not_wait_for_copies_of_other_threads() {
    let body = format!(
        "mov.u32 %r1, barrier;\nmov.u32 %r2, words;\nmad.lo.u32 %r3, %r0, 4, %r2;\nsetp.eq.u32 %p1, %r0, 0;\n\
         @%p1 mbarrier.init.shared::cta.b64 [%r1], 1;\nbar.sync 0;\ncp.async.ca.shared.global [%r3], [%mine], 4;\n\
         @%p1 cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%r1];\n{WAIT}ld.shared.u32 %r8, [%r3];\nst.global.u32 [%mine+8], %r8;\n"
    );
    let result = |time| launch(&kernel(SHARED, &body), 2, &[7, 9, 0, 0], time).unwrap();
    assert_eq!(result(Asynchrony::Immediate), [7, 9, 7, 9]);
    assert_eq!(result(Asynchrony::Late), [7, 9, 7, 0]);
}

#[test]
fn products_of_a_warpgroup_are_in_registers_after_a_wait() {
    // Factors of ones in shared memory, in blocks of 128 bytes.
    let text = |wait: &str| {
        format!(
            ".version 8.8\n.target sm_90a\n.address_size 64\n.shared .align 1024 .b8 memory[4096];\n\
             .visible .entry k(.param .u64 data)\n{{\n\
             .reg .pred %p<4>;\n.reg .b32 %t, %r<4>;\n.reg .f32 %c<4>;\n.reg .b64 %rd<8>;\n\
             ld.param.u64 %rd1, [data];\nmov.u32 %t, %tid.x;\nmov.u32 %r1, memory;\nmad.lo.u32 %r2, %t, 4, %r1;\nmov.b32 %r3, 0x3c003c00;\n\
             st.shared.b32 [%r2], %r3;\nst.shared.b32 [%r2+512], %r3;\nst.shared.b32 [%r2+1024], %r3;\nst.shared.b32 [%r2+1536], %r3;\n\
             st.shared.b32 [%r2+2048], %r3;\nst.shared.b32 [%r2+2560], %r3;\nfence.proxy.async;\nbar.sync 0;\n\
             mov.f32 %c0, 0f3F800000;\nmov.f32 %c1, %c0;\nmov.f32 %c2, %c0;\nmov.f32 %c3, %c0;\nsetp.eq.u32 %p1, %t, %t;\n\
             mov.b64 %rd4, 0x800080000;\n\
             wgmma.fence.sync.aligned;\nwgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {{%c0, %c1, %c2, %c3}}, %rd4, %rd4, %p1, 1, 1, 0, 0;\n\
             wgmma.commit_group.sync.aligned;\n{wait}\n\
             mad.wide.u32 %rd2, %t, 4, %rd1;\nst.global.f32 [%rd2], %c3;\nret;\n}}\n"
        )
    };
    let run = |wait: &str, time| launch(&text(wait), 128, &[0; 128], time).unwrap();
    let (before, after) = (vec![1f32.to_bits(); 128], vec![17f32.to_bits(); 128]);
    let wait = |pending: u32| format!("wgmma.wait_group.sync.aligned {pending};");
    for time in ALL {
        assert_eq!(run(&wait(0), time), after, "{time}");
    }
    assert_eq!(run("", Asynchrony::Immediate), after);
    assert_eq!(run("", Asynchrony::Late), before);
    assert_eq!(run(&wait(1), Asynchrony::Late), before);
}

/// The state of a slot of 16 bytes of a thread.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Slot {
    Free,
    /// A copy to it is in the group of `cp.async` with a number.
    Copied(usize),
    /// A copy to it completes at the object of the thread.
    Tracked,
    /// A bulk copy of the group with a number reads it.
    Stored(usize),
}

const SLOTS: usize = 8;

/// A random program of a thread: copies to its slots and from them, and the waits that are needed before a slot is used.
struct Program {
    random: Random,
    text: String,
    slots: [Slot; SLOTS],
    copy_groups: usize,
    bulk_groups: usize,
    parity: u32,
    labels: usize,
    outputs: usize,
}

impl Program {
    fn new(seed: u64) -> Self {
        Self {
            random: Random::new(seed),
            text: String::new(),
            slots: [Slot::Free; SLOTS],
            copy_groups: 0,
            bulk_groups: 0,
            parity: 0,
            labels: 0,
            outputs: 0,
        }
    }

    fn below(&mut self, end: usize) -> usize {
        self.random.below(end as u64) as usize
    }

    fn line(&mut self, text: &str) {
        self.text.push_str(text);
        self.text.push('\n');
    }

    fn free(&mut self) -> Option<usize> {
        let first = self.below(SLOTS);
        (0..SLOTS)
            .map(|offset| (first + offset) % SLOTS)
            .find(|slot| self.slots[*slot] == Slot::Free)
    }

    fn release(&mut self, is_complete: impl Fn(Slot) -> bool) {
        for slot in &mut self.slots {
            if is_complete(*slot) {
                *slot = Slot::Free;
            }
        }
    }

    fn wait_for_object(&mut self) {
        if !self.slots.contains(&Slot::Tracked) {
            return;
        }
        let (label, parity) = (self.labels, self.parity);
        self.line(&format!(
            "W{label}: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%bar], {parity};\n@!%p2 bra W{label};"
        ));
        self.labels += 1;
        self.parity ^= 1;
        self.release(|slot| slot == Slot::Tracked);
    }

    fn statement(&mut self) {
        let choice = self.below(10);
        let source = 16 * self.below(4);
        match choice {
            0 | 1 => {
                let Some(slot) = self.free() else { return };
                self.line(&format!(
                    "cp.async.cg.shared.global [%slots+{}], [%in+{source}], 16;",
                    16 * slot
                ));
                self.slots[slot] = Slot::Copied(self.copy_groups);
            }
            2 => {
                self.line("cp.async.commit_group;");
                self.copy_groups += 1;
            }
            3 => {
                let pending = self.below(3);
                self.line(&format!("cp.async.wait_group {pending};"));
                let complete = self.copy_groups.saturating_sub(pending);
                self.release(|slot| matches!(slot, Slot::Copied(group) if group < complete));
            }
            4 => {
                self.wait_for_object();
                let Some(slot) = self.free() else { return };
                self.line(&format!(
                    "mbarrier.arrive.expect_tx.shared::cta.b64 %rd1, [%bar], 16;\n\
                     fence.proxy.async;\n\
                     cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%slots+{}], [%in+{source}], 16, [%bar];",
                    16 * slot
                ));
                self.slots[slot] = Slot::Tracked;
            }
            5 => {
                self.wait_for_object();
                let Some(slot) = self.free() else { return };
                self.line(&format!(
                    "mbarrier.arrive.expect_tx.shared::cta.b64 %rd1, [%bar], 4;\n\
                     st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%slots+{}], %r4, [%bar];",
                    16 * slot
                ));
                self.slots[slot] = Slot::Tracked;
            }
            6 => {
                let Some(slot) = self.free() else { return };
                let output = 64 + 16 * self.outputs;
                if self.outputs == 12 {
                    return;
                }
                self.outputs += 1;
                self.line(&format!(
                    "fence.proxy.async;\ncp.async.bulk.global.shared::cta.bulk_group [%in+{output}], [%slots+{}], 16;",
                    16 * slot
                ));
                self.slots[slot] = Slot::Stored(self.bulk_groups);
                if self.below(2) == 0 {
                    self.line("cp.async.bulk.commit_group;");
                    self.bulk_groups += 1;
                }
            }
            7 => {
                self.line("cp.async.bulk.commit_group;");
                self.bulk_groups += 1;
                let pending = self.below(3);
                let read = ["", ".read"][self.below(2)];
                self.line(&format!("cp.async.bulk.wait_group{read} {pending};"));
                let complete = self.bulk_groups.saturating_sub(pending);
                self.release(|slot| matches!(slot, Slot::Stored(group) if group < complete));
            }
            8 => self.wait_for_object(),
            _ => {
                let Some(slot) = self.free() else { return };
                self.line(&format!(
                    "ld.shared.u32 %r3, [%slots+{offset}];\nmad.lo.u32 %r4, %r4, 31, %r3;\nst.shared.u32 [%slots+{offset}+4], %r4;",
                    offset = 16 * slot
                ));
            }
        }
    }

    /// The kernel, whose threads have 64 words each: 16 of input, then outputs.
    fn kernel(mut self, statements: usize) -> String {
        for _ in 0..statements {
            self.statement();
        }
        self.line("cp.async.wait_all;\ncp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;");
        self.wait_for_object();
        for slot in 0..SLOTS {
            self.line(&format!(
                "ld.shared.u32 %r3, [%slots+{}];\nmad.lo.u32 %r4, %r4, 31, %r3;",
                16 * slot
            ));
        }
        let text = &self.text;
        format!(
            ".version 9.2\n.target sm_90\n.address_size 64\n\
             .visible .entry k(.param .u64 data)\n{{\n\
             .shared .align 16 .b8 all[{shared}];\n.shared .align 8 .b8 objects[512];\n\
             .reg .pred %p<4>;\n.reg .b32 %r<8>, %slots, %bar;\n.reg .b64 %rd<4>, %in;\n\
             ld.param.u64 %in, [data];\nmov.u32 %r0, %tid.x;\nmul.wide.u32 %rd2, %r0, 256;\nadd.u64 %in, %in, %rd2;\n\
             mov.u32 %slots, all;\nmad.lo.u32 %slots, %r0, {slots}, %slots;\n\
             mov.u32 %bar, objects;\nmad.lo.u32 %bar, %r0, 8, %bar;\n\
             mbarrier.init.shared::cta.b64 [%bar], 1;\nmov.u32 %r4, %r0;\nmov.u32 %r5, 0;\n\
             ZERO: st.shared.u32 [%slots], %r5;\nadd.u32 %slots, %slots, 4;\nadd.u32 %r5, %r5, 4;\nsetp.lt.u32 %p1, %r5, {slots};\n@%p1 bra ZERO;\n\
             sub.u32 %slots, %slots, {slots};\n\
             fence.proxy.async;\n{text}st.global.u32 [%in+252], %r4;\nret;\n}}\n",
            shared = 64 * 16 * SLOTS,
            slots = 16 * SLOTS,
        )
    }
}

#[test]
fn random_programs_with_all_waits_give_the_same_at_any_time() {
    let input: Vec<u32> = (0..64 * 64)
        .map(|n: u32| n.wrapping_mul(2_654_435_761) >> 8)
        .collect();
    for seed in 0..150 {
        let text = Program::new(seed).kernel(60);
        let threads = [1, 32, 64][seed as usize % 3];
        let expected = launch(&text, threads, &input, Asynchrony::Immediate).unwrap();
        assert_ne!(expected, input);
        let times = [
            Asynchrony::Late,
            Asynchrony::Random(seed),
            Asynchrony::Random(seed + 1000),
        ];
        for time in times {
            let found = launch(&text, threads, &input, time).unwrap();
            assert!(found == expected, "{time}, {threads} threads:\n{text}");
        }
    }
}

#[test]
fn random_programs_with_all_waits_have_no_reports() {
    let input: Vec<u32> = (0..64 * 64).collect();
    for seed in 0..60 {
        let text = Program::new(seed).kernel(60);
        let parsed = ptx_parse::parse_str(&text);
        for time in ALL {
            let mut machine = Machine::new(&parsed.module);
            let data = machine.allocate(4 * input.len() as u64).unwrap();
            machine.write_slice(data, &input).unwrap();
            let mut launch = Launch::new("k").shape(1, 32).argument(data.to_le_bytes());
            launch.asynchrony = time;
            launch.checks = [
                Checker::Memcheck,
                Checker::Initcheck,
                Checker::Synccheck,
                Checker::Racecheck,
            ]
            .into_iter()
            .collect();
            machine.launch(&launch).unwrap();
            let reports: Vec<String> = machine
                .reports()
                .iter()
                .map(|r| r.message.clone())
                .collect();
            assert!(reports.is_empty(), "{time}: {reports:?}\n{text}");
        }
    }
}

#[test]
fn a_missing_wait_of_a_random_program_is_visible_or_does_not_matter() {
    let input: Vec<u32> = (0..64 * 64)
        .map(|n: u32| n.wrapping_mul(2_654_435_761) >> 8)
        .collect();
    let (mut removed, mut visible) = (0, 0);
    for seed in 0..40 {
        let text = Program::new(seed).kernel(60);
        let waits = text.lines().filter(|line| line.contains("wait")).count();
        let mut random = Random::new(seed);
        let removed_wait = random.below(waits as u64) as usize;
        let mut position = 0;
        let lines = text.lines().filter(|line| {
            // A wait in a loop has the branch on the next line, which then does not repeat.
            let is_wait = line.contains("wait");
            position += usize::from(is_wait);
            !(is_wait && position == removed_wait + 1 && !line.contains("mbarrier"))
        });
        let faulty: String = lines.flat_map(|line| [line, "\n"]).collect();
        if faulty == text {
            continue;
        }
        removed += 1;
        let immediate = launch(&faulty, 32, &input, Asynchrony::Immediate).unwrap();
        let expected = launch(&text, 32, &input, Asynchrony::Immediate).unwrap();
        assert!(immediate == expected, "{faulty}");
        let late = launch(&faulty, 32, &input, Asynchrony::Late).unwrap();
        visible += usize::from(late != expected);
    }
    println!("{removed} waits were removed, {visible} of them visibly");
    assert!(removed >= 20 && visible >= 5, "{removed}, {visible}");
}
