//! Runs the target of `ptx_fuzz::TARGETS` that the environment variable `PTXKIT_FUZZ_TARGET` names.
#![no_main]

use std::sync::LazyLock;

static TARGET: LazyLock<ptx_fuzz::Target> = LazyLock::new(|| {
    let name = std::env::var("PTXKIT_FUZZ_TARGET").unwrap_or_default();
    ptx_fuzz::target(&name).unwrap_or_else(|| {
        eprintln!("PTXKIT_FUZZ_TARGET is `{name}`, which is not a target");
        std::process::exit(2)
    })
});

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| TARGET(bytes));
