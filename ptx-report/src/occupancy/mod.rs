//! Occupancy: how many CTAs of a kernel a multiprocessor runs at the same time, and which resource limits it. The formulas are those of NVIDIA's occupancy
//! calculator.

mod kernel;
mod limits;
#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests;

use serde::Serialize;

pub use kernel::{BlockOrigin, KernelOccupancy, LaunchSizes, RegisterOrigin, SizeOccupancy};
use limits::{LIMITS, MOST_THREADS, PARTITIONS, REGISTER_UNIT};
pub use limits::{MOST_REGISTERS, MultiprocessorLimits, REGISTERS};

/// The threads of a warp.
const WARP: u32 = 32;
/// The sizes of CTAs in the table of other sizes.
const SIZES: [u32; 8] = [64, 96, 128, 192, 256, 384, 512, 1024];

impl MultiprocessorLimits {
    /// The limits of the newest compute capability in the table.
    pub const NEWEST: Self = LIMITS[LIMITS.len() - 1];

    /// The limits for a compute capability. A minor number that is not in the table has the limits of the next lower one.
    ///
    /// ```
    /// use ptx_report::occupancy::MultiprocessorLimits;
    /// assert_eq!(MultiprocessorLimits::of(9, 0).unwrap().warps, 64);
    /// assert_eq!(MultiprocessorLimits::of(6, 0), None);
    /// ```
    #[must_use]
    pub fn of(major: u32, minor: u32) -> Option<Self> {
        let mut rows = LIMITS.iter().rev();
        rows.find(|row| row.capability.0 == major && row.capability.1 <= minor)
            .copied()
    }

    /// The limits for a target: `sm_90a`.
    #[must_use]
    pub fn of_target(target: &str) -> Option<Self> {
        let (major, minor) = capability_of_target(target)?;
        Self::of(major, minor)
    }

    /// The most shared memory in bytes of a CTA.
    #[must_use]
    pub const fn shared_of_block(&self) -> u32 {
        self.shared - self.reserved_shared
    }
}

/// The major and minor number of the compute capability of a target.
pub(crate) fn capability_of_target(target: &str) -> Option<(u32, u32)> {
    let digits = target.strip_prefix("sm_")?;
    let digits = digits.trim_end_matches(|c: char| !c.is_ascii_digit());
    let number: u32 = digits.parse().ok()?;
    Some((number / 10, number % 10))
}

/// The resources that a CTA of a kernel needs.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BlockNeeds {
    /// The number of threads.
    pub threads: u32,
    /// The registers of a thread.
    pub registers: u32,
    /// Static and dynamic shared memory in bytes.
    pub shared_bytes: u64,
}

/// A resource that limits the number of CTAs.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Limiter {
    /// The most CTAs of a multiprocessor.
    Blocks,
    /// The most warps of a multiprocessor.
    Warps,
    /// Its registers.
    Registers,
    /// Its shared memory.
    SharedMemory,
}

impl Limiter {
    /// The resource in words.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Blocks => "the number of CTAs",
            Self::Warps => "the number of warps",
            Self::Registers => "registers",
            Self::SharedMemory => "shared memory",
        }
    }
}

/// The occupancy of a multiprocessor.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Occupancy {
    /// The CTAs that run at the same time.
    pub blocks: u32,
    /// Their warps.
    pub warps: u32,
    /// The most warps that a multiprocessor runs.
    pub most_warps: u32,
    /// The resources that do not allow one more CTA.
    pub limiters: Vec<Limiter>,
}

