//! Generates short unused names.

use alloc::string::String;

use ptx_edit::raw::{NameForm, TakenNames};
use ptx_isa::Opcode;

/// Short names in order: `a`, `b`, … `Z`, `aa`…
///
/// They contain no digits, so that no member of a range, which is a short name with a number, is one of them.
pub(crate) struct ShortNames<'t> {
    /// The names in use, which are skipped.
    used_names: [&'t TakenNames; 2],
    /// The number of the next name to try.
    next: usize,
}

const FIRST_LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
const LATER_LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_$";

impl<'t> ShortNames<'t> {
    /// Starts at `a` and skips two sets of names.
    pub(crate) fn new(first: &'t TakenNames, second: &'t TakenNames) -> Self {
        Self {
            used_names: [first, second],
            next: 0,
        }
    }

    /// Starts at `aa` and skips the names in use.
    pub(crate) fn with_two_letters(used_names: &'t TakenNames) -> Self {
        Self {
            used_names: [used_names; 2],
            next: FIRST_LETTERS.len(),
        }
    }

    /// Returns the next unused name.
    pub(crate) fn take(&mut self) -> String {
        loop {
            let name = nth(self.next);
            self.next += 1;
            let text = name.as_bytes();
            // Opcodes can be names, but would be hard to read.
            if !self
                .used_names
                .iter()
                .any(|names| names.conflicts(text, NameForm::Range))
                && Opcode::from_text(text).is_none()
            {
                return name;
            }
        }
    }
}

/// Name `n` of the sequence.
fn nth(mut n: usize) -> String {
    let (mut name, mut letters) = (String::new(), FIRST_LETTERS);
    loop {
        let letter = letters.get(n % letters.len()).copied().unwrap_or(b'a');
        name.push(char::from(letter));
        if n < letters.len() {
            return name;
        }
        n = n / letters.len() - 1;
        letters = LATER_LETTERS;
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
        let mut short = ShortNames::new(&taken, &taken);
        let names: Vec<String> = (0..10_000).map(|_| short.take()).collect();
        assert_eq!(names[..3], ["b", "d", "e"]);
        assert_eq!(names[50], "aa");
        let different: BTreeSet<&String> = names.iter().collect();
        assert_eq!(different.len(), names.len());
        assert!(names.iter().all(|n| n.len() <= 3));
        assert_eq!(ShortNames::with_two_letters(&taken).take(), "aa");
    }
}
