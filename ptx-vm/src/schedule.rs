//! The order in which CTAs and warps run.

use core::fmt;
use core::str::FromStr;

/// An order of CTAs and warps other than that of their indices. A launch with a schedule runs on one host thread, always in the same way.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Schedule {
    /// A random order that a seed determines; warps make random numbers of steps.
    Seed(u64),
    /// The warp with the index in each CTA runs only if no other warp of the CTA can, and in every 64th turn.
    StarveWarp(u32),
    /// The warp with the index in each CTA runs as far as it can before the others, which also get every 64th turn.
    FavorWarp(u32),
    /// The CTA with the linear index starts last; in a cluster, it runs only if no other CTA can, and in every 64th turn.
    DelayBlock(u64),
}

/// A text that is not a schedule.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct UnknownSchedule;

impl fmt::Display for UnknownSchedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected `seed:N`, `starve:WARP`, `favor:WARP` or `delay:CTA`")
    }
}

impl core::error::Error for UnknownSchedule {}

impl Schedule {
    /// Different schedules for CTAs of `threads` threads in a grid of at most `blocks` CTAs: random and adversarial ones in turn.
    ///
    /// ```
    /// use ptx_vm::Schedule;
    ///
    /// let all: Vec<String> = Schedule::several(64, 1).take(5).map(|s| s.to_string()).collect();
    /// assert_eq!(all, ["starve:0", "favor:0", "seed:1", "starve:1", "favor:1"]);
    /// ```
    pub fn several(threads: u32, blocks: u64) -> impl Iterator<Item = Self> {
        let warps = threads.div_ceil(32);
        (0..u64::MAX).flat_map(move |nth| {
            let warp = spread(nth, warps.into()).map(|warp| warp as u32);
            let block = spread(nth, blocks);
            let schedules = [
                warp.map(Self::StarveWarp),
                warp.map(Self::FavorWarp),
                block.map(Self::DelayBlock),
                Some(Self::Seed(nth + 1)),
            ];
            schedules.into_iter().flatten()
        })
    }

    /// The seed of a random order.
    pub(crate) const fn seed(self) -> Option<u64> {
        match self {
            Self::Seed(seed) => Some(seed),
            _ => None,
        }
    }
}

/// The `nth` of the numbers below a count, in turn from its start and its end; `None` after the last one, or if there is only one.
const fn spread(nth: u64, count: u64) -> Option<u64> {
    if count <= 1 || nth >= count {
        return None;
    }
    match nth % 2 {
        0 => Some(nth / 2),
        _ => Some(count - 1 - nth / 2),
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Seed(seed) => write!(f, "seed:{seed}"),
            Self::StarveWarp(warp) => write!(f, "starve:{warp}"),
            Self::FavorWarp(warp) => write!(f, "favor:{warp}"),
            Self::DelayBlock(block) => write!(f, "delay:{block}"),
        }
    }
}

impl FromStr for Schedule {
    type Err = UnknownSchedule;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (kind, number) = text.split_once(':').ok_or(UnknownSchedule)?;
        let number: u64 = number.parse().map_err(|_| UnknownSchedule)?;
        let warp = u32::try_from(number).map_err(|_| UnknownSchedule);
        Ok(match kind {
            "seed" => Self::Seed(number),
            "starve" => Self::StarveWarp(warp?),
            "favor" => Self::FavorWarp(warp?),
            "delay" => Self::DelayBlock(number),
            _ => return Err(UnknownSchedule),
        })
    }
}
