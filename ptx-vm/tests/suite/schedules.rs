//! Orders of CTAs and warps: they find results that depend on the order, give the same each time, and every thread gets its turn.
#![allow(clippy::unwrap_used, reason = "tests fail by panics")]

use ptx_vm::{Launch, Machine, RunError, Schedule, StopReason};

use crate::common::kernel;

fn words(
    text: &str,
    (grid, block): (u32, u32),
    schedule: Option<Schedule>,
) -> Result<Vec<u32>, RunError> {
    let parsed = ptx_parse::parse_str(text);
    assert!(parsed.diagnostics.is_empty(), "{:?}", parsed.diagnostics);
    let mut machine = Machine::new(&parsed.module);
    let data = machine.allocate(4096).unwrap();
    let mut launch = Launch::new("k").shape(grid, block);
    launch = launch.argument(data.to_le_bytes());
    launch.schedule = schedule;
    launch.limits.steps = 1 << 26;
    machine.launch(&launch)?;
    let bytes = machine.read(data, 4096)?;
    let words = bytes.chunks(4);
    Ok(words
        .map(|w| u32::from_le_bytes(w.try_into().unwrap()))
        .collect())
}

#[test]
fn a_missing_barrier_between_warps() {
    // The last warp reads what the first one writes.
    let text = kernel(
        ".shared .u32 value;",
        "setp.ge.u32 %p1, %r0, 32;\n@%p1 bra read;\nst.shared.u32 [value], 7;\nbra end;\n\
         read: ld.shared.u32 %r1, [value];\nst.global.u32 [%out], %r1;\nend:",
    );
    let found = |schedule| words(&text, (1, 64), schedule).unwrap()[0];
    assert_eq!(found(None), 7);
    assert_eq!(found(Some(Schedule::StarveWarp(0))), 0);
    assert_eq!(found(Some(Schedule::FavorWarp(1))), 0);
    assert_eq!(found(Some(Schedule::StarveWarp(1))), 7);
    assert_eq!(found(Some(Schedule::FavorWarp(0))), 7);
    let several = Schedule::several(64, 1).take(4);
    assert!(several.into_iter().any(|one| found(Some(one)) == 0));
}

#[test]
fn a_missing_flag_between_ctas() {
    let text = kernel(
        ".global .u32 value;",
        "mov.u32 %r1, %ctaid.x;\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 bra read;\nst.volatile.global.u32 [value], 7;\nbra end;\n\
         read: ld.volatile.global.u32 %r2, [value];\nmad.wide.u32 %rd1, %r1, 4, %out;\nst.global.u32 [%rd1], %r2;\nend:",
    );
    let found = |schedule| words(&text, (4, 1), schedule).unwrap()[1..4].to_vec();
    assert_eq!(found(None), [7; 3]);
    assert_eq!(found(Some(Schedule::DelayBlock(0))), [0; 3]);
    assert_eq!(found(Some(Schedule::DelayBlock(2))), [7; 3]);
    assert_eq!(found(Some(Schedule::DelayBlock(99))), [7; 3]);
}

#[test]
fn a_delayed_cta_of_a_cluster() {
    let text = kernel(
        ".shared .u32 value;",
        "mov.u32 %r1, %cluster_ctarank;\nmov.u32 %r2, value;\nmapa.shared::cluster.u32 %r3, %r2, 0;\nsetp.eq.u32 %p1, %r1, 0;\n\
         @%p1 st.shared.u32 [value], 7;\n@!%p1 ld.shared::cluster.u32 %r4, [%r3];\n@!%p1 st.global.u32 [%out], %r4;\nbarrier.cluster.arrive;\nbarrier.cluster.wait;",
    );
    let parsed = ptx_parse::parse_str(&text);
    for (schedule, expected) in [(None, 7), (Some(Schedule::DelayBlock(0)), 0)] {
        let mut machine = Machine::new(&parsed.module);
        let data = machine.allocate(4).unwrap();
        let mut launch = Launch::new("k").shape(2, 32).argument(data.to_le_bytes());
        launch.cluster = [2, 1, 1];
        launch.schedule = schedule;
        machine.launch(&launch).unwrap();
        assert_eq!(machine.read(data, 4).unwrap(), u32::to_le_bytes(expected));
    }
}

