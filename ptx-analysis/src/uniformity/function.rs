//! The analysis of one function.

use alloc::vec::Vec;
use core::ops::Range;

use ptx_ir::facts::{self, FunctionFacts};
use ptx_ir::{Binding, Param, RegDeclId, Statement, SymbolId};
use ptx_isa::{Access, Uniformity};

use super::context::{Callees, Context};
use super::evaluation::{Evaluation, Site};
use super::graphs::Graphs;
use super::synchronization::Before;
use super::words::{self, Words};
use super::{FunctionUniformity, UniformDef};
use crate::cfg::BlockId;
use crate::function_analysis::FunctionAnalysis;
use crate::ssa::Value;

/// A direct call.
pub(super) struct Call {
    pub(super) callee: SymbolId,
    pub(super) arguments: Vec<Words>,
    /// The largest group of which all threads execute the call, or none.
    pub(super) executed: Uniformity,
    /// The synchronization that may happen before the call.
    pub(super) before: Before,
}

/// The result of the analysis of a function.
pub(super) struct Outcome {
    pub(super) uniformity: FunctionUniformity,
    /// The uniformity of each word of the results.
    pub(super) results: Vec<Uniformity>,
    pub(super) calls: Vec<Call>,
}

/// Analyzes a function.
pub(super) fn analyze(
    function: &FunctionAnalysis<'_>,
    context: &Context,
    callees: &Callees<'_>,
) -> Outcome {
    let (Ok(ssa), Ok(ssa_graph)) = (
        function.ssa_with_cells(&context.cells),
        function.ssa_graph_with_cells(&context.cells),
    ) else {
        return unknown(function.facts(), context);
    };
    let graphs = Graphs::new(function, function.regions());
    let mut evaluation = Evaluation::new(function, &graphs, ssa, ssa_graph, context, callees);
    evaluation.run();
    Outcome {
        results: results(&evaluation),
        calls: calls(&evaluation),
        uniformity: uniformity(&evaluation),
    }
}

/// The outcome for a function without an SSA form.
fn unknown(facts: FunctionFacts<'_>, context: &Context) -> Outcome {
    let mut calls = Vec::new();
    for (inst, _) in facts.body().insts() {
        if let Some(facts::Callees::Function(callee)) = facts.inst(inst).callees() {
            calls.push(Call {
                callee,
                arguments: Vec::new(),
                executed: Uniformity::Varying,
                before: if context.is_optimistic {
                    Before::default()
                } else {
                    Before::ANYTHING
                },
            });
        }
    }
    let words = words::total(facts.module(), context.returns(facts));
    Outcome {
        uniformity: FunctionUniformity::default(),
        results: vec![Uniformity::Varying; words],
        calls,
    }
}

fn uniformity(evaluation: &Evaluation<'_>) -> FunctionUniformity {
    let mut defs = Vec::new();
    for (id, value) in evaluation.ssa.values() {
        if let Value::Def { stmt, variable, .. } = value
            && variable < evaluation.ssa.carry()
        {
            defs.push(UniformDef {
                stmt,
                variable,
                uniformity: *evaluation.solver.value(id),
            });
        }
    }
    defs.sort_unstable();
    let mut guards = Vec::new();
    for (stmt, statement) in evaluation.facts.body().statements() {
        if let Statement::Inst(inst) = statement
            && let Some((register, _)) = evaluation.facts.inst(inst).guard_register()
            && let Some(block) = evaluation.block(stmt)
        {
            guards.push((stmt, evaluation.register(stmt, register, block)));
        }
    }
    guards.sort_unstable();
    FunctionUniformity {
        defs,
        guards,
        blocks: evaluation.executions.clone(),
        branches: evaluation.branches.clone(),
        joins: evaluation.control.joins().to_vec(),
        exits: evaluation.control.exits().to_vec(),
    }
}

/// The uniformity of each word of the results of a function.
fn results(evaluation: &Evaluation<'_>) -> Vec<Uniformity> {
    let returning: Vec<BlockId> = evaluation
        .graphs
        .cfg
        .blocks()
        .filter(|(_, block)| block.returns)
        .map(|(id, _)| id)
        .collect();
    // Threads may return from different blocks.
    let mut returned_together = Uniformity::Grid;
    if returning.len() > 1 {
        for branch in &evaluation.branches {
            returned_together = returned_together.join(*branch);
        }
    }
    let mut results = Vec::new();
    let params = evaluation.context.returns(evaluation.facts);
    for (param, words) in words::numbered(evaluation.facts.module(), params) {
        for word in 0..words.len() {
            let is_last = word + 1 == words.len();
            let uniformity = match param.binding {
                Binding::Var(_) => {
                    let words = param_words(evaluation, param, word, is_last);
                    returning.iter().fold(Uniformity::Grid, |joined, block| {
                        joined.join(evaluation.words_uniformity(words.clone(), *block))
                    })
                }
                Binding::Register(decl) => returned_register(evaluation, decl),
                _ => Uniformity::Varying,
            };
            results.push(uniformity.join(returned_together));
        }
    }
    results
}

/// The words of a result in `.param` that count as one word of the result; the last one includes all words after it.
fn param_words(
    evaluation: &Evaluation<'_>,
    param: &Param,
    word: usize,
    is_last: bool,
) -> Range<usize> {
    let Binding::Var(variable) = param.binding else {
        return 0..0;
    };
    let words = evaluation.cells.words(variable);
    let first = (words.start + word).min(words.end);
    if is_last {
        first..words.end
    } else {
        first..(first + 1).min(words.end)
    }
}

/// The uniformity of the registers of a declaration where the function returns.
fn returned_register(evaluation: &Evaluation<'_>, decl: RegDeclId) -> Uniformity {
    let registers = evaluation.facts.body().registers();
    evaluation
        .ssa
        .returned()
        .iter()
        .filter(|returned| {
            let register = evaluation.variables.place(returned.variable).register;
            registers.get(register).is_some_and(|r| r.decl == decl)
        })
        .map(|returned| evaluation.read(returned.value, returned.block))
        .reduce(Uniformity::join)
        .unwrap_or(Uniformity::Varying)
}

/// The direct calls of a function.
fn calls(evaluation: &Evaluation<'_>) -> Vec<Call> {
    let mut calls = Vec::new();
    for (stmt, statement) in evaluation.facts.body().statements() {
        let Statement::Inst(inst) = statement else {
            continue;
        };
        let inst_facts = evaluation.facts.inst(inst);
        let (Some(facts::Callees::Function(callee)), Some(block)) =
            (inst_facts.callees(), evaluation.block(stmt))
        else {
            continue;
        };
        let site = Site {
            stmt,
            inst,
            facts: inst_facts,
            block,
        };
        let arguments = inst_facts
            .call_lists()
            .filter(|(_, access)| *access == Access::Read)
            .flat_map(|(list, _)| list)
            .map(|operand| evaluation.argument_words(&site, *operand))
            .collect();
        let executed = evaluation.executions.get(block.as_u32() as usize);
        calls.push(Call {
            callee,
            arguments,
            executed: executed
                .copied()
                .unwrap_or(Uniformity::Varying)
                .join(evaluation.guard(&site)),
            before: if evaluation.context.is_optimistic {
                Before::default()
            } else {
                evaluation.visible.before(stmt)
            },
        });
    }
    calls
}
