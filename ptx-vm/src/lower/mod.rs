//! Lowers the semantics of instructions ([`ptx_isa::internals::Computation`]) to operations on all lanes.
//!
//! Integers of the notation are exact. An expression is computed either exactly, in 32 or 64 bits if its range fits, or modulo a power of two if only
//! the low bits matter. Other integer expressions, and numbers that are not rounded to nearest, are left to [`ptx_semantics::fold`].

mod approximations;
mod code;
mod conditions;
mod constants;
mod integers;
mod numbers;
mod packed;
mod range;
mod steps;
mod wide;

pub(crate) use code::Code;

use ptx_isa::internals::{Destination, Expr, FormOperand, Length, SlotAssignment};
use ptx_isa::{Form, Modifier, Role, ScalarType, TypeKind};

use crate::lanes::Place;
use integers::Need;
use range::{Int, Range};

/// The places of an operand of an instruction: that of its value, or those of the elements of a vector.
pub(crate) type Source = Vec<Place>;

/// The result of an assignment.
#[derive(Copy, Clone, Debug)]
enum Assigned {
    /// The expression, which is computed where it is used.
    Expr(Expr),
    /// An integer of the type of a result.
    Integer(Int),
    /// The bits of a value of a type.
    Bits(ScalarType, Place),
    Predicate(u32),
}

/// A value in memory.
#[derive(Copy, Clone, Debug)]
pub(crate) struct InMemory {
    pub(crate) ty: ScalarType,
    pub(crate) place: Place,
}

/// The results of operations.
#[derive(Debug)]
pub(crate) struct Lowered {
    /// The results, which [`Code::write_results`] copies to registers when all operands were read: destination and value.
    pub(crate) results: Vec<(Place, Place)>,
    /// The value that is written to memory. It may be in a register that is a result, too.
    pub(crate) stored: Option<Place>,
}

/// An instruction whose computation is lowered.
pub(crate) struct Lowering<'a> {
    pub(crate) code: &'a mut Code,
    pub(crate) form: &'static Form,
    pub(crate) slots: &'a SlotAssignment,
    /// All words after the opcode.
    pub(crate) modifiers: &'a [Modifier],
    /// The operands of the form, in its order; `None` for absent ones.
    pub(crate) operands: &'a [Option<Source>],
    /// The values that are read from memory, with the address operands.
    pub(crate) loaded: &'a [(u8, InMemory)],
    /// The element of vectors in memory.
    pub(crate) element: usize,
    /// The element of packed operands, and how many there are.
    lane: Option<u16>,
    assigned: Vec<Assigned>,
    lowered: Lowered,
}

impl<'a> Lowering<'a> {
    pub(crate) fn new(
        code: &'a mut Code,
        form: &'static Form,
        slots: &'a SlotAssignment,
        modifiers: &'a [Modifier],
        operands: &'a [Option<Source>],
    ) -> Self {
        Self {
            code,
            form,
            slots,
            modifiers,
            operands,
            loaded: &[],
            element: 0,
            lane: None,
            assigned: Vec::new(),
            lowered: Lowered {
                results: Vec::new(),
                stored: None,
            },
        }
    }

    /// Adds the operations, which change no register; `None` where they cannot express the computation.
    pub(crate) fn lower(mut self) -> Option<Lowered> {
        let start = self.code.ops.len();
        if self.assignments().is_none() {
            self.code.ops.truncate(start);
            return None;
        }
        Some(self.lowered)
    }

    fn assignments(&mut self) -> Option<()> {
        let assignments = self.form.computation()?.assignments();
        if self.result_lanes() > 1 {
            self.packed(assignments)?;
        } else {
            for assignment in assignments {
                self.assign(assignment.target(), assignment.value())?;
            }
        }
        Some(())
    }

    /// The number of elements of the first result.
    fn result_lanes(&self) -> u8 {
        self.position_of(Role::Def)
            .and_then(|index| self.operand_type(index))
            .or_else(|| self.memory_type())
            .map_or(1, ScalarType::elements)
    }

    /// Assigns an expression to its target.
    fn assign(&mut self, target: Destination, expr: Expr) -> Option<()> {
        let assigned = match target {
            Destination::Local => Assigned::Expr(expr),
            Destination::Carry => {
                if self.writes_carry() {
                    let bit = self.bit(expr)?;
                    let to = Place::Predicate(Code::CARRY);
                    self.lowered.results.push((to, Place::Predicate(bit)));
                }
                Assigned::Expr(expr)
            }
            Destination::Operand(index) => {
                let ty = self.operand_type(index.into())?;
                let value = self.result(expr, ty)?;
                if let Some(to) = self.operand_place(index.into()) {
                    let from = self.fit_register(value, to)?;
                    self.lowered.results.push((to, from));
                }
                value
            }
            Destination::Memory(_) => {
                let value = self.result(expr, self.memory_type()?)?;
                self.lowered.stored = Some(value.place()?);
                value
            }
            _ => return None,
        };
        self.assigned.push(assigned);
        Some(())
    }

