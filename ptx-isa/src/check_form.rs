//! Judges the operands, the rules and the tables of one form.

use crate::check_operand::{Element, SpaceRule, takes_constants};
use crate::operand_binding::{Binding, BoundOperand};
use crate::type_compat::Expected;
use crate::{
    Access, ActualOperand, Cell, Context, Form, Length, Marks, ModifierSet, Nesting, Operand,
    OperandShape, OperandTest, OperandViolation, Role, RuleKind, ScalarType, SlotAssignment,
    Spaces, StateSpace, Table, TypeKind, Violation, Violations,
};

/// A form with what fills its slots and its operands.
pub(crate) struct FormChecker<'a, 'b> {
    pub(crate) form: &'static Form,
    pub(crate) assignment: &'b SlotAssignment,
    pub(crate) binding: &'b Binding<'a>,
    pub(crate) in_entry: bool,
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
}

impl<'a> FormChecker<'a, '_> {
    /// Everything that is wrong whatever the version and the target.
    pub(crate) fn problems(&self) -> Violations {
        let mut problems = Violations::NONE;
        let mut shape_mismatch = false;
        for (i, operand) in self.form.operands().iter().enumerate() {
            if self.binding.misshapen >> i.min(31) & 1 != 0 {
                shape_mismatch = true;
                problems.add(Violation::Operand(i, OperandViolation::Shape));
                continue;
            }
            let bound = self.binding.bound(i);
            if let Some(iff) = operand.iff {
                let wanted = iff.holds(self);
                if wanted != bound.is_some() {
                    let problem = if wanted {
                        OperandViolation::Missing
                    } else {
                        OperandViolation::Unexpected
                    };
                    problems.add(Violation::Operand(i, problem));
                    continue;
                }
            }
            if let Some(Err(problem)) = bound.map(|b| self.operand_problem(i, operand, b)) {
                problems.add(Violation::Operand(i, problem));
            }
        }
        // What is bound to nothing cannot be asked about.
        if !shape_mismatch {
            self.rules(&mut problems);
        }
        for table in self.form.tables() {
            if self.row(table).is_none() {
                problems.add(Violation::Table(table));
            }
        }
        problems
    }

    fn rules(&self, problems: &mut Violations) {
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
                problems.add(Violation::Rule(rule));
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

    /// How many elements a table asks of an operand.
    fn table_length(&self, index: usize, operand: &Operand) -> Option<u16> {
        let (table, column) = self.form.tables().iter().find_map(|t| {
            let column = t.operands.iter().position(|&o| usize::from(o) == index)?;
            Some((t, column))
        })?;
        let row = self.row(table)?;
        let lengths = *row.lengths.get(column)?;
        if let [one] = lengths {
            return Some(*one);
        }
        // One for each word of the column that gives the type.
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

    /// How many elements the vector must have; `None` where none is wanted. The flag: a scalar will do as well.
    pub(crate) fn wanted_length(&self, index: usize, operand: &Operand) -> Option<(u16, bool)> {
        let braced = operand.marks.contains(Marks::BRACED);
        // One register is enough for a vector that is only read, where its length does not matter.
        let longer = operand.marks.contains(Marks::ALLOW_LONGER_VEC) && operand.role == Role::Use;
        match operand.length {
            Length::Scalar => None,
            Length::Fixed(n) => Some((n, n == 1 && !braced)),
            Length::Slot(slot) => {
                let length = self
                    .assignment
                    .word(slot.into())
                    .and_then(|w| w.vector_len());
                Some(length.map_or((1, !braced), |n| (n.into(), longer)))
            }
            Length::Cases(cases) => {
                let (_, n) = cases.iter().find(|(cond, _)| cond.holds(self))?;
                Some((*n, *n == 1 && !braced))
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
                Some((columns * bits / 64, false))
            }
            Length::Table => self
                .table_length(index, operand)
                .map(|n| (n, n == 1 && !braced)),
        }
    }

    fn operand_problem(
        &self,
        index: usize,
        operand: &Operand,
        bound: BoundOperand<'a>,
    ) -> Result<(), OperandViolation> {
        let written = bound.part;
        let register = matches!(written.shape, OperandShape::Register(_));
        if bound.operand.unified && !(operand.marks.contains(Marks::UNIFIED) && register) {
            return Err(OperandViolation::Unified);
        }
        let constant = matches!(
            written.shape,
            OperandShape::Integer(_) | OperandShape::F64(_) | OperandShape::F32Bits(_)
        );
        // The second part of an address is no constant without braces, the third has braces.
        if let (Nesting::Bracket(1..), OperandShape::Bracket(parts)) =
            (operand.nesting, bound.operand.shape)
        {
            let third = matches!(parts, [_, _, c] if core::ptr::eq(c, written));
            if constant
                || third
                    && !matches!(
                        written.shape,
                        OperandShape::Vector(_) | OperandShape::RegisterVector(..)
                    )
            {
                return Err(OperandViolation::Shape);
            }
        }
        let expected = Expected::of(operand.ty, self.assignment, self.form);
        let element = Element {
            operand,
            expected,
            spaces: self.spaces(operand),
            calls: self.form.operands().iter().any(|o| o.role == Role::Func),
        };
        let Some((length, scalar_too)) = self.wanted_length(index, operand) else {
            if operand.marks.contains(Marks::ALLOW_SPLIT_VECTOR) && element.parts(written) {
                return Ok(());
            }
            if written.shape == OperandShape::Discard
                && operand.marks.contains(Marks::ALLOW_SPLIT_VECTOR)
            {
                return Err(OperandViolation::Discard);
            }
            return element.check(written);
        };
        // A length in the mnemonic is meant.
        let said = matches!(operand.length, Length::Slot(_)) && length > 1;
        let longer = operand.marks.contains(Marks::ALLOW_LONGER_VEC) && !said;
        let fits = |n: usize| {
            n == usize::from(length) || longer && n > usize::from(length) && matches!(n, 2 | 4)
        };
        match written.shape {
            OperandShape::Vector(elements) => {
                if !fits(elements.len()) {
                    return Err(OperandViolation::Length(length));
                }
                let sinks = elements
                    .iter()
                    .filter(|e| e.shape == OperandShape::Discard)
                    .count();
                if sinks > 0 && sinks == elements.len() {
                    return Err(OperandViolation::Discard);
                }
                // The layer of an array of textures is a number of its own.
                let same = match elements {
                    [first, rest @ ..]
                        if operand.marks.contains(Marks::LEADING_INT)
                            && first.is(OperandTest::Integer) =>
                    {
                        same_element_kind(elements).or_else(|_| same_element_kind(rest))
                    }
                    _ => same_element_kind(elements),
                };
                same?;
                self.elements(operand, &element, elements)
            }
            OperandShape::RegisterVector(ty, count) => {
                if !fits(count.into()) {
                    return Err(OperandViolation::Length(length));
                }
                if element.takes_element(ty) {
                    return Ok(());
                }
                element.check(&ActualOperand {
                    shape: OperandShape::Register(ty),
                    ..*written
                })
            }
            OperandShape::SpecialVector(register) if fits(register.lanes().into()) => element
                .check(&ActualOperand {
                    shape: OperandShape::Special(register),
                    ..*written
                }),
            OperandShape::Discard if length > 1 => Err(OperandViolation::Shape),
            OperandShape::Integer(_) | OperandShape::F64(_) | OperandShape::F32Bits(_)
                if operand.marks.contains(Marks::EXACT_ELEMENT_TYPE)
                    && takes_constants(operand)
                    && longer =>
            {
                element.bare_constant(written)
            }
            _ if scalar_too || longer && length == 1 => element.check_scalar(written),
            _ => Err(OperandViolation::Length(length)),
        }
    }

    /// What is wrong with the elements of a vector that is as long as it has to be.
    fn elements(
        &self,
        operand: &Operand,
        element: &Element<'_>,
        elements: &[ActualOperand<'a>],
    ) -> Result<(), OperandViolation> {
        let reads = takes_constants(operand);
        let any = |which: &dyn Fn(ScalarType) -> bool| {
            elements
                .iter()
                .any(|e| matches!(e.shape, OperandShape::Register(ty) if which(ty)))
        };
        let bits = any(&|ty| ty.kind() == TypeKind::Bits);
        let fits = |width: u16| {
            any(&|ty| ty.bits() == width)
                || !any(&|_| true) && element.expected.bits() == Some(width)
        };
        let exact = operand.marks.contains(Marks::EXACT_ELEMENT_TYPE) || element.expected.is_half();
        let alone = exact && !any(&|_| true);
        let Some(first) = elements.first() else {
            return Ok(());
        };
        let plain = operand.marks.contains(Marks::NO_HANDLE_OR_PRED);
        elements.iter().try_for_each(|e| match e.shape {
            _ if e.offset => Err(OperandViolation::Shape),
            // Each is copied to or from a register of its own.
            OperandShape::Register(_) if plain && e.lanes.is_some() => Err(OperandViolation::Lanes),
            OperandShape::Register(ScalarType::Pred) if plain => Err(OperandViolation::Type),
            OperandShape::Special(_) if plain => Err(OperandViolation::Kind),
            // A selection is without effect on a whole register.
            OperandShape::Register(ty) if e.lanes.is_some() && ty.bits() != 32 => {
                Err(OperandViolation::Lanes)
            }
            // Nothing holds four short numbers among others.
            OperandShape::Register(ty) if ty.lanes() == 4 => Err(OperandViolation::Type),
            // The first element gives a vector its type, and no constant is of a type without registers.
            OperandShape::Integer(_) | OperandShape::F64(_) | OperandShape::F32Bits(_)
                if core::ptr::eq(e, first)
                    && !operand.marks.contains(Marks::EXACT_ELEMENT_TYPE)
                    && element.expected.is_half()
                    && !(element.expected.is_declared()
                        && matches!(e.shape, OperandShape::Integer(_))) =>
            {
                Err(OperandViolation::Constant)
            }
            OperandShape::Integer(_) | OperandShape::F64(_) | OperandShape::F32Bits(_)
                if reads && alone =>
            {
                element.bare_constant(e)
            }
            // The type of a constant among registers is theirs.
            OperandShape::Integer(_) if reads && (bits || any(&ScalarType::is_integer)) => Ok(()),
            OperandShape::F64(_) | OperandShape::F32Bits(_)
                if reads && (bits || any(&ScalarType::is_float)) =>
            {
                Ok(())
            }
            OperandShape::Special(register) if operand.role == Role::Sreg => {
                if element
                    .expected
                    .takes_register(register.scalar_type(), false)
                {
                    Ok(())
                } else {
                    Err(OperandViolation::Type)
                }
            }
            // Elsewhere it is bits of anything, also of a result.
            OperandShape::Special(register) if fits(register.scalar_type().bits()) => Ok(()),
            // And so is a predicate, among bits; what stands among bits is bits.
            OperandShape::Register(ScalarType::Pred) if any(&|ty| ty == ScalarType::B32) => Ok(()),
            OperandShape::Register(ty) if bits && element.takes_element(as_bits(ty)) => Ok(()),
            OperandShape::Register(ty) if element.takes_element(ty) => Ok(()),
            OperandShape::Function | OperandShape::Kernel => Err(OperandViolation::Kind),
            _ => element.check(e),
        })
    }

    /// The state space an address must lie in: a word of a slot or a list.
    fn spaces(&self, operand: &Operand) -> SpaceRule {
        match operand.spaces {
            Spaces::Any => SpaceRule::Any,
            Spaces::Slot(slot) => {
                let word = self.assignment.word(slot.into());
                let default = || self.form.slot(slot.into())?.default();
                match word.or_else(default).and_then(|w| w.state_space()) {
                    // What is written is a parameter of a function that is called.
                    Some(StateSpace::Param) if operand.access == Access::Write => {
                        SpaceRule::One(StateSpace::ParamFunc)
                    }
                    // Where only the address matters, it has to have one: parameters of calls have none.
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

/// Bits as wide as a type.
fn as_bits(ty: ScalarType) -> ScalarType {
    let mut all = ScalarType::ALL.iter().copied();
    all.find(|t| t.kind() == TypeKind::Bits && t.bits() == ty.bits())
        .unwrap_or(ty)
}

/// The elements of a vector are of one width, and of one kind: integers, floating point, or pairs of half precision.
/// Constants are integers or floating point; bits are of any kind, and a predicate may stand among them.
pub(crate) fn same_element_kind(elements: &[ActualOperand<'_>]) -> Result<(), OperandViolation> {
    let registers = || {
        elements.iter().filter_map(|e| match e.shape {
            OperandShape::Register(ty) => Some(ty),
            _ => None,
        })
    };
    let among_bits = registers().all(|ty| matches!(ty, ScalarType::Pred | ScalarType::B32));
    let width = registers().next().map(ScalarType::bits);
    let one_width = registers().all(|ty| Some(ty.bits()) == width);
    let any = |which: fn(&OperandShape<'_>) -> bool| elements.iter().any(|e| which(&e.shape));
    // An integer constant is an integer, whereas one of floating point takes the type of registers of bits.
    let number = any(|s| matches!(s, OperandShape::Integer(_)));
    let fraction = any(|s| matches!(s, OperandShape::F64(_) | OperandShape::F32Bits(_)));
    let float = fraction || registers().any(ScalarType::is_float);
    let integer = number || registers().any(ScalarType::is_integer);
    let packed = registers().any(|ty| ty.kind() == TypeKind::Packed);
    let kinds = [float, integer, packed].into_iter().filter(|kind| *kind);
    if kinds.count() > 1 || !one_width && !among_bits {
        Err(OperandViolation::Type)
    } else {
        Ok(())
    }
}
