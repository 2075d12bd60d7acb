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

/// A register, or one element of a vector register.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RegLane {
    /// The register.
    pub register: RegId,
    /// The element that is meant, 0 to 3; `None` for the whole register.
    pub lane: Option<u8>,
}

/// The whole register.
impl From<RegId> for RegLane {
    #[inline]
    fn from(register: RegId) -> Self {
        let lane = None;
        Self { register, lane }
    }
}

/// A register in an instruction.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct RegUse {
    /// The register, and the component of it.
    pub place: RegLane,
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
            if let Some((&first, rest)) = top.split_first() {
                *top = rest;
                return Some(first);
            }
            self.depth -= 1;
        }
    }
}

impl Iterator for Leaves<'_> {
    type Item = RegLane;

    #[inline]
    fn next(&mut self) -> Option<RegLane> {
        let pool = &self.body.pool;
        loop {
            let (operand, lane) = plain(self.body, self.next_operand()?);
            match operand {
                Operand::Reg(register) => return Some(RegLane { register, lane }),
                Operand::Vector(id) | Operand::List(id) | Operand::Bracket(id) => {
                    self.enter(pool.list(id));
                }
                Operand::Address(id) => {
                    if let Some(address) = pool.address(id) {
                        self.enter(core::slice::from_ref(&address.offset));
                        self.enter(core::slice::from_ref(&address.base));
                    }
                }
                Operand::Pair(at) => {
                    let both = at.index()..at.index() + 2;
                    self.enter(pool.operands().get(both).unwrap_or_default());
                }
                _ => {}
            }
        }
    }
}

/// An operand without its signs, and the element of it that is selected.
pub(super) fn plain(body: &Body, mut operand: Operand) -> (Operand, Option<u8>) {
    let mut lane = None;
    for _ in 0..DEPTH {
        match operand {
            Operand::Not(at) | Operand::Neg(at) | Operand::Generic(at) => {
                operand = body.pool.get(at);
            }
            Operand::Lane(selector, at) => {
                lane = selector.element();
                operand = body.pool.get(at);
            }
            _ => break,
        }
    }
    (operand, lane)
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
    let nth = |list: &'a [Operand], n: u8| list.get(usize::from(n)..).and_then(|l| l.get(..1));
    let inner = match (part.inside, written) {
        (OperandPart::Half(half), Operand::Pair(at)) => nth(
            body.pool.operands().get(at.index()..).unwrap_or_default(),
            half,
        ),
        (OperandPart::Part(n), Operand::Vector(id) | Operand::Bracket(id)) => {
            nth(body.pool.list(*id), n)
        }
        _ => Some(core::slice::from_ref(written)),
    };
    inner.unwrap_or_default()
}

/// The registers of an instruction in the order of the form's operands, the guard first. A register that is in
/// several places comes several times.
#[derive(Clone, Debug)]
pub struct Mentions<'a> {
    body: &'a Body,
    operands: &'a [Operand],
    parts: &'a [Part],
    guard: Option<Operand>,
    guarded: bool,
    usage: RegAccess,
    leaves: Leaves<'a>,
    inside: bool,
    known: bool,
}

impl<'a> Mentions<'a> {
    pub(super) fn new(body: &'a Body, inst: Option<&'a Inst>, form: &'a FormFacts) -> Self {
        let operands = inst.map_or(&[][..], |i| body.pool.slice(i.operands()));
        let guard = inst.and_then(|i| i.guard());
        let known = form.known;
        Self {
            body,
            operands,
            parts: &form.parts,
            guard: guard.map(|g| body.pool.get(g.predicate)),
            guarded: guard.is_some(),
            usage: RegAccess::Read,
            leaves: Leaves::new(body, if known { &[] } else { operands }),
            inside: !known,
            known,
        }
    }

    /// The registers of an unrecognized statement.
    pub(super) fn opaque(body: &'a Body, mentions: &'a [Operand]) -> Self {
        Self {
            body,
            operands: &[],
            parts: &[],
            guard: None,
            guarded: true,
            usage: RegAccess::Read,
            leaves: Leaves::new(body, mentions),
            inside: true,
            known: false,
        }
    }
}

impl Iterator for Mentions<'_> {
    type Item = RegUse;

    #[inline]
    fn next(&mut self) -> Option<RegUse> {
        if let Some(guard) = self.guard.take()
            && let (Operand::Reg(register), lane) = plain(self.body, guard)
        {
            return Some(RegUse {
                place: RegLane { register, lane },
                usage: RegAccess::Read,
            });
        }
        loop {
            if self.inside {
                if let Some(place) = self.leaves.next() {
                    let usage = if self.known {
                        self.usage
                    } else {
                        RegAccess::ReadMayWrite
                    };
                    return Some(RegUse { place, usage });
                }
                self.inside = false;
            }
            let (part, rest) = self.parts.split_first()?;
            self.parts = rest;
            let usage = if self.guarded {
                part.usage.guarded()
            } else {
                part.usage
            };
            let slice = operand_of(self.body, self.operands, part);
            match slice {
                // By far the most operands.
                [Operand::Reg(register)] => {
                    let place = (*register).into();
                    return Some(RegUse { place, usage });
                }
                [] | [Operand::Small(_) | Operand::Special(_) | Operand::Label(_)] => {}
                [Operand::Address(id)] => {
                    // The registers of an address are read, whatever happens to the memory there.
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
                        self.leaves = Leaves::new(self.body, slice);
                        self.inside = true;
                    }
                }
                _ => {
                    self.usage = usage;
                    self.leaves = Leaves::new(self.body, slice);
                    self.inside = true;
                }
            }
        }
    }
}
