//! Diagnostics as JSON; `JSON.md` beside the sources of this program describes the fields.

use ptx_ir::{Applicability, Diagnostic, Severity};
use ptx_lint::{Certainty, Lint};
use serde::Serialize;

use super::Report;
use ptx_report::SCHEMA;
use ptx_report::demangle::demangle;
use ptx_report::labels::Labeled;
use ptx_report::source_frames::{JsonFrame, Place};
use ptx_report::source_span::JsonSpan;

/// A diagnostic.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Finding<'a> {
    schema: u32,
    file: &'a str,
    code: String,
    severity: Labeled<Severity>,
    message: &'a str,
    span: JsonSpan,
    labels: Vec<Label<'a>>,
    repeats: Vec<Repeat<'a>>,
    help: Option<&'a str>,
    fix: Vec<JsonEdit<'a>>,
    /// `MachineApplicable`, `MaybeIncorrect` or `HasPlaceholders`; null without a fix.
    applicability: Option<Labeled<Applicability>>,
    function: Option<&'a str>,
    demangled: Option<String>,
    source: &'a [JsonFrame],
    #[serde(flatten)]
    pub(crate) measured: Option<&'a Measured>,
    #[serde(flatten)]
    pub(crate) linted: Option<&'a Linted>,
}

/// The fields of lint findings.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Linted {
    pub(crate) lint: Labeled<Lint>,
    pub(crate) certainty: Labeled<Certainty>,
    /// The degree of bank conflicts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) degree: Option<u32>,
}

/// A value that a limit excludes.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Measured {
    pub(crate) metric: String,
    /// Null if it is unknown.
    pub(crate) value: Option<u64>,
    pub(crate) limit: u64,
    pub(crate) unit: &'static str,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct JsonEdit<'a> {
    span: JsonSpan,
    text: &'a str,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Label<'a> {
    message: &'a str,
    span: JsonSpan,
}

/// Another place with the same cause, with its own message.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Repeat<'a> {
    #[serde(flatten)]
    span: JsonSpan,
    message: &'a str,
}

/// A file without findings.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Clean<'a> {
    schema: u32,
    file: &'a str,
    /// Null, as programs that read diagnostics ask for it.
    code: (),
    /// Null, too.
    severity: (),
    /// The number of findings: 0.
    findings: u32,
}

impl<'a> Clean<'a> {
    pub(crate) fn new(file: &'a str) -> Self {
        Self {
            schema: SCHEMA,
            file,
            code: (),
            severity: (),
            findings: 0,
        }
    }
}

impl<'s> Report<'s> {
    pub(crate) fn finding<'f>(&self, diagnostic: &'f Diagnostic, place: &'f Place) -> Finding<'f>
    where
        's: 'f,
    {
        let labels = diagnostic
            .labels
            .iter()
            .map(|label| Label {
                message: &label.message,
                span: JsonSpan::new(label.span, self.lines),
            })
            .collect();
        let repeats = diagnostic
            .repeats_with_messages()
            .map(|(span, message)| Repeat {
                span: JsonSpan::new(span, self.lines),
                message,
            })
            .collect();
        let fix = diagnostic
            .fix
            .iter()
            .map(|edit| JsonEdit {
                span: JsonSpan::new(edit.span, self.lines),
                text: &edit.text,
            })
            .collect();
        Finding {
            schema: SCHEMA,
            file: self.name,
            code: diagnostic.code.to_string(),
            severity: Labeled(diagnostic.severity),
            message: &diagnostic.message,
            span: JsonSpan::new(diagnostic.span, self.lines),
            labels,
            repeats,
            help: diagnostic.help.as_deref(),
            fix,
            applicability: (!diagnostic.fix.is_empty())
                .then_some(Labeled(diagnostic.applicability)),
            function: place.function.as_deref(),
            demangled: place.function.as_deref().and_then(demangle),
            source: &place.source,
            measured: None,
            linted: None,
        }
    }
}
