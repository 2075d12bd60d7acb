//! What is built, held against printer, parser and, where `PTXAS` names it, NVIDIA's assembler.
#![allow(dead_code, reason = "every test uses some of it")]

use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use ptx_build::ModuleBuilder;

/// What the assembler says against a text; `None` without an assembler.
pub(crate) fn ptxas(text: &[u8], arch: &str, args: &[&str]) -> Option<String> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let Some(ptxas) = std::env::var_os("PTXAS") else {
        eprintln!("SKIPPED: PTXAS names no assembler; nothing is assembled for {arch}");
        return None;
    };
    let n = NEXT.fetch_add(1, Ordering::Relaxed);
    let path = std::env::temp_dir().join(format!("ptx-build-{}-{n}.ptx", std::process::id()));
    std::fs::write(&path, text).unwrap();
    let output = Command::new(ptxas)
        .arg(format!("-arch={arch}"))
        .args(args)
        .args(["-o", "/dev/null"])
        .arg(&path)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    std::fs::remove_file(&path).unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    Some(if output.status.success() {
        String::new()
    } else {
        said
    })
}

/// The module is legal, its text is canonical, reads back the same, and the assembler takes it.
pub(crate) fn check(m: ModuleBuilder) -> String {
    let (target, written) = (m.target(), m.text());
    let module = m.finish().unwrap_or_else(|e| panic!("{e}\n{}", e.text()));
    let text = ptx_print::canonical(&module, &ptx_print::Style::default());
    let shown = String::from_utf8_lossy(&text).into_owned();
    // As it was written, but for the blanks of fragments and of long lists.
    let blanks = |text: &str| text.split_whitespace().collect::<String>();
    assert_eq!(blanks(&written), blanks(&shown));
    let again = ptx_parse::parse(&text);
    assert!(again.diagnostics.is_empty(), "{:?}", again.diagnostics);
    let same = ptx_ir::compare::compare(&module, &again.module);
    assert!(same.is_ok(), "{same:?}");
    let said = ptxas(&text, target.text(), &["-c"]).unwrap_or_default();
    assert!(said.is_empty(), "{said}\n{shown}");
    shown
}
