//! A client in the same process, for the other tests.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    dead_code,
    unreachable_pub,
    missing_docs
)]

use ptx_lsp::Server;
use serde_json::{Value, json};

pub const URI: &str = "file:///a.ptx";

pub struct Client {
    pub server: Server,
    next: u64,
    /// The last published diagnostics.
    pub published: Value,
}

impl Client {
    /// A client with an open document, that counts columns in UTF-8.
    pub fn open(text: &str) -> Self {
        Self::with_encodings(text, &["utf-8"])
    }

    pub fn with_encodings(text: &str, encodings: &[&str]) -> Self {
        Self::with_options(text, encodings, Value::Null)
    }

    pub fn with_options(text: &str, encodings: &[&str], options: Value) -> Self {
        Self::of_server(Server::new(), text, encodings, options)
    }

    pub fn of_server(server: Server, text: &str, encodings: &[&str], options: Value) -> Self {
        let mut client = Self {
            server,
            next: 0,
            published: Value::Null,
        };
        let params = json!({"capabilities": {"general": {"positionEncodings": encodings}}, "initializationOptions": options});
        client.request("initialize", params).unwrap();
        client.notify("initialized", json!({}));
        let document = json!({"uri": URI, "languageId": "ptx", "version": 1, "text": text});
        client.notify("textDocument/didOpen", json!({"textDocument": document}));
        client
    }

    pub fn request(&mut self, method: &str, params: Value) -> Result<Value, Value> {
        self.next += 1;
        let id = self.next;
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.send(message.to_string().as_bytes())
            .expect("an answer")
    }

    /// A request about the document.
    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        let mut all = json!({"textDocument": {"uri": URI}});
        all.as_object_mut()
            .unwrap()
            .extend(params.as_object().unwrap().clone());
        self.request(&format!("textDocument/{method}"), all)
            .unwrap()
    }

    pub fn notify(&mut self, method: &str, params: Value) {
        let message = json!({"jsonrpc": "2.0", "method": method, "params": params});
        self.send(message.to_string().as_bytes());
    }

    /// Sends a message; gives the answer, if there is one.
    pub fn send(&mut self, message: &[u8]) -> Option<Result<Value, Value>> {
        self.server.receive(message);
        while self.server.has_work() {
            self.server.work();
        }
        let mut answer = None;
        for text in self.server.take_messages() {
            let message: Value = serde_json::from_str(&text).unwrap();
            match message.get("method").and_then(Value::as_str) {
                Some("textDocument/publishDiagnostics") => {
                    self.published = message["params"].clone()
                }
                Some(other) => panic!("unexpected {other}"),
                None if message.get("error").is_some() => {
                    answer = Some(Err(message["error"].clone()))
                }
                None => answer = Some(Ok(message["result"].clone())),
            }
        }
        answer
    }

    pub fn change(&mut self, version: i32, changes: Value) {
        let document = json!({"uri": URI, "version": version});
        self.notify(
            "textDocument/didChange",
            json!({"textDocument": document, "contentChanges": changes}),
        );
    }

    /// The codes of the published diagnostics.
    pub fn codes(&self) -> Vec<String> {
        let all = self.published["diagnostics"].as_array().unwrap();
        all.iter()
            .map(|d| d["code"].as_str().unwrap().to_owned())
            .collect()
    }
}

/// The position of the `nth` occurrence of a text, counted from 0, and `after` bytes further.
pub fn position(text: &str, find: &str, nth: usize, after: usize) -> Value {
    let at = text.match_indices(find).nth(nth).expect(find).0 + after;
    let before = &text[..at];
    let line = before.matches('\n').count();
    let column = at - before.rfind('\n').map_or(0, |i| i + 1);
    json!({"line": line, "character": column})
}

/// The text under a range, in UTF-8.
pub fn under<'t>(text: &'t str, range: &Value) -> &'t str {
    let offset = |p: &Value| {
        let line = p["line"].as_u64().unwrap() as usize;
        let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(i, _)| i + 1));
        starts.clone().nth(line).unwrap() + p["character"].as_u64().unwrap() as usize
    };
    &text[offset(&range["start"])..offset(&range["end"])]
}

/// The text after an edit.
pub fn edited(text: &str, edits: &Value) -> String {
    let mut edits: Vec<&Value> = edits.as_array().unwrap().iter().collect();
    edits.sort_by_key(|e| {
        let start = &e["range"]["start"];
        std::cmp::Reverse((start["line"].as_u64(), start["character"].as_u64()))
    });
    let mut text = text.to_owned();
    for edit in edits {
        let place = under(&text, &edit["range"]);
        let start = place.as_ptr() as usize - text.as_ptr() as usize;
        let end = start + place.len();
        text.replace_range(start..end, edit["newText"].as_str().unwrap());
    }
    text
}
