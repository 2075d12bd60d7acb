//! Lints modules and functions, with the options that select the reported findings.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use ptx_analysis::asynchrony::Certainty;
use ptx_analysis::function_analysis::{FunctionAnalysis, map_functions};
use ptx_ir::facts::{ModuleFacts, StaleFacts};
use ptx_ir::{Body, FuncId, Item, Module, StmtId};

use crate::context::{FunctionContext, LikelyDivergence, ModuleContext, Needs};
use crate::finding::merge_by_declaration;
use crate::inline::InlinedFindings;
use crate::lints::Need;
use crate::{Finding, Lint};

/// Options that select the reported findings.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct LintOptions {
    /// The lints to run: all of them by default.
    pub lints: Vec<Lint>,
    /// The minimum certainty of reported findings.
    pub certainty: Certainty,
}

impl Default for LintOptions {
    fn default() -> Self {
        Self {
            lints: Lint::ALL.to_vec(),
            certainty: Certainty::Possible,
        }
    }
}

impl LintOptions {
    /// Sets the lints to run.
    #[must_use]
    pub fn with_lints(mut self, lints: impl Into<Vec<Lint>>) -> Self {
        self.lints = lints.into();
        self
    }

    /// Sets the minimum certainty of reported findings.
    #[must_use]
    pub const fn with_certainty(mut self, certainty: Certainty) -> Self {
        self.certainty = certainty;
        self
    }

    /// Returns the information that the enabled lints need.
    pub(crate) fn needs(&self) -> Needs {
        let is_needed = |need| self.lints.iter().any(|lint| lint.needs(need));
        Needs {
            divergence: is_needed(Need::Divergence),
            uses: is_needed(Need::Uses),
            optimization: is_needed(Need::Optimization),
        }
    }
}

/// Lints all functions of a module. The findings are in source order.
#[must_use]
pub fn lint(facts: &ModuleFacts<'_>, options: &LintOptions) -> Vec<Finding> {
    let linter = Linter::new(facts, options);
    let findings = map_functions(facts, |id, _| linter.function(id))
        .into_iter()
        .flatten()
        .collect();
    let mut findings = merge_by_declaration(facts.module(), findings);
    sort_by_position(facts.module(), &mut findings);
    findings
}

/// Sorts findings in the order of the text. The spans of an edited module are not in this order, and those of a built module are empty: their
/// findings are sorted by the order of the items and statements.
fn sort_by_position(module: &Module, findings: &mut [Finding]) {
    if module.has_current_source() {
        findings.sort_by_key(|finding| finding.diagnostic.span.start);
        return;
    }
    let mut positions: BTreeMap<(FuncId, StmtId), u32> = findings
        .iter()
        .map(|finding| ((finding.function, finding.stmt), 0))
        .collect();
    let mut next_position = 0;
    for (_, item) in module.items() {
        let Item::Function(id) = item else { continue };
        for (stmt, _) in module.body(id).into_iter().flat_map(Body::statements) {
            next_position += 1;
            if let Some(position) = positions.get_mut(&(id, stmt)) {
                *position = next_position;
            }
        }
    }
    findings.sort_by_key(|finding| positions.get(&(finding.function, finding.stmt)).copied());
}

/// Lints the functions of a module one at a time.
///
/// ```
/// use ptx_ir::facts::ModuleFacts;
/// use ptx_lint::{Linter, LintOptions};
///
/// let text = b".version 8.0\n.target sm_80\n.address_size 64\n.entry k() { .reg .b32 a; mov.u32 a, %tid.x; ret; }\n.entry l() { ret; }";
/// let module = ptx_parse::parse(text).module;
/// let facts = ModuleFacts::new(&module);
/// let options = LintOptions::default();
/// let linter = Linter::new(&facts, &options);
/// let count = |name| linter.function(module.function(name).unwrap()).len();
/// assert_eq!((count("k"), count("l")), (1, 0));
/// ```
#[derive(Debug)]
pub struct Linter<'m> {
    module: ModuleContext<'m>,
    /// `None` if no enabled lint needs it.
    likely_divergence: Option<LikelyDivergence>,
    inlined: InlinedFindings,
    options: &'m LintOptions,
}

impl<'m> Linter<'m> {
    /// Computes the analyses that all functions share.
    #[must_use]
    pub fn new(facts: &'m ModuleFacts<'m>, options: &'m LintOptions) -> Self {
        let module = ModuleContext::new(facts, options.needs());
        Self {
            inlined: InlinedFindings::new(facts, module.calls(), options),
            likely_divergence: LikelyDivergence::new(module.analyses(), options.needs()),
            module,
            options,
        }
    }

    /// Lints a function. The findings are in the order of its statements.
    #[must_use]
    pub fn function(&self, id: FuncId) -> Vec<Finding> {
        let function = self.module.analyses().function(id);
        function.map_or(Vec::new(), |function| self.examine(&function))
    }

