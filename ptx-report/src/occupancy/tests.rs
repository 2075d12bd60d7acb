//! Comparison with the formulas of the occupancy calculator, written again from its published spreadsheet.

use super::{BlockNeeds, MultiprocessorLimits, Occupancy};

/// The columns of the spreadsheet: compute capability, warps, CTAs, bytes of shared memory of a multiprocessor and of a CTA, unit of shared memory, and the
/// shared memory that the runtime reserves for each CTA.
const COLUMNS: [(u32, f64, f64, f64, f64, f64, f64); 11] = [
    (75, 32.0, 16.0, 65536.0, 65536.0, 256.0, 0.0),
    (80, 64.0, 32.0, 167936.0, 166912.0, 128.0, 1024.0),
    (86, 48.0, 16.0, 102400.0, 101376.0, 128.0, 1024.0),
    (87, 48.0, 16.0, 167936.0, 166912.0, 128.0, 1024.0),
    (89, 48.0, 24.0, 102400.0, 101376.0, 128.0, 1024.0),
    (90, 64.0, 32.0, 233472.0, 232448.0, 128.0, 1024.0),
    (100, 64.0, 32.0, 233472.0, 232448.0, 128.0, 1024.0),
    (103, 64.0, 32.0, 233472.0, 232448.0, 128.0, 1024.0),
    (110, 48.0, 24.0, 233472.0, 232448.0, 128.0, 1024.0),
    (120, 48.0, 24.0, 102400.0, 101376.0, 128.0, 1024.0),
    (121, 48.0, 24.0, 102400.0, 101376.0, 128.0, 1024.0),
];

fn ceiling(number: f64, unit: f64) -> f64 {
    (number / unit).ceil() * unit
}

fn floor(number: f64, unit: f64) -> f64 {
    (number / unit).floor() * unit
}

/// The CTAs of a multiprocessor by the spreadsheet.
fn expected(column: usize, needs: BlockNeeds) -> f64 {
    let (_, warps, blocks, shared, most_shared, unit, reserved) = COLUMNS[column];
    let block_warps = (f64::from(needs.threads) / 32.0).ceil();
    let by_warps = blocks.min((warps / block_warps).floor());
    let by_registers = if needs.registers > 255 {
        0.0
    } else {
        let of_warp = ceiling(f64::from(needs.registers) * 32.0, 256.0);
        (floor(65536.0 / of_warp, 4.0) / block_warps).floor()
    };
    let by_shared = if needs.shared_bytes as f64 > most_shared {
        0.0
    } else {
        let of_block = ceiling(needs.shared_bytes as f64 + reserved, unit);
        if of_block > 0.0 {
            (shared / of_block).floor()
        } else {
            blocks
        }
    };
    by_warps.min(by_registers).min(by_shared)
}

#[test]
fn random_configurations() {
    let mut state = 0x2545_f491_4f6c_dd1du64;
    let mut random = |range: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % range
    };
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..2_000 {
        let column = random(COLUMNS.len() as u64) as usize;
        let needs = BlockNeeds {
            threads: 1 + random(1024) as u32,
            registers: 1 + random(260) as u32,
            shared_bytes: random(4) * random(64 << 10),
        };
        let capability = COLUMNS[column].0;
        let limits = MultiprocessorLimits::of(capability / 10, capability % 10).unwrap();
        let occupancy = Occupancy::new(&limits, needs);
        assert_eq!(
            f64::from(occupancy.blocks),
            expected(column, needs),
            "{capability} {needs:?}"
        );
        seen.insert(occupancy.blocks);
        if let Some(registers) = occupancy.registers_for_more(&limits, needs) {
            let with = |registers| expected(column, BlockNeeds { registers, ..needs });
            assert!(
                with(registers) > with(needs.registers) && with(registers) > with(registers + 1)
            );
        }
        if let Some(shared_bytes) = occupancy.shared_for_more(&limits, needs) {
            let with = |shared_bytes| {
                expected(
                    column,
                    BlockNeeds {
                        shared_bytes,
                        ..needs
                    },
                )
            };
            assert!(with(shared_bytes) > with(needs.shared_bytes));
            assert!(with(shared_bytes + 1) < with(shared_bytes));
        }
    }
    assert!(seen.len() > 12, "{seen:?}");
}

#[test]
fn targets() {
    let of = |target| MultiprocessorLimits::of_target(target).map(|limits| limits.capability);
    assert_eq!(of("sm_90a"), Some((9, 0)));
    assert_eq!(of("sm_100f"), Some((10, 0)));
    assert_eq!(of("sm_121"), Some((12, 1)));
    assert_eq!(of("sm_52"), None);
    assert_eq!(of("compute_90"), None);
}
