//! The value of what a form computes ([`ptx_isa::Computation`]), for constant operands.

use super::float_format::Format;
use super::functions::{self, Arguments};
use super::parts::Part;
use super::rounding::Rounding;
use super::value::{Exact, Float, Value, clamped, exact, low};
use super::{Folded, Video, element, float, mask};
use alloc::vec::Vec;
use bnum::cast::CastFrom;
use ptx_isa::{
    Assignment, Destination, EffectKind, Expr, Form, FormOperand, Length, Marks, Modifier, Role,
    RuleKind, ScalarType, SlotAssignment, TypeKind,
};

/// An instruction of a form that computes something, with the values it reads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Inputs<'a> {
    pub(crate) form: &'static Form,
    pub(crate) slots: &'a SlotAssignment,
    /// All words after the opcode.
    pub(crate) modifiers: &'a [Modifier],
    /// The bits of the sources, in their order; `None` for unknown ones. If there are more than the form has sources, they are the
    /// elements of the only one.
    pub(crate) operands: &'a [Option<u128>],
    pub(crate) carry: Option<bool>,
    pub(crate) video: Video,
    /// Whether results that the PTX ISA manual leaves open are those of GPUs instead of nothing.
    pub(crate) choose: bool,
}

impl Inputs<'_> {
    /// Whether the form has as many sources, and accepts parts and signs of them.
    pub(crate) fn fit(&self) -> bool {
        self.count_fits() && self.parts_fit()
    }

    fn count_fits(&self) -> bool {
        let mut sources = self.sources(usize::MAX);
        let given = self.operands.len();
        match (sources.next(), sources.next()) {
            (Some(only), None) => match only.length() {
                Length::Scalar => {
                    given == 1 || given > 0 && only.marks().contains(Marks::ALLOW_SPLIT_VECTOR)
                }
                Length::Slot(slot) => {
                    let modifier = self.slots.word(slot.into());
                    modifier.and_then(Modifier::vector_len).map(usize::from) == Some(given)
                }
                _ => false,
            },
            (first, second) => first.iter().chain(&second).count() + sources.count() == given,
        }
    }

    /// Whether the form has these modifiers.
    pub(crate) fn are_legal(&self) -> bool {
        let holds = |when: ptx_isa::Cond| when.decide(self.slots);
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

    /// The results. Those that depend on an unknown operand, or are undefined, are `None`. Approximations and what lacks the first result give
    /// nothing.
    pub(super) fn evaluate(&self) -> Option<Folded> {
        let computation = self.form.computation()?;
        if computation.is_approximate() {
            return None;
        }
        let assignments = computation.assignments();
        let mut operands = self.form.operands().iter();
        let first = operands.position(|o| o.role() == Role::Def)?;
        let ty = self.value_type(first)?;
        let part = element(ty);
        let width = element_width(ty);
        let mut found = Folded::new(0, ty)?;
        for lane in 0..u16::from(ty.lanes().max(1)) {
            let results = self.lane(assignments, lane);
            for (assignment, value) in assignments.iter().zip(results) {
                match (assignment.target(), value) {
                    (Destination::Operand(at), value) if usize::from(at) == first => {
                        let bits = value.and_then(|value| self.bits(part, value));
                        found.value |= bits.or_else(|| self.chosen(part))? << (lane * width);
                    }
                    (Destination::Operand(_), Some(Value::Predicate(bit))) => {
                        found.second = Some(bit)
                    }
                    (Destination::Carry, Some(Value::Integer(value))) if self.writes_carry() => {
                        found.carry = Some(low(value) & 1 != 0);
                    }
                    _ => {}
                }
            }
        }
        Some(found)
    }

    /// Where nothing is assigned yet.
    pub(crate) const fn scope(&self) -> Scope<'_> {
        Scope {
            inputs: self,
            assigned: &[],
            lane: None,
        }
    }

    /// The types of the operands.
    pub(super) fn types(&self) -> impl Iterator<Item = ScalarType> + Clone {
        (0..self.form.operands().len()).filter_map(|i| self.operand_type(i))
    }

    /// The values of the assignments for one element of packed operands.
    fn lane(&self, assignments: &[Assignment], lane: u16) -> Vec<Option<Value>> {
        let mut assigned: Vec<Option<Value>> = Vec::with_capacity(assignments.len());
        for assignment in assignments {
            let scope = Scope {
                assigned: &assigned,
                lane: Some(lane),
                ..self.scope()
            };
            let value = scope.value(&assignment.value());
            assigned.push(match (assignment.target(), value) {
                (Destination::Operand(at), Some(Value::Integer(value))) => {
                    self.stored(at.into(), value)
                }
                _ => value,
            });
        }
        assigned
    }

    /// The value that a result has after an integer was assigned to it.
    fn stored(&self, operand: usize, value: Exact) -> Option<Value> {
        let ty = element(self.value_type(operand)?);
        match ty.is_float() {
            true => Some(Value::Integer(value)),
            false => Value::read(ty, self.fitted(ty, value), false),
        }
    }

    /// The bits of a value in a result.
    fn bits(&self, ty: ScalarType, value: Value) -> Option<u128> {
        match value {
            Value::Predicate(bit) => Some(bit.into()),
            Value::Float(Float {
                operand: Some((from, bits)),
                ..
            }) if from == ty => Some(bits),
            Value::Integer(value) if !ty.is_float() => Some(self.fitted(ty, value)),
            value => self.rounded(ty, value.float()?),
        }
    }

    /// The bits of an undefined value that GPUs give: all ones, of numbers but for the sign. In 64 bits they depend on the sources.
    fn chosen(&self, ty: ScalarType) -> Option<u128> {
        match (self.choose, ty.is_float()) {
            (false, _) => None,
            (true, true) => (ty.bits() < 64).then(|| mask(ty.bits()) >> 1),
            (true, false) => Some(mask(ty.bits())),
        }
    }

    fn fitted(&self, ty: ScalarType, value: Exact) -> u128 {
        let positive = match self.has(Modifier::Relu) {
            true => value.max(exact(0)),
            false => value,
        };
        let fitted = match self.has(Modifier::Sat) && !self.states_saturation() {
            true => clamped(ty, positive),
            false => positive,
        };
        low(fitted) & mask(ty.bits())
    }

    fn rounded(&self, ty: ScalarType, value: Float) -> Option<u128> {
        let format = Format::of(ty)?;
        let sat = self.has(Modifier::Sat);
        let finite = self.has(Modifier::Satfinite);
        let number = match value.number {
            Some(number) if finite => format.saturated(number),
            Some(number) => number,
            None if sat => return Some(0),
            None => return format.nan(finite),
        };
        let bits = float::finish(format, number, self.rounding(), self.flushes(ty), sat)?;
        match self.has(Modifier::Relu) && bits & format.sign() != 0 {
            false => Some(bits),
            // Whether -0 counts as negative is not defined.
            true => (self.choose || bits != format.sign()).then_some(0),
        }
    }

    /// Whether the expressions say what `.sat` does.
    pub(crate) fn states_saturation(&self) -> bool {
        let stated = |e: &Expr| *e == Expr::Has(Modifier::Sat);
        let computation = self.form.computation();
        computation.is_some_and(|c| c.assignments().iter().any(|a| a.value().any(&stated)))
    }

    pub(crate) fn has(&self, modifier: Modifier) -> bool {
        self.modifiers.contains(&modifier)
    }

    pub(crate) fn rounding(&self) -> Rounding {
        let mut all = self.modifiers.iter().filter_map(|&m| Rounding::of(m));
        all.next().unwrap_or(Rounding::Nearest)
    }

    /// Whether subnormal numbers of a type count as zero.
    pub(crate) fn flushes(&self, ty: ScalarType) -> bool {
        let single = |ty| element(ty) == ScalarType::F32;
        let mixed = || self.types().any(single);
        self.has(Modifier::Ftz) && ty != ScalarType::F64 && (single(ty) || !mixed())
    }

    pub(crate) fn writes_carry(&self) -> bool {
        let mut effects = self.form.effects().iter();
        effects.any(|e| {
            e.kind() == EffectKind::CarryWrite && e.when().decide(self.slots) == Some(true)
        })
    }

    pub(super) fn operand_type(&self, operand: usize) -> Option<ScalarType> {
        let operand = self.form.operands().get(operand)?;
        operand.ty().scalar_type(self.slots, self.form)
    }

    /// The type of the value of an operand: of a vector, that of its elements side by side.
    pub(crate) fn value_type(&self, operand: usize) -> Option<ScalarType> {
        let ty = self.operand_type(operand)?;
        let count = match self.form.operands().get(operand)?.length() {
            Length::Scalar => return Some(ty),
            Length::Slot(slot) => self.slots.word(slot.into())?.vector_len()?.into(),
            _ => self.operands.len().try_into().ok()?,
        };
        let bits = ty.bits().checked_mul(count)?;
        let is_joined = |t: &&ScalarType| t.kind() == TypeKind::Bits && t.bits() == bits;
        ScalarType::ALL.iter().find(is_joined).copied()
    }

    /// The sources that the instruction has, among the first operands of the form.
    fn sources(&self, first: usize) -> impl Iterator<Item = &'static FormOperand> + '_ {
        let present = |o: &&FormOperand| {
            o.condition()
                .is_none_or(|c| c.decide(self.slots) != Some(false))
        };
        let operands = self.form.operands().iter().take(first);
        operands.filter(|o| is_source(o)).filter(present)
    }

    /// The position of a source among those given; `None` if they are the elements of the only one.
    pub(super) fn position(&self, index: usize) -> Option<usize> {
        let are_all = self.sources(usize::MAX).count() == self.operands.len();
        are_all.then(|| self.sources(index).count())
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

/// Where an expression is evaluated.
#[derive(Clone, Copy)]
pub(crate) struct Scope<'a> {
    inputs: &'a Inputs<'a>,
    /// The values of earlier assignments.
    assigned: &'a [Option<Value>],
    /// The element of packed operands, where one is evaluated.
    lane: Option<u16>,
}

