//! What a client gets about a place of a document.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "tests fail by panics"
)]

use crate::client;
use client::{Client, URI, edited, position, under};
use serde_json::{Value, json};

const TEXT: &str = "\
// A kernel with a loop.
// It calls a function.
.version 8.0
.target sm_80
.address_size 64

.global .align 4 .b32 counter;

.func (.param .b32 out) _Z5twicei(.param .b32 in)
{
    .reg .b32 %r<3>;
    ld.param.u32 %r0, [in];
    add.s32 %r1, %r0, %r0;
    st.param.b32 [out], %r1;
    ret;
}

.visible .entry first(.param .u64 p)
{
    .reg .pred %p<2>;
    .reg .b32 %r<9>;
    .reg .f64 %fd<2>;
    mov.u32 %r1, %tid.x;
$L1:
    add.s32 %r1, %r1, 1;
    setp.lt.s32 %p1, %r1, 7;
    @%p1 bra $L1;
    {
        .param .b32 a;
        st.param.b32 [a], %r1;
        .param .b32 b;
        call (b), _Z5twicei, (a);
        ld.param.b32 %r2, [b];
    }
    st.global.u32 [counter], %r2;
    ret;
}
";

/// A request about the `nth` occurrence of a text, `after` bytes further.
fn at(client: &mut Client, method: &str, find: &str, nth: usize, after: usize) -> Value {
    client.ask(
        method,
        json!({"position": position(TEXT, find, nth, after)}),
    )
}

/// The texts of ranges or locations, with their lines.
fn places(found: &Value) -> Vec<(u64, &'static str)> {
    let all = found.as_array().unwrap().iter();
    all.map(|f| {
        (
            f["range"]["start"]["line"].as_u64().unwrap(),
            under(TEXT, &f["range"]),
        )
    })
    .collect()
}

#[test]
fn the_document_is_legal() {
    assert_eq!(Client::open(TEXT).codes(), [""; 0]);
}

#[test]
fn hover_explains_keywords() {
    let mut client = Client::open(TEXT);
    let mut text = |find: &str, nth, after| {
        let hover = at(&mut client, "hover", find, nth, after);
        (
            hover["contents"]["value"]
                .as_str()
                .unwrap_or_default()
                .to_owned(),
            under(TEXT, &hover["range"]),
        )
    };
    let (of_setp, place) = text("setp", 0, 1);
    assert_eq!(place, "setp");
    assert!(
        of_setp.contains("**`setp.lt.s32`**") && of_setp.contains("```ptx\nsetp.CmpOp"),
        "{of_setp}"
    );
    let (of_lt, _) = text(".lt", 0, 2);
    assert!(of_lt.contains("modifier"), "{of_lt}");
    let (of_type, _) = text(".f64", 0, 2);
    assert!(of_type.contains("type"), "{of_type}");
    let (of_tid, place) = text("%tid", 0, 1);
    assert!(of_tid.contains("special register"), "{of_tid}");
    assert_eq!(place, "%tid");
    let (of_directive, _) = text(".visible", 0, 0);
    assert!(of_directive.contains("directive"), "{of_directive}");
}

