//! Diagnostics while a document changes, and their fixes.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "tests fail by panics"
)]

use crate::client;
use client::{Client, URI, edited, position, under};
use ptx_lsp::Server;
use serde_json::{Value, json};

const TEXT: &str = "\
.version 8.0
.target sm_80
.address_size 64
.entry k()
{
    .reg .b32 %r<3>;
    .reg .b16 %h<2>;
    add.s32 %r0, %r1, %h0;
    mov.u32 %r1, %r7;
    ret;
}
";

#[test]
fn diagnostics_have_places_codes_and_related_information() {
    let client = Client::open(TEXT);
    let all = client.published["diagnostics"].as_array().unwrap();
    assert_eq!(client.codes(), ["PTX0506", "PTX0206"]);
    assert_eq!(under(TEXT, &all[0]["range"]), "%h0");
    assert_eq!(under(TEXT, &all[1]["range"]), "%r7");
    assert!(
        all.iter()
            .all(|d| d["source"] == "ptxkit" && d["severity"] == 1)
    );
    let related = &all[1]["relatedInformation"][0];
    assert_eq!(related["location"]["uri"], URI);
    assert!(under(TEXT, &related["location"]["range"]).starts_with(".reg .b32 %r<3>"));
    assert_eq!(client.published["version"], 1);
}

#[test]
fn a_fix_repairs_its_diagnostic() {
    let mut client = Client::open(TEXT);
    let range = json!({"start": position(TEXT, "%r7", 0, 1), "end": position(TEXT, "%r7", 0, 1)});
    let actions = client.ask(
        "codeAction",
        json!({"range": range, "context": {"diagnostics": []}}),
    );
    let action = &actions[0];
    assert_eq!(action["kind"], "quickfix");
    assert_eq!(action["diagnostics"][0]["code"], "PTX0206");
    let new = edited(TEXT, &action["edit"]["changes"][URI]);
    client.change(2, json!([{"text": new}]));
    assert_eq!(client.codes(), ["PTX0506"], "{new}");
    let elsewhere =
        json!({"start": position(TEXT, "ret", 0, 0), "end": position(TEXT, "ret", 0, 1)});
    let none = client.ask(
        "codeAction",
        json!({"range": elsewhere, "context": {"diagnostics": []}}),
    );
    assert_eq!(none, json!([]));
}

#[test]
fn a_fix_that_may_be_wrong_is_a_suggestion() {
    let text = TEXT.replace(
        "    ret;",
        "    mov.u32 %r1, %r2\n    ret;\n    mov.u32 %r2, %r0\n    ret;",
    );
    let mut client = Client::open(&text);
    let whole = json!({"start": {"line": 0, "character": 0}, "end": {"line": 13, "character": 0}});
    let actions = client.ask(
        "codeAction",
        json!({"range": whole, "context": {"diagnostics": []}}),
    );
    let actions = actions.as_array().unwrap().clone();
    let of = |code: &str| {
        let mut found = actions
            .iter()
            .filter(|a| a["diagnostics"][0]["code"] == code);
        found.next().unwrap().clone()
    };
    // The title says what the edit is and what it assumes.
    for (code, edit, assumes) in [
        ("PTX0206", "`%r<3>`", "declare `%r<8>`"),
        ("PTX0506", "%converted", "cvt.s32.s16"),
    ] {
        let action = of(code);
        let title = action["title"].as_str().unwrap();
        assert!(title.starts_with("suggestion: "), "{title}");
        assert!(
            title.contains(assumes) && title.len() > assumes.len() + edit.len(),
            "{title}"
        );
        assert_eq!(action["isPreferred"], Value::Null, "{action}");
    }
    let certain = of("PTX0102");
    assert_eq!(certain["title"], "add `;` at the end of the statement");
    assert_eq!(certain["isPreferred"], true);
    let all = actions.last().unwrap();
    assert_eq!(all["title"], "make all 2 fixes of this file");
    let new = edited(&text, &all["edit"]["changes"][URI]);
    assert!(
        new.contains("mov.u32 %r1, %r2;\n    ret;\n    mov.u32 %r2, %r0;\n    ret;"),
        "{new}"
    );
    assert!(
        new.contains("add.s32 %r0, %r1, %h0;\n    mov.u32 %r1, %r7;"),
        "{new}"
    );
}

#[test]
fn changes_arrive_as_ranges_in_either_encoding() {
    for (encodings, ret) in [(&["utf-8"][..], 17), (&["utf-16", "utf-32"][..], 14)] {
        let text = TEXT.replace("    ret;", "    /* é😀 */ ret;");
        // Before `ret`: 4 + 3 + 2 + 4 + 4 bytes, or 4 + 3 + 1 + 2 + 4 units.
        let mut client = Client::with_encodings(&text, encodings);
        let range = json!({"start": {"line": 9, "character": ret}, "end": {"line": 9, "character": ret + 3}});
        client.change(2, json!([{"range": range, "text": "rett"}]));
        let last = client.published["diagnostics"]
            .as_array()
            .unwrap()
            .last()
            .unwrap()
            .clone();
        assert_eq!(last["code"], "PTX0104", "{last}");
        assert_eq!(last["range"]["start"]["character"], ret);
        client.change(3, json!([{"range": {"start": {"line": 9, "character": ret}, "end": {"line": 9, "character": ret + 4}}, "text": "ret"}]));
        assert_eq!(client.codes().len(), 2);
    }
}

