//! Induction variables, which change by the same step in each iteration of a loop.

use alloc::collections::BTreeMap;

use super::affine::{Affine, Need};
use super::pass::{Inductions, Pass};
use super::symbol::{Symbol, SymbolId, Symbols};
use super::trip_counts::TripCount;
use crate::cfg::BlockId;
use crate::graph::LoopId;
use crate::ssa::{Ssa, Value, ValueId};

/// An induction variable at the header of a loop.
#[derive(Copy, Clone, Debug)]
pub(super) struct Induction {
    /// The step that is added in each iteration; `None` if it varies.
    pub(super) step: Option<Affine>,
    /// The number of low zero bits of the step.
    pub(super) step_zeros: u32,
}

/// The results of the first pass.
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    pub(super) inductions: Inductions,
    pub(super) trip_counts: BTreeMap<LoopId, TripCount>,
}

impl Known {
    /// The greatest value of the counter of a loop.
    pub(super) fn last_iteration(&self, id: LoopId) -> Option<u64> {
        let most = self.trip_counts.get(&id)?.most()?;
        Some(most.saturating_sub(1))
    }
}

impl Pass<'_> {
    /// The phis at the headers of natural loops that change by a step.
    pub(super) fn inductions(&self) -> Inductions {
        let mut found = Inductions::new();
        for (id, info) in self.of.loops.iter() {
            for phi in self.of.ssa.phis(info.header()) {
                if let Some(induction) = self.induction(id, info.header(), phi) {
                    found.insert(phi, induction);
                }
            }
        }
        found
    }

    fn induction(&self, id: LoopId, header: BlockId, phi: ValueId) -> Option<Induction> {
        let bits = self.entries.width(phi);
        if !(8..=64).contains(&bits) {
            return None;
        }
        let own = Symbols::value(phi, false);
        let mut step: Option<Option<Affine>> = None;
        let mut zeros = u32::from(bits);
        let args = self.of.ssa.args(phi).iter();
        for ((_, edge), &arg) in self.of.cfg.in_edges(header).zip(args) {
            if arg == Ssa::UNKNOWN || !self.of.loops.contains(id, edge.from) {
                continue;
            }
            let next = self.entries.form(arg);
            let rest = next
                .sub(&Affine::symbol(own), Need::Low(bits))?
                .modulo(bits);
            if rest.factor(own) != 0 {
                return None;
            }
            zeros = zeros.min(self.form_alignment(&rest).zeros());
            let is_fixed = rest.terms().iter().all(|t| self.is_invariant(id, t.symbol));
            let this = Some(rest).filter(|_| is_fixed);
            step = Some(match step {
                None => this,
                Some(before) => before.filter(|b| this == Some(*b)),
            });
        }
        Some(Induction {
            step: step?,
            step_zeros: zeros,
        })
    }

    /// Whether a symbol keeps its value while a loop is repeated.
    pub(super) fn is_invariant(&self, id: LoopId, symbol: SymbolId) -> bool {
        match self.symbols.get(symbol) {
            Some(Symbol::Value { value, .. }) => {
                let block = match self.of.ssa.value(value) {
                    Value::Def { stmt, .. } => self.of.cfg.of_statement(stmt),
                    Value::Phi { block, .. } => Some(block),
                    Value::Entry { .. } => return true,
                    Value::Unknown => None,
                };
                block.is_some_and(|b| !self.of.loops.contains(id, b))
            }
            Some(Symbol::Counter(other)) => {
                let header = self.of.loops.get(other).map(|l| l.header());
                header.is_some_and(|h| !self.of.loops.contains(id, h))
            }
            Some(Symbol::Product(a, b)) => self.is_invariant(id, a) && self.is_invariant(id, b),
            Some(_) => true,
            None => false,
        }
    }
}
