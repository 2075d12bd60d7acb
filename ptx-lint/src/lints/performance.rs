//! The memory requests of warps, which the lints about the performance of accesses examine.

use alloc::string::String;
use alloc::vec::Vec;

use ptx_analysis::memory_access::Access;
use ptx_analysis::memory_access::requests::{LANES, Passes, existing_lanes, passes, sectors};
use ptx_analysis::threads::ThreadValues;
use ptx_ir::EntityId as _;
use ptx_ir::facts::Facts;
use ptx_isa::{Action, Modifier, Proxy};

use crate::addresses::Parts;
use crate::context::FunctionContext;

/// The size of the longest vector in bytes.
const MOST_VECTOR_BYTES: u64 = 32;
/// The size of a sector of global memory in bytes.
pub(crate) const SECTOR: u64 = 32;
/// The size of a row of a matrix in bytes.
pub(crate) const ROW: u64 = 16;

/// Returns `true` if each lane of a warp accesses memory at an address that it computes, unlike bulk operations of one thread and matrix operations.
pub(crate) fn is_of_lanes(cx: &FunctionContext<'_>, access: &Access) -> bool {
    let facts = cx.facts().inst(access.inst);
    let is_vector_or_scalar = access
        .access
        .bytes
        .is_some_and(|bytes| (1..=MOST_VECTOR_BYTES).contains(&bytes));
    let is_of_one_thread = facts.is_one_thread() || facts.is_uniform() || facts.is_matrix_move();
    is_vector_or_scalar
        && matches!(access.access.proxy, Proxy::Generic | Proxy::ReadOnly)
        && !is_of_one_thread
        && !access.access.is_mbarrier
        && !facts.is_multimem()
}

/// Returns `true` if each lane provides the address of a matrix row.
pub(crate) fn is_of_rows(cx: &FunctionContext<'_>, access: &Access) -> bool {
    let action = cx.facts().inst(access.inst).action();
    matches!(action, Some(Action::MatrixLoad | Action::MatrixStore))
}

/// The memory request of the lanes of a warp.
#[derive(Clone, Debug)]
pub(crate) struct Lanes {
    /// The offset of each lane from a common address.
    pub(crate) offsets: [i64; LANES],
    /// The set of the lanes that access memory.
    pub(crate) mask: u32,
    /// The maximum number of lanes of a warp that exist.
    existing: u32,
    /// The number of bytes that each lane accesses.
    pub(crate) bytes: u64,
    /// The addresses are affine in the thread indices.
    pub(crate) is_affine: bool,
    /// The CTA is assumed to be one-dimensional.
    pub(crate) assumes_one_dimension: bool,
    /// The offsets are those of CTAs of a likely size, and differ for other sizes that the kernel allows.
    pub(crate) depends_on_size: bool,
}

impl Lanes {
    /// Returns the lanes of the first or second warp that reach an access; `None` if their addresses are unknown. `sets` are the sample threads that
    /// reach each block.
    pub(crate) fn new(
        cx: &FunctionContext<'_>,
        threads: &mut ThreadValues<'_>,
        sets: &[u128],
        access: &Access,
    ) -> Option<Self> {
        let block = cx.cfg().of_statement(access.stmt)?;
        let mut set = sets.get(block.index()).copied().unwrap_or(u128::MAX);
        let facts = cx.facts().inst(access.inst);
        if facts.guard().is_some()
            && let Some(guard) = threads.guard(access.stmt, &facts)
        {
            for sample in 0..threads.samples().len() {
                if guard.get(sample) == 0 {
                    set &= !(1 << sample);
                }
            }
        }
        let existing = cx.values()?.bounds().lanes();
        let existing_lanes = existing_lanes(existing);
        let first_warp = set as u32 & existing_lanes;
        let second_warp = (set >> LANES) as u32;
        let (first_thread, mut mask) = match (first_warp, second_warp) {
            (0, 0) => (0, existing_lanes),
            (0, mask) => (LANES, mask),
            (mask, _) => (0, mask),
        };
        let bytes = if is_of_rows(cx, access) {
            mask &= row_lanes(&facts);
            ROW
        } else {
            access.access.bytes?
        };
        let is_required = threads.shape().is_required;
        let request = access.request.filter(|request| request.is_affine());
        let (offsets, assumes_one_dimension, depends_on_size) = match request {
            Some(request) => (request.offsets, request.assumptions.one_dimension, false),
            None => {
                let values = cx.values()?;
                let (address, _) = values.without_wrap(&access.address?, 64);
                let parts = Parts::new(cx, values, threads, &address)?;
                let depends_on_size =
                    !is_required && parts.differences_depend_on_size(first_thread, LANES);
                let addresses = parts.by_sample;
                let first = addresses.get(first_thread).copied()?;
                let offsets = core::array::from_fn(|lane| {
                    let address = addresses.get(first_thread + lane);
                    address.map_or(0, |address| address.wrapping_sub(first))
                });
                (offsets, !is_required, depends_on_size)
            }
        };
        Some(Self {
            offsets,
            mask,
            existing,
            bytes,
            is_affine: request.is_some(),
            assumes_one_dimension,
            depends_on_size,
        })
    }

