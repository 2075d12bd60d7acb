//! Summaries of the addresses that functions pass to each other as arguments and results.

use alloc::sync::Arc;
use alloc::vec::Vec;

use ptx_ir::facts::{Callees, FunctionFacts, ModuleFacts};
use ptx_ir::{Binding, EntityId as _, FuncId, RegDeclId, Statement, SymbolId};
use ptx_isa::StateSpace;

use super::evaluation::{Evaluation, Site};
use super::lattice::{AbstractValue, Address};
use super::slots::Slot;
use crate::calls::CallGraph;
use crate::function_dataflow::FunctionDataflow;
use crate::incremental::EvaluationLimit;
use crate::memory_access::Provenance;
use crate::module_analysis::ModuleAnalysis;
use crate::values::VariableRef;

/// The function of the CUDA device runtime that allocates global memory.
const ALLOCATION: &str = "malloc";

/// The addresses that the functions of a module pass to each other through direct calls.
#[derive(Clone, Default, Debug)]
pub struct CallSummaries {
    pub(super) graph: Arc<CallGraph>,
    /// For each function that is only called directly, the join of the arguments of all calls.
    pub(super) arguments: Vec<Option<Vec<AbstractValue>>>,
    /// The results of each function, in terms of the objects of the function.
    pub(super) results: Vec<Vec<AbstractValue>>,
}

impl CallSummaries {
    /// Analyzes all functions that call or are called. The arguments of a function are only known if `facts` contains all functions of the module.
    ///
    /// `docs/analyzing.md` has an example.
    #[doc(hidden)]
    #[must_use]
    pub fn new(facts: &ModuleFacts<'_>) -> Self {
        Arc::unwrap_or_clone(Self::of_module(&ModuleAnalysis::new(facts)))
    }

    /// Analyzes a module whose functions share their analyses.
    pub(crate) fn of_module(module: &ModuleAnalysis<'_>) -> Arc<Self> {
        let mut summaries = super::IncrementalSummaries::new();
        summaries.update(module, &mut EvaluationLimit::unlimited());
        summaries.summaries().cloned().unwrap_or_default()
    }

    /// Returns whether a function calls functions or is called.
    #[must_use]
    pub(crate) fn is_connected(&self, function: FuncId) -> bool {
        self.graph.calls_of(function).next().is_some() || self.graph.is_called(function)
    }

    /// The arguments of the calls of a function.
    pub(super) fn arguments(&self, function: FuncId) -> Option<&[AbstractValue]> {
        self.arguments.get(function.index())?.as_deref()
    }
}

/// The output of the evaluation of a function: the arguments of its calls, and its results.
#[derive(Clone, Debug)]
pub(super) struct Output {
    pub(super) results: Vec<AbstractValue>,
    pub(super) calls: Vec<(FuncId, Vec<AbstractValue>)>,
}

/// Evaluates a function; `summaries` contains its inputs from other functions.
pub(super) fn evaluate(function: &FunctionDataflow<'_>, summaries: &CallSummaries) -> Output {
    let facts = function.facts();
    let (results, calls) = match (function.ssa(), function.ssa_graph()) {
        (Ok(ssa), Ok(graph)) => {
            let mut evaluation = Evaluation::new(function, ssa, graph, Some(summaries));
            evaluation.run();
            (results(&mut evaluation), calls(&mut evaluation))
        }
        _ => {
            let results = summaries.results.get(facts.id().index());
            let count = results.map_or(0, Vec::len);
            (vec![AbstractValue::Unknown; count], unknown_calls(facts))
        }
    };
    Output {
        results,
        calls: calls
            .into_iter()
            .filter_map(|(callee, arguments)| Some((summaries.graph.function(callee)?, arguments)))
            .collect(),
    }
}

/// The results of a function, as its callers see them.
fn results(evaluation: &mut Evaluation<'_>) -> Vec<AbstractValue> {
    let module = evaluation.facts.module();
    let function = module.functions().get(evaluation.facts.id());
    let returns = function.map(|f| f.interface.returns).unwrap_or_default();
    let mut results = Vec::new();
    for param in returns.of(module.params()) {
        let size = param.layout(module.pool()).and_then(|layout| layout.size);
        let result = match (param.binding, size) {
            (Binding::Var(variable), Some(bytes @ (4 | 8))) => evaluation
                .slots
                .content(variable, Some(Slot { offset: 0, bytes })),
            (Binding::Register(decl), _) => returned_register(evaluation, decl),
            _ => AbstractValue::AddressOrNumber,
        };
        results.push(without_local_object(result));
    }
    results
}

/// The join of the registers of a declaration where the function returns.
fn returned_register(evaluation: &Evaluation<'_>, decl: RegDeclId) -> AbstractValue {
    let registers = evaluation.facts.body().registers();
    let mut joined = AbstractValue::Undefined;
    for returned in evaluation.ssa.returned() {
        let place = evaluation.function.variables().place(returned.variable);
        let register = registers.get(place.register);
        if register.is_some_and(|register| register.decl == decl) {
            joined = joined.join(evaluation.value(returned.value));
        }
    }
    joined
}

