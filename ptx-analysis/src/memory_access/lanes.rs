//! Access patterns: how the addresses of the lanes of a warp are related.

use ptx_isa::SpecialReg;

use super::Context;
use super::requests::{LANES, Passes, existing_lanes, passes, sectors};
use crate::values::{Affine, AffineSymbol, AffineSymbolId};

/// The access pattern of the lanes of a warp.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Pattern {
    /// All lanes access the same address.
    Uniform,
    /// Each lane accesses the bytes after those of the previous lane.
    Consecutive,
    /// A constant stride in bytes from each lane to the next.
    Strided(i64),
    /// Known offsets without a constant stride.
    Scattered,
}

impl Pattern {
    /// The name of the pattern.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Uniform => "uniform",
            Self::Consecutive => "consecutive",
            Self::Strided(_) => "strided",
            Self::Scattered => "scattered",
        }
    }
}

/// The assumptions on which an access pattern depends.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug, Default)]
#[non_exhaustive]
pub struct Assumptions {
    /// CTAs are one-dimensional.
    pub one_dimension: bool,
    /// No narrow sum wraps around before it is extended.
    pub no_wrap: bool,
}

/// The memory request of a warp.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Request {
    /// The access pattern.
    pub pattern: Pattern,
    /// The offset of each lane from the address of the first lane.
    pub offsets: [i64; LANES],
    /// The maximum number of lanes that exist, which are the first ones: fewer than 32 if the kernel only allows CTAs that are smaller than a warp.
    pub lanes: u32,
    /// The number of bytes that each lane accesses.
    pub bytes: u64,
    /// The assumptions on which this depends.
    pub assumptions: Assumptions,
}

impl Request {
    /// The number of distinct 32-byte sectors, if all existing lanes are active and the lowest address is at the start of a sector.
    #[must_use]
    pub fn sectors(&self) -> u64 {
        sectors(&self.addresses(), self.bytes, self.existing())
    }

    /// The number of passes over shared memory, if all existing lanes are active.
    #[must_use]
    pub fn passes(&self) -> Passes {
        passes(&self.addresses(), self.bytes, self.existing())
    }

    /// The degree of bank conflicts: the ratio of the passes to the passes without bank conflicts.
    #[must_use]
    pub fn degree(&self) -> u64 {
        let passes = self.passes();
        passes.all.div_ceil(passes.least.max(1))
    }

    /// The set of the lanes that exist.
    fn existing(&self) -> u32 {
        existing_lanes(self.lanes)
    }

    /// The distances of the lanes from the lowest address.
    fn addresses(&self) -> [u64; LANES] {
        let existing = self.offsets.iter().take(self.lanes as usize);
        let lowest = existing.min().copied().unwrap_or(0);
        self.offsets
            .map(|offset| offset.wrapping_sub(lowest) as u64)
    }
}

/// The value of a symbol in the lanes of a warp.
enum LaneValue {
    /// Uniform in the warp.
    Uniform,
    /// The index of the thread in a dimension.
    Thread(usize),
    Lane,
    Unknown,
}

impl Context<'_> {
    pub(super) fn request(&self, form: &Affine, bits: u16, bytes: u64) -> Option<Request> {
        let (form, no_wrap) = self.values.without_wrap(form, bits);
        let mut factors = [0i64; 3];
        let mut lane_factor = 0i64;
        for term in form.terms() {
            match self.lane_value(term.symbol) {
                LaneValue::Uniform => {}
                LaneValue::Thread(dimension) => *factors.get_mut(dimension)? = term.factor,
                LaneValue::Lane => lane_factor = term.factor,
                LaneValue::Unknown => return None,
            }
        }
        let lanes = self.values.bounds().lanes();
        let threads = self.values.bounds().threads;
        let depends_on_thread = factors != [0; 3];
        let offsets = match threads {
            Some(threads) if depends_on_thread => offsets_in_cta(threads, factors)?,
            _ => core::array::from_fn(|lane| (lane as i64).wrapping_mul(factors[0])),
        };
        let unused_bits = 64 - u32::from(bits.clamp(1, 64));
        let offsets = core::array::from_fn(|lane| {
            let offset = offsets[lane].wrapping_add((lane as i64).wrapping_mul(lane_factor));
            offset << unused_bits >> unused_bits
        });
        Some(Request {
            pattern: pattern(&offsets, lanes, bytes),
            offsets,
            lanes,
            bytes,
            assumptions: Assumptions {
                one_dimension: depends_on_thread && threads.is_none(),
                no_wrap,
            },
        })
    }

    fn lane_value(&self, symbol: AffineSymbolId) -> LaneValue {
        match self.values.symbol(symbol) {
            Some(AffineSymbol::Special(SpecialReg::Tid, dimension)) => {
                LaneValue::Thread(dimension.into())
            }
            Some(AffineSymbol::Special(SpecialReg::Laneid, _)) => LaneValue::Lane,
            _ if self.is_uniform(symbol) => LaneValue::Uniform,
            _ => LaneValue::Unknown,
        }
    }

    /// Whether a symbol is uniform among the lanes of a warp that execute an instruction together.
    fn is_uniform(&self, symbol: AffineSymbolId) -> bool {
        super::loops::is_uniform(self.values, symbol, &self.uniform_loops)
    }
}

/// The offsets of the lanes in CTAs of a size; `None` if they differ between warps.
fn offsets_in_cta(threads: [u32; 3], factors: [i64; 3]) -> Option<[i64; LANES]> {
    let [x, y, z] = threads.map(|n| i64::from(n.max(1)));
    let address = |thread: i64| {
        let index = [thread % x, thread / x % y, thread / x / y];
        index
            .iter()
            .zip(factors)
            .fold(0i64, |sum, (i, f)| sum.wrapping_add(i.wrapping_mul(f)))
    };
    let warp_offsets = |first: i64| -> [i64; LANES] {
        core::array::from_fn(|lane| address(first + lane as i64).wrapping_sub(address(first)))
    };
    let offsets = warp_offsets(0);
    let thread_count = (x * y * z).min(1024);
    (1..thread_count / LANES as i64)
        .all(|warp| warp_offsets(warp * LANES as i64) == offsets)
        .then_some(offsets)
}

fn pattern(offsets: &[i64; LANES], lanes: u32, bytes: u64) -> Pattern {
    let stride = if lanes == 1 { 0 } else { offsets[1] };
    let mut lanes = (0i64..i64::from(lanes)).zip(offsets);
    if !lanes.all(|(lane, &offset)| offset == lane.wrapping_mul(stride)) {
        Pattern::Scattered
    } else if stride == 0 {
        Pattern::Uniform
    } else if i64::try_from(bytes) == Ok(stride) {
        Pattern::Consecutive
    } else {
        Pattern::Strided(stride)
    }
}
