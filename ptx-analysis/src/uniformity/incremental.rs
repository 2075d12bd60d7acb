//! The uniformity of a module that changes.

use alloc::vec::Vec;

use ptx_ir::facts::FunctionFacts;
use ptx_ir::{EntityId as _, FuncId, SymbolId};
use ptx_isa::{StateSpace, Uniformity};

use super::FunctionUniformity;
use super::acquires::{Summaries, Synchronization};
use super::connected;
use super::context::{Context, has_local_variables};
use super::function::{Callees, Outcome, analyze};
use super::stack::{Stack, makes_address};
use super::visible::Before;
use super::words::{self, Words};
use crate::calls::{CallGraph, Target};
use crate::function_analysis::{FunctionAnalysis, map_functions};
use crate::incremental::{Budget, Runs, renumbered};
use crate::interprocedural::replace_inputs;
use crate::module_analysis::ModuleAnalysis;

/// What the evaluation of a function depends on, apart from its own text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Inputs {
    pub(super) arguments: Vec<Uniformity>,
    pub(super) entry: Uniformity,
    pub(super) local_pointers: bool,
    shared_pointers: bool,
    before: Before,
    /// What the functions do that it calls, in the order of their ids.
    synchronization: Vec<(FuncId, Synchronization)>,
    /// The words that the functions return that it calls, in the order of their ids.
    pub(super) results: Vec<(FuncId, Vec<Uniformity>)>,
}

impl Inputs {
    /// Those of a function in a context; `results` gives what another one returns.
    pub(super) fn new<'r>(
        context: &Context,
        calls: &CallGraph,
        summaries: &Summaries,
        results: impl Fn(FuncId) -> Option<&'r Vec<Uniformity>>,
    ) -> Self {
        let callees: Vec<FuncId> = calls
            .targets(context.function)
            .into_iter()
            .filter_map(Target::function)
            .collect();
        let synchronization = callees.iter().map(|id| (*id, summaries.of(*id)));
        Self {
            arguments: context.arguments.clone(),
            entry: context.entry,
            local_pointers: context.local_pointers,
            shared_pointers: context.shared_pointers,
            before: context.before,
            synchronization: synchronization.collect(),
            results: callees
                .into_iter()
                .filter_map(|id| Some((id, results(id)?.clone())))
                .collect(),
        }
    }

    /// The context again, but for the variables in local memory.
    fn context(&self, facts: FunctionFacts<'_>) -> Context {
        let mut context = Context::new(facts, facts.id());
        context.arguments.clone_from(&self.arguments);
        context.entry = self.entry;
        context.local_pointers = self.local_pointers;
        context.shared_pointers = self.shared_pointers;
        context.before = self.before;
        context
    }

    fn renumber(&mut self, function: &impl Fn(FuncId) -> Option<FuncId>) -> Option<()> {
        for (id, _) in &mut self.results {
            *id = function(*id)?;
        }
        for (id, _) in &mut self.synchronization {
            *id = function(*id)?;
        }
        self.results.sort_unstable_by_key(|(id, _)| *id);
        self.synchronization.sort_unstable_by_key(|(id, _)| *id);
        Some(())
    }
}

/// What the evaluation of a function gave to others.
#[derive(Clone, Debug)]
pub(super) struct Output {
    pub(super) results: Vec<Uniformity>,
    pub(super) calls: Vec<Given>,
    /// Until it is taken.
    pub(super) uniformity: Option<FunctionUniformity>,
}

/// What a call gives to a function.
#[derive(Clone, Debug)]
pub(super) struct Given {
    pub(super) callee: FuncId,
    pub(super) arguments: Vec<Uniformity>,
    pub(super) executed: Uniformity,
    pub(super) before: Before,
}

/// What is known of the body of a function alone.
#[derive(Clone, Debug)]
struct Body {
    stack: Stack,
    synchronization: Synchronization,
    /// Whether it makes generic addresses of shared memory.
    shares: bool,
}

impl Body {
    fn new(function: &FunctionAnalysis<'_>) -> Self {
        Self {
            stack: function.stack().clone(),
            synchronization: Synchronization::of(function.facts()),
            shares: makes_address(function.facts(), StateSpace::Shared),
        }
    }
}

