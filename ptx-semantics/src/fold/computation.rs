//! Evaluation of the computation of a form ([`ptx_isa::internals::Computation`]) for constant operands.

use super::float_format::Format;
use super::functions::{self, Arguments};
use super::parts::Part;
use super::rounding::Rounding;
use super::value::{Exact, Float, Value, clamped, exact, low};
use super::{Folded, Video, element, mask};
use alloc::vec::Vec;
use bnum::cast::CastFrom;
use ptx_isa::internals::{
    Assignment, Destination, EffectKind, Expr, FormOperand, Length, RuleKind, SlotAssignment,
};
use ptx_isa::{Form, Marks, Modifier, Role, ScalarType, TypeKind};

/// An instruction of a form with a computation, and the values that it reads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Inputs<'a> {
    pub(crate) form: &'static Form,
    pub(crate) slots: &'a SlotAssignment,
    /// All words after the opcode.
    pub(crate) modifiers: &'a [Modifier],
    /// The bits of the sources, in their order; `None` for unknown ones. If there are more than the form has sources, they are the
    /// elements of its only source, a vector.
    pub(crate) operands: &'a [Option<u128>],
    pub(crate) carry: Option<bool>,
    pub(crate) video: Video,
    /// Whether results that the PTX ISA manual leaves open are those of GPUs. Otherwise there is no such result.
    pub(crate) choose: bool,
}

