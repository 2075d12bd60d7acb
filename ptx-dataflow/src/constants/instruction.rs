//! Evaluates instructions for operands of which some are constants.

use alloc::vec::Vec;

use ptx_ir::facts::{Facts, FunctionFacts, RegAccess, RegLane};
use ptx_ir::{InstId, Operand, StmtId};
use ptx_isa::{Modifier, Opcode, ScalarType, SpecialReg};
use ptx_semantics::fold::{Folded, Operation, Video, fold, fold_partial};
use ptx_semantics::{Place, extended, source, visit_results, visit_sources};

use super::Constant;
use crate::reg_lanes::{VariableId, Variables};
use crate::ssa::{Ssa, ValueId};

/// A source of an instruction.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Source {
    /// A constant.
    Bits(u128),
    /// The value of a register.
    Value(ValueId),
    /// The negated value of a predicate, written with `!`.
    Not(ValueId),
    /// An element of a special register.
    Special(SpecialReg, Option<u8>),
    /// Any other source.
    Unknown,
}

/// A result of an instruction.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Target {
    /// The first result.
    First,
    /// The second result, a predicate.
    Second,
}

/// Evaluates the operands of the instructions of a function.
#[allow(missing_debug_implementations, reason = "it holds functions")]
pub struct Operands<'a, V, S> {
    /// The facts of the function.
    pub facts: FunctionFacts<'a>,
    /// The variables of the function.
    pub variables: &'a Variables,
    /// The SSA form of the function.
    pub ssa: &'a Ssa,
    /// Returns the lattice value of an SSA value.
    pub value: V,
    /// Returns the lattice value of an element of a special register.
    pub special: S,
}

impl<V, S> Operands<'_, V, S>
where
    V: Fn(ValueId) -> Constant,
    S: Fn(SpecialReg, Option<u8>) -> Constant,
{
    /// What a statement reads in a register.
    pub fn place(&self, stmt: StmtId, place: RegLane) -> Constant {
        self.known(self.register(stmt, place))
    }

    /// The bits of an operand of an instruction with these types.
    pub fn operand(&self, stmt: StmtId, operand: Operand, types: &[ScalarType]) -> Constant {
        self.known(self.resolved(stmt, source(self.facts.body(), operand, types)))
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
        self.variables
            .of(place)
            .single()
            .and_then(|variable| self.ssa.read(stmt, variable))
            .map_or(Source::Unknown, Source::Value)
    }

    /// A source of a statement, with the value of the register that it is.
    fn resolved(&self, stmt: StmtId, source: ptx_semantics::SourceOperand) -> Source {
        use ptx_semantics::SourceOperand as Unresolved;
        match source {
            Unresolved::Bits(bits) => Source::Bits(bits),
            Unresolved::Place(Place::Register(register)) => self.register(stmt, register),
            Unresolved::Place(Place::Special(register, component)) => {
                Source::Special(register, component)
            }
            Unresolved::Not(Place::Register(register)) => match self.register(stmt, register) {
                Source::Value(id) => Source::Not(id),
                _ => Source::Unknown,
            },
            _ => Source::Unknown,
        }
    }

    /// Calls `add` for each source of an instruction; `None` if something else than a source or a result is among its operands.
    pub fn sources(
        &self,
        (stmt, f): (StmtId, &Facts<'_>),
        types: &[ScalarType],
        mut add: impl FnMut(Source),
    ) -> Option<Video> {
        visit_sources(f, types, |_, source| add(self.resolved(stmt, source)))
    }

    /// The result of an instruction, or the state of its values if it has no constant result.
    pub fn result(
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

    /// What of a result goes to a variable.
    pub fn part(&self, folded: &Folded, f: &Facts<'_>, variable: VariableId) -> Constant {
        let is_written = |place: Place| match place {
            Place::Carry => variable == self.ssa.carry(),
            Place::Register(register) => self.variables.of(register).single() == Some(variable),
            _ => false,
        };
        let mut found = Constant::Unreached;
        visit_results(f, folded, |place, bits| {
            if is_written(place) {
                found = found.joined(bits.map_or(Constant::Overdefined, Constant::Constant));
            }
        });
        // Written, but by what is not known here.
        if found == Constant::Unreached {
            Constant::Overdefined
        } else {
            found
        }
    }

    /// The result that goes to a variable; `None` if several do, or a part of one.
    pub fn target(&self, f: &Facts<'_>, variable: VariableId) -> Option<Target> {
        let results = f.parts().filter(|(_, usage)| *usage == RegAccess::Write);
        let mut found = None;
        for (nth, (operand, _)) in results.enumerate() {
            let range = self.variables.of(f.place(operand)?);
            if range.single() == Some(variable) {
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
    pub fn extended(&self, folded: &Folded, variable: VariableId) -> Constant {
        let Some(class) = self.variables.class(self.facts.body(), variable) else {
            return Constant::Overdefined;
        };
        extended(folded, class.bits()).map_or(Constant::Overdefined, Constant::Constant)
    }
}
