//! What an instruction computes from values of which some are known.

use alloc::vec::Vec;

use ptx_ir::constant::ConstKind;
use ptx_ir::facts::{Facts, FunctionFacts, RegAccess, RegLane};
use ptx_ir::{InstId, Operand, StmtId};
use ptx_isa::{Modifier, Opcode, ScalarType, SpecialReg, TypeKind};

use super::Constant;
use crate::fold::{Folded, Operation, Video, fold, fold_partial};
use crate::reg_lanes::Variables;
use crate::ssa::{Ssa, ValueId};

/// Where a source of an instruction comes from.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Source {
    Bits(u128),
    Value(ValueId),
    /// A predicate with `!`.
    Not(ValueId),
    /// An element of a special register.
    Special(SpecialReg, Option<u8>),
    Unknown,
}

/// A result of an instruction.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Target {
    First,
    Second,
}

/// The operands of the instructions of a function.
pub(crate) struct Operands<'a, V, S> {
    pub(crate) facts: FunctionFacts<'a>,
    pub(crate) variables: &'a Variables,
    pub(crate) ssa: &'a Ssa,
    /// What is known of a value, and of an element of a special register.
    pub(crate) value: V,
    pub(crate) special: S,
}

impl<V, S> Operands<'_, V, S>
where
    V: Fn(ValueId) -> Constant,
    S: Fn(SpecialReg, Option<u8>) -> Constant,
{
    /// What a statement reads in a register.
    pub(crate) fn place(&self, stmt: StmtId, place: RegLane) -> Constant {
        self.known(self.register(stmt, place))
    }

    /// The bits of an operand of an instruction with these types.
    pub(crate) fn operand(&self, stmt: StmtId, operand: Operand, types: &[ScalarType]) -> Constant {
        self.known(self.source(stmt, operand, types))
    }

    /// What is known of a source.
    fn known(&self, source: Source) -> Constant {
        match source {
            Source::Bits(bits) => Constant::Constant(bits),
            Source::Value(id) => (self.value)(id),
            Source::Not(id) => (self.value)(id).xor(1),
            Source::Special(register, component) => (self.special)(register, component),
            Source::Unknown => Constant::Overdefined,
        }
    }

    /// A register that a statement reads.
    fn register(&self, stmt: StmtId, place: RegLane) -> Source {
        let mut variables = self.variables.of(place);
        match (variables.next(), variables.next()) {
            (Some(variable), None) => {
                let read = self.ssa.read(stmt, variable);
                read.map_or(Source::Unknown, Source::Value)
            }
            _ => Source::Unknown,
        }
    }

    /// An operand of an instruction with these types.
    fn source(&self, stmt: StmtId, operand: Operand, types: &[ScalarType]) -> Source {
        let pool = &self.facts.body().pool();
        let float = types.iter().any(|t| t.is_float());
        let wide = |bits: u16| types.iter().all(|t| t.bits() == bits);
        match operand {
            Operand::Reg(register) => self.register(stmt, register.into()),
            Operand::Lane(selector, at) => match (selector.element(), pool.get(at)) {
                (lane @ Some(_), Operand::Reg(register)) => {
                    self.register(stmt, RegLane { register, lane })
                }
                (lane @ Some(_), Operand::Special(register)) => Source::Special(register, lane),
                _ => Source::Unknown,
            },
            Operand::Special(register) => Source::Special(register, None),
            Operand::Not(at) => match pool.get(at) {
                Operand::Reg(register) => match self.register(stmt, register.into()) {
                    Source::Value(id) => Source::Not(id),
                    _ => Source::Unknown,
                },
                _ => Source::Unknown,
            },
            Operand::Small(value) if !float => Source::Bits(i128::from(value) as u128),
            Operand::Imm(id) => match pool.immediate(id).map(|i| (i.value, i.value.kind())) {
                Some((v, ConstKind::Signed)) if !float => Source::Bits(v.bits() as i64 as u128),
                Some((v, ConstKind::Unsigned)) if !float => Source::Bits(v.bits().into()),
                Some((v, ConstKind::Single)) if wide(32) => Source::Bits(v.bits().into()),
                Some((v, ConstKind::Double)) if wide(64) => Source::Bits(v.bits().into()),
                _ => Source::Unknown,
            },
            _ => Source::Unknown,
        }
    }

    /// Calls `add` for each source of an instruction; `None` if something else than a source or a result is among its operands.
    pub(crate) fn sources(
        &self,
        (stmt, f): (StmtId, &Facts<'_>),
        types: &[ScalarType],
        mut add: impl FnMut(Source),
    ) -> Option<Video> {
        let mut video = Video::default();
        let mut count = 0;
        for (operand, usage) in f.parts() {
            match (usage, operand) {
                (RegAccess::Write, Operand::Lane(selector, _)) if selector.element().is_none() => {
                    video.into = Some(selector);
                }
                (RegAccess::Write, _) => {}
                (RegAccess::Read, Operand::Vector(list)) => {
                    for &part in self.facts.body().pool().list(list) {
                        add(self.source(stmt, part, types));
                        count += 1;
                    }
                }
                (RegAccess::Read, operand) => {
                    let operand = self.bare(operand, count, &mut video);
                    add(self.source(stmt, operand, types));
                    count += 1;
                }
                _ => return None,
            }
        }
        Some(video)
    }

    /// The result of an instruction, or the state of its values if it has no constant result.
    pub(crate) fn result(
        &self,
        stmt: StmtId,
        inst: InstId,
        f: &Facts<'_>,
        modifiers: &mut Vec<Modifier>,
    ) -> Result<Folded, Constant> {
        let Some(sig) = self.facts.body().inst(inst).map(|i| i.sig) else {
            return Err(Constant::Overdefined);
        };
        let signature = self.facts.module().signature(sig);
        let Some(opcode): Option<Opcode> = signature.opcode() else {
            return Err(Constant::Overdefined);
        };
        let types: Vec<ScalarType> = signature.types().collect();
        modifiers.clear();
        modifiers.extend(signature.modifiers());
        let mut never = false;
        let mut operands = Vec::new();
        let sources = self.sources((stmt, f), &types, |source| {
            operands.push(self.known(source))
        });
        let video = sources.ok_or(Constant::Overdefined)?;
        let mut carry = None;
        if f.reads_carry() {
            let read = self.ssa.read(stmt, self.ssa.carry());
            let read = read.map_or(Constant::Overdefined, &self.value);
            never |= read == Constant::Unreached;
            carry = read.known().map(|bits| bits == 1);
        }
        never |= operands.contains(&Constant::Unreached);
        if never {
            return Err(Constant::Unreached);
        }
        let operands: Vec<Option<u128>> = operands.into_iter().map(Constant::known).collect();
        let is_unknown = carry.is_none() && operands.iter().all(Option::is_none);
        if is_unknown && !operands.is_empty() {
            return Err(Constant::Overdefined);
        }
        let folded = if video == Video::default() {
            fold_partial(opcode, modifiers, &operands, carry)
        } else {
            let operands: Option<Vec<u128>> = operands.into_iter().collect();
            operands.and_then(|operands| {
                fold(&Operation {
                    opcode,
                    modifiers,
                    operands: &operands,
                    carry,
                    video,
                })
            })
        };
        folded.ok_or(Constant::Overdefined)
    }

    /// The source at a place without its sign and without the bytes or half words selected of it.
    fn bare(&self, operand: Operand, place: usize, video: &mut Video) -> Operand {
        let pool = &self.facts.body().pool();
        let operand = match (operand, video.negative.get_mut(place)) {
            (Operand::Neg(at), Some(negative)) => {
                *negative = true;
                pool.get(at)
            }
            _ => operand,
        };
        match (operand, video.parts.get_mut(place)) {
            (Operand::Lane(selector, at), Some(part)) if selector.element().is_none() => {
                *part = Some(selector);
                pool.get(at)
            }
            _ => operand,
        }
    }

    /// What of a result goes to a variable.
    pub(crate) fn part(&self, folded: &Folded, f: &Facts<'_>, variable: u32) -> Constant {
        let bit = |bit: Option<bool>| match bit {
            Some(bit) => Constant::Constant(bit.into()),
            None => Constant::Overdefined,
        };
        if variable == self.ssa.carry() {
            return bit(folded.carry);
        }
        let pool = &self.facts.body().pool();
        let is = |operand: Operand| {
            let range = f.place(operand).map(|p| self.variables.of(p));
            range.is_some_and(|r| r.len() == 1 && r.start == variable)
        };
        let mut found = Constant::Unreached;
        let results = f.parts().filter(|(_, usage)| *usage == RegAccess::Write);
        for (nth, (operand, _)) in results.enumerate() {
            let new = match operand {
                // The parts of the result, the first lowest.
                Operand::Vector(list) if nth == 0 => {
                    let parts = pool.list(list);
                    let width = folded.ty.bits() / (parts.len().max(1) as u16);
                    let mut state = Constant::Unreached;
                    for (i, _) in parts.iter().enumerate().filter(|(_, part)| is(**part)) {
                        let bits =
                            folded.value >> (i * usize::from(width)) & ((1 << width.min(127)) - 1);
                        state = state.meet(Constant::Constant(bits));
                    }
                    state
                }
                operand if !is(operand) => continue,
                _ if nth == 0 => self.extended(folded, variable),
                _ if nth == 1 => bit(folded.second),
                _ => Constant::Overdefined,
            };
            found = found.meet(new);
        }
        // Written, but by what is not known here.
        if found == Constant::Unreached {
            Constant::Overdefined
        } else {
            found
        }
    }

    /// The result that goes to a variable; `None` if several do, or a part of one.
    pub(crate) fn target(&self, f: &Facts<'_>, variable: u32) -> Option<Target> {
        let results = f.parts().filter(|(_, usage)| *usage == RegAccess::Write);
        let mut found = None;
        for (nth, (operand, _)) in results.enumerate() {
            let range = self.variables.of(f.place(operand)?);
            if range.len() == 1 && range.start == variable {
                found = match (found, nth) {
                    (None, 0) => Some(Target::First),
                    (None, 1) => Some(Target::Second),
                    _ => return None,
                };
            }
        }
        found
    }

    /// The result in a register that may be wider.
    pub(crate) fn extended(&self, folded: &Folded, variable: u32) -> Constant {
        let Some(class) = self.variables.class(self.facts.body(), variable) else {
            return Constant::Overdefined;
        };
        let (width, bits) = (class.bits(), folded.ty.bits());
        let all = |bits: u16| {
            if bits >= 128 {
                u128::MAX
            } else {
                (1 << bits) - 1
            }
        };
        match folded.ty.kind() {
            _ if width == bits => Constant::Constant(folded.value),
            _ if width < bits => Constant::Overdefined,
            // ptxas does not set the high half of a register of 128 bits to copies of the sign.
            TypeKind::Signed if width > 64 => Constant::Overdefined,
            TypeKind::Signed => {
                let negative = folded.value >> (bits.max(1) - 1) & 1 == 1;
                let above = if negative { all(width) & !all(bits) } else { 0 };
                Constant::Constant(folded.value | above)
            }
            TypeKind::Unsigned | TypeKind::Bits => Constant::Constant(folded.value),
            _ => Constant::Overdefined,
        }
    }
}
