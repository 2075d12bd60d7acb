//! Incrementally updated summaries of the addresses that functions pass to each other.

use alloc::sync::Arc;
use alloc::vec::Vec;

use ptx_ir::{EntityId as _, FuncId, FunctionKind, SymbolId};

use super::calls::{CallSummaries, Output, evaluate};
use super::origin::{Known, Origin};
use crate::calls::Target;
use crate::incremental::{Budget, Runs, Spent, renumbered};
use crate::memory_access::Provenance;
use crate::module_analysis::ModuleAnalysis;
use crate::values::VariableRef;

/// The maximum number of evaluations of a function; after that, nothing is assumed about its arguments and results.
const RUNS: u8 = 8;

/// The inputs of the evaluation of a function, apart from its own text.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Inputs {
    arguments: Option<Vec<Known>>,
    /// The results of its callees, in the order of their ids.
    results: Vec<(FuncId, Vec<Known>)>,
}

/// [`CallSummaries`] that are updated incrementally as a module changes.
///
/// ```
/// use ptx_analysis::incremental::Budget;
/// use ptx_analysis::module_analysis::ModuleAnalysis;
/// use ptx_analysis::provenance::IncrementalSummaries;
/// use ptx_ir::facts::ModuleFacts;
///
/// let text = b".version 8.0\n.target sm_80\n.address_size 64\n.func f() { ret; }\n.entry k() { call f; ret; }";
/// let module = ptx_parse::parse(text).module;
/// let facts = ModuleFacts::new(&module);
/// let analysis = ModuleAnalysis::new(&facts);
/// let mut kept = IncrementalSummaries::new();
/// kept.update(&analysis, &mut Budget::unlimited());
///
/// // The body of the kernel changed, but gives the same to the function.
/// let k = module.function("k").unwrap();
/// kept.enter(&[k]);
/// let mut budget = Budget::unlimited();
/// assert!(kept.update(&analysis, &mut budget));
/// assert_eq!(budget.evaluated().collect::<Vec<_>>(), [k]);
/// assert_eq!(kept.revision(module.function("f").unwrap()), 1);
/// ```
#[derive(Clone, Default, Debug)]
pub struct IncrementalSummaries {
    summaries: Option<Arc<CallSummaries>>,
    runs: Runs<Inputs, Output>,
    /// The inputs that each function gets from others.
    inputs: Vec<Option<Inputs>>,
    /// The number of changes.
    revisions: Vec<u32>,
}

impl IncrementalSummaries {
    /// Creates summaries without any function.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Records that the bodies of some functions changed.
    pub fn enter(&mut self, changed: &[FuncId]) {
        self.summaries = None;
        for id in changed {
            self.runs.forget(*id);
        }
    }

    /// Computes the arguments and results that functions pass to each other. Returns false if the budget is spent first; call it again in that case.
    /// The facts must contain all functions that call or are called and that were not evaluated so far or were entered again.
    pub fn update(&mut self, module: &ModuleAnalysis<'_>, budget: &mut Budget) -> bool {
        let count = module.module().functions().len();
        let mut fixpoint = Fixpoint {
            module,
            summaries: CallSummaries {
                graph: Arc::clone(module.calls()),
                arguments: vec![None; count],
                results: vec![Vec::new(); count],
            },
            inputs: vec![None; count],
            waiting: vec![false; count],
            runs: vec![0; count],
            kept: &mut self.runs,
            budget,
        };
        if fixpoint.run().is_err() {
            return false;
        }
        let Fixpoint {
            summaries, inputs, ..
        } = fixpoint;
        self.runs.finish();
        self.inputs.resize(count, None);
        self.revisions.resize(count, 0);
        let old = core::mem::replace(&mut self.inputs, inputs);
        for ((old, new), revision) in old.iter().zip(&self.inputs).zip(&mut self.revisions) {
            *revision += u32::from(old != new);
        }
        self.summaries = Some(Arc::new(summaries));
        true
    }

    /// The result of the last [`update`](Self::update); `None` before it, and after a function was [entered](Self::enter).
    #[must_use]
    pub fn summaries(&self) -> Option<&Arc<CallSummaries>> {
        self.summaries.as_ref()
    }

    /// A number that increases when the inputs of a function change.
    #[must_use]
    pub fn revision(&self, id: FuncId) -> u32 {
        self.revisions.get(id.index()).copied().unwrap_or(0)
    }

    /// After the module was parsed again: functions whose text is the same have other ids, and so have symbols. `function` and `symbol` give the new id
    /// of a name, and `is_same` whether all of the text of a function is the same.
    pub fn renumber(
        &mut self,
        function: impl Fn(FuncId) -> Option<FuncId>,
        symbol: impl Fn(SymbolId) -> Option<SymbolId>,
        is_same: impl Fn(FuncId) -> bool,
    ) {
        self.summaries = None;
        let same = |id| function(id).filter(|_| is_same(id));
        renumbered(&mut self.revisions, &function);
        renumbered(&mut self.inputs, same);
        for inputs in &mut self.inputs {
            if let Some(of) = inputs
                && of.renumber(&function, &symbol).is_none()
            {
                *inputs = None;
            }
        }
        self.runs.renumber(same, |input, output| {
            for (callee, arguments) in &mut output.calls {
                *callee = function(*callee)?;
                renumber(arguments, &symbol)?;
            }
            renumber(&mut output.results, &symbol)?;
            input.renumber(&function, &symbol)
        });
    }
}

