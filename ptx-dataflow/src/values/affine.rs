//! Affine forms: sums of multiples of symbols.

use super::AffineSymbolId;
use super::alignment::Alignment;

/// The maximum number of symbols of a form.
pub(super) const MAX_TERMS: usize = 8;

/// A term: a multiple of a symbol.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct Term {
    /// The symbol.
    pub symbol: AffineSymbolId,
    /// The factor of the symbol; never 0.
    pub factor: i64,
}

/// A constant and multiples of at most eight distinct symbols, in the order of their ids.
#[derive(Copy, Clone)]
pub struct Affine {
    constant: i64,
    len: u8,
    terms: [Term; MAX_TERMS],
}

/// The modulus of a sum: a power of two.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Need {
    /// Exact in this number of low bits, at most 64.
    Low(u16),
    /// Exact as an integer.
    Exact,
}

const NO_TERM: Term = Term {
    symbol: AffineSymbolId::new(u32::MAX),
    factor: 0,
};

impl Affine {
    /// A number.
    #[doc(hidden)]
    #[must_use]
    pub const fn number(constant: i64) -> Self {
        Self {
            constant,
            len: 0,
            terms: [NO_TERM; MAX_TERMS],
        }
    }

    /// A symbol.
    #[doc(hidden)]
    #[must_use]
    pub const fn symbol(symbol: AffineSymbolId) -> Self {
        let mut form = Self::number(0);
        form.terms[0] = Term { symbol, factor: 1 };
        form.len = 1;
        form
    }

    /// A form of a constant and terms in the order of their symbols; `None` if there are too many terms.
    pub(super) fn from_terms(constant: i64, terms: &[Term]) -> Option<Self> {
        let mut form = Self::number(constant);
        form.terms.get_mut(..terms.len())?.copy_from_slice(terms);
        form.len = terms.len() as u8;
        Some(form)
    }

    /// The constant.
    #[must_use]
    pub const fn constant(&self) -> i64 {
        self.constant
    }

    /// The terms.
    #[must_use]
    pub fn terms(&self) -> &[Term] {
        self.terms.get(..self.len.into()).unwrap_or_default()
    }

    /// The constant, if there are no terms.
    #[must_use]
    pub fn as_number(&self) -> Option<i64> {
        (self.len == 0).then_some(self.constant)
    }

    /// The symbol, if the form is a single symbol.
    #[must_use]
    pub fn as_symbol(&self) -> Option<AffineSymbolId> {
        match (self.constant, self.terms()) {
            (0, &[Term { symbol, factor: 1 }]) => Some(symbol),
            _ => None,
        }
    }

    /// The factor of a symbol.
    #[doc(hidden)]
    #[must_use]
    pub fn factor(&self, symbol: AffineSymbolId) -> i64 {
        let mut terms = self.terms().iter();
        terms.find(|t| t.symbol == symbol).map_or(0, |t| t.factor)
    }

    /// The value modulo 2^64, given the values of the symbols; `None` if one of them is unknown.
    #[must_use]
    pub fn value(&self, symbol: impl Fn(AffineSymbolId) -> Option<i128>) -> Option<u64> {
        let mut sum = self.constant as u64;
        for term in self.terms() {
            let value = symbol(term.symbol)? as u64;
            sum = sum.wrapping_add(value.wrapping_mul(term.factor as u64));
        }
        Some(sum)
    }

    /// The sum of two forms modulo a power of two; `None` if it has too many symbols.
    #[doc(hidden)]
    #[must_use]
    pub fn plus(&self, other: &Self, bits: u16) -> Option<Self> {
        let sum = self.add(other, Need::Low(bits))?;
        Some(sum.modulo(bits))
    }

    /// The product with a number modulo a power of two.
    #[doc(hidden)]
    #[must_use]
    pub fn multiple(&self, factor: i64, bits: u16) -> Option<Self> {
        self.times(factor, Need::Low(bits))
    }

    /// The form without its constant.
    #[doc(hidden)]
    #[must_use]
    pub fn without_constant(&self) -> Self {
        Self {
            constant: 0,
            ..*self
        }
    }

