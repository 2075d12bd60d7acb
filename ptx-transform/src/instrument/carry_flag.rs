//! Preserves the carry flag around probes.
//!
//! The flag is live from an instruction with `.cc` to the next one that reads it, and calls do not preserve it. If a probe
//! between the two changes it or makes a call, its value is saved in a register. A borrow is saved and restored by subtractions,
//! so that nothing depends on how carry and borrow share the flag. Manual 9.7.2.

use alloc::vec::Vec;

use ptx_ir::facts::{Flow, FunctionFacts};
use ptx_ir::{EntityId, Operand, Signature, Statement};
use ptx_isa::Modifier;
use ptx_isa::internals::{Control, EffectKind};

use super::mnemonics;

/// The kind of instruction that reads the flag.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Family {
    Sum,
    Difference,
}

impl Family {
    fn of(signature: Signature<'_>) -> Self {
        if mnemonics::SUBTRACT_WITH_BORROW.split('.').next() == Some(signature.opcode_text()) {
            Self::Difference
        } else {
            Self::Sum
        }
    }

    /// The mnemonic that copies the flag into a register, as 1 for a carry and -1 for a borrow, and its source operands.
    pub(super) fn save(self) -> (&'static str, [Operand; 2]) {
        let mnemonic = match self {
            Self::Sum => mnemonics::ADD_WITH_CARRY,
            Self::Difference => mnemonics::SUBTRACT_WITH_BORROW,
        };
        (mnemonic, [Operand::Small(0), Operand::Small(0)])
    }

    /// The mnemonic that sets the flag again, and its source operands. Its result is not needed.
    pub(super) fn restore(self, saved: Operand) -> (&'static str, [Operand; 2]) {
        match self {
            // 1 + 0xffffffff carries, 0 + 0xffffffff does not.
            Self::Sum => (mnemonics::ADD_SETTING_CARRY, [saved, Operand::Small(-1)]),
            // 0 - 0xffffffff borrows, 0 - 0 does not.
            Self::Difference => (
                mnemonics::SUBTRACT_SETTING_BORROW,
                [Operand::Small(0), saved],
            ),
        }
    }
}

/// For each statement, the family of the next reader if the flag is live before it; empty if the flag is never read. At joins and jumps, the flag is
/// assumed to be live if it is live at any label of the function.
pub(super) fn live(function: FunctionFacts<'_>) -> Vec<Option<Family>> {
    let body = function.body();
    let mut has_reader = false;
    for (inst, _) in body.insts() {
        let facts = function.inst(inst);
        has_reader |= facts.is_known() && facts.reads_carry();
    }
    if !has_reader {
        return Vec::new();
    }
    let mut live = vec![None; body.statement_table().len()];
    let mut at_labels = None;
    loop {
        let mut reader: Option<Family> = None;
        let old_at_labels = at_labels;
        for (stmt, statement) in body.statements().rev() {
            match statement {
                Statement::Inst(inst) => {
                    let facts = function.inst(inst);
                    match facts.flow() {
                        // Calls preserve the flag in the code that ptxas makes.
                        Flow::Next | Flow::Call | Flow::Unknown => {}
                        Flow::Jump | Flow::Table => {
                            reader = at_labels.or(reader.filter(|_| facts.falls_through()));
                        }
                        _ => reader = reader.filter(|_| facts.falls_through()),
                    }
                    if facts.is_known() && facts.reads_carry() {
                        let sig = body.inst(inst).map(|i| i.sig);
                        reader = sig.map(|s| Family::of(function.module().signature(s)));
                    } else if facts.is_known()
                        && facts.writes_carry()
                        && facts.flow() != Flow::Call
                        && facts.guard().is_none()
                    {
                        reader = None;
                    }
                }
                Statement::Label(_) => at_labels = at_labels.or(reader),
                _ => {}
            }
            if let Some(live) = live.get_mut(stmt.index()) {
                *live = reader.or(*live);
            }
        }
        if at_labels == old_at_labels {
            return live;
        }
    }
}

/// Whether an instruction with this mnemonic may change the flag.
pub(super) fn may_change(signature: Signature<'_>) -> bool {
    let Some(instruction) = signature.instruction() else {
        return true;
    };
    let mut effects = instruction.forms().iter().flat_map(|f| f.effects());
    signature.has(Modifier::Cc) || effects.any(|e| e.kind() == EffectKind::Control(Control::Call))
}
