//! What the functions of a module give to each other.

use alloc::vec::Vec;

use ptx_ir::facts::{Callees, FunctionFacts, ModuleFacts};
use ptx_ir::{Binding, EntityId as _, FuncId, FunctionKind, Statement, StmtId, SymbolId};
use ptx_isa::StateSpace;

use super::origin::{Known, Origin};
use super::pass::Pass;
use crate::calls::CallGraph;
use crate::function_analysis::FunctionAnalysis;
use crate::graph::ReversePostOrder;
use crate::memory_access::Provenance;
use crate::ssa::Ssa;
use crate::values::VariableRef;

/// The function of the CUDA device runtime that allocates global memory.
const ALLOCATION: &str = "malloc";

/// How often a function is analyzed before nothing is known of its arguments and results.
const RUNS: u8 = 8;

/// Which addresses the functions of a module give to each other through direct calls.
#[derive(Clone, Debug)]
pub struct CallSummaries {
    graph: CallGraph,
    /// Of each function that is only called directly, what all calls give to it.
    arguments: Vec<Option<Vec<Known>>>,
    /// What each function returns, in its own terms.
    results: Vec<Vec<Known>>,
}

impl CallSummaries {
    /// Looks at all functions that call or are called. What callers give to a function is only known if `facts` has all functions of the module.
    ///
    /// `docs/analysing.md` has an example.
    #[must_use]
    pub fn new(facts: &ModuleFacts<'_>) -> Self {
        let module = facts.module();
        let graph = CallGraph::new(facts);
        let count = module.functions().len();
        let mut summaries = Self {
            graph,
            arguments: vec![None; count],
            results: vec![Vec::new(); count],
        };
        // Otherwise there may be other calls.
        let all_calls = module
            .definitions()
            .all(|(id, ..)| facts.function(id).is_some());
        let mut order = Vec::new();
        for (id, function, _) in module.definitions() {
            let is_entry = function.kind == FunctionKind::Entry;
            let calls = &summaries.graph;
            if is_entry && calls.calls_of(id).next().is_none() {
                continue;
            }
            let known = all_calls && function.linkage.is_none() && !calls.is_address_taken(id);
            if !is_entry && known && !calls.callers(id).is_empty() {
                let params = function.interface.params.len as usize;
                summaries.arguments[id.index()] = Some(vec![Known::Nothing; params]);
            }
            let returns = function.interface.returns.len as usize;
            summaries.results[id.index()] = vec![Known::Nothing; returns];
            order.push(id);
        }
        order.sort_by_key(|id| core::cmp::Reverse(summaries.graph.component(*id)));
        summaries.run(facts, &order);
        summaries
    }

    /// What the calls of a function give to its parameters.
    pub(super) fn arguments(&self, function: FuncId) -> Option<&[Known]> {
        self.arguments.get(function.index())?.as_deref()
    }

    fn run(&mut self, facts: &ModuleFacts<'_>, order: &[FuncId]) {
        let count = facts.module().functions().len();
        let mut waiting = vec![false; count];
        let mut runs = vec![0u8; count];
        for id in order {
            waiting[id.index()] = true;
        }
        while order.iter().any(|id| waiting[id.index()]) {
            for id in order {
                if !core::mem::take(&mut waiting[id.index()]) {
                    continue;
                }
                let at = id.index();
                runs[at] = runs[at].saturating_add(1);
                if let Some(of) = facts.function(*id) {
                    self.analyze(*id, of, runs[at] > RUNS, &mut waiting);
                }
            }
        }
    }

    fn analyze(
        &mut self,
        id: FuncId,
        facts: FunctionFacts<'_>,
        give_up: bool,
        waiting: &mut [bool],
    ) {
        if give_up && let Some(arguments) = &mut self.arguments[id.index()] {
            arguments.fill(Known::Unknown);
        }
        let analysis = FunctionAnalysis::new(facts);
        let ssa = Ssa::new(
            facts,
            analysis.cfg(),
            analysis.dominators(),
            analysis.variables(),
        );
        let (mut results, calls) = match &ssa {
            Ok(ssa) => {
                let mut pass = Pass::new(facts, &analysis, ssa, Some(self));
                let order = ReversePostOrder::new(analysis.cfg());
                pass.run(order.order());
                (returns(&mut pass), given(&mut pass))
            }
            Err(_) => (
                vec![Known::Unknown; self.results[id.index()].len()],
                unknown(facts),
            ),
        };
        if give_up {
            results.fill(Known::Unknown);
        }
        for (callee, given) in calls {
            let Some(callee) = self.graph.function(callee) else {
                continue;
            };
            if let Some(Some(arguments)) = self.arguments.get_mut(callee.index())
                && raise(arguments, &given)
            {
                waiting[callee.index()] = true;
            }
        }
        if raise(&mut self.results[id.index()], &results) {
            for caller in self.graph.callers(id) {
                waiting[caller.index()] = true;
            }
        }
    }
}

/// Whether less is known than before.
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

/// What a function returns.
fn returns(pass: &mut Pass<'_>) -> Vec<Known> {
    let module = pass.facts.module();
    let function = module.functions().get(pass.facts.id());
    let returns = function.map(|f| f.interface.returns).unwrap_or_default();
    let mut found = Vec::new();
    for param in returns.of(module.params()) {
        let size = param.layout(module.pool()).and_then(|l| l.size);
        let known = match (param.binding, size) {
            (Binding::Var(variable), Some(size @ (4 | 8))) => {
                pass.slots.load(variable, (Some(0), size))
            }
            (Binding::Register(decl), _) => {
                let registers = pass.facts.body().registers();
                let of_decl = |variable: u32| {
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
