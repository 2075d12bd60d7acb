//! Names in use.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use ptx_ir::name::split_numeric_suffix;

/// What a declaration of a name declares.
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

/// A set of names in use, which tells whether a new name would conflict with one of them. Queries cost the logarithm of the
/// number of names.
///
/// ```
/// use ptx_edit::{NameForm, TakenNames};
/// let mut taken = TakenNames::default();
/// taken.add(b"%r", NameForm::Range);
/// taken.add(b"n7", NameForm::Plain);
/// assert!(taken.conflicts(b"%r12", NameForm::Plain));
/// assert!(taken.conflicts(b"n", NameForm::Range));
/// assert!(!taken.conflicts(b"n", NameForm::Plain));
/// ```
#[derive(Clone, Default, Debug)]
pub struct TakenNames {
    plain: BTreeSet<Vec<u8>>,
    ranges: BTreeSet<Vec<u8>>,
    /// The plain names that end with digits, without these.
    stems: BTreeSet<Vec<u8>>,
}

impl TakenNames {
    /// Adds a name.
    pub fn add(&mut self, name: &[u8], form: NameForm) {
        let insert = |set: &mut BTreeSet<Vec<u8>>, name: &[u8]| {
            if !set.contains(name) {
                set.insert(name.to_vec());
            }
        };
        match form {
            NameForm::Range => insert(&mut self.ranges, name),
            NameForm::Plain => {
                insert(&mut self.plain, name);
                let (stem, digits) = split_numeric_suffix(name);
                if !digits.is_empty() {
                    insert(&mut self.stems, stem);
                }
            }
        }
    }

    /// Whether this spelling is one of the names, or can be a member of one of the ranges.
    #[must_use]
    pub fn contains(&self, name: &[u8]) -> bool {
        let (stem, digits) = split_numeric_suffix(name);
        self.plain.contains(name) || !digits.is_empty() && self.ranges.contains(stem)
    }

    /// Whether one of the plain names can be a member of a range of this name.
    #[must_use]
    pub fn has_member(&self, range: &[u8]) -> bool {
        self.stems.contains(range)
    }

    /// Whether a declaration of this name would conflict with one of the names: they are equal, or one is a range and the
    /// other can be spelled like a member of it.
    #[must_use]
    pub fn conflicts(&self, name: &[u8], form: NameForm) -> bool {
        self.contains(name)
            || self.ranges.contains(name)
            || form == NameForm::Range && self.has_member(name)
    }

    /// Adds all names of another set.
    pub fn extend(&mut self, other: &Self) {
        for name in &other.plain {
            self.add(name, NameForm::Plain);
        }
        for name in &other.ranges {
            self.add(name, NameForm::Range);
        }
    }
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
