//! What verifying allocates beyond the module: at most a byte for each byte of a large source.
#![allow(missing_docs)]

use std::alloc::System;

use peakmem_alloc::{PeakMemAlloc, PeakMemAllocTrait as _};
use test_support::inputs;

#[global_allocator]
static ALLOCATOR: PeakMemAlloc<System> = PeakMemAlloc::new(System);

type Check = fn(&ptx_ir::Module) -> usize;

/// The only test of this program: another one would allocate at the same time.
#[test]
fn verifying_allocates_little() {
    for input in inputs::all() {
        let module = ptx_parse::parse(&input.text).module;
        let bytes = module.source().len();
        let uses: [(&str, Check); 2] = [
            ("verify", |m| {
                ptx_verify::verify(m, &Default::default()).len()
            }),
            ("generation", |m| ptx_verify::codegen_limits(m).len()),
        ];
        for (what, check) in uses {
            ALLOCATOR.reset_peak_memory();
            check(&module);
            let peak = ALLOCATOR.get_peak_memory();
            let (name, file) = (input.name, &input.file);
            println!("{name} ({file}): {what}: {peak} of {bytes} bytes");
            // A small file bears the tables of any.
            let most = if name == "small" { 64 * 1024 } else { bytes };
            assert!(peak <= most, "{name} ({file}): {what}: {peak} of {bytes}");
        }
    }
}