/// What the functions of a module give to each other, kept while the module changes: the uniformity of each function is then that of a new
/// [`ModuleUniformity`](super::ModuleUniformity).
///
/// After a change, [`enter`](Self::enter) the functions that have another body and [`update`](Self::update) what they give to others.
///
/// ```
/// use ptx_analysis::incremental::Budget;
/// use ptx_analysis::module_analysis::ModuleAnalysis;
/// use ptx_analysis::uniformity::{IncrementalUniformity, ModuleUniformity};
/// use ptx_ir::facts::ModuleFacts;
/// use ptx_parse::Incremental;
///
/// let text = ".version 8.0\n.target sm_80\n.func f() { ret; }\n.entry k() { call f; ret; }\n.entry l() { call f; ret; }";
/// let mut source = Incremental::new(text.as_bytes().to_vec(), ptx_ir::Limits::default());
/// let mut kept = IncrementalUniformity::new();
/// let facts = ModuleFacts::new(source.module());
/// let module = ModuleAnalysis::new(&facts);
/// kept.enter_all(&module);
/// kept.update(&module, &mut Budget::unlimited());
///
/// // One function changes, and nothing that it gives to the others.
/// let at = text.find("call").unwrap();
/// source.replace(ptx_ir::Span::at(at, at), b".reg .b32 a; mov.u32 a, %tid.x; ");
/// let facts = ModuleFacts::new(source.module());
/// let module = ModuleAnalysis::new(&facts);
/// let k = source.module().function("k").unwrap();
/// let mut budget = Budget::unlimited();
/// kept.enter(&module, &[k]);
/// assert!(kept.update(&module, &mut budget));
/// assert_eq!(budget.evaluated().collect::<Vec<_>>(), [k]);
/// assert_eq!(kept.take(&module.function(k).unwrap(), module.calls()).as_ref(), ModuleUniformity::new(&facts).function(k));
/// ```
#[derive(Clone, Default, Debug)]
pub struct IncrementalUniformity {
    is_optimistic: bool,
    bodies: Vec<Option<Body>>,
    summaries: Summaries,
    runs: Runs<Inputs, Output>,
    /// What each function was evaluated with at last.
    inputs: Vec<Option<Inputs>>,
    /// How often these changed.
    revisions: Vec<u32>,
    /// Whether the address of a variable in local memory is more than the function that declares it uses.
    any_escapes: bool,
    /// Whether a function makes generic addresses of shared memory.
    any_shared: bool,
}

impl IncrementalUniformity {
    /// That of [`ModuleUniformity::new`](super::ModuleUniformity::new), of no function so far.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// That of [`ModuleUniformity::optimistic`](super::ModuleUniformity::optimistic), of no function so far.
    #[must_use]
    pub fn optimistic() -> Self {
        Self::with(true)
    }

    pub(super) fn with(is_optimistic: bool) -> Self {
        Self {
            is_optimistic,
            ..Self::default()
        }
    }

    /// Takes the bodies of all functions.
    pub fn enter_all(&mut self, module: &ModuleAnalysis<'_>) {
        let bodies = map_functions(module.facts(), |id, _| {
            Some((id, Body::new(&module.function(id)?)))
        });
        for (id, body) in bodies.into_iter().flatten() {
            self.take_body(id, body);
        }
    }

    /// Takes the new bodies of some functions.
    pub fn enter(&mut self, module: &ModuleAnalysis<'_>, changed: &[FuncId]) {
        for id in changed {
            if let Some(function) = module.function(*id) {
                self.take_body(*id, Body::new(&function));
            }
        }
    }

    fn take_body(&mut self, id: FuncId, body: Body) {
        if self.bodies.len() <= id.index() {
            self.bodies.resize(id.index() + 1, None);
        }
        self.bodies[id.index()] = Some(body);
        self.runs.forget(id);
    }

    /// Works out what functions give to each other. Gives false if the budget was spent before; then it has to be called again. The facts must
    /// be those of all functions that were entered since it gave true, and of those that call or are called by others.
    pub fn update(&mut self, analysis: &ModuleAnalysis<'_>, budget: &mut Budget) -> bool {
        let (module, calls) = (analysis.module(), analysis.calls());
        let count = module.functions().len();
        let body = |id: FuncId| self.bodies.get(id.index())?.as_ref();
        let definitions = module.definitions();
        let bodies: Vec<&Body> = definitions.filter_map(|(id, ..)| body(id)).collect();
        let has_local_variables = has_local_variables(module);
        self.any_escapes = has_local_variables || bodies.iter().any(|b| b.stack.escapes);
        self.any_shared = bodies.iter().any(|b| b.shares);
        let own = |id: FuncId| body(id).map(|b| b.synchronization);
        self.summaries = match self.is_optimistic {
            true => Summaries::default(),
            false => Summaries::new(count, calls, own),
        };
        let mut inputs = vec![None; count];
        for (id, ..) in module.definitions() {
            if analysis.is_alone(id)
                && let Some(of) = analysis.facts().function(id)
            {
                let mut context = self.context(of, id);
                if let Some(body) = body(id).filter(|_| !self.is_optimistic) {
                    // No other function makes addresses in its launches.
                    context.local_pointers = has_local_variables || body.stack.escapes;
                    context.shared_pointers = body.shares;
                }
                inputs[id.index()] = Some(Inputs::new(&context, calls, &self.summaries, |_| None));
            }
        }
        let mut runs = core::mem::take(&mut self.runs);
        let solved = connected::solve(analysis, self, &mut runs, &mut inputs, budget);
        self.runs = runs;
        if solved.is_err() {
            return false;
        }
        self.runs.finish();
        replace_inputs(&mut self.inputs, inputs, &mut self.revisions);
        true
    }

    /// A number that increases when what a function gets from others changes, so that its uniformity may.
    #[must_use]
    pub fn revision(&self, id: FuncId) -> u32 {
        self.revisions.get(id.index()).copied().unwrap_or(0)
    }

