//! Incrementally updated summaries of the addresses that functions pass to each other.

use alloc::sync::Arc;
use alloc::vec::Vec;

use ptx_ir::{EntityId as _, FuncId, FunctionKind, SymbolId};

use super::calls::{CallSummaries, Output, evaluate};
use super::lattice::{AbstractValue, Address};
use crate::calls::Target;
use crate::dataflow::JoinSemiLattice;
use crate::function_analysis::FunctionAnalysis;
use crate::incremental::{EvaluationLimit, MemoTable, renumber_table};
use crate::interprocedural::{Precision, Summaries, callees_first, replace_inputs, solve};
use crate::memory_access::Provenance;
use crate::module_analysis::ModuleAnalysis;
use crate::values::VariableRef;

/// The inputs of the evaluation of a function, apart from its own text.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Inputs {
    arguments: Option<Vec<AbstractValue>>,
    /// The results of its callees, in the order of their ids.
    results: Vec<(FuncId, Vec<AbstractValue>)>,
}

/// [`CallSummaries`] that are updated incrementally as a module changes.
///
/// ```
/// use ptx_analysis::incremental::EvaluationLimit;
/// use ptx_analysis::module_analysis::ModuleAnalysis;
/// use ptx_analysis::internals::IncrementalSummaries;
/// use ptx_ir::facts::ModuleFacts;
///
/// let text = b".version 8.0\n.target sm_80\n.address_size 64\n.func f() { ret; }\n.entry k() { call f; ret; }";
/// let module = ptx_parse::parse(text).module;
/// let facts = ModuleFacts::new(&module);
/// let analysis = ModuleAnalysis::new(&facts);
/// let mut summaries = IncrementalSummaries::new();
/// summaries.update(&analysis, &mut EvaluationLimit::unlimited());
///
/// // The body of the kernel changed, but not the arguments of its call.
/// let k = module.function("k").unwrap();
/// summaries.enter(&[k]);
/// let mut limit = EvaluationLimit::unlimited();
/// assert!(summaries.update(&analysis, &mut limit));
/// assert_eq!(limit.evaluated().collect::<Vec<_>>(), [k]);
/// assert_eq!(summaries.revision(module.function("f").unwrap()), 1);
/// ```
#[derive(Clone, Default, Debug)]
pub struct IncrementalSummaries {
    summaries: Option<Arc<CallSummaries>>,
    memo: MemoTable<Inputs, Output>,
    /// The inputs of the last evaluation of each function.
    inputs: Vec<Option<Inputs>>,
    /// The number of changes of `inputs`.
    revisions: Vec<u32>,
}

impl IncrementalSummaries {
    /// Creates summaries of no functions.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Records that the bodies of some functions changed.
    pub fn enter(&mut self, changed: &[FuncId]) {
        self.summaries = None;
        for id in changed {
            self.memo.remove_function(*id);
        }
    }

