//! Incremental linting of a module that changes.
//!
//! The findings in a function depend on its text, the declarations that it references, and its inputs from other functions: the uniformity of
//! arguments, results and calls, the addresses that are passed, the functions that wait at barriers, whether it is called, whether other functions
//! access its shared memory, and for kernels the text of the functions that they call. After a change, a function is evaluated again if its text or
//! one of these inputs changed.

mod inlined;
mod moves;
mod renumber;

use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::sync::Arc;
use alloc::vec::Vec;

use ptx_analysis::calls::{CallGraph, Target};
use ptx_analysis::incremental::EvaluationLimit;
use ptx_analysis::internals::{IncrementalSummaries, IncrementalUniformity};
use ptx_analysis::module_analysis::ModuleAnalysis;
use ptx_ir::facts::{FactTables, ModuleFacts};
use ptx_ir::{Changed, EntityId as _, FuncId, Module, SymbolId};

use crate::context::{
    FunctionContext, ModuleContext, SharedResults, has_cta_barrier, reaching_functions,
};
use crate::finding::merge_by_declaration;
use crate::inline::Replacement;
use crate::linter::{lint_separately, reported};
use crate::module_properties::{
    ModuleUses, SharedVariables, is_unoptimized, stack_address_conversions,
};
use crate::{Finding, LintOptions};
use inlined::InlinedKernels;
use moves::FunctionSpans;
use renumber::Digest;

/// The cost of linting a function divided by the cost of reading its facts. The limit counts the cost of linting.
const READING_COST_DIVISOR: usize = 8;

/// Lints a module incrementally: after each change, only the affected functions are evaluated. The findings are those of
/// [`lint`](crate::lint) for the changed module.
///
/// Report a change with [`update`](Self::update) or [`parsed`](Self::parsed), then call [`advance`](Self::advance).
///
/// ```
/// use ptx_analysis::incremental::EvaluationLimit;
/// use ptx_ir::{Changed, Limits, Span};
/// use ptx_lint::{LintOptions, LintSession};
/// use ptx_parse::{Incremental, Reparsed};
///
/// let text = ".version 8.0\n.target sm_80\n.entry k() { .reg .b32 a; mov.u32 a, %tid.x; ret; }\n.entry l() { ret; }";
/// let mut source = Incremental::new(text.as_bytes().to_vec(), Limits::default());
/// let mut session = LintSession::new(LintOptions::default());
/// session.parsed(source.module());
/// session.advance(source.module(), &mut EvaluationLimit::unlimited());
/// assert_eq!(session.findings().count(), 1);
///
/// let at = text.find("mov").unwrap();
/// let Reparsed::Function(k) = source.replace(Span::at(at, at + "mov.u32 a, %tid.x;".len()), b"") else { panic!() };
/// let mut changed = Changed::default();
/// changed.functions.push(k);
/// session.update(source.module(), &changed);
/// let mut limit = EvaluationLimit::unlimited();
/// session.advance(source.module(), &mut limit);
/// assert_eq!(session.findings().count(), 0);
/// assert_eq!(limit.evaluated().collect::<Vec<_>>(), [k]);
/// ```
#[derive(Clone, Debug)]
pub struct LintSession {
    options: LintOptions,
    /// By function id.
    functions: Vec<FunctionState>,
    /// The spans of functions, to which the spans of findings are relative.
    spans: FunctionSpans,
    /// The names of symbols, by symbol id.
    symbol_names: Vec<Box<str>>,
    tables: Arc<FactTables>,
    calls: Arc<CallGraph>,
    likely: IncrementalUniformity,
    summaries: IncrementalSummaries,
    kernels: InlinedKernels,
    /// The findings at declarations of variables of the module, from the last time that all functions were linted.
    declaration_findings: Vec<Finding>,
    /// The functions whose facts have to be read.
    unread: BTreeSet<FuncId>,
    /// The inputs that functions get from each other are up to date.
    has_inputs: bool,
    /// All functions are up to date.
    is_complete: bool,
}