    /// The low bits, given those of the symbols.
    pub(super) fn alignment(&self, of_symbol: impl Fn(AffineSymbolId) -> Alignment) -> Alignment {
        let start = Alignment::new(64, self.constant as u64);
        self.terms().iter().fold(start, |sum, term| {
            let factor = Alignment::new(64, term.factor as u64);
            let product = of_symbol(term.symbol).mul(factor);
            sum.combined(product, u64::wrapping_add)
        })
    }

    /// The sum of multiples of both forms; `None` if it has too many symbols, or too large numbers.
    pub(super) fn combined(
        &self,
        factor: i64,
        other: &Self,
        other_factor: i64,
        need: Need,
    ) -> Option<Self> {
        let sum = |a: i64, b: i64| {
            let a = i128::from(a) * i128::from(factor);
            let b = i128::from(b) * i128::from(other_factor);
            let sum = a.checked_add(b)?;
            match need {
                Need::Exact => i64::try_from(sum).ok(),
                Need::Low(_) => Some(sum as i64),
            }
        };
        let mut form = Self::number(sum(self.constant, other.constant)?);
        let (mut left, mut right) = (self.terms(), other.terms());
        loop {
            let (symbol, factor) = match (left, right) {
                ([], []) => return Some(form),
                ([a, left_tail @ ..], [b, ..]) if a.symbol < b.symbol => {
                    left = left_tail;
                    (a.symbol, sum(a.factor, 0)?)
                }
                ([a, left_tail @ ..], []) => {
                    left = left_tail;
                    (a.symbol, sum(a.factor, 0)?)
                }
                ([a, ..], [b, right_tail @ ..]) if a.symbol > b.symbol => {
                    right = right_tail;
                    (b.symbol, sum(0, b.factor)?)
                }
                ([], [b, right_tail @ ..]) => {
                    right = right_tail;
                    (b.symbol, sum(0, b.factor)?)
                }
                ([a, left_tail @ ..], [b, right_tail @ ..]) => {
                    (left, right) = (left_tail, right_tail);
                    (a.symbol, sum(a.factor, b.factor)?)
                }
            };
            form.push(symbol, factor)?;
        }
    }

    fn push(&mut self, symbol: AffineSymbolId, factor: i64) -> Option<()> {
        if factor != 0 {
            *self.terms.get_mut(usize::from(self.len))? = Term { symbol, factor };
            self.len += 1;
        }
        Some(())
    }

    /// The sum of both forms.
    pub(super) fn add(&self, other: &Self, need: Need) -> Option<Self> {
        self.combined(1, other, 1, need)
    }

    /// The difference of both forms.
    pub(super) fn sub(&self, other: &Self, need: Need) -> Option<Self> {
        self.combined(1, other, -1, need)
    }

    /// A multiple of the form.
    pub(super) fn times(&self, factor: i64, need: Need) -> Option<Self> {
        self.combined(factor, &Self::number(0), 0, need)
    }

    /// The form modulo a power of two, with the smallest factors.
    #[doc(hidden)]
    #[must_use]
    pub fn modulo(&self, bits: u16) -> Self {
        let shift = 64u32.saturating_sub(bits.into()).min(63);
        let truncate = |value: i64| value << shift >> shift;
        let mut form = Self::number(truncate(self.constant));
        for term in self.terms() {
            // The result has at most as many terms.
            let _ = form.push(term.symbol, truncate(term.factor));
        }
        form
    }

    /// The form divided by a power of two; `None` if the division leaves a remainder.
    pub(super) fn divided(&self, bits: u32) -> Option<Self> {
        let divide = |value: i64| {
            let divided = value >> bits.min(63);
            (divided << bits.min(63) == value).then_some(divided)
        };
        let mut form = Self::number(divide(self.constant)?);
        for term in self.terms() {
            form.push(term.symbol, divide(term.factor)?)?;
        }
        Some(form)
    }
}

impl PartialEq for Affine {
    fn eq(&self, other: &Self) -> bool {
        self.constant == other.constant && self.terms() == other.terms()
    }
}

impl Eq for Affine {}

impl core::fmt::Debug for Affine {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}", self.constant)?;
        for term in self.terms() {
            write!(f, " + {} s{}", term.factor, term.symbol.as_u32())?;
        }
        Ok(())
    }
}
