//! Lints of a module that changes: what is known of functions is kept.
//!
//! What a lint finds in a function depends on its text, the declarations that it mentions, and what it gets from others: the uniformity of arguments,
//! results and calls, the addresses that are passed, which functions wait at barriers, whether anything calls it or accesses its shared memory, and for kernels the
//! text of the functions that they call. After a change the
//! functions with another text are evaluated, and each other one only if what it gets is not the same as before.

mod digest;
mod inlined;
mod places;
mod renumber;

use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::sync::Arc;
use alloc::vec::Vec;

use ptx_analysis::calls::CallGraph;
use ptx_analysis::incremental::Budget;
use ptx_analysis::provenance::IncrementalSummaries;
use ptx_analysis::uniformity::IncrementalUniformity;
use ptx_ir::facts::{FactTables, ModuleFacts};
use ptx_ir::{Changed, EntityId as _, FuncId, Module, Operand, SymbolId};

use crate::context::{
    FunctionContext, Known, ModuleContext, asks_whether_optimized, needs_divergence, waiting, waits,
};
use crate::linter::{examine, merged};
use crate::module_uses::{ModuleUses, asks_for_uses, shared_mentions};
use crate::optimized::{is_unoptimized, stack_addresses};
use crate::{Finding, LintOptions};
use digest::Digest;
use inlined::InlinedKernels;
use places::Places;

/// Reading a function takes a part of the time of linting it.
const READING: usize = 8;

/// Lints a module again after each change, and evaluates only functions for which the change makes a difference. What it finds is what
/// [`lint`](crate::lint) finds in the changed module.
///
/// Tell the session about a change with [`update`](Self::update) or [`parsed`](Self::parsed), then call [`advance`](Self::advance).
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
    /// The functions of which the facts are not known.
    unread: BTreeSet<FuncId>,
    /// Whether it is known what functions give to each other.
    is_settled: bool,
    is_complete: bool,
}

/// What is known of a function.
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

/// What was found in a function by itself.
#[derive(Clone, Debug)]
struct Linted {
    inputs: Inputs,
    found: Vec<Finding>,
}

