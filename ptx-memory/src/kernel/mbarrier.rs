//! mbarrier objects as atomic operations on one word.
//!
//! The word contains, from its lowest bit, the pending arrivals (20 bits), the arrivals of later phases (20 bits), the bytes of pending
//! transactions (23 bits), and the parity of the current phase.

use ptx_ir::facts::Facts;
use ptx_isa::Action;

use super::memory::Target;
use super::step::Done;
use super::{Kernel, KernelThread};
use crate::program::{Step, Update, Value};

const FIELD: u64 = (1 << 20) - 1;
const TRANSACTIONS: u64 = (1 << 23) - 1;

/// The word of an mbarrier object that waits for arrivals.
pub(super) fn initial(count: u64) -> u64 {
    (count & FIELD) | (count & FIELD) << 20
}

/// The word after an operation with a number of arrivals and of expected bytes.
pub(super) fn after(word: u64, arrivals: u64, bytes: u64, drops: bool) -> u64 {
    let expected = word >> 20 & FIELD;
    let expected = if drops {
        expected.wrapping_sub(arrivals) & FIELD
    } else {
        expected
    };
    let pending = (word & FIELD).wrapping_sub(arrivals) & FIELD;
    let transactions = (word >> 40).wrapping_add(bytes) & TRANSACTIONS;
    let parity = word >> 63;
    if pending == 0 && transactions == 0 {
        expected | expected << 20 | (parity ^ 1) << 63
    } else {
        pending | expected << 20 | transactions << 40 | parity << 63
    }
}

/// Whether a phase with a parity is complete.
pub(super) fn is_complete(word: u64, parity: u64) -> bool {
    word >> 63 != parity & 1
}

/// Whether an action changes an mbarrier object atomically.
pub(super) fn is_update(action: Action) -> bool {
    matches!(
        action,
        Action::MbarrierArrive
            | Action::MbarrierDrop
            | Action::MbarrierExpect
            | Action::MbarrierComplete
            | Action::CopyArrive
    )
}

impl Kernel<'_> {
    /// An operation on an mbarrier object.
    pub(super) fn mbarrier_step(
        &self,
        state: &mut KernelThread,
        facts: &Facts<'_>,
        action: Action,
        guard: &Value,
    ) -> Done {
        let Some(access) = facts.memory().find(|access| access.is_mbarrier) else {
            return self.unsupported(facts);
        };
        let (target, address) = self.target(state, facts, &access, 0, 8);
        let location = match target {
            Target::Location(location) => Some(location),
            Target::Unknown => None,
            Target::Invalid(message) => return Done::Stop(Step::Fault(message)),
            _ => return self.unsupported(facts),
        };
        let mut values = vec![guard.clone(), address];
        values.extend(self.operand_values(state, facts));
        let values: Vec<&Value> = values.iter().collect();
        let step = self.step_access(state, facts, &access, location, &values);
        match action {
            Action::MbarrierInit => {
                let count = self
                    .numbered_source(state, facts, 0)
                    .and_then(|value| value.bits);
                if !state.initialized.contains(&step.instruction) {
                    state.initialized.push(step.instruction);
                }
                state.next += 1;
                let bits = count.map(|count| u128::from(initial(count as u64)));
                Done::Stop(Step::Write(step, bits))
            }
            Action::MbarrierTest | Action::MbarrierWait => Done::Stop(Step::Read(step)),
            _ => Done::Stop(Step::Atomic {
                access: step,
                is_reduction: facts.destination(0).is_none(),
            }),
        }
    }

    /// The word of an mbarrier object after an update.
    pub(super) fn mbarrier_update(
        &self,
        state: &KernelThread,
        facts: &Facts<'_>,
        word: u64,
    ) -> Update {
        let Some(action) = facts.action() else {
            return Update::Nothing;
        };
        let operand = match self.numbered_source(state, facts, 0) {
            None => 1,
            Some(value) => match value.bits {
                Some(bits) => bits as u64,
                None => return Update::Unknown,
            },
        };
        // Arrivals that also expect bytes have the number of bytes instead of a count.
        let expects = facts
            .source(0)
            .is_some_and(|source| source.name.starts_with("tx"));
        let (arrivals, bytes) = match action {
            // The pending arrival that `cp.async.mbarrier.arrive` adds.
            Action::CopyArrive => (1_u64.wrapping_neg(), 0),
            Action::MbarrierExpect => (0, operand),
            Action::MbarrierComplete => (0, operand.wrapping_neg()),
            _ if expects => (1, operand),
            _ => (operand, 0),
        };
        let drops = action == Action::MbarrierDrop;
        Update::Write(after(word, arrivals, bytes, drops).into())
    }

    /// Passes the result of a test of an mbarrier object: whether a phase is complete.
    pub(super) fn receive_test(&self, state: &mut KernelThread, facts: &Facts<'_>, value: Value) {
        // The parity is an operand of 32 bits, the state of an arrival one of 64 bits.
        let source = facts.source(0);
        let is_parity = source.is_some_and(|source| source.ty.is_some_and(|ty| ty.bits() == 32));
        let phase = self.numbered_source(state, facts, 0).unwrap_or_default();
        let mut dependencies = value.dependencies;
        dependencies.extend(&phase.dependencies);
        let bits = value.bits.zip(phase.bits).map(|(word, phase)| {
            let parity = if is_parity {
                phase as u64
            } else {
                phase as u64 >> 63
            };
            u128::from(is_complete(word as u64, parity))
        });
        self.set_destination(state, facts, Value { bits, dependencies });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_end_with_the_last_arrival() {
        let word = after(initial(2), 1, 0, false);
        assert!(!is_complete(word, 0));
        let word = after(word, 1, 0, false);
        assert!(is_complete(word, 0) && !is_complete(word, 1));
        assert_eq!(word & FIELD, 2);
        // The phase also waits for bytes.
        let word = after(after(word, 1, 16, false), 1, 0, false);
        assert!(!is_complete(word, 1));
        let word = after(word, 0, 16_u64.wrapping_neg(), false);
        assert!(is_complete(word, 1));
    }
}
