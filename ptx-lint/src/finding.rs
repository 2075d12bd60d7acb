//! Findings of lints, and the merging of findings whose cause is the declaration of a variable of the module.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use ptx_analysis::asynchrony::Certainty;
use ptx_ir::{Binding, Diagnostic, FuncId, Item, Module, Span, StmtId};

use crate::Lint;
use crate::declarations::symbol_name;

/// A finding of a lint.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Finding {
    /// The lint that reports it.
    pub lint: Lint,
    /// Whether the finding is definite or only possible.
    pub certainty: Certainty,
    /// The function that contains the statement.
    pub function: FuncId,
    /// The statement to which the finding applies; the first one if it applies to the header of the function.
    pub stmt: StmtId,
    /// For bank conflicts, the number of passes that the access to shared memory takes.
    pub degree: Option<u32>,
    /// The name of the module variable whose declaration is the cause. [`merge_by_declaration`] replaces the findings of all functions about this
    /// variable by one finding at the declaration.
    pub(crate) declaration: Option<Box<str>>,
    /// Places that [`Finding::add_places`] adds to the repeats of the diagnostic.
    pub(crate) places: Vec<Span>,
    /// The diagnostic to show.
    pub diagnostic: Diagnostic,
}

impl Finding {
    /// Adds a help text.
    pub(crate) fn with_help(mut self, help: impl Into<String>) -> Self {
        self.diagnostic = self.diagnostic.with_help(help);
        self
    }

    /// Adds a label at another span.
    pub(crate) fn with_label(mut self, span: Span, message: impl Into<String>) -> Self {
        self.diagnostic = self.diagnostic.with_label(span, message);
        self
    }

    /// Adds an edit that fixes the problem.
    pub(crate) fn with_fix(mut self, span: Span, text: impl Into<String>) -> Self {
        self.diagnostic = self.diagnostic.with_fix(span, text);
        self
    }

    /// Adds a further place with the same cause. It becomes a part of the diagnostic when the lint ends.
    pub(crate) fn repeat(&mut self, span: Span) {
        self.places.push(span);
    }

    /// Adds the further places to the diagnostic.
    pub(crate) fn add_places(&mut self) {
        if !self.places.is_empty() {
            let repeats = core::mem::take(&mut self.diagnostic.repeats).into_vec();
            let places = core::mem::take(&mut self.places);
            self.diagnostic.repeats = repeats.into_iter().chain(places).collect();
        }
    }

    /// Adds the degree of bank conflicts.
    pub(crate) fn with_degree(mut self, degree: u32) -> Self {
        self.degree = Some(degree);
        self
    }
}

/// Moves findings to the declarations that cause them, and merges the findings of a lint about one declaration. The places in the functions become
/// repeats of the merged finding. The order of all other findings is kept.
pub(crate) fn merge_by_declaration(module: &Module, findings: Vec<Finding>) -> Vec<Finding> {
    if findings.iter().all(|finding| finding.declaration.is_none()) {
        return findings;
    }
    let spans = declaration_spans(module);
    let mut merged: Vec<Finding> = Vec::new();
    // The repeats of each merged finding.
    let mut repeats: Vec<Vec<Span>> = Vec::new();
    let mut index_of_declaration: BTreeMap<(Lint, Box<str>), usize> = BTreeMap::new();
    for mut finding in findings {
        let declaration = finding
            .declaration
            .take()
            .and_then(|name| Some((*spans.get(&name)?, name)));
        let Some((span, name)) = declaration else {
            merged.push(finding);
            repeats.push(Vec::new());
            continue;
        };
        let places: Vec<Span> = [finding.diagnostic.span]
            .into_iter()
            .chain(core::mem::take(&mut finding.diagnostic.repeats))
            .filter(|place| *place != span)
            .collect();
        let key = (finding.lint, name);
        let first = index_of_declaration.get(&key);
        if let Some(first_repeats) = first.and_then(|index| repeats.get_mut(*index)) {
            first_repeats.extend(places);
        } else {
            index_of_declaration.insert(key, merged.len());
            finding.diagnostic.span = span;
            merged.push(finding);
            repeats.push(places);
        }
    }
    for index in index_of_declaration.into_values() {
        if let (Some(finding), Some(places)) = (merged.get_mut(index), repeats.get_mut(index)) {
            places.sort_unstable_by_key(|span| span.start);
            places.dedup();
            finding.diagnostic.repeats = core::mem::take(places).into();
        }
    }
    merged
}

/// Returns the spans of the declarations of variables of a module, by the names of the variables.
fn declaration_spans(module: &Module) -> BTreeMap<Box<str>, Span> {
    let mut spans = BTreeMap::new();
    for (id, item) in module.items() {
        let Item::Decl(declaration) = item else {
            continue;
        };
        for declarator in module.declarations().declarators(declaration) {
            if let Binding::Symbol(symbol) = declarator.binding {
                let name: Box<str> = symbol_name(module, symbol).into();
                spans.entry(name).or_insert_with(|| module.span(id));
            }
        }
    }
    spans
}
