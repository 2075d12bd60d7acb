//! The stored facts of each value.

use alloc::vec::Vec;

use super::affine::{Affine, Need, Term};
use super::alignment::Alignment;
use super::interval::Interval;
use super::number::{Number, Truth};
use super::symbol::Symbols;
use crate::ssa::ValueId;

/// What is known of a value.
#[derive(Copy, Clone, Debug)]
pub(super) struct Entry {
    /// The terms of its form; nothing is stored of the symbol that it is itself.
    start: u32,
    len: u8,
    is_own: bool,
    pub(super) width: u8,
    constant: i64,
    /// Integers whose lowest bits it is.
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

/// What is known of the values of a function. The forms have one arena.
#[derive(Clone, Debug)]
pub(super) struct Entries {
    all: Vec<Entry>,
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
        let own = Affine::symbol(Symbols::value(id, false));
        let Some(entry) = self.get(id).filter(|e| !e.is_own) else {
            return own;
        };
        let start = entry.start as usize;
        let terms = self.terms.get(start..start + usize::from(entry.len));
        Affine::from_terms(entry.constant, terms.unwrap_or_default()).unwrap_or(own)
    }

    /// The integers of the low bits of a value, with or without a sign.
    pub(super) fn range(&self, id: ValueId, bits: u16, signed: bool) -> Interval {
        match self.get(id) {
            Some(entry) => entry.range.truncated(bits, signed),
            None => Interval::of_bits(bits, signed),
        }
    }

    /// Notes what is known of an integer whose lowest bits the value is.
    pub(super) fn set_number(&mut self, id: ValueId, number: &Number) {
        let Some(entry) = self.all.get_mut(id.as_u32() as usize) else {
            return;
        };
        let width = u16::from(entry.width);
        let signed = Interval::of_bits(width, true);
        entry.range = match signed.includes(number.range) {
            true => number.range,
            false => number.range.truncated(width, false),
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

    /// What is known of a value as an integer of its width; its form is that modulo the width.
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
