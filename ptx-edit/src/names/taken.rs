//! The spelling of names, and the set of names in use.

use alloc::vec::Vec;

use ptx_ir::raw::name::{split_numeric_suffix, suffix_number};
use ptx_ir::raw::{Interner, scan};
use ptx_isa::SpecialReg;

/// The entities that a declaration of a name declares.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum NameForm {
    /// One entity, `x`.
    Plain,
    /// The members of a range, `x<9>`: `x0` to `x8`.
    Range,
}

impl NameForm {
    /// [`Range`](Self::Range) if there is a count or a number.
    #[must_use]
    pub fn of<T>(number: Option<T>) -> Self {
        number.map_or(Self::Plain, |_| Self::Range)
    }
}

/// A set of names in use, which tells whether a new name would conflict with one of them. Queries take constant time.
///
/// ```
/// use ptx_edit::raw::{NameForm, TakenNames};
/// let mut taken = TakenNames::default();
/// taken.add(b"%r", NameForm::Range);
/// taken.add(b"n7", NameForm::Plain);
/// assert!(taken.conflicts(b"%r12", NameForm::Plain));
/// assert!(taken.conflicts(b"n", NameForm::Range));
/// assert!(!taken.conflicts(b"n", NameForm::Plain));
/// ```
#[derive(Clone, Default, Debug)]
pub struct TakenNames {
    names: Interner,
    /// The uses of each name.
    uses: Vec<Uses>,
}

/// The uses of a name.
#[derive(Copy, Clone, Default, Debug)]
struct Uses {
    /// A plain declaration has the name.
    plain: bool,
    /// A range has the name.
    range: bool,
    /// The name is the stem of a plain name that ends with digits.
    stem: bool,
}

impl TakenNames {
    /// Adds a name.
    pub fn add(&mut self, name: &[u8], form: NameForm) {
        match form {
            NameForm::Range => self.uses_mut(name).range = true,
            NameForm::Plain => {
                self.uses_mut(name).plain = true;
                let (stem, digits) = split_numeric_suffix(name);
                if !digits.is_empty() {
                    self.uses_mut(stem).stem = true;
                }
            }
        }
    }

    fn uses_mut(&mut self, name: &[u8]) -> &mut Uses {
        let index = self.names.intern(name).0 as usize;
        if self.uses.len() <= index {
            self.uses.resize(index + 1, Uses::default());
        }
        &mut self.uses[index]
    }

    fn uses(&self, name: &[u8]) -> Uses {
        let index = self.names.find(name);
        let uses = index.and_then(|i| self.uses.get(i as usize));
        uses.copied().unwrap_or_default()
    }

    /// Whether this spelling is one of the names, or can be a member of one of the ranges.
    #[must_use]
    pub fn contains(&self, name: &[u8]) -> bool {
        let (stem, digits) = split_numeric_suffix(name);
        self.uses(name).plain || !digits.is_empty() && self.uses(stem).range
    }

    /// Whether one of the plain names can be a member of a range of this name.
    #[must_use]
    pub fn has_member(&self, range: &[u8]) -> bool {
        self.uses(range).stem
    }

    /// Whether a declaration of this name would conflict with one of the names: they are equal, or one is a range and the
    /// other can be spelled like a member of it.
    #[must_use]
    pub fn conflicts(&self, name: &[u8], form: NameForm) -> bool {
        let uses = self.uses(name);
        uses.range || form == NameForm::Range && uses.stem || self.contains(name)
    }
}

/// Words that ptxas does not read as names.
const RESERVED: [&[u8]; 3] = [b"WARP_SZ", b"inlined_at", b"function_name"];

/// Checks that a name can be declared; the error is a description of the expected text.
pub(crate) fn check_spelling(name: &[u8], form: NameForm) -> Result<(), &'static str> {
    if !scan::starts_ident(name, 0) || scan::ident_end(name, 0) != name.len() {
        return Err("name");
    }
    if SpecialReg::from_text(name).is_some() || RESERVED.contains(&name) {
        return Err("name that is not reserved");
    }
    // ptxas takes all digits at the end of a name as the number of a member.
    if form == NameForm::Range && name.last().is_some_and(u8::is_ascii_digit) {
        return Err("name of a range, which must not end with a digit");
    }
    Ok(())
}

/// Returns whether a word spells a name or, if there is a number, this member of the range of that name.
pub(crate) fn denotes(word: &[u8], name: &[u8], member: Option<u32>) -> bool {
    word.strip_prefix(name).is_some_and(|digits| match member {
        None => digits.is_empty(),
        Some(number) => {
            !digits.is_empty()
                && digits.iter().all(u8::is_ascii_digit)
                && suffix_number(digits) == number
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_of_ranges_conflict() {
        let mut names = TakenNames::default();
        for name in [&b"%r10"[..], b"%r2x", b"abc7", b"f"] {
            names.add(name, NameForm::Plain);
        }
        for range in [&b"%r"[..], b"abc"] {
            assert!(names.has_member(range));
            assert!(names.conflicts(range, NameForm::Range));
            assert!(!names.conflicts(range, NameForm::Plain));
        }
        for range in [&b"%r1"[..], b"%r10", b"%r2", b"%", b"ab", b"f", b""] {
            assert!(!names.has_member(range));
        }
        names.add(b"g", NameForm::Range);
        assert!(
            names.contains(b"g0")
                && !names.contains(b"g")
                && names.conflicts(b"g", NameForm::Plain)
        );
    }
}
