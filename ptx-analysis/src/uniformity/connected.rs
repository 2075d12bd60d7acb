//! What functions that call or are called give to each other.

use alloc::vec::Vec;

use ptx_ir::{EntityId as _, FuncId, Function, FunctionKind};
use ptx_isa::Uniformity;

use super::context::Context;
use super::incremental::{Given, IncrementalUniformity, Inputs, Output};
use super::words;
use crate::calls::CallGraph;
use crate::incremental::{Budget, Spent};
use crate::module_analysis::ModuleAnalysis;

/// How often a function is analyzed before nothing is assumed of its callers and callees.
const RUNS: u8 = 8;

/// The functions that call or are called.
pub(super) struct Connected<'a> {
    analysis: &'a ModuleAnalysis<'a>,
    calls: &'a CallGraph,
    kept: &'a mut IncrementalUniformity,
    budget: &'a mut Budget,
}

/// A fixpoint of some of them.
struct Fixpoint {
    /// Those that are called before their callers, as far as there is no recursion.
    order: Vec<FuncId>,
    /// Those of which not all calls are known.
    open: Vec<FuncId>,
    contexts: Vec<Option<Context>>,
    results: Vec<Option<Vec<Uniformity>>>,
    /// What each was analyzed with at last.
    inputs: Vec<Option<Inputs>>,
    waiting: Vec<bool>,
    runs: Vec<u8>,
}

impl<'a> Connected<'a> {
    pub(super) fn new(
        analysis: &'a ModuleAnalysis<'a>,
        kept: &'a mut IncrementalUniformity,
        budget: &'a mut Budget,
    ) -> Self {
        Self {
            analysis,
            calls: analysis.calls(),
            kept,
            budget,
        }
    }

    /// Analyzes all of them until nothing changes, and gives what each was analyzed with at last.
    pub(super) fn run(&mut self, inputs: &mut [Option<Inputs>]) -> Result<(), Spent> {
        let mut take = |found: Vec<Option<Inputs>>, of: &dyn Fn(usize) -> bool| {
            let found = found.into_iter().enumerate();
            for (at, found) in found.filter(|(at, i)| i.is_some() && of(*at)) {
                inputs[at] = found;
            }
        };
        let mut all = self.all();
        self.settle(&mut all)?;
        let open = core::mem::take(&mut all.open);
        take(all.inputs, &|_| true);
        let is_called = |id: &FuncId| self.calls.is_called(*id);
        if !self.kept.is_optimistic() && open.iter().any(is_called) {
            // What other modules call and what that calls keeps what was found. Calls of the others are known, and so are the results of what they call.
            let mut is_open = vec![false; self.analysis.module().functions().len()];
            for id in self.calls.reachable(open) {
                is_open[id.index()] = true;
            }
            let mut within = self.within();
            self.settle(&mut within)?;
            take(within.inputs, &|at| is_open.get(at) == Some(&false));
        }
        Ok(())
    }

    /// All of a module: other modules may call its functions.
    fn all(&self) -> Fixpoint {
        let mut fixpoint = self.empty();
        for (id, function, _) in self.analysis.module().definitions() {
            let is_known = function.kind == FunctionKind::Entry
                || function.linkage.is_none()
                    && !self.calls.is_address_taken(id)
                    && self.calls.is_called(id);
            self.add(&mut fixpoint, id, is_known);
        }
        self.sorted(fixpoint)
    }

    /// What the kernels of a module call: calls from other modules do not change what these functions return to them.
    fn within(&self) -> Fixpoint {
        let (module, calls) = (self.analysis.module(), self.calls);
        let kernels = module.definitions();
        let kernels = kernels.filter(|(_, f, _)| f.kind == FunctionKind::Entry);
        let kernels = kernels.map(|(id, ..)| id);
        let mut fixpoint = self.empty();
        for id in calls.reachable(kernels.chain(calls.address_taken().iter().copied())) {
            let is_kernel = |f: &Function| f.kind == FunctionKind::Entry;
            let is_kernel = module.functions().get(id).is_some_and(is_kernel);
            self.add(&mut fixpoint, id, is_kernel || !calls.is_address_taken(id));
        }
        self.sorted(fixpoint)
    }

