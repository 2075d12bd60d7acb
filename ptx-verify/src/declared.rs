//! The declarations of the names of operands.

use ptx_ir::{Body, FuncId, Module, Operand, RegId};

use crate::location::{Location, Part};
use crate::uses::ModuleNames;

/// The operand that a part of an instruction begins with.
fn operand_of(body: &Body, operands: &[Operand], part: Part) -> Option<Operand> {
    let pool = body.pool();
    let (nth, element) = match part {
        Part::Operand(nth) => (nth, 0),
        Part::Element(nth, element) => (nth, element as usize),
        _ => return None,
    };
    let operand = *operands.get(nth as usize)?;
    match operand {
        Operand::Bracket(list) | Operand::Vector(list) | Operand::List(list) => {
            pool.list(list).get(element).copied()
        }
        Operand::Pair(parts) if element > 0 => Some(pool.pair(parts).1),
        Operand::Pair(parts) => Some(pool.get(parts)),
        operand => Some(operand),
    }
}

/// The register, variable or function that a part of an instruction names.
fn named(body: &Body, operands: &[Operand], part: Part) -> Option<Operand> {
    let pool = body.pool();
    let mut operand = operand_of(body, operands, part)?;
    loop {
        operand = match operand {
            Operand::Reg(_) | Operand::Var(_) | Operand::Symbol(_) => return Some(operand),
            Operand::Address(id) => pool.address(id)?.base,
            Operand::Not(parts) | Operand::Neg(parts) | Operand::Lane(_, parts) => pool.get(parts),
            _ => return None,
        };
        // Addresses are not nested.
        if matches!(operand, Operand::Address(_)) {
            return None;
        }
    }
}

/// The register in a part of an instruction.
pub(crate) fn register_of(body: &Body, operands: &[Operand], part: Part) -> Option<RegId> {
    match named(body, operands, part)? {
        Operand::Reg(id) => Some(id),
        _ => None,
    }
}

/// The declarations of the names in the instructions of a function.
pub(crate) struct Declarations<'a> {
    pub(crate) module: &'a Module,
    pub(crate) names: &'a ModuleNames,
    pub(crate) function: FuncId,
    pub(crate) body: &'a Body,
}

impl Declarations<'_> {
    /// The declaration of the register, variable, parameter or function in a part of an instruction.
    pub(crate) fn of(&self, operands: &[Operand], part: Part) -> Option<Location> {
        let (stmt, name) = match named(self.body, operands, part)? {
            Operand::Reg(id) => self.body.reg_decl_of(id).map(|d| (d.stmt, d.name))?,
            Operand::Var(id) => self.body.vars().get(id).map(|v| (v.stmt, v.name))?,
            Operand::Symbol(id) => return self.names.symbol(self.module, id),
            _ => return None,
        };
        match stmt {
            Some(stmt) => Some(Location::exact(self.body.source_span(stmt))),
            None => self.names.parameter(self.module, self.function, name),
        }
    }
}
