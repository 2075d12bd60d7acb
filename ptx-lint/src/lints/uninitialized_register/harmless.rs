//! Reads of uninitialized registers that are not reported because compilers generate them and the value does not matter.

use alloc::vec::Vec;

use ptx_analysis::reg_lanes::VariableId;
use ptx_analysis::ssa::Use;
use ptx_ir::facts::{Facts, MemoryAccess, RegAccess, RegisterComponent, Space};
use ptx_ir::{Binding, InstId, Operand, Statement};
use ptx_isa::{StateSpace, TypeKind};

use super::search::is_of_assembly;
use crate::context::{FunctionContext, Reached};

/// The section of the PTX ISA manual about moves and conversions.
const MOVES: &str = "9.7.9.";

/// The sections about calculations with integers, in which each part of a sum depends on the parts below it; about floating-point
/// numbers, of which each part matters; and about comparisons.
const CALCULATIONS: [&str; 4] = ["9.7.1.", "9.7.2.", "9.7.3.", "9.7.6."];

/// The number of later statements that are searched for uses of a result.
const NEAR: usize = 32;

/// Determines the reads that are not reported.
pub(super) struct Harmless<'a> {
    cx: &'a FunctionContext<'a>,
    carry: VariableId,
}

impl<'a> Harmless<'a> {
    pub(super) fn new(cx: &'a FunctionContext<'a>, carry: VariableId) -> Self {
        Self { cx, carry }
    }

    pub(super) fn contains(&self, inst: &Reached<'_>, read: &Use) -> bool {
        // Assembly statements get registers from the code around them, but the carry flag only from each other.
        if read.variable == self.carry {
            return false;
        }
        // What assembly declares for itself, it also has to write.
        self.cx.inline_assembly().contains(inst.stmt) && !is_of_assembly(self.cx, read.variable)
            || self.is_packed(inst) && !self.is_calculated(inst)
            || self.is_repacked(inst)
            || self.is_passed(inst, read)
            || self.is_scaled(inst, read)
    }

    /// Whether the register becomes a part of a larger value, which may have meaningless parts.
    fn is_packed(&self, inst: &Reached<'_>) -> bool {
        let is_move = inst.facts.section().starts_with(MOVES);
        let reads = inst.facts.registers().filter(|m| m.usage.reads());
        is_move && inst.facts.memory().next().is_none() && reads.take(2).count() == 2
    }

    /// Whether the register is taken apart only to become a part of larger values again: one part of it is replaced.
    fn is_repacked(&self, inst: &Reached<'_>) -> bool {
        let takes_apart = |(operand, usage): (Operand, RegAccess)| {
            matches!(operand, Operand::Vector(_)) && usage.writes()
        };
        let is_move =
            inst.facts.section().starts_with(MOVES) && inst.facts.memory().next().is_none();
        if !is_move || !inst.facts.parts().any(takes_apart) {
            return false;
        }
        let mut parts: Vec<RegisterComponent> = inst
            .facts
            .registers()
            .filter(|m| m.usage.writes())
            .map(|m| m.place)
            .collect();
        let mut is_used = false;
        for (stmt, statement) in self.cx.later_in_block(inst.stmt).take(NEAR) {
            let Statement::Inst(inst) = statement else {
                continue;
            };
            let later = Reached {
                stmt,
                inst,
                facts: self.cx.facts().inst(inst),
            };
            let reads = later
                .facts
                .registers()
                .any(|m| m.usage.reads() && parts.contains(&m.place));
            if reads && (!self.is_packed(&later) || self.is_calculated(&later)) {
                return false;
            }
            is_used |= reads;
            let written: Vec<RegisterComponent> = later
                .facts
                .registers()
                .filter(|m| m.usage.writes())
                .map(|m| m.place)
                .collect();
            parts.retain(|part| !written.contains(part));
        }
        is_used
    }

    /// Whether a use of the result of an instruction in its block is an address, or a calculation, a comparison or an atomic operation, in
    /// which all parts matter.
    fn is_calculated(&self, inst: &Reached<'_>) -> bool {
        let mut written = inst.facts.registers().filter(|m| m.usage.writes());
        let (Some(result), None) = (written.next(), written.next()) else {
            return false;
        };
        let mut is_overwritten = false;
        for (_, statement) in self.cx.later_in_block(inst.stmt).take(NEAR) {
            let Statement::Inst(later) = statement else {
                continue;
            };
            let facts = self.cx.facts().inst(later);
            let (mut is_read, mut is_written) = (false, false);
            for mention in facts.registers().filter(|m| m.place == result.place) {
                is_read |= mention.usage.reads();
                is_written |= mention.usage.writes();
            }
            if is_read && !is_overwritten && self.needs_all_parts(later, &facts, result.place) {
                return true;
            }
            is_overwritten |= is_written;
        }
        false
    }

    /// Whether an instruction that reads a register uses it as an address, or in a calculation, a comparison or an atomic operation.
    fn needs_all_parts(&self, inst: InstId, facts: &Facts<'_>, place: RegisterComponent) -> bool {
        let is_address = facts.memory().any(
            |access| matches!(access.base, Some(Operand::Reg(base)) if base == place.register),
        );
        let calculates = CALCULATIONS
            .iter()
            .any(|section| facts.section().starts_with(section))
            && !self.is_elementwise(inst);
        is_address
            || calculates
            || facts
                .memory()
                .any(|access| access.reads() && access.writes())
    }

    /// Whether an instruction computes each part of a value separately.
    fn is_elementwise(&self, inst: InstId) -> bool {
        let Some(record) = self.cx.body().inst(inst) else {
            return false;
        };
        let mut types = self.cx.module().signature(record.sig).types();
        types.any(|ty| ty.kind() == TypeKind::Packed)
    }

    /// Whether it is an argument, or a part of a result, which may contain padding.
    fn is_passed(&self, inst: &Reached<'_>, read: &Use) -> bool {
        let in_param = |space| matches!(space, Space::State(s) if s.base() == StateSpace::Param);
        let guard = inst.facts.guard_register().map(|(place, _)| place);
        let is_guard = guard.is_some_and(|g| {
            self.cx
                .analysis()
                .variables()
                .of(g)
                .contains(&read.variable)
        });
        let is_part = |access: MemoryAccess| {
            in_param(access.space)
                && access.writes()
                && !access.base.is_some_and(|base| self.is_result(base))
        };
        !is_guard && inst.facts.memory().any(is_part)
    }

    /// Whether an operand is the whole result of the function.
    fn is_result(&self, operand: Operand) -> bool {
        let module = self.cx.module();
        let function = module.functions().get(self.cx.id());
        let returns = function.map(|f| f.interface.returns).unwrap_or_default();
        returns.of(module.params()).iter().any(|param| {
            let is_same =
                matches!((param.binding, operand), (Binding::Var(a), Operand::Var(b)) if a == b);
            is_same && param.dims.is_empty()
        })
    }

    /// Whether it is an accumulator, which an operand of the product may make zero.
    fn is_scaled(&self, inst: &Reached<'_>, read: &Use) -> bool {
        let variables = self.cx.analysis().variables();
        inst.facts.is_matrix_multiply()
            && inst.facts.registers().any(|mention| {
                matches!(
                    mention.usage,
                    RegAccess::ReadWrite | RegAccess::ReadMayWrite
                ) && variables.of(mention.place).contains(&read.variable)
            })
    }
}
