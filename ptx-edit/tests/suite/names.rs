//! The index of names.
#![allow(clippy::unwrap_used, reason = "tests fail by panics")]

use ptx_edit::raw::{EntityMap, NameForm, own_symbols};
use ptx_edit::{Entity, Names, OwnSymbols};

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

#[test]
fn entities_have_separate_values() {
    let text = ".version 8.0\n.target sm_80\n.address_size 64\n.extern .func (.param .b32 r) f(.param .b32 a);\n.global .b32 g<2>;\n.entry k(.param .b32 p) { .reg .b32 x, %r<3>; .shared .b32 s; L: mov.b32 x, %r1; bra L; }\n.entry l() { .reg .b32 y; M: st.global.b32 [undeclared], y; }\n";
    let module = ptx_parse::parse_str(text).module;
    let names = Names::of(&module);
    let mut map: EntityMap<Option<Entity>> = EntityMap::new(&module);
    let mut known = 0;
    for name in names.refs() {
        if let Some(old) = map.replace(name.entity, Some(name.entity)) {
            assert!(old.is_none_or(|old| old == name.entity), "{old:?}");
            known += usize::from(old.is_none());
        }
    }
    assert_eq!(known, map.values().flatten().count());
    assert!(known >= 12, "{known}");
}
