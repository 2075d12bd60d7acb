//! The analysis of one function.

use alloc::vec::Vec;

use ptx_ir::facts::{self, Facts, FunctionFacts};
use ptx_ir::{Binding, Param, Statement, SymbolId};
use ptx_isa::{Access, Uniformity};

use super::acquires::Synchronization;
use super::context::Context;
use super::graphs::Graphs;
use super::pass::Pass;
use super::visible::Before;
use super::words::{self, Words};
use super::{FunctionUniformity, UniformDef};
use crate::cfg::BlockId;
use crate::function_analysis::FunctionAnalysis;
use crate::ssa::Value;

/// A call of a function of the module, or of another one.
pub(super) struct Call {
    pub(super) callee: SymbolId,
    pub(super) arguments: Vec<Words>,
    /// The largest group of which all threads call it, or none.
    pub(super) executed: Uniformity,
    /// What may happen before it.
    pub(super) before: Before,
}

/// What is known of the functions that a function calls.
pub(super) struct Callees<'a> {
    /// In which threads a word of a result is the same, if that is known; the callers of the function share it.
    pub(super) results: &'a dyn Fn(SymbolId, usize, usize) -> Option<Uniformity>,
    pub(super) synchronization: &'a dyn Fn(SymbolId) -> Synchronization,
}

impl Callees<'_> {
    /// Nothing is known.
    pub(super) const UNKNOWN: Self = Self {
        results: &|_, _, _| None,
        synchronization: &|_| Synchronization::UNKNOWN,
    };

    /// What a call reaches does; `None` for other instructions.
    pub(super) fn of(&self, inst: &Facts<'_>) -> Option<Synchronization> {
        Some(match inst.callees()? {
            facts::Callees::Function(symbol) => (self.synchronization)(symbol),
            _ => Synchronization::UNKNOWN,
        })
    }
}

/// What is found about a function.
pub(super) struct Outcome {
    pub(super) uniformity: FunctionUniformity,
    /// In which threads each word of the results is the same.
    pub(super) results: Vec<Uniformity>,
    pub(super) calls: Vec<Call>,
}

/// Analyzes a function.
pub(super) fn analyze(
    function: &FunctionAnalysis<'_>,
    context: &Context,
    callees: &Callees<'_>,
) -> Outcome {
    let Ok(ssa) = function.ssa_with_cells(&context.cells) else {
        return unknown(function.facts(), context);
    };
    let graphs = Graphs::new(function);
    let mut pass = Pass::new(function, &graphs, ssa, context, callees);
    pass.run();
    Outcome {
        results: returns(&pass),
        calls: calls(&pass),
        uniformity: uniformity(&pass),
    }
}

/// Nothing is known of the function.
fn unknown(facts: FunctionFacts<'_>, context: &Context) -> Outcome {
    let mut calls = Vec::new();
    for (inst, _) in facts.body().insts() {
        if let Some(facts::Callees::Function(callee)) = facts.inst(inst).callees() {
            calls.push(Call {
                callee,
                arguments: Vec::new(),
                executed: Uniformity::Varying,
                before: match context.is_optimistic {
                    true => Before::default(),
                    false => Before::ANYTHING,
                },
            });
        }
    }
    Outcome {
        uniformity: FunctionUniformity::default(),
        results: vec![Uniformity::Varying; words::total(facts.module(), context.returns(facts))],
        calls,
    }
}

fn uniformity(pass: &Pass<'_>) -> FunctionUniformity {
    let mut defs = Vec::new();
    for (id, value) in pass.ssa.values() {
        if let Value::Def { stmt, variable, .. } = value
            && variable < pass.ssa.carry()
        {
            defs.push(UniformDef {
                stmt,
                variable,
                uniformity: pass.values[id.as_u32() as usize],
            });
        }
    }
    defs.sort_unstable();
    let mut guards = Vec::new();
    for (stmt, statement) in pass.facts.body().statements() {
        if let Statement::Inst(inst) = statement
            && let Some((place, _)) = pass.facts.inst(inst).guard_register()
            && let Some(block) = pass.block(stmt)
        {
            guards.push((stmt, pass.place(stmt, place, block)));
        }
    }
    guards.sort_unstable();
    FunctionUniformity {
        defs,
        guards,
        blocks: pass.executions.clone(),
        branches: pass.branches.clone(),
    }
}

/// In which threads the results of the function are the same.
fn returns(pass: &Pass<'_>) -> Vec<Uniformity> {
    let blocks = pass.graphs.cfg.blocks();
    let returning: Vec<BlockId> = blocks
        .filter(|(_, b)| b.returns)
        .map(|(id, _)| id)
        .collect();
    // Threads may return at different places.
    let place = match returning.len() {
        0 | 1 => Uniformity::Grid,
        _ => pass
            .branches
            .iter()
            .copied()
            .fold(Uniformity::Grid, Uniformity::join),
    };
    let of = |param: &Param, word: usize, is_last: bool| {
        let level = match param.binding {
            Binding::Var(var) => {
                let all = pass.cells.words(var);
                let first = (all.start + word).min(all.end);
                let words = match is_last {
                    true => first..all.end,
                    false => first..(first + 1).min(all.end),
                };
                let levels = returning.iter();
                let levels = levels.map(|block| pass.words_level(words.clone(), *block));
                levels.fold(Uniformity::Grid, Uniformity::join)
            }
            Binding::Register(decl) => {
                let registers = pass.facts.body().registers();
                let of_decl = |variable: u32| {
                    let register = pass.variables.place(variable).register;
                    registers.get(register).is_some_and(|r| r.decl == decl)
                };
                let returned = pass.ssa.returned().iter();
                let levels = returned.filter(|r| of_decl(r.variable));
                let levels = levels.map(|r| pass.read(r.value, r.block));
                levels
                    .reduce(Uniformity::join)
                    .unwrap_or(Uniformity::Varying)
            }
            _ => Uniformity::Varying,
        };
        level.join(place)
    };
    let mut results = Vec::new();
    let returns = pass.context.returns(pass.facts);
    for (param, words) in words::numbered(pass.facts.module(), returns) {
        let count = words.len();
        results.extend((0..count).map(|word| of(param, word, word + 1 == count)));
    }
    results
}

/// The calls of functions by their names.
fn calls(pass: &Pass<'_>) -> Vec<Call> {
    let mut calls = Vec::new();
    for (stmt, statement) in pass.facts.body().statements() {
        let Statement::Inst(inst) = statement else {
            continue;
        };
        let of = pass.facts.inst(inst);
        let (Some(facts::Callees::Function(callee)), Some(block)) =
            (of.callees(), pass.block(stmt))
        else {
            continue;
        };
        let lists = of
            .call_lists()
            .filter(|(_, access)| *access == Access::Read);
        let operands = lists.flat_map(|(list, _)| list);
        let guard = of
            .guard_register()
            .map(|(place, _)| pass.place(stmt, place, block));
        let executed = pass.executions.get(block.as_u32() as usize).copied();
        calls.push(Call {
            callee,
            arguments: operands.map(|o| pass.words(stmt, block, *o)).collect(),
            executed: executed
                .unwrap_or(Uniformity::Varying)
                .join(guard.unwrap_or(Uniformity::Grid)),
            before: match pass.context.is_optimistic {
                true => Before::default(),
                false => pass.visible.before(stmt),
            },
        });
    }
    calls
}
