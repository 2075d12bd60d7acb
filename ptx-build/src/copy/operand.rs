//! Operands, from the pool of one module or body to another one.

use alloc::vec::Vec;

use ptx_ir::{Address, Immediate, NameId, Operand, OperandPool, OperandRange, OperandRef};

/// What names become.
pub(super) trait Leaves {
    fn name(&mut self, name: NameId) -> NameId;

    /// A register, a variable, a label or a name of the module.
    fn leaf(&mut self, operand: Operand) -> Operand;
}

/// Copies an operand with all its parts.
pub(super) fn copy_operand(
    leaves: &mut impl Leaves,
    from: &OperandPool,
    to: &mut OperandPool,
    operand: Operand,
) -> Operand {
    let mut one = |leaves: &mut _, at: OperandRef| {
        let part = copy_operand(leaves, from, to, from.get(at));
        to.extend(&[part]).at(0)
    };
    match operand {
        Operand::Reg(_) | Operand::Var(_) | Operand::Label(_) | Operand::Symbol(_) => {
            leaves.leaf(operand)
        }
        Operand::Name(name) => Operand::Name(leaves.name(name)),
        Operand::Section(name) => Operand::Section(leaves.name(name)),
        Operand::Str(name) => Operand::Str(leaves.name(name)),
        Operand::Imm(id) => match from.immediate(id).copied() {
            Some(Immediate { text, value, .. }) => {
                let text = leaves.name(text);
                Operand::Imm(to.add_immediate(Immediate::new(text, value)))
            }
            None => Operand::Absent,
        },
        Operand::Address(id) => match from.address(id).copied() {
            Some(address) => {
                let base = copy_operand(leaves, from, to, address.base);
                let offset = copy_operand(leaves, from, to, address.offset);
                let form = address.form;
                Operand::Address(to.add_address(Address::new(base, offset, form)))
            }
            None => Operand::Absent,
        },
        Operand::Bracket(id) => Operand::Bracket(copy_list(leaves, from, to, from.list(id))),
        Operand::Vector(id) => Operand::Vector(copy_list(leaves, from, to, from.list(id))),
        Operand::List(id) => Operand::List(copy_list(leaves, from, to, from.list(id))),
        Operand::Not(at) => Operand::Not(one(leaves, at)),
        Operand::Neg(at) => Operand::Neg(one(leaves, at)),
        Operand::Generic(at) => Operand::Generic(one(leaves, at)),
        Operand::Lane(selector, at) => Operand::Lane(selector, one(leaves, at)),
        Operand::Pair(at) => Operand::Pair(copy_pair(leaves, from, to, at)),
        Operand::Masked(at) => Operand::Masked(copy_pair(leaves, from, to, at)),
        Operand::Difference(at) => Operand::Difference(copy_pair(leaves, from, to, at)),
        Operand::Field(at) => Operand::Field(copy_pair(leaves, from, to, at)),
        Operand::Range(at) => Operand::Range(copy_pair(leaves, from, to, at)),
        other => other,
    }
}

fn copy_pair(
    leaves: &mut impl Leaves,
    from: &OperandPool,
    to: &mut OperandPool,
    at: OperandRef,
) -> OperandRef {
    let (a, b) = from.pair(at);
    let a = copy_operand(leaves, from, to, a);
    let b = copy_operand(leaves, from, to, b);
    to.extend(&[a, b]).at(0)
}

fn copy_list(
    leaves: &mut impl Leaves,
    from: &OperandPool,
    to: &mut OperandPool,
    parts: &[Operand],
) -> ptx_ir::ListId {
    let mut copied = Vec::with_capacity(parts.len());
    for part in parts {
        copied.push(copy_operand(leaves, from, to, *part));
    }
    to.add_list(&copied)
}

/// Copies a range of operands.
pub(super) fn copy_range(
    leaves: &mut impl Leaves,
    from: &OperandPool,
    to: &mut OperandPool,
    range: OperandRange,
) -> OperandRange {
    if range.is_empty() {
        return OperandRange::default();
    }
    let mut copied = Vec::with_capacity(range.len());
    for part in from.slice(range) {
        copied.push(copy_operand(leaves, from, to, *part));
    }
    to.extend(&copied)
}
