//! The uniformity of a module that changes: a function is evaluated again only if its body or its inputs change.

use alloc::vec::Vec;

use ptx_ir::facts::FunctionFacts;
use ptx_ir::{EntityId as _, FuncId};
use ptx_isa::{StateSpace, Uniformity};

use super::FunctionUniformity;
use super::connected;
use super::context::{Callees, Context, ResultWord, has_local_variables};
use super::function::{Outcome, analyze};
use super::stack::{Stack, makes_address};
use super::synchronization::{Before, Summaries, Synchronization};
use super::words::{self, Words};
use crate::calls::{CallGraph, Target};
use crate::function_analysis::{FunctionAnalysis, map_functions};
use crate::incremental::{EvaluationLimit, MemoTable, renumber_table};
use crate::interprocedural::replace_inputs;
use crate::module_analysis::ModuleAnalysis;

/// The inputs of the evaluation of a function, apart from its own text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Inputs {
    pub(super) arguments: Vec<Uniformity>,
    pub(super) entry: Uniformity,
    pub(super) local_pointers: bool,
    shared_pointers: bool,
    before: Before,
    /// The synchronization of its callees, by id.
    synchronization: Vec<(FuncId, Synchronization)>,
    /// The words of the results of its callees, by id.
    pub(super) results: Vec<(FuncId, Vec<Uniformity>)>,
}

impl Inputs {
    /// Collects the inputs of a function that is analyzed in `context`. `results` returns the words of the results of a callee.
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
        Self {
            arguments: context.arguments.clone(),
            entry: context.entry,
            local_pointers: context.local_pointers,
            shared_pointers: context.shared_pointers,
            before: context.before,
            synchronization: callees
                .iter()
                .map(|id| (*id, summaries.function(*id)))
                .collect(),
            results: callees
                .into_iter()
                .filter_map(|id| Some((id, results(id)?.clone())))
                .collect(),
        }
    }

    /// Creates the context of the function from its inputs, without the variables in local memory.
    fn context(&self, facts: FunctionFacts<'_>) -> Context {
        let mut context = Context::new(facts, facts.id());
        context.arguments.clone_from(&self.arguments);
        context.entry = self.entry;
        context.local_pointers = self.local_pointers;
        context.shared_pointers = self.shared_pointers;
        context.before = self.before;
        context
    }

    /// Replaces ids of functions; `None` if one of them has no new id.
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

/// The output of the evaluation of a function.
#[derive(Clone, Debug)]
pub(super) struct Output {
    pub(super) results: Vec<Uniformity>,
    pub(super) calls: Vec<CallInputs>,
    /// `None` after it was taken.
    pub(super) uniformity: Option<FunctionUniformity>,
}

/// The inputs of a function from one of its calls.
#[derive(Clone, Debug)]
pub(super) struct CallInputs {
    pub(super) callee: FuncId,
    /// The words of the arguments.
    pub(super) arguments: Vec<Uniformity>,
    /// The largest group of which all threads execute the call, or none.
    pub(super) executed: Uniformity,
    pub(super) before: Before,
}

/// Properties of the body of a function that do not depend on other functions.
#[derive(Clone, Debug)]
struct Body {
    stack: Stack,
    synchronization: Synchronization,
    /// It makes generic addresses of shared memory.
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

    /// The properties of a body that an optimistic analysis uses: the cells of its local memory.
    fn optimistic(function: &FunctionAnalysis<'_>) -> Self {
        let mut variables = function.body().vars().values();
        let has_local = variables.any(|variable| variable.space.base() == StateSpace::Local);
        Self {
            stack: if has_local {
                function.stack().clone()
            } else {
                Stack::NONE
            },
            synchronization: Synchronization::UNKNOWN,
            shares: true,
        }
    }
}

