//! Incremental linting of a module that changes.
//!
//! The findings in a function depend on its text, the declarations that it references, and its inputs from other functions: the uniformity of
//! arguments, results and calls, the addresses that are passed, the functions that wait at barriers, whether it is called, whether other functions
//! access its shared memory, and for kernels the text of the functions that they call. After a change, a function is evaluated again if its text or
//! one of these inputs changed.

mod digest;
mod inlined;
mod places;
mod renumber;

use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::sync::Arc;
use alloc::vec::Vec;

use ptx_analysis::calls::{CallGraph, Target};
use ptx_analysis::incremental::Budget;
use ptx_analysis::module_analysis::ModuleAnalysis;
use ptx_analysis::provenance::IncrementalSummaries;
use ptx_analysis::uniformity::IncrementalUniformity;
use ptx_ir::facts::{FactTables, ModuleFacts};
use ptx_ir::{Changed, EntityId as _, FuncId, Module, Operand, SymbolId};

use crate::context::{FunctionContext, Known, ModuleContext, waiting, waits};
use crate::declared::at_declarations;
use crate::linter::{examine, merged};
use crate::lints::Need;
use crate::module_uses::{ModuleUses, SharedVariables};
use crate::optimized::{is_unoptimized, stack_addresses};
use crate::{Finding, LintOptions};
use digest::Digest;
use inlined::InlinedKernels;
use places::Places;

/// Reading a function takes a part of the time of linting it.
const READING: usize = 8;

/// Lints a module incrementally: after each change, only the affected functions are evaluated. The findings are those of
/// [`lint`](crate::lint) for the changed module.
///
/// Report a change with [`update`](Self::update) or [`parsed`](Self::parsed), then call [`advance`](Self::advance).
///
/// ```
/// use ptx_analysis::incremental::Budget;
/// use ptx_ir::{Changed, Limits, Span};
/// use ptx_lint::{LintOptions, LintSession};
/// use ptx_parse::{Incremental, Reparsed};
///
/// let text = ".version 8.0\n.target sm_80\n.entry k() { .reg .b32 a; mov.u32 a, %tid.x; ret; }\n.entry l() { ret; }";
/// let mut source = Incremental::new(text.as_bytes().to_vec(), Limits::default());
/// let mut session = LintSession::new(LintOptions::default());
/// session.parsed(source.module());
/// session.advance(source.module(), &mut Budget::unlimited());
/// assert_eq!(session.findings().count(), 1);
///
/// let at = text.find("mov").unwrap();
/// let Reparsed::Function(k) = source.replace(Span::at(at, at + "mov.u32 a, %tid.x;".len()), b"") else { panic!() };
/// let mut changed = Changed::default();
/// changed.functions.push(k);
/// session.update(source.module(), &changed);
/// let mut budget = Budget::unlimited();
/// session.advance(source.module(), &mut budget);
/// assert_eq!(session.findings().count(), 0);
/// assert_eq!(budget.evaluated().collect::<Vec<_>>(), [k]);
/// ```
#[derive(Clone, Debug)]
pub struct LintSession {
    options: LintOptions,
    functions: Vec<Function>,
    places: Places,
    /// The names of symbols.
    symbols: Vec<Box<str>>,
    tables: Arc<FactTables>,
    calls: Arc<CallGraph>,
    likely: IncrementalUniformity,
    summaries: IncrementalSummaries,
    kernels: InlinedKernels,
    /// What was found at declarations when all functions were linted for the last time.
    declared: Vec<Finding>,
    /// The functions of which the facts are not known.
    unread: BTreeSet<FuncId>,
    /// Whether it is known what functions give to each other.
    is_settled: bool,
    is_complete: bool,
}

/// The state of a function.
#[derive(Clone, Default, Debug)]
struct Function {
    /// Whether there was a body at the last change of ids or declarations.
    is_known: bool,
    /// The name, if calls of the name are calls of this function.
    name: Option<Box<str>>,
    /// Until its body changes.
    digest: Option<Digest>,
    /// Its text is another one than when it was read.
    is_changed: bool,
    waits: bool,
    is_unoptimized: bool,
    /// The variables of the module in shared memory that it mentions.
    shared: Vec<SymbolId>,
    linted: Option<Linted>,
}

/// The findings in a function by itself.
#[derive(Clone, Debug)]
struct Linted {
    inputs: Inputs,
    found: Vec<Finding>,
}

/// The inputs from other functions on which the findings in a function depend.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Inputs {
    /// Numbers of [`IncrementalUniformity`] and [`IncrementalSummaries`].
    revisions: [u32; 2],
    /// Which of the functions wait at barriers that it calls.
    waiting: Vec<FuncId>,
    is_connected: bool,
    is_unoptimized: bool,
    /// Whether nothing calls it, and for each variable in shared memory, whether nothing else accesses it.
    is_uncalled: bool,
    own_shared: Vec<bool>,
    /// Whether it is linted as a part of kernels, and whether it is such a kernel.
    is_replaced: (bool, bool),
}

