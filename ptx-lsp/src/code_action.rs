//! Quick fixes: the edits of diagnostics.

use std::collections::HashMap;

use lsp_types::{CodeAction, CodeActionKind, CodeActionOrCommand, Range, TextEdit, WorkspaceEdit};

use crate::diagnostics::of_diagnostic;
use crate::document::Document;

/// The fixes of the diagnostics in a range, and one for all diagnostics of the document if several have one.
#[allow(
    clippy::mutable_key_type,
    reason = "the protocol type has URIs as keys"
)]
pub(crate) fn code_actions(document: &Document, range: Range) -> Vec<CodeActionOrCommand> {
    let span = document.span(range);
    let all = document.diagnostics();
    let fixable = all.iter().filter(|d| !d.fix.is_empty());
    let here = fixable
        .clone()
        .filter(|d| d.span.start <= span.end && span.start <= d.span.end);
    let mut actions: Vec<CodeActionOrCommand> = Vec::new();
    for d in here {
        let edits = d.fix.iter().map(|patch| TextEdit {
            range: document.range(patch.span),
            new_text: patch.text.clone(),
        });
        let action = CodeAction {
            title: d.help.clone().unwrap_or_else(|| title(document, d)),
            kind: Some(CodeActionKind::QUICKFIX),
            diagnostics: Some(vec![of_diagnostic(document, d)]),
            edit: Some(changes(document, edits.collect())),
            is_preferred: Some(true),
            ..CodeAction::default()
        };
        actions.push(CodeActionOrCommand::CodeAction(action));
    }
    let count = fixable.count();
    if count > 1 && !actions.is_empty() {
        let cloned: Vec<_> = all.iter().map(|d| (*d).clone()).collect();
        if let Some(fixed) = ptx_ir::apply_fixes(document.source(), &cloned) {
            let edit = crate::formatting::difference(document, &fixed.text);
            let action = CodeAction {
                title: format!("make all {count} fixes of this file"),
                kind: Some(CodeActionKind::QUICKFIX),
                edit: Some(changes(document, edit.into_iter().collect())),
                ..CodeAction::default()
            };
            actions.push(CodeActionOrCommand::CodeAction(action));
        }
    }
    actions
}

/// What the first edit of a fix does.
fn title(document: &Document, d: &ptx_ir::Diagnostic) -> String {
    let Some(patch) = d.fix.first() else {
        return "fix".to_owned();
    };
    let (old, new) = (document.text(patch.span), patch.text.trim());
    match (old.is_empty(), new.is_empty()) {
        (true, _) => format!("insert `{new}`"),
        (_, true) => format!("remove `{}`", old.trim()),
        _ => format!("replace `{old}` with `{new}`"),
    }
}

/// Edits of one document.
#[allow(
    clippy::mutable_key_type,
    reason = "the protocol type has URIs as keys"
)]
pub(crate) fn changes(document: &Document, edits: Vec<TextEdit>) -> WorkspaceEdit {
    WorkspaceEdit::new(HashMap::from([(document.uri.clone(), edits)]))
}
