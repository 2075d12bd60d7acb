//! Branches and guards that select some threads of a CTA, because a condition depends on their indices, or whole launches, because a condition
//! depends on parameters of the kernel.

use alloc::vec::Vec;

use ptx_ir::facts::{FunctionFacts, Space};
use ptx_ir::{Statement, StmtId};
use ptx_isa::{StateSpace, Uniformity};

use crate::cfg::BlockId;
use crate::function_dataflow::FunctionDataflow;
use crate::ssa::{Ssa, Value, ValueId};
use crate::values::{Affine, AffineSymbol, AffineSymbolId, Values};

/// The number of definitions that are followed, one after the other.
const DEPTH: usize = 5;

/// The number of dominators that are examined.
const MOST_DOMINATORS: usize = 16;

/// The blocks whose branches decide whether a block is executed, from the innermost to the outermost.
#[derive(Clone, Debug, Default)]
pub(super) struct Deciders {
    /// The branch depends on the thread.
    pub(super) by_thread: Vec<BlockId>,
    /// The branch depends on parameters of the kernel alone.
    pub(super) by_parameters: Vec<BlockId>,
}

impl Deciders {
    pub(super) fn is_empty(&self) -> bool {
        self.by_thread.is_empty() && self.by_parameters.is_empty()
    }
}

/// The conditions of a function.
#[derive(Copy, Clone)]
pub(super) struct Conditions<'a> {
    pub(super) facts: FunctionFacts<'a>,
    pub(super) analysis: &'a FunctionDataflow<'a>,
    pub(super) ssa: &'a Ssa,
    pub(super) values: &'a Values,
}

impl Conditions<'_> {
    /// The branches that decide whether a block is executed.
    pub(super) fn deciders(self, block: BlockId) -> Deciders {
        let mut deciders = Deciders::default();
        let mut dominated = block;
        for _ in 0..MOST_DOMINATORS {
            let Some(dominator) = self.analysis.idom(dominated) else {
                break;
            };
            if self.analysis.ipdom(dominator) != Some(dominated)
                && let Some(stmt) = self.last_instruction(dominator)
            {
                if self.is_guarded_by_thread(stmt) {
                    deciders.by_thread.push(dominator);
                } else if self.is_guarded_by_parameters(stmt) {
                    deciders.by_parameters.push(dominator);
                }
            }
            dominated = dominator;
        }
        deciders
    }

    /// Whether the guard of a statement compares parameters of the kernel with each other or with constants.
    pub(super) fn is_guarded_by_parameters(self, stmt: StmtId) -> bool {
        let Some([a, b]) = self
            .guard(stmt)
            .and_then(|value| self.values.compared(value))
        else {
            return false;
        };
        let mut terms = a.terms().iter().chain(b.terms()).peekable();
        self.values.is_kernel()
            && terms.peek().is_some()
            && terms.all(|term| {
                let symbol = self.values.symbol(term.symbol);
                matches!(symbol, Some(AffineSymbol::Parameter { .. }))
            })
    }

    /// Whether the guard of a statement depends on the thread.
    pub(super) fn is_guarded_by_thread(self, stmt: StmtId) -> bool {
        self.guard(stmt)
            .is_some_and(|value| self.differs(value, DEPTH))
    }

    /// The value of the guard of a statement, without its `!`.
    fn guard(self, stmt: StmtId) -> Option<ValueId> {
        let Some(Statement::Inst(inst)) = self.facts.body().statement(stmt) else {
            return None;
        };
        let (register, _) = self.facts.inst(inst).guard_register()?;
        let variable = self.analysis.variables().of(register).first();
        self.ssa.read(stmt, variable)
    }

    fn last_instruction(self, block: BlockId) -> Option<StmtId> {
        let block = self.analysis.cfg().block(block)?;
        Some(block.insts(self.facts.body()).next_back()?.0)
    }

    /// Whether a value depends on the thread, as far as `depth` definitions tell.
    fn differs(self, value: ValueId, depth: usize) -> bool {
        if let Some([a, b]) = self.values.compared(value) {
            return self.form_differs(a, depth) || self.form_differs(b, depth);
        }
        let (Value::Def { stmt, .. }, Some(depth)) = (self.ssa.value(value), depth.checked_sub(1))
        else {
            return false;
        };
        let Some(Statement::Inst(inst)) = self.facts.body().statement(stmt) else {
            return false;
        };
        let facts = self.facts.inst(inst);
        let parameter = Space::State(StateSpace::Param);
        if facts.memory().any(|access| access.space != parameter) {
            return false;
        }
        let form = self.values.affine(value);
        let is_opaque = form.terms().iter().any(|term| {
            let symbol = self.values.symbol(term.symbol);
            matches!(symbol, Some(AffineSymbol::Value { value: v, .. }) if v == value)
        });
        if !is_opaque && !form.terms().is_empty() {
            return self.form_differs(&form, depth);
        }
        // Lanes that execute an instruction together, such as an election, may get different results of equal sources.
        facts.member_mask().is_some()
            || self
                .ssa
                .uses(stmt)
                .iter()
                .any(|read| self.differs(read.value, depth))
    }

    fn form_differs(self, form: &Affine, depth: usize) -> bool {
        form.terms()
            .iter()
            .any(|term| self.symbol_differs(term.symbol, depth))
    }

    fn symbol_differs(self, symbol: AffineSymbolId, depth: usize) -> bool {
        match self.values.symbol(symbol) {
            Some(AffineSymbol::Special(register, _)) => register.uniformity() > Uniformity::Cta,
            Some(AffineSymbol::Product(a, b)) => {
                depth > 0
                    && (self.symbol_differs(a, depth - 1) || self.symbol_differs(b, depth - 1))
            }
            Some(AffineSymbol::Value { value, .. }) => depth > 0 && self.differs(value, depth - 1),
            _ => false,
        }
    }
}