impl LintSession {
    /// Creates a session without a module.
    #[must_use]
    pub fn new(options: LintOptions) -> Self {
        Self {
            options,
            functions: Vec::new(),
            places: Places::default(),
            symbols: Vec::new(),
            tables: Arc::new(FactTables::empty()),
            calls: Arc::default(),
            likely: IncrementalUniformity::optimistic(),
            summaries: IncrementalSummaries::new(),
            kernels: InlinedKernels::default(),
            declared: Vec::new(),
            unread: BTreeSet::new(),
            is_settled: false,
            is_complete: false,
        }
    }

    /// Reports that the module was edited, or that the bodies of some functions were parsed again; `changed` lists the changes.
    pub fn update(&mut self, module: &Module, changed: &Changed) {
        self.is_complete = false;
        self.move_places(module);
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

    /// Reads all facts again, so that new functions are linted.
    fn read_all(&mut self, module: &Module) {
        self.tables = Arc::new(FactTables::empty());
        self.calls = Arc::new(CallGraph::without_calls(module));
        self.is_settled = false;
        let count = module.functions().len();
        self.functions.resize_with(count, Function::default);
        self.symbols = renumber::symbol_names(module);
        for (name, id) in renumber::by_name(module, &self.calls) {
            if let Some(of) = self.functions.get_mut(id.index()) {
                of.name = Some(name.into());
            }
        }
        for (id, ..) in module.definitions() {
            self.unread.insert(id);
            if let Some(of) = self.functions.get_mut(id.index()) {
                of.is_changed |= !core::mem::replace(&mut of.is_known, true);
            }
        }
    }

    /// Records that the text of a function changed.
    fn change(&mut self, id: FuncId) {
        if let Some(of) = self.functions.get_mut(id.index()) {
            of.digest = None;
            of.is_changed = true;
            of.linted = None;
        }
        self.kernels.change(id);
    }

    /// Evaluates functions of the module until `budget` is spent. Returns whether all functions are up to date; if not, call it again.
    /// The module must be that of the last [`update`](Self::update) or [`parsed`](Self::parsed).
    pub fn advance(&mut self, module: &Module, budget: &mut Budget) -> bool {
        if !self.is_complete && self.evaluate(module, budget) {
            self.is_complete = true;
            let ids = (0..self.functions.len() as u32).map(FuncId::new);
            let all = ids.flat_map(|id| self.of_function(id));
            let of_declarations = all.filter(|f| f.declaration.is_some()).cloned();
            self.declared = at_declarations(module, of_declarations.collect());
        }
        self.is_complete
    }

    fn evaluate(&mut self, module: &Module, budget: &mut Budget) -> bool {
        if !self.read(module, budget) {
            return false;
        }
        let Ok(facts) = ModuleFacts::with_tables(module, Arc::clone(&self.tables)) else {
            // An edit changed neither a function nor a symbol.
            self.read_all(module);
            return false;
        };
        let analyses = ModuleAnalysis::with_call_graph(&facts, Arc::clone(&self.calls));
        if !self.settle(&analyses, budget) {
            return false;
        }
        let calls = analyses.calls();
        let is_done = self.kernels.update(&facts, calls, &self.options, budget);
        is_done && self.lint(analyses, budget)
    }

    /// Reads the functions that changed.
    fn read(&mut self, module: &Module, budget: &mut Budget) -> bool {
        if self.unread.is_empty() {
            return true;
        }
        self.is_settled = false;
        let mut read = Vec::new();
        while !budget.is_spent()
            && let Some(id) = self.unread.pop_first()
        {
            let body = module.body(id);
            budget.spend(body.map_or(0, |b| b.statement_table().len()) / READING + 1);
            read.push(id);
        }
        Arc::make_mut(&mut self.tables).update(module, &read);
        let Ok(facts) = ModuleFacts::with_tables(module, Arc::clone(&self.tables)) else {
            return false;
        };
        self.summaries.enter(&[]);
        Arc::make_mut(&mut self.calls).update(&facts, &read);
        let stack_addresses = stack_addresses(module);
        let shared = SharedVariables::new(module);
        let mut changed = Vec::new();
        for id in read {
            let (Some(of), Some(function)) =
                (facts.function(id), self.functions.get_mut(id.index()))
            else {
                continue;
            };
            function.waits = self.options.need(Need::Divergence) && waits(of);
            function.is_unoptimized =
                self.options.need(Need::Optimization) && is_unoptimized(of, &stack_addresses);
            function.shared = match self.options.need(Need::Uses) {
                true => shared.mentions(of),
                false => Vec::new(),
            };
            if core::mem::take(&mut function.is_changed) {
                changed.push(id);
            }
        }
        if self.options.need(Need::Divergence) {
            let analyses = ModuleAnalysis::with_call_graph(&facts, Arc::clone(&self.calls));
            self.likely.enter(&analyses, &changed);
        }
        self.summaries.enter(&changed);
        self.unread.is_empty()
    }

    /// Computes the inputs that functions get from each other.
    fn settle(&mut self, analyses: &ModuleAnalysis<'_>, budget: &mut Budget) -> bool {
        if self.is_settled {
            return true;
        }
        self.is_settled = (!self.options.need(Need::Divergence)
            || self.likely.update(analyses, budget))
            && self.summaries.update(analyses, budget);
        self.is_settled
    }

    /// Lints the functions whose inputs changed since they were linted.
    fn lint(&mut self, analyses: ModuleAnalysis<'_>, budget: &mut Budget) -> bool {
        let module = analyses.module();
        let known = self.known(module);
        let context = ModuleContext::with(analyses, known.clone());
        for (id, _, body) in module.definitions() {
            let inputs = self.inputs(module, id, &known);
            let function = self.functions.get(id.index());
            let linted = function.and_then(|f| f.linted.as_ref());
            if linted.is_some_and(|l| l.inputs == inputs) {
                continue;
            }
            if budget.is_spent() {
                return false;
            }
            budget.evaluate(id, body.statement_table().len());
            let Some(analysis) = context.analyses().function(id) else {
                continue;
            };
            let likely = match self.options.need(Need::Divergence) {
                true => self.likely.take(&analysis, context.calls()),
                false => None,
            };
            let context = FunctionContext::new(&context, &analysis, likely.as_ref());
            let mut found = examine(&context, self.kernels.contexts(), &self.options);
            found.shrink_to_fit();
            if let Some(function) = self.functions.get_mut(id.index()) {
                function.linted = Some(Linted { inputs, found });
            }
        }
        self.likely.shrink();
        true
    }

    /// The analyses that all functions share.
    fn known(&self, module: &Module) -> Known {
        let definitions = || {
            let all = module.definitions();
            all.filter_map(|(id, ..)| Some((id, self.functions.get(id.index())?)))
        };
        let waits = definitions().filter(|(_, f)| f.waits).map(|(id, _)| id);
        Known {
            waiting: waiting(&self.calls, waits),
            summaries: self.summaries.summaries().cloned().unwrap_or_default(),
            uses: Arc::new(match self.options.need(Need::Uses) {
                true => {
                    let mentions = definitions().map(|(id, f)| (id, f.shared.clone()));
                    ModuleUses::new(module, SharedVariables::new(module), mentions)
                }
                false => ModuleUses::default(),
            }),
            is_unoptimized: definitions().any(|(_, f)| f.is_unoptimized),
        }
    }

    fn inputs(&self, module: &Module, id: FuncId, known: &Known) -> Inputs {
        let shared = self.functions.get(id.index()).map(|f| &f.shared);
        let is_own = |symbol: &SymbolId| known.uses.is_own(module, id, *symbol);
        let is_waiting = |id: &FuncId| known.waiting.get(id.index()) == Some(&true);
        let targets = self.calls.targets(id).into_iter();
        let callees = targets.filter_map(|target| match target {
            Target::Function(id) => Some(id),
            _ => None,
        });
        Inputs {
            revisions: [self.likely.revision(id), self.summaries.revision(id)],
            waiting: callees.filter(is_waiting).collect(),
            is_connected: !self.calls.targets(id).is_empty() || self.calls.is_called(id),
            is_unoptimized: known.is_unoptimized,
            is_uncalled: known.uses.is_uncalled(module, &self.calls, id),
            own_shared: shared.into_iter().flatten().map(is_own).collect(),
            is_replaced: self.kernels.contexts().is_replaced(id),
        }
    }

    /// Whether the findings of all functions are up to date.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// The findings in a function, by itself and in the kernels into which it is inlined; empty until it is linted.
    pub fn of_function(&self, id: FuncId) -> impl Iterator<Item = &Finding> {
        let function = self.functions.get(id.index());
        let own = function.and_then(|f| f.linted.as_ref());
        let others = own.map(|_| self.kernels.contexts().found(id));
        let own = own.map(|linted| &*linted.found);
        merged(
            own.unwrap_or_default(),
            others.unwrap_or_default(),
            &self.options,
        )
    }

    /// The findings in all functions, in the order of the functions, then those at declarations of the module.
    pub fn findings(&self) -> impl Iterator<Item = &Finding> {
        let ids = (0..self.functions.len() as u32).map(FuncId::new);
        let of_functions = ids.flat_map(|id| self.of_function(id));
        let of_functions = of_functions.filter(|f| f.declaration.is_none());
        of_functions.chain(&self.declared)
    }
}

/// The functions that mention symbols with another declaration, and those that are declared by another one.
fn users(module: &Module, changed: &Changed) -> Vec<FuncId> {
    let is_changed = |operand: &Operand| {
        operand
            .symbol()
            .is_some_and(|s| changed.symbols.contains(&s))
    };
    let mut users = Vec::new();
    let mut mentioned = Vec::new();
    for (id, function, body) in module.definitions() {
        mentioned.clear();
        for (_, statement) in body.statements() {
            mentioned.extend(body.walk(statement));
        }
        let is_declared = function
            .symbol
            .is_some_and(|s| changed.symbols.contains(&s));
        if is_declared || mentioned.iter().any(is_changed) {
            users.push(id);
        }
    }
    users
}
