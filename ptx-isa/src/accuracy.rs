//! How far the result of an instruction may be from the exact value.

use crate::{Computation, Cond, SlotAssignment};

/// The greatest error of an approximation.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum ErrorLimit {
    /// Units in the last place of the result.
    Ulp(u16),
    /// The difference from the exact value: two to the power of this number of thousandths.
    Absolute(i32),
    /// The difference divided by the exact value: two to the power of this number of thousandths.
    Relative(i32),
}

record! {
    /// A bound of the error of an approximation, and for what it holds.
    #[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
    pub struct ErrorBound {
        /// The greatest error.
        limit: ErrorLimit,
        /// For which modifiers it holds.
        when: Cond,
        /// For which values of an operand it holds; `None` for all.
        range: Option<MagnitudeRange>,
    }
}

record! {
    /// The absolute values of an operand from one number to another.
    #[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
    pub struct MagnitudeRange {
        /// The index of the operand.
        operand: u8,
    }
    private {
        low: u64,
        high: u64,
    }
}

impl MagnitudeRange {
    /// The least absolute value.
    #[must_use]
    pub const fn low(&self) -> f64 {
        f64::from_bits(self.low)
    }

    /// The greatest absolute value.
    #[must_use]
    pub const fn high(&self) -> f64 {
        f64::from_bits(self.high)
    }
}

impl Computation {
    /// Whether the results are approximations: an instruction may give other bits than those of the rounded exact value.
    #[must_use]
    pub const fn is_approximate(&self) -> bool {
        self.accuracy.is_some()
    }

    /// The greatest error for modifiers and for the absolute values of operands; `None` if the results are exact, or if the PTX ISA manual
    /// gives no bound.
    ///
    /// ```
    /// use ptx_isa::{ErrorLimit, Modifier, Opcode, find_instruction};
    ///
    /// let modifiers = [Modifier::Approx, Modifier::F32];
    /// let sine = &find_instruction(Opcode::Sin, &modifiers).unwrap().forms()[0];
    /// let slots = sine.match_modifiers(&modifiers).unwrap();
    /// let computation = sine.computation().unwrap();
    /// assert!(computation.is_approximate());
    /// let limit = |angle| computation.error_limit(&slots, |_operand| angle);
    /// assert_eq!(limit(1.0), Some(ErrorLimit::Absolute(-20_500)));
    /// assert_eq!(limit(100.0), Some(ErrorLimit::Absolute(-14_700)));
    /// assert_eq!(limit(1000.0), None);
    /// ```
    #[must_use]
    pub fn error_limit(
        &self,
        slots: &SlotAssignment,
        magnitude: impl Fn(u8) -> f64,
    ) -> Option<ErrorLimit> {
        let holds = |bound: &&ErrorBound| {
            let within = |range: MagnitudeRange| {
                let value = magnitude(range.operand);
                range.low() <= value && value <= range.high()
            };
            bound.when.decide(slots) == Some(true) && bound.range.is_none_or(within)
        };
        self.accuracy?.iter().find(holds).map(ErrorBound::limit)
    }
}
