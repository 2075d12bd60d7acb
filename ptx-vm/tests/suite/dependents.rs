//! Grids that begin before the one before has ended, and grids whose CTAs are all resident.
#![allow(clippy::unwrap_used, reason = "tests fail by panics")]

use ptx_ir::Code;
use ptx_vm::{Checker, Cooperative, Launch, Machine, RunError, RunOptions, StopReason};

/// Runs the kernels `k0`, `k1` …, each with the grid size and the body, as a sequence. `%data` is the address of 64 words; gives these words.
fn run(
    kernels: &[(u32, String)],
    checker: Option<Checker>,
) -> Result<(Vec<u32>, Vec<Code>), RunError> {
    let mut text = ".version 9.0\n.target sm_90\n.address_size 64\n".to_owned();
    for (index, (_, body)) in kernels.iter().enumerate() {
        text += &format!(
            ".visible .entry k{index}(.param .u64 data)\n{{\n\
             .reg .pred %p<8>;\n.reg .b32 %r<8>;\n.reg .b64 %rd<8>;\n.reg .b64 %data, %mine;\n\
             ld.param.u64 %data, [data];\nmov.u32 %r0, %ctaid.x;\nmul.wide.u32 %mine, %r0, 4;\nadd.u64 %mine, %mine, %data;\n\
             {body}\nret;\n}}\n"
        );
    }
    let parsed = ptx_parse::parse_str(&text);
    let errors: Vec<_> = parsed.diagnostics.iter().map(|d| &d.message).collect();
    assert!(errors.is_empty(), "{errors:?}");
    let errors = ptx_verify::verify(&parsed.module, &ptx_verify::Options::default());
    let errors: Vec<_> = errors.iter().map(|d| &d.message).collect();
    assert!(errors.is_empty(), "{errors:?}");
    let mut machine = Machine::new(&parsed.module);
    let data = machine.allocate(256).unwrap();
    let mut launches = Vec::new();
    for (index, (grid, _)) in kernels.iter().enumerate() {
        let mut launch = Launch::new(format!("k{index}"))
            .shape(*grid, 1)
            .argument(data.to_le_bytes());
        launch.limits.steps = 20_000_000;
        if let Some(checker) = checker {
            launch = launch.check(checker);
        }
        launches.push(launch);
    }
    let launches: Vec<&Launch> = launches.iter().collect();
    let outcomes = machine.launch_dependent(&launches, RunOptions::default())?;
    assert_eq!(outcomes.len(), kernels.len());
    assert!(outcomes.iter().all(|outcome| outcome.steps > 0));
    let codes = machine.reports().iter().map(|report| report.code).collect();
    Ok((machine.read_slice(data, 64)?, codes))
}

const TRIGGER: &str = "griddepcontrol.launch_dependents;\n";
const WAIT: &str = "griddepcontrol.wait;\n";

/// Reads the first four words and adds them up at word `target`.
fn sum(target: u32) -> String {
    let loads: String = (0..4)
        .map(|i| {
            format!(
                "ld.global.u32 %r1, [%data+{}];\nadd.u32 %r2, %r2, %r1;\n",
                4 * i
            )
        })
        .collect();
    format!(
        "mov.u32 %r2, 0;\n{loads}st.global.u32 [%data+{}], %r2;\n",
        4 * target
    )
}

#[test]
fn a_grid_begins_when_all_ctas_let_it_and_waits_for_their_end() {
    let write = "add.u32 %r1, %r0, 1;\nst.global.u32 [%mine], %r1;\n";
    let early = (4, format!("{TRIGGER}{write}"));
    let value = |first: &(u32, String), second: String| {
        run(&[first.clone(), (1, second)], None).unwrap().0[8]
    };
    assert_eq!(value(&early, format!("{WAIT}{}", sum(8))), 10);
    assert_eq!(value(&early, sum(8)), 0);
    // Without the instruction, and if it comes last, a grid begins after all writes.
    assert_eq!(value(&(4, write.into()), sum(8)), 10);
    assert_eq!(value(&(4, format!("{write}{TRIGGER}")), sum(8)), 10);
    // One CTA that does not issue it has to end.
    let three = format!("setp.eq.u32 %p1, %r0, 2;\n@!%p1 {TRIGGER}{write}");
    assert_eq!(value(&(4, three), sum(8)), 3);
}

#[test]
fn a_grid_waits_for_all_earlier_grids() {
    let first = format!("{TRIGGER}add.u32 %r1, %r0, 1;\nst.global.u32 [%mine], %r1;\n");
    let second = format!("{TRIGGER}st.global.u32 [%data+40], 7;\n");
    let third = |wait: &str| {
        format!(
            "{wait}{}ld.global.u32 %r3, [%data+40];\nst.global.u32 [%data+36], %r3;\n",
            sum(8)
        )
    };
    let run = |wait: &str| {
        let kernels = [(4, first.clone()), (1, second.clone()), (1, third(wait))];
        let words = run(&kernels, None).unwrap().0;
        [words[8], words[9]]
    };
    assert_eq!(run(WAIT), [10, 7]);
    assert_eq!(run(""), [0, 0]);
}