    /// Computes the value of a result of a type.
    fn result(&mut self, expr: Expr, ty: ScalarType) -> Option<Assigned> {
        Some(match ty.kind() {
            TypeKind::Predicate => Assigned::Predicate(self.condition(expr)?),
            _ if ty.is_float() => Assigned::Bits(ty, self.rounded(expr, ty)?),
            _ if ty.bits() > 64 => Assigned::Bits(ty, self.wide(expr)?),
            _ => Assigned::Integer(self.fitted(expr, ty)?),
        })
    }

    /// An integer as a result of a type: truncated, or saturated.
    fn fitted(&mut self, expr: Expr, ty: ScalarType) -> Option<Int> {
        let signed = ty.kind() == TypeKind::Signed;
        if !self.has(Modifier::Sat) && !self.has(Modifier::Relu) {
            let value = self.integer(expr, Need::Low(ty.bits()))?;
            return self.truncated(value, ty.bits(), signed);
        }
        let mut value = self.integer(expr, Need::Exact)?;
        if self.has(Modifier::Relu) {
            value = self.bounded(value, 0, false)?;
        }
        if self.has(Modifier::Sat) {
            let range = Range::of_type(ty)?;
            value = self.bounded(value, range.min, false)?;
            value = self.bounded(value, range.max, true)?;
        }
        self.truncated(value, ty.bits(), signed)
    }

    /// A value with the bits that a register has. A register that is wider than the type of an integer is filled by its sign.
    fn fit_register(&mut self, value: Assigned, to: Place) -> Option<Place> {
        let Assigned::Integer(int) = value else {
            return value.place();
        };
        match to {
            Place::Word(_) => {
                let word = self.as_word(int)?;
                let width = self.code.width(to);
                Some(if width < 32 {
                    self.code.extend(word, width, false)
                } else {
                    word
                })
            }
            Place::Double(_) => self.as_double(int),
            _ => None,
        }
    }

    fn operand(&self, index: usize) -> Option<&'static FormOperand> {
        self.form.operands().get(index)
    }

    fn operand_type(&self, index: usize) -> Option<ScalarType> {
        self.operand(index)?.ty().scalar_type(self.slots, self.form)
    }

    /// The place of the value of an operand; of a vector, that of the element.
    fn operand_place(&self, index: usize) -> Option<Place> {
        let places = self.operands.get(index)?.as_ref()?;
        match self.operand(index)?.length() {
            Length::Scalar => match places[..] {
                [only] => Some(only),
                _ => None,
            },
            _ => places.get(self.element).copied(),
        }
    }

    /// The value in memory at an address operand.
    fn loaded(&self, address: u8) -> Option<InMemory> {
        let value = self.loaded.iter().find(|(operand, _)| *operand == address);
        value.map(|(_, value)| *value)
    }

    /// The type of the value in memory.
    pub(crate) fn memory_type(&self) -> Option<ScalarType> {
        if let Some((_, first)) = self.loaded.first() {
            return Some(first.ty);
        }
        let first = self.position_of(Role::Def);
        self.operand_type(first.or_else(|| self.position_of(Role::Use))?)
    }

    /// The index of the first operand with a role.
    fn position_of(&self, role: Role) -> Option<usize> {
        let mut operands = self.form.operands().iter();
        operands.position(|operand| operand.role() == role)
    }

    fn has(&self, modifier: Modifier) -> bool {
        self.modifiers.contains(&modifier)
    }

    fn writes_carry(&self) -> bool {
        self.form.effects().iter().any(|e| {
            e.kind() == ptx_isa::internals::EffectKind::CarryWrite
                && e.when().decide(self.slots) == Some(true)
        })
    }
}

/// An argument of a function.
fn argument(arguments: &[Expr], index: usize) -> Option<Expr> {
    arguments.get(index).copied()
}

impl Assigned {
    fn place(self) -> Option<Place> {
        match self {
            Self::Expr(_) => None,
            Self::Integer(int) => Some(int.place),
            Self::Bits(_, place) => Some(place),
            Self::Predicate(predicate) => Some(Place::Predicate(predicate)),
        }
    }
}
