//! Summaries of the addresses that functions pass to each other as arguments and results.

use alloc::sync::Arc;
use alloc::vec::Vec;

use ptx_ir::facts::{Callees, FunctionFacts, ModuleFacts};
use ptx_ir::{Binding, EntityId as _, FuncId, Statement, StmtId, SymbolId};
use ptx_isa::StateSpace;

use super::incremental::IncrementalSummaries;
use super::origin::{Known, Origin};
use super::pass::Pass;
use super::slots::Slot;
use crate::calls::CallGraph;
use crate::function_dataflow::FunctionDataflow;
use crate::incremental::Budget;
use crate::memory_access::Provenance;
use crate::module_analysis::ModuleAnalysis;
use crate::reg_lanes::VariableId;
use crate::values::VariableRef;

/// The function of the CUDA device runtime that allocates global memory.
const ALLOCATION: &str = "malloc";

/// The addresses that the functions of a module pass to each other through direct calls.
#[derive(Clone, Default, Debug)]
pub struct CallSummaries {
    pub(super) graph: Arc<CallGraph>,
    /// For each function that is only called directly, the join of the arguments of all calls.
    pub(super) arguments: Vec<Option<Vec<Known>>>,
    /// The results of each function, in terms of the objects of the function.
    pub(super) results: Vec<Vec<Known>>,
}

impl CallSummaries {
    /// Analyzes all functions that call or are called. The arguments of a function are only known if `facts` contains all functions of the module.
    ///
    /// `docs/analysing.md` has an example.
    #[must_use]
    pub fn new(facts: &ModuleFacts<'_>) -> Self {
        Arc::unwrap_or_clone(Self::of_module(&ModuleAnalysis::new(facts)))
    }

    /// Analyzes a module whose functions share their analyses.
    pub(crate) fn of_module(module: &ModuleAnalysis<'_>) -> Arc<Self> {
        let mut summaries = IncrementalSummaries::new();
        summaries.update(module, &mut Budget::unlimited());
        summaries.summaries().cloned().unwrap_or_default()
    }

    /// Returns whether a function calls functions or is called.
    #[must_use]
    pub(crate) fn is_connected(&self, function: FuncId) -> bool {
        self.graph.calls_of(function).next().is_some() || self.graph.is_called(function)
    }

    /// The arguments of the calls of a function.
    pub(super) fn arguments(&self, function: FuncId) -> Option<&[Known]> {
        self.arguments.get(function.index())?.as_deref()
    }
}

/// The summary of a function: the arguments of its calls, and its results.
#[derive(Clone, Debug)]
pub(super) struct Output {
    pub(super) results: Vec<Known>,
    pub(super) calls: Vec<(FuncId, Vec<Known>)>,
}

/// Evaluates a function; `summaries` contains its inputs from other functions.
pub(super) fn evaluate(function: &FunctionDataflow<'_>, summaries: &CallSummaries) -> Output {
    let facts = function.facts();
    let (results, calls) = match (function.ssa(), function.ssa_graph()) {
        (Ok(ssa), Ok(graph)) => {
            let mut pass = Pass::new(function, ssa, graph, Some(summaries));
            pass.run();
            (returns(&mut pass), given(&mut pass))
        }
        _ => {
            let results = summaries.results.get(facts.id().index());
            let count = results.map_or(0, Vec::len);
            (vec![Known::Unknown; count], unknown(facts))
        }
    };
    let calls = calls.into_iter();
    let calls =
        calls.filter_map(|(symbol, known)| Some((summaries.graph.function(symbol)?, known)));
    Output {
        results,
        calls: calls.collect(),
    }
}

/// The results of a function.
fn returns(pass: &mut Pass<'_>) -> Vec<Known> {
    let module = pass.facts.module();
    let function = module.functions().get(pass.facts.id());
    let returns = function.map(|f| f.interface.returns).unwrap_or_default();
    let mut found = Vec::new();
    for param in returns.of(module.params()) {
        let size = param.layout(module.pool()).and_then(|l| l.size);
        let known = match (param.binding, size) {
            (Binding::Var(variable), Some(size @ (4 | 8))) => pass.slots.content(
                variable,
                Some(Slot {
                    offset: 0,
                    bytes: size,
                }),
            ),
            (Binding::Register(decl), _) => {
                let registers = pass.facts.body().registers();
                let of_decl = |variable: VariableId| {
                    let place = pass.analysis.variables().place(variable);
                    registers
                        .get(place.register)
                        .is_some_and(|r| r.decl == decl)
                };
                let returned = pass.ssa.returned().iter();
                let returned = returned.filter(|r| of_decl(r.variable));
                returned.fold(Known::Nothing, |k, r| k.join(pass.value(r.value)))
            }
            _ => Known::Any,
        };
        found.push(without_local(known));
    }
    found
}