impl Inputs {
    fn renumber(
        &mut self,
        function: &impl Fn(FuncId) -> Option<FuncId>,
        symbol: &impl Fn(SymbolId) -> Option<SymbolId>,
    ) -> Option<()> {
        for (id, results) in &mut self.results {
            *id = function(*id)?;
            renumber(results, symbol)?;
        }
        self.results.sort_unstable_by_key(|(id, _)| *id);
        match &mut self.arguments {
            Some(arguments) => renumber(arguments, symbol),
            None => Some(()),
        }
    }
}

/// Gives variables of the module their new ids.
fn renumber(all: &mut [Known], symbol: &impl Fn(SymbolId) -> Option<SymbolId>) -> Option<()> {
    for known in all {
        if let Known::Address(Origin {
            object: Some(Provenance::Variable(VariableRef::Module(id))),
            ..
        }) = known
        {
            *id = symbol(*id)?;
        }
    }
    Some(())
}

/// Analyzes functions until a fixpoint is reached.
struct Fixpoint<'a> {
    module: &'a ModuleAnalysis<'a>,
    summaries: CallSummaries,
    /// What each function was evaluated with at last.
    inputs: Vec<Option<Inputs>>,
    waiting: Vec<bool>,
    runs: Vec<u8>,
    kept: &'a mut Runs<Inputs, Output>,
    budget: &'a mut Budget,
}

impl Fixpoint<'_> {
    fn run(&mut self) -> Result<(), Spent> {
        let order = self.order();
        for id in &order {
            self.waiting[id.index()] = true;
        }
        while order.iter().any(|id| self.waiting[id.index()]) {
            for id in &order {
                if core::mem::take(&mut self.waiting[id.index()]) {
                    self.analyze(*id)?;
                }
            }
        }
        Ok(())
    }

    /// The functions that call or are called, callees before their callers as far as there is no recursion. Of these nothing is known at first.
    fn order(&mut self) -> Vec<FuncId> {
        let module = self.module.module();
        let calls = Arc::clone(&self.summaries.graph);
        // Otherwise there may be other calls.
        let all_calls = module
            .definitions()
            .all(|(id, ..)| self.module.facts().function(id).is_some());
        let mut order = Vec::new();
        for (id, function, _) in module.definitions() {
            let is_entry = function.kind == FunctionKind::Entry;
            if self.module.is_alone(id) {
                continue;
            }
            let known = all_calls && function.linkage.is_none() && !calls.is_address_taken(id);
            if !is_entry && known && calls.is_called(id) {
                let params = function.interface.params.len as usize;
                self.summaries.arguments[id.index()] = Some(vec![Known::Nothing; params]);
            }
            let returns = function.interface.returns.len as usize;
            self.summaries.results[id.index()] = vec![Known::Nothing; returns];
            order.push(id);
        }
        order.sort_by_key(|id| core::cmp::Reverse(calls.component(*id)));
        order
    }

    fn analyze(&mut self, id: FuncId) -> Result<(), Spent> {
        let at = id.index();
        self.runs[at] = self.runs[at].saturating_add(1);
        let give_up = self.runs[at] > RUNS;
        if give_up && let Some(arguments) = &mut self.summaries.arguments[at] {
            arguments.fill(Known::Unknown);
        }
        let inputs = self.inputs_of(id);
        let Output { mut results, calls } = match self.kept.find(id, &inputs) {
            Some(known) => known.clone(),
            None => self.evaluate(id, &inputs)?,
        };
        self.inputs[at] = Some(inputs);
        if give_up {
            results.fill(Known::Unknown);
        }
        for (callee, given) in calls {
            if let Some(Some(arguments)) = self.summaries.arguments.get_mut(callee.index())
                && raise(arguments, &given)
            {
                self.waiting[callee.index()] = true;
            }
        }
        if raise(&mut self.summaries.results[at], &results) {
            // Nothing is known of results of calls through addresses.
            for caller in self.summaries.graph.direct_callers(id) {
                self.waiting[caller.index()] = true;
            }
        }
        Ok(())
    }

    fn inputs_of(&self, id: FuncId) -> Inputs {
        let summaries = &self.summaries;
        let callees = summaries.graph.targets(id).into_iter();
        let results = callees.filter_map(|target| match target {
            Target::Function(id) => Some((id, summaries.results.get(id.index())?.clone())),
            Target::AddressTaken => None,
        });
        Inputs {
            arguments: summaries.arguments(id).map(<[Known]>::to_vec),
            results: results.collect(),
        }
    }

    fn evaluate(&mut self, id: FuncId, inputs: &Inputs) -> Result<Output, Spent> {
        let function = self.module.function(id).filter(|_| !self.budget.is_spent());
        let function = function.ok_or(Spent)?;
        let statements = function.body().statement_table().len();
        self.budget.evaluate(id, statements);
        let output = evaluate(&function, &self.summaries);
        self.kept.add(id, inputs.clone(), output.clone());
        Ok(output)
    }
}

/// Whether the information became less precise.
fn raise(old: &mut [Known], new: &[Known]) -> bool {
    let mut raised = false;
    for (at, old) in old.iter_mut().enumerate() {
        let new = new.get(at).copied().unwrap_or(Known::Unknown);
        let joined = old.join(new);
        raised |= joined != *old;
        *old = joined;
    }
    raised
}