#[test]
fn hover_shows_what_names_denote() {
    let mut client = Client::open(TEXT);
    let mut text = |find: &str, nth, after| {
        let hover = at(&mut client, "hover", find, nth, after);
        hover["contents"]["value"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    let register = text("%r1, 7", 0, 1);
    assert!(register.contains(".reg .b32 %r<9>;"), "{register}");
    // Lines are counted from 1.
    assert!(register.contains("written in lines 23, 25"), "{register}");
    assert!(register.contains("read in lines 26, 30"), "{register}");
    assert!(register.contains("live in lines 23"), "{register}");
    let function = text("_Z5twicei", 1, 2);
    assert!(
        function.contains("twice(int)") && function.contains("(.param .b32 in)"),
        "{function}"
    );
    assert!(text("[counter]", 0, 2).contains(".global .align 4 .b32 counter;"));
    assert!(text("bra $L1", 0, 5).contains("used in line 27"));
    assert!(text("[in]", 0, 1).contains(".param .b32 in"));
    assert_eq!(at(&mut client, "hover", "{\n", 0, 0), Value::Null);
}

#[test]
fn comments_do_not_end_the_code_of_a_hover() {
    const TEXT: &str = ".version 8.0\n.target sm_80\n.global /*\n````\n<b>*/ .b32 x;\n";
    let mut client = Client::open(TEXT);
    let hover = client.ask("hover", json!({"position": position(TEXT, "x;", 0, 0)}));
    let text = hover["contents"]["value"].as_str().unwrap();
    assert!(
        text.starts_with("`````ptx\n.global /*\n````\n<b>*/ .b32 x;\n`````"),
        "{text}"
    );
}

#[test]
fn names_lead_to_their_declarations_and_uses() {
    let mut client = Client::open(TEXT);
    let definition = at(&mut client, "definition", "_Z5twicei", 1, 3);
    assert_eq!(places(&definition), [(8, "_Z5twicei")]);
    assert_eq!(definition[0]["uri"], URI);
    assert_eq!(
        places(&at(&mut client, "definition", "bra $L1", 0, 6)),
        [(23, "$L1")]
    );
    assert_eq!(
        places(&at(&mut client, "definition", "%r2;", 0, 1)),
        [(20, "%r")]
    );
    assert_eq!(
        places(&at(&mut client, "definition", "[in]", 0, 1)),
        [(8, "in")]
    );
    let place = position(TEXT, "counter", 0, 0);
    let mut references = |declared: bool| {
        let params = json!({"position": place, "context": {"includeDeclaration": declared}});
        places(&client.ask("references", params))
    };
    assert_eq!(references(false), [(34, "counter")]);
    assert_eq!(references(true), [(6, "counter"), (34, "counter")]);
    // Of a member of a range, only the uses of that member.
    let place = position(TEXT, "%r2, [b]", 0, 1);
    let params = json!({"position": place, "context": {"includeDeclaration": false}});
    assert_eq!(
        places(&client.ask("references", params)),
        [(32, "%r2"), (34, "%r2")]
    );
    assert_eq!(at(&mut client, "definition", "setp", 0, 1), json!([]));
}

#[test]
fn highlights_tell_writes_from_reads() {
    let mut client = Client::open(TEXT);
    let found = at(&mut client, "documentHighlight", "%r1, %r1, 1", 0, 1);
    let kinds: Vec<(u64, u64)> = found
        .as_array()
        .unwrap()
        .iter()
        .map(|h| {
            (
                h["range"]["start"]["line"].as_u64().unwrap(),
                h["kind"].as_u64().unwrap(),
            )
        })
        .collect();
    let (read, write) = (2, 3);
    assert_eq!(
        kinds,
        [
            (20, write),
            (22, write),
            (24, write),
            (24, read),
            (25, read),
            (29, read)
        ]
    );
}

#[test]
fn renaming_changes_all_occurrences_and_captures_none() {
    let mut client = Client::open(TEXT);
    let prepared = at(&mut client, "prepareRename", "%r2, [b]", 0, 2);
    assert_eq!(prepared["placeholder"], "%r");
    let rename = |client: &mut Client, find: &str, nth, new: &str| {
        let params = json!({"textDocument": {"uri": URI}, "position": position(TEXT, find, nth, 1), "newName": new});
        client.request("textDocument/rename", params)
    };
    let edit = rename(&mut client, "%r2, [b]", 0, "%value").unwrap();
    let new = edited(TEXT, &edit["changes"][URI]);
    assert!(
        new.contains(".reg .b32 %value<9>") && new.contains("[counter], %value2"),
        "{new}"
    );
    assert!(
        new.contains("add.s32 %r1, %r0, %r0"),
        "the other function is not changed"
    );
    let edit = rename(&mut client, "_Z5twicei", 1, "twice").unwrap();
    let new = edited(TEXT, &edit["changes"][URI]);
    assert_eq!(Client::open(&new).codes(), [""; 0], "{new}");
    let refused = rename(&mut client, "counter", 0, "_Z5twicei").unwrap_err();
    assert!(
        refused["message"].as_str().unwrap().contains("taken"),
        "{refused}"
    );
    assert!(rename(&mut client, "counter", 0, "a b").is_err());
    assert!(rename(&mut client, "setp", 0, "x").is_err());
}

#[test]
fn the_outline_has_functions_labels_and_variables() {
    let mut client = Client::open(TEXT);
    let outline = client.ask("documentSymbol", json!({}));
    let names: Vec<&str> = outline
        .as_array()
        .unwrap()
        .iter()
        .map(|s| s["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["counter", "twice(int)", "first"]);
    assert_eq!(outline[2]["children"][0]["name"], "$L1");
    assert_eq!(under(TEXT, &outline[2]["selectionRange"]), "first");
    assert_eq!(outline[2]["detail"], ".entry");
    assert!(under(TEXT, &outline[1]["range"]).ends_with("ret;\n}"));
    let found = client
        .request("workspace/symbol", json!({"query": "TWICE"}))
        .unwrap();
    assert_eq!(found.as_array().unwrap().len(), 1);
    assert_eq!(found[0]["location"]["uri"], URI);
}

#[test]
fn calls_are_found_in_both_directions() {
    let mut client = Client::open(TEXT);
    let item = at(&mut client, "prepareCallHierarchy", "_Z5twicei", 1, 1)[0].clone();
    assert_eq!(item["name"], "twice(int)");
    let callers = client
        .request("callHierarchy/incomingCalls", json!({"item": item}))
        .unwrap();
    assert_eq!(callers[0]["from"]["name"], "first");
    assert!(under(TEXT, &callers[0]["fromRanges"][0]).starts_with("call (b)"));
    let item = callers[0]["from"].clone();
    let callees = client
        .request("callHierarchy/outgoingCalls", json!({"item": item}))
        .unwrap();
    assert_eq!(callees.as_array().unwrap().len(), 1);
    assert_eq!(callees[0]["to"]["name"], "twice(int)");
}

/// Words with the names of their semantic types.
fn semantic_words(found: &Value, legend: &Value) -> Vec<(String, String)> {
    let data: Vec<u64> = found["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|n| n.as_u64().unwrap())
        .collect();
    let (mut line, mut column) = (0, 0);
    let mut words = Vec::new();
    for token in data.chunks(5) {
        column = if token[0] == 0 {
            column + token[1]
        } else {
            token[1]
        };
        line += token[0];
        let text = TEXT.lines().nth(line as usize).unwrap();
        let word = &text[column as usize..(column + token[2]) as usize];
        words.push((
            word.to_owned(),
            legend[token[3] as usize].as_str().unwrap().to_owned(),
        ));
    }
    words
}

#[test]
fn semantic_tokens_say_what_words_are() {
    let mut client = Client::open(TEXT);
    let mut server = Client::open("");
    server.server = ptx_lsp::Server::new();
    let options = server
        .request("initialize", json!({"capabilities": {}}))
        .unwrap();
    let legend = options["capabilities"]["semanticTokensProvider"]["legend"]["tokenTypes"].clone();
    let all = semantic_words(&client.ask("semanticTokens/full", json!({})), &legend);
    for (word, kind) in [
        ("// It calls a function.", "comment"),
        (".version", "macro"),
        (".b32", "type"),
        ("counter", "variable"),
        ("_Z5twicei", "function"),
        ("in", "parameter"),
        ("setp", "keyword"),
        (".lt", "modifier"),
        ("$L1", "label"),
        ("%tid", "property"),
        ("%r1", "variable"),
        ("7", "number"),
    ] {
        let found = all
            .iter()
            .find(|(w, _)| w == word || word == "%r1" && w == "%r");
        assert_eq!(found.map(|(_, k)| k.as_str()), Some(kind), "{word}");
    }
    let range = json!({"start": {"line": 24, "character": 0}, "end": {"line": 25, "character": 0}});
    let part = semantic_words(
        &client.ask("semanticTokens/range", json!({"range": range})),
        &legend,
    );
    let words: Vec<&str> = part.iter().map(|(w, _)| w.as_str()).collect();
    assert_eq!(words[..2], ["add", ".s32"], "{words:?}");
    let first = all.iter().position(|(w, _)| w == "add").unwrap();
    let second = all
        .iter()
        .skip(first + 1)
        .position(|(w, _)| w == "add")
        .unwrap()
        + first
        + 1;
    assert_eq!(
        part,
        all[second..second + part.len()],
        "a range gives what the whole gives"
    );
}

#[test]
fn bodies_blocks_and_comments_fold() {
    let mut client = Client::open(TEXT);
    let folds = client.ask("foldingRange", json!({}));
    let lines: Vec<(u64, u64)> = folds
        .as_array()
        .unwrap()
        .iter()
        .map(|f| {
            (
                f["startLine"].as_u64().unwrap(),
                f["endLine"].as_u64().unwrap(),
            )
        })
        .collect();
    assert_eq!(lines, [(0, 1), (9, 14), (18, 35), (27, 32)]);
    assert_eq!(folds[0]["kind"], "comment");
}

#[test]
fn hints_show_pressure_and_loops() {
    let mut client = Client::open(TEXT);
    let range = json!({"start": {"line": 17, "character": 0}, "end": {"line": 99, "character": 0}});
    let hints = client.ask("inlayHint", json!({"range": range}));
    let found: Vec<(u64, &str)> = hints
        .as_array()
        .unwrap()
        .iter()
        .map(|h| {
            (
                h["position"]["line"].as_u64().unwrap(),
                h["label"].as_str().unwrap(),
            )
        })
        .collect();
    let is_loop = |(line, text): &(u64, &str)| *line == 23 && text.starts_with("loop of depth 1");
    assert!(found.iter().any(is_loop), "{found:?}");
    assert!(
        found
            .iter()
            .any(|(line, text)| *line == 18 && text.ends_with("live")),
        "{found:?}"
    );
    let nothing = json!({"start": {"line": 0, "character": 0}, "end": {"line": 3, "character": 0}});
    assert_eq!(
        client.ask("inlayHint", json!({"range": nothing})),
        json!([])
    );
}

const VALUES: &str = "\
.version 8.0
.target sm_80
.address_size 64
.shared .align 4 .b8 s[64];
.func (.param .b64 out) same(.param .b64 in)
{
    .reg .b64 %d;
    ld.param.u64 %d, [in];
    st.param.u64 [out], %d;
    ret;
}
.visible .entry k(.param .u64 .ptr .global p)
{
    .reg .pred %p;
    .reg .b32 %r<4>;
    .reg .b64 %d<4>;
    ld.param.u64 %d0, [p];
    mov.u32 %r0, %tid.x;
    mad.wide.u32 %d1, %r0, 4, %d0;
    mov.u32 %r1, %ctaid.x;
    mov.b32 %r2, 0;
$L1:
    add.s32 %r2, %r2, 2;
    setp.lt.s32 %p, %r2, 20;
    @%p bra $L1;
    mov.u64 %d2, s;
    cvta.shared.u64 %d2, %d2;
    {
        .param .b64 a;
        .param .b64 b;
        st.param.b64 [a], %d2;
        call (b), same, (a);
        ld.param.b64 %d3, [b];
    }
    ld.u32 %r3, [%d3];
    st.global.u32 [%d1], %r3;
    ret;
}
";

#[test]
fn hover_shows_values() {
    let mut client = Client::open(VALUES);
    let mut text = |find: &str, nth, after| {
        let place = position(VALUES, find, nth, after);
        let hover = client.ask("hover", json!({"position": place}));
        let text = hover["contents"]["value"].as_str();
        text.unwrap_or_default().to_owned()
    };
    let address = text("%d1, %r0", 0, 1);
    assert!(address.contains("value: `p + 4*%tid.x`"), "{address}");
    assert!(
        address.contains("generic address of `*p` in `.global`"),
        "{address}"
    );
    assert!(
        address.contains("differs between the threads of a warp"),
        "{address}"
    );
    assert!(text("[%d1]", 0, 2).contains("value: `p + 4*%tid.x`"));
    assert!(text("%r1, %ctaid", 0, 1).contains("the same for each thread of a cta"));
    // Through a call.
    let called = text("[%d3]", 0, 2);
    assert!(
        called.contains("generic address of `s` in `.shared`"),
        "{called}"
    );
    assert!(!text("%r3, [", 0, 1).contains("address"));
}

#[test]
fn hints_show_trip_counts() {
    let mut client = Client::open(VALUES);
    let range = json!({"start": {"line": 0, "character": 0}, "end": {"line": 99, "character": 0}});
    let hints = client.ask("inlayHint", json!({"range": range}));
    let labels = hints.as_array().unwrap().iter();
    let labels: Vec<&str> = labels.map(|h| h["label"].as_str().unwrap()).collect();
    assert!(
        labels.contains(&"loop of depth 1, 10 iterations"),
        "{labels:?}"
    );
}

const ACCESSES: &str = "\
.version 8.0
.target sm_80
.address_size 64
.shared .align 16 .b8 s[8192];
.visible .entry k(.param .u64 .ptr .global p)
{
    .reg .pred %p<3>;
    .reg .b32 %r<4>;
    .reg .b64 %d<4>;
    ld.param.u64 %d0, [p];
    mov.u32 %r0, %tid.x;
    mad.wide.u32 %d1, %r0, 64, %d0;
    ld.global.u32 %r1, [%d1];
    shl.b32 %r2, %r0, 4;
    st.shared.u32 [%r2], %r1;
    st.global.u32 [%d0], %r1;
    setp.lt.u32 %p1, %r0, 7;
    @%p1 bra $L1;
    mov.u32 %r3, %ctaid.x;
    setp.lt.u32 %p2, %r3, 7;
    @%p2 bra $L1;
    st.global.u32 [%d0+4], %r1;
$L1:
    ret;
}
";

#[test]
fn hover_shows_how_a_warp_accesses_memory() {
    let mut client = Client::open(ACCESSES);
    let mut text = |find: &str| {
        let place = position(ACCESSES, find, 0, 0);
        let hover = client.ask("hover", json!({"position": place}));
        hover["contents"]["value"].as_str().unwrap().to_owned()
    };
    let load = text("ld.global");
    for line in [
        "- access to `global` memory, 4 bytes for each lane",
        "- address: `p + 64*%tid.x`",
        "- lanes: strided, 64 bytes from one to the next (in a warp of one row of threads)",
        "- 32 sectors instead of 4",
    ] {
        assert!(load.contains(line), "{line}: {load}");
    }
    let store = text("st.shared");
    assert!(store.contains("- 4-way bank conflict"), "{store}");
    let uniform = text("st.global.u32 [%d0],");
    assert!(
        uniform.contains("- lanes: uniform\n- 1 sector"),
        "{uniform}"
    );
    assert!(!text("ld.param").contains("access to"));
    assert!(!text("shl.b32").contains("access to"));
}

#[test]
fn hints_show_costs_of_accesses_and_divergence() {
    let mut client = Client::open(ACCESSES);
    let range = json!({"start": {"line": 12, "character": 0}, "end": {"line": 99, "character": 0}});
    let hints = client.ask("inlayHint", json!({"range": range}));
    let found: Vec<(u64, &str)> = hints
        .as_array()
        .unwrap()
        .iter()
        .map(|h| {
            let line = h["position"]["line"].as_u64().unwrap();
            (line, h["label"].as_str().unwrap())
        })
        .collect();
    let expected = [
        (12, "32 sectors instead of 4"),
        (14, "4-way bank conflict"),
        (17, "may diverge"),
    ];
    let others = found.into_iter().filter(|(_, text)| !text.contains("live"));
    let others: Vec<_> = others.collect();
    assert_eq!(others, expected);
}

#[test]
fn lenses_show_requirements() {
    let text = TEXT
        .replace("mov.u32 %r1, %tid.x;", "elect.sync _|%p1, -1;")
        .replace("8.0", "8.5")
        .replace("sm_80", "sm_90");
    let mut client = Client::open(&text);
    let lenses = client.ask("codeLens", json!({}));
    let mut title = |i: usize| {
        let lens = client
            .request("codeLens/resolve", lenses[i].clone())
            .unwrap();
        lens["command"]["title"].as_str().unwrap().to_owned()
    };
    assert_eq!(under(&text, &lenses[1]["range"]), "first");
    assert!(title(1).starts_with("sm_90 and newer"), "{}", title(1));
    assert!(!title(0).contains("sm_90"), "{}", title(0));
}