impl Inputs<'_> {
    /// Whether the form has as many sources as there are operands, and accepts the selected parts and signs.
    pub(crate) fn fit(&self) -> bool {
        self.count_fits() && self.parts_fit()
    }

    fn count_fits(&self) -> bool {
        let mut sources = self.sources(usize::MAX);
        let count = self.operands.len();
        match (sources.next(), sources.next()) {
            (Some(source), None) => match source.length() {
                Length::Scalar => {
                    count == 1 || count > 0 && source.marks().contains(Marks::ALLOW_SPLIT_VECTOR)
                }
                Length::Slot(slot) => {
                    let modifier = self.slots.word(slot.into());
                    modifier.and_then(Modifier::vector_len).map(usize::from) == Some(count)
                }
                _ => false,
            },
            (first, second) => first.iter().chain(&second).count() + sources.count() == count,
        }
    }

    /// Whether the rules of the form allow the modifiers.
    pub(crate) fn are_legal(&self) -> bool {
        let holds = |condition: ptx_isa::internals::Cond| condition.decide(self.slots);
        let mut tables = self.form.tables().iter();
        let mut rules = self.form.rules().iter();
        tables.all(|t| t.row(self.slots).is_some())
            && rules.all(|rule| match rule.kind() {
                RuleKind::Require(when, then) => {
                    holds(when) != Some(true) || holds(then) != Some(false)
                }
                RuleKind::Deny(when) => holds(when) != Some(true),
                _ => true,
            })
    }

    /// The results. A second result or carry flag that depends on an unknown operand, or is undefined, is `None`. There are no results if this is
    /// so for the first result, or if the computation is an approximation.
    pub(super) fn evaluate(&self) -> Option<Folded> {
        let computation = self.form.computation()?;
        if computation.is_approximate() {
            return None;
        }
        let assignments = computation.assignments();
        let mut operands = self.form.operands().iter();
        let result = operands.position(|o| o.role() == Role::Def)?;
        let ty = self.value_type(result)?;
        let element_type = element(ty);
        let width = element_width(ty);
        let mut folded = Folded::new(0, ty)?;
        for element_index in 0..u16::from(ty.elements().max(1)) {
            let values = self.element_values(assignments, element_index);
            for (assignment, value) in assignments.iter().zip(values) {
                match (assignment.target(), value) {
                    (Destination::Operand(index), value) if usize::from(index) == result => {
                        let bits = value.and_then(|value| self.bits(element_type, value));
                        folded.value |= bits.or_else(|| self.chosen_bits(element_type))?
                            << (element_index * width);
                    }
                    (Destination::Operand(_), Some(Value::Predicate(bit))) => {
                        folded.second = Some(bit)
                    }
                    (Destination::Carry, Some(Value::Integer(value))) if self.writes_carry() => {
                        folded.carry = Some(low(value) & 1 != 0);
                    }
                    _ => {}
                }
            }
        }
        Some(folded)
    }

    /// The scope before the first assignment.
    pub(crate) const fn scope(&self) -> Scope<'_> {
        Scope {
            inputs: self,
            assigned: &[],
            element_index: None,
            memory: None,
        }
    }

    /// The bits that an atomic operation writes to memory where it reads the bits `old`.
    pub(super) fn evaluate_update(&self, old: u128) -> Option<u128> {
        let assignments = self.form.computation()?.assignments();
        let ty = self.memory_type()?;
        let mut updated = 0;
        for element_index in 0..u16::from(ty.elements().max(1)) {
            let mut assigned: Vec<Option<Value>> = Vec::with_capacity(assignments.len());
            for assignment in assignments {
                let scope = Scope {
                    assigned: &assigned,
                    element_index: Some(element_index),
                    memory: Some(old),
                    ..self.scope()
                };
                let value = scope.value(&assignment.value());
                if let Destination::Memory(_) = assignment.target() {
                    let bits = self.bits(element(ty), value?)?;
                    updated |= bits << (element_index * element_width(ty));
                }
                assigned.push(value);
            }
        }
        Some(updated)
    }

    /// The type of the value in memory that an atomic operation changes: that of its first result, or of its first source.
    fn memory_type(&self) -> Option<ScalarType> {
        let has_role = |role: Role| {
            let mut operands = self.form.operands().iter();
            operands.position(|operand| operand.role() == role)
        };
        self.value_type(has_role(Role::Def).or_else(|| has_role(Role::Use))?)
    }

    /// The types of the operands.
    pub(super) fn types(&self) -> impl Iterator<Item = ScalarType> + Clone {
        (0..self.form.operands().len()).filter_map(|i| self.operand_type(i))
    }

    /// The values of the assignments for one element of packed operands.
    fn element_values(&self, assignments: &[Assignment], element_index: u16) -> Vec<Option<Value>> {
        let mut assigned: Vec<Option<Value>> = Vec::with_capacity(assignments.len());
        for assignment in assignments {
            let scope = Scope {
                assigned: &assigned,
                element_index: Some(element_index),
                ..self.scope()
            };
            let value = scope.value(&assignment.value());
            assigned.push(match (assignment.target(), value) {
                (Destination::Operand(index), Some(Value::Integer(value))) => {
                    self.stored(index.into(), value)
                }
                _ => value,
            });
        }
        assigned
    }

    /// The value that a result has after an integer was assigned to it.
    fn stored(&self, operand: usize, value: Exact) -> Option<Value> {
        let ty = element(self.value_type(operand)?);
        if ty.is_float() {
            Some(Value::Integer(value))
        } else {
            Value::read(ty, self.saturated_bits(ty, value), false)
        }
    }

    /// The bits of a value in a result.
    fn bits(&self, ty: ScalarType, value: Value) -> Option<u128> {
        match value {
            Value::Predicate(bit) => Some(bit.into()),
            Value::Float(Float {
                operand: Some((operand_type, bits)),
                ..
            }) if operand_type == ty => Some(bits),
            Value::Integer(value) if !ty.is_float() => Some(self.saturated_bits(ty, value)),
            value => self.rounded_bits(ty, value.float()?),
        }
    }

    /// The bits that GPUs write for an undefined value: all ones, but a number has no sign. In 64 bits they depend on the sources.
    fn chosen_bits(&self, ty: ScalarType) -> Option<u128> {
        if !self.choose {
            None
        } else if ty.is_float() {
            (ty.bits() < 64).then(|| mask(ty.bits()) >> 1)
        } else {
            Some(mask(ty.bits()))
        }
    }

    /// The bits of an integer after `.relu` and `.sat`.
    fn saturated_bits(&self, ty: ScalarType, value: Exact) -> u128 {
        let mut saturated = value;
        if self.has(Modifier::Relu) {
            saturated = saturated.max(exact(0));
        }
        if self.has(Modifier::Sat) && !self.states_saturation() {
            saturated = clamped(ty, saturated);
        }
        low(saturated) & mask(ty.bits())
    }

    /// The bits of a number after rounding, `.satfinite`, `.ftz`, `.sat` and `.relu`.
    fn rounded_bits(&self, ty: ScalarType, value: Float) -> Option<u128> {
        let format = Format::of(ty)?;
        let saturates = self.has(Modifier::Sat);
        let is_finite = self.has(Modifier::Satfinite);
        let number = match value.number {
            Some(number) if is_finite => format.saturated(number),
            Some(number) => number,
            None if saturates => return Some(0),
            None => return format.nan(is_finite),
        };
        let bits = format.finish(number, self.rounding(), self.flushes(ty), saturates)?;
        if self.has(Modifier::Relu) && bits & format.sign() != 0 {
            // The result for -0 is not defined.
            return (self.choose || bits != format.sign()).then_some(0);
        }
        Some(bits)
    }

    /// Whether the expressions define the effect of `.sat`.
    pub(crate) fn states_saturation(&self) -> bool {
        let mentions_sat = |expr: &Expr| *expr == Expr::Has(Modifier::Sat);
        self.form.computation().is_some_and(|computation| {
            computation
                .assignments()
                .iter()
                .any(|assignment| assignment.value().any(&mentions_sat))
        })
    }

    pub(crate) fn has(&self, modifier: Modifier) -> bool {
        self.modifiers.contains(&modifier)
    }

    pub(crate) fn rounding(&self) -> Rounding {
        self.modifiers
            .iter()
            .find_map(|&modifier| Rounding::of(modifier))
            .unwrap_or(Rounding::Nearest)
    }

    /// Whether subnormal numbers of a type count as zero. In an instruction with operands of type `f32`, `.ftz` only concerns these.
    pub(crate) fn flushes(&self, ty: ScalarType) -> bool {
        let is_single = |ty| element(ty) == ScalarType::F32;
        self.has(Modifier::Ftz)
            && ty != ScalarType::F64
            && (is_single(ty) || !self.types().any(is_single))
    }

    pub(crate) fn writes_carry(&self) -> bool {
        self.form.effects().iter().any(|effect| {
            effect.kind() == EffectKind::CarryWrite
                && effect.when().decide(self.slots) == Some(true)
        })
    }

    pub(super) fn operand_type(&self, operand: usize) -> Option<ScalarType> {
        let operand = self.form.operands().get(operand)?;
        operand.ty().scalar_type(self.slots, self.form)
    }

    /// The type of the value of an operand. The value of a vector consists of its elements side by side.
    pub(crate) fn value_type(&self, operand: usize) -> Option<ScalarType> {
        let ty = self.operand_type(operand)?;
        let count = match self.form.operands().get(operand)?.length() {
            Length::Scalar => return Some(ty),
            Length::Slot(slot) => self.slots.word(slot.into())?.vector_len()?.into(),
            _ => self.operands.len().try_into().ok()?,
        };
        let bits = ty.bits().checked_mul(count)?;
        ScalarType::ALL
            .iter()
            .find(|ty| ty.kind() == TypeKind::Bits && ty.bits() == bits)
            .copied()
    }

    /// The sources that the instruction has, among the operands of the form with an index below `end`.
    fn sources(&self, end: usize) -> impl Iterator<Item = &'static FormOperand> + '_ {
        self.form
            .operands()
            .iter()
            .take(end)
            .filter(|operand| is_source(operand))
            .filter(|operand| {
                operand
                    .condition()
                    .is_none_or(|condition| condition.decide(self.slots) != Some(false))
            })
    }

    /// The index in `operands` of a source; `None` if `operands` are the elements of the only source.
    pub(super) fn position(&self, index: usize) -> Option<usize> {
        let has_each_source = self.sources(usize::MAX).count() == self.operands.len();
        has_each_source.then(|| self.sources(index).count())
    }

    /// The bits of a source.
    pub(super) fn source(&self, index: usize) -> Option<u128> {
        if let Some(position) = self.position(index) {
            return *self.operands.get(position)?;
        }
        let count = u16::try_from(self.operands.len()).ok()?;
        let width = self.value_type(index)?.bits().checked_div(count)?;
        let mut joined = 0;
        for (i, bits) in (0u16..).zip(self.operands) {
            joined |= ((*bits)? & mask(width)) << (i * width);
        }
        Some(joined)
    }
}

