//! `ptxkit/requirements`: the targets and PTX versions on which each function and the module are legal, and why.

use lsp_types::Range;
use ptx_ir::Span;
use ptx_isa::{PtxVersion, Target};
use ptx_report::demangle::demangle;
use ptx_report::requirements::{Minimal, reason};
use ptx_verify::{Availability, Reason};
use serde::Serialize;

use super::functions;
use crate::document::Document;

/// A column for each target, a row for each function.
#[derive(Serialize)]
pub(super) struct Matrix {
    /// The names of all targets.
    targets: Vec<&'static str>,
    functions: Vec<Function>,
    module: Row,
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

/// Where something is legal.
#[derive(Serialize)]
struct Row {
    /// The lowest PTX version on any target; `None` if it is legal nowhere.
    version: Option<String>,
    /// Whether it is legal on each target.
    allowed: Vec<bool>,
    /// The lowest PTX version on each target.
    versions: Vec<Option<String>>,
    reasons: Vec<Because>,
}

/// What restricts where something is legal.
#[derive(Serialize)]
struct Because {
    text: String,
    /// Its first use.
    range: Range,
}

/// The requirements of a document.
pub(super) fn requirements(document: &Document) -> Matrix {
    let module = document.module();
    let needs = ptx_verify::requires(module);
    let mut rows = Rows {
        document,
        minimal: Minimal::default(),
    };
    let reasons = needs.reasons().iter();
    let whole = reasons.map(|r| (r, r.span(), r.count()));
    let whole = rows.row(needs.module(), whole);
    let functions = needs.functions().iter();
    let functions = functions.filter_map(|(id, availability)| {
        let function = module.functions().get(*id)?;
        let name = module.name(function.name);
        let reasons = needs.reasons_of(*id);
        Some(Function {
            name: name.to_owned(),
            demangled: demangle(name),
            kind: functions::kind(function.kind),
            row: rows.row(availability, reasons.map(|(r, span)| (r, span, 1))),
        })
    });
    Matrix {
        functions: functions.collect(),
        targets: Target::ALL.iter().map(|t| t.text()).collect(),
        module: whole,
    }
}

/// Makes rows; many functions have the same requirements.
struct Rows<'n> {
    document: &'n Document,
    minimal: Minimal<'n>,
}

impl<'n> Rows<'n> {
    /// Each reason with its first use and how often the text says that it is used.
    fn row(
        &mut self,
        availability: &'n Availability,
        reasons: impl Iterator<Item = (&'n Reason, Span, usize)>,
    ) -> Row {
        let targets = Target::ALL.iter();
        let lowest: Vec<Option<PtxVersion>> = targets.map(|t| availability.lowest(*t)).collect();
        let reasons = reasons.map(|(r, span, count)| Because {
            text: reason(r.what(), count, &self.minimal.of(r.availability())),
            range: self.document.range(span),
        });
        Row {
            reasons: reasons.collect(),
            version: lowest.iter().flatten().min().map(PtxVersion::to_string),
            allowed: lowest.iter().map(Option::is_some).collect(),
            versions: lowest.iter().map(|v| v.map(|v| v.to_string())).collect(),
        }
    }
}
