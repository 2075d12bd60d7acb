//! Completion offers what is legal at a place, and nothing else.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "tests fail by panics"
)]

use crate::client;
use client::{Client, edited, position};
use serde_json::json;

const HEAD: &str = ".version 8.0\n.target sm_80\n.address_size 64\n.global .b32 counter;\n.func helper() { ret; }\n";
const BODY: &str = ".entry k(.param .u64 data)\n{\n    .reg .pred %p<3>;\n    .reg .b32 %r<9>;\n    .reg .b64 %rd<9>;\n    .reg .f32 %f<9>;\n    mov.b32 %r1, 0;\n    mov.b64 %rd2, 0;\n    mov.f32 %f3, %f4;\nagain:\n    ";

/// The labels that are offered at the `|` of a statement, the likeliest first.
fn offered(statement: &str) -> Vec<String> {
    offered_in(&format!(
        "{HEAD}{BODY}{statement}\n    ret;\n}}\n.func last() {{ ret; }}\n"
    ))
}

fn offered_in(text: &str) -> Vec<String> {
    let place = position(text, "|", 0, 0);
    let text = text.replacen('|', "", 1);
    let mut client = Client::open(&text);
    let found = client.ask("completion", json!({"position": place}));
    let items = found["items"].as_array().unwrap();
    items
        .iter()
        .map(|i| i["label"].as_str().unwrap().to_owned())
        .collect()
}

fn has(all: &[String], text: &str) -> bool {
    all.iter().any(|l| l == text)
}

#[test]
fn statements_begin_with_opcodes_of_the_target() {
    let all = offered("|");
    assert!(has(&all, "add") && has(&all, "setp") && has(&all, ".reg"));
    assert!(!has(&all, "wgmma"), "a later target has it");
    assert!(!has(&all, ".version"), "it is allowed at module level only");
    let all = offered("se|");
    assert!(has(&all, "setp") && has(&all, "selp") && !has(&all, "add"));
    let newer = offered_in(".version 8.0\n.target sm_90a\n.address_size 64\n.entry k() { wg| }\n");
    assert!(has(&newer, "wgmma"), "{newer:?}");
    assert!(has(&offered("@%p1 b|"), "bra"));
}

#[test]
fn modifiers_come_in_their_order() {
    let all = offered("setp.|");
    assert!(has(&all, ".lt"));
    let all = offered("setp.lt.|");
    assert!(has(&all, ".s32") && !has(&all, ".gt"), "{all:?}");
    let ordered = all.iter().position(|l| l == ".s32").unwrap();
    assert!(ordered < all.len());
    let all = offered("add.s32|");
    assert!(has(&all, ".s32"), "the word before the place is completed");
    let all = offered("ld.global.s|");
    assert!(has(&all, ".s32") && !has(&all, ".shared"), "{all:?}");
    assert!(
        !has(&offered("add.|"), ".bf16"),
        "the target has it from sm_90 on"
    );
}

#[test]
fn operands_fit_their_types() {
    let all = offered("add.s32 |");
    let (first, wide) = (
        all.iter().position(|l| l == "%r1").unwrap(),
        all.iter().position(|l| l == "%rd2").unwrap(),
    );
    assert!(first < wide, "{all:?}");
    let all = offered("bra |");
    assert_eq!(all, ["again"]);
    let all = offered("call |");
    assert!(has(&all, "helper") && !has(&all, "counter"), "{all:?}");
    let all = offered("ld.global.u32 %r1, [c|");
    assert_eq!(all, ["counter"]);
    assert!(has(&offered("ld.param.u64 %rd1, [|"), "data"));
    assert_eq!(offered("@|")[0], "%p0");
    let all = offered("mov.u32 %r1, %ti|");
    assert!(has(&all, "%tid") && !has(&all, "%ctaid"), "{all:?}");
}

#[test]
fn declarations_and_headers_are_completed() {
    let all = offered(".reg .|");
    assert!(has(&all, ".b32") && has(&all, ".pred") && !has(&all, ".entry"));
    assert_eq!(
        offered_in(".version 8.|\n.target sm_80\n").last().unwrap(),
        "8.0"
    );
    let targets = offered_in(".version 7.0\n.target s|\n.address_size 64\n");
    assert!(
        has(&targets, "sm_80") && !has(&targets, "sm_90"),
        "{targets:?}"
    );
    let all = offered_in(".version 8.0\n.target sm_80\n.address_size 64\n.|\n");
    assert!(
        has(&all, ".entry") && has(&all, ".visible") && !has(&all, ".loc"),
        "{all:?}"
    );
    let all =
        offered_in(".version 8.0\n.target sm_80\n.address_size 64\n.entry k() .m| { ret; }\n");
    assert!(has(&all, ".maxntid") && !has(&all, ".noreturn"), "{all:?}");
}

#[test]
fn nothing_is_offered_in_comments_and_strings() {
    assert_eq!(offered("// ad|"), [""; 0]);
    assert_eq!(offered("/* ad| */"), [""; 0]);
    assert_eq!(offered(".pragma \"no|\";"), [""; 0]);
}

#[test]
fn the_edit_replaces_the_word() {
    let text = format!("{HEAD}{BODY}setp.l\n    ret;\n}}\n");
    let mut client = Client::open(&text);
    let found = client.ask(
        "completion",
        json!({"position": position(&text, "setp.l", 0, 6)}),
    );
    let item = found["items"]
        .as_array()
        .unwrap()
        .iter()
        .find(|i| i["label"] == ".lt")
        .unwrap();
    let new = edited(&text, &json!([item["textEdit"]]));
    assert!(new.contains("setp.lt\n"), "{new}");
}

#[test]
fn a_linkage_is_followed_by_what_it_links() {
    let all = offered_in(".version 8.0\n.target sm_80\n.address_size 64\n.visible .e|\n");
    assert!(has(&all, ".entry") && !has(&all, ".b32"), "{all:?}");
}
