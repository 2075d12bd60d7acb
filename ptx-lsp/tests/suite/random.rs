//! After any changes the state of the server is that of one that opens the new text.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "tests fail by panics"
)]

use crate::client;
use client::{Client, URI};
use serde_json::{Value, json};

/// A file with all kinds of statements, and some with errors.
fn text() -> String {
    let root = env!("CARGO_MANIFEST_DIR");
    let path = format!("{root}/../corpus/hand");
    let mut files: Vec<_> = std::fs::read_dir(path)
        .unwrap()
        .map(|f| f.unwrap().path())
        .collect();
    files.sort();
    let texts = files
        .iter()
        .filter(|f| f.extension().is_some_and(|e| e == "ptx"));
    let small = texts.map(|f| std::fs::read_to_string(f).unwrap_or_default());
    small
        .filter(|t| (3000..9000).contains(&t.len()))
        .min_by_key(String::len)
        .unwrap()
}

/// What is inserted: pieces that matter for the structure, and pieces of statements.
const PIECES: [&str; 26] = [
    "{",
    "}",
    ";",
    "\"",
    "/*",
    "*/",
    "//",
    "\n",
    "\r",
    " ",
    ",",
    "(",
    "[",
    "]",
    ".",
    "%r1",
    "é",
    "😀",
    "add.s32 %r1, %r2, 3;\n",
    "    bra L1;\n",
    "X: ",
    ".reg .b32 %q<3>;\n",
    ".entry",
    "call f;",
    "mov.u32 %r1, %tid.x;\n",
    "1",
];

fn random_position(random: &mut fastrand::Rng, text: &str) -> (Value, usize) {
    let mut at = random.usize(..=text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    // The client of these tests counts bytes; a lone `\r` ends a line as well.
    let before = text[..at].replace("\r\n", " \n").replace('\r', "\n");
    let line = before.matches('\n').count();
    let start = before.rfind('\n').map_or(0, |i| i + 1);
    (json!({"line": line, "character": at - start}), at)
}

/// All that a client sees of a document.
fn state(client: &mut Client) -> [Value; 3] {
    let symbols = client.ask("documentSymbol", json!({}));
    let tokens = client.ask("semanticTokens/full", json!({}));
    [client.published["diagnostics"].clone(), symbols, tokens]
}

fn random_changes(seed: u64, steps: usize) {
    let original = text().replace('\r', "");
    let mut random = fastrand::Rng::with_seed(seed);
    let mut client = Client::open(&original);
    let mut text = original.clone();
    let mut undo = Vec::new();
    for step in 0..steps {
        let (start, from) = random_position(&mut random, &text);
        let (mut end, mut to) = (start.clone(), from);
        if random.u8(..) < 100 && from < text.len() {
            to = (from + random.usize(1..6)).min(text.len());
            while !text.is_char_boundary(to) {
                to += 1;
            }
            // Not between the two characters of the end of a line.
            let inside = text[to..].starts_with('\n') && text[..to].ends_with('\r');
            if inside || text[from..to].contains(['\n', '\r']) {
                to = from;
            } else {
                let column = start["character"].as_u64().unwrap() + (to - from) as u64;
                end = json!({"line": start["line"], "character": column});
            }
        }
        if text[from..].starts_with('\n') && text[..from].ends_with('\r') {
            continue;
        }
        let piece = match random.u8(..3) {
            0 => "",
            _ => PIECES[random.usize(..PIECES.len())],
        };
        undo.push(text.clone());
        text.replace_range(from..to, piece);
        let version = step as i32 + 2;
        client.change(
            version,
            json!([{"range": {"start": start, "end": end}, "text": piece}]),
        );
        // Damage is undone, so that most changes meet a document that is mostly in order.
        let broken = client.published["diagnostics"].as_array().unwrap().len() > 12;
        if broken || random.u8(..) < 12 {
            text = if broken {
                undo.pop().unwrap()
            } else {
                original.clone()
            };
            client.change(version, json!([{"text": text}]));
        }
        let mut fresh = Client::open(&text);
        let (expected, found) = (state(&mut fresh), state(&mut client));
        assert_eq!(
            expected[0], found[0],
            "diagnostics, step {step} of seed {seed}:\n{text}"
        );
        assert_eq!(
            expected[1], found[1],
            "symbols, step {step} of seed {seed}:\n{text}"
        );
        assert_eq!(
            expected[2], found[2],
            "tokens, step {step} of seed {seed}:\n{text}"
        );
    }
    assert_eq!(client.published["uri"], URI);
}

#[test]
fn random_changes_give_the_state_of_the_new_text() {
    random_changes(1, 250);
}

#[test]
#[ignore = "takes long; .ci/run runs it"]
fn ten_thousand_random_changes_give_the_state_of_the_new_text() {
    for seed in 2..12 {
        random_changes(seed, 1000);
    }
}
