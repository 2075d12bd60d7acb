//! `cargo bench -p bench --features measure --bench memory [-- FILE…]`: the memory that parsing allocates, counted by the
//! allocator. One line per file: name, bytes, allocations, peak bytes, bytes kept by the module.
//! The source itself is not counted. Without files, the inputs of the other benchmarks.

#![allow(missing_docs)]

use std::alloc::System;
use std::path::Path;
use std::sync::Arc;

use peakmem_alloc::{PeakMemAlloc, PeakMemAllocTrait as _};
use ptx_ir::Limits;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: PeakMemAlloc<&StatsAlloc<System>> = PeakMemAlloc::new(&INSTRUMENTED_SYSTEM);

fn main() -> std::io::Result<()> {
    let files: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| !a.starts_with("--"))
        .collect();
    println!("file\tbytes\tallocations\tpeak\tkept");
    for file in &files {
        let source: Arc<[u8]> = std::fs::read(Path::new(file))?.into();
        measure(file, source);
    }
    if files.is_empty() {
        for input in bench::all() {
            measure(
                &format!("{} ({})", input.name, input.file),
                input.text.into(),
            );
        }
    }
    Ok(())
}

fn measure(name: &str, source: Arc<[u8]>) {
    // The first parse allocates the tables that the process shares.
    if source.len() < 1 << 20 {
        drop(ptx_parse::parse_with(source.clone(), &Limits::default()));
    }
    ALLOCATOR.reset_peak_memory();
    let region = Region::new(&INSTRUMENTED_SYSTEM);
    let parsed = ptx_parse::parse_with(source.clone(), &Limits::default());
    let stats = region.change();
    let peak = ALLOCATOR.get_peak_memory();
    let allocations = stats.allocations + stats.reallocations;
    let kept = stats.bytes_allocated as i64 - stats.bytes_deallocated as i64;
    println!("{name}\t{}\t{allocations}\t{peak}\t{kept}", source.len());
    drop(parsed);
}
