//! Where the names of operands are declared.

use ptx_ir::{Body, Operand, RegId, Span};

use crate::location::Part;

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
        Operand::Pair(at) if element > 0 => Some(pool.pair(at).1),
        Operand::Pair(at) => Some(pool.get(at)),
        operand => Some(operand),
    }
}

/// The register or variable that a part of an instruction names.
fn named(body: &Body, operands: &[Operand], part: Part) -> Option<Operand> {
    let pool = body.pool();
    let mut operand = operand_of(body, operands, part)?;
    loop {
        operand = match operand {
            Operand::Reg(_) | Operand::Var(_) => return Some(operand),
            Operand::Address(id) => pool.address(id)?.base,
            Operand::Not(at) | Operand::Neg(at) | Operand::Lane(_, at) => pool.get(at),
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

/// The statement of the body that declares the register or variable in a part of an instruction.
pub(crate) fn declaration(body: &Body, operands: &[Operand], part: Part) -> Option<Span> {
    let stmt = match named(body, operands, part)? {
        Operand::Reg(id) => body.reg_decl_of(id)?.stmt?,
        Operand::Var(id) => body.vars().get(id)?.stmt?,
        _ => return None,
    };
    Some(body.source_span(stmt))
}
