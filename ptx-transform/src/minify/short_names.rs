//! Generates short unused names.

use alloc::string::String;

use ptx_edit::raw::{NameForm, TakenNames};
use ptx_isa::Opcode;

/// Short names in order: `a`, `b`, … `Z`, `aa`…
///
/// They contain no digits, so that no member of a range, which is a short name with a number, is one of them.
pub(crate) struct ShortNames<'t> {
    taken: [&'t TakenNames; 2],
    next: usize,
}

const FIRST: &[u8] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
const OTHER: &[u8] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_$";

impl<'t> ShortNames<'t> {
    /// Starts at `a` and skips two sets of names.
    pub(crate) fn with(taken: &'t TakenNames, own: &'t TakenNames) -> Self {
        let taken = [taken, own];
        Self { taken, next: 0 }
    }

    /// Starts at `aa`.
    pub(crate) fn of_two(taken: &'t TakenNames) -> Self {
        let next = FIRST.len();
        let taken = [taken; 2];
        Self { taken, next }
    }

    /// The next name.
    pub(crate) fn take(&mut self) -> String {
        loop {
            let name = nth(self.next);
            self.next += 1;
            let text = name.as_bytes();
            // Opcodes can be names, but would be hard to read.
            if !self
                .taken
                .iter()
                .any(|t| t.conflicts(text, NameForm::Range))
                && Opcode::from_text(text).is_none()
            {
                return name;
            }
        }
    }
}

fn nth(mut n: usize) -> String {
    let (mut name, mut base) = (String::new(), FIRST);
    loop {
        let letter = base.get(n % base.len()).copied().unwrap_or(b'a');
        name.push(char::from(letter));
        if n < base.len() {
            return name;
        }
        n = n / base.len() - 1;
        base = OTHER;
    }
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeSet;
    use alloc::vec::Vec;

    use super::*;

    #[test]
    fn names_are_short_unused_and_distinct() {
        let mut taken = TakenNames::default();
        for name in ["a", "c12", "d1x"] {
            taken.add(name.as_bytes(), NameForm::Plain);
        }
        let mut short = ShortNames::with(&taken, &taken);
        let names: Vec<String> = (0..10_000).map(|_| short.take()).collect();
        assert_eq!(names[..3], ["b", "d", "e"]);
        assert_eq!(names[50], "aa");
        let different: BTreeSet<&String> = names.iter().collect();
        assert_eq!(different.len(), names.len());
        assert!(names.iter().all(|n| n.len() <= 3));
        assert_eq!(ShortNames::of_two(&taken).take(), "aa");
    }
}
