//! Which requests there are, and what answers them.

use lsp_types::request::*;
use lsp_types::*;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::document::Document;
use crate::message::{Failure, code};
use crate::server::{Answer, Server, parse, to_json};
use crate::text::Encoding;
use crate::{
    call_hierarchy, code_action, code_lens, completion, custom, folding, formatting, hover,
    inlay_hints, names, rename, semantic_tokens, symbols,
};

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
        hover_provider: Some(HoverProviderCapability::Simple(true)),
        completion_provider: Some(CompletionOptions {
            trigger_characters: Some([".", "%", "@", "["].map(str::to_owned).to_vec()),
            ..CompletionOptions::default()
        }),
        definition_provider: Some(OneOf::Left(true)),
        references_provider: Some(OneOf::Left(true)),
        document_highlight_provider: Some(OneOf::Left(true)),
        document_symbol_provider: Some(OneOf::Left(true)),
        workspace_symbol_provider: Some(OneOf::Left(true)),
        code_action_provider: Some(CodeActionProviderCapability::Simple(true)),
        code_lens_provider: Some(CodeLensOptions {
            resolve_provider: Some(true),
        }),
        document_formatting_provider: Some(OneOf::Left(true)),
        document_range_formatting_provider: Some(OneOf::Left(true)),
        rename_provider: Some(OneOf::Right(RenameOptions {
            prepare_provider: Some(true),
            work_done_progress_options: WorkDoneProgressOptions::default(),
        })),
        folding_range_provider: Some(FoldingRangeProviderCapability::Simple(true)),
        call_hierarchy_provider: Some(CallHierarchyServerCapability::Simple(true)),
        inlay_hint_provider: Some(OneOf::Left(true)),
        semantic_tokens_provider: Some(SemanticTokensServerCapabilities::SemanticTokensOptions(
            SemanticTokensOptions {
                legend: semantic_tokens::legend(),
                range: Some(true),
                full: Some(SemanticTokensFullOptions::Bool(true)),
                ..SemanticTokensOptions::default()
            },
        )),
        ..ServerCapabilities::default()
    }
}

/// Parameters that name a document.
trait InDocument: DeserializeOwned {
    fn uri(&self) -> &Uri;
}

macro_rules! in_document {
    ($($params:ident: $($path:ident).+;)*) => {
        $(impl InDocument for $params {
            fn uri(&self) -> &Uri {
                &self.$($path).+.uri
            }
        })*
    };
}

in_document! {
    CodeActionParams: text_document;
    CodeLensParams: text_document;
    DocumentFormattingParams: text_document;
    DocumentRangeFormattingParams: text_document;
    DocumentSymbolParams: text_document;
    FoldingRangeParams: text_document;
    InlayHintParams: text_document;
    SemanticTokensParams: text_document;
    SemanticTokensRangeParams: text_document;
    TextDocumentPositionParams: text_document;
    HoverParams: text_document_position_params.text_document;
    GotoDefinitionParams: text_document_position_params.text_document;
    DocumentHighlightParams: text_document_position_params.text_document;
    CallHierarchyPrepareParams: text_document_position_params.text_document;
    CompletionParams: text_document_position.text_document;
    ReferenceParams: text_document_position.text_document;
    RenameParams: text_document_position.text_document;
    CallHierarchyIncomingCallsParams: item;
    CallHierarchyOutgoingCallsParams: item;
}

/// A request with its parameters, which are not read so far.
struct Asked<'s, 'p> {
    server: &'s mut Server,
    params: Option<&'p RawValue>,
}

impl Asked<'_, '_> {
    /// The answer for the document that the parameters name.
    fn of<P: InDocument, T: serde::Serialize>(
        self,
        answer: impl FnOnce(&Document, P) -> T,
    ) -> Answer {
        self.or_fail(|document, params| Ok(answer(document, params)))
    }

    fn or_fail<P: InDocument, T: serde::Serialize>(
        self,
        answer: impl FnOnce(&Document, P) -> Result<T, String>,
    ) -> Answer {
        let params: P = parse(self.params)?;
        let document = self.server.document(params.uri())?;
        let result = answer(document, params);
        to_json(result.map_err(|message| Failure::new(code::REQUEST_FAILED, message))?)
    }
}