    /// Returns the lanes that access memory, in ascending order.
    fn active_lanes(&self) -> impl Iterator<Item = usize> + '_ {
        (0..LANES).filter(|lane| self.mask >> lane & 1 == 1)
    }

    /// Returns the offsets of the lanes that access memory, in the order of the lanes.
    fn active_offsets(&self) -> impl Iterator<Item = i64> + '_ {
        self.active_lanes().map(|lane| self.offsets[lane])
    }

    /// Returns the distance in bytes between the addresses of neighboring lanes, if it is constant.
    pub(crate) fn stride(&self) -> Option<i64> {
        let mut lanes = self.active_lanes();
        let (first, second) = (lanes.next()?, lanes.next()?);
        let start = self.offsets[first];
        let stride = self.offsets[second].wrapping_sub(start) / (second - first) as i64;
        self.active_lanes()
            .all(|lane| {
                let distance = stride.wrapping_mul((lane - first) as i64);
                self.offsets[lane] == start.wrapping_add(distance)
            })
            .then_some(stride)
    }

    /// Returns the offset of each lane from the lowest address.
    fn relative_addresses(&self) -> [u64; LANES] {
        let lowest = self.active_offsets().min().unwrap_or(0);
        self.offsets
            .map(|offset| offset.wrapping_sub(lowest) as u64)
    }

    /// Returns the minimum number of distinct sectors of global memory over all positions of the lowest address in its sector, if it exceeds a number.
    pub(crate) fn sectors_above(&self, max_sectors: u64) -> Option<u64> {
        let addresses = self.relative_addresses();
        let alignment = 1 << self.bytes.trailing_zeros().min(SECTOR.trailing_zeros());
        let mut least = None;
        for start in (0..SECTOR).step_by(alignment) {
            let moved = addresses.map(|address| address.wrapping_add(start));
            let needed = sectors(&moved, self.bytes, self.mask);
            if needed <= max_sectors {
                return None;
            }
            least = Some(least.map_or(needed, |least: u64| least.min(needed)));
        }
        least
    }

    /// Returns the numbers of passes over shared memory if the lowest address is aligned.
    pub(crate) fn passes(&self) -> Passes {
        passes(&self.relative_addresses(), self.bytes, self.mask)
    }

    /// Returns the differences of the addresses of the lanes from that of the first lane.
    pub(crate) fn differences(&self) -> impl Iterator<Item = i64> + '_ {
        let first = self.active_offsets().next().unwrap_or(0);
        self.active_offsets()
            .map(move |offset| offset.wrapping_sub(first))
    }

    /// Returns the number of distinct bytes that the lanes access.
    pub(crate) fn distinct_bytes(&self) -> u64 {
        let mut starts: Vec<i64> = self.active_offsets().collect();
        starts.sort_unstable();
        let (mut distinct, mut last_end) = (0, i64::MIN);
        for start in starts {
            let end = start.saturating_add(self.bytes as i64);
            distinct += end.saturating_sub(start.max(last_end)).max(0) as u64;
            last_end = last_end.max(end);
        }
        distinct
    }
}

/// Returns the set of the lanes that provide the addresses of the rows of one, two or four matrices.
fn row_lanes(facts: &Facts<'_>) -> u32 {
    if facts.has_modifier(Modifier::X1) {
        0xff
    } else if facts.has_modifier(Modifier::X2) {
        0xffff
    } else {
        u32::MAX
    }
}

/// Returns a help text with its assumptions.
pub(crate) fn with_assumptions(help: &str, lanes: &Lanes) -> String {
    if lanes.assumes_one_dimension {
        let count = lanes.existing;
        format!(
            "{help}; this assumes at least {count} threads in dimension x, because the CTA size is not specified with `.reqntid`"
        )
    } else {
        help.into()
    }
}