/// The direct calls of a function with their arguments, as the callees see them.
fn calls(evaluation: &mut Evaluation<'_>) -> Vec<(SymbolId, Vec<AbstractValue>)> {
    let body = evaluation.facts.body();
    let mut calls = Vec::new();
    for (stmt, statement) in body.statements() {
        let Statement::Inst(inst) = statement else {
            continue;
        };
        let site = Site {
            stmt,
            inst,
            facts: evaluation.facts.inst(inst),
        };
        if let Some(Callees::Function(callee)) = site.facts.callees() {
            let arguments = evaluation
                .arguments(&site)
                .into_iter()
                .map(without_local_object)
                .map(without_parameter_object)
                .collect();
            calls.push((callee, arguments));
        }
    }
    calls
}

/// The direct calls of a function without an SSA form. Missing arguments are unknown.
fn unknown_calls(facts: FunctionFacts<'_>) -> Vec<(SymbolId, Vec<AbstractValue>)> {
    let insts = facts.body().insts();
    insts
        .filter_map(|(inst, _)| match facts.inst(inst).callees() {
            Some(Callees::Function(callee)) => Some((callee, Vec::new())),
            _ => None,
        })
        .collect()
}

/// A value as other functions see it: it has no objects for variables and allocations of the function.
fn without_local_object(value: AbstractValue) -> AbstractValue {
    match (value, value.object()) {
        (
            AbstractValue::Address(address),
            Some(Provenance::Variable(VariableRef::Local(_)) | Provenance::Allocation(_)),
        ) => AbstractValue::Address(without_object(address)),
        (other, _) => other,
    }
}

/// An argument as the callee sees it: it has no object for memory that a parameter of the caller points to.
fn without_parameter_object(argument: AbstractValue) -> AbstractValue {
    match (argument, argument.object()) {
        (AbstractValue::Address(address), Some(Provenance::Parameter { .. })) => {
            if address.is_certain {
                AbstractValue::Address(without_object(address))
            } else {
                AbstractValue::AddressOrNumber
            }
        }
        (other, _) => other,
    }
}

const fn without_object(address: Address) -> Address {
    Address {
        object: None,
        offset: None,
        ..address
    }
}

impl Evaluation<'_> {
    /// A result of a call, in terms of the objects of the caller.
    pub(super) fn call_result(
        &self,
        site: &Site<'_>,
        callee: SymbolId,
        index: usize,
        arguments: &[AbstractValue],
    ) -> AbstractValue {
        let module = self.facts.module();
        let function = self.calls.and_then(|calls| calls.graph.function(callee));
        let (Some(calls), Some(function)) = (self.calls, function) else {
            return AbstractValue::AddressOrNumber;
        };
        if module.body(function).is_none() {
            let name = module.symbols().get(callee).map(|s| module.name(s.name));
            if name != Some(ALLOCATION) || index != 0 {
                return AbstractValue::AddressOrNumber;
            }
            return AbstractValue::Address(Address {
                object: Some(Provenance::Allocation(site.stmt)),
                space: Some(StateSpace::Global),
                is_generic: true,
                is_certain: true,
                offset: Some(0),
            });
        }
        let result = calls
            .results
            .get(function.index())
            .and_then(|results| results.get(index))
            .copied()
            .unwrap_or(AbstractValue::Unknown);
        let Some(Provenance::Parameter { variable, offset }) = result.object() else {
            return result;
        };
        // The memory that a parameter points to is the memory that the argument points to.
        let header = module.functions().get(function);
        let params = header.map(|f| f.interface.params).unwrap_or_default();
        let argument = params
            .of(module.params())
            .iter()
            .position(|param| param.binding == Binding::Var(variable))
            .and_then(|index| arguments.get(index))
            .copied()
            .unwrap_or(AbstractValue::AddressOrNumber);
        result_through_parameter(result, offset, argument)
    }
}

/// A result that points to the memory of a parameter, if the parameter has the value of an argument. `offset` is the offset of the pointer in the parameter.
fn result_through_parameter(
    result: AbstractValue,
    offset: u32,
    argument: AbstractValue,
) -> AbstractValue {
    match (argument, result) {
        (AbstractValue::Address(argument), AbstractValue::Address(result)) if offset == 0 => {
            let argument_space = argument
                .space
                .filter(|_| result.is_generic == argument.is_generic);
            AbstractValue::Address(Address {
                object: argument.object,
                space: argument_space.or(result.space),
                is_generic: result.is_generic,
                is_certain: argument.is_certain || result.is_certain,
                offset: None,
            })
        }
        (AbstractValue::Undefined, _) => AbstractValue::Undefined,
        (argument, AbstractValue::Address(result)) if !result.is_certain => {
            argument.plus(AbstractValue::Number)
        }
        (_, AbstractValue::Address(result)) => AbstractValue::Address(without_object(result)),
        (_, other) => other,
    }
}