/// Answers a request.
pub(crate) fn answer(server: &mut Server, method: &str, params: Option<&RawValue>) -> Answer {
    if let Some(name) = method.strip_prefix(custom::PREFIX) {
        return custom::answer(server, name, params);
    }
    let asked = Asked { server, params };
    match method {
        CodeActionRequest::METHOD | CodeLensRequest::METHOD | CodeLensResolve::METHOD => {
            of_code(asked, method)
        }
        Formatting::METHOD => {
            asked.or_fail(|d, p: DocumentFormattingParams| formatting::format(d, &p.options))
        }
        RangeFormatting::METHOD => asked.or_fail(|d, p: DocumentRangeFormattingParams| {
            formatting::format_range(d, p.range, &p.options)
        }),
        DocumentSymbolRequest::METHOD => {
            let p: DocumentSymbolParams = parse(params)?;
            to_json(symbols::Outline(asked.server.document(p.uri())?))
        }
        WorkspaceSymbolRequest::METHOD => {
            let p: WorkspaceSymbolParams = parse(params)?;
            to_json(symbols::search(asked.server.documents(), &p.query))
        }
        FoldingRangeRequest::METHOD => asked.of(|d, _: FoldingRangeParams| folding::folding(d)),
        InlayHintRequest::METHOD => {
            asked.of(|d, p: InlayHintParams| inlay_hints::hints(d, d.span(p.range)))
        }
        SemanticTokensFullRequest::METHOD => asked.of(|d, _: SemanticTokensParams| tokens(d, None)),
        SemanticTokensRangeRequest::METHOD => {
            asked.of(|d, p: SemanticTokensRangeParams| tokens(d, Some(p.range)))
        }
        CallHierarchyPrepare::METHOD => asked.of(|d, p: CallHierarchyPrepareParams| {
            call_hierarchy::prepare(d, d.offset(p.text_document_position_params.position))
        }),
        CallHierarchyIncomingCalls::METHOD => {
            asked.of(|d, p: CallHierarchyIncomingCallsParams| call_hierarchy::incoming(d, &p.item))
        }
        CallHierarchyOutgoingCalls::METHOD => {
            asked.of(|d, p: CallHierarchyOutgoingCallsParams| call_hierarchy::outgoing(d, &p.item))
        }
        _ => at_position(asked, method),
    }
}

/// Of a longer document, only the tokens of a range are given: all of them would take many times its memory.
const LONGEST_WITH_TOKENS: usize = 2_000_000;

fn tokens(document: &Document, range: Option<Range>) -> Option<SemanticTokens> {
    let span = range.map(|r| document.span(r));
    (span.is_some() || document.source().len() <= LONGEST_WITH_TOKENS).then(|| SemanticTokens {
        result_id: None,
        data: semantic_tokens::tokens(document, span),
    })
}

/// Code actions and lenses.
fn of_code(asked: Asked<'_, '_>, method: &str) -> Answer {
    match method {
        CodeActionRequest::METHOD => {
            asked.of(|d, p: CodeActionParams| code_action::code_actions(d, p.range))
        }
        CodeLensRequest::METHOD => asked.of(|d, _: CodeLensParams| code_lens::lenses(d)),
        _ => {
            let lens: CodeLens = parse(asked.params)?;
            let uri = lens
                .data
                .as_ref()
                .and_then(|d| d.get("uri")?.as_str()?.parse().ok());
            let missing = || Failure::new(code::INVALID_PARAMS, "a lens without a document");
            let document = asked.server.document(&uri.ok_or_else(missing)?)?;
            to_json(code_lens::resolve(document, lens))
        }
    }
}

/// Requests about a place.
fn at_position(asked: Asked<'_, '_>, method: &str) -> Answer {
    match method {
        HoverRequest::METHOD => asked.of(|d, p: HoverParams| {
            hover::hover(d, d.offset(p.text_document_position_params.position))
        }),
        Completion::METHOD => asked.of(|d, p: CompletionParams| {
            completion::complete(d, d.offset(p.text_document_position.position))
        }),
        GotoDefinition::METHOD => asked.of(|d, p: GotoDefinitionParams| {
            names::definition(d, d.offset(p.text_document_position_params.position))
        }),
        DocumentHighlightRequest::METHOD => asked.of(|d, p: DocumentHighlightParams| {
            names::highlights(d, d.offset(p.text_document_position_params.position))
        }),
        References::METHOD => asked.of(|d, p: ReferenceParams| {
            let offset = d.offset(p.text_document_position.position);
            names::references(d, offset, p.context.include_declaration)
        }),
        PrepareRenameRequest::METHOD => {
            asked.of(|d, p: TextDocumentPositionParams| rename::prepare(d, d.offset(p.position)))
        }
        Rename::METHOD => asked.or_fail(|d, p: RenameParams| {
            let offset = d.offset(p.text_document_position.position);
            rename::rename(d, offset, &p.new_name)
        }),
        _ => Err(Failure::new(
            code::METHOD_NOT_FOUND,
            format!("unknown method `{method}`"),
        )),
    }
}