impl Occupancy {
    /// The occupancy with CTAs of these needs.
    ///
    /// ```
    /// use ptx_report::occupancy::{BlockNeeds, Limiter, MultiprocessorLimits, Occupancy};
    /// let needs = BlockNeeds { threads: 128, registers: 253, shared_bytes: 64 << 10 };
    /// let occupancy = Occupancy::new(&MultiprocessorLimits::of(8, 0).unwrap(), needs);
    /// assert_eq!((occupancy.blocks, occupancy.warps), (2, 8));
    /// assert_eq!(occupancy.limiters, [Limiter::Registers, Limiter::SharedMemory]);
    /// ```
    #[must_use]
    pub fn new(limits: &MultiprocessorLimits, needs: BlockNeeds) -> Self {
        let warps = needs.threads.div_ceil(WARP).max(1);
        let counts = [
            (Limiter::Blocks, limits.blocks),
            (
                Limiter::Warps,
                blocks_of_warps(limits, needs.threads, warps),
            ),
            (
                Limiter::Registers,
                blocks_of_registers(needs.registers, warps),
            ),
            (
                Limiter::SharedMemory,
                blocks_of_shared(limits, needs.shared_bytes),
            ),
        ];
        let blocks = counts.iter().map(|(_, count)| *count).min().unwrap_or(0);
        let limiting = counts.iter().filter(|(_, count)| *count == blocks);
        Self {
            blocks,
            warps: blocks * warps,
            most_warps: limits.warps,
            limiters: limiting.map(|(limiter, _)| *limiter).collect(),
        }
    }

    /// The percentage of the warps that a multiprocessor can run.
    #[must_use]
    pub fn percent(&self) -> f64 {
        f64::from(self.warps) * 100.0 / f64::from(self.most_warps.max(1))
    }

    /// The occupancy with other sizes of CTAs and the same needs otherwise.
    #[must_use]
    pub fn of_sizes(limits: &MultiprocessorLimits, needs: BlockNeeds) -> Vec<(u32, Self)> {
        let with = |threads| Self::new(limits, BlockNeeds { threads, ..needs });
        SIZES.map(|threads| (threads, with(threads))).to_vec()
    }

    /// The most registers of a thread with which one more CTA runs; `None` if fewer registers do not suffice for that.
    #[must_use]
    pub fn registers_for_more(
        &self,
        limits: &MultiprocessorLimits,
        needs: BlockNeeds,
    ) -> Option<u32> {
        (1..needs.registers).rev().find(|&registers| {
            Self::new(limits, BlockNeeds { registers, ..needs }).blocks > self.blocks
        })
    }

    /// The most shared memory in bytes with which one more CTA runs; `None` if less shared memory does not suffice for that.
    #[must_use]
    pub fn shared_for_more(&self, limits: &MultiprocessorLimits, needs: BlockNeeds) -> Option<u64> {
        let unit = limits.shared_unit;
        let of_block = (limits.shared / (self.blocks + 1) / unit * unit)
            .checked_sub(limits.reserved_shared)?;
        let shared_bytes = u64::from(of_block);
        let more = Self::new(
            limits,
            BlockNeeds {
                shared_bytes,
                ..needs
            },
        );
        (shared_bytes < needs.shared_bytes && more.blocks > self.blocks).then_some(shared_bytes)
    }
}

const fn blocks_of_warps(limits: &MultiprocessorLimits, threads: u32, warps: u32) -> u32 {
    if threads > MOST_THREADS {
        return 0;
    }
    limits.warps / warps
}

const fn blocks_of_registers(registers: u32, warps: u32) -> u32 {
    if registers > MOST_REGISTERS {
        return 0;
    }
    let of_warp = (registers * WARP).next_multiple_of(REGISTER_UNIT);
    if of_warp == 0 {
        return u32::MAX;
    }
    let of_block = of_warp.saturating_mul(warps.next_multiple_of(PARTITIONS));
    if of_block > REGISTERS {
        return 0;
    }
    REGISTERS / PARTITIONS / of_warp * PARTITIONS / warps
}

fn blocks_of_shared(limits: &MultiprocessorLimits, bytes: u64) -> u32 {
    if bytes > limits.shared_of_block().into() {
        return 0;
    }
    let bytes =
        (bytes + u64::from(limits.reserved_shared)).next_multiple_of(limits.shared_unit.into());
    let count = u64::from(limits.shared).checked_div(bytes);
    count
        .and_then(|count| u32::try_from(count).ok())
        .unwrap_or(u32::MAX)
}