    /// Returns the uniformity of a function that has a body, as of the last [`update`](Self::update). If that evaluated the function, its result is moved
    /// out; a second call evaluates the function again.
    #[must_use]
    pub fn take(
        &mut self,
        function: &FunctionAnalysis<'_>,
        calls: &CallGraph,
    ) -> Option<FunctionUniformity> {
        let id = function.id();
        let inputs = self.inputs.get(id.index())?.as_ref()?;
        let known = self.runs.output(id, inputs);
        match known.and_then(|output| output.uniformity.take()) {
            Some(uniformity) => Some(uniformity),
            None => Some(self.evaluate(function, calls)),
        }
    }

    /// Frees what [`take`](Self::take) would give.
    pub fn shrink(&mut self) {
        for output in self.runs.outputs() {
            output.uniformity = None;
        }
    }

    /// After the module was parsed again: functions whose text is the same have other ids. `function` gives the new id of a name, and
    /// `is_same` whether all of its text is the same.
    pub fn renumber(
        &mut self,
        function: impl Fn(FuncId) -> Option<FuncId>,
        is_same: impl Fn(FuncId) -> bool,
    ) {
        let same = |id| function(id).filter(|_| is_same(id));
        renumbered(&mut self.bodies, same);
        renumbered(&mut self.revisions, &function);
        renumbered(&mut self.inputs, same);
        for inputs in &mut self.inputs {
            if let Some(of) = inputs
                && of.renumber(&function).is_none()
            {
                *inputs = None;
            }
        }
        self.runs.renumber(same, |input, output| {
            for call in &mut output.calls {
                call.callee = function(call.callee)?;
            }
            input.renumber(&function)
        });
    }

    /// Evaluates a function with what the last [`update`](Self::update) found about its callers and callees.
    #[must_use]
    pub fn evaluate(
        &self,
        function: &FunctionAnalysis<'_>,
        calls: &CallGraph,
    ) -> FunctionUniformity {
        let Some(Some(inputs)) = self.inputs.get(function.id().index()) else {
            return FunctionUniformity::default();
        };
        let context = inputs.context(function.facts());
        self.analyze(function, context, inputs, calls).uniformity
    }

    fn analyze(
        &self,
        function: &FunctionAnalysis<'_>,
        mut context: Context,
        inputs: &Inputs,
        calls: &CallGraph,
    ) -> Outcome {
        context.is_optimistic = self.is_optimistic;
        if let Some(Some(body)) = self.bodies.get(context.function.index()) {
            context.cells = body.stack.cells.clone();
        }
        let module = function.module();
        let results = |symbol: SymbolId, index: usize, word: usize| {
            let callee = calls.function(symbol)?;
            let at = inputs.results.binary_search_by_key(&callee, |(id, _)| *id);
            let returns = module.functions().get(callee)?.interface.returns;
            let mut numbered = words::numbered(module, returns.of(module.params()));
            let (_, words) = numbered.nth(index)?;
            let number = (words.start + word).min(words.end - 1);
            inputs.results.get(at.ok()?)?.1.get(number).copied()
        };
        let synchronization = |symbol: SymbolId| {
            let of = &inputs.synchronization;
            let callee = calls.function(symbol);
            let at = callee.and_then(|id| of.binary_search_by_key(&id, |(id, _)| *id).ok());
            at.map_or(Synchronization::UNKNOWN, |at| of[at].1)
        };
        let callees = Callees {
            results: &results,
            synchronization: &synchronization,
        };
        analyze(function, &context, &callees)
    }

    /// What is known of a function before its callers are looked at.
    pub(super) fn context(&self, facts: FunctionFacts<'_>, id: FuncId) -> Context {
        let mut context = Context::new(facts, id);
        context.local_pointers = self.any_escapes;
        context.shared_pointers = self.any_shared;
        context.is_optimistic = self.is_optimistic;
        context
    }

    pub(super) const fn summaries(&self) -> &Summaries {
        &self.summaries
    }

    pub(super) const fn is_optimistic(&self) -> bool {
        self.is_optimistic
    }

    /// Evaluates a function that calls or is called.
    pub(super) fn output(
        &self,
        function: &FunctionAnalysis<'_>,
        inputs: &Inputs,
        calls: &CallGraph,
    ) -> Output {
        let context = inputs.context(function.facts());
        let unknown = match self.is_optimistic {
            true => Uniformity::Grid,
            false => Uniformity::Varying,
        };
        let outcome = self.analyze(function, context, inputs, calls);
        let module = function.module();
        let calls = outcome.calls.into_iter().filter_map(|call| {
            let callee = calls.function(call.callee)?;
            let params = module.functions().get(callee)?.interface.params;
            let params = params.of(module.params());
            Some(Given {
                callee,
                arguments: Words::flat(module, params, &call.arguments, unknown),
                executed: call.executed,
                before: call.before,
            })
        });
        Output {
            results: outcome.results,
            calls: calls.collect(),
            uniformity: Some(outcome.uniformity),
        }
    }
}
