//! See `ptx_fuzz::canonical_fixpoint`.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &[u8]| ptx_fuzz::canonical_fixpoint(text));
