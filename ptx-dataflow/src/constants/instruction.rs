//! Evaluates instructions for operands of which some are constants.

use alloc::vec::Vec;

use ptx_ir::facts::{Facts, FunctionFacts, RegAccess, RegisterComponent};
use ptx_ir::{InstId, Operand, StmtId};
use ptx_isa::{Modifier, Opcode, ScalarType, SpecialReg};
use ptx_semantics::fold::{Folded, Operation, Video, fold};
use ptx_semantics::internals::{extended, fold_partial, source, visit_results};
use ptx_semantics::{Place, visit_sources};

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
    /// The constant that a statement reads from a register.
    #[must_use]
    pub fn place(&self, stmt: StmtId, place: RegisterComponent) -> Constant {
        self.constant(self.register(stmt, place))
    }

    /// The constant of an operand of an instruction with these types.
    #[must_use]
    pub fn operand(&self, stmt: StmtId, operand: Operand, types: &[ScalarType]) -> Constant {
        self.constant(self.resolve(stmt, source(self.facts.body(), operand, types)))
    }

    /// The constant of a source.
    fn constant(&self, source: Source) -> Constant {
        match source {
            Source::Bits(bits) => Constant::Constant(bits),
            Source::Value(id) => (self.value)(id),
            Source::Not(id) => (self.value)(id).xor(1),
            Source::Special(register, component) => (self.special)(register, component),
            Source::Unknown => Constant::Overdefined,
        }
    }

    /// The value that a statement reads from a register.
    fn register(&self, stmt: StmtId, place: RegisterComponent) -> Source {
        self.variables
            .of(place)
            .single()
            .and_then(|variable| self.ssa.read(stmt, variable))
            .map_or(Source::Unknown, Source::Value)
    }

    /// Replaces registers by the values that a statement reads from them.
    fn resolve(&self, stmt: StmtId, source: ptx_semantics::SourceOperand) -> Source {
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

    /// Calls `visitor` for each source of an instruction; returns `None` if an operand is neither a source nor a result.
    pub fn sources(
        &self,
        stmt: StmtId,
        facts: &Facts<'_>,
        types: &[ScalarType],
        mut visitor: impl FnMut(Source),
    ) -> Option<Video> {
        visit_sources(facts, types, |_, source| {
            visitor(self.resolve(stmt, source));
        })
    }

    /// The results of an instruction; `Err` has the lattice element of all results if none is constant. `modifiers` is a buffer.
    ///
    /// # Errors
    ///
    /// No result is constant.
    pub fn result(
        &self,
        stmt: StmtId,
        inst: InstId,
        facts: &Facts<'_>,
        modifiers: &mut Vec<Modifier>,
    ) -> Result<Folded, Constant> {
        let Some(record) = self.facts.body().inst(inst) else {
            return Err(Constant::Overdefined);
        };
        let signature = self.facts.module().signature(record.sig);
        let Some(opcode): Option<Opcode> = signature.opcode() else {
            return Err(Constant::Overdefined);
        };
        let types: Vec<ScalarType> = signature.types().collect();
        modifiers.clear();
        modifiers.extend(signature.modifiers());
        let mut operands = Vec::new();
        let video = self
            .sources(stmt, facts, &types, |source| {
                operands.push(self.constant(source));
            })
            .ok_or(Constant::Overdefined)?;
        let mut is_unreached = operands.contains(&Constant::Unreached);
        let mut carry = None;
        if facts.reads_carry() {
            let flag = self
                .ssa
                .read(stmt, self.ssa.carry())
                .map_or(Constant::Overdefined, &self.value);
            is_unreached |= flag == Constant::Unreached;
            carry = flag.known().map(|bits| bits == 1);
        }
        if is_unreached {
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

    /// The part of the results of an instruction that it writes to a variable.
    #[must_use]
    pub fn part(&self, folded: &Folded, facts: &Facts<'_>, variable: VariableId) -> Constant {
        let mut constant = Constant::Unreached;
        visit_results(facts, folded, |place, bits| {
            let is_written = match place {
                Place::Carry => variable == self.ssa.carry(),
                Place::Register(register) => self.variables.of(register).single() == Some(variable),
                _ => false,
            };
            if is_written {
                constant = constant.joined(bits.map_or(Constant::Overdefined, Constant::Constant));
            }
        });
        // No result is the variable: the instruction writes it in another way.
        if constant == Constant::Unreached {
            Constant::Overdefined
        } else {
            constant
        }
    }

    /// The result that an instruction writes to a variable; `None` for a part of a result, or several of them.
    #[must_use]
    pub fn target(&self, facts: &Facts<'_>, variable: VariableId) -> Option<Target> {
        let results = facts
            .parts()
            .filter(|(_, usage)| *usage == RegAccess::Write);
        let mut target = None;
        for (position, (operand, _)) in results.enumerate() {
            let range = self.variables.of(facts.place(operand)?);
            if range.single() == Some(variable) {
                target = match (target, position) {
                    (None, 0) => Some(Target::First),
                    (None, 1) => Some(Target::Second),
                    _ => return None,
                };
            }
        }
        target
    }

    /// A result, extended to the width of its register.
    #[must_use]
    pub fn extended(&self, folded: &Folded, variable: VariableId) -> Constant {
        let Some(class) = self.variables.class(variable) else {
            return Constant::Overdefined;
        };
        extended(folded, class.bits()).map_or(Constant::Overdefined, Constant::Constant)
    }
}
