//! The messages of JSON-RPC.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

/// Codes of errors.
pub(crate) mod code {
    pub(crate) const PARSE_ERROR: i32 = -32700;
    pub(crate) const INVALID_REQUEST: i32 = -32600;
    pub(crate) const METHOD_NOT_FOUND: i32 = -32601;
    pub(crate) const INVALID_PARAMS: i32 = -32602;
    pub(crate) const NOT_INITIALIZED: i32 = -32002;
    pub(crate) const REQUEST_CANCELLED: i32 = -32800;
    pub(crate) const REQUEST_FAILED: i32 = -32803;
}

/// A message of the client. The parameters are not read so far.
#[derive(Debug, Deserialize)]
pub(crate) struct Incoming<'a> {
    /// Of a request.
    #[serde(default)]
    pub(crate) id: Option<Value>,
    #[serde(default)]
    pub(crate) method: Option<String>,
    #[serde(default, borrow)]
    pub(crate) params: Option<&'a RawValue>,
}

/// Why a request is not answered.
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

/// The text of an answer to the request `id`.
pub(crate) fn response(id: &Value, answer: Result<Box<RawValue>, Failure>) -> String {
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

/// The text of a notification.
pub(crate) fn notification(method: &'static str, params: impl Serialize) -> String {
    text(&Notification {
        jsonrpc: "2.0",
        method,
        params,
    })
}

/// What the protocol types contain can always be written as JSON.
fn text(message: &impl Serialize) -> String {
    serde_json::to_string(message).unwrap_or_default()
}