/// The state of a function. [`LintSession::read`] sets its properties.
#[derive(Clone, Default, Debug)]
struct FunctionState {
    /// The function had a body at the last change of ids or declarations.
    had_body: bool,
    /// The name, if calls of the name are calls of this function.
    name: Option<Box<str>>,
    /// `None` after a change of the body.
    digest: Option<Digest>,
    /// The text changed after the last time that the function was read.
    is_changed: bool,
    has_cta_barrier: bool,
    is_unoptimized: bool,
    /// The shared variables of the module that the function references.
    shared_variables: Vec<SymbolId>,
    result: Option<LintResult>,
}

/// The findings in a function by itself.
#[derive(Clone, Debug)]
struct LintResult {
    inputs: Inputs,
    findings: Vec<Finding>,
}

/// The inputs from other functions on which the findings in a function depend.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Inputs {
    /// The revisions of the inputs from [`IncrementalUniformity`] and [`IncrementalSummaries`].
    revisions: [u32; 2],
    /// The callees that may wait at a barrier for all threads of the CTA.
    waiting_callees: Vec<FuncId>,
    /// The function calls or is called.
    is_connected: bool,
    /// The module was not optimized.
    is_unoptimized: bool,
    is_uncalled: bool,
    /// For each of the shared variables that the function references: no other function accesses it.
    is_only_user: Vec<bool>,
    replacement: Replacement,
}

impl LintSession {
    /// Creates a session without a module.
    #[must_use]
    pub fn new(options: LintOptions) -> Self {
        Self {
            options,
            functions: Vec::new(),
            spans: FunctionSpans::default(),
            symbol_names: Vec::new(),
            tables: Arc::new(FactTables::empty()),
            calls: Arc::default(),
            likely: IncrementalUniformity::optimistic(),
            summaries: IncrementalSummaries::new(),
            kernels: InlinedKernels::default(),
            declaration_findings: Vec::new(),
            unread: BTreeSet::new(),
            has_inputs: false,
            is_complete: false,
        }
    }

    /// Reports that the module was edited, or that the bodies of some functions were parsed again; `changed` lists the changes.
    pub fn update(&mut self, module: &Module, changed: &Changed) {
        self.is_complete = false;
        self.move_findings(module);
        let mut stale: BTreeSet<FuncId> = changed.functions.iter().copied().collect();
        if changed.directives {
            stale.extend(module.definitions().map(|(id, ..)| id));
        }
        if changed.directives || !changed.symbols.is_empty() {
            stale.extend(users(module, changed));
            self.read_all(module);
        }
        for id in stale {
            self.unread.insert(id);
            self.change(id);
        }
    }

    /// Reports that the module was parsed again. Functions are recognized by their text and the text of the declarations that they reference.
    pub fn parsed(&mut self, module: &Module) {
        self.is_complete = false;
        self.unread.clear();
        self.renumber(module);
        self.read_all(module);
    }

    /// Schedules all functions to be read again.
    fn read_all(&mut self, module: &Module) {
        self.tables = Arc::new(FactTables::empty());
        self.calls = Arc::new(CallGraph::without_calls(module));
        self.has_inputs = false;
        let count = module.functions().len();
        self.functions.resize_with(count, FunctionState::default);
        self.symbol_names = renumber::symbol_names(module);
        for (name, id) in renumber::functions_by_name(module, &self.calls) {
            if let Some(function) = self.functions.get_mut(id.index()) {
                function.name = Some(name.into());
            }
        }
        for (id, ..) in module.definitions() {
            self.unread.insert(id);
            if let Some(function) = self.functions.get_mut(id.index()) {
                let had_body = core::mem::replace(&mut function.had_body, true);
                function.is_changed |= !had_body;
            }
        }
    }

    /// Records that the text of a function changed.
    fn change(&mut self, id: FuncId) {
        if let Some(function) = self.functions.get_mut(id.index()) {
            function.digest = None;
            function.is_changed = true;
            function.result = None;
        }
        self.kernels.change(id);
    }

