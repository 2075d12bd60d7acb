//! See `ptx_fuzz::parse_total`.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &[u8]| ptx_fuzz::parse_total(text));