impl Scope<'_> {
    /// The value; `None` where it is undefined or depends on an unknown operand.
    pub(super) fn value(&self, expr: &Expr) -> Option<Value> {
        let inputs = self.inputs;
        Some(match *expr {
            Expr::Operand(at) => self.element(at.into(), self.lane?)?,
            Expr::Lane => Value::Integer(Exact::cast_from(self.lane?)),
            Expr::Assigned(at) => (*self.assigned.get(usize::from(at))?)?,
            Expr::Carry => Value::Integer(Exact::cast_from(u8::from(inputs.carry?))),
            Expr::Integer(value) => Value::Integer(Exact::cast_from(value)),
            Expr::Has(modifier) => Value::Predicate(inputs.has(modifier)),
            Expr::Filled(slot) => Value::Predicate(inputs.slots.is_filled(slot.into())),
            Expr::If([when, then, otherwise]) => match self.predicate(when) {
                Some(true) => self.value(then)?,
                Some(false) => self.value(otherwise)?,
                // The condition does not matter if both are the same.
                None => (self.value(then)).filter(|v| self.value(otherwise) == Some(*v))?,
            },
            Expr::Call(function, list) => {
                functions::call(function, Arguments { scope: self, list })?
            }
            _ => return None,
        })
    }

    /// An element of an operand; of one that is not packed, its value.
    pub(super) fn element(&self, operand: usize, lane: u16) -> Option<Value> {
        let inputs = self.inputs;
        if let Some(part) = inputs.part_value(operand, lane) {
            return part.map(Value::Integer);
        }
        let bits = inputs.source(operand)?;
        let Some(ty) = inputs.value_type(operand) else {
            // A constant without a type.
            return Some(Value::Integer(Exact::cast_from(bits as u64)));
        };
        let part = element(ty);
        let shift = if ty.lanes() > 1 {
            lane * element_width(ty)
        } else {
            0
        };
        let bits = bits.checked_shr(shift.into())?;
        Value::read(part, bits, inputs.flushes(part))
    }

    /// The bits of an operand.
    pub(super) fn bits(&self, operand: usize) -> Option<Exact> {
        let width = self.inputs.value_type(operand)?.bits();
        Some(Exact::cast_from(self.inputs.source(operand)? & mask(width)))
    }

    /// The operand that an argument is.
    pub(crate) const fn operand(argument: &Expr) -> Option<usize> {
        match *argument {
            Expr::Operand(at) => Some(at as usize),
            _ => None,
        }
    }

    /// The values of an expression for the parts of a result that are written.
    pub(super) fn for_parts(&self, result: usize, expr: &Expr) -> Option<Vec<(Part, Exact)>> {
        let written = self.inputs.written(result)?.into_iter();
        let values = written.map(|(lane, part)| {
            let scope = Self {
                lane: Some(lane),
                ..*self
            };
            Some((part, scope.value(expr)?.integer()?))
        });
        values.collect()
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

    /// The value of a condition; `None` where it depends on an unknown operand.
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

/// The bits that an element of a packed type takes, which may be more than those of its type.
pub(crate) fn element_width(ty: ScalarType) -> u16 {
    ty.bits() / u16::from(ty.lanes().max(1))
}

pub(crate) fn is_source(operand: &FormOperand) -> bool {
    matches!(operand.role(), Role::Use | Role::Imm)
}