    /// Evaluates functions of the module until `limit` is reached. Returns whether all functions are up to date; if not, call it again.
    /// The module must be that of the last [`update`](Self::update) or [`parsed`](Self::parsed).
    pub fn advance(&mut self, module: &Module, limit: &mut EvaluationLimit) -> bool {
        if !self.is_complete && self.evaluate(module, limit) {
            self.is_complete = true;
            let findings = self
                .function_ids()
                .flat_map(|id| self.of_function(id))
                .filter(|finding| finding.declaration.is_some())
                .cloned()
                .collect();
            self.declaration_findings = merge_by_declaration(module, findings);
        }
        self.is_complete
    }

    /// Brings all functions up to date. Returns `false` if the limit is reached before.
    fn evaluate(&mut self, module: &Module, limit: &mut EvaluationLimit) -> bool {
        if !self.read(module, limit) {
            return false;
        }
        let Ok(facts) = ModuleFacts::with_tables(module, Arc::clone(&self.tables)) else {
            // An edit changed neither a function nor a symbol.
            self.read_all(module);
            return false;
        };
        let analyses = ModuleAnalysis::with_call_graph(&facts, Arc::clone(&self.calls));
        if !self.update_inputs(&analyses, limit) {
            return false;
        }
        self.kernels
            .update(&facts, analyses.calls(), &self.options, limit)
            && self.lint(analyses, limit)
    }

    /// Reads the facts of the functions that changed. Returns `false` if the limit is reached before.
    fn read(&mut self, module: &Module, limit: &mut EvaluationLimit) -> bool {
        if self.unread.is_empty() {
            return true;
        }
        self.has_inputs = false;
        let mut read = Vec::new();
        while !limit.is_reached()
            && let Some(id) = self.unread.pop_first()
        {
            let statements = module
                .body(id)
                .map_or(0, |body| body.statement_table().len());
            limit.spend(statements / READING_COST_DIVISOR + 1);
            read.push(id);
        }
        Arc::make_mut(&mut self.tables).update(module, &read);
        let Ok(facts) = ModuleFacts::with_tables(module, Arc::clone(&self.tables)) else {
            return false;
        };
        self.summaries.enter(&[]);
        Arc::make_mut(&mut self.calls).update(&facts, &read);
        let needs = self.options.needs();
        let conversions = stack_address_conversions(module);
        let variables = SharedVariables::new(module);
        let mut changed = Vec::new();
        for id in read {
            let (Some(function), Some(state)) =
                (facts.function(id), self.functions.get_mut(id.index()))
            else {
                continue;
            };
            state.has_cta_barrier = needs.divergence && has_cta_barrier(function);
            state.is_unoptimized = needs.optimization && is_unoptimized(function, &conversions);
            state.shared_variables = if needs.uses {
                variables.referenced_by(function)
            } else {
                Vec::new()
            };
            if core::mem::take(&mut state.is_changed) {
                changed.push(id);
            }
        }
        if needs.divergence {
            let analyses = ModuleAnalysis::with_call_graph(&facts, Arc::clone(&self.calls));
            self.likely.enter(&analyses, &changed);
        }
        self.summaries.enter(&changed);
        self.unread.is_empty()
    }

    /// Computes the inputs that functions get from each other. Returns `false` if the limit is reached before.
    fn update_inputs(
        &mut self,
        analyses: &ModuleAnalysis<'_>,
        limit: &mut EvaluationLimit,
    ) -> bool {
        if !self.has_inputs {
            self.has_inputs = (!self.options.needs().divergence
                || self.likely.update(analyses, limit))
                && self.summaries.update(analyses, limit);
        }
        self.has_inputs
    }

    /// Lints the functions whose inputs changed since they were linted. Returns `false` if the limit is reached before.
    fn lint(&mut self, analyses: ModuleAnalysis<'_>, limit: &mut EvaluationLimit) -> bool {
        let module = analyses.module();
        let shared = self.shared_results(module);
        let context = ModuleContext::with_shared_results(analyses, shared.clone());
        for (id, _, body) in module.definitions() {
            let inputs = self.inputs(module, id, &shared);
            let result = self.result(id);
            if result.is_some_and(|result| result.inputs == inputs) {
                continue;
            }
            if limit.is_reached() {
                return false;
            }
            limit.evaluate(id, body.statement_table().len());
            let Some(analysis) = context.analyses().function(id) else {
                continue;
            };
            let likely = if self.options.needs().divergence {
                self.likely.take(&analysis, context.calls())
            } else {
                None
            };
            let context = FunctionContext::new(&context, &analysis, likely.as_ref());
            let mut findings = lint_separately(&context, self.kernels.findings(), &self.options);
            findings.shrink_to_fit();
            if let Some(function) = self.functions.get_mut(id.index()) {
                function.result = Some(LintResult { inputs, findings });
            }
        }
        self.likely.shrink();
        true
    }

