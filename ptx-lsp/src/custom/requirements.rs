//! `ptxkit/requirements`: the targets and PTX versions on which each function and the module are legal, and the reasons for that.

use lsp_types::Range;
use ptx_ir::Span;
use ptx_isa::{PtxVersion, Target};
use ptx_report::demangle::demangle;
use ptx_report::requirements::{Minimal, reason};
use ptx_verify::{Availability, Reason};
use serde::Serialize;

use super::functions;
use crate::document::Document;

/// A matrix with a column for each target, and a row for the module and each function.
#[derive(Serialize)]
pub(super) struct Matrix {
    /// The names of all targets.
    targets: Vec<&'static str>,
    functions: Vec<Function>,
    module: Row,
    /// The instructions that are legal on no target in any version. The requirements do not include them.
    illegal: Vec<Range>,
}

/// A function with a body.
#[derive(Serialize)]
struct Function {
    name: String,
    demangled: Option<String>,
    kind: &'static str,
    #[serde(flatten)]
    row: Row,
}

/// The targets and versions on which the module or a function is legal.
#[derive(Serialize)]
struct Row {
    /// The lowest PTX version on any target; `None` if it is legal nowhere.
    version: Option<String>,
    /// For each target, whether it is legal in some version.
    allowed: Vec<bool>,
    /// For each target, the lowest PTX version.
    versions: Vec<Option<String>>,
    reasons: Vec<ReasonText>,
}

/// A word or a feature in the text that restricts the targets and versions.
#[derive(Serialize)]
struct ReasonText {
    text: String,
    /// The range of its first use.
    range: Range,
    /// For the module, the ranges of all uses in the order of the text. For a function, that of the first use, so that the answer has a linear size.
    uses: Vec<Range>,
}

/// A reason for a requirement.
struct UsedReason<'n> {
    reason: &'n Reason,
    first_use: Span,
    /// The number of uses that the text states.
    uses: usize,
}

/// The requirements of a document.
pub(super) fn requirements(document: &Document) -> Matrix {
    let module = document.module();
    let requirements = ptx_verify::requires(module);
    let mut rows = RowBuilder {
        document,
        minimal: Minimal::default(),
    };
    let module_reasons = requirements.reasons().iter().map(|reason| UsedReason {
        reason,
        first_use: reason.span(),
        uses: reason.count(),
    });
    let module_row = rows.row(requirements.module(), module_reasons);
    let mut functions = Vec::new();
    for (id, availability) in requirements.functions() {
        if let Some(function) = module.functions().get(*id) {
            let name = module.name(function.name);
            let reasons = requirements
                .reasons_of(*id)
                .map(|(reason, first_use)| UsedReason {
                    reason,
                    first_use,
                    uses: 1,
                });
            functions.push(Function {
                name: name.to_owned(),
                demangled: demangle(name),
                kind: functions::kind(function.kind),
                row: rows.row(availability, reasons),
            });
        }
    }
    Matrix {
        targets: Target::ALL.iter().map(|t| t.text()).collect(),
        functions,
        module: module_row,
        illegal: requirements
            .illegal()
            .iter()
            .map(|span| document.range(*span))
            .collect(),
    }
}

/// Builds rows. The minimal requirements are cached, because many functions have the same.
struct RowBuilder<'n> {
    document: &'n Document,
    minimal: Minimal<'n>,
}

impl<'n> RowBuilder<'n> {
    fn row(
        &mut self,
        availability: &'n Availability,
        reasons: impl Iterator<Item = UsedReason<'n>>,
    ) -> Row {
        let lowest: Vec<Option<PtxVersion>> = Target::ALL
            .iter()
            .map(|target| availability.lowest(*target))
            .collect();
        let reasons = reasons
            .map(|used| {
                let first = [used.first_use];
                let uses = if used.uses > 1 {
                    used.reason.spans()
                } else {
                    &first
                };
                ReasonText {
                    text: reason(
                        used.reason.what(),
                        used.uses,
                        &self.minimal.of(used.reason.availability()),
                    ),
                    range: self.document.range(used.first_use),
                    uses: uses.iter().map(|span| self.document.range(*span)).collect(),
                }
            })
            .collect();
        Row {
            version: lowest.iter().flatten().min().map(PtxVersion::to_string),
            allowed: lowest.iter().map(Option::is_some).collect(),
            versions: lowest.iter().map(|v| v.map(|v| v.to_string())).collect(),
            reasons,
        }
    }
}