#[test]
fn a_closed_document_has_no_diagnostics() {
    let mut client = Client::open(TEXT);
    client.notify(
        "textDocument/didClose",
        json!({"textDocument": {"uri": URI}}),
    );
    assert_eq!(client.published["diagnostics"], json!([]));
    let refused = client.request(
        "textDocument/formatting",
        json!({"textDocument": {"uri": URI}, "options": {"tabSize": 4, "insertSpaces": true}}),
    );
    assert_eq!(refused.unwrap_err()["code"], -32602);
}

#[test]
fn malformed_messages_do_not_end_the_server() {
    let mut client = Client::open(TEXT);
    for message in [
        &b"{"[..],
        b"\xff\xfe",
        b"",
        b"[]",
        b"{\"id\": 7}",
        b"null",
        b"{\"method\": 5}",
        b"{}",
    ] {
        client.send(message);
    }
    for params in [
        json!(null),
        json!({}),
        json!({"textDocument": 5}),
        json!([1, 2]),
    ] {
        for method in ["hover", "didChange", "formatting", "didOpen", "codeAction"] {
            let message = json!({"jsonrpc": "2.0", "id": 1, "method": format!("textDocument/{method}"), "params": params});
            let answer = client
                .send(message.to_string().as_bytes())
                .expect("an answer");
            assert!(answer.is_err(), "{method} {params}");
            client.notify(&format!("textDocument/{method}"), params.clone());
        }
    }
    let far = json!({"start": {"line": 4_000_000_000u32, "character": 4_000_000_000u32}, "end": {"line": 0, "character": 0}});
    client.change(9, json!([{"range": far, "text": "x"}]));
    assert_eq!(client.published["version"], 9);
    assert_eq!(client.request("shutdown", Value::Null), Ok(Value::Null));
    assert_eq!(
        client.request("textDocument/hover", json!({})).unwrap_err()["code"],
        -32600
    );
    client.notify("exit", Value::Null);
    assert_eq!(client.server.exit_status(), Some(0));
}

/// A file with an instruction in each function that computes an unused value.
const LINTED: &str = "\
.version 8.0
.target sm_80
.address_size 64
.entry k(.param .b64 p)
{
    .reg .b32 %r<4>;
    .reg .b64 %rd<3>;
    ld.param.b64 %rd1, [p];
    mov.u32 %r1, %tid.x;
    ld.global.u32 %r2, [%rd1];
    st.global.u32 [%rd1], %r2;
    ret;
}
.entry l()
{
    .reg .b32 %a;
    mov.u32 %a, %tid.x;
    ret;
}
";

#[test]
fn lints_follow_changes() {
    let mut client = Client::open(LINTED);
    assert_eq!(client.codes(), ["PTX1512", "PTX1512"]);
    assert_eq!(client.published["diagnostics"][0]["severity"], 2);
    // A line more in the first function, which is right.
    let at = position(LINTED, "    st.global", 0, 0);
    let used = "    add.u32 %r2, %r2, %r1;\n";
    let insert = json!([{"range": {"start": at, "end": at}, "text": used}]);
    client.change(2, insert);
    assert_eq!(client.codes(), ["PTX1512"]);
    let text = LINTED.replace("    st.global", &format!("{used}    st.global"));
    let range = client.published["diagnostics"][0]["range"].clone();
    assert_eq!(under(&text, &range), "mov.u32 %a, %tid.x;");
    // An error hides lints.
    let at = position(&text, "    ret;", 0, 0);
    client.change(3, json!([{"range": {"start": at, "end": at}, "text": "x"}]));
    assert!(!client.codes().contains(&"PTX1512".to_owned()));
    let end = position(&text, "    ret;", 0, 1);
    client.change(4, json!([{"range": {"start": at, "end": end}, "text": ""}]));
    assert_eq!(client.codes(), ["PTX1512"]);
}

#[test]
fn comments_and_the_client_turn_lints_off() {
    let text = LINTED.replace(
        "    mov.u32 %a",
        "    // ptxkit: allow(dead-code)\n    mov.u32 %a",
    );
    assert_eq!(Client::open(&text).codes(), ["PTX1512"]);
    let mut client = Client::with_options(LINTED, &["utf-8"], json!({"lints": false}));
    assert_eq!(client.codes(), [""; 0]);
    client.change(2, json!([{"text": text}]));
    assert_eq!(client.codes(), [""; 0]);
    // The client may change its mind.
    for (settings, expected) in [
        (json!({"lints": true}), vec!["PTX1512"]),
        (json!({"ptxkit": {"lints": false}}), vec![]),
        (json!({"ptxkit": {"lints": true}}), vec!["PTX1512"]),
    ] {
        client.notify(
            "workspace/didChangeConfiguration",
            json!({"settings": settings}),
        );
        assert_eq!(client.codes(), expected, "{settings}");
    }
    let found = &client.published["diagnostics"][0];
    assert_eq!(found["source"], "ptxkit lint");
}

