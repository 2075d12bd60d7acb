//! Access patterns: how the addresses of the lanes of a warp are related.

mod rows;

use alloc::vec::Vec;

use ptx_isa::SpecialReg;

use super::Context;
use super::requests::{LANES, Passes, existing_lanes, passes, sectors};
use crate::values::{Affine, AffineSymbol, AffineSymbolId};
use crate::warps::{Assumed, LaneAddresses, Masks, RowOfLanes, RowStride};

/// The alignment of allocations of global memory.
const ALLOCATION: u64 = 256;
/// The size of a sector of global memory, and of a word of shared memory.
const SECTOR: u64 = 32;
const WORD: u64 = 4;
/// The size of a row of all banks of shared memory.
const ROW: u64 = 128;
/// The maximum number of bits that may be inverted in the addresses of all lanes.
const MAX_INVERTED_BITS: u32 = 6;
/// The maximum number of sets of lanes.
const MAX_SETS: usize = 4;
/// An address that is added to all distances, which may be negative.
const ORIGIN: u64 = 1 << 40;

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
    /// Known offsets within groups of lanes; the distances between the groups are unknown, or multiples of an unknown number.
    Rows,
    /// A tile of a matrix, through a descriptor or a tensor map: no addresses of lanes.
    Tile,
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
            Self::Rows => "rows",
            Self::Tile => "tile",
        }
    }
}

/// The assumptions on which an access pattern depends.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug, Default)]
#[non_exhaustive]
pub struct Assumptions {
    /// The size of CTAs in dimension x is a multiple of 32.
    pub one_dimension: bool,
    /// No narrow sum wraps around before it is extended.
    pub no_wrap: bool,
    /// Pointers that kernels get as parameters are aligned like allocations of global memory: to 256 bytes.
    pub aligned_pointers: bool,
    /// Where the indices of threads are divided by a number, the lanes of a warp have the same quotient.
    pub same_quotient: bool,
}

/// The distances between the rows of a request: multiples of a number that is the same in all lanes.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Stride {
    /// The number.
    pub symbol: AffineSymbolId,
    /// The least distance of different rows, as a multiple of the number.
    pub least_factor: u64,
}

/// A range of counts.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct CountRange {
    /// The least count.
    pub least: u64,
    /// The greatest count.
    pub most: u64,
}

/// The memory request of a warp: of its lanes that execute the instruction in the same iteration of the loops around it. A machine may also execute it together
/// for lanes that left an inner loop at different times, and are in different iterations.
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
    /// The known part of the address of the first lane.
    first: u64,
    /// The bits that may be one in the unknown part of all addresses.
    base: u64,
    /// The bits that may be inverted in the known parts of all addresses.
    inverted: u64,
    /// The sets of lanes that may be active; empty sets follow the last one. If they are unknown, all lanes that exist.
    sets: [u32; MAX_SETS],
    are_sets_known: bool,
    is_affine: bool,
    /// The row of each lane. All lanes are in one row if all distances are known.
    rows: RowOfLanes,
    /// The bits that may be one in the unknown distances between rows.
    row_bits: u64,
    stride: Option<RowStride>,
}

impl Request {
    /// The least number of distinct 32-byte sectors of a request of the usual lanes, over the positions in a sector that the address may have. Rows are taken not
    /// to share sectors.
    #[must_use]
    pub fn sectors(&self) -> u64 {
        match self.pattern {
            Pattern::Rows => self.rows().map(|row| row.sector_range().least).sum(),
            _ => self.of_usual_lanes().sector_range().least,
        }
    }

    /// The same request of the usual lanes only: the largest of the sets of lanes that may be active.
    #[doc(hidden)]
    #[must_use]
    pub fn of_usual_lanes(&self) -> Self {
        let [usual, ..] = self.sets;
        Self {
            sets: [usual, 0, 0, 0],
            ..*self
        }
    }

    /// The same request, without the assumption that pointers are aligned like allocations.
    #[doc(hidden)]
    #[must_use]
    pub fn without_aligned_pointers(&self) -> Self {
        let is_assumed = self.assumptions.aligned_pointers;
        Self {
            base: if is_assumed { u64::MAX } else { self.base },
            ..*self
        }
    }

