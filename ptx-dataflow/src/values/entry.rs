//! The facts about each value, in a compact form.

use alloc::vec::Vec;

use super::affine::{Affine, Need, Term};
use super::alignment::Alignment;
use super::interval::Interval;
use super::number::{Number, Truth};
use super::symbol::Symbols;
use crate::ssa::ValueId;

/// The facts about a value.
#[derive(Copy, Clone, Debug)]
pub(super) struct Entry {
    /// The terms of its form in the arena.
    start: u32,
    len: u8,
    /// The form is the symbol for the value itself, of which nothing is stored.
    is_own: bool,
    pub(super) width: u8,
    constant: i64,
    /// The interval of an integer whose lowest bits the value is.
    pub(super) range: Interval,
    pub(super) low: Alignment,
    pub(super) truth: Truth,
}

impl Entry {
    /// Nothing is known of a value of a width.
    fn unknown(width: u16) -> Self {
        Self {
            start: 0,
            len: 0,
            is_own: true,
            width: width.min(255) as u8,
            constant: 0,
            range: Interval::of_bits(width, false),
            low: Alignment::UNKNOWN,
            truth: Truth::Unknown,
        }
    }
}

/// The facts about the values of a function.
#[derive(Clone, Debug)]
pub(super) struct Entries {
    all: Vec<Entry>,
    /// The arena of the terms of all forms.
    terms: Vec<Term>,
}

impl Entries {
    /// Nothing is known of values of these widths.
    pub(super) fn new(widths: impl Iterator<Item = u16>) -> Self {
        Self {
            all: widths.map(Entry::unknown).collect(),
            terms: Vec::new(),
        }
    }

    pub(super) fn get(&self, id: ValueId) -> Option<&Entry> {
        self.all.get(id.as_u32() as usize)
    }

    pub(super) fn width(&self, id: ValueId) -> u16 {
        self.get(id).map_or(0, |e| e.width.into())
    }

    /// The form, modulo the width.
    pub(super) fn form(&self, id: ValueId) -> Affine {
        let symbol = Affine::symbol(Symbols::value(id, false));
        let Some(entry) = self.get(id).filter(|e| !e.is_own) else {
            return symbol;
        };
        let start = entry.start as usize;
        let terms = self.terms.get(start..start + usize::from(entry.len));
        Affine::from_terms(entry.constant, terms.unwrap_or_default()).unwrap_or(symbol)
    }

    /// The integers of the low bits of a value, with or without a sign.
    pub(super) fn range(&self, id: ValueId, bits: u16, signed: bool) -> Interval {
        match self.get(id) {
            Some(entry) => entry.range.truncated(bits, signed),
            None => Interval::of_bits(bits, signed),
        }
    }

    /// Stores the facts about an integer whose lowest bits the value is.
    pub(super) fn set_number(&mut self, id: ValueId, number: &Number) {
        let Some(entry) = self.all.get_mut(id.as_u32() as usize) else {
            return;
        };
        let width = u16::from(entry.width);
        let signed = Interval::of_bits(width, true);
        entry.range = if signed.includes(number.range) {
            number.range
        } else {
            number.range.truncated(width, false)
        };
        entry.low = number.low.truncated(width.into());
        let form = number.form.map(|f| f.modulo(width));
        entry.is_own = form.is_none() || width > 64;
        if let Some(form) = form.filter(|_| width <= 64) {
            entry.start = self.terms.len() as u32;
            entry.len = form.terms().len() as u8;
            entry.constant = form.constant();
            self.terms.extend_from_slice(form.terms());
        }
    }

    /// Forgets what is known of a value.
    pub(super) fn reset(&mut self, id: ValueId) {
        if let Some(entry) = self.all.get_mut(id.as_u32() as usize) {
            *entry = Entry::unknown(entry.width.into());
        }
    }

    pub(super) fn set_truth(&mut self, id: ValueId, truth: Truth) {
        if let Some(entry) = self.all.get_mut(id.as_u32() as usize) {
            entry.truth = truth;
        }
    }

    /// The facts about a value as an integer of its width; the form is modulo the width.
    pub(super) fn number(&self, id: ValueId) -> Number {
        let (range, low) = match self.get(id) {
            Some(entry) => (entry.range, entry.low),
            None => (Interval::ALL, Alignment::UNKNOWN),
        };
        Number::new(
            Some(self.form(id)),
            range,
            low,
            Need::Low(self.width(id).min(64)),
        )
    }
}
