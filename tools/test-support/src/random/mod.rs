//! Random numbers, and random functions.

pub mod program;
#[cfg(feature = "vm")]
pub mod run;

/// Random numbers. Equal seeds give equal numbers.
#[derive(Clone, Debug)]
pub struct Random(fastrand::Rng);

impl Random {
    /// A generator with a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(fastrand::Rng::with_seed(seed))
    }

    /// The next number.
    #[allow(clippy::should_implement_trait, reason = "it never ends")]
    pub fn next(&mut self) -> u64 {
        self.0.u64(..)
    }

    /// A number below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.0.u64(..end)
    }
}