    fn empty(&self) -> Fixpoint {
        let count = self.analysis.module().functions().len();
        Fixpoint {
            order: Vec::new(),
            open: Vec::new(),
            contexts: vec![None; count],
            results: vec![None; count],
            inputs: vec![None; count],
            waiting: vec![false; count],
            runs: vec![0; count],
        }
    }

    /// Adds a function, unless it is alone; `is_known`: all of its calls are known.
    fn add(&self, fixpoint: &mut Fixpoint, id: FuncId, is_known: bool) {
        let module = self.analysis.module();
        let (Some(of), Some(function)) = (
            self.analysis.facts().function(id),
            module.functions().get(id),
        ) else {
            return;
        };
        if self.analysis.is_alone(id) {
            return;
        }
        let mut context = self.kept.context(of, id);
        if !is_known {
            context.give_up();
            fixpoint.open.push(id);
        }
        fixpoint.contexts[id.index()] = Some(context);
        let returned = function.interface.returns.of(module.params());
        let words = words::total(module, returned);
        fixpoint.results[id.index()] = Some(vec![Uniformity::Grid; words]);
        fixpoint.waiting[id.index()] = true;
        fixpoint.order.push(id);
    }

    /// Callees before their callers.
    fn sorted(&self, mut fixpoint: Fixpoint) -> Fixpoint {
        let place = |id: &FuncId| core::cmp::Reverse(self.calls.component(*id));
        fixpoint.order.sort_by_key(place);
        fixpoint
    }

    /// Analyzes functions until nothing changes.
    fn settle(&mut self, fixpoint: &mut Fixpoint) -> Result<(), Spent> {
        let order = core::mem::take(&mut fixpoint.order);
        while order.iter().any(|id| fixpoint.waiting[id.index()]) {
            for id in &order {
                if core::mem::take(&mut fixpoint.waiting[id.index()]) {
                    self.analyze(fixpoint, *id)?;
                }
            }
        }
        Ok(())
    }

    fn analyze(&mut self, fixpoint: &mut Fixpoint, id: FuncId) -> Result<(), Spent> {
        let at = id.index();
        fixpoint.runs[at] = fixpoint.runs[at].saturating_add(1);
        let give_up = fixpoint.runs[at] > RUNS;
        let Some(context) = &mut fixpoint.contexts[at] else {
            return Ok(());
        };
        if give_up && context.kind != FunctionKind::Entry {
            context.give_up();
        }
        let results = |callee: FuncId| fixpoint.results.get(callee.index())?.as_ref();
        let inputs = Inputs::new(context, self.calls, self.kept.summaries(), results);
        let mut output = match self.kept.known(id, &inputs) {
            Some(known) => Output {
                results: known.results.clone(),
                calls: known.calls.clone(),
                uniformity: None,
            },
            None => self.evaluate(id, context, &inputs)?,
        };
        if give_up && !self.kept.is_optimistic() {
            output.results.fill(Uniformity::Varying);
        }
        fixpoint.inputs[at] = Some(inputs);
        for call in &output.calls {
            fixpoint.enter(call);
        }
        if let Some(old) = &mut fixpoint.results[at]
            && raise(old, &output.results)
        {
            // Nothing is known of results of calls through addresses.
            for caller in self.calls.direct_callers(id) {
                fixpoint.waiting[caller.index()] = true;
            }
        }
        Ok(())
    }

    fn evaluate(
        &mut self,
        id: FuncId,
        context: &Context,
        inputs: &Inputs,
    ) -> Result<Output, Spent> {
        let function = self.analysis.function(id);
        let function = function.filter(|_| !self.budget.is_spent()).ok_or(Spent)?;
        let statements = function.body().statement_table().len();
        self.budget.evaluate(id, statements);
        Ok(self
            .kept
            .run(&function, context, inputs.clone(), self.calls))
    }
}

impl Fixpoint {
    /// A function is called.
    fn enter(&mut self, call: &Given) {
        let at = call.callee.index();
        let Some(Some(context)) = self.contexts.get_mut(at) else {
            return;
        };
        let entry = context.entry.join(call.executed);
        let mut arguments = call.arguments.clone();
        arguments.resize(context.arguments.len(), context.unknown());
        let before = context.before.join(call.before);
        let is_new = entry != context.entry || before != context.before;
        if raise(&mut context.arguments, &arguments) || is_new {
            (context.entry, context.before) = (entry, before);
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
