//! Small sources are parsed and verified without starting threads: a process that looks at one function pays nothing for them.
#![cfg(target_os = "linux")]
#![allow(missing_docs, clippy::unwrap_used)]

use ptx_verify::Options;

/// The only test of this program: another one would start threads at the same time.
#[test]
fn small_sources_start_no_threads() {
    let before = threads();
    check(1);
    assert_eq!(threads(), before);
    if cfg!(feature = "parallel") && std::thread::available_parallelism().unwrap().get() > 1 {
        check(4000);
        assert!(threads() > before);
    }
}

/// Applies all rules to a module with some functions.
fn check(functions: usize) {
    let mut text = ".version 8.0\n.target sm_80\n.address_size 64\n".to_owned();
    for i in 0..functions {
        text += &format!(
            ".func f{i}()\n{{\n\t.reg .b32 %r<4>;\n\tadd.s32 %r1, %r2, %r3;\n\tret;\n}}\n"
        );
    }
    let parsed = ptx_parse::parse_str(&text);
    assert_eq!(parsed.diagnostics, []);
    assert_eq!(ptx_verify::verify(&parsed.module, &Options::default()), []);
    assert_eq!(ptx_verify::codegen_limits(&parsed.module), []);
}

/// How many threads this process has.
fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").unwrap().count()
}
