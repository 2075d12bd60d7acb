//! Lints modules and functions.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use ptx_analysis::function_analysis::{FunctionAnalysis, map_functions};
use ptx_ir::facts::{ModuleFacts, StaleFacts};
use ptx_ir::{Body, FuncId, Item, Module, StmtId};

use crate::context::{FunctionContext, LikelyDivergence, ModuleContext};
use crate::declared::at_declarations;
use crate::inline::Contexts;
use crate::{Finding, LintOptions};

/// Lints all functions of a module. The findings are in source order.
#[must_use]
pub fn lint(facts: &ModuleFacts<'_>, options: &LintOptions) -> Vec<Finding> {
    let linter = Linter::new(facts, options);
    let found = map_functions(facts, |id, _| linter.function(id));
    let found = found.into_iter().flatten().collect();
    let mut found = at_declarations(facts.module(), found);
    sort_by_position(facts.module(), &mut found);
    found
}

/// Sorts findings in the order of the text. The spans of an edited module are not in this order, and those of a built module are empty: their
/// findings are sorted by the order of the items and statements.
fn sort_by_position(module: &Module, found: &mut [Finding]) {
    if module.has_current_source() {
        found.sort_by_key(|f| f.diagnostic.span.start);
        return;
    }
    let mut statements: BTreeMap<(FuncId, StmtId), u32> =
        found.iter().map(|f| ((f.function, f.stmt), 0)).collect();
    let mut position = 0;
    for (_, item) in module.items() {
        let Item::Function(id) = item else { continue };
        let body = module.body(id).into_iter();
        for (stmt, _) in body.flat_map(Body::statements) {
            position += 1;
            if let Some(known) = statements.get_mut(&(id, stmt)) {
                *known = position;
            }
        }
    }
    found.sort_by_key(|f| statements.get(&(f.function, f.stmt)).copied());
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
    likely: Option<LikelyDivergence>,
    contexts: Contexts,
    options: &'m LintOptions,
}

impl<'m> Linter<'m> {
    /// Computes the analyses that all functions share.
    #[must_use]
    pub fn new(facts: &'m ModuleFacts<'m>, options: &'m LintOptions) -> Self {
        let module = ModuleContext::new(facts, options);
        Self {
            contexts: Contexts::new(facts, module.calls(), options),
            likely: LikelyDivergence::new(module.analyses(), options),
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

    fn examine(&self, function: &FunctionAnalysis<'_>) -> Vec<Finding> {
        let id = function.id();
        let likely = self.likely.as_ref();
        let likely = likely.map(|all| all.function(function, self.module.calls()));
        let context = FunctionContext::new(&self.module, function, likely.as_deref());
        let own = examine(&context, &self.contexts, self.options);
        let all = merged(&own, self.contexts.found(id), self.options);
        let mut all: Vec<Finding> = all.cloned().collect();
        let (module, body) = (function.module(), function.body());
        if module.has_current_source() {
            all.sort_by_key(|f| f.diagnostic.span.start);
        } else {
            let positions = body.statements().map(|(stmt, _)| stmt).zip(0..);
            let positions: BTreeMap<StmtId, u32> = positions.collect();
            all.sort_by_key(|f| positions.get(&f.stmt).copied());
        }
        all
    }
}

/// The findings in a function by itself.
pub(crate) fn examine(
    context: &FunctionContext<'_>,
    contexts: &Contexts,
    options: &LintOptions,
) -> Vec<Finding> {
    let mut found = Vec::new();
    for lint in &options.lints {
        if !contexts.replaces(context.id(), *lint) {
            lint.check(context, &mut found);
        }
    }
    let mut found = by_cause(found);
    if !context.module().has_current_source() {
        // A fix edits the source, which is not the text of the module.
        for finding in &mut found {
            finding.diagnostic.fix = Box::default();
        }
    }
    found
}

/// One finding for each cause: where a lint says the same about several statements, and the same labels explain it, the later ones are repeats of the
/// first.
fn by_cause(found: Vec<Finding>) -> Vec<Finding> {
    let mut known: BTreeMap<_, usize> = BTreeMap::new();
    let mut all: Vec<Finding> = Vec::new();
    for finding in found {
        let of = &finding.diagnostic;
        let is_alone = of.labels.is_empty() || !of.fix.is_empty() || finding.declaration.is_some();
        if !is_alone {
            let labels = of.labels.iter().map(|l| (l.span.start, l.span.end));
            let labels: Vec<(u32, u32)> = labels.collect();
            let key = (finding.lint, finding.certainty, of.message.clone(), labels);
            let first = *known.entry(key).or_insert(all.len());
            if let Some(first) = all.get_mut(first) {
                first.repeat(of.span);
                for span in &of.repeats {
                    first.repeat(*span);
                }
                continue;
            }
        }
        all.push(finding);
    }
    all.iter_mut().for_each(Finding::add_places);
    all
}

/// The findings in a function by itself, and further ones in the kernels into which it is inlined.
pub(crate) fn merged<'f>(
    own: &'f [Finding],
    others: &'f [Finding],
    options: &LintOptions,
) -> impl Iterator<Item = &'f Finding> + use<'f> {
    let key = |f: &Finding| (f.lint, f.stmt);
    let (mut known, mut repeated) = (BTreeSet::new(), BTreeSet::new());
    if !others.is_empty() {
        known.extend(own.iter().map(key));
        // The spans of what was inserted or built are empty and the same.
        for finding in own {
            let places = finding.diagnostic.repeats.iter();
            let places = places.filter(|span| !span.is_empty());
            repeated.extend(places.map(|span| (finding.lint, span.start)));
        }
    }
    let is_new = move |f: &&Finding| {
        let span = f.diagnostic.span;
        let is_repeated = !span.is_empty() && repeated.contains(&(f.lint, span.start));
        !known.contains(&key(f)) && !is_repeated
    };
    let others = others.iter().filter(is_new);
    let certainty = options.certainty;
    let all = own.iter().chain(others);
    all.filter(move |f| f.certainty >= certainty)
}
