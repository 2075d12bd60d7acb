//! Names that nothing has yet.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use ptx_ir::Module;
use ptx_isa::{Opcode, SpecialReg};

use super::Fixed;

/// Words that mean something where a name may stand.
const WORDS: [&str; 4] = ["WARP_SZ", "generic", "function_name", "inlined_at"];

/// Names that are taken, and the names that would clash with them.
#[derive(Default)]
pub(crate) struct Taken<'a> {
    /// Those that are taken around.
    outer: Option<&'a Taken<'a>>,
    names: BTreeSet<Vec<u8>>,
    /// Names without the digits at their end: a range of such a name might have them.
    stems: BTreeSet<Vec<u8>>,
    /// What was put behind a name last.
    letters: BTreeMap<String, Alphabet>,
}

/// A name without the digits at its end.
pub(super) fn stem(name: &[u8]) -> &[u8] {
    let digits = name.iter().rev().take_while(|b| b.is_ascii_digit());
    name.get(..name.len() - digits.count()).unwrap_or_default()
}

impl<'a> Taken<'a> {
    /// What is taken in every function: the names of the module, and those that cannot change.
    pub(crate) fn of_module(module: &Module, fixed: &Fixed) -> Self {
        let mut taken = Self::default();
        for symbol in module.symbols.values() {
            taken.add(module.name_bytes(symbol.name));
        }
        for name in fixed.names() {
            taken.add(name);
        }
        taken
    }

    /// What is taken inside.
    pub(crate) fn inside(&'a self) -> Taken<'a> {
        Taken {
            outer: Some(self),
            ..Taken::default()
        }
    }

    pub(crate) fn add(&mut self, name: &[u8]) {
        self.names.insert(name.to_vec());
        self.stems.insert(stem(name).to_vec());
    }

    fn clashes(&self, name: &[u8], stem: &[u8]) -> bool {
        self.names.contains(name)
            || self.stems.contains(name)
            || stem.len() < name.len() && self.names.contains(stem)
            || self.outer.is_some_and(|o| o.clashes(name, stem))
    }

    /// Whether nothing has this name, none of a range has, and none of a range of this name would have another one's.
    pub(crate) fn is_free(&self, name: &str) -> bool {
        let bytes = name.as_bytes();
        !self.clashes(bytes, stem(bytes)) && is_plain(name)
    }

    /// The name itself if nothing has it, else with letters behind it; it is taken then.
    pub(crate) fn like(&mut self, name: &str) -> String {
        let mut fresh = String::from(name);
        if !self.is_free(name) {
            let mut letters = self.letters.remove(name).unwrap_or_default();
            while !self.is_free(&fresh) {
                fresh = alloc::format!("{name}_{}", letters.next_word());
            }
            self.letters.insert(String::from(name), letters);
        }
        self.add(fresh.as_bytes());
        fresh
    }

    /// The next short name that nothing has; it is taken then.
    pub(crate) fn short(&mut self, letters: &mut Alphabet) -> String {
        loop {
            let name = letters.next_word();
            if self.is_free(&name) {
                self.add(name.as_bytes());
                return name;
            }
        }
    }
}

/// Whether a word means nothing else.
pub(crate) fn is_plain(name: &str) -> bool {
    let bytes = name.as_bytes();
    !WORDS.contains(&name)
        && SpecialReg::from_text(bytes).is_none()
        && Opcode::from_text(bytes).is_none()
}

/// Words of letters, the shortest first: `a` to `z`, `A` to `Z`, `aa`…
#[derive(Clone, Default)]
pub(crate) struct Alphabet(usize);

impl Alphabet {
    const LETTERS: &[u8; 52] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

    pub(crate) fn next_word(&mut self) -> String {
        let mut n = self.0;
        self.0 += 1;
        let mut word = Vec::new();
        loop {
            word.push(Self::LETTERS[n % 52]);
            if n < 52 {
                break;
            }
            n = n / 52 - 1;
        }
        word.reverse();
        word.into_iter().map(char::from).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_grow() {
        let mut letters = Alphabet::default();
        let words: Vec<String> = (0..52 * 53 + 1).map(|_| letters.next_word()).collect();
        assert_eq!(words[0], "a");
        assert_eq!(words[51], "Z");
        assert_eq!(words[52], "aa");
        assert_eq!(words[52 * 53], "aaa");
        let all: BTreeSet<&String> = words.iter().collect();
        assert_eq!(all.len(), words.len());
    }

    #[test]
    fn members_of_ranges_are_names() {
        let mut taken = Taken::default();
        taken.add(b"r7");
        taken.add(b"x");
        // `r<9>` would have `r7`, and `x` may be a range that has `x5`.
        for clash in ["r7", "r", "x", "x5", "%tid", "add", "WARP_SZ"] {
            assert!(!taken.is_free(clash), "{clash}");
        }
        for free in ["r8", "xx", "a"] {
            assert!(taken.is_free(free), "{free}");
        }
        assert_eq!(taken.like("x"), "x_a");
        assert_eq!(taken.like("x"), "x_b");
    }
}
