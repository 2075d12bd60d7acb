//! What a client chooses when it starts the server, and later.

use serde_json::Value;

use crate::text::Encoding;

/// How documents are read and examined.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) encoding: Encoding,
    /// Whether they are linted.
    pub(crate) lints: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            encoding: Encoding::default(),
            lints: true,
        }
    }
}

impl Settings {
    /// Reads `initializationOptions`, or the settings of `workspace/didChangeConfiguration`, which may be in a section `ptxkit`. What is missing or
    /// has another type stays as it is.
    pub(crate) fn read(&mut self, options: &Value) {
        let options = options.get("ptxkit").unwrap_or(options);
        let lints = options.get("lints").and_then(Value::as_bool);
        self.lints = lints.unwrap_or(self.lints);
    }
}
