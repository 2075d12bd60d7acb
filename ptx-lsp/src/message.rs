//! The messages of JSON-RPC: reading those of the client, and writing those of the server.

use lsp_types::Uri;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

/// The codes of errors, from JSON-RPC and the language server protocol.
pub(crate) mod code {
    pub(crate) const PARSE_ERROR: i32 = -32700;
    pub(crate) const INVALID_REQUEST: i32 = -32600;
    pub(crate) const METHOD_NOT_FOUND: i32 = -32601;
    pub(crate) const INVALID_PARAMS: i32 = -32602;
    pub(crate) const NOT_INITIALIZED: i32 = -32002;
    pub(crate) const REQUEST_CANCELLED: i32 = -32800;
    pub(crate) const REQUEST_FAILED: i32 = -32803;
}

/// A message of the client, with unparsed parameters.
#[derive(Debug, Deserialize)]
pub(crate) struct Incoming<'a> {
    /// The id of a request; `None` for a notification.
    #[serde(default)]
    pub(crate) id: Option<Value>,
    #[serde(default)]
    pub(crate) method: Option<String>,
    #[serde(default, borrow)]
    pub(crate) params: Option<&'a RawValue>,
}

/// The error that answers a request.
#[derive(Debug, Serialize)]
pub(crate) struct Failure {
    code: i32,
    message: String,
}

impl Failure {
    pub(crate) fn new(code: i32, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { code, message }
    }
}

/// The result of a request as JSON, or the error that answers it.
pub(crate) type Answer = Result<Box<RawValue>, Failure>;

/// Parses the parameters of a message.
pub(crate) fn parse<'a, P: Deserialize<'a>>(params: Option<&'a RawValue>) -> Result<P, Failure> {
    let text = params.map_or("null", RawValue::get);
    serde_json::from_str(text).map_err(|e| Failure::new(code::INVALID_PARAMS, e.to_string()))
}

/// Writes a result as JSON.
pub(crate) fn to_json(result: impl Serialize) -> Answer {
    serde_json::value::to_raw_value(&result)
        .map_err(|e| Failure::new(code::REQUEST_FAILED, e.to_string()))
}

#[derive(Serialize)]
struct Response<'a> {
    jsonrpc: &'static str,
    id: &'a Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Failure>,
}

#[derive(Serialize)]
struct Notification<P> {
    jsonrpc: &'static str,
    method: &'static str,
    params: P,
}

/// Writes the answer to the request `id`.
pub(crate) fn response(id: &Value, answer: Answer) -> String {
    let (result, error) = match answer {
        Ok(result) => (Some(result), None),
        Err(failure) => (None, Some(failure)),
    };
    text(&Response {
        jsonrpc: "2.0",
        id,
        result,
        error,
    })
}

/// Writes a notification.
pub(crate) fn notification(method: &'static str, params: impl Serialize) -> String {
    text(&Notification {
        jsonrpc: "2.0",
        method,
        params,
    })
}

/// Writes a message as JSON. The types of the protocol contain nothing that cannot be written, so no error is lost.
fn text(message: &impl Serialize) -> String {
    serde_json::to_string(message).unwrap_or_default()
}

/// The parameters of `textDocument/didOpen`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Opened<'a> {
    #[serde(borrow)]
    pub(crate) text_document: TextDocument<'a>,
}

/// A document that the client opens. Its text is still a JSON string in the message.
#[derive(Deserialize)]
pub(crate) struct TextDocument<'a> {
    pub(crate) uri: Uri,
    pub(crate) version: i32,
    #[serde(borrow)]
    text: &'a RawValue,
}

/// The length of the parts in which a text is parsed, in bytes of JSON.
const PART: usize = 1 << 16;

impl TextDocument<'_> {
    /// Parses the text. A JSON reader collects a string with escapes in a growing buffer and copies it from there, which takes three times the memory of
    /// the text. The string is therefore parsed in parts.
    pub(crate) fn text(&self) -> serde_json::Result<String> {
        let json = self.text.get();
        let quoted = json.strip_prefix('"').and_then(|s| s.strip_suffix('"'));
        let Some(mut unparsed) = quoted else {
            return serde_json::from_str(json);
        };
        // Escapes are longer than the characters that they denote, so this reserves some memory for changes of the document.
        let mut text = String::with_capacity(unparsed.len());
        while !unparsed.is_empty() {
            let (part, remainder) = unparsed.split_at(part_len(unparsed));
            let part: String = serde_json::from_str(&format!("\"{part}\""))?;
            text.push_str(&part);
            unparsed = remainder;
        }
        Ok(text)
    }
}

/// The length of the first part of a JSON string without its quotes. A part is longer than [`PART`] and ends before an escape `\n` whose backslash does
/// not follow another backslash, so that no escape is divided.
fn part_len(json: &str) -> usize {
    let bytes = json.as_bytes();
    memchr::memchr_iter(b'\\', bytes.get(PART..).unwrap_or_default())
        .map(|index| PART + index)
        .find(|index| {
            let window = bytes.get(index - 1..index + 2);
            matches!(window, Some([previous, _, b'n']) if *previous != b'\\')
        })
        .unwrap_or(json.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_in_parts_is_the_text() {
        let pieces = [
            "\n", "\t", "a", "\\", "\"", "é", "😀", "\u{1}", "\\n", "\r\n",
        ];
        let mut random = fastrand::Rng::with_seed(3);
        for count in [0, 10, 1000, 100_000] {
            let text: String = (0..count)
                .map(|_| pieces[random.usize(..pieces.len())])
                .collect();
            let json = serde_json::to_string(&text).unwrap();
            // Every character outside ASCII as escapes.
            let escaped: String = json
                .chars()
                .flat_map(|c| match c.is_ascii() {
                    true => vec![c.to_string()],
                    false => c
                        .encode_utf16(&mut [0; 2])
                        .iter()
                        .map(|u| format!("\\u{u:04x}"))
                        .collect(),
                })
                .collect();
            for text_json in [json, escaped] {
                let message = format!(
                    "{{\"textDocument\": {{\"uri\": \"file:///a\", \"languageId\": \"ptx\", \"version\": 1, \"text\": {text_json}}}}}"
                );
                let opened: Opened<'_> = serde_json::from_str(&message).unwrap();
                assert_eq!(opened.text_document.text().unwrap(), text);
            }
        }
    }

    #[test]
    fn only_a_string_is_a_text() {
        for text in ["null", "1", "[\"a\"]", "\"\\x\"", "\"\\ud800\""] {
            let message = format!("{{\"uri\": \"file:///a\", \"version\": 1, \"text\": {text}}}");
            let document = serde_json::from_str::<TextDocument<'_>>(&message);
            assert!(
                document.is_err() || document.unwrap().text().is_err(),
                "{text}"
            );
        }
    }
}
