//! Which requests there are, and what answers them.

use lsp_types::request::*;
use lsp_types::*;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::message::{Failure, code};
use crate::server::{Server, parse, to_value};
use crate::text::Encoding;
use crate::{code_action, formatting};

/// What the server offers.
pub(crate) fn capabilities(encoding: Encoding) -> ServerCapabilities {
    ServerCapabilities {
        position_encoding: Some(encoding.kind()),
        text_document_sync: Some(TextDocumentSyncCapability::Options(
            TextDocumentSyncOptions {
                open_close: Some(true),
                change: Some(TextDocumentSyncKind::INCREMENTAL),
                ..TextDocumentSyncOptions::default()
            },
        )),
        code_action_provider: Some(CodeActionProviderCapability::Simple(true)),
        document_formatting_provider: Some(OneOf::Left(true)),
        document_range_formatting_provider: Some(OneOf::Left(true)),
        ..ServerCapabilities::default()
    }
}

/// Answers a request about an open document.
pub(crate) fn answer(
    server: &mut Server,
    method: &str,
    params: Option<&RawValue>,
) -> Result<Value, Failure> {
    match method {
        CodeActionRequest::METHOD => {
            let p: CodeActionParams = parse(params)?;
            let document = server.document(&p.text_document.uri)?;
            to_value(code_action::code_actions(document, p.range))
        }
        Formatting::METHOD => {
            let p: DocumentFormattingParams = parse(params)?;
            let document = server.document(&p.text_document.uri)?;
            to_value(formatting::format(document, &p.options).map_err(failed)?)
        }
        RangeFormatting::METHOD => {
            let p: DocumentRangeFormattingParams = parse(params)?;
            let document = server.document(&p.text_document.uri)?;
            let edits = formatting::format_range(document, p.range, &p.options);
            to_value(edits.map_err(failed)?)
        }
        _ => Err(Failure::new(
            code::METHOD_NOT_FOUND,
            format!("unknown method `{method}`"),
        )),
    }
}

fn failed(message: impl Into<String>) -> Failure {
    Failure::new(code::REQUEST_FAILED, message)
}
