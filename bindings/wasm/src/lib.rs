//! The language server for browsers: JavaScript gives it the messages of the Language Server Protocol and gets its answers.
//!
//! It is [`ptx_lsp::Server`] without streams and threads, so that an editor in a browser has the same features as any other one.

#![forbid(unsafe_code)]

use ptx_lsp::Server;
use wasm_bindgen::prelude::wasm_bindgen;

/// A client's connection to a language server. It lives as long as the page needs it.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Session {
    server: Server,
}

impl Default for Session {
    fn default() -> Self {
        Self::new()
    }
}

#[wasm_bindgen]
impl Session {
    /// A server that waits for the request `initialize`.
    #[wasm_bindgen(constructor)]
    #[must_use]
    pub fn new() -> Self {
        Self {
            server: Server::new(),
        }
    }

    /// Receives a message of the client as JSON, and returns all messages for the client.
    pub fn receive(&mut self, message: &str) -> Vec<String> {
        self.server.receive(message.as_bytes());
        self.server.take_messages()
    }

    /// Whether `work` has something to do.
    #[wasm_bindgen(js_name = hasWork)]
    #[must_use]
    pub fn has_work(&self) -> bool {
        self.server.has_work()
    }

    /// Lints some functions of a large document, for some milliseconds, and returns all messages for the client.
    pub fn work(&mut self) -> Vec<String> {
        self.server.work();
        self.server.take_messages()
    }
}