/// A kernel in which every warp waits for the one before it, and threads meet at barriers.
fn chain() -> String {
    kernel(
        ".shared .u32 turn;",
        "shr.u32 %r1, %r0, 5;\nst.shared.u32 [turn], 0;\nbar.sync 0;\n\
         again: ld.volatile.shared.u32 %r2, [turn];\nsetp.ne.u32 %p1, %r2, %r1;\n@%p1 bra again;\nbar.warp.sync -1;\n\
         add.u32 %r3, %r1, 1;\nst.volatile.shared.u32 [turn], %r3;\nbar.sync 0;\n\
         ld.shared.u32 %r4, [turn];\nst.global.u32 [%mine], %r4;\natom.global.add.u32 %r5, [%out+4092], 1;",
    )
}

#[test]
fn every_thread_gets_its_turn() {
    let text = chain();
    let orders = Schedule::several(256, 3).take(40).map(Some);
    for schedule in orders.chain([None, Some(Schedule::StarveWarp(99))]) {
        let found = words(&text, (3, 256), schedule).unwrap();
        assert_eq!(found[..256], [8; 256], "{schedule:?}");
        assert_eq!(found[1023], 3 * 256, "{schedule:?}");
        assert_eq!(found, words(&text, (3, 256), schedule).unwrap());
    }
}

#[test]
fn hangs_are_found_in_every_order() {
    let text = chain().replace("add.u32 %r3, %r1, 1;", "add.u32 %r3, %r1, 2;");
    for schedule in Schedule::several(128, 2).take(12) {
        let error = words(&text, (2, 128), Some(schedule)).unwrap_err();
        assert_eq!(error.reason, StopReason::Deadlock, "{schedule}: {error}");
        assert!(error.to_string().contains("`turn`"), "{error}");
    }
}

#[test]
fn orders_have_texts() {
    for schedule in Schedule::several(1024, 9).take(60) {
        assert_eq!(schedule.to_string().parse(), Ok(schedule));
    }
    for text in [
        "",
        "seed",
        "seed:",
        "seed:-1",
        "starve:4294967296",
        "late:1",
        "seed:1:2",
    ] {
        assert!(text.parse::<Schedule>().is_err(), "{text}");
    }
}

/// The family of random orders: CTAs begin and warps run in another order for each seed, the same each time.
#[test]
fn seeds_select_orders() {
    // Each CTA or each warp stores the number of those that came before it.
    let of_blocks = kernel(
        ".global .u32 tickets;",
        "atom.global.add.u32 %r1, [tickets], 1;\nmov.u32 %r2, %ctaid.x;\nmad.wide.u32 %rd1, %r2, 4, %out;\nst.global.u32 [%rd1], %r1;",
    );
    let of_warps = kernel(
        ".shared .u32 tickets;",
        "and.b32 %r2, %r0, 31;\nsetp.ne.u32 %p1, %r2, 0;\n@%p1 bra end;\natom.shared.add.u32 %r1, [tickets], 1;\nshr.u32 %r2, %r0, 5;\nmad.wide.u32 %rd1, %r2, 4, %out;\n\
         st.global.u32 [%rd1], %r1;\nend:",
    );
    for (text, shape) in [(of_blocks, (16, 1)), (of_warps, (1, 512))] {
        let order = |schedule| words(&text, shape, schedule).unwrap()[..16].to_vec();
        let in_order: Vec<u32> = (0..16).collect();
        assert_eq!(order(None), in_order);
        let orders = [1, 2].map(|seed| order(Some(Schedule::Seed(seed))));
        assert_ne!(orders[0], orders[1]);
        for (seed, shuffled) in [1, 2].into_iter().zip(orders) {
            assert_ne!(shuffled, in_order);
            assert_eq!(shuffled, order(Some(Schedule::Seed(seed))));
            let mut sorted = shuffled;
            sorted.sort_unstable();
            assert_eq!(sorted, in_order);
        }
    }
}
