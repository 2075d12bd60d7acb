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
    /// A bit per operand: the first one of each position with the wrong shape.
    pub(crate) shape_mismatch: u32,
    /// The index of the actual operand that each is or is a part of, counted from one.
    written: [u8; MAX_OPERANDS],
    /// The index of the part of that operand.
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

    /// The index of the actual operand that it is or is a part of, counted from zero.
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

    fn refuse(&mut self, operand: usize) {
        self.shape_mismatch |= 1 << operand.min(31);
    }

    /// Binds one actual operand to the operands of one position: those from `first` on.
    fn bind_place(&mut self, operands: &[FormOperand], first: usize, outer: &'a ActualOperand<'a>) {
        let Some(head) = operands.first() else { return };
        let inside = match (head.nesting, outer.shape) {
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
                    (OperandShape::Pair(_), _) => self.refuse(first),
                    (_, Some(pair)) if !pair.is_optional => self.refuse(first),
                    _ => self.set(first, outer, outer),
                }
                return;
            }
            (Nesting::Parentheses, OperandShape::List(_)) => {
                self.set(first, outer, outer);
                return;
            }
            _ => {
                self.refuse(first);
                return;
            }
        };
        let required = operands.iter().filter(|o| !o.is_optional).count();
        if inside.len() < required || inside.len() > operands.len() {
            self.refuse(first);
            return;
        }
        let mut spare = inside.len() - required;
        let mut parts = inside.iter().enumerate();
        for (i, operand) in operands.iter().enumerate() {
            if operand.is_optional {
                if spare == 0 {
                    continue;
                }
                spare -= 1;
            }
            if let Some((nth, part)) = parts.next() {
                self.set(first + i, part, outer);
                self.set_part(first + i, nth);
            }
        }
    }
}

/// The range of the operands in each position of the form, and whether the position is optional.
fn places(form: &Form) -> impl Iterator<Item = (usize, usize, bool)> {
    let operands = form.operands();
    let mut at = 0;
    core::iter::from_fn(move || {
        let start = at;
        let head = operands.get(start)?;
        while operands
            .get(at)
            .is_some_and(|o| o.position == head.position)
        {
            at += 1;
        }
        // Optional parts of an address do not make the address optional.
        let optional = operands.get(start..at)?.iter().all(|o| o.is_optional);
        Some((start, at, optional))
    })
}

/// The least and the greatest number of comma-separated operands of a form.
#[must_use]
pub fn operand_count(form: &Form) -> (usize, usize) {
    places(form).fold((0, 0), |(least, most), (.., optional)| {
        (least + usize::from(!optional), most + 1)
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
    let masks = (0u32..1 << optional)
        .filter(move |mask| fits && mask.count_ones() as usize == most - written.len());
    let masks = masks.map(move |mask| mask.reverse_bits() >> (32 - optional.max(1)));
    masks.map(move |mask| {
        let mut binding = OperandBinding::EMPTY;
        let mut next = (1..).zip(written);
        let mut index = 0;
        for (start, end, optional) in places(form) {
            if optional {
                index += 1;
                if mask >> (index - 1) & 1 != 0 {
                    continue;
                }
            }
            let operands = form.operands().get(start..end).unwrap_or(&[]);
            if let Some((nth, outer)) = next.next() {
                let of_place = binding.written.iter_mut().take(end).skip(start);
                of_place.for_each(|entry| *entry = nth);
                binding.bind_place(operands, start, outer);
            }
        }
        binding
    })
}