/// The context in which an expression is evaluated.
#[derive(Clone, Copy)]
pub(crate) struct Scope<'a> {
    inputs: &'a Inputs<'a>,
    /// The values of earlier assignments.
    assigned: &'a [Option<Value>],
    /// The index of the element of packed operands that is evaluated.
    element_index: Option<u16>,
    /// The bits in memory; `None` if they are unknown.
    memory: Option<u128>,
}

impl Scope<'_> {
    /// The value of an expression; `None` if it is undefined or depends on an unknown operand.
    pub(super) fn value(&self, expr: &Expr) -> Option<Value> {
        let inputs = self.inputs;
        Some(match *expr {
            Expr::Operand(index) => self.element(index.into(), self.element_index?)?,
            Expr::Memory(_) => self.element_in_memory(self.element_index?)?,
            Expr::Lane => Value::Integer(Exact::cast_from(self.element_index?)),
            Expr::Assigned(index) => (*self.assigned.get(usize::from(index))?)?,
            Expr::Carry => Value::Integer(Exact::cast_from(u8::from(inputs.carry?))),
            Expr::Integer(value) => Value::Integer(Exact::cast_from(value)),
            Expr::Has(modifier) => Value::Predicate(inputs.has(modifier)),
            Expr::Filled(slot) => Value::Predicate(inputs.slots.is_filled(slot.into())),
            Expr::If([condition, then, otherwise]) => match self.predicate(condition) {
                Some(true) => self.value(then)?,
                Some(false) => self.value(otherwise)?,
                // The condition does not matter if both branches have the same value.
                None => self
                    .value(then)
                    .filter(|value| self.value(otherwise) == Some(*value))?,
            },
            Expr::Call(function, list) => {
                functions::call(function, Arguments { scope: self, list })?
            }
            _ => return None,
        })
    }

    /// The element with an index of a packed value in memory; the value in memory if it is not packed.
    fn element_in_memory(&self, index: u16) -> Option<Value> {
        let ty = self.inputs.memory_type()?;
        let bits = self
            .memory?
            .checked_shr(u32::from(index * element_width(ty)))?;
        Value::read(element(ty), bits & mask(element_width(ty)), false)
    }

    /// The element of a packed operand with an index; the value of an operand that is not packed.
    pub(super) fn element(&self, operand: usize, index: u16) -> Option<Value> {
        let inputs = self.inputs;
        if let Some(part) = inputs.part_value(operand, index) {
            return part.map(Value::Integer);
        }
        let bits = inputs.source(operand)?;
        let Some(ty) = inputs.value_type(operand) else {
            // The operand is a constant without a type.
            return Some(Value::Integer(Exact::cast_from(bits as u64)));
        };
        let element_type = element(ty);
        let shift = if ty.elements() > 1 {
            index * element_width(ty)
        } else {
            0
        };
        let element_bits = bits.checked_shr(shift.into())?;
        Value::read(element_type, element_bits, inputs.flushes(element_type))
    }

    /// The bits of an operand.
    pub(super) fn bits(&self, operand: usize) -> Option<Exact> {
        let width = self.inputs.value_type(operand)?.bits();
        Some(Exact::cast_from(self.inputs.source(operand)? & mask(width)))
    }

    /// The operand that an argument is.
    pub(crate) const fn operand(argument: &Expr) -> Option<usize> {
        match *argument {
            Expr::Operand(index) => Some(index as usize),
            _ => None,
        }
    }

    /// The values of an expression for each part of a result that is written.
    pub(super) fn for_parts(&self, result: usize, expr: &Expr) -> Option<Vec<(Part, Exact)>> {
        self.inputs
            .written(result)?
            .into_iter()
            .map(|(element_index, part)| {
                let scope = Self {
                    element_index: Some(element_index),
                    ..*self
                };
                Some((part, scope.value(expr)?.integer()?))
            })
            .collect()
    }

    pub(super) fn part_length(&self, operand: usize) -> Option<u16> {
        self.inputs.part_length(operand)
    }

    pub(super) fn is_negated(&self, operand: usize) -> bool {
        self.inputs.is_negated(operand)
    }

    /// The type that an argument is.
    pub(crate) fn ty(&self, argument: &Expr) -> Option<ScalarType> {
        match argument {
            Expr::Type(ty) => ty.scalar_type(self.inputs.slots, self.inputs.form),
            _ => None,
        }
    }

    /// The modifier in the slot that an argument is.
    pub(crate) fn modifier(&self, argument: &Expr) -> Option<Modifier> {
        match *argument {
            Expr::Slot(slot) => self.inputs.slots.word(slot.into()),
            _ => None,
        }
    }

    /// The value of a condition; `None` if it depends on an unknown operand.
    pub(super) fn predicate(&self, condition: &Expr) -> Option<bool> {
        match self.value(condition)? {
            Value::Predicate(holds) => Some(holds),
            _ => None,
        }
    }

    pub(super) fn has(&self, modifier: Modifier) -> bool {
        self.inputs.has(modifier)
    }

    pub(super) fn rounding(&self) -> Rounding {
        self.inputs.rounding()
    }
}

/// The width of an element of a packed type, which may be greater than the width of the element's type.
pub(crate) fn element_width(ty: ScalarType) -> u16 {
    ty.bits() / u16::from(ty.elements().max(1))
}

pub(crate) fn is_source(operand: &FormOperand) -> bool {
    matches!(operand.role(), Role::Use | Role::Imm)
}
