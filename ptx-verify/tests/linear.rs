//! Verifying asks the allocator for about twice as much where the text is twice as long.
#![allow(missing_docs)]

use std::alloc::System;

use ptx_verify::Options;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// The only test of this program: another one would allocate at the same time.
#[test]
fn a_vector_of_twice_the_elements_takes_twice_the_memory() {
    let asked = |elements: usize| {
        let elements = vec!["%r"; elements].join(", ");
        let text = format!(
            ".version 9.0\n.target sm_90\n.entry k() {{ .reg .b32 %r; .reg .b64 %d; mov.b64 %d, {{{elements}}}; ret; }}\n"
        );
        let module = ptx_parse::parse_str(&text).module;
        let region = Region::new(ALLOCATOR);
        let found = ptx_verify::verify(&module, &Options::default());
        let change = region.change();
        assert_eq!(found.len(), 1, "{found:?}");
        change.bytes_allocated
    };
    let (one, two) = (asked(2000), asked(4000));
    assert!(two < one * 3, "{one}, then {two} bytes");
}
