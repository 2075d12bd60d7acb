//! What a clean-up did.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use ptx_ir::{FuncId, Span};

/// A kind of clean-up.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum Pass {
    /// Generic addresses become those of a state space.
    Spaces,
    /// Copies are read where they come from.
    Copies,
    /// What is always the same number is written as one.
    Fold,
    /// What control never reaches goes, and labels that nothing mentions.
    Unreachable,
    /// What nobody reads is not computed.
    Dead,
}

impl Pass {
    /// All of them, in the order in which one helps the next.
    pub const ALL: [Self; 5] = [
        Self::Spaces,
        Self::Copies,
        Self::Fold,
        Self::Unreachable,
        Self::Dead,
    ];

    /// Its name: `dead`, …
    pub const fn name(self) -> &'static str {
        match self {
            Self::Spaces => "spaces",
            Self::Copies => "copies",
            Self::Fold => "fold",
            Self::Unreachable => "unreachable",
            Self::Dead => "dead",
        }
    }
}

impl fmt::Display for Pass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One change.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Change {
    /// The clean-up that made it.
    pub pass: Pass,
    /// Where.
    pub function: FuncId,
    /// The statement in the source, which says what it was before all changes.
    pub span: Span,
    /// What was done and why, in a few words.
    pub why: String,
}

/// What clean-ups did.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Report {
    /// Every change, in the order in which they were made.
    pub changes: Vec<Change>,
    /// How often the clean-ups looked at the module; the last time nothing changed.
    pub rounds: u32,
}

impl Report {
    /// Whether nothing was to be done.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// How many changes a clean-up made.
    pub fn count(&self, pass: Pass) -> usize {
        self.changes.iter().filter(|c| c.pass == pass).count()
    }
}
