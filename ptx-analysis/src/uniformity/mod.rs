//! Uniformity: in which threads the registers, predicates, blocks and branches of a function are the same.
//!
//! # What is compared
//!
//! Threads execute the same *instance* of a statement if they execute that statement, came to its function by the same instances of calls, and are in the same
//! iteration of each loop around it, counted from where the loop was entered (for a loop with several entries: by how often its header was executed). A register is
//! the same in a group of threads if after each instance of a statement that writes it, all threads of a group that executed this instance hold the same value;
//! threads that did not execute it do not count, threads whose guard did not hold do. The groups are the grid, the clusters, the CTAs and the warps ([`Uniformity`]).
//!
//! A *branch* is the same if all threads of a group that execute the same instance go on to the same place. A *block* is the same if for each of its instances
//! either all threads of a group that entered the function together execute it, or none.
//!
//! # How it is found
//!
//! Each value starts as the same in the grid and is lowered by what it depends on:
//!
//! * **Data**: operands, special registers ([`SpecialReg::uniformity`](ptx_isa::SpecialReg::uniformity), with `.reqntid`), results that are not a function of the operands
//!   ([`Form::result_uniformity`](ptx_isa::Form::result_uniformity)), and of a guarded write also the guard and the old value.
//! * **Control**: where ways meet that threads take differently, phis differ as the branch does.
//! * **Time**: a value that is made in a loop and read after it differs as the number of iterations does.
//! * **Memory**: parameters of kernels, constants, textures and what is loaded as read-only (`.nc`) are the same where their address is. Weak loads from memory that may
//!   be written are the same at most in a warp; those from shared memory in the CTA, if no thread of it can store to shared memory between the barriers around the
//!   load. Atomic operations and ordered loads differ. Local memory is followed like registers as long as no other function gets its address; else it differs.
//! * **Calls**: arguments and results follow direct calls, through registers and variables in `.param`, and recursion to a fixpoint. Nothing is assumed of what other
//!   modules pass to functions that they may call, of functions whose address is taken, and of calls through addresses.
//!
//! # Assumptions
//!
//! For weak loads from memory that other threads may write, for special registers that change, and for exchanges between the lanes of a warp, the analysis
//! assumes that the lanes of a warp that separate at a branch meet again at its immediate post-dominator, and that lanes which go the same way in between stay
//! together. Code of ptxas waits there; `ptx-vm` does the same for lanes that are apart for at most 1024 steps. The PTX ISA manual does not promise it. Blocks where ways meet
//! before that, such as the targets of `break` in a loop that lanes leave at different times, do not count as executed together. Undefined values, such as that of
//! a lane that does not take part in an exchange or of a variable in local memory before anything is stored to it, are not considered.
//!
//! Cost: linear in the values, their reads, the edges and the frontiers of branches. A function is analyzed again when the arguments or results of its calls
//! change; after eight times, nothing is assumed of these. [`Ssa::new`](crate::ssa::Ssa::new) refuses some functions: all of their values count as varying.

mod blocks;
mod cells;
mod context;
mod control;
mod function;
mod graphs;
mod pass;
mod phases;
mod stack;
mod statement;

use alloc::vec::Vec;

use ptx_ir::facts::{FunctionFacts, ModuleFacts};
use ptx_ir::{EntityId as _, FuncId, Function, FunctionKind, StmtId, SymbolId};

pub use ptx_isa::Uniformity;

use crate::calls::CallGraph;
use crate::cfg::BlockId;
use crate::function_analysis::map_functions;
use context::Context;
use function::{Outcome, analyze};
use stack::Stack;

/// How often a function is analyzed before nothing is assumed of its callers and callees.
const RUNS: u8 = 8;

/// A register that a statement writes.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub struct UniformDef {
    /// The statement.
    pub stmt: StmtId,
    /// The register, as [`Variables`](crate::reg_lanes::Variables) number it.
    pub variable: u32,
    /// In which threads it is the same afterwards.
    pub uniformity: Uniformity,
}

/// The uniformity of a function.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FunctionUniformity {
    /// In the order of the ids of statements.
    defs: Vec<UniformDef>,
    guards: Vec<(StmtId, Uniformity)>,
    blocks: Vec<Uniformity>,
    branches: Vec<Uniformity>,
}