#[test]
fn grids_do_not_wait_for_each_other_without_end() {
    // The second CTA only issues the instruction after the first one has written, which comes after its own.
    let first = format!(
        "setp.eq.u32 %p1, %r0, 1;\n@%p1 bra SPIN;\n{TRIGGER}st.volatile.global.u32 [%data], 1;\nret;\n\
         SPIN: ld.volatile.global.u32 %r1, [%data];\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 bra SPIN;\n{TRIGGER}"
    );
    assert_eq!(run(&[(2, first), (1, sum(8))], None).unwrap().0[8], 1);
    // The second grid spins for a write of the first one.
    let first = format!("{TRIGGER}st.volatile.global.u32 [%data], 5;\n");
    let spin = "SPIN: ld.volatile.global.u32 %r1, [%data];\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 bra SPIN;\nst.global.u32 [%data+32], %r1;\n";
    assert_eq!(run(&[(1, first), (1, spin.into())], None).unwrap().0[8], 5);
    // It counts its attempts in memory meanwhile.
    let counting = "SPIN: atom.global.add.u32 %r2, [%data+36], 1;\nld.volatile.global.u32 %r1, [%data];\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 bra SPIN;\nst.global.u32 [%data+32], %r1;\n";
    let first = format!("{TRIGGER}st.volatile.global.u32 [%data], 6;\n");
    assert_eq!(
        run(&[(1, first), (1, counting.into())], None).unwrap().0[8],
        6
    );
    let never =
        "SPIN: ld.volatile.global.u32 %r1, [%data];\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 bra SPIN;\n";
    let error = run(&[(1, never.into()), (1, WAIT.into())], None).unwrap_err();
    assert_eq!((error.reason, error.waits.len()), (StopReason::Deadlock, 1));
}

#[test]
fn random_sequences_agree_with_their_definition() {
    let mut seed = 1u64;
    let mut random = |n: u64| {
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % n
    };
    for _ in 0..60 {
        // The first grid stores 1, 2 … to word 0; the second one reads it again and again.
        let (stores, reads) = (random(6), 1 + random(6));
        let trigger = random(stores + 2);
        let wait = random(reads + 2);
        let mut first = String::new();
        for store in 0..=stores {
            if store == trigger {
                first += TRIGGER;
            }
            if store < stores {
                first += &format!("st.volatile.global.u32 [%data], {};\n", store + 1);
            }
        }
        let mut second = String::new();
        for read in 0..reads {
            if read == wait {
                second += WAIT;
            }
            second += &format!(
                "ld.volatile.global.u32 %r1, [%data];\nst.global.u32 [%data+{}], %r1;\n",
                4 * (read + 1)
            );
        }
        let (words, _) = run(&[(1, first), (1, second)], None).unwrap();
        let stores_before = trigger.min(stores);
        let expected: Vec<u32> = (0..reads)
            .map(|read| if read < wait { stores_before } else { stores } as u32)
            .collect();
        assert_eq!(
            words[1..=reads as usize],
            expected,
            "{stores} {trigger} {reads} {wait}"
        );
    }
}

#[test]
fn racecheck_reports_accesses_without_a_wait() {
    let write = "add.u32 %r1, %r0, 1;\nst.global.u32 [%mine], %r1;\n";
    let check = |first: String, second: String| {
        let (words, codes) = run(&[(4, first), (1, second)], Some(Checker::Racecheck)).unwrap();
        assert_eq!(words[8], 10);
        codes
    };
    let early = format!("{TRIGGER}{write}");
    // One report for each of the loads.
    assert_eq!(check(early.clone(), sum(8)), [Code::DataRace; 4]);
    // The writes before the instruction are not visible either.
    assert_eq!(
        check(format!("{write}{TRIGGER}"), sum(8)),
        [Code::DataRace; 4]
    );
    assert_eq!(check(early, format!("{WAIT}{}", sum(8))), []);
    assert_eq!(check(write.into(), sum(8)), []);
}

#[test]
fn cooperative_grids_fit_on_the_device() {
    // 132 × 9 CTAs wait for each other.
    let text = ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 data)\n{\n\
                .reg .pred %p1;\n.reg .b32 %r<4>;\n.reg .b64 %rd1;\nld.param.u64 %rd1, [data];\nmov.u32 %r1, %nctaid.x;\n\
                red.relaxed.gpu.global.add.u32 [%rd1], 1;\n\
                SPIN: ld.relaxed.gpu.global.u32 %r2, [%rd1];\nsetp.lt.u32 %p1, %r2, %r1;\n@%p1 bra SPIN;\nret;\n}\n";
    let parsed = ptx_parse::parse_str(text);
    let run = |grid, block, shared, cooperative| {
        let mut machine = Machine::new(&parsed.module);
        let data = machine.allocate(4).unwrap();
        let mut launch = Launch::new("k")
            .shape(grid, block)
            .argument(data.to_le_bytes());
        launch.shared = shared;
        launch.cooperative = cooperative;
        machine.launch(&launch).map(|_| ())
    };
    assert_eq!(
        run(132 * 9, 1, 0, None).unwrap_err().reason,
        StopReason::Deadlock
    );
    run(132 * 9, 1, 0, Some(Cooperative::default())).unwrap();
    run(4, 1, 100 << 10, Some(Cooperative::new(2))).unwrap();
    let error = run(5, 1, 100 << 10, Some(Cooperative::new(2))).unwrap_err();
    assert_eq!(
        error.to_string(),
        "invalid launch: the CTAs of a cooperative launch are resident at the same time: expected at most 4 (2 multiprocessors with 2 each), found 5"
    );
}
