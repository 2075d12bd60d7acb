//! Checks built modules with the printer, the parser and, where `PTXAS` is set, ptxas.
#![allow(dead_code, reason = "every test uses some of it")]

use std::collections::BTreeSet;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use ptx_build::ModuleBuilder;
use ptx_ir::{Body, Module, SymbolKind};

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
        .args(["-o", test_support::NULL_DEVICE])
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

/// The printed text of a built module.
pub(crate) fn printed(module: &Module) -> String {
    String::from_utf8(ptx_print::verbatim(module)).unwrap()
}

/// The module has no source, and the records that the parser gives its printed text.
pub(crate) fn same_as_parsed(module: &Module) {
    assert!(!module.has_source());
    let text = printed(module);
    let parsed = ptx_parse::parse(text.as_bytes());
    assert!(!parsed.has_errors(), "{:?}\n{text}", parsed.diagnostics);
    let again = &parsed.module;
    if let Err(difference) = ptx_ir::compare::compare(module, again) {
        panic!(
            "{difference} at {:?}\n{text}",
            difference.right.of(text.as_bytes())
        );
    }
    assert_eq!(
        ptx_print::canonical(again, &ptx_print::Style::default()),
        text.as_bytes()
    );
    let kinds = |m: &Module| {
        let symbols = m.symbols().values();
        let kinds = symbols.map(|s| {
            let kind = match s.kind {
                SymbolKind::Variable(space, _) => Some(space),
                _ => None,
            };
            (m.name(s.name).to_string(), s.number, kind)
        });
        kinds.collect::<BTreeSet<_>>()
    };
    assert_eq!(kinds(module), kinds(again), "{text}");
    assert_eq!(module.functions().len(), again.functions().len(), "{text}");
    assert_eq!(module.bodies().len(), again.bodies().len(), "{text}");
    let bodies = module.bodies().values().zip(again.bodies().values());
    for (own, other) in bodies {
        same_bodies(own, other, &text);
    }
}

/// Both bodies number statements, scopes and names alike.
fn same_bodies(own: &Body, other: &Body, text: &str) {
    assert!(!own.is_in_source() && own.is_closed());
    assert_eq!(own.statement_table().len(), other.statement_table().len());
    assert_eq!(own.stmt_spans().len(), other.stmt_spans().len());
    let labels = |b: &Body| {
        let labels = b.labels().values().map(|l| (l.scope, l.stmt));
        labels.collect::<Vec<_>>()
    };
    assert_eq!(labels(own), labels(other), "{text}");
    assert_eq!(own.inner_scopes(), other.inner_scopes(), "{text}");
    assert_eq!(own.registers(), other.registers(), "{text}");
    let lengths = |b: &Body| {
        (
            b.insts().count(),
            b.inst_table().len(),
            b.reg_decls().len(),
            b.vars().len(),
        )
    };
    assert_eq!(lengths(own), lengths(other), "{text}");
}

/// Checks that the module is legal, that its text is canonical and parses to the same module, and that ptxas accepts it.
pub(crate) fn check(m: ModuleBuilder) -> String {
    let (target, written) = (m.target(), m.text());
    let module = m.finish().unwrap_or_else(|e| panic!("{e}\n{}", e.text()));
    same_as_parsed(&module);
    let shown = printed(&module);
    assert_eq!(written, shown);
    let again = ptx_parse::parse(shown.as_bytes());
    assert!(again.diagnostics.is_empty(), "{:?}", again.diagnostics);
    let said = ptxas(shown.as_bytes(), target.text(), &["-c"]).unwrap_or_default();
    assert!(said.is_empty(), "{said}\n{shown}");
    shown
}
