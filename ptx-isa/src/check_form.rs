//! Checks the operands, the rules and the tables of one form.

use crate::check_operand::{Element, SpaceRule, takes_constants};
use crate::check_vector::mixes_constant_and_component;
use crate::operand_binding::{BoundOperand, OperandBinding};
use crate::type_compat::Expected;
use crate::{
    Access, ActualOperand, Cell, Context, Directive, Form, FormOperand, Length, Marks, Modifier,
    ModifierSet, Nesting, OperandShape, OperandTest, OperandViolation, Role, RuleKind, Slot,
    SlotAssignment, Spaces, StateSpace, Table, Violation, Violations,
};

/// The length that a vector operand must have.
#[derive(Copy, Clone)]
pub(crate) struct WantedLength {
    pub(crate) length: u16,
    /// Whether a scalar is accepted as well.
    pub(crate) scalar_too: bool,
}

impl WantedLength {
    fn new(length: u16, scalar_too: bool) -> Self {
        Self { length, scalar_too }
    }
}

/// A form with the modifiers in its slots and the actual operands.
pub(crate) struct FormChecker<'a, 'b> {
    pub(crate) form: &'static Form,
    pub(crate) assignment: &'b SlotAssignment,
    pub(crate) binding: &'b OperandBinding<'a>,
    pub(crate) in_entry: bool,
    pub(crate) unified_textures: bool,
    pub(crate) without: Option<Directive>,
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
                let wanted = iff.holds(self);
                if wanted != bound.is_some() {
                    let violation = if wanted {
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
            self.rules(&mut violations);
        }
        for table in self.form.tables() {
            if self.row(table).is_none() {
                violations.add(Violation::Table(table));
            }
        }
        violations
    }