/// The uniformity of arguments, calls and results of the functions of a module that changes. The uniformity of each function is that of a new
/// [`ModuleUniformity`](super::ModuleUniformity).
///
/// After a change, [`enter`](Self::enter) the functions that have another body, and [`update`](Self::update) the inputs of all functions.
///
/// ```
/// use ptx_analysis::incremental::EvaluationLimit;
/// use ptx_analysis::module_analysis::ModuleAnalysis;
/// use ptx_analysis::internals::IncrementalUniformity;
/// use ptx_analysis::uniformity::ModuleUniformity;
/// use ptx_ir::facts::ModuleFacts;
/// use ptx_parse::Incremental;
///
/// let text = ".version 8.0\n.target sm_80\n.func f() { ret; }\n.entry k() { call f; ret; }\n.entry l() { call f; ret; }";
/// let mut source = Incremental::new(text.as_bytes().to_vec(), ptx_ir::Limits::default());
/// let mut uniformity = IncrementalUniformity::new();
/// let facts = ModuleFacts::new(source.module());
/// let module = ModuleAnalysis::new(&facts);
/// uniformity.enter_all(&module);
/// uniformity.update(&module, &mut EvaluationLimit::unlimited());
///
/// // One function changes, but not the inputs of the others.
/// let offset = text.find("call").unwrap();
/// source.replace(ptx_ir::Span::at(offset, offset), b".reg .b32 a; mov.u32 a, %tid.x; ");
/// let facts = ModuleFacts::new(source.module());
/// let module = ModuleAnalysis::new(&facts);
/// let k = source.module().function("k").unwrap();
/// let mut limit = EvaluationLimit::unlimited();
/// uniformity.enter(&module, &[k]);
/// assert!(uniformity.update(&module, &mut limit));
/// assert_eq!(limit.evaluated().collect::<Vec<_>>(), [k]);
/// assert_eq!(uniformity.take(&module.function(k).unwrap(), module.calls()).as_ref(), ModuleUniformity::new(&facts).function(k));
/// ```
#[derive(Clone, Default, Debug)]
pub struct IncrementalUniformity {
    is_optimistic: bool,
    bodies: Vec<Option<Body>>,
    summaries: Summaries,
    memo: MemoTable<Inputs, Output>,
    /// The inputs of the last evaluation of each function.
    inputs: Vec<Option<Inputs>>,
    /// The number of changes of `inputs`.
    revisions: Vec<u32>,
    /// Other functions may use the address of a variable in local memory.
    any_escapes: bool,
    /// A function makes generic addresses of shared memory.
    any_shared: bool,
}

impl IncrementalUniformity {
    /// Creates an analysis with the assumptions of [`ModuleUniformity::new`](super::ModuleUniformity::new). It contains no functions.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates an analysis with the assumptions of [`ModuleUniformity::optimistic`](super::ModuleUniformity::optimistic). It contains no functions.
    #[must_use]
    pub fn optimistic() -> Self {
        Self {
            is_optimistic: true,
            ..Self::default()
        }
    }

    /// Records the bodies of all functions.
    pub fn enter_all(&mut self, module: &ModuleAnalysis<'_>) {
        let bodies = map_functions(module.facts(), |id, _| {
            Some((id, self.body(&module.function(id)?)))
        });
        for (id, body) in bodies.into_iter().flatten() {
            self.set_body(id, body);
        }
    }

    /// Records the new bodies of functions.
    pub fn enter(&mut self, module: &ModuleAnalysis<'_>, changed: &[FuncId]) {
        for id in changed {
            if let Some(function) = module.function(*id) {
                self.set_body(*id, self.body(&function));
            }
        }
    }

    fn body(&self, function: &FunctionAnalysis<'_>) -> Body {
        if self.is_optimistic {
            Body::optimistic(function)
        } else {
            Body::new(function)
        }
    }

    fn set_body(&mut self, id: FuncId, body: Body) {
        if self.bodies.len() <= id.index() {
            self.bodies.resize(id.index() + 1, None);
        }
        self.bodies[id.index()] = Some(body);
        self.memo.remove_function(id);
    }