/// The arguments of the direct calls of a function.
fn given(pass: &mut Pass<'_>) -> Vec<(SymbolId, Vec<Known>)> {
    let body = pass.facts.body();
    let mut found = Vec::new();
    for (stmt, statement) in body.statements() {
        let Statement::Inst(inst) = statement else {
            continue;
        };
        let facts = pass.facts.inst(inst);
        if let Some(Callees::Function(callee)) = facts.callees() {
            let arguments = pass.arguments(stmt, &facts);
            let arguments = arguments
                .into_iter()
                .map(|a| without_parameter(without_local(a)));
            found.push((callee, arguments.collect()));
        }
    }
    found
}

/// The direct calls of a function of which nothing is known.
fn unknown(facts: FunctionFacts<'_>) -> Vec<(SymbolId, Vec<Known>)> {
    let insts = facts.body().insts();
    let callees = insts.filter_map(|(inst, _)| match facts.inst(inst).callees() {
        Some(Callees::Function(callee)) => Some((callee, Vec::new())),
        _ => None,
    });
    callees.collect()
}

/// An address in a variable or an allocation of the function, as others see it.
fn without_local(known: Known) -> Known {
    match (known, known.object()) {
        (
            Known::Address(origin),
            Some(Provenance::Variable(VariableRef::Local(_)) | Provenance::Allocation(_)),
        ) => Known::Address(Origin {
            object: None,
            offset: None,
            ..origin
        }),
        (other, _) => other,
    }
}

/// An address in what a parameter points to, as the functions see it that are called with it.
fn without_parameter(known: Known) -> Known {
    match (known, known.object()) {
        (Known::Address(origin), Some(Provenance::Parameter { .. })) if !origin.is_certain => {
            Known::Any
        }
        (Known::Address(origin), Some(Provenance::Parameter { .. })) => Known::Address(Origin {
            object: None,
            offset: None,
            ..origin
        }),
        (other, _) => other,
    }
}

/// What a call returns.
pub(super) fn returned(
    pass: &Pass<'_>,
    stmt: StmtId,
    callee: SymbolId,
    at: usize,
    arguments: &[Known],
) -> Known {
    let module = pass.facts.module();
    let Some(calls) = pass.calls else {
        return Known::Any;
    };
    let Some(function) = calls.graph.function(callee) else {
        return Known::Any;
    };
    if module.body(function).is_none() {
        let name = module.symbols().get(callee).map(|s| module.name(s.name));
        return match name == Some(ALLOCATION) && at == 0 {
            true => Known::Address(Origin {
                object: Some(Provenance::Allocation(stmt)),
                space: Some(StateSpace::Global),
                is_generic: true,
                is_certain: true,
                offset: Some(0),
            }),
            false => Known::Any,
        };
    }
    let results = calls.results.get(function.index());
    let known = results.and_then(|r| r.get(at)).copied();
    let known = known.unwrap_or(Known::Unknown);
    let Some(Provenance::Parameter { variable, offset }) = known.object() else {
        return known;
    };
    // What a parameter points to is what the argument points to.
    let header = module.functions().get(function);
    let params = header.map(|f| f.interface.params).unwrap_or_default();
    let mut params = params.of(module.params()).iter();
    let index = params.position(|p| p.binding == Binding::Var(variable));
    let argument = index.and_then(|at| arguments.get(at)).copied();
    match (argument.unwrap_or(Known::Any), known) {
        (Known::Address(argument), Known::Address(known)) if offset == 0 => {
            Known::Address(Origin {
                object: argument.object,
                space: argument
                    .space
                    .filter(|_| known.is_generic == argument.is_generic)
                    .or(known.space),
                is_generic: known.is_generic,
                is_certain: argument.is_certain || known.is_certain,
                offset: None,
            })
        }
        (Known::Nothing, _) => Known::Nothing,
        (argument, Known::Address(known)) if !known.is_certain => argument.plus(Known::Number),
        (_, Known::Address(known)) => Known::Address(Origin {
            object: None,
            offset: None,
            ..known
        }),
        (_, other) => other,
    }
}