impl FunctionUniformity {
    /// That of a function of which the rest of the module is not known: nothing is assumed of those that call it and of those that it calls.
    /// [`ModuleUniformity`] knows more.
    ///
    /// ```
    /// use ptx_analysis::uniformity::{FunctionUniformity, Uniformity};
    /// use ptx_ir::facts::ModuleFacts;
    ///
    /// let text = b".version 8.0\n.target sm_80\n.entry k(.param .u32 n) { .reg .b32 a; ld.param.u32 a, [n]; }";
    /// let module = ptx_parse::parse(text).module;
    /// let facts = ModuleFacts::new(&module);
    /// let facts = facts.function(module.function("k").unwrap()).unwrap();
    /// let uniformity = FunctionUniformity::new(facts);
    /// let (load, _) = facts.body().statements().nth(1).unwrap();
    /// assert_eq!(uniformity.defs(load)[0].uniformity, Uniformity::Grid);
    /// ```
    #[must_use]
    pub fn new(facts: FunctionFacts<'_>) -> Self {
        let mut context = Context::new(facts, facts.id());
        context.cells = Stack::new(facts).cells;
        if context.kind != FunctionKind::Entry {
            context.give_up();
        }
        analyze(facts, &context, &|_: SymbolId, _: usize| None).uniformity
    }

    /// The registers that a statement writes, by their number.
    #[must_use]
    pub fn defs(&self, stmt: StmtId) -> &[UniformDef] {
        let start = self.defs.partition_point(|d| d.stmt < stmt);
        let end = self.defs.partition_point(|d| d.stmt <= stmt);
        self.defs.get(start..end).unwrap_or_default()
    }

    /// In which threads a register is the same after a statement that writes it.
    #[must_use]
    pub fn def(&self, stmt: StmtId, variable: u32) -> Uniformity {
        let mut defs = self.defs(stmt).iter();
        let def = defs.find(|d| d.variable == variable);
        def.map_or(Uniformity::Varying, |d| d.uniformity)
    }

    /// In which threads the guard of a statement is the same.
    #[must_use]
    pub fn guard(&self, stmt: StmtId) -> Uniformity {
        let at = self.guards.binary_search_by_key(&stmt, |(at, _)| *at);
        at.map_or(Uniformity::Varying, |at| self.guards[at].1)
    }

    /// The largest group of which, for each instance of a block of [`Cfg::new`](crate::cfg::Cfg::new), all threads execute it or none.
    #[must_use]
    pub fn block(&self, block: BlockId) -> Uniformity {
        let of = self.blocks.get(block.as_u32() as usize);
        of.copied().unwrap_or(Uniformity::Varying)
    }

    /// In which threads a block goes on to the same place.
    #[must_use]
    pub fn branch(&self, block: BlockId) -> Uniformity {
        let of = self.branches.get(block.as_u32() as usize);
        of.copied().unwrap_or(Uniformity::Varying)
    }
}

/// The uniformity of all functions of a module. See the [module documentation](self).
///
/// ```
/// use ptx_analysis::reg_lanes::Variables;
/// use ptx_analysis::uniformity::{ModuleUniformity, Uniformity};
/// use ptx_ir::facts::ModuleFacts;
///
/// let text = b".version 8.0\n.target sm_80\n.address_size 64\n.entry k(.param .u32 n)\n{\n\
///     .reg .b32 a, b, c;\n\
///     ld.param.u32 a, [n]; mov.u32 b, %ctaid.x; mov.u32 c, %tid.x;\n}";
/// let module = ptx_parse::parse(text).module;
/// let facts = ModuleFacts::new(&module);
/// let uniformity = ModuleUniformity::new(&facts);
/// let kernel = module.function("k").unwrap();
/// let body = module.body(kernel).unwrap();
/// let found: Vec<Uniformity> = body
///     .statements()
///     .flat_map(|(stmt, _)| uniformity.function(kernel).unwrap().defs(stmt))
///     .map(|def| def.uniformity)
///     .collect();
/// assert_eq!(found, [Uniformity::Grid, Uniformity::Cta, Uniformity::Varying]);
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ModuleUniformity {
    functions: Vec<Option<FunctionUniformity>>,
}

impl ModuleUniformity {
    /// Analyzes a module.
    #[must_use]
    pub fn new(facts: &ModuleFacts<'_>) -> Self {
        Self::of(facts, |_| true)
    }

    /// Analyzes some functions of a module, and all that call or are called: the facts must be those of the whole module.
    #[must_use]
    pub fn of(facts: &ModuleFacts<'_>, wanted: impl Fn(FuncId) -> bool + Sync) -> Self {
        Self::with(facts, wanted, false)
    }

    /// Analyzes a module under the assumption that only what depends on the index of the thread differs: memory that is loaded is as uniform as the
    /// address, and functions of other modules call with, and return, what is the same. CTAs of unknown size are taken to have one of
    /// [`CtaShape`](crate::threads::CtaShape). What is called varying then has a reason to differ; what is called uniform may differ still.
    #[must_use]
    pub fn optimistic(facts: &ModuleFacts<'_>) -> Self {
        Self::with(facts, |_| true, true)
    }