    /// Lints a function whose analyses exist: they are used, and those that are missing are added to them.
    ///
    /// # Errors
    ///
    /// The analyses belong to another revision of the module.
    pub fn function_with(
        &self,
        function: &FunctionAnalysis<'_>,
    ) -> Result<Vec<Finding>, StaleFacts> {
        let Some(facts) = self.module.analyses().facts().function(function.id()) else {
            return Ok(Vec::new());
        };
        function.stamp().check(facts)?;
        Ok(self.examine(function))
    }

    /// Lints a function by itself and adds the findings in the kernels into which it is inlined.
    fn examine(&self, function: &FunctionAnalysis<'_>) -> Vec<Finding> {
        let id = function.id();
        let likely_uniformity = self
            .likely_divergence
            .as_ref()
            .map(|divergence| divergence.function(function, self.module.calls()));
        let context = FunctionContext::new(&self.module, function, likely_uniformity.as_deref());
        let separate = lint_separately(&context, &self.inlined, self.options);
        let mut findings: Vec<Finding> =
            reported(&separate, self.inlined.in_function(id), self.options)
                .cloned()
                .collect();
        if function.module().has_current_source() {
            findings.sort_by_key(|finding| finding.diagnostic.span.start);
        } else {
            let positions: BTreeMap<StmtId, u32> = function
                .body()
                .statements()
                .map(|(stmt, _)| stmt)
                .zip(0..)
                .collect();
            findings.sort_by_key(|finding| positions.get(&finding.stmt).copied());
        }
        findings
    }
}

/// Returns the findings in a function that is linted without its callers. Lints that examine the function as a part of kernels are left out.
pub(crate) fn lint_separately(
    context: &FunctionContext<'_>,
    inlined: &InlinedFindings,
    options: &LintOptions,
) -> Vec<Finding> {
    // What is missing may read what seems unused, and change what seems known.
    let body = context.facts().body();
    if body.is_in_source() && !body.is_closed() {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for lint in &options.lints {
        if !inlined.replaces(context.id(), *lint) {
            lint.check(context, &mut findings);
        }
    }
    let mut findings = merge_by_cause(findings);
    if !context.module().has_current_source() {
        // A fix edits the source, which is not the text of the module.
        for finding in &mut findings {
            finding.diagnostic.fix = Box::default();
        }
    }
    findings
}

/// Merges findings with the same cause: where a lint reports several statements with the same message and labels, the later ones become repeats of
/// the first.
fn merge_by_cause(findings: Vec<Finding>) -> Vec<Finding> {
    let mut index_of_cause: BTreeMap<_, usize> = BTreeMap::new();
    let mut merged: Vec<Finding> = Vec::new();
    for finding in findings {
        let diagnostic = &finding.diagnostic;
        let is_unique = diagnostic.labels.is_empty()
            || !diagnostic.fix.is_empty()
            || finding.declaration.is_some();
        if !is_unique {
            let labels: Vec<(u32, u32)> = diagnostic
                .labels
                .iter()
                .map(|label| (label.span.start, label.span.end))
                .collect();
            let message = diagnostic.message.clone();
            let cause = (finding.lint, finding.certainty, message, labels);
            let index = *index_of_cause.entry(cause).or_insert(merged.len());
            if let Some(first) = merged.get_mut(index) {
                first.repeat(diagnostic.span);
                for span in &diagnostic.repeats {
                    first.repeat(*span);
                }
                continue;
            }
        }
        merged.push(finding);
    }
    merged.iter_mut().for_each(Finding::add_places);
    merged
}

/// Returns the findings with a sufficient certainty: those in the function by itself (`separate`), and those in kernels into which it is inlined
/// (`inlined`) unless the same lint reports the same statement in `separate`.
pub(crate) fn reported<'f>(
    separate: &'f [Finding],
    inlined: &'f [Finding],
    options: &LintOptions,
) -> impl Iterator<Item = &'f Finding> + use<'f> {
    let mut statements = BTreeSet::new();
    let mut repeats = BTreeSet::new();
    if !inlined.is_empty() {
        for finding in separate {
            statements.insert((finding.lint, finding.stmt));
            // The spans of inserted and built statements are empty and equal.
            let places = finding.diagnostic.repeats.iter();
            repeats.extend(
                places
                    .filter(|span| !span.is_empty())
                    .map(|span| (finding.lint, span.start)),
            );
        }
    }
    let additional = inlined.iter().filter(move |finding| {
        let span = finding.diagnostic.span;
        let is_repeat = !span.is_empty() && repeats.contains(&(finding.lint, span.start));
        !statements.contains(&(finding.lint, finding.stmt)) && !is_repeat
    });
    let least_certainty = options.certainty;
    separate
        .iter()
        .chain(additional)
        .filter(move |finding| finding.certainty >= least_certainty)
}
