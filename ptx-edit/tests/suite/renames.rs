//! A new name never captures another one: ranges, variables, symbols and new declarations.
#![allow(clippy::unwrap_used, reason = "tests fail by panics")]

use ptx_edit::{EditError, EditModule as _};
use ptx_ir::{Module, RegDeclId, VarId};
use ptx_isa::ScalarType;

fn kernel(body: &str) -> Module {
    let text = format!(".version 8.0\n.target sm_80\n.address_size 64\n.entry k()\n{{{body}}}\n");
    let parsed = ptx_parse::parse_str(&text);
    assert!(!parsed.has_errors(), "{:?}", parsed.diagnostics);
    parsed.module
}

fn register(module: &Module, name: &str) -> RegDeclId {
    let body = module.bodies().values().next().unwrap();
    let found = body
        .reg_decls()
        .iter()
        .find(|(_, d)| module.name(d.name) == name);
    found.unwrap().0
}

fn variable(module: &Module, name: &str) -> VarId {
    let body = module.bodies().values().next().unwrap();
    let found = body
        .vars()
        .iter()
        .find(|(_, v)| module.name(v.name) == name);
    found.unwrap().0
}

fn refused(text: &str, edit: impl FnOnce(&mut Module) -> Result<(), EditError>) -> EditError {
    let mut module = kernel(text);
    let before = ptx_print::verbatim(&module);
    let error = edit(&mut module).unwrap_err();
    assert_eq!(ptx_print::verbatim(&module), before);
    error
}

fn overlap(name: &str, other: &str) -> EditError {
    EditError::Overlap {
        name: name.to_owned(),
        other: other.to_owned(),
    }
}

const RANGES: &str =
    ".reg .b32 %a<6>; .reg .b32 %r<20>; mov.b32 %a1, 1; mov.b32 %r11, 2; add.s32 %r2, %r11, %a1;";

/// `%a<6>` to `%r1` would spell `%a1` as `%r11`, which is a member of `%r<20>`.
#[test]
fn a_range_is_not_renamed_into_another_range() {
    for name in ["%r1", "%r", "%r0"] {
        let error = refused(RANGES, |m| {
            let a = register(m, "%a");
            m.edit(m.function("k").unwrap())?.rename_register(a, name)
        });
        match name {
            "%r" => assert_eq!(error, EditError::Taken("%r".to_owned())),
            _ => assert!(matches!(error, EditError::Spelling { .. }), "{error}"),
        }
    }
    let plain = ".reg .b32 %a; .reg .b32 %r<20>; mov.b32 %a, 1; mov.b32 %r11, 2;";
    let error = refused(plain, |m| {
        let a = register(m, "%a");
        m.edit(m.function("k").unwrap())?.rename_register(a, "%r11")
    });
    assert_eq!(error, overlap("%r11", "%r"));
    let mut module = kernel(RANGES);
    let a = register(&module, "%a");
    let k = module.function("k").unwrap();
    module.edit(k).unwrap().rename_register(a, "%b").unwrap();
    let text = String::from_utf8(ptx_print::verbatim(&module)).unwrap();
    assert!(text.contains("add.s32 %r2, %r11, %b1;"), "{text}");
}

/// A range whose name ends with a digit is refused by ptxas: `%b11` is looked up in a range `%b`.
#[test]
fn the_name_of_a_range_does_not_end_with_a_digit() {
    let error = refused(".reg .b32 %a<6>; mov.b32 %a1, 1;", |m| {
        let a = register(m, "%a");
        m.edit(m.function("k").unwrap())?.rename_register(a, "%b1")
    });
    assert!(matches!(error, EditError::Spelling { .. }), "{error}");
}

#[test]
fn a_variable_is_not_renamed_into_a_range() {
    let text = ".local .b32 w<4>; .local .b32 v<20>; .reg .b32 r; ld.local.b32 r, [w1]; ld.local.b32 r, [v11];";
    let error = refused(text, |m| {
        let w = variable(m, "w");
        m.edit(m.function("k").unwrap())?.rename_variable(w, "v1")
    });
    assert!(matches!(error, EditError::Spelling { .. }), "{error}");
    let text = ".local .b32 w; .local .b32 v<20>; .reg .b32 r; ld.local.b32 r, [w]; ld.local.b32 r, [v11];";
    let error = refused(text, |m| {
        let w = variable(m, "w");
        m.edit(m.function("k").unwrap())?.rename_variable(w, "v11")
    });
    assert_eq!(error, overlap("v11", "v"));
}

#[test]
fn a_symbol_is_not_renamed_into_a_range() {
    let text = ".version 8.0\n.target sm_80\n.address_size 64\n.global .b32 g<4>;\n.global .b32 h<20>;\n.global .b32 x;\n.entry k() { .reg .b32 r; ld.global.b32 r, [g1]; ld.global.b32 r, [h11]; ld.global.b32 r, [x]; }\n";
    for (old, new) in [("g", "h1"), ("x", "h11"), ("g", "h")] {
        let mut module = ptx_parse::parse_str(text).module;
        let symbols = module.symbols().iter();
        let symbol = symbols
            .map(|(id, s)| (id, s.name))
            .find(|(_, n)| module.name(*n) == old);
        let result = module.editor().rename_symbol(symbol.unwrap().0, new);
        assert!(result.is_err(), "{old} to {new}");
        assert_eq!(ptx_print::verbatim(&module), text.as_bytes());
    }
}

#[test]
fn a_new_range_holds_no_other_name() {
    for (name, count) in [
        ("%r1", Some(30)),
        ("%r", Some(2)),
        ("%r25", None),
        ("%r0", Some(3)),
    ] {
        let mut module = kernel(RANGES);
        let k = module.function("k").unwrap();
        let mut editor = module.edit(k).unwrap();
        let result = editor.registers(ScalarType::B32, name, count);
        assert!(result.is_err(), "{name} {count:?}");
    }
}

/// An undeclared name would be declared by the new one.
#[test]
fn undeclared_names_are_not_captured() {
    let text = ".version 8.0\n.target sm_80\n.address_size 64\n.global .b32 g<4>;\n.entry k() { .reg .b32 r<2>; ld.global.b32 r0, [missing]; ld.global.b32 r0, [gone3]; }\n";
    let parsed = ptx_parse::parse_str(text);
    let mut module = parsed.module;
    let r = register(&module, "r");
    let symbol = module.symbols().ids().next().unwrap();
    let k = module.function("k").unwrap();
    let mut editor = module.edit(k).unwrap();
    assert!(editor.rename_register(r, "gone").is_err());
    assert!(editor.registers(ScalarType::B32, "missing", None).is_err());
    assert!(module.editor().rename_symbol(symbol, "gone").is_err());
    assert_eq!(ptx_print::verbatim(&module), text.as_bytes());
}
