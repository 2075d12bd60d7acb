//! Words that can be names.
#![allow(missing_docs)]

use ptx_ir::raw::ident_tokens::{Text, Words};

#[track_caller]
fn are(text: &str, of: Text, wanted: &[(&str, usize)]) {
    let words = Words::new(text.as_bytes(), of);
    let found: Vec<(&str, usize)> = words.map(|w| (&text[w.span.range()], w.depth)).collect();
    assert_eq!(found, wanted);
}

#[test]
fn the_opcode_is_not_a_name() {
    let text = "@!add add.s32 add, /* sub */ r2, -1;";
    are(
        text,
        Text::Instruction,
        &[("add", 0), ("add", 0), ("r2", 0)],
    );
    are(
        "call (r), f, (a, b);",
        Text::Instruction,
        &[("r", 1), ("f", 0), ("a", 1), ("b", 1)],
    );
}

#[test]
fn the_operator_of_initializers_is_not_a_name() {
    let text = ".global .u64 generic = generic (generic)+4;";
    are(text, Text::Other, &[("generic", 0), ("generic", 1)]);
    let text = ".func (.reg .b32 r) generic(.param .b32 a)";
    are(text, Text::Head, &[("r", 1), ("generic", 0), ("a", 1)]);
}

#[test]
fn ranges_have_counts() {
    let text = ".reg .b32 %r<9>, x;";
    let mut words = Words::new(text.as_bytes(), Text::Other);
    assert!(words.next().is_some());
    let count = words.range_count().map(|c| &text[c.range()]);
    assert_eq!(count, Some("9"));
    assert!(words.next().is_some());
    assert_eq!(words.range_count(), None);
}
