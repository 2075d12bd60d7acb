//! The requests `ptxkit/rewrites` and `ptxkit/rewrite`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "tests fail by panics"
)]

use crate::client;
use client::{Client, URI};
use serde_json::{Map, Value, json};

const TEXT: &str = "\
.version 7.0
.target sm_70
.address_size 64
// Adds.
.func used() { ret; }
.func unused() { ret; }
.visible .entry k(.param .u64 p)
{
    .reg .b64 %rd<9>;
    .reg .b32 %r<9>;
    ld.param.u64 %rd4, [p];
    add.s32 %r7, 1, 2;
    {
    mov.b32 %r3, 5;
    st.global.u32 [%rd4], %r3;
    }
    call used;
    ret;
}
";

fn rewrite(text: &str, name: &str, options: Value) -> Result<Value, String> {
    let mut client = Client::open(text);
    let params = json!({"textDocument": {"uri": URI}, "name": name, "options": options});
    let answer = client.request("ptxkit/rewrite", params);
    answer.map_err(|e| e["message"].as_str().unwrap().to_owned())
}

fn text(name: &str, options: Value) -> String {
    let outcome = rewrite(TEXT, name, options).unwrap();
    outcome["text"].as_str().unwrap().to_owned()
}

fn why(name: &str, options: Value) -> String {
    rewrite(TEXT, name, options).unwrap_err()
}

/// A value for each option that has no default one.
fn required(rewrite: &Value) -> Map<String, Value> {
    let options = rewrite["options"].as_array().unwrap().iter();
    let required = options.filter(|o| o.get("default").is_none());
    let value = |option: &Value| match option["name"].as_str().unwrap() {
        "functions" => json!("k"),
        "target" => json!("sm_90a"),
        "prefix" => json!("my_"),
        other => panic!("{other}"),
    };
    required
        .map(|o| (o["name"].as_str().unwrap().to_owned(), value(o)))
        .collect()
}

#[test]
fn all_of_them_give_a_legal_text() {
    let mut client = Client::open(TEXT);
    let all = client.request("ptxkit/rewrites", json!({})).unwrap();
    let all = all.as_array().unwrap();
    assert_eq!(all.len(), 11);
    for one in all {
        let name = one["name"].as_str().unwrap();
        assert!(
            one["description"].as_str().unwrap().ends_with('.'),
            "{name}"
        );
        for option in one["options"].as_array().unwrap() {
            let kind = option["kind"].as_str().unwrap();
            assert!(["bool", "string", "number", "choice"].contains(&kind));
            assert_eq!(option["choices"].is_array(), kind == "choice");
        }
        let new = text(name, required(one).into());
        assert_ne!(new, TEXT, "{name}");
        let opened = Client::with_options(&new, &["utf-8"], json!({"lints": false}));
        assert_eq!(opened.codes(), [""; 0], "{name}:\n{new}");
    }
}

#[test]
fn each_does_what_it_says() {
    assert!(text("format", json!({})).contains("\n\tld.param.u64"));
    let spaces = json!({"tabs": false, "spaces": 2});
    assert!(text("format", spaces).contains("\n  ld.param.u64"));
    assert!(!text("strip", json!({})).contains("Adds"));
    let small = text("minify", json!({}));
    let smallest = text("minify", json!({"dead": true, "symbols": true}));
    assert!(smallest.len() < small.len() && small.len() < TEXT.len() * 3 / 4);
    assert!(text("renumber", json!({})).contains("add.s32 %r0, 1, 2;"));
    assert_eq!(text("flatten", json!({})).matches('{').count(), 3);
    assert!(text("prefix", json!({"prefix": "a_"})).contains("call a_used;"));
    let visible = json!({"prefix": "a_", "visible": true});
    assert!(text("prefix", visible).contains(".entry a_k("));
    assert!(!text("clean", json!({})).contains("add.s32"));
    let none = json!({"dead": false, "copies": false, "fold": false, "spaces": false, "unreachable": false});
    assert_eq!(text("clean", none), TEXT);
    let only_fold = json!({"dead": false, "copies": false, "spaces": false, "unreachable": false});
    assert!(text("clean", only_fold).contains("mov.b32 %r7, 3;"));
    assert!(text("bounds", json!({"low": "0x10"})).contains("ptx_bounds[2] = {0x10,"));
    assert!(text("trace", json!({"records": 7})).contains("ptx_trace_records[224]"));
    let untraced = json!({"generic": false, "global": false, "shared": false, "local": false});
    assert!(!text("trace", untraced).contains("call ptx_trace_record"));
}

#[test]
fn functions_are_extracted_in_parts() {
    let part = |part: &str| text("extract", json!({"functions": "u*d", "part": part}));
    let own = part("functions");
    assert!(own.contains("used") && !own.contains(".entry"), "{own}");
    assert!(part("linkable").contains(".visible .func used"));
    let rest = part("rest");
    assert!(
        rest.contains(".extern .func used") && rest.contains(".entry k"),
        "{rest}"
    );
    let both = text("extract", json!({"functions": "unused; k"}));
    assert!(
        both.contains(".entry k") && both.contains("unused"),
        "{both}"
    );
    let unknown = why("extract", json!({"functions": "kk"}));
    assert_eq!(unknown, "unknown function or kernel `kk`");
}

#[test]
fn a_target_is_refused_with_its_reasons() {
    let lowest = text("retarget", json!({"target": "sm_80", "version": "lowest"}));
    assert!(
        lowest.starts_with(".version 7.0\n.target sm_80\n"),
        "{lowest}"
    );
    let exact = text("retarget", json!({"target": "sm_80", "version": "8.5"}));
    assert!(
        exact.starts_with(".version 8.5\n.target sm_80\n"),
        "{exact}"
    );
    let old = why("retarget", json!({"target": "sm_90", "version": "7.0"}));
    assert_eq!(old, "sm_90 requires PTX 7.8 or newer, not 7.0");
    let renamed = why("retarget", json!({"target": "sm_101", "version": "9.0"}));
    assert_eq!(
        renamed,
        "PTX 9.0 and newer do not support the target sm_101"
    );
    let newer =
        ".version 8.0\n.target sm_90\n.entry k()\n{\n    griddepcontrol.wait;\n    ret;\n}\n";
    let blocked = rewrite(newer, "retarget", json!({"target": "sm_80"})).unwrap_err();
    let expected = "not legal in PTX 8.0 on sm_80: 5:5: griddepcontrol.wait: sm_90 from PTX 7.8";
    assert_eq!(blocked, expected);
}

#[test]
fn mistakes_in_requests_are_explained() {
    assert_eq!(why("other", json!({})), "unknown rewrite `other`");
    assert_eq!(why("strip", json!({"x": 1})), "unknown option `x`");
    assert_eq!(why("retarget", json!({})), "`target` is missing");
    let invalid = why("bounds", json!({"low": "0x1g"}));
    assert!(
        invalid.starts_with("`low` is not an address: "),
        "{invalid}"
    );
    let taken = why("trace", json!({"name": "k k"}));
    assert!(!taken.is_empty());
    let broken = TEXT.replace("[%rd4], %r3;", "[%rd4 %r3;");
    for (name, options) in [
        ("strip", json!({})),
        ("retarget", json!({"target": "sm_80"})),
    ] {
        let why = rewrite(&broken, name, options).unwrap_err();
        let start = "the document has syntax errors: line 15: ";
        assert!(why.starts_with(start), "{why}");
    }
}
