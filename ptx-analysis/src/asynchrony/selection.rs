//! Code that only some threads of a CTA execute, because a condition depends on their indices.

use alloc::vec::Vec;

use ptx_ir::facts::{FunctionFacts, Space};
use ptx_ir::{Statement, StmtId};
use ptx_isa::{StateSpace, Uniformity};

use crate::cfg::BlockId;
use crate::function_analysis::FunctionAnalysis;
use crate::ssa::{Ssa, Value, ValueId};
use crate::values::{Affine, Symbol, SymbolId, Values};

/// Definitions that are followed.
const DEPTH: usize = 5;

/// Dominators that are looked at.
const STEPS: usize = 16;

/// What is asked about conditions.
#[derive(Copy, Clone)]
pub(super) struct Conditions<'a> {
    pub(super) facts: FunctionFacts<'a>,
    pub(super) analysis: &'a FunctionAnalysis<'a>,
    pub(super) ssa: &'a Ssa,
    pub(super) values: &'a Values,
}

impl Conditions<'_> {
    /// The blocks whose branches decide if a block is executed and depend on the thread; then those whose branches depend only on
    /// parameters of the kernel. Both from the block upwards.
    pub(super) fn deciders(self, block: BlockId) -> [Vec<BlockId>; 2] {
        let mut deciders = [Vec::new(), Vec::new()];
        let mut at = block;
        for _ in 0..STEPS {
            let Some(above) = self.analysis.idom(at) else {
                break;
            };
            if self.analysis.ipdom(above) != Some(at)
                && let Some(stmt) = self.last(above)
            {
                if self.selects(stmt) {
                    deciders[0].push(above);
                } else if self.is_of_launch(stmt) {
                    deciders[1].push(above);
                }
            }
            at = above;
        }
        deciders
    }

    /// Whether the guard of a statement compares parameters of the kernel with each other or with constants.
    pub(super) fn is_of_launch(self, stmt: StmtId) -> bool {
        let Some([a, b]) = self
            .guard(stmt)
            .and_then(|value| self.values.compared(value))
        else {
            return false;
        };
        let is_parameter = |symbol| {
            let symbol = self.values.symbol(symbol);
            self.values.is_kernel() && matches!(symbol, Some(Symbol::Parameter { .. }))
        };
        let mut terms = a.terms().iter().chain(b.terms()).peekable();
        terms.peek().is_some() && terms.all(|term| is_parameter(term.symbol))
    }

    /// The value of the guard of a statement.
    fn guard(self, stmt: StmtId) -> Option<ValueId> {
        let Some(Statement::Inst(inst)) = self.facts.body().statement(stmt) else {
            return None;
        };
        let (register, _) = self.facts.inst(inst).guard_register()?;
        let variable = self.analysis.variables().of(register).start;
        self.ssa.read(stmt, variable)
    }

    fn last(self, block: BlockId) -> Option<StmtId> {
        let block = self.analysis.cfg().block(block)?;
        let mut range = self.facts.body().range(block.first, block.end).rev();
        range.find_map(|(stmt, s)| matches!(s, Statement::Inst(_)).then_some(stmt))
    }

    /// Whether the guard of a statement depends on the thread.
    pub(super) fn selects(self, stmt: StmtId) -> bool {
        self.guard(stmt)
            .is_some_and(|value| self.differs(value, DEPTH))
    }

    fn differs(self, value: ValueId, steps: usize) -> bool {
        if let Some([a, b]) = self.values.compared(value) {
            return self.form_differs(&a, steps) || self.form_differs(&b, steps);
        }
        let (Value::Def { stmt, .. }, Some(steps)) = (self.ssa.value(value), steps.checked_sub(1))
        else {
            return false;
        };
        let Some(Statement::Inst(inst)) = self.facts.body().statement(stmt) else {
            return false;
        };
        let facts = self.facts.inst(inst);
        let parameter = Space::State(StateSpace::Param);
        if facts.memory().any(|a| a.space != parameter) {
            return false;
        }
        let form = self.values.affine(value);
        let own = form.terms().iter().any(|t| {
            let symbol = self.values.symbol(t.symbol);
            matches!(symbol, Some(Symbol::Value { value: v, .. }) if v == value)
        });
        match own || form.terms().is_empty() {
            // Of an instruction without sources, such as an election, only the results tell.
            true => {
                let sources = self.ssa.uses(stmt);
                facts.lanes().is_some() || sources.iter().any(|u| self.differs(u.value, steps))
            }
            false => self.form_differs(&form, steps),
        }
    }

    fn form_differs(self, form: &Affine, steps: usize) -> bool {
        form.terms()
            .iter()
            .any(|t| self.symbol_differs(t.symbol, steps))
    }

    fn symbol_differs(self, symbol: SymbolId, steps: usize) -> bool {
        match self.values.symbol(symbol) {
            Some(Symbol::Special(register, _)) => register.uniformity() > Uniformity::Cta,
            Some(Symbol::Product(a, b)) => {
                steps > 0
                    && (self.symbol_differs(a, steps - 1) || self.symbol_differs(b, steps - 1))
            }
            Some(Symbol::Value { value, .. }) => steps > 0 && self.differs(value, steps - 1),
            _ => false,
        }
    }
}
