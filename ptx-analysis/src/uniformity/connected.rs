//! The fixed point over the functions that call or are called: the uniformity of arguments, calls and results.

use alloc::vec::Vec;

use ptx_ir::{EntityId as _, FuncId, FunctionKind};
use ptx_isa::Uniformity;

use super::context::Context;
use super::incremental::{CallInputs, IncrementalUniformity, Inputs, Output};
use super::words;
use crate::calls::CallGraph;
use crate::function_analysis::FunctionAnalysis;
use crate::incremental::{EvaluationLimit, LimitReached, MemoTable};
use crate::interprocedural::{self, Precision, Summaries, callees_first};
use crate::module_analysis::ModuleAnalysis;

/// Evaluates all functions that call or are called until nothing changes. Writes the inputs of the last evaluation of each function to `inputs`.
pub(super) fn solve(
    module: &ModuleAnalysis<'_>,
    uniformity: &IncrementalUniformity,
    memo: &mut MemoTable<Inputs, Output>,
    inputs: &mut [Option<Inputs>],
    limit: &mut EvaluationLimit,
) -> Result<(), LimitReached> {
    let calls = module.calls();
    let mut connected = Connected::of_module(module, uniformity);
    let order = connected.order();
    let last_inputs = interprocedural::solve(module, &order, &mut connected, memo, limit)?;
    for (slot, last) in inputs.iter_mut().zip(last_inputs) {
        *slot = last.or_else(|| slot.take());
    }
    if uniformity.is_optimistic() || !connected.open.iter().any(|id| calls.is_called(*id)) {
        return Ok(());
    }
    // Functions that other modules may reach keep these inputs. All calls of the others are in this module, and so are the calls of their callees: their
    // inputs are more precise without the calls from other modules.
    let mut is_open = vec![false; inputs.len()];
    for id in calls.reachable(connected.open) {
        is_open[id.index()] = true;
    }
    let mut called = Connected::called_by_kernels(module, uniformity);
    let order = called.order();
    let last_inputs = interprocedural::solve(module, &order, &mut called, memo, limit)?;
    for ((slot, last), is_open) in inputs.iter_mut().zip(last_inputs).zip(is_open) {
        if !is_open && last.is_some() {
            *slot = last;
        }
    }
    Ok(())
}

/// Functions that call or are called, with what they pass to each other so far.
struct Connected<'a> {
    module: &'a ModuleAnalysis<'a>,
    calls: &'a CallGraph,
    uniformity: &'a IncrementalUniformity,
    functions: Vec<FuncId>,
    /// The functions with unknown calls.
    open: Vec<FuncId>,
    /// For each of `functions`, the join of its calls.
    contexts: Vec<Option<Context>>,
    /// For each of `functions`, the words of its results.
    results: Vec<Option<Vec<Uniformity>>>,
}

/// The calls of a function that an analysis knows.
#[derive(Copy, Clone, PartialEq, Eq)]
enum KnownCalls {
    All,
    Some,
}

impl<'a> Connected<'a> {
    /// All functions of a module. Other modules may call the functions that they see.
    fn of_module(module: &'a ModuleAnalysis<'a>, uniformity: &'a IncrementalUniformity) -> Self {
        let mut connected = Self::empty(module, uniformity);
        for (id, function, _) in module.module().definitions() {
            let is_internal = function.linkage.is_none()
                && !connected.calls.is_address_taken(id)
                && connected.calls.is_called(id);
            let known_calls = if function.kind == FunctionKind::Entry || is_internal {
                KnownCalls::All
            } else {
                KnownCalls::Some
            };
            connected.add(id, known_calls);
        }
        connected
    }

    /// The functions that the kernels of a module call: calls from other modules do not change what these functions return to them.
    fn called_by_kernels(
        module: &'a ModuleAnalysis<'a>,
        uniformity: &'a IncrementalUniformity,
    ) -> Self {
        let mut called = Self::empty(module, uniformity);
        let calls = called.calls;
        let kernels = module
            .module()
            .definitions()
            .filter(|(_, function, _)| function.kind == FunctionKind::Entry)
            .map(|(id, ..)| id);
        for id in calls.reachable(kernels.chain(calls.address_taken().iter().copied())) {
            let function = module.module().functions().get(id);
            let is_kernel = function.is_some_and(|function| function.kind == FunctionKind::Entry);
            let known_calls = if is_kernel || !calls.is_address_taken(id) {
                KnownCalls::All
            } else {
                KnownCalls::Some
            };
            called.add(id, known_calls);
        }
        called
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

    /// Adds a function, unless it neither calls nor is called.
    fn add(&mut self, id: FuncId, known_calls: KnownCalls) {
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
        if known_calls == KnownCalls::Some {
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
    fn enter(&mut self, call: &CallInputs) -> bool {
        let Some(Some(context)) = self.contexts.get_mut(call.callee.index()) else {
            return false;
        };
        let entry = context.entry.join(call.executed);
        let mut arguments = call.arguments.clone();
        arguments.resize(context.arguments.len(), context.unknown());
        let before = context.before.join(call.before);
        let are_raised = raise(&mut context.arguments, &arguments);
        let is_changed = are_raised || entry != context.entry || before != context.before;
        (context.entry, context.before) = (entry, before);
        is_changed
    }
}

impl Summaries for Connected<'_> {
    type Inputs = Inputs;
    type Output = Output;

    fn inputs(&self, id: FuncId) -> Option<Inputs> {
        let context = self.contexts.get(id.index())?.as_ref()?;
        let summaries = self.uniformity.summaries();
        Some(Inputs::new(context, self.calls, summaries, |callee| {
            self.results.get(callee.index())?.as_ref()
        }))
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

/// Joins words with others. Returns whether a word is the same in fewer threads than before.
fn raise(old: &mut [Uniformity], new: &[Uniformity]) -> bool {
    let mut are_raised = false;
    for (old, new) in old.iter_mut().zip(new) {
        are_raised |= *old < *new;
        *old = old.join(*new);
    }
    are_raised
}
