//! Incrementally updated summaries of the addresses that functions pass to each other.

use alloc::sync::Arc;
use alloc::vec::Vec;

use ptx_ir::{EntityId as _, FuncId, FunctionKind, SymbolId};

use super::calls::{CallSummaries, Output, evaluate};
use super::origin::{Known, Origin};
use crate::calls::Target;
use crate::function_analysis::FunctionAnalysis;
use crate::incremental::{Budget, Runs, renumbered};
use crate::interprocedural::{Precision, Summaries, callees_first, replace_inputs, solve};
use crate::memory_access::Provenance;
use crate::module_analysis::ModuleAnalysis;
use crate::values::VariableRef;

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
        let (mut passed, order) = Passed::new(module);
        let solved = solve(module, &order, &mut passed, &mut self.runs, budget);
        let Ok(inputs) = solved else {
            return false;
        };
        self.runs.finish();
        replace_inputs(&mut self.inputs, inputs, &mut self.revisions);
        self.summaries = Some(Arc::new(passed.summaries));
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

/// The addresses that functions pass to each other.
struct Passed {
    summaries: CallSummaries,
}

impl Passed {
    /// The functions that call or are called, callees before their callers as far as there is no recursion. Nothing is known of them at first.
    fn new(analysis: &ModuleAnalysis<'_>) -> (Self, Vec<FuncId>) {
        let (module, calls) = (analysis.module(), analysis.calls());
        let count = module.functions().len();
        let mut summaries = CallSummaries {
            graph: Arc::clone(calls),
            arguments: vec![None; count],
            results: vec![Vec::new(); count],
        };
        // Otherwise there may be other calls.
        let all_calls = module
            .definitions()
            .all(|(id, ..)| analysis.facts().function(id).is_some());
        let mut functions = Vec::new();
        for (id, function, _) in module.definitions() {
            if analysis.is_alone(id) {
                continue;
            }
            let is_entry = function.kind == FunctionKind::Entry;
            let known = all_calls && function.linkage.is_none() && !calls.is_address_taken(id);
            if !is_entry && known && calls.is_called(id) {
                let params = function.interface.params.len as usize;
                summaries.arguments[id.index()] = Some(vec![Known::Nothing; params]);
            }
            let returns = function.interface.returns.len as usize;
            summaries.results[id.index()] = vec![Known::Nothing; returns];
            functions.push(id);
        }
        (Self { summaries }, callees_first(functions, calls))
    }
}

impl Summaries for Passed {
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
            arguments: summaries.arguments(id).map(<[Known]>::to_vec),
            results: results.collect(),
        })
    }

    fn give_up_inputs(&mut self, id: FuncId) {
        if let Some(Some(arguments)) = self.summaries.arguments.get_mut(id.index()) {
            arguments.fill(Known::Unknown);
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
            Precision::GivenUp => raise(results, &vec![Known::Unknown; output.results.len()]),
        }
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
