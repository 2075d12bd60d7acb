//! What reading allocates, counted: few calls of the allocator, and little more than the module.
#![allow(missing_docs)]

use std::alloc::System;
use std::sync::Arc;

use peakmem_alloc::{PeakMemAlloc, PeakMemAllocTrait as _};
use ptx_ir::Limits;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use test_support::inputs;

#[global_allocator]
static ALLOCATOR: PeakMemAlloc<&StatsAlloc<System>> = PeakMemAlloc::new(&INSTRUMENTED_SYSTEM);

/// The calls of the allocator and the largest number of bytes while a source is read.
fn measure(source: &Arc<[u8]>) -> (usize, usize) {
    ALLOCATOR.reset_peak_memory();
    let region = Region::new(&INSTRUMENTED_SYSTEM);
    let parsed = ptx_parse::parse_with(source.clone(), &Limits::default());
    let stats = region.change();
    let calls = stats.allocations + stats.reallocations;
    let peak = ALLOCATOR.get_peak_memory();
    drop(parsed);
    (calls, peak)
}

/// The only test of this program: another one would allocate at the same time.
#[test]
fn reading_allocates_little() {
    for input in inputs::all() {
        let source: Arc<[u8]> = input.text.into();
        // The threads of the parser allocate when they start.
        let (calls, peak) = (0..5).map(|_| measure(&source)).min().unwrap_or_default();
        let (name, bytes) = (format!("{} ({})", input.name, input.file), source.len());
        if input.name == "small" {
            assert!(calls <= 64, "{name}: {calls} calls");
            assert!(peak <= bytes * 6, "{name}: {peak} bytes");
        } else {
            assert!(calls * 1000 <= bytes * 2, "{name}: {calls} calls");
            assert!(peak <= bytes * 4, "{name}: {peak} bytes");
        }
    }
}