    /// Combines the properties of all functions.
    fn shared_results(&self, module: &Module) -> SharedResults {
        let states: Vec<(FuncId, &FunctionState)> = module
            .definitions()
            .filter_map(|(id, ..)| Some((id, self.functions.get(id.index())?)))
            .collect();
        let waiting = states
            .iter()
            .filter(|(_, state)| state.has_cta_barrier)
            .map(|(id, _)| *id);
        let uses = if self.options.needs().uses {
            let references = states
                .iter()
                .map(|(id, state)| (*id, state.shared_variables.clone()));
            ModuleUses::new(module, SharedVariables::new(module), references)
        } else {
            ModuleUses::default()
        };
        SharedResults {
            waits_at_barrier: reaching_functions(&self.calls, waiting),
            summaries: self.summaries.summaries().cloned().unwrap_or_default(),
            uses: Arc::new(uses),
            is_unoptimized: states.iter().any(|(_, state)| state.is_unoptimized),
        }
    }

    /// Returns the current inputs of a function.
    fn inputs(&self, module: &Module, id: FuncId, shared: &SharedResults) -> Inputs {
        let targets = self.calls.targets(id);
        let variables = self
            .functions
            .get(id.index())
            .map_or(&[][..], |state| &state.shared_variables);
        Inputs {
            revisions: [self.likely.revision(id), self.summaries.revision(id)],
            is_connected: !targets.is_empty() || self.calls.is_called(id),
            waiting_callees: targets
                .into_iter()
                .filter_map(|target| match target {
                    Target::Function(callee) => Some(callee),
                    _ => None,
                })
                .filter(|callee| shared.waits_at_barrier.get(callee.index()) == Some(&true))
                .collect(),
            is_unoptimized: shared.is_unoptimized,
            is_uncalled: shared.uses.is_uncalled(module, &self.calls, id),
            is_only_user: variables
                .iter()
                .map(|variable| shared.uses.is_only_user(module, id, *variable))
                .collect(),
            replacement: self.kernels.findings().replacement(id),
        }
    }

    fn result(&self, id: FuncId) -> Option<&LintResult> {
        self.functions.get(id.index())?.result.as_ref()
    }

    fn function_ids(&self) -> impl Iterator<Item = FuncId> + use<> {
        (0..self.functions.len() as u32).map(FuncId::new)
    }

    /// Whether the findings of all functions are up to date.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// The findings in a function, by itself and in the kernels into which it is inlined; empty until it is linted.
    pub fn of_function(&self, id: FuncId) -> impl Iterator<Item = &Finding> {
        let (separate, inlined) = match self.result(id) {
            Some(result) => (&*result.findings, self.kernels.findings().in_function(id)),
            None => (&[][..], &[][..]),
        };
        reported(separate, inlined, &self.options)
    }

    /// The findings in all functions, in the order of the functions, then those at declarations of the module.
    pub fn findings(&self) -> impl Iterator<Item = &Finding> {
        self.function_ids()
            .flat_map(|id| self.of_function(id))
            .filter(|finding| finding.declaration.is_none())
            .chain(&self.declaration_findings)
    }
}

/// Returns the functions that reference symbols whose declarations changed, and the functions whose own declarations changed.
fn users(module: &Module, changed: &Changed) -> Vec<FuncId> {
    let is_changed = |symbol: SymbolId| changed.symbols.contains(&symbol);
    module
        .definitions()
        .filter(|(_, function, body)| {
            function.symbol.is_some_and(is_changed)
                || body
                    .statements()
                    .flat_map(|(_, statement)| body.walk(statement))
                    .any(|operand| operand.symbol().is_some_and(is_changed))
        })
        .map(|(id, ..)| id)
        .collect()
}
