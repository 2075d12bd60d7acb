//! Checks the operands, the rules and the tables of one form.

use crate::check_operand::{Element, SpaceRule, takes_constants};
use crate::check_vector::mixes_constant_and_component;
use crate::operand_binding::{BoundOperand, OperandBinding};
use crate::type_compat::Expected;
use crate::{
    Access, ActualOperand, Cell, Context, Directive, Form, FormOperand, Length, Marks, Modifier,
    ModifierSet, Nesting, OperandShape, OperandTest, OperandViolation, Role, RuleKind,
    SlotAssignment, Spaces, StateSpace, Table, Violation, Violations,
};

/// The length that a vector operand must have.
#[derive(Copy, Clone)]
pub(crate) struct ExpectedLength {
    pub(crate) length: u16,
    /// Whether a scalar is accepted as well.
    pub(crate) allows_scalar: bool,
}

impl ExpectedLength {
    fn new(length: u16, allows_scalar: bool) -> Self {
        Self {
            length,
            allows_scalar,
        }
    }
}

/// A form with the modifiers in its slots and the actual operands.
pub(crate) struct FormChecker<'a, 'b> {
    pub(crate) form: &'static Form,
    pub(crate) assignment: &'b SlotAssignment,
    pub(crate) binding: &'b OperandBinding<'a>,
    pub(crate) in_entry: bool,
    pub(crate) unified_textures: bool,
    pub(crate) missing_directive: Option<Directive>,
}

impl Context for FormChecker<'_, '_> {
    fn is_filled(&self, slot: usize) -> bool {
        self.assignment.is_filled(slot)
    }

    fn holds(&self, slot: usize, words: ModifierSet) -> bool {
        self.assignment.holds(slot, words)
    }

    fn operand(&self, operand: usize, test: OperandTest) -> bool {
        let Some(bound) = self.binding.bound(operand) else {
            return test == OperandTest::Absent;
        };
        match test {
            OperandTest::Pair | OperandTest::Unified => bound.operand.is(test),
            _ => bound.part.is(test),
        }
    }

    fn in_entry(&self) -> bool {
        self.in_entry
    }

    fn unified_textures(&self) -> bool {
        self.unified_textures
    }
}