    /// Computes the inputs that functions pass to each other. Returns `false` if the limit is reached first; then it has to be called again. The facts must
    /// contain all functions that were entered since it returned `true`, and all functions that call or are called by others.
    pub fn update(&mut self, analysis: &ModuleAnalysis<'_>, limit: &mut EvaluationLimit) -> bool {
        let (module, calls) = (analysis.module(), analysis.calls());
        let count = module.functions().len();
        let body = |id: FuncId| self.bodies.get(id.index())?.as_ref();
        let has_local_variables = has_local_variables(module);
        let bodies = || module.definitions().filter_map(|(id, ..)| body(id));
        self.any_escapes = has_local_variables || bodies().any(|body| body.stack.escapes);
        self.any_shared = bodies().any(|body| body.shares);
        self.summaries = if self.is_optimistic {
            Summaries::default()
        } else {
            Summaries::new(count, calls, |id| Some(body(id)?.synchronization))
        };
        let mut inputs = vec![None; count];
        for (id, ..) in module.definitions() {
            if !analysis.is_alone(id) {
                continue;
            }
            let Some(facts) = analysis.facts().function(id) else {
                continue;
            };
            let mut context = self.context(facts, id);
            if let Some(body) = body(id).filter(|_| !self.is_optimistic) {
                // No other function makes addresses in its launches.
                context.local_pointers = has_local_variables || body.stack.escapes;
                context.shared_pointers = body.shares;
            }
            inputs[id.index()] = Some(Inputs::new(&context, calls, &self.summaries, |_| None));
        }
        let mut memo = core::mem::take(&mut self.memo);
        let solved = connected::solve(analysis, self, &mut memo, &mut inputs, limit);
        self.memo = memo;
        if solved.is_err() {
            return false;
        }
        self.memo.remove_unused();
        replace_inputs(&mut self.inputs, inputs, &mut self.revisions);
        true
    }

    /// A number that increases when the inputs of a function from others change, so that its uniformity may change.
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
        let output = self.memo.output(id, inputs);
        let uniformity = output.and_then(|output| output.uniformity.take());
        Some(uniformity.unwrap_or_else(|| self.evaluate(function, calls)))
    }

    /// Frees the results that [`take`](Self::take) would move out.
    pub fn shrink(&mut self) {
        for output in self.memo.outputs() {
            output.uniformity = None;
        }
    }

    /// Replaces the ids of functions after the module was parsed again. `function` returns the new id of a function with the same name, and `is_same` whether
    /// its text is unchanged.
    pub fn renumber(
        &mut self,
        function: impl Fn(FuncId) -> Option<FuncId>,
        is_same: impl Fn(FuncId) -> bool,
    ) {
        let unchanged = |id| function(id).filter(|_| is_same(id));
        renumber_table(&mut self.bodies, unchanged);
        renumber_table(&mut self.revisions, &function);
        renumber_table(&mut self.inputs, unchanged);
        for slot in &mut self.inputs {
            if let Some(inputs) = slot
                && inputs.renumber(&function).is_none()
            {
                *slot = None;
            }
        }
        self.memo.renumber(unchanged, |inputs, output| {
            for call in &mut output.calls {
                call.callee = function(call.callee)?;
            }
            inputs.renumber(&function)
        });
    }

    /// Evaluates a function with the inputs from the last [`update`](Self::update).
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
        let callees = Callees {
            results: &|word| result_word(function, inputs, calls, word),
            synchronization: &|symbol| {
                let callees = &inputs.synchronization;
                calls
                    .function(symbol)
                    .and_then(|id| callees.binary_search_by_key(&id, |(id, _)| *id).ok())
                    .map_or(Synchronization::UNKNOWN, |index| callees[index].1)
            },
        };
        analyze(function, &context, &callees)
    }

    /// Creates the context of a function before its callers are considered.
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
        let unknown = if self.is_optimistic {
            Uniformity::Grid
        } else {
            Uniformity::Varying
        };
        let outcome = self.analyze(function, context, inputs, calls);
        let module = function.module();
        let mut call_inputs = Vec::new();
        for call in outcome.calls {
            let Some(callee) = calls.function(call.callee) else {
                continue;
            };
            let Some(header) = module.functions().get(callee) else {
                continue;
            };
            let params = header.interface.params.of(module.params());
            call_inputs.push(CallInputs {
                callee,
                arguments: Words::flat(module, params, &call.arguments, unknown),
                executed: call.executed,
                before: call.before,
            });
        }
        Output {
            results: outcome.results,
            calls: call_inputs,
            uniformity: Some(outcome.uniformity),
        }
    }
}

/// The uniformity of a word of a result of a call, if the callee was evaluated.
fn result_word(
    function: &FunctionAnalysis<'_>,
    inputs: &Inputs,
    calls: &CallGraph,
    word: ResultWord,
) -> Option<Uniformity> {
    let module = function.module();
    let callee = calls.function(word.callee)?;
    let index = inputs
        .results
        .binary_search_by_key(&callee, |(id, _)| *id)
        .ok()?;
    let returns = module.functions().get(callee)?.interface.returns;
    let (_, words) = words::numbered(module, returns.of(module.params())).nth(word.result)?;
    let number = (words.start + word.word).min(words.end - 1);
    inputs.results.get(index)?.1.get(number).copied()
}