    /// Whether the distances between the addresses of all lanes are known, and no quotients are assumed to be the same.
    #[doc(hidden)]
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.pattern != Pattern::Rows && !self.assumptions.same_quotient
    }

    /// The numbers of distinct 32-byte sectors that requests may need.
    #[must_use]
    pub fn sector_range(&self) -> CountRange {
        if self.pattern == Pattern::Rows {
            return self.range_of_rows(Self::sector_range);
        }
        let range = self.range(SECTOR, |addresses, lanes| {
            sectors(addresses, self.bytes, lanes)
        });
        if !self.assumptions.same_quotient {
            return range;
        }
        let alone = self.bytes.div_ceil(SECTOR) + 1;
        CountRange {
            least: range.least,
            most: range.most.max(u64::from(self.lanes) * alone),
        }
    }

    /// The number of passes over shared memory. If it depends on the address, the most; the passes without conflicts are those of the same lanes.
    #[must_use]
    pub fn passes(&self) -> Passes {
        if self.pattern == Pattern::Rows {
            return self.passes_of_rows();
        }
        let mut most = Passes::default();
        self.each_position(WORD, |addresses, lanes| {
            let mut passes = passes(addresses, self.bytes, lanes);
            if self.bytes > SECTOR {
                // A block of memory needs a pass for each row of banks.
                passes.least = passes.all;
            }
            if passes.all > most.all || most == Passes::default() {
                most = passes;
            }
        });
        most
    }

    /// The numbers of passes over shared memory that requests may need.
    #[must_use]
    pub fn pass_range(&self) -> CountRange {
        if self.pattern == Pattern::Rows {
            return self.range_of_rows(Self::pass_range);
        }
        self.range(WORD, |addresses, lanes| {
            passes(addresses, self.bytes, lanes).all
        })
    }

    /// The degree of bank conflicts: the ratio of the passes to the passes without bank conflicts.
    #[must_use]
    pub fn degree(&self) -> u64 {
        let passes = self.passes();
        passes.all.div_ceil(passes.least.max(1))
    }

    /// The sets of lanes that may be active; empty if they are unknown. Lanes that separate at a branch or in a called function are assumed to meet again where
    /// their paths do; a machine may execute parts of a set one after the other.
    #[must_use]
    pub fn active_lanes(&self) -> &[u32] {
        if !self.are_sets_known {
            return &[];
        }
        let count = self
            .sets
            .iter()
            .skip(1)
            .take_while(|set| **set != 0)
            .count()
            + 1;
        self.sets.get(..count).unwrap_or_default()
    }

    /// Whether the addresses are affine in the indices of threads.
    #[doc(hidden)]
    #[must_use]
    pub const fn is_affine(&self) -> bool {
        self.is_affine
    }

    /// Whether the addresses of lanes, of which the lanes of a set are active, may be those of the request.
    #[doc(hidden)]
    #[must_use]
    pub fn allows(&self, addresses: &[u64; LANES], lanes: u32) -> bool {
        let first = lanes.trailing_zeros() as usize % LANES;
        self.known_parts().any(|parts| {
            (0..LANES)
                .filter(|lane| lanes >> lane & 1 == 1)
                .all(|lane| {
                    // The first active lane of the row.
                    let same_row = |other: &usize| self.rows[*other] == self.rows[lane];
                    let mut active = (0..=lane).filter(|other| lanes >> other & 1 == 1);
                    let first = active.find(same_row).unwrap_or(first);
                    let distance = parts[lane].wrapping_sub(parts[first]);
                    addresses[lane] == addresses[first].wrapping_add(distance)
                })
        })
    }

    fn range(&self, unit: u64, count: impl Fn(&[u64; LANES], u32) -> u64) -> CountRange {
        let mut range: Option<CountRange> = None;
        self.each_position(unit, |addresses, lanes| {
            let count = count(addresses, lanes);
            let joined = range.get_or_insert(CountRange {
                least: count,
                most: count,
            });
            joined.least = joined.least.min(count);
            joined.most = joined.most.max(count);
        });
        range.unwrap_or(CountRange { least: 0, most: 0 })
    }

    /// Calls `each` with addresses that requests may have, as far as their position in a unit matters, and with the active lanes.
    fn each_position(&self, unit: u64, mut each: impl FnMut(&[u64; LANES], u32)) {
        let existing = existing_lanes(self.lanes);
        let [usual, others @ ..] = self.sets.map(|set| set & existing);
        let alignment = if self.bytes.is_power_of_two() {
            self.bytes.min(unit)
        } else {
            1
        };
        for parts in self.known_parts() {
            let positions = subsets(self.base & (unit - 1));
            let is_aligned = |position: &u64| {
                let first = usual.trailing_zeros() as usize % LANES;
                parts[first]
                    .wrapping_add(*position)
                    .is_multiple_of(alignment)
            };
            let are_any_aligned = positions.clone().any(|position| is_aligned(&position));
            for position in positions {
                if are_any_aligned && !is_aligned(&position) {
                    continue;
                }
                let addresses = parts.map(|part| part.wrapping_add(position));
                each(&addresses, usual);
                for lanes in others {
                    if lanes != 0 {
                        each(&addresses, lanes);
                    }
                }
            }
        }
    }

    /// The known parts of the addresses, for each value of the bits that may be inverted.
    fn known_parts(&self) -> impl Iterator<Item = [u64; LANES]> + '_ {
        subsets(self.inverted).map(move |inverted| {
            let parts = self
                .offsets
                .map(|offset| self.first.wrapping_add(offset as u64) ^ inverted);
            let start = ORIGIN | parts[0] & (ROW - 1);
            parts.map(|part| start.wrapping_add(part.wrapping_sub(parts[0])))
        })
    }
}

