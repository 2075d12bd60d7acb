//! The assignment of actual operands to the operands of a form.

use crate::{ActualOperand, Form, FormOperand, Marks, Nesting, OperandShape};

/// The greatest number of operands of a form.
pub const MAX_OPERANDS: usize = 24;

/// The actual operand of one operand of a form.
#[derive(Copy, Clone, PartialEq, Debug)]
pub(crate) struct BoundOperand<'a> {
    /// The operand itself: the base of an address, one half of a pair.
    pub(crate) part: &'a ActualOperand<'a>,
    /// The whole comma-separated operand.
    pub(crate) operand: &'a ActualOperand<'a>,
}

/// The actual operand of each operand of a form.
#[derive(Copy, Clone, PartialEq, Debug)]
pub struct OperandBinding<'a> {
    bound: [Option<BoundOperand<'a>>; MAX_OPERANDS],
    /// Bit `i` is set if the position that begins with the operand `i` has an actual operand of the wrong shape.
    pub(crate) shape_mismatch: u32,
    /// For each operand of the form, the index of the actual operand that is or contains its value, counted from one; 0 for an absent operand.
    written: [u8; MAX_OPERANDS],
    /// For each operand of the form, the index of its part of that actual operand.
    part: [u8; MAX_OPERANDS],
}

impl<'a> OperandBinding<'a> {
    pub(crate) const EMPTY: Self = Self {
        bound: [None; MAX_OPERANDS],
        shape_mismatch: 0,
        written: [0; MAX_OPERANDS],
        part: [0; MAX_OPERANDS],
    };

    /// The actual operand; of an address, the base without its brackets.
    #[must_use]
    pub fn get(&self, operand: usize) -> Option<&'a ActualOperand<'a>> {
        self.bound(operand).map(|b| b.part)
    }

    /// The index of the actual operand that is or contains the operand of the form, counted from zero.
    #[must_use]
    pub fn written(&self, operand: usize) -> Option<usize> {
        usize::from(*self.written.get(operand)?).checked_sub(1)
    }

    /// The index of the part of that actual operand, counted from zero: of a vector, of an address, of a pair.
    #[must_use]
    pub fn part(&self, operand: usize) -> usize {
        self.part.get(operand).map_or(0, |&part| part.into())
    }

    fn set_part(&mut self, operand: usize, part: usize) {
        if let Some(entry) = self.part.get_mut(operand) {
            *entry = part.min(u8::MAX.into()) as u8;
        }
    }

    pub(crate) fn bound(&self, operand: usize) -> Option<BoundOperand<'a>> {
        *self.bound.get(operand)?
    }

    fn set(&mut self, operand: usize, inner: &'a ActualOperand<'a>, outer: &'a ActualOperand<'a>) {
        if let Some(entry) = self.bound.get_mut(operand) {
            *entry = Some(BoundOperand {
                part: inner,
                operand: outer,
            });
        }
    }

    fn set_shape_mismatch(&mut self, operand: usize) {
        self.shape_mismatch |= 1 << operand.min(31);
    }

    /// Binds one actual operand to the operands of one position; `first` is the index of the first of them.
    fn bind_position(
        &mut self,
        operands: &[FormOperand],
        first: usize,
        outer: &'a ActualOperand<'a>,
    ) {
        let Some(head) = operands.first() else { return };
        let parts = match (head.nesting, outer.shape) {
            (Nesting::Bracket(_), OperandShape::Bracket(parts)) => parts,
            (Nesting::Vector(_), OperandShape::Vector(parts)) => parts,
            (Nesting::Bracket(_), OperandShape::Register(_) | OperandShape::Variable(..))
                if head.marks.contains(if outer.indexed {
                    Marks::INDEXED
                } else {
                    Marks::OPTIONAL_BRACKETS
                }) =>
            {
                self.set(first, outer, outer);
                return;
            }
            (Nesting::Whole, shape) => {
                let pair = operands.get(1).filter(|o| o.nesting == Nesting::Pair);
                match (shape, pair) {
                    (OperandShape::Pair([a, b]), Some(_))
                        if a.shape != OperandShape::Discard || b.shape != OperandShape::Discard =>
                    {
                        self.set(first, a, outer);
                        self.set(first + 1, b, outer);
                        self.set_part(first + 1, 1);
                    }
                    // ptxas accepts `d|_` for a first operand that is not a pair.
                    (OperandShape::Pair([a, b]), None)
                        if b.shape == OperandShape::Discard
                            && matches!(a.shape, OperandShape::Register(_)) =>
                    {
                        self.set(first, a, outer);
                    }
                    (OperandShape::Pair(_), _) => self.set_shape_mismatch(first),
                    (_, Some(pair)) if !pair.is_optional => self.set_shape_mismatch(first),
                    _ => self.set(first, outer, outer),
                }
                return;
            }
            (Nesting::Parentheses, OperandShape::List(_)) => {
                self.set(first, outer, outer);
                return;
            }
            _ => {
                self.set_shape_mismatch(first);
                return;
            }
        };
        let required = operands.iter().filter(|o| !o.is_optional).count();
        if parts.len() < required || parts.len() > operands.len() {
            self.set_shape_mismatch(first);
            return;
        }
        let mut optional_parts = parts.len() - required;
        let mut parts = parts.iter().enumerate();
        for (i, operand) in operands.iter().enumerate() {
            if operand.is_optional {
                if optional_parts == 0 {
                    continue;
                }
                optional_parts -= 1;
            }
            if let Some((nth, part)) = parts.next() {
                self.set(first + i, part, outer);
                self.set_part(first + i, nth);
            }
        }
    }
}

