//! See `ptx_fuzz::roundtrip_exact`.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &[u8]| ptx_fuzz::roundtrip_exact(text));
