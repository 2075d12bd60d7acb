//! Charges the work of an analysis to a budget.

use ptx_ir::{Budget, BudgetExhausted};

/// The cost of the work on a statement, a phi or an argument of a phi in bytes: about the bytes of an instruction.
const STEP_COST: usize = 32;

/// The cost that is charged at once. Several threads may charge the same budget, so it is not charged for each statement.
const CHARGED_COST: usize = 1 << 14;

/// Charges the work of one analysis of a function to a budget.
#[derive(Debug)]
pub struct Meter<'b> {
    budget: &'b Budget,
    /// The cost of the work that was not charged yet.
    pending: usize,
}

impl<'b> Meter<'b> {
    /// Begins an analysis.
    #[must_use]
    pub const fn new(budget: &'b Budget) -> Self {
        Self { budget, pending: 0 }
    }

    /// Counts the work on a number of statements, phis or arguments of phis.
    ///
    /// # Errors
    ///
    /// The budget is exhausted. Then the analysis ends without a result.
    #[inline]
    pub fn count(&mut self, steps: usize) -> Result<(), BudgetExhausted> {
        self.pending = self.pending.saturating_add(steps.saturating_mul(STEP_COST));
        if self.pending < CHARGED_COST {
            return Ok(());
        }
        self.charge()
    }

    /// Charges the work so far. An analysis does this at its end.
    ///
    /// # Errors
    ///
    /// The budget is exhausted.
    pub fn charge(&mut self) -> Result<(), BudgetExhausted> {
        self.budget.spend(core::mem::take(&mut self.pending))
    }
}
