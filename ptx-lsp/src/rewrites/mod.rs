//! Rewriting of a whole document, for `ptxkit/rewrites` and `ptxkit/rewrite`.

mod clean;
mod extract;
mod instrument;
mod options;
mod plain;
mod retarget;

use ptx_ir::{Diagnostic, Severity};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::document::Document;
use crate::message::{Failure, code};
use options::{OptionOf, Values};

/// A way to rewrite a document.
#[derive(Serialize)]
pub(crate) struct Rewrite {
    name: &'static str,
    title: &'static str,
    /// A sentence.
    description: &'static str,
    options: Vec<OptionOf>,
    #[serde(skip)]
    apply: Apply,
}

/// Why a document is not rewritten, if it is not.
type Apply = fn(&Document, &Values<'_>) -> Result<Outcome, String>;

/// A document that was rewritten.
#[derive(Serialize)]
pub(crate) struct Outcome {
    /// The whole text.
    text: String,
    /// What could not be done.
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

/// All of them.
pub(crate) fn all() -> Vec<Rewrite> {
    let mut all = plain::all();
    all.extend([clean::rewrite(), extract::rewrite(), retarget::rewrite()]);
    all.extend(instrument::all());
    all
}

/// Rewrites a document.
pub(crate) fn rewrite(
    document: &Document,
    name: &str,
    options: &Map<String, Value>,
) -> Result<Outcome, Failure> {
    let invalid = |why: String| Failure::new(code::INVALID_PARAMS, why);
    let found = all().into_iter().find(|r| r.name == name);
    let found = found.ok_or_else(|| invalid(format!("unknown rewrite `{name}`")))?;
    let values = Values::new(&found.options, options).map_err(invalid)?;
    let errors = document.syntax_errors();
    let errors: Vec<_> = errors.filter(|d| d.severity == Severity::Error).collect();
    if !errors.is_empty() {
        let why = format!(
            "the document has syntax errors: {}",
            listed(document, &errors)
        );
        return Err(Failure::new(code::REQUEST_FAILED, why));
    }
    let outcome = (found.apply)(document, &values);
    outcome.map_err(|why| Failure::new(code::REQUEST_FAILED, why))
}

/// The most errors that a message lists.
const MOST_ERRORS: usize = 3;

/// Diagnostics with their lines, in one line.
fn listed(document: &Document, all: &[&Diagnostic]) -> String {
    let line = |d: &Diagnostic| document.lines().line_of(d.span.start) + 1;
    let shown = all.iter().take(MOST_ERRORS);
    let shown = shown.map(|d| format!("line {}: {}", line(d), d.message));
    let mut text = shown.collect::<Vec<_>>().join("; ");
    if all.len() > MOST_ERRORS {
        text += &format!("; and {} more", all.len() - MOST_ERRORS);
    }
    text
}
