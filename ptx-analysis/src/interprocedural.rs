//! The fixed point over the functions that call or are called.
//!
//! A function is evaluated with its *inputs*: what its callers and callees pass to it. Its *output* changes the inputs of others, which are then
//! *dirty* and evaluated again, callees before their callers as far as there is no recursion.
//!
//! ```text
//!            inputs                     output
//!   callers ────────▶ evaluate, or  ────────────▶ inputs of callees (arguments)
//!   callees ────────▶ the memo table ───────────▶ inputs of callers (results)
//! ```
//!
//! The memo table keeps outputs while a module changes: a function is evaluated only if its body or its inputs changed. After
//! [`MAX_EVALUATIONS`] evaluations of a function in one fixed point, nothing is assumed about its inputs and results.

use alloc::vec::Vec;

use ptx_ir::{EntityId as _, FuncId};

use crate::calls::CallGraph;
use crate::function_analysis::FunctionAnalysis;
use crate::incremental::{EvaluationLimit, LimitReached, MemoTable};
use crate::module_analysis::ModuleAnalysis;

/// The maximum number of evaluations of a function; after that, nothing is assumed about its inputs and results.
const MAX_EVALUATIONS: u8 = 8;

/// An interprocedural analysis: the inputs and outputs of functions so far.
pub(crate) trait Summaries {
    /// The inputs of a function from its callers and callees.
    type Inputs: Clone + PartialEq;
    /// The arguments that a function passes to its callees, and its results.
    type Output;

    /// The inputs of a function so far; `None` if the analysis leaves it out.
    fn inputs(&self, function: FuncId) -> Option<Self::Inputs>;

    /// Assumes nothing about the inputs of a function any more.
    fn give_up_inputs(&mut self, function: FuncId);

    /// Evaluates a function.
    fn evaluate(&self, function: &FunctionAnalysis<'_>, inputs: &Self::Inputs) -> Self::Output;

    /// Joins the arguments of the calls of a function with the inputs of its callees. Appends the callees whose inputs changed to `dirty`.
    fn add_arguments(&mut self, output: &Self::Output, dirty: &mut Vec<FuncId>);

    /// Joins the results of a function with those so far. Returns whether they changed.
    fn add_results(
        &mut self,
        function: FuncId,
        output: &Self::Output,
        precision: Precision,
    ) -> bool;
}

/// The precision of the results of a function.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Precision {
    /// The results are those of the output.
    Evaluated,
    /// The function was evaluated too often: nothing is assumed about its results.
    GivenUp,
}

/// Sorts functions so that callees are before their callers, as far as there is no recursion.
pub(crate) fn callees_first(mut functions: Vec<FuncId>, calls: &CallGraph) -> Vec<FuncId> {
    functions.sort_by_key(|id| core::cmp::Reverse(calls.component(*id)));
    functions
}

/// Evaluates functions in an order until nothing changes. Returns the inputs of the last evaluation of each function.
pub(crate) fn solve<S: Summaries>(
    module: &ModuleAnalysis<'_>,
    order: &[FuncId],
    summaries: &mut S,
    memo: &mut MemoTable<S::Inputs, S::Output>,
    limit: &mut EvaluationLimit,
) -> Result<Vec<Option<S::Inputs>>, LimitReached> {
    let count = module.module().functions().len();
    let mut last_inputs = vec![None; count];
    let mut evaluations = vec![0u8; count];
    let mut is_dirty = vec![false; count];
    for id in order {
        is_dirty[id.index()] = true;
    }
    let mut changed = Vec::new();
    while order.iter().any(|id| is_dirty[id.index()]) {
        for &id in order {
            let index = id.index();
            if !core::mem::take(&mut is_dirty[index]) {
                continue;
            }
            evaluations[index] = evaluations[index].saturating_add(1);
            let mut precision = Precision::Evaluated;
            if evaluations[index] > MAX_EVALUATIONS {
                precision = Precision::GivenUp;
                summaries.give_up_inputs(id);
            }
            let Some(inputs) = summaries.inputs(id) else {
                continue;
            };
            if memo.find(id, &inputs).is_none() {
                let function = module
                    .function(id)
                    .filter(|_| !limit.is_reached())
                    .ok_or(LimitReached)?;
                limit.evaluate(id, function.body().statement_table().len());
                let output = summaries.evaluate(&function, &inputs);
                memo.add(id, inputs.clone(), output);
            }
            if let Some(output) = memo.find(id, &inputs) {
                summaries.add_arguments(output, &mut changed);
                if summaries.add_results(id, output, precision) {
                    // Callers through addresses assume nothing about results.
                    changed.extend(module.calls().direct_callers(id));
                }
            }
            for function in changed.drain(..) {
                is_dirty[function.index()] = true;
            }
            last_inputs[index] = Some(inputs);
        }
    }
    Ok(last_inputs)
}

/// Replaces the inputs of functions, and increases the revisions of those whose inputs changed.
pub(crate) fn replace_inputs<I: Clone + PartialEq>(
    inputs: &mut Vec<Option<I>>,
    new: Vec<Option<I>>,
    revisions: &mut Vec<u32>,
) {
    inputs.resize(new.len(), None);
    revisions.resize(new.len(), 0);
    for ((old, new), revision) in inputs.iter().zip(&new).zip(revisions.iter_mut()) {
        *revision += u32::from(old != new);
    }
    *inputs = new;
}