#[test]
fn a_lint_that_is_not_certain_is_information() {
    let text = LINTED.replace(
        "st.global.u32 [%rd1], %r2;",
        "setp.eq.u32 %p, %r2, 0; @%p mov.u32 %r3, %r1; st.global.u32 [%rd1], %r3;",
    );
    let client = Client::open(&text.replace("    .reg .b64", "    .reg .pred %p;\n    .reg .b64"));
    let all = client.published["diagnostics"].as_array().unwrap();
    let found = all.iter().find(|d| d["code"] == "PTX1509").unwrap();
    assert_eq!(found["severity"], 3, "{found}");
}

#[test]
fn formatting_gives_the_canonical_text() {
    let text = TEXT
        .replace("%h0", "%r2")
        .replace("%r7", "%r0")
        .replace("    ret;", "ret  ;");
    let mut client = Client::open(&text);
    let options = json!({"tabSize": 4, "insertSpaces": true});
    let edits = client.ask("formatting", json!({"options": options}));
    let module = ptx_parse::parse_str(&text).module;
    let mut style = ptx_print::Style::default();
    style.indent = ptx_print::Indent::Spaces(4);
    let expected = ptx_print::canonical(&module, &style);
    assert_eq!(edited(&text, &edits).as_bytes(), expected);
    let range = json!({"start": position(&text, "ret", 0, 0), "end": position(&text, "ret", 0, 1)});
    let edits = client.ask(
        "rangeFormatting",
        json!({"range": range, "options": options}),
    );
    assert!(edited(&text, &edits).contains("\n    ret;\n"), "{edits}");
    client.change(2, json!([{"text": ".entry k( {"}]));
    let refused = client.request(
        "textDocument/formatting",
        json!({"textDocument": {"uri": URI}, "options": options}),
    );
    assert!(refused.is_err());
}

/// A large document of which each kernel has something to report, and the number of its kernels.
fn large() -> (String, usize) {
    let kernel = |k: usize| {
        let rest = "    add.s32 %r1, %r1, 1;\n".repeat(200);
        format!(
            ".entry k{k}()\n{{\n    .reg .b32 %r<4>;\n    mov.u32 %r2, %tid.x;\n    mov.u32 %r1, 0;\n{rest}    st.global.b32 [t], %r1;\n    ret;\n}}\n"
        )
    };
    let kernels = 60;
    let head = ".version 8.0\n.target sm_80\n.address_size 64\n.global .b32 t;\n";
    (
        head.to_owned() + &(0..kernels).map(kernel).collect::<String>(),
        kernels,
    )
}

#[test]
fn large_documents_are_linted_part_by_part() {
    let (text, kernels) = large();
    let mut server = Server::new();
    let send = |server: &mut Server, method: &str, params: Value| {
        let message = json!({"jsonrpc": "2.0", "method": method, "id": 1, "params": params});
        let mut message = message.as_object().unwrap().clone();
        if method.starts_with("textDocument/did") {
            message.remove("id");
        }
        server.receive(Value::Object(message).to_string().as_bytes());
    };
    let published = |server: &mut Server| -> Vec<usize> {
        let all = server.take_messages().into_iter();
        let all = all.map(|m| serde_json::from_str::<Value>(&m).unwrap());
        let found = all.filter_map(|m| m["params"]["diagnostics"].as_array().map(Vec::len));
        found.collect()
    };
    send(&mut server, "initialize", json!({"capabilities": {}}));
    let document = json!({"uri": URI, "languageId": "ptx", "version": 1, "text": text});
    send(
        &mut server,
        "textDocument/didOpen",
        json!({"textDocument": document}),
    );
    let first = published(&mut server);
    assert!(first.len() == 1 && first[0] < kernels, "{first:?}");
    // Requests are answered before all is linted.
    assert!(server.has_work());
    let about = json!({"textDocument": {"uri": URI}});
    send(&mut server, "textDocument/foldingRange", about);
    assert_eq!(server.take_messages().len(), 1);
    let mut parts = 0;
    while server.has_work() {
        server.work();
        parts += 1;
    }
    assert!(parts > 1);
    assert_eq!(published(&mut server), [kernels]);
    // After a change of one function its lints are published at once.
    let place = json!({"line": 8, "character": 0});
    let change =
        json!({"range": {"start": place, "end": place}, "text": "    mov.u32 %r3, %tid.y;\n"});
    let about = json!({"uri": URI, "version": 2});
    send(
        &mut server,
        "textDocument/didChange",
        json!({"textDocument": about, "contentChanges": [change]}),
    );
    assert_eq!(published(&mut server), [kernels + 1]);
    assert!(!server.has_work());
}
