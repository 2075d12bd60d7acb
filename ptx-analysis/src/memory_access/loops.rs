//! Loops in which the lanes of a warp stay converged.

use alloc::vec::Vec;

use ptx_ir::facts::{Flow, FunctionFacts};
use ptx_ir::{InstId, Statement, StmtId};
use ptx_isa::Uniformity;

use crate::function_dataflow::FunctionDataflow;
use crate::ssa::Ssa;
use crate::values::{Affine, AffineSymbol, AffineSymbolId, Values};

/// For each loop, whether every branch in it is uniform in the warp. Outer loops come before inner ones.
pub(super) fn uniform(analysis: &FunctionDataflow<'_>, ssa: &Ssa, values: &Values) -> Vec<bool> {
    let facts = analysis.facts();
    let loops = analysis.loops();
    let mut uniform = vec![true; loops.len()];
    // A branch that compares the counter of a loop that is not uniform is not uniform.
    loop {
        let mut next = uniform.clone();
        for (block, data) in analysis.cfg().blocks() {
            let index = loops.innermost(block).map(|id| id.as_u32() as usize);
            let slot = index.and_then(|index| next.get_mut(index));
            let Some(slot) = slot.filter(|slot| **slot) else {
                continue;
            };
            let branch = last(facts, data.first, data.end);
            *slot = branch.is_none_or(|(stmt, inst)| {
                is_together(analysis, ssa, values, stmt, inst, &uniform)
            });
        }
        // A loop is not uniform if a loop inside of it is not. Inner loops come after it.
        for (id, data) in loops.iter().rev() {
            let parent = data.parent().map(|p| p.as_u32() as usize);
            if next.get(id.as_u32() as usize) == Some(&false)
                && let Some(slot) = parent.and_then(|index| next.get_mut(index))
            {
                *slot = false;
            }
        }
        if next == uniform {
            return uniform;
        }
        uniform = next;
    }
}

/// The last instruction of a block.
fn last(facts: FunctionFacts<'_>, first: StmtId, end: StmtId) -> Option<(StmtId, InstId)> {
    let mut range = facts.body().range(first, end).rev();
    range.find_map(|(stmt, statement)| match statement {
        Statement::Inst(inst) => Some((stmt, inst)),
        _ => None,
    })
}

/// Whether the lanes that execute the terminator of a block stay converged.
fn is_together(
    analysis: &FunctionDataflow<'_>,
    ssa: &Ssa,
    values: &Values,
    stmt: StmtId,
    inst: InstId,
    loops: &[bool],
) -> bool {
    let facts = analysis.facts().inst(inst);
    if facts.flow() == Flow::Next {
        return true;
    }
    if !facts.is_known() || facts.flow() == Flow::Table {
        return false;
    }
    let Some((place, _)) = facts.guard_register() else {
        return facts.guard().is_none();
    };
    let mut variables = analysis.variables().of(place);
    let value = variables.next().and_then(|v| ssa.read(stmt, v));
    let Some([a, b]) = value.and_then(|v| values.compared(v)) else {
        return value.is_some_and(|v| values.is_constant_condition(v));
    };
    let uniform = |form: &Affine| {
        form.terms()
            .iter()
            .all(|t| is_uniform(values, t.symbol, loops))
    };
    uniform(a) && uniform(b)
}

/// Whether a symbol is uniform among the lanes of a warp that execute an instruction together.
pub(super) fn is_uniform(values: &Values, symbol: AffineSymbolId, loops: &[bool]) -> bool {
    match values.symbol(symbol) {
        Some(AffineSymbol::Special(register, _)) => register.uniformity() <= Uniformity::Warp,
        Some(AffineSymbol::Parameter { .. }) => values.is_kernel(),
        Some(AffineSymbol::Variable(_) | AffineSymbol::Window(_)) => true,
        Some(AffineSymbol::Counter(id)) => loops.get(id.as_u32() as usize) == Some(&true),
        Some(AffineSymbol::Product(a, b)) => {
            is_uniform(values, a, loops) && is_uniform(values, b, loops)
        }
        _ => false,
    }
}
