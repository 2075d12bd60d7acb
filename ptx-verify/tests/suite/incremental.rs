//! After an edit, checking again what changed finds what checking everything finds.

use ptx_ir::{Diagnostic, Module};
use ptx_verify::{Changes, Checked, Options, verify};

fn parse(text: &str) -> Module {
    ptx_parse::parse(text.as_bytes()).module
}

fn sorted<'d>(found: impl Iterator<Item = &'d Diagnostic>) -> Vec<String> {
    let mut all: Vec<String> = found.map(|d| format!("{} {}", d.code, d.message)).collect();
    all.sort();
    all
}

const HEAD: &str = ".version 8.0\n.target sm_80\n.address_size 64\n";

fn two(callee: &str, first: &str, second: &str) -> Module {
    parse(&format!(
        "{HEAD}{callee}.entry a() {{ .reg .b32 %r<2>; {first} ret; }}\n.entry b() {{ .reg .b32 %r<2>; {second} ret; }}\n"
    ))
}

const CALLEE: &str = ".func f(.param .b32 p) { ret; }\n";

#[test]
fn an_edited_body_is_checked_again() {
    let before = two(CALLEE, "add.s32 %r0, %r1, 1;", "add.s32 %r0, %r1, 2;");
    let after = two(CALLEE, "add.s32 %r0, %r1;", "add.s32 %r0, %r1, 2;");
    let mut checked = Checked::new(&before, Options::default());
    assert!(checked.proof().is_some());
    let a = after.function("a").expect("it is there");
    checked.update(&after, Changes::new(&[a], &[]));
    let found = verify(&after, &Options::default());
    assert_eq!(found.len(), 1);
    assert_eq!(sorted(checked.diagnostics()), sorted(found.iter()));
    assert_eq!(checked.of_function(a).len(), 1);
    assert!(checked.proof().is_none());
    assert_eq!(checked.clone().into_diagnostics(), found);
    checked.update(&before, Changes::new(&[a], &[]));
    assert!(checked.proof().is_some());
}

#[test]
fn who_uses_a_changed_name_is_checked_again() {
    let other = ".func f(.param .b64 p) { ret; }\n";
    let (caller, stranger) = ("call f, (%r0);", "add.s32 %r0, %r1, 2;");
    let before = two(CALLEE, caller, stranger);
    let after = two(other, caller, stranger);
    let mut checked = Checked::new(&before, Options::default());
    let (a, b) = (
        after.function("a").expect("a"),
        after.function("b").expect("b"),
    );
    assert_eq!(checked.used_symbols(a).len(), 1);
    assert!(checked.used_symbols(b).is_empty());
    let symbols = checked.used_symbols(a).to_vec();
    checked.update(&after, Changes::new(&[], &symbols));
    let found = verify(&after, &Options::default());
    assert_eq!(sorted(checked.diagnostics()), sorted(found.iter()));
    assert_eq!(checked.of_function(a).len(), 1);
}

#[test]
fn another_target_is_another_verdict() {
    let before = parse(&format!("{HEAD}.entry a() {{ griddepcontrol.wait; ret; }}"));
    let text =
        ".version 8.0\n.target sm_90\n.address_size 64\n.entry a() { griddepcontrol.wait; ret; }";
    let after = parse(text);
    let mut checked = Checked::new(&before, Options::default());
    assert!(checked.proof().is_none());
    checked.update(&after, Changes::default());
    assert!(checked.proof().is_some());
}