/// What the findings in a function depend on, apart from its own text and what it mentions.
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
    /// Of no module so far.
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
            unread: BTreeSet::new(),
            is_settled: false,
            is_complete: false,
        }
    }

    /// The module was edited, or the bodies of some functions were parsed again: `changed` tells what is another than before.
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

    /// The module was parsed again: functions are recognized by their text and by the text of the declarations that they mention.
    pub fn parsed(&mut self, module: &Module) {
        self.is_complete = false;
        self.unread.clear();
        self.renumber(module);
        self.read_all(module);
    }

    /// All facts are read again, and functions that are new are linted.
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

    /// The text of a function is another one.
    fn change(&mut self, id: FuncId) {
        if let Some(of) = self.functions.get_mut(id.index()) {
            of.digest = None;
            of.is_changed = true;
            of.linted = None;
        }
        self.kernels.change(id);
    }

    /// Evaluates functions of the module until `budget` is spent. Gives whether all is done; if not, call it again.
    /// The module has to be that of the last [`update`](Self::update) or [`parsed`](Self::parsed).
    pub fn advance(&mut self, module: &Module, budget: &mut Budget) -> bool {
        self.is_complete = self.is_complete || self.evaluate(module, budget);
        self.is_complete
    }

    fn evaluate(&mut self, module: &Module, budget: &mut Budget) -> bool {
        if !self.read(module, budget) {
            return false;
        }
        let facts = ModuleFacts::with_tables(module, Arc::clone(&self.tables));
        if !self.settle(&facts, budget) {
            return false;
        }
        let calls = Arc::clone(&self.calls);
        let is_done = self.kernels.update(&facts, &calls, &self.options, budget);
        is_done && self.lint(&facts, budget)
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
        let facts = ModuleFacts::with_tables(module, Arc::clone(&self.tables));
        self.summaries.enter(&[]);
        Arc::make_mut(&mut self.calls).update(&facts, &read);
        let stack_addresses = stack_addresses(module);
        let mut changed = Vec::new();
        for id in read {
            let (Some(of), Some(function)) =
                (facts.function(id), self.functions.get_mut(id.index()))
            else {
                continue;
            };
            function.waits = needs_divergence(&self.options) && waits(of);
            function.is_unoptimized =
                asks_whether_optimized(&self.options) && is_unoptimized(of, &stack_addresses);
            function.shared = match asks_for_uses(&self.options) {
                true => shared_mentions(of),
                false => Vec::new(),
            };
            if core::mem::take(&mut function.is_changed) {
                changed.push(id);
            }
        }
        if needs_divergence(&self.options) {
            self.likely.enter(&facts, &changed);
        }
        self.summaries.enter(&changed);
        self.unread.is_empty()
    }

    /// Works out what functions give to each other.
    fn settle(&mut self, facts: &ModuleFacts<'_>, budget: &mut Budget) -> bool {
        if self.is_settled {
            return true;
        }
        let calls = Arc::clone(&self.calls);
        self.is_settled = (!needs_divergence(&self.options)
            || self.likely.update(facts, &calls, budget))
            && self.summaries.update(facts, &calls, budget);
        self.is_settled
    }

    /// Lints the functions that get something else than when they were linted.
    fn lint(&mut self, facts: &ModuleFacts<'_>, budget: &mut Budget) -> bool {
        let known = self.known(facts.module());
        let calls = Arc::clone(&self.calls);
        let mut context = None;
        for (id, _, body) in facts.module().definitions() {
            let inputs = self.inputs(facts.module(), id, &known);
            let function = self.functions.get(id.index());
            let linted = function.and_then(|f| f.linted.as_ref());
            if linted.is_some_and(|l| l.inputs == inputs) {
                continue;
            }
            if budget.is_spent() {
                return false;
            }
            budget.evaluate(id, body.statement_table().len());
            let context = context.get_or_insert_with(|| ModuleContext::with(facts, known.clone()));
            let likely = match needs_divergence(&self.options) {
                true => self.likely.take(facts, &calls, id),
                false => None,
            };
            let Some(of) = facts.function(id) else {
                continue;
            };
            let context = FunctionContext::new(context, of, likely.as_ref(), None);
            let mut found = examine(&context, self.kernels.contexts(), &self.options);
            found.shrink_to_fit();
            if let Some(function) = self.functions.get_mut(id.index()) {
                function.linted = Some(Linted { inputs, found });
            }
        }
        self.likely.shrink();
        true
    }

    /// What the functions have in common.
    fn known(&self, module: &Module) -> Known {
        let definitions = || {
            let all = module.definitions();
            all.filter_map(|(id, ..)| Some((id, self.functions.get(id.index())?)))
        };
        let waits = definitions().filter(|(_, f)| f.waits).map(|(id, _)| id);
        Known {
            waiting: waiting(&self.calls, waits),
            calls: Arc::clone(&self.calls),
            summaries: self.summaries.summaries().cloned().unwrap_or_default(),
            uses: Arc::new(match asks_for_uses(&self.options) {
                true => {
                    ModuleUses::new(module, definitions().map(|(id, f)| (id, f.shared.clone())))
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
        let callees = known.calls.callees(id);
        Inputs {
            revisions: [self.likely.revision(id), self.summaries.revision(id)],
            waiting: callees.into_iter().filter(is_waiting).collect(),
            is_connected: !known.calls.targets(id).is_empty()
                || !known.calls.callers(id).is_empty(),
            is_unoptimized: known.is_unoptimized,
            is_uncalled: known.uses.is_uncalled(module, &known.calls, id),
            own_shared: shared.into_iter().flatten().map(is_own).collect(),
            is_replaced: self.kernels.contexts().is_replaced(id),
        }
    }

    /// Whether all functions are linted.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// What is found in a function, by itself and where it is called; nothing while it is not linted.
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

    /// What is found in all functions, in their order.
    pub fn findings(&self) -> impl Iterator<Item = &Finding> {
        let ids = (0..self.functions.len() as u32).map(FuncId::new);
        ids.flat_map(|id| self.of_function(id))
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
            body.mentions(statement, &mut mentioned);
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
