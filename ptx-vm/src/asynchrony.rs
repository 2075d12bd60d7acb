//! The time at which asynchronous operations are performed.

use core::fmt;
use core::str::FromStr;

/// The time at which asynchronous operations of a launch are performed. A launch with another time than [`Immediate`](Self::Immediate) runs on one host
/// thread, always in the same way.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug, Default)]
#[non_exhaustive]
pub enum Asynchrony {
    /// By the instruction that starts them.
    #[default]
    Immediate,
    /// As late as possible: when a thread waits for their completion, or at the end of the cluster.
    Late,
    /// At random times, which a seed determines, but not later than that.
    Random(u64),
}

/// A text that is not an [`Asynchrony`].
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct UnknownAsynchrony;

impl fmt::Display for UnknownAsynchrony {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected `immediate`, `late` or `random:SEED`")
    }
}

impl core::error::Error for UnknownAsynchrony {}

impl fmt::Display for Asynchrony {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Immediate => f.write_str("immediate"),
            Self::Late => f.write_str("late"),
            Self::Random(seed) => write!(f, "random:{seed}"),
        }
    }
}

impl FromStr for Asynchrony {
    type Err = UnknownAsynchrony;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "immediate" => Ok(Self::Immediate),
            "late" => Ok(Self::Late),
            _ => {
                let seed = text.strip_prefix("random:").ok_or(UnknownAsynchrony)?;
                let seed = seed.parse().map_err(|_| UnknownAsynchrony)?;
                Ok(Self::Random(seed))
            }
        }
    }
}
