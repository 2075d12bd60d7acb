//! The index of names.
#![allow(clippy::unwrap_used)]

use ptx_edit::{NameForm, Names, OwnSymbols, own_symbols};

const TEXT: &str = ".version 8.0\n.target sm_80\n.address_size 64\n.global .b32 a, b<2>;\n.visible .global .b32 c;\n.extern .global .b32 d;\n.entry k() { .reg .b32 r; ld.global.b32 r, [a]; ld.global.b32 r, [d]; ld.global.b32 r, [gone]; ret; }\n";

#[test]
fn own_symbols_are_not_visible_to_other_modules() {
    let module = ptx_parse::parse_str(TEXT).module;
    let names = |which: OwnSymbols| -> Vec<&str> {
        let own = own_symbols(&module, which);
        own.iter()
            .map(|id| module.name(module.symbols()[id].name))
            .collect()
    };
    assert_eq!(names(OwnSymbols::Private), ["a", "b"]);
    assert_eq!(names(OwnSymbols::WithVisible), ["a", "b", "c", "k"]);
}

#[test]
fn names_are_removed_with_their_spans() {
    let module = ptx_parse::parse_str(TEXT).module;
    let mut names = Names::of(&module);
    let unresolved = names.unresolved(&module);
    assert!(unresolved.contains(b"gone") && !unresolved.contains(b"a"));
    assert!(unresolved.conflicts(b"gone", NameForm::Range));
    let mut items = module.items();
    let (item, _) = items.next_back().unwrap();
    let all = names.refs().len();
    let inside = names.within(module.span(item)).len();
    names.remove_within(&[module.span(item)]);
    assert_eq!((names.refs().len(), inside), (all - inside, 8));
}