/// The integers whose one bits are in a mask, from zero on.
fn subsets(mask: u64) -> impl Iterator<Item = u64> + Clone {
    let mut next = Some(0u64);
    core::iter::from_fn(move || {
        let subset = next?;
        let following = subset.wrapping_sub(mask) & mask;
        next = (following != 0).then_some(following);
        Some(subset)
    })
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

/// The addresses of the lanes of a request, and how they were found.
#[derive(Copy, Clone)]
pub(super) struct Addresses {
    pub(super) lanes: LaneAddresses,
    pub(super) is_affine: bool,
}

impl Context<'_> {
    /// The request for the addresses of lanes. `bits` is the number of bits of an address, `sets` the lanes that may be active.
    pub(super) fn request(
        &self,
        addresses: &Addresses,
        bits: u16,
        bytes: u64,
        sets: Option<Masks>,
    ) -> Option<Request> {
        let lanes = self.values.bounds().lanes();
        let unused_bits = 64 - u32::from(bits.clamp(1, 64));
        let first = addresses.lanes.offsets[0];
        let offsets = addresses.lanes.offsets.map(|offset| {
            let distance = offset.wrapping_sub(first) as i64;
            distance << unused_bits >> unused_bits
        });
        let inverted = addresses.lanes.inverted;
        if inverted.count_ones() > MAX_INVERTED_BITS {
            return None;
        }
        let assumed = addresses.lanes.assumed;
        let mut active = [0; MAX_SETS];
        active[0] = u32::MAX;
        let known_sets = sets.filter(|sets| sets.sets().iter().any(|set| *set != 0));
        if let Some(known) = known_sets {
            let mut sorted: Vec<u32> = known
                .sets()
                .iter()
                .copied()
                .filter(|set| *set != 0)
                .collect();
            sorted.sort_unstable_by_key(|set| core::cmp::Reverse(set.count_ones()));
            active = [0; MAX_SETS];
            for (slot, set) in active.iter_mut().zip(sorted) {
                *slot = set;
            }
        }
        let set_assumes = known_sets.map_or(Assumed::default(), |sets| sets.assumed);
        Some(Request {
            pattern: if addresses.lanes.rows != [0; LANES] {
                Pattern::Rows
            } else if inverted == 0 {
                pattern(&offsets, lanes, bytes)
            } else {
                Pattern::Scattered
            },
            offsets,
            lanes,
            bytes,
            assumptions: Assumptions {
                one_dimension: assumed.shape || set_assumes.shape,
                no_wrap: assumed.no_wrap || set_assumes.no_wrap,
                aligned_pointers: assumed.alignment,
                same_quotient: assumed.same_quotient || set_assumes.same_quotient,
            },
            first,
            base: addresses.lanes.base,
            inverted,
            sets: active,
            are_sets_known: known_sets.is_some(),
            is_affine: addresses.is_affine,
            rows: addresses.lanes.rows,
            row_bits: addresses.lanes.row_bits,
            stride: addresses.lanes.stride,
        })
    }

    /// The addresses of lanes whose form is a sum of indices of threads and of numbers that are the same in a warp.
    pub(super) fn affine_addresses(&self, form: &Affine, bits: u16) -> Option<Addresses> {
        let (form, no_wrap) = self.values.without_wrap(form, bits);
        let mut factors = [0i64; 3];
        let mut lane_factor = 0i64;
        let mut common = Affine::number(form.constant());
        let mut alignment = false;
        for term in form.terms() {
            match self.lane_value(term.symbol) {
                LaneValue::Uniform if term.factor == 1 && self.is_pointer(term.symbol) => {
                    alignment = true;
                }
                LaneValue::Uniform => {
                    let symbol = Affine::symbol(term.symbol).multiple(term.factor, 64)?;
                    common = common.plus(&symbol, 64)?;
                }
                LaneValue::Thread(dimension) => *factors.get_mut(dimension)? = term.factor,
                LaneValue::Lane => lane_factor = term.factor,
                LaneValue::Unknown => return None,
            }
        }
        let threads = self.values.bounds().threads;
        let depends_on_thread = factors != [0; 3];
        let (offsets, mut base) = match threads {
            Some(threads) if depends_on_thread => offsets_in_cta(threads, factors)?,
            _ => {
                let offsets = core::array::from_fn(|lane| (lane as i64).wrapping_mul(factors[0]));
                let [_, y, z] = factors.map(|factor| lowest_bit(factor as u64));
                let x = lowest_bit(factors[0].wrapping_mul(LANES as i64) as u64);
                (offsets, from_lowest(x | y | z))
            }
        };
        let low = self.values.alignment_of(&common);
        if common.as_number().is_none() {
            base |= u64::MAX.checked_shl(low.bits.into()).unwrap_or(0);
        }
        if alignment {
            base |= !(ALLOCATION - 1);
        }
        let base = from_lowest(base);
        Some(Addresses {
            lanes: LaneAddresses {
                offsets: core::array::from_fn(|lane| {
                    let offset =
                        offsets[lane].wrapping_add((lane as i64).wrapping_mul(lane_factor));
                    (offset as u64).wrapping_add(low.residue)
                }),
                base,
                inverted: 0,
                rows: [0; LANES],
                row_bits: 0,
                stride: None,
                assumed: Assumed {
                    shape: depends_on_thread && threads.is_none(),
                    no_wrap,
                    alignment,
                    same_quotient: false,
                },
            },
            is_affine: true,
        })
    }

    fn is_pointer(&self, symbol: AffineSymbolId) -> bool {
        matches!(self.values.symbol(symbol), Some(AffineSymbol::Parameter { variable, offset, bytes: 8 })
            if self.pointers.contains(&(variable, offset)))
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

/// The offsets of the lanes in CTAs of a size, and the bits that may be one in the number that is added for other warps; `None` if the distances between lanes
/// differ between warps.
fn offsets_in_cta(threads: [u32; 3], factors: [i64; 3]) -> Option<([i64; LANES], u64)> {
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
    let mut base = 0;
    for warp in 1..thread_count / LANES as i64 {
        let first = warp * LANES as i64;
        if warp_offsets(first) != offsets {
            return None;
        }
        base |= lowest_bit(address(first) as u64);
    }
    Some((offsets, from_lowest(base)))
}

const fn lowest_bit(bits: u64) -> u64 {
    bits & bits.wrapping_neg()
}

/// All bits from the lowest one bit on.
const fn from_lowest(bits: u64) -> u64 {
    match bits {
        0 => 0,
        bits => u64::MAX << bits.trailing_zeros(),
    }
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
