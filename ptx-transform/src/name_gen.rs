//! Generates short unused names.

use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;

use ptx_isa::Opcode;

/// Short names in order: `a`, `b`, … `Z`, `aa`…
///
/// They contain no digits, so that no member of a range, which is a short name with a number, is one of them.
pub(crate) struct Short<'t> {
    taken: [&'t Taken; 2],
    next: usize,
}

/// Names that are in use.
#[derive(Default)]
pub(crate) struct Taken(BTreeSet<Vec<u8>>);

impl Taken {
    /// Adds a name, and the range that would have it as a member.
    pub(crate) fn add(&mut self, name: &[u8]) {
        let digits = name.iter().rev().take_while(|b| b.is_ascii_digit()).count();
        let stem = name.get(..name.len() - digits).unwrap_or_default();
        for part in [name, stem] {
            if !self.0.contains(part) {
                self.0.insert(part.to_vec());
            }
        }
    }
}

const FIRST: &[u8] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
const OTHER: &[u8] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_$";

impl<'t> Short<'t> {
    /// Starts at `a` and skips two sets of names.
    pub(crate) fn with(taken: &'t Taken, own: &'t Taken) -> Self {
        let taken = [taken, own];
        Self { taken, next: 0 }
    }

    /// Starts at `aa`.
    pub(crate) fn of_two(taken: &'t Taken) -> Self {
        let next = FIRST.len();
        let taken = [taken; 2];
        Self { taken, next }
    }

    /// The next name.
    pub(crate) fn take(&mut self) -> String {
        loop {
            let name = nth(self.next);
            self.next += 1;
            if !self.taken.iter().any(|t| t.0.contains(name.as_bytes()))
                && crate::names::is_name(name.as_bytes())
                // Opcodes can be names, but would be hard to read.
                && Opcode::from_text(name.as_bytes()).is_none()
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
    use super::*;

    #[test]
    fn names_are_short_free_and_never_come_twice() {
        let mut taken = Taken::default();
        for name in ["a", "c12", "d1x"] {
            taken.add(name.as_bytes());
        }
        let mut short = Short::with(&taken, &taken);
        let names: Vec<String> = (0..10_000).map(|_| short.take()).collect();
        assert_eq!(names[..3], ["b", "d", "e"]);
        assert_eq!(names[50], "aa");
        let different: BTreeSet<&String> = names.iter().collect();
        assert_eq!(different.len(), names.len());
        assert!(names.iter().all(|n| n.len() <= 3));
        assert_eq!(Short::of_two(&taken).take(), "aa");
    }
}
