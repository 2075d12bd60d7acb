//! Constant folding: an instruction that always computes the same value becomes a move of that value.
//!
//! Guards that are always true are removed, and instructions whose guard is always false. Other instructions read the constant
//! instead of the register that holds it, if their form takes a constant. Results that the PTX ISA manual leaves
//! undefined or approximate are not folded.

use alloc::string::String;
use alloc::vec::Vec;

use ptx_analysis::constants::Constants;
use ptx_analysis::ssa::ValueId;
use ptx_ir::facts::{Facts, RegAccess};
use ptx_ir::{InstId, Operand, StmtId};
use ptx_semantics::internals::is_copy;

use super::definition::Definition;
use super::function_view::View;
use super::rewrite::{Rewrite, Step};

pub(super) const DEFINITION: Definition = Definition {
    name: "fold",
    term: "constant folding",
    summary: "Replace computations and registers that have a constant value by the constant",
    plan,
    finish: None,
};

pub(super) fn plan(view: &View<'_>) -> Vec<Step> {
    let Ok(constants) = view.function.constants() else {
        return Vec::new();
    };
    let mut steps = Vec::new();
    for (stmt, inst, facts) in view.reached().filter(|(_, _, facts)| facts.is_known()) {
        let block = view.cfg.of_statement(stmt);
        if block.is_some_and(|b| constants.is_executable(b)) {
            let plan = Plan {
                view,
                constants,
                stmt,
                inst,
                facts,
            };
            plan.add_steps(&mut steps);
        }
    }
    steps
}

/// The changes of one instruction.
struct Plan<'a, 'v> {
    view: &'v View<'a>,
    constants: &'v Constants,
    stmt: StmtId,
    inst: InstId,
    facts: Facts<'a>,
}

impl<'a> Plan<'a, '_> {
    fn add_steps(&self, steps: &mut Vec<Step>) {
        let stmt = self.stmt;
        let mut push = |rewrite, why| steps.push(Step { stmt, rewrite, why });
        if let Some((place, sense)) = self.facts.guard_register()
            && let Some(bits) = self.constant_register(place.register)
        {
            let name = self.view.name(place.register);
            let runs = sense.holds(bits == 1);
            let why = format!("{name} is always {}", bits == 1);
            if !runs {
                return push(Rewrite::Remove, why);
            }
            push(Rewrite::Unguard, why);
        }
        if let Some((target, bits)) = self.constant_result() {
            let why = format!("always computes {}", number(bits));
            return push(Rewrite::Constant { target, bits }, why);
        }
        for (index, operand) in self.view.body().operands(self.inst).iter().enumerate() {
            let Operand::Reg(register) = *operand else {
                continue;
            };
            if self.facts.usage(index) != Some(RegAccess::Read) {
                continue;
            }
            if let Some(bits) = self.constant_register(register) {
                let name = self.view.name(register);
                let why = format!("{name} is always {}", number(bits));
                push(Rewrite::Number { index, bits }, why);
            }
        }
    }

    /// The value that the instruction reads in a register, if it is always the same.
    fn constant_register(&self, register: ptx_ir::RegId) -> Option<u128> {
        self.value(self.view.read(self.stmt, register)?)
    }

    /// A value that is always the same: it is computed from constants, or intervals leave one integer or decide a comparison.
    fn value(&self, value: ValueId) -> Option<u128> {
        self.constants.value(value).known().or_else(|| {
            self.view
                .function
                .values()
                .ok()?
                .only(value)
                .map(u128::from)
        })
    }

    /// The only result of an instruction without other effects, if it is always the same and the instruction is not yet a
    /// move of a constant.
    fn constant_result(&self) -> Option<(Operand, u128)> {
        if !self.facts.may_be_duplicated() || self.facts.memory().next().is_some() {
            return None;
        }
        // A second result would be lost, such as the carry flag.
        let mut defs = self.view.ssa.defs(self.stmt);
        let (Some(def), None) = (defs.next(), defs.next()) else {
            return None;
        };
        let bits = self.value(def)?;
        let mut written = self
            .facts
            .parts()
            .filter(|(_, usage)| usage.may_write() || usage.writes());
        let (Some((target @ (Operand::Reg(_) | Operand::Component(..)), RegAccess::Write)), None) =
            (written.next(), written.next())
        else {
            return None;
        };
        let body = self.view.body();
        let sig = body.inst(self.inst)?.sig;
        let opcode = self.view.module().signature(sig).opcode()?;
        let has_constant_source = matches!(
            body.operands(self.inst),
            [_, Operand::Small(_) | Operand::Imm(_)]
        );
        let is_move_of_constant =
            is_copy(opcode) && has_constant_source && self.facts.guard().is_none();
        (!is_move_of_constant).then_some((target, bits))
    }
}

/// Formats a value: small numbers in decimal, large ones in hexadecimal.
fn number(bits: u128) -> String {
    match bits {
        0..10_000 => format!("{bits}"),
        _ => format!("{bits:#x}"),
    }
}
