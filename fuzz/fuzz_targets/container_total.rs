//! See `ptx_fuzz::container_total`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ptx_fuzz::container_total(bytes));