    /// Computes the arguments and results that functions pass to each other. Returns false if the limit is reached first; call it again in that case.
    /// The facts must contain all functions that call or are called and that were not evaluated so far or were entered again.
    pub fn update(&mut self, module: &ModuleAnalysis<'_>, limit: &mut EvaluationLimit) -> bool {
        let mut connected = Connected::new(module);
        let order = core::mem::take(&mut connected.order);
        let Ok(inputs) = solve(module, &order, &mut connected, &mut self.memo, limit) else {
            return false;
        };
        self.memo.remove_unused();
        replace_inputs(&mut self.inputs, inputs, &mut self.revisions);
        self.summaries = Some(Arc::new(connected.summaries));
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

    /// Replaces the ids of functions and symbols after the module was parsed again. `function` and `symbol` return the new id of the same name, and `is_same`
    /// whether the text of a function is unchanged.
    pub fn renumber(
        &mut self,
        function: impl Fn(FuncId) -> Option<FuncId>,
        symbol: impl Fn(SymbolId) -> Option<SymbolId>,
        is_same: impl Fn(FuncId) -> bool,
    ) {
        self.summaries = None;
        let unchanged = |id| function(id).filter(|_| is_same(id));
        renumber_table(&mut self.revisions, &function);
        renumber_table(&mut self.inputs, unchanged);
        for slot in &mut self.inputs {
            if let Some(inputs) = slot
                && inputs.renumber(&function, &symbol).is_none()
            {
                *slot = None;
            }
        }
        self.memo.renumber(unchanged, |inputs, output| {
            for (callee, arguments) in &mut output.calls {
                *callee = function(*callee)?;
                renumber(arguments, &symbol)?;
            }
            renumber(&mut output.results, &symbol)?;
            inputs.renumber(&function, &symbol)
        });
    }
}

impl Inputs {
    /// Replaces ids of functions and symbols; `None` if one of them has no new id.
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

/// Replaces ids of variables of the module; `None` if one of them has no new id.
fn renumber(
    values: &mut [AbstractValue],
    symbol: &impl Fn(SymbolId) -> Option<SymbolId>,
) -> Option<()> {
    for value in values {
        if let AbstractValue::Address(Address {
            object: Some(Provenance::Variable(VariableRef::Module(id))),
            ..
        }) = value
        {
            *id = symbol(*id)?;
        }
    }
    Some(())
}

/// The functions that call or are called, with the addresses that they pass to each other so far.
struct Connected {
    summaries: CallSummaries,
    /// Callees before their callers, as far as there is no recursion.
    order: Vec<FuncId>,
}

impl Connected {
    fn new(analysis: &ModuleAnalysis<'_>) -> Self {
        let (module, calls) = (analysis.module(), analysis.calls());
        let count = module.functions().len();
        let mut summaries = CallSummaries {
            graph: Arc::clone(calls),
            arguments: vec![None; count],
            results: vec![Vec::new(); count],
        };
        // Functions that the facts leave out may contain calls.
        let has_all_calls = module
            .definitions()
            .all(|(id, ..)| analysis.facts().function(id).is_some());
        let mut functions = Vec::new();
        for (id, function, _) in module.definitions() {
            if analysis.is_alone(id) {
                continue;
            }
            let is_internal = function.kind != FunctionKind::Entry
                && function.linkage.is_none()
                && !calls.is_address_taken(id);
            if has_all_calls && is_internal && calls.is_called(id) {
                let params = function.interface.params.len as usize;
                summaries.arguments[id.index()] = Some(vec![AbstractValue::Undefined; params]);
            }
            let returns = function.interface.returns.len as usize;
            summaries.results[id.index()] = vec![AbstractValue::Undefined; returns];
            functions.push(id);
        }
        Self {
            summaries,
            order: callees_first(functions, calls),
        }
    }
}

impl Summaries for Connected {
    type Inputs = Inputs;
    type Output = Output;

    fn inputs(&self, id: FuncId) -> Option<Inputs> {
        let summaries = &self.summaries;
        let results = summaries
            .graph
            .targets(id)
            .into_iter()
            .filter_map(Target::function)
            .filter_map(|id| Some((id, summaries.results.get(id.index())?.clone())));
        Some(Inputs {
            arguments: summaries.arguments(id).map(<[AbstractValue]>::to_vec),
            results: results.collect(),
        })
    }

    fn give_up_inputs(&mut self, id: FuncId) {
        if let Some(Some(arguments)) = self.summaries.arguments.get_mut(id.index()) {
            arguments.fill(AbstractValue::Unknown);
        }
    }

    fn evaluate(&self, function: &FunctionAnalysis<'_>, _: &Inputs) -> Output {
        evaluate(function, &self.summaries)
    }

    fn add_arguments(&mut self, output: &Output, dirty: &mut Vec<FuncId>) {
        for (callee, passed) in &output.calls {
            if let Some(Some(arguments)) = self.summaries.arguments.get_mut(callee.index())
                && raise(arguments, passed)
            {
                dirty.push(*callee);
            }
        }
    }

    fn add_results(&mut self, id: FuncId, output: &Output, precision: Precision) -> bool {
        let Some(results) = self.summaries.results.get_mut(id.index()) else {
            return false;
        };
        match precision {
            Precision::Evaluated => raise(results, &output.results),
            Precision::GivenUp => {
                raise(results, &vec![AbstractValue::Unknown; output.results.len()])
            }
        }
    }
}

/// Joins values with others; missing ones are unknown. Returns whether a value changed.
fn raise(values: &mut [AbstractValue], others: &[AbstractValue]) -> bool {
    let mut are_changed = false;
    for (index, value) in values.iter_mut().enumerate() {
        let other = others.get(index).unwrap_or(&AbstractValue::Unknown);
        are_changed |= JoinSemiLattice::join(value, other);
    }
    are_changed
}
