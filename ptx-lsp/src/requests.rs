//! The requests of the protocol: each one is passed to the feature that answers it.

use lsp_types::request::*;
use lsp_types::*;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::document::Document;
use crate::documents::Documents;
use crate::message::{Answer, Failure, code, parse, to_json};
use crate::text::Encoding;
use crate::{
    call_hierarchy, code_lens, completion, custom, diagnostics, folding, formatting, hover,
    inlay_hints, names, semantic_tokens, symbols,
};

/// The capabilities of the server that it sends at the beginning of a session.
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

/// A request about one document, with its unparsed parameters.
struct DocumentRequest<'s, 'p> {
    documents: &'s mut Documents,
    params: Option<&'p RawValue>,
}

impl DocumentRequest<'_, '_> {
    /// Answers the request with the result of `feature` for the document that the parameters name.
    fn answer<P: InDocument, T: serde::Serialize>(
        self,
        feature: impl FnOnce(&Document, P) -> T,
    ) -> Answer {
        self.try_answer(|document, params| Ok(feature(document, params)))
    }

    /// Answers the request with the result or the error message of `feature`.
    fn try_answer<P: InDocument, T: serde::Serialize>(
        self,
        feature: impl FnOnce(&Document, P) -> Result<T, String>,
    ) -> Answer {
        let params: P = parse(self.params)?;
        let document = self.documents.get(params.uri())?;
        let result = feature(document, params);
        to_json(result.map_err(|message| Failure::new(code::REQUEST_FAILED, message))?)
    }
}

/// Answers a request.
pub(crate) fn answer(documents: &mut Documents, method: &str, params: Option<&RawValue>) -> Answer {
    if let Some(name) = method.strip_prefix(custom::PREFIX) {
        return custom::answer(documents, name, params);
    }
    let request = DocumentRequest { documents, params };
    match method {
        CodeActionRequest::METHOD => {
            request.answer(|d, p: CodeActionParams| diagnostics::code_actions(d, p.range))
        }
        CodeLensRequest::METHOD => request.answer(|d, _: CodeLensParams| code_lens::lenses(d)),
        CodeLensResolve::METHOD => resolve_code_lens(request),
        Formatting::METHOD => {
            request.try_answer(|d, p: DocumentFormattingParams| formatting::format(d, &p.options))
        }
        RangeFormatting::METHOD => request.try_answer(|d, p: DocumentRangeFormattingParams| {
            formatting::format_range(d, p.range, &p.options)
        }),
        DocumentSymbolRequest::METHOD => {
            let p: DocumentSymbolParams = parse(params)?;
            to_json(symbols::Outline(request.documents.get(p.uri())?))
        }
        WorkspaceSymbolRequest::METHOD => {
            let p: WorkspaceSymbolParams = parse(params)?;
            to_json(symbols::search(request.documents.all(), &p.query))
        }
        FoldingRangeRequest::METHOD => {
            request.answer(|d, _: FoldingRangeParams| folding::folding_ranges(d))
        }
        InlayHintRequest::METHOD => {
            request.answer(|d, p: InlayHintParams| inlay_hints::hints(d, d.span(p.range)))
        }
        SemanticTokensFullRequest::METHOD => {
            request.answer(|d, _: SemanticTokensParams| tokens(d, None))
        }
        SemanticTokensRangeRequest::METHOD => {
            request.answer(|d, p: SemanticTokensRangeParams| tokens(d, Some(p.range)))
        }
        CallHierarchyPrepare::METHOD => request.answer(|d, p: CallHierarchyPrepareParams| {
            call_hierarchy::prepare(d, d.offset(p.text_document_position_params.position))
        }),
        CallHierarchyIncomingCalls::METHOD => request
            .answer(|d, p: CallHierarchyIncomingCallsParams| call_hierarchy::incoming(d, &p.item)),
        CallHierarchyOutgoingCalls::METHOD => request
            .answer(|d, p: CallHierarchyOutgoingCallsParams| call_hierarchy::outgoing(d, &p.item)),
        _ => answer_at_position(request, method),
    }
}

/// The length of a document, in bytes, up to which all of its tokens are returned at once. They take many times the memory of the document; of a
/// longer document, clients get the tokens of a range only.
const MAX_LEN_FOR_ALL_TOKENS: usize = 2_000_000;

fn tokens(document: &Document, range: Option<Range>) -> Option<SemanticTokens> {
    let span = range.map(|r| document.span(r));
    (span.is_some() || document.source().len() <= MAX_LEN_FOR_ALL_TOKENS).then(|| SemanticTokens {
        result_id: None,
        data: semantic_tokens::tokens(document, span),
    })
}

fn resolve_code_lens(request: DocumentRequest<'_, '_>) -> Answer {
    let lens: CodeLens = parse(request.params)?;
    let uri = lens
        .data
        .as_ref()
        .and_then(|data| data.get("uri")?.as_str()?.parse().ok());
    let Some(uri) = uri else {
        let message = "a lens without a document";
        return Err(Failure::new(code::INVALID_PARAMS, message));
    };
    to_json(code_lens::resolve(request.documents.get(&uri)?, lens))
}

/// Answers a request about a position in a document.
fn answer_at_position(request: DocumentRequest<'_, '_>, method: &str) -> Answer {
    match method {
        HoverRequest::METHOD => request.answer(|d, p: HoverParams| {
            hover::hover(d, d.offset(p.text_document_position_params.position))
        }),
        Completion::METHOD => request.answer(|d, p: CompletionParams| {
            completion::complete(d, d.offset(p.text_document_position.position))
        }),
        GotoDefinition::METHOD => request.answer(|d, p: GotoDefinitionParams| {
            names::definition(d, d.offset(p.text_document_position_params.position))
        }),
        DocumentHighlightRequest::METHOD => request.answer(|d, p: DocumentHighlightParams| {
            names::highlights(d, d.offset(p.text_document_position_params.position))
        }),
        References::METHOD => request.answer(|d, p: ReferenceParams| {
            let offset = d.offset(p.text_document_position.position);
            names::references(d, offset, p.context.include_declaration)
        }),
        PrepareRenameRequest::METHOD => request.answer(|d, p: TextDocumentPositionParams| {
            names::prepare_rename(d, d.offset(p.position))
        }),
        Rename::METHOD => request.try_answer(|d, p: RenameParams| {
            let offset = d.offset(p.text_document_position.position);
            names::rename(d, offset, &p.new_name)
        }),
        _ => Err(Failure::new(
            code::METHOD_NOT_FOUND,
            format!("unknown method `{method}`"),
        )),
    }
}