/// A comma-separated position of a form.
struct Position {
    /// The indices of its operands.
    operands: core::ops::Range<usize>,
    is_optional: bool,
}

/// The positions of the form.
fn positions(form: &Form) -> impl Iterator<Item = Position> {
    let operands = form.operands();
    let mut end = 0;
    core::iter::from_fn(move || {
        let start = end;
        let head = operands.get(start)?;
        while operands
            .get(end)
            .is_some_and(|o| o.position == head.position)
        {
            end += 1;
        }
        // Optional parts of an address do not make the address optional.
        let is_optional = operands.get(start..end)?.iter().all(|o| o.is_optional);
        Some(Position {
            operands: start..end,
            is_optional,
        })
    })
}

/// The least and the greatest number of comma-separated operands of a form.
#[must_use]
pub fn operand_count(form: &Form) -> (usize, usize) {
    positions(form).fold((0, 0), |(least, most), position| {
        (least + usize::from(!position.is_optional), most + 1)
    })
}

/// Every way to bind the actual operands; optional positions are filled from left to right first.
pub(crate) fn bindings<'a>(
    form: &'static Form,
    written: &'a [ActualOperand<'a>],
) -> impl Iterator<Item = OperandBinding<'a>> {
    let (least, most) = operand_count(form);
    let optional = (most - least).min(8);
    let fits = written.len() >= least && written.len() <= most;
    // A set bit omits the position; the last optional position is the highest bit, which changes first.
    (0u32..1 << optional)
        .filter(move |mask| fits && mask.count_ones() as usize == most - written.len())
        .map(move |mask| mask.reverse_bits() >> (32 - optional.max(1)))
        .map(move |omitted| bind(form, written, omitted))
}

/// Binds the actual operands to the positions of the form in their order, without the optional positions whose bit is set in
/// `omitted`.
fn bind<'a>(
    form: &'static Form,
    written: &'a [ActualOperand<'a>],
    omitted: u32,
) -> OperandBinding<'a> {
    let mut binding = OperandBinding::EMPTY;
    let mut actual_operands = (1..).zip(written);
    let mut optional_index = 0;
    for position in positions(form) {
        if position.is_optional {
            optional_index += 1;
            if omitted >> (optional_index - 1) & 1 != 0 {
                continue;
            }
        }
        if let Some((number, outer)) = actual_operands.next() {
            if let Some(entries) = binding.written.get_mut(position.operands.clone()) {
                entries.fill(number);
            }
            let first = position.operands.start;
            let operands = form.operands().get(position.operands).unwrap_or(&[]);
            binding.bind_position(operands, first, outer);
        }
    }
    binding
}
