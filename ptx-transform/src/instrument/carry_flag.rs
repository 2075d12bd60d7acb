//! The carry flag around probes.
//!
//! It lives from an instruction with `.cc` to the next that reads it, and calls do not keep it. Where a probe stands between
//! the two and changes it, or calls, its value goes through a register. A borrow is saved and set by a subtraction, so that
//! nothing depends on how the two share the flag. Manual 9.7.2.

use alloc::collections::BTreeMap;

use ptx_ir::facts::{Flow, FunctionFacts};
use ptx_ir::{Operand, Signature, Statement, StmtId};
use ptx_isa::{Control, EffectKind, Modifier};

/// How the instruction that reads the flag computes.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Family {
    Sum,
    Difference,
}

/// The instructions that copy the flag into a register, 0 or all ones for a borrow, and back.
const SAVE: [&str; 2] = ["addc.u32", "subc.u32"];
const RESTORE: [&str; 2] = ["add.cc.u32", "sub.cc.u32"];

impl Family {
    fn of(signature: Signature<'_>) -> Self {
        let [_, difference] = SAVE;
        match difference.split('.').next() == Some(signature.opcode_text()) {
            true => Self::Difference,
            false => Self::Sum,
        }
    }

    /// The mnemonic that saves the flag, with its operands behind the result.
    pub(super) fn save(self) -> (&'static str, [Operand; 2]) {
        (SAVE[self as usize], [Operand::Small(0), Operand::Small(0)])
    }

    /// The mnemonic that sets it again, with its operands behind the result, which is of no use.
    pub(super) fn restore(self, saved: Operand) -> (&'static str, [Operand; 2]) {
        let operands = match self {
            // 1 + 0xffffffff carries, 0 + 0xffffffff does not.
            Self::Sum => [saved, Operand::Small(-1)],
            // 0 - 0xffffffff borrows, 0 - 0 does not.
            Self::Difference => [Operand::Small(0), saved],
        };
        (RESTORE[self as usize], operands)
    }
}

/// The statements before which the flag has a value that will be read. Where control comes together or goes elsewhere, the
/// flag is taken to be needed if it is at any label of the function.
pub(super) fn live(of: FunctionFacts<'_>) -> BTreeMap<StmtId, Family> {
    let body = of.body();
    let (mut reads, mut found) = (false, BTreeMap::new());
    for (inst, _) in body.insts() {
        let facts = of.inst(inst);
        reads |= facts.is_known() && facts.reads_carry();
    }
    if !reads {
        return found;
    }
    let mut at_labels = None;
    loop {
        let mut now: Option<Family> = None;
        let before = at_labels;
        for (stmt, statement) in body.statements().rev() {
            match statement {
                Statement::Inst(inst) => {
                    let facts = of.inst(inst);
                    match facts.flow() {
                        Flow::Next | Flow::Unknown => {}
                        Flow::Jump | Flow::Table => {
                            now = at_labels.or(now.filter(|_| facts.falls_through()));
                        }
                        // A call loses it.
                        Flow::Call => now = None,
                        _ => now = now.filter(|_| facts.falls_through()),
                    }
                    if facts.is_known() && facts.reads_carry() {
                        let sig = body.inst(inst).map(|i| i.sig);
                        now = sig.map(|s| Family::of(of.module().signature(s)));
                    } else if facts.is_known() && facts.writes_carry() && facts.guard().is_none() {
                        now = None;
                    }
                }
                Statement::Label(_) => at_labels = at_labels.or(now),
                _ => {}
            }
            if let Some(family) = now {
                found.insert(stmt, family);
            }
        }
        if at_labels == before {
            return found;
        }
    }
}

/// Whether an instruction with this mnemonic may change the flag.
pub(super) fn may_change(signature: Signature<'_>) -> bool {
    let Some(instruction) = signature.instruction() else {
        return true;
    };
    let mut effects = instruction.forms().iter().flat_map(|f| f.effects());
    signature.has(Modifier::Cc) || effects.any(|e| e.kind == EffectKind::Control(Control::Call))
}
