//! Random numbers, and random functions.
#![allow(dead_code, reason = "not every test needs all of it")]

pub(crate) mod program;

/// Random numbers, always the same ones for a seed.
#[derive(Clone, Debug)]
pub(crate) struct Random(fastrand::Rng);

impl Random {
    /// A generator with a seed.
    #[must_use]
    pub(crate) fn new(seed: u64) -> Self {
        Self(fastrand::Rng::with_seed(seed))
    }

    /// The next number.
    #[allow(clippy::should_implement_trait, reason = "it never ends")]
    pub(crate) fn next(&mut self) -> u64 {
        self.0.u64(..)
    }

    /// A number below `n`.
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.0.u64(..n)
    }
}