impl<'a> FormChecker<'a, '_> {
    /// All violations that do not depend on version and target.
    pub(crate) fn violations(&self) -> Violations {
        let mut violations = Violations::NONE;
        let mut shape_mismatch = false;
        for (i, operand) in self.form.operands().iter().enumerate() {
            if self.binding.shape_mismatch >> i.min(31) & 1 != 0 {
                shape_mismatch = true;
                violations.add(Violation::Operand(i, OperandViolation::Shape));
                continue;
            }
            let bound = self.binding.bound(i);
            if let Some(iff) = operand.condition {
                let is_required = iff.holds(self);
                if is_required != bound.is_some() {
                    let violation = if is_required {
                        OperandViolation::Missing
                    } else {
                        OperandViolation::Unexpected
                    };
                    violations.add(Violation::Operand(i, violation));
                    continue;
                }
            }
            if let Some(Err(violation)) = bound.map(|b| self.check_operand(i, operand, b)) {
                violations.add(Violation::Operand(i, violation));
            }
        }
        // Rules cannot be evaluated on operands that are not bound.
        if !shape_mismatch {
            self.check_rules(&mut violations);
        }
        for table in self.form.tables() {
            if self.row(table).is_none() {
                violations.add(Violation::Table(table));
            }
        }
        violations
    }

    fn check_rules(&self, violations: &mut Violations) {
        for rule in self.form.rules() {
            let is_satisfied = match rule.kind {
                RuleKind::Require(when, then) => !when.holds(self) || then.holds(self),
                RuleKind::Deny(cond) => !cond.holds(self),
                RuleKind::Ordered(low, high) => match (self.constant(low), self.constant(high)) {
                    (Some(low), Some(high)) => low as u64 <= high as u64,
                    _ => true,
                },
                _ => true,
            };
            if !is_satisfied {
                violations.add(Violation::Rule(rule));
            }
        }
    }

    /// The value of an operand that is a constant.
    fn constant(&self, operand: u8) -> Option<i64> {
        match self.binding.get(operand.into())?.shape {
            OperandShape::Integer(value) => Some(value),
            _ => None,
        }
    }

    /// The row of a table that matches the modifiers.
    pub(crate) fn row(&self, table: &'static Table) -> Option<&'static crate::Row> {
        table.row(self.assignment)
    }

    /// The number of elements that a table requires of an operand.
    fn table_length(&self, index: usize, operand: &FormOperand) -> Option<u16> {
        let (table, column) = self.form.tables().iter().find_map(|t| {
            let column = t.operands.iter().position(|&o| usize::from(o) == index)?;
            Some((t, column))
        })?;
        let row = self.row(table)?;
        let lengths = *row.lengths.get(column)?;
        if let [one] = lengths {
            return Some(*one);
        }
        // One per modifier in the column of the type.
        let slot = operand.ty.slot()?;
        let word = self.assignment.word(slot.into())?;
        let mut slot = slot;
        for _ in 0..2 {
            let column = table.columns.iter().position(|&c| c == slot)?;
            match row.cells.get(column)? {
                Cell::OneOf(words) => {
                    let nth = words.as_slice().iter().position(|&w| w == word)?;
                    return lengths.get(nth).copied();
                }
                Cell::Same(other) => slot = *other,
                _ => return None,
            }
        }
        None
    }

    /// The length that the vector must have; `None` for an operand that is not a vector.
    pub(crate) fn expected_length(
        &self,
        index: usize,
        operand: &FormOperand,
    ) -> Option<ExpectedLength> {
        let braced = operand.marks.contains(Marks::BRACED);
        // A scalar is accepted for a vector that is only read if a longer vector is.
        let allows_longer =
            operand.marks.contains(Marks::ALLOW_LONGER_VEC) && operand.role == Role::Use;
        match operand.length {
            Length::Scalar => None,
            Length::Fixed(n) => Some(ExpectedLength::new(n, n == 1 && !braced)),
            Length::Slot(slot) => {
                let length = self
                    .assignment
                    .word(slot.into())
                    .and_then(|w| w.vector_len());
                Some(length.map_or(ExpectedLength::new(1, !braced), |n| {
                    ExpectedLength::new(n.into(), allows_longer)
                }))
            }
            Length::Cases(cases) => {
                let (_, n) = cases.iter().find(|(cond, _)| cond.holds(self))?;
                let allows_scalar = operand.marks.contains(Marks::OR_SCALAR);
                Some(ExpectedLength::new(*n, allows_scalar || *n == 1 && !braced))
            }
            Length::Fragment(slot) => {
                let columns = self.assignment.word(slot.into())?.columns()?;
                let bits = Expected::of(operand.ty, self.assignment, self.form).bits()?;
                let element = operand
                    .ty
                    .slot()
                    .and_then(|s| self.assignment.word(s.into()));
                let bits = element
                    .and_then(|w| w.scalar_type())
                    .map_or(bits, |t| t.bits());
                // 64 rows for 128 threads, in registers of 32 bits.
                Some(ExpectedLength::new(columns * bits / 64, false))
            }
            Length::Product(factors, divisor) => {
                let mut product = 1;
                for &(slot, digits) in factors {
                    product *= self.assignment.word(slot.into())?.number(digits)?;
                }
                let n = u16::try_from(product.div_ceil(divisor.into())).unwrap_or(u16::MAX);
                Some(ExpectedLength::new(n, n == 1 && !braced))
            }
            Length::Table => self
                .table_length(index, operand)
                .map(|n| ExpectedLength::new(n, n == 1 && !braced)),
        }
    }

    fn has_operand(&self, test: impl Fn(&FormOperand) -> bool) -> bool {
        self.form.operands().iter().any(test)
    }

    fn check_operand(
        &self,
        index: usize,
        operand: &FormOperand,
        bound: BoundOperand<'a>,
    ) -> Result<(), OperandViolation> {
        let written = bound.part;
        // ptxas does not look at addresses and at elements of vectors.
        if let (OperandShape::Special(register), Nesting::Whole) = (written.shape, operand.nesting)
            && self.missing_directive.is_some()
            && register.needs() == self.missing_directive
        {
            return Err(OperandViolation::Directive(register));
        }
        let is_register = matches!(written.shape, OperandShape::Register(_));
        if bound.operand.unified && !(operand.marks.contains(Marks::UNIFIED) && is_register) {
            return Err(OperandViolation::Unified);
        }
        let constant = written.shape.constant_kind();
        // A value in an address must not be followed by an offset, the second part must not be a bare constant, and the third
        // of three must be a vector in braces.
        if let (Nesting::Bracket(nth), OperandShape::Bracket(parts)) =
            (operand.nesting, bound.operand.shape)
        {
            let is_braced_part = parts.len() == 3
                && self.binding.part(index) == 2
                && operand.length != Length::Scalar;
            if operand.role == Role::Use && written.offset
                || nth > 0 && constant.is_some()
                || is_braced_part && !matches!(written.shape, OperandShape::Vector(_))
            {
                return Err(OperandViolation::Shape);
            }
        }
        let expected = Expected::of(operand.ty, self.assignment, self.form);
        let element = Element {
            operand,
            expected,
            spaces: self.spaces(operand),
            is_call: self.has_operand(|o| matches!(o.role, Role::Args | Role::Rets)),
        };
        // ptxas expands instructions that select lanes, and copies neither components nor sums there.
        let selects_several =
            self.has_operand(|o| o.marks.intersects(Marks::LANES8.union(Marks::LANES16)));
        if written.component
            && (selects_several || self.has_operand(|o| o.marks.contains(Marks::LANES)))
            || written.offset && (selects_several || operand.marks.contains(Marks::LANES))
        {
            return Err(OperandViolation::Lanes);
        }
        if mixes_constant_and_component(written.shape) {
            return Err(OperandViolation::Component);
        }
        let Some(expected_length) = self.expected_length(index, operand) else {
            if operand.marks.contains(Marks::ALLOW_SPLIT_VECTOR) && element.is_split(written) {
                return Ok(());
            }
            if written.shape == OperandShape::Discard
                && operand.marks.contains(Marks::ALLOW_SPLIT_VECTOR)
            {
                return Err(OperandViolation::Discard);
            }
            return element.check(written);
        };
        self.check_vector(&element, written, expected_length)
    }

    /// Checks an operand that must be a vector, or a scalar instead of one.
    fn check_vector(
        &self,
        element: &Element<'_>,
        written: &ActualOperand<'a>,
        expected_length: ExpectedLength,
    ) -> Result<(), OperandViolation> {
        let ExpectedLength {
            length,
            allows_scalar,
        } = expected_length;
        let operand = element.operand;
        // The length in a modifier is exact.
        let is_exact = matches!(operand.length, Length::Slot(_)) && length > 1;
        let allows_longer = operand.marks.contains(Marks::ALLOW_LONGER_VEC) && !is_exact;
        let fits = |n: usize| {
            n == usize::from(length)
                || allows_longer && n > usize::from(length) && matches!(n, 2 | 4)
        };
        let with_shape = |shape| ActualOperand { shape, ..*written };
        match written.shape {
            OperandShape::Vector(elements) if fits(elements.len()) => {
                element.check_elements(elements)
            }
            OperandShape::RegisterVector(..) if operand.marks.contains(Marks::ELEMENTS) => {
                Err(OperandViolation::Shape)
            }
            OperandShape::RegisterVector(ty, count) if fits(count.into()) => {
                if element.takes_element(ty) {
                    return Ok(());
                }
                element.check(&with_shape(OperandShape::Register(ty)))
            }
            OperandShape::SpecialVector(register) if fits(register.components().into()) => {
                element.check(&with_shape(OperandShape::Special(register)))
            }
            OperandShape::Vector(_) | OperandShape::RegisterVector(..) => {
                Err(OperandViolation::Length(length))
            }
            OperandShape::Discard if operand.marks.contains(Marks::DISCARD_VECTOR) => Ok(()),
            OperandShape::Discard if length > 1 => Err(OperandViolation::Shape),
            OperandShape::Discard if allows_scalar || allows_longer => {
                Err(OperandViolation::Discard)
            }
            shape => match shape.constant_kind() {
                Some(kind)
                    if operand.marks.contains(Marks::EXACT_ELEMENT_TYPE)
                        && takes_constants(operand)
                        && allows_longer =>
                {
                    element.bare_constant(kind)
                }
                // A scalar instead of a vector of one element.
                _ if allows_scalar || allows_longer && length == 1 => element.check(written),
                _ => Err(OperandViolation::Length(length)),
            },
        }
    }

    /// Whether an address is generic or global, so that it has as many bits as the addresses of the module.
    pub(crate) fn is_wide(&self, operand: &FormOperand) -> bool {
        match self.spaces(operand) {
            SpaceRule::One(space) => space == StateSpace::Global,
            SpaceRule::GenericOr(_) => true,
            SpaceRule::OneOf(spaces) => {
                let mut state_spaces = spaces.iter().map(|m| m.state_space());
                state_spaces.all(|space| space == Some(StateSpace::Global))
                    || self.has_empty_slot(spaces)
            }
            SpaceRule::Any => false,
        }
    }

    /// Whether an optional slot of a state space is empty, so that the address is generic.
    fn has_empty_slot(&self, spaces: &[Modifier]) -> bool {
        self.form.slots().enumerate().any(|(index, slot)| {
            slot.is_optional()
                && spaces.iter().any(|m| slot.words().contains(*m))
                && !self.assignment.is_filled(index)
        })
    }

    /// The legal state spaces of an address: the one in a slot, or a list.
    fn spaces(&self, operand: &FormOperand) -> SpaceRule {
        match operand.spaces {
            Spaces::Any => SpaceRule::Any,
            Spaces::Slot(slot) => {
                let word = self
                    .assignment
                    .word(slot.into())
                    .or_else(|| self.form.slot(slot.into())?.default());
                match word.and_then(Modifier::state_space) {
                    // A store to `.param` is to a parameter of a called function.
                    Some(StateSpace::Param) if operand.access == Access::Write => {
                        SpaceRule::One(StateSpace::ParamFunc)
                    }
                    // Where only the address is taken, it must have one: parameters of calls have none.
                    Some(StateSpace::Param) if operand.access == Access::None => {
                        SpaceRule::One(StateSpace::ParamEntry)
                    }
                    Some(space) => SpaceRule::One(space),
                    None => SpaceRule::GenericOr(&[]),
                }
            }
            Spaces::OneOf(spaces) => SpaceRule::OneOf(spaces),
            Spaces::GenericOr(spaces) => SpaceRule::GenericOr(spaces),
        }
    }
}
