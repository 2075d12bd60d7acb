//! The uniformity that functions pass to each other: of arguments, results, and calls.

use alloc::vec::Vec;

use ptx_ir::{EntityId as _, FuncId, Function, FunctionKind};
use ptx_isa::Uniformity;

use super::context::Context;
use super::incremental::{Given, IncrementalUniformity, Inputs, Output};
use super::words;
use crate::calls::CallGraph;
use crate::function_analysis::FunctionAnalysis;
use crate::incremental::{Budget, Runs, Spent};
use crate::interprocedural::{self, Precision, Summaries, callees_first};
use crate::module_analysis::ModuleAnalysis;

/// Evaluates all functions that call or are called until nothing changes. `inputs` gets the inputs with which each was evaluated last.
pub(super) fn solve(
    module: &ModuleAnalysis<'_>,
    uniformity: &IncrementalUniformity,
    memo: &mut Runs<Inputs, Output>,
    inputs: &mut [Option<Inputs>],
    budget: &mut Budget,
) -> Result<(), Spent> {
    let calls = module.calls();
    let mut all = Connected::all(module, uniformity);
    let found = interprocedural::solve(module, &all.order(), &mut all, memo, budget)?;
    take(inputs, found, |_| true);
    let is_called = |id: &FuncId| calls.is_called(*id);
    if !uniformity.is_optimistic() && all.open.iter().any(is_called) {
        // What other modules call and what that calls keeps what was found. Calls of the others are known, and so are the results of what they call.
        let mut is_open = vec![false; inputs.len()];
        for id in calls.reachable(all.open) {
            is_open[id.index()] = true;
        }
        let mut within = Connected::within(module, uniformity);
        let found = interprocedural::solve(module, &within.order(), &mut within, memo, budget)?;
        take(inputs, found, |at| is_open.get(at) == Some(&false));
    }
    Ok(())
}

/// Replaces the inputs of functions for which there are new ones.
fn take(
    inputs: &mut [Option<Inputs>],
    found: Vec<Option<Inputs>>,
    is_replaced: impl Fn(usize) -> bool,
) {
    for (at, found) in found.into_iter().enumerate() {
        if found.is_some()
            && is_replaced(at)
            && let Some(slot) = inputs.get_mut(at)
        {
            *slot = found;
        }
    }
}

/// Functions that call or are called, with what they pass to each other so far.
struct Connected<'a> {
    module: &'a ModuleAnalysis<'a>,
    calls: &'a CallGraph,
    uniformity: &'a IncrementalUniformity,
    functions: Vec<FuncId>,
    /// The functions of which not all calls are known.
    open: Vec<FuncId>,
    contexts: Vec<Option<Context>>,
    results: Vec<Option<Vec<Uniformity>>>,
}

impl<'a> Connected<'a> {
    /// All functions of a module: other modules may call them.
    fn all(module: &'a ModuleAnalysis<'a>, uniformity: &'a IncrementalUniformity) -> Self {
        let mut all = Self::empty(module, uniformity);
        for (id, function, _) in module.module().definitions() {
            let is_known = function.kind == FunctionKind::Entry
                || function.linkage.is_none()
                    && !all.calls.is_address_taken(id)
                    && all.calls.is_called(id);
            all.add(id, is_known);
        }
        all
    }

    /// The functions that the kernels of a module call: calls from other modules do not change what these functions return to them.
    fn within(module: &'a ModuleAnalysis<'a>, uniformity: &'a IncrementalUniformity) -> Self {
        let mut within = Self::empty(module, uniformity);
        let calls = within.calls;
        let kernels = module.module().definitions();
        let kernels = kernels.filter(|(_, f, _)| f.kind == FunctionKind::Entry);
        let kernels = kernels.map(|(id, ..)| id);
        for id in calls.reachable(kernels.chain(calls.address_taken().iter().copied())) {
            let is_kernel = |f: &Function| f.kind == FunctionKind::Entry;
            let is_kernel = module.module().functions().get(id).is_some_and(is_kernel);
            within.add(id, is_kernel || !calls.is_address_taken(id));
        }
        within
    }

    fn empty(module: &'a ModuleAnalysis<'a>, uniformity: &'a IncrementalUniformity) -> Self {
        let count = module.module().functions().len();
        Self {
            module,
            calls: module.calls(),
            uniformity,
            functions: Vec::new(),
            open: Vec::new(),
            contexts: vec![None; count],
            results: vec![None; count],
        }
    }

    /// Adds a function, unless it is alone; `is_known`: all of its calls are known.
    fn add(&mut self, id: FuncId, is_known: bool) {
        let module = self.module.module();
        let (Some(facts), Some(function)) =
            (self.module.facts().function(id), module.functions().get(id))
        else {
            return;
        };
        if self.module.is_alone(id) {
            return;
        }
        let mut context = self.uniformity.context(facts, id);
        if !is_known {
            context.give_up();
            self.open.push(id);
        }
        self.contexts[id.index()] = Some(context);
        let returned = function.interface.returns.of(module.params());
        let words = words::total(module, returned);
        self.results[id.index()] = Some(vec![Uniformity::Grid; words]);
        self.functions.push(id);
    }

    fn order(&self) -> Vec<FuncId> {
        callees_first(self.functions.clone(), self.calls)
    }

    /// Adds a call to the inputs of the callee; returns whether they changed.
    fn enter(&mut self, call: &Given) -> bool {
        let Some(Some(context)) = self.contexts.get_mut(call.callee.index()) else {
            return false;
        };
        let entry = context.entry.join(call.executed);
        let mut arguments = call.arguments.clone();
        arguments.resize(context.arguments.len(), context.unknown());
        let before = context.before.join(call.before);
        let is_new = entry != context.entry || before != context.before;
        let is_raised = raise(&mut context.arguments, &arguments);
        if is_raised || is_new {
            (context.entry, context.before) = (entry, before);
        }
        is_raised || is_new
    }
}

impl Summaries for Connected<'_> {
    type Inputs = Inputs;
    type Output = Output;

    fn inputs(&self, id: FuncId) -> Option<Inputs> {
        let context = self.contexts.get(id.index())?.as_ref()?;
        let results = |callee: FuncId| self.results.get(callee.index())?.as_ref();
        let summaries = self.uniformity.summaries();
        Some(Inputs::new(context, self.calls, summaries, results))
    }

    fn give_up_inputs(&mut self, id: FuncId) {
        if let Some(Some(context)) = self.contexts.get_mut(id.index())
            && context.kind != FunctionKind::Entry
        {
            context.give_up();
        }
    }

    fn evaluate(&self, function: &FunctionAnalysis<'_>, inputs: &Inputs) -> Output {
        self.uniformity.output(function, inputs, self.calls)
    }

    fn add_arguments(&mut self, output: &Output, dirty: &mut Vec<FuncId>) {
        for call in &output.calls {
            if self.enter(call) {
                dirty.push(call.callee);
            }
        }
    }

    fn add_results(&mut self, id: FuncId, output: &Output, precision: Precision) -> bool {
        let Some(Some(results)) = self.results.get_mut(id.index()) else {
            return false;
        };
        if precision == Precision::GivenUp && !self.uniformity.is_optimistic() {
            return raise(results, &vec![Uniformity::Varying; output.results.len()]);
        }
        raise(results, &output.results)
    }
}

/// Joins; returns whether something is the same in fewer threads than before.
fn raise(old: &mut [Uniformity], new: &[Uniformity]) -> bool {
    let mut raised = false;
    for (old, new) in old.iter_mut().zip(new) {
        raised |= *old < *new;
        *old = old.join(*new);
    }
    raised
}
