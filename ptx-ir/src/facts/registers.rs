//! The registers in an instruction and the accesses to them.

use super::inst_facts::{FormFacts, OperandPart, Part};
use crate::{Body, EntityId, Inst, Operand, RegId};

/// The access of an instruction to a register.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum RegAccess {
    /// The register is read.
    Read,
    /// The register is written.
    Write,
    /// The register is written, or keeps its value: the instruction has a guard, or its facts are unknown.
    MayWrite,
    /// The register is read and written: an accumulator.
    ReadWrite,
    /// The register is read, and then written or not.
    ReadMayWrite,
}

impl RegAccess {
    /// Returns whether the register is read.
    #[inline]
    #[must_use]
    pub const fn reads(self) -> bool {
        matches!(self, Self::Read | Self::ReadWrite | Self::ReadMayWrite)
    }

    /// Returns whether the old value is certainly overwritten.
    #[inline]
    #[must_use]
    pub const fn writes(self) -> bool {
        matches!(self, Self::Write | Self::ReadWrite)
    }

    /// Returns whether the register may be written, but need not.
    #[inline]
    #[must_use]
    pub const fn may_write(self) -> bool {
        matches!(self, Self::MayWrite | Self::ReadMayWrite)
    }

    /// The access of an instruction with a guard.
    const fn guarded(self) -> Self {
        match self {
            Self::Write => Self::MayWrite,
            Self::ReadWrite => Self::ReadMayWrite,
            other => other,
        }
    }
}

/// A register, or one component of a vector register.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RegisterComponent {
    /// The register.
    pub register: RegId,
    /// The index of the component, 0 to 3; `None` for the whole register.
    pub component: Option<u8>,
}

/// The whole register.
impl From<RegId> for RegisterComponent {
    #[inline]
    fn from(register: RegId) -> Self {
        Self {
            register,
            component: None,
        }
    }
}

/// A register in an instruction.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct RegUse {
    /// The register, and the component of it.
    pub place: RegisterComponent,
    /// The access.
    pub usage: RegAccess,
}

/// A bound on the nesting of operands that exceeds that of legal instructions.
const DEPTH: usize = 8;

/// The registers in some operands and their parts, in order.
#[derive(Clone, Debug)]
pub(super) struct Leaves<'a> {
    body: &'a Body,
    stack: [&'a [Operand]; DEPTH],
    depth: usize,
}

impl<'a> Leaves<'a> {
    pub(super) fn new(body: &'a Body, operands: &'a [Operand]) -> Self {
        let mut stack: [&[Operand]; DEPTH] = [&[]; DEPTH];
        stack[0] = operands;
        Self {
            body,
            stack,
            depth: 1,
        }
    }

    fn enter(&mut self, operands: &'a [Operand]) {
        if let Some(slot) = self.stack.get_mut(self.depth) {
            *slot = operands;
            self.depth += 1;
        }
    }

    fn next_operand(&mut self) -> Option<Operand> {
        loop {
            let top = self.stack.get_mut(self.depth.checked_sub(1)?)?;
            if let Some((&operand, later_operands)) = top.split_first() {
                *top = later_operands;
                return Some(operand);
            }
            self.depth -= 1;
        }
    }
}

impl Iterator for Leaves<'_> {
    type Item = RegisterComponent;

    #[inline]
    fn next(&mut self) -> Option<RegisterComponent> {
        let pool = &self.body.pool;
        loop {
            let (operand, component) = plain(self.body, self.next_operand()?);
            match operand {
                Operand::Reg(register) => {
                    return Some(RegisterComponent {
                        register,
                        component,
                    });
                }
                Operand::Vector(id) | Operand::List(id) | Operand::Bracket(id) => {
                    self.enter(pool.list(id));
                }
                Operand::Address(id) => {
                    if let Some(address) = pool.address(id) {
                        self.enter(core::slice::from_ref(&address.offset));
                        self.enter(core::slice::from_ref(&address.base));
                    }
                }
                Operand::Pair(first) => {
                    let range = first.index()..first.index() + 2;
                    self.enter(pool.operands().get(range).unwrap_or_default());
                }
                _ => {}
            }
        }
    }
}

/// An operand without its signs, and the element of it that is selected.
pub(super) fn plain(body: &Body, mut operand: Operand) -> (Operand, Option<u8>) {
    let mut component = None;
    for _ in 0..DEPTH {
        match operand {
            Operand::Not(part) | Operand::Neg(part) | Operand::Generic(part) => {
                operand = body.pool.get(part);
            }
            Operand::Component(selector, part) => {
                component = selector.element();
                operand = body.pool.get(part);
            }
            _ => break,
        }
    }
    (operand, component)
}