    fn with(
        facts: &ModuleFacts<'_>,
        wanted: impl Fn(FuncId) -> bool + Sync,
        is_optimistic: bool,
    ) -> Self {
        let module = facts.module();
        let calls = CallGraph::new(facts);
        let is_alone = |id: FuncId| {
            let kind = module.functions().get(id).map(|f| f.kind);
            kind == Some(FunctionKind::Entry) && calls.calls_of(id).next().is_none()
        };
        let stacks = Stacks::new(facts, is_optimistic);
        let mut functions = vec![None; module.functions().len()];
        let alone = map_functions(facts, |id, of| {
            let no_results = |_: SymbolId, _: usize| None;
            let context = stacks.context(of, id);
            (wanted(id) && is_alone(id))
                .then(|| (id, analyze(of, &context, &no_results).uniformity))
        });
        for (id, uniformity) in alone.into_iter().flatten() {
            functions[id.index()] = Some(uniformity);
        }
        let mut take = |found: Vec<Option<FunctionUniformity>>, of: &dyn Fn(usize) -> bool| {
            let found = found.into_iter().enumerate();
            for (at, uniformity) in found.filter(|(at, u)| u.is_some() && of(*at)) {
                functions[at] = uniformity;
            }
        };
        let connected = Connected::new(facts, &calls, &stacks, |id| !is_alone(id));
        let (open, found) = (connected.open.clone(), connected.run());
        take(found, &|_| true);
        if !is_optimistic && open.iter().any(|id| !calls.callers(*id).is_empty()) {
            // What other modules call and what that calls keeps what was found. Calls of the others are known, and so are the results of what they call.
            let mut kept = vec![false; module.functions().len()];
            for id in calls.reachable(open) {
                kept[id.index()] = true;
            }
            let inner = Connected::within(facts, &calls, &stacks, |id| !is_alone(id));
            take(inner.run(), &|at| kept.get(at) == Some(&false));
        }
        Self { functions }
    }

    /// The uniformity of a function that has a body.
    #[must_use]
    pub fn function(&self, id: FuncId) -> Option<&FunctionUniformity> {
        self.functions.get(id.index())?.as_ref()
    }
}

/// The local memory of all functions.
struct Stacks {
    all: Vec<Stack>,
    /// Whether the address of a variable in local memory is more than the function that declares it uses.
    any_escapes: bool,
    is_optimistic: bool,
}

impl Stacks {
    fn new(facts: &ModuleFacts<'_>, is_optimistic: bool) -> Self {
        let module = facts.module();
        let mut all = vec![Stack::NONE; module.functions().len()];
        for (id, stack) in map_functions(facts, |id, of| (id, Stack::new(of))) {
            all[id.index()] = stack;
        }
        Self {
            any_escapes: context::has_local_variables(module) || all.iter().any(|s| s.escapes),
            all,
            is_optimistic,
        }
    }

    /// What is known of a function before its callers are looked at.
    fn context(&self, facts: FunctionFacts<'_>, id: FuncId) -> Context {
        let mut context = Context::new(facts, id);
        if let Some(stack) = self.all.get(id.index()) {
            context.cells = stack.cells.clone();
        }
        context.local_pointers = self.any_escapes;
        context.is_optimistic = self.is_optimistic;
        context
    }
}

/// The functions that call or are called.
struct Connected<'a> {
    facts: &'a ModuleFacts<'a>,
    calls: &'a CallGraph,
    /// Those that are called before their callers, as far as there is no recursion.
    order: Vec<FuncId>,
    /// Those of which not all calls are known.
    open: Vec<FuncId>,
    contexts: Vec<Option<Context>>,
    results: Vec<Option<Vec<Uniformity>>>,
    found: Vec<Option<FunctionUniformity>>,
    waiting: Vec<bool>,
    runs: Vec<u8>,
}

impl<'a> Connected<'a> {
    /// All of a module: other modules may call its functions.
    fn new(
        facts: &'a ModuleFacts<'a>,
        calls: &'a CallGraph,
        stacks: &Stacks,
        takes: impl Fn(FuncId) -> bool,
    ) -> Self {
        let mut connected = Self::empty(facts, calls);
        for (id, function, _) in facts.module().definitions() {
            let is_known = function.kind == FunctionKind::Entry
                || function.linkage.is_none()
                    && !calls.is_address_taken(id)
                    && !calls.callers(id).is_empty();
            if takes(id) {
                connected.add(id, stacks, is_known);
            }
        }
        connected.sorted()
    }