    fn rules(&self, violations: &mut Violations) {
        for rule in self.form.rules() {
            let kept = match rule.kind {
                RuleKind::Require(when, then) => !when.holds(self) || then.holds(self),
                RuleKind::Deny(cond) => !cond.holds(self),
                RuleKind::Ordered(low, high) => match (self.constant(low), self.constant(high)) {
                    (Some(low), Some(high)) => low as u64 <= high as u64,
                    _ => true,
                },
                _ => true,
            };
            if !kept {
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

    /// The row of a table that decides.
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
            let at = table.columns.iter().position(|&c| c == slot)?;
            match row.cells.get(at)? {
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
    pub(crate) fn wanted_length(
        &self,
        index: usize,
        operand: &FormOperand,
    ) -> Option<WantedLength> {
        let braced = operand.marks.contains(Marks::BRACED);
        // A scalar is accepted for a vector that is only read if a longer vector is.
        let longer = operand.marks.contains(Marks::ALLOW_LONGER_VEC) && operand.role == Role::Use;
        match operand.length {
            Length::Scalar => None,
            Length::Fixed(n) => Some(WantedLength::new(n, n == 1 && !braced)),
            Length::Slot(slot) => {
                let length = self
                    .assignment
                    .word(slot.into())
                    .and_then(|w| w.vector_len());
                Some(length.map_or(WantedLength::new(1, !braced), |n| {
                    WantedLength::new(n.into(), longer)
                }))
            }
            Length::Cases(cases) => {
                let (_, n) = cases.iter().find(|(cond, _)| cond.holds(self))?;
                let scalar_too = operand.marks.contains(Marks::OR_SCALAR);
                Some(WantedLength::new(*n, scalar_too || *n == 1 && !braced))
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
                Some(WantedLength::new(columns * bits / 64, false))
            }
            Length::Product(factors, divisor) => {
                let mut product = 1;
                for &(slot, digits) in factors {
                    product *= self.assignment.word(slot.into())?.number(digits)?;
                }
                let n = product.div_ceil(divisor.into());
                let n = u16::try_from(n).unwrap_or(u16::MAX);
                Some(WantedLength::new(n, n == 1 && !braced))
            }
            Length::Table => self
                .table_length(index, operand)
                .map(|n| WantedLength::new(n, n == 1 && !braced)),
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
            && self.without.is_some()
            && register.needs() == self.without
        {
            return Err(OperandViolation::Directive(register));
        }
        let register = matches!(written.shape, OperandShape::Register(_));
        if bound.operand.unified && !(operand.marks.contains(Marks::UNIFIED) && register) {
            return Err(OperandViolation::Unified);
        }
        let constant = written.shape.constant_kind();
        // A value in an address must not be followed by an offset, the second part must not be a bare constant, and the third
        // of three must be a vector in braces.
        if let (Nesting::Bracket(nth), OperandShape::Bracket(parts)) =
            (operand.nesting, bound.operand.shape)
        {
            let third = parts.len() == 3
                && self.binding.part(index) == 2
                && operand.length != Length::Scalar;
            if operand.role == Role::Use && written.offset
                || nth > 0 && constant.is_some()
                || third && !matches!(written.shape, OperandShape::Vector(_))
            {
                return Err(OperandViolation::Shape);
            }
        }
        let expected = Expected::of(operand.ty, self.assignment, self.form);
        let element = Element {
            operand,
            expected,
            spaces: self.spaces(operand),
            calls: self.has_operand(|o| matches!(o.role, Role::Args | Role::Rets)),
        };
        // ptxas expands instructions that select lanes, and copies neither components nor sums there.
        let several = self.has_operand(|o| o.marks.intersects(Marks::LANES8 | Marks::LANES16));
        if written.component && (several || self.has_operand(|o| o.marks.contains(Marks::LANES)))
            || written.offset && (several || operand.marks.contains(Marks::LANES))
        {
            return Err(OperandViolation::Lanes);
        }
        if mixes_constant_and_component(written.shape) {
            return Err(OperandViolation::Component);
        }
        let Some(wanted) = self.wanted_length(index, operand) else {
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
        self.check_vector(&element, written, wanted)
    }

    /// Checks an operand that must be a vector, or a scalar instead of one.
    fn check_vector(
        &self,
        element: &Element<'_>,
        written: &ActualOperand<'a>,
        wanted: WantedLength,
    ) -> Result<(), OperandViolation> {
        let WantedLength { length, scalar_too } = wanted;
        let operand = element.operand;
        // A length that a modifier gives is exact.
        let exact = matches!(operand.length, Length::Slot(_)) && length > 1;
        let longer = operand.marks.contains(Marks::ALLOW_LONGER_VEC) && !exact;
        let fits = |n: usize| {
            n == usize::from(length) || longer && n > usize::from(length) && matches!(n, 2 | 4)
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
            OperandShape::SpecialVector(register) if fits(register.lanes().into()) => {
                element.check(&with_shape(OperandShape::Special(register)))
            }
            OperandShape::Vector(_) | OperandShape::RegisterVector(..) => {
                Err(OperandViolation::Length(length))
            }
            OperandShape::Discard if operand.marks.contains(Marks::DISCARD_VECTOR) => Ok(()),
            OperandShape::Discard if length > 1 => Err(OperandViolation::Shape),
            OperandShape::Discard if scalar_too || longer => Err(OperandViolation::Discard),
            shape => match shape.constant_kind() {
                Some(kind)
                    if operand.marks.contains(Marks::EXACT_ELEMENT_TYPE)
                        && takes_constants(operand)
                        && longer =>
                {
                    element.bare_constant(kind)
                }
                // A scalar instead of a vector of one element.
                _ if scalar_too || longer && length == 1 => element.check(written),
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
                let global = |m: &Modifier| m.state_space() == Some(StateSpace::Global);
                // Where the modifier of the space is optional and missing, the address is generic.
                let is_empty = |(index, slot): (usize, &Slot)| {
                    let named = spaces.iter().any(|m| slot.words().contains(*m));
                    slot.is_optional() && named && !self.assignment.is_filled(index)
                };
                spaces.iter().all(global) || self.form.slots().enumerate().any(is_empty)
            }
            SpaceRule::Any => false,
        }
    }

    /// The legal state spaces of an address: the one in a slot, or a list.
    fn spaces(&self, operand: &FormOperand) -> SpaceRule {
        match operand.spaces {
            Spaces::Any => SpaceRule::Any,
            Spaces::Slot(slot) => {
                let word = self.assignment.word(slot.into());
                let default = || self.form.slot(slot.into())?.default();
                match word.or_else(default).and_then(|w| w.state_space()) {
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
