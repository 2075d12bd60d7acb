//! Checks built modules with the printer, the parser and, where `PTXAS` is set, ptxas.
#![allow(dead_code, reason = "every test uses some of it")]

use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use ptx_build::ModuleBuilder;
use ptx_ir::Module;

/// The errors of ptxas for a text; `None` without ptxas.
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

/// The module has the records and the spans that the parser gives its text.
pub(crate) fn same_as_parsed(module: &Module) {
    let text = String::from_utf8_lossy(module.source());
    let verbatim = ptx_print::verbatim(module);
    assert_eq!(String::from_utf8_lossy(&verbatim), text);
    let parsed = ptx_parse::parse(module.source());
    assert!(!parsed.has_errors(), "{:?}\n{text}", parsed.diagnostics);
    let again = &parsed.module;
    if let Err(difference) = ptx_ir::compare::compare(module, again) {
        panic!(
            "{difference} at {:?}\n{text}",
            difference.left.of(module.source())
        );
    }
    let items = |m: &Module| m.item_spans().to_vec();
    assert_eq!(items(module), items(again), "{text}");
    assert_eq!(module.bodies().len(), again.bodies().len());
    for (own, other) in module.bodies().values().zip(again.bodies().values()) {
        assert_eq!(
            (own.base(), own.end()),
            (other.base(), other.end()),
            "{text}"
        );
        assert_eq!(own.stmt_spans(), other.stmt_spans(), "{text}");
        let labels = |b: &ptx_ir::Body| {
            b.labels()
                .values()
                .copied()
                .map(|l| (l.scope, l.stmt))
                .collect::<Vec<_>>()
        };
        assert_eq!(labels(own), labels(other), "{text}");
        assert_eq!(own.inner_scopes(), other.inner_scopes(), "{text}");
    }
    let kinds = |m: &Module| {
        let kinds = m
            .symbols()
            .values()
            .map(|s| (m.name(s.name).to_string(), s.number, s.kind));
        kinds.collect::<Vec<_>>()
    };
    assert_eq!(kinds(module), kinds(again), "{text}");
    assert_eq!(module.functions().len(), again.functions().len(), "{text}");
}

/// Checks that the module is legal, that its text is canonical and parses to the same module, and that ptxas accepts it.
pub(crate) fn check(m: ModuleBuilder) -> String {
    let (target, written) = (m.target(), m.text());
    let module = m.finish().unwrap_or_else(|e| panic!("{e}\n{}", e.text()));
    same_as_parsed(&module);
    let text = ptx_print::canonical(&module, &ptx_print::Style::default());
    let shown = String::from_utf8_lossy(&text).into_owned();
    // As it was written, except for white space in fragments and long lists.
    let dense = |text: &str| text.split_whitespace().collect::<String>();
    assert_eq!(dense(&written), dense(&shown));
    let again = ptx_parse::parse(&text);
    assert!(again.diagnostics.is_empty(), "{:?}", again.diagnostics);
    let same = ptx_ir::compare::compare(&module, &again.module);
    assert!(same.is_ok(), "{same:?}");
    let said = ptxas(&text, target.text(), &["-c"]).unwrap_or_default();
    assert!(said.is_empty(), "{said}\n{shown}");
    shown
}
