//! Findings of lints.

use ptx_ir::Diagnostic;
use ptx_lint::{Certainty, Lint};
use serde::Serialize;

use super::context::FunctionContext;
use crate::labels::Labeled;

/// A finding of a lint.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Finding {
    /// The lint.
    pub lint: Labeled<Lint>,
    /// Its code, such as `PTX1512`.
    pub code: String,
    /// The certainty of the finding.
    pub certainty: Labeled<Certainty>,
    /// The message.
    pub message: String,
    /// The suggested fix.
    pub help: Option<String>,
    /// The line of the instruction in the file.
    pub line: u32,
    /// Its line in the original program: `a.cu:11`.
    pub source: Option<String>,
    /// The id of its block.
    pub block: u32,
    /// The degree of the bank conflict, for bank conflicts.
    pub degree: Option<u32>,
    /// The warning, which comments may suppress.
    #[serde(skip)]
    pub diagnostic: Diagnostic,
}

impl Finding {
    pub(super) fn new(finding: ptx_lint::Finding, function: &FunctionContext<'_>) -> Self {
        let block = function.analysis.cfg().of_statement(finding.stmt);
        let diagnostic = finding.diagnostic;
        Self {
            lint: Labeled(finding.lint),
            code: diagnostic.code.to_string(),
            certainty: Labeled(finding.certainty),
            message: diagnostic.message.to_string(),
            help: diagnostic.help.as_ref().map(ToString::to_string),
            line: function.line(finding.stmt),
            source: function.source(finding.stmt),
            block: block.map_or(0, |b| b.as_u32()),
            degree: finding.degree,
            diagnostic,
        }
    }
}