    /// What the kernels of a module call: calls from other modules do not change what these functions return to them.
    fn within(
        facts: &'a ModuleFacts<'a>,
        calls: &'a CallGraph,
        stacks: &Stacks,
        takes: impl Fn(FuncId) -> bool,
    ) -> Self {
        let module = facts.module();
        let kernels = module.definitions();
        let kernels = kernels.filter(|(_, f, _)| f.kind == FunctionKind::Entry);
        let kernels = kernels.map(|(id, ..)| id);
        let mut connected = Self::empty(facts, calls);
        for id in calls.reachable(kernels.chain(calls.address_taken().iter().copied())) {
            let is_kernel = |f: &Function| f.kind == FunctionKind::Entry;
            let is_kernel = module.functions().get(id).is_some_and(is_kernel);
            if takes(id) {
                connected.add(id, stacks, is_kernel || !calls.is_address_taken(id));
            }
        }
        connected.sorted()
    }

    fn empty(facts: &'a ModuleFacts<'a>, calls: &'a CallGraph) -> Self {
        let count = facts.module().functions().len();
        Self {
            facts,
            calls,
            order: Vec::new(),
            open: Vec::new(),
            contexts: vec![None; count],
            results: vec![None; count],
            found: vec![None; count],
            waiting: vec![false; count],
            runs: vec![0; count],
        }
    }

    /// Adds a function; `is_known`: all of its calls are known.
    fn add(&mut self, id: FuncId, stacks: &Stacks, is_known: bool) {
        let module = self.facts.module();
        let (Some(of), Some(function)) = (self.facts.function(id), module.functions().get(id))
        else {
            return;
        };
        let mut context = stacks.context(of, id);
        if !is_known {
            context.give_up();
            self.open.push(id);
        }
        self.contexts[id.index()] = Some(context);
        let returned = function.interface.returns.len as usize;
        self.results[id.index()] = Some(vec![Uniformity::Grid; returned]);
        self.waiting[id.index()] = true;
        self.order.push(id);
    }

    /// Callees before their callers.
    fn sorted(mut self) -> Self {
        let calls = self.calls;
        self.order
            .sort_by_key(|id| core::cmp::Reverse(calls.component(*id)));
        self
    }

    /// Analyzes all of them until nothing changes.
    fn run(mut self) -> Vec<Option<FunctionUniformity>> {
        let order = core::mem::take(&mut self.order);
        while order.iter().any(|id| self.waiting[id.index()]) {
            for id in &order {
                if core::mem::take(&mut self.waiting[id.index()]) {
                    self.analyze(*id);
                }
            }
        }
        self.found
    }

    fn analyze(&mut self, id: FuncId) {
        let at = id.index();
        self.runs[at] = self.runs[at].saturating_add(1);
        let give_up = self.runs[at] > RUNS;
        let Some(context) = &mut self.contexts[at] else {
            return;
        };
        if give_up && context.kind != FunctionKind::Entry {
            context.give_up();
        }
        let Some(of) = self.facts.function(id) else {
            return;
        };
        let results = |symbol: SymbolId, index: usize| {
            let callee = self.calls.function(symbol);
            let results = callee.and_then(|id| self.results.get(id.index())?.as_ref());
            results.and_then(|r| r.get(index)).copied()
        };
        let context = &*context;
        let Outcome {
            uniformity,
            mut results,
            calls,
        } = analyze(of, context, &results);
        if give_up && !context.is_optimistic {
            results.fill(Uniformity::Varying);
        }
        self.found[at] = Some(uniformity);
        for call in calls {
            self.enter(&call);
        }
        if let Some(old) = &mut self.results[at]
            && raise(old, &results)
        {
            for caller in self.calls.callers(id) {
                self.waiting[caller.index()] = true;
            }
        }
    }

    /// A function is called.
    fn enter(&mut self, call: &function::Call) {
        let callee = self.calls.function(call.callee);
        let Some(at) = callee.map(|id| id.index()) else {
            return;
        };
        let Some(Some(context)) = self.contexts.get_mut(at) else {
            return;
        };
        let entry = context.entry.join(call.executed);
        let mut arguments = call.arguments.clone();
        arguments.resize(context.arguments.len(), context.unknown());
        if raise(&mut context.arguments, &arguments) || entry != context.entry {
            context.entry = entry;
            self.waiting[at] = true;
        }
    }
}

/// Whether something is the same in fewer threads than before.
fn raise(old: &mut [Uniformity], new: &[Uniformity]) -> bool {
    let mut raised = false;
    for (old, new) in old.iter_mut().zip(new) {
        raised |= *old < *new;
        *old = old.join(*new);
    }
    raised
}
