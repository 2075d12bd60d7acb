//! Which registers a litmus test still uses.

use std::collections::BTreeSet;

use super::{Instruction, Operand, Thread};

impl Instruction {
    /// The register that the instruction writes.
    pub(super) fn destination(&self) -> Option<usize> {
        match self {
            Self::Load { destination, .. } => Some(*destination),
            Self::Atomic { destination, .. } => *destination,
            Self::Arithmetic(_, destination, _) => Some(*destination),
            _ => None,
        }
    }

    /// The registers that the instruction reads.
    fn sources(&self) -> Vec<usize> {
        let operands: Vec<Operand> = match self {
            Self::Store { value, .. } => vec![*value],
            Self::Atomic { operands, .. }
            | Self::Arithmetic(_, _, operands)
            | Self::BranchIf(_, operands, _) => operands.to_vec(),
            Self::Barrier {
                barrier, quorum, ..
            } => std::iter::once(*barrier).chain(*quorum).collect(),
            _ => Vec::new(),
        };
        operands
            .into_iter()
            .filter_map(|operand| match operand {
                Operand::Register(register) => Some(register),
                Operand::Constant(_) => None,
            })
            .collect()
    }
}

/// The number of the instruction with a label.
pub(super) fn target(thread: &Thread, label: &str) -> Option<usize> {
    thread
        .instructions
        .iter()
        .position(|instruction| matches!(instruction, Instruction::Label(name) if name == label))
}

/// The instructions that may follow an instruction.
fn successors(thread: &Thread, number: usize) -> Vec<usize> {
    match thread.instructions.get(number) {
        Some(Instruction::Branch(label)) => target(thread, label).into_iter().collect(),
        Some(Instruction::BranchIf(_, _, label)) => {
            let mut next = vec![number + 1];
            next.extend(target(thread, label));
            next
        }
        Some(_) => vec![number + 1],
        None => Vec::new(),
    }
}

/// The labels to which an instruction branches that is not before them.
pub(super) fn loop_heads(thread: &Thread) -> Vec<bool> {
    let mut heads = vec![false; thread.instructions.len()];
    for number in 0..thread.instructions.len() {
        for next in successors(thread, number) {
            if next <= number
                && let Some(head) = heads.get_mut(next)
            {
                *head = true;
            }
        }
    }
    heads
}

/// For each instruction, the registers that are read later, if those in `at_end` are read at the end.
pub(super) fn live_registers(thread: &Thread, at_end: &BTreeSet<usize>) -> Vec<BTreeSet<usize>> {
    let count = thread.instructions.len();
    let mut live = vec![BTreeSet::new(); count];
    live.push(at_end.clone());
    let mut is_changed = true;
    while is_changed {
        is_changed = false;
        for number in (0..count).rev() {
            let Some(instruction) = thread.instructions.get(number) else {
                continue;
            };
            let mut registers = BTreeSet::new();
            for next in successors(thread, number) {
                registers.extend(live.get(next).into_iter().flatten().copied());
            }
            if let Some(destination) = instruction.destination() {
                registers.remove(&destination);
            }
            registers.extend(instruction.sources());
            if let Some(slot) = live.get_mut(number)
                && *slot != registers
            {
                *slot = registers;
                is_changed = true;
            }
        }
    }
    live
}
