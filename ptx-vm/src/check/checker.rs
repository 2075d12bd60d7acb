//! The checkers and sets of them.

use core::fmt;
use core::str::FromStr;

/// A checker of running kernels. The names are those of NVIDIA's compute-sanitizer.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum Checker {
    /// Memory accesses: bounds of allocations and variables, alignment, use after free.
    Memcheck,
    /// Reads of uninitialized memory and registers.
    Initcheck,
    /// Barriers, member masks, mbarrier objects and asynchronous copies.
    Synccheck,
    /// Data races: unordered accesses of different threads to the same memory.
    Racecheck,
}

impl Checker {
    /// All checkers.
    pub const ALL: [Self; 4] = [
        Self::Memcheck,
        Self::Initcheck,
        Self::Synccheck,
        Self::Racecheck,
    ];

    /// The name of the checker, such as `memcheck`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Memcheck => "memcheck",
            Self::Initcheck => "initcheck",
            Self::Synccheck => "synccheck",
            Self::Racecheck => "racecheck",
        }
    }
}

impl fmt::Display for Checker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The error for a name that is not that of a checker.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct UnknownChecker;

impl fmt::Display for UnknownChecker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = Checker::ALL.map(Checker::name).join(", ");
        write!(f, "expected one of {names}")
    }
}

impl core::error::Error for UnknownChecker {}

impl FromStr for Checker {
    type Err = UnknownChecker;

    fn from_str(name: &str) -> Result<Self, UnknownChecker> {
        Self::ALL
            .into_iter()
            .find(|checker| checker.name() == name)
            .ok_or(UnknownChecker)
    }
}

/// A set of checkers.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Checks(u8);

impl Checks {
    /// No checker.
    pub const NONE: Self = Self(0);

    /// Every checker.
    #[must_use]
    pub fn all() -> Self {
        Checker::ALL.into_iter().collect()
    }

    /// The set with one more checker.
    #[must_use]
    pub const fn with(self, checker: Checker) -> Self {
        Self(self.0 | 1 << checker as u8)
    }

    /// Whether a checker is in the set.
    #[must_use]
    pub const fn has(self, checker: Checker) -> bool {
        self.0 >> checker as u8 & 1 != 0
    }

    /// Whether the set has no checker.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl FromIterator<Checker> for Checks {
    fn from_iter<I: IntoIterator<Item = Checker>>(checkers: I) -> Self {
        checkers.into_iter().fold(Self::NONE, Self::with)
    }
}
