//! The open documents, and which of them have to be published or linted.

use std::collections::HashMap;

use lsp_types::{DidChangeTextDocumentParams, PublishDiagnosticsParams, Uri};
use ptx_analysis::incremental::EvaluationLimit;

use crate::diagnostics;
use crate::document::{Document, Settings};
use crate::machine_code::{MachineCode, ServerOptions};
use crate::message::{Failure, code};

/// The number of statements that are linted between two messages of the client. They are linted in a few milliseconds.
const LINTED_STATEMENTS: u64 = 5_000;

/// The documents that the client has open.
///
/// A document that changed is in `changed` until its diagnostics are published. If the limit did not suffice to lint all of its functions, it is in
/// `unlinted` from then on, until the last function is linted and its diagnostics are published again.
#[derive(Debug, Default)]
pub(crate) struct Documents {
    by_uri: HashMap<String, Document>,
    changed: Vec<Uri>,
    /// Linting continues with the first one.
    unlinted: Vec<Uri>,
    options: ServerOptions,
}

impl Documents {
    pub(crate) fn new(options: ServerOptions) -> Self {
        Self {
            options,
            ..Self::default()
        }
    }

    pub(crate) fn open(&mut self, uri: Uri, version: i32, text: String, settings: Settings) {
        let key = uri.as_str().to_owned();
        let mut document = Document::new(uri.clone(), version, text, settings);
        document.machine_code = MachineCode::new(self.options.clone());
        self.by_uri.insert(key, document);
        self.mark_changed(uri);
    }

    pub(crate) fn change(&mut self, params: DidChangeTextDocumentParams) {
        let uri = params.text_document.uri;
        if let Some(document) = self.by_uri.get_mut(uri.as_str()) {
            document.version = params.text_document.version;
            for change in params.content_changes {
                document.change(change);
            }
            self.mark_changed(uri);
        }
    }

    pub(crate) fn close(&mut self, uri: &Uri) {
        self.by_uri.remove(uri.as_str());
    }

    /// Enables or disables lints for all documents, which have to be published again.
    pub(crate) fn set_linted(&mut self, is_linted: bool) {
        let uris: Vec<Uri> = self.by_uri.values().map(|d| d.uri.clone()).collect();
        for uri in uris {
            if let Some(document) = self.by_uri.get_mut(uri.as_str()) {
                document.set_linted(is_linted);
            }
            self.mark_changed(uri);
        }
    }

    fn mark_changed(&mut self, uri: Uri) {
        if !self.changed.contains(&uri) {
            self.changed.push(uri);
        }
    }

    /// Updates and lints the changed documents. Returns their diagnostics to publish; for a large document, not all functions are linted yet.
    pub(crate) fn publish_changed(&mut self) -> Vec<PublishDiagnosticsParams> {
        let mut published = Vec::new();
        for uri in std::mem::take(&mut self.changed) {
            self.unlinted.retain(|unlinted| *unlinted != uri);
            if let Some(document) = self.by_uri.get_mut(uri.as_str()) {
                document.update();
                let is_complete = document.lint(&mut EvaluationLimit::new(LINTED_STATEMENTS));
                published.push(diagnostics_of(document));
                if !is_complete {
                    self.unlinted.push(uri);
                }
            }
        }
        published
    }

    pub(crate) fn has_unlinted(&self) -> bool {
        !self.unlinted.is_empty()
    }

    /// Lints some functions of the first unlinted document. Returns its diagnostics to publish if all of its functions are linted.
    pub(crate) fn lint_next(&mut self) -> Option<PublishDiagnosticsParams> {
        let uri = self.unlinted.first()?;
        let Some(document) = self.by_uri.get_mut(uri.as_str()) else {
            self.unlinted.remove(0);
            return None;
        };
        document.update();
        if !document.lint(&mut EvaluationLimit::new(LINTED_STATEMENTS)) {
            return None;
        }
        self.unlinted.remove(0);
        Some(diagnostics_of(document))
    }

    /// Returns an open document with an updated module. A document that changed and was not published yet is linted up to the limit.
    pub(crate) fn get(&mut self, uri: &Uri) -> Result<&Document, Failure> {
        let Some(document) = self.by_uri.get_mut(uri.as_str()) else {
            let message = "the document is not open";
            return Err(Failure::new(code::INVALID_PARAMS, message));
        };
        document.update();
        if self.changed.contains(uri) {
            document.lint(&mut EvaluationLimit::new(LINTED_STATEMENTS));
        }
        Ok(document)
    }

    /// All open documents with updated modules.
    pub(crate) fn all(&mut self) -> impl Iterator<Item = &Document> {
        self.by_uri.values_mut().map(|document| {
            document.update();
            &*document
        })
    }
}

fn diagnostics_of(document: &Document) -> PublishDiagnosticsParams {
    PublishDiagnosticsParams::new(
        document.uri.clone(),
        diagnostics::document_diagnostics(document),
        Some(document.version),
    )
}