/// The operands of the instruction that a part of the form denotes: one, or none if it is absent.
pub(super) fn operand_of<'a>(
    body: &'a Body,
    operands: &'a [Operand],
    part: &Part,
) -> &'a [Operand] {
    let Some(written) = operands.get(usize::from(part.written)) else {
        return &[];
    };
    let element = match (part.inside, written) {
        (OperandPart::Half(half), Operand::Pair(first)) => {
            body.pool.operands().get(first.index() + usize::from(half))
        }
        (OperandPart::Part(index), Operand::Vector(id) | Operand::Bracket(id)) => {
            body.pool.list(*id).get(usize::from(index))
        }
        _ => Some(written),
    };
    element.map_or(&[], core::slice::from_ref)
}

/// The registers of an instruction in the order of the form's operands, the guard first. A register that the instruction mentions
/// several times is returned several times.
#[derive(Clone, Debug)]
pub struct Mentions<'a> {
    body: &'a Body,
    operands: &'a [Operand],
    parts: &'a [Part],
    /// The predicate of the guard; `None` if there is none, or after it was returned.
    guard: Option<Operand>,
    is_guarded: bool,
    /// The registers of the current part.
    leaves: Leaves<'a>,
    /// The access to the registers of the current part.
    usage: RegAccess,
    /// Whether the registers of the current part are still to be returned.
    in_part: bool,
    is_known: bool,
}

impl<'a> Mentions<'a> {
    pub(super) fn new(body: &'a Body, inst: Option<&'a Inst>, form: &'a FormFacts) -> Self {
        let operands = inst.map_or(&[][..], |i| body.pool.slice(i.operands()));
        let guard = inst.and_then(|i| i.guard());
        let is_known = form.known;
        Self {
            body,
            operands,
            parts: &form.parts,
            guard: guard.map(|g| body.pool.get(g.predicate)),
            is_guarded: guard.is_some(),
            leaves: Leaves::new(body, if is_known { &[] } else { operands }),
            usage: RegAccess::Read,
            in_part: !is_known,
            is_known,
        }
    }

    /// The registers of an unrecognized statement.
    pub(super) fn opaque(body: &'a Body, mentions: &'a [Operand]) -> Self {
        Self {
            body,
            operands: &[],
            parts: &[],
            guard: None,
            is_guarded: true,
            leaves: Leaves::new(body, mentions),
            usage: RegAccess::Read,
            in_part: true,
            is_known: false,
        }
    }
}

impl Iterator for Mentions<'_> {
    type Item = RegUse;

    #[inline]
    fn next(&mut self) -> Option<RegUse> {
        if let Some(guard) = self.guard.take()
            && let (Operand::Reg(register), component) = plain(self.body, guard)
        {
            return Some(RegUse {
                place: RegisterComponent {
                    register,
                    component,
                },
                usage: RegAccess::Read,
            });
        }
        loop {
            if self.in_part {
                if let Some(place) = self.leaves.next() {
                    let usage = if self.is_known {
                        self.usage
                    } else {
                        RegAccess::ReadMayWrite
                    };
                    return Some(RegUse { place, usage });
                }
                self.in_part = false;
            }
            let (part, later_parts) = self.parts.split_first()?;
            self.parts = later_parts;
            let usage = if self.is_guarded {
                part.usage.guarded()
            } else {
                part.usage
            };
            let operand = operand_of(self.body, self.operands, part);
            match operand {
                // Most operands are registers.
                [Operand::Reg(register)] => {
                    let place = (*register).into();
                    return Some(RegUse { place, usage });
                }
                [] | [Operand::Small(_) | Operand::Special(_) | Operand::Label(_)] => {}
                [Operand::Address(id)] => {
                    // The registers of an address are read even if the memory is written.
                    self.usage = RegAccess::Read;
                    if let Some(address) = self.body.pool.address(*id) {
                        if let (Operand::Reg(register), Operand::Absent | Operand::Small(_)) =
                            (address.base, address.offset)
                        {
                            return Some(RegUse {
                                place: register.into(),
                                usage: RegAccess::Read,
                            });
                        }
                        self.leaves = Leaves::new(self.body, operand);
                        self.in_part = true;
                    }
                }
                _ => {
                    self.usage = usage;
                    self.leaves = Leaves::new(self.body, operand);
                    self.in_part = true;
                }
            }
        }
    }
}
