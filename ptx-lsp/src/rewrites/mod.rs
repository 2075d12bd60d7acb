//! `ptxkit/rewrites` and `ptxkit/rewrite`: rewrites of a whole document.

mod equivalent;
mod extract;
mod instrument;
mod options;
mod retarget;

use ptx_ir::{Diagnostic, Severity};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::document::Document;
use crate::message::{Failure, code};
use options::{RewriteOption, Values};

/// A rewrite that the client may choose.
#[derive(Serialize)]
pub(crate) struct Rewrite {
    name: &'static str,
    title: &'static str,
    /// A full sentence.
    description: &'static str,
    options: Vec<RewriteOption>,
    #[serde(skip)]
    apply: Apply,
}

/// Rewrites a document without syntax errors. The error says why that is impossible.
type Apply = fn(&Document, &Values<'_>) -> Result<Outcome, String>;

/// The result of a rewrite.
#[derive(Serialize)]
pub(crate) struct Outcome {
    /// The new text of the document.
    text: String,
    /// Parts of the document that could not be rewritten, and further remarks.
    notes: Vec<String>,
}

impl Outcome {
    fn new(text: &[u8]) -> Self {
        Self {
            text: String::from_utf8_lossy(text).into_owned(),
            notes: Vec::new(),
        }
    }

    fn with_notes(self, notes: impl IntoIterator<Item = String>) -> Self {
        let notes = notes.into_iter().collect();
        Self { notes, ..self }
    }
}

/// All rewrites, in the order in which clients list them.
pub(crate) fn all() -> Vec<Rewrite> {
    let mut rewrites = equivalent::all();
    rewrites.extend([extract::rewrite(), retarget::rewrite()]);
    rewrites.extend(instrument::all());
    rewrites
}

/// Applies the rewrite `name`. Fails if there is no such rewrite, an option is wrong, the document has syntax errors, or the rewrite is impossible.
pub(crate) fn rewrite(
    document: &Document,
    name: &str,
    options: &Map<String, Value>,
) -> Result<Outcome, Failure> {
    let Some(rewrite) = all().into_iter().find(|r| r.name == name) else {
        let message = format!("unknown rewrite `{name}`");
        return Err(Failure::new(code::INVALID_PARAMS, message));
    };
    let values = Values::new(&rewrite.options, options)
        .map_err(|error| Failure::new(code::INVALID_PARAMS, error))?;
    let errors: Vec<_> = document
        .syntax_errors()
        .filter(|d| d.severity == Severity::Error)
        .collect();
    if !errors.is_empty() {
        let message = format!(
            "the document has syntax errors: {}",
            in_one_line(document, &errors)
        );
        return Err(Failure::new(code::REQUEST_FAILED, message));
    }
    (rewrite.apply)(document, &values).map_err(|error| Failure::new(code::REQUEST_FAILED, error))
}

/// The maximum number of errors that a message lists.
const MAX_ERRORS: usize = 3;

/// Writes diagnostics with the numbers of their lines, in one line.
fn in_one_line(document: &Document, diagnostics: &[&Diagnostic]) -> String {
    let shown: Vec<String> = diagnostics
        .iter()
        .take(MAX_ERRORS)
        .map(|d| {
            let line = document.lines().line_of(d.span.start) + 1;
            format!("line {line}: {}", d.message)
        })
        .collect();
    let mut text = shown.join("; ");
    if diagnostics.len() > MAX_ERRORS {
        text += &format!("; and {} more", diagnostics.len() - MAX_ERRORS);
    }
    text
}
