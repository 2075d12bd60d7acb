//! Code that the lints about the performance of accesses share.

use alloc::string::String;
use alloc::vec::Vec;

use ptx_analysis::memory_access::Access;
use ptx_analysis::memory_access::requests::{LANES, Passes, passes, sectors};
use ptx_analysis::threads::ThreadValues;
use ptx_ir::EntityId as _;
use ptx_ir::facts::Facts;
use ptx_isa::{Action, Modifier, Proxy};

use crate::addresses::Parts;
use crate::context::FunctionContext;

/// The size of the longest vector in bytes.
const LONGEST: u64 = 32;
/// Bytes of a sector of global memory.
pub(crate) const SECTOR: u64 = 32;
/// Bytes of a row of a matrix.
pub(crate) const ROW: u64 = 16;

/// Whether each lane of a warp accesses memory at its own address, unlike bulk operations of one thread and matrix operations.
pub(crate) fn is_of_lanes(cx: &FunctionContext<'_>, access: &Access) -> bool {
    let facts = cx.facts().inst(access.inst);
    let known = access.access.bytes.is_some_and(|n| n > 0 && n <= LONGEST);
    let one_thread = facts.is_one_thread() || facts.is_uniform() || facts.is_matrix_move();
    let proxy = matches!(access.access.proxy, Proxy::Generic | Proxy::ReadOnly);
    known && proxy && !one_thread && !access.access.is_mbarrier && !facts.is_multimem()
}

/// Whether each lane provides the address of a matrix row.
pub(crate) fn is_of_rows(cx: &FunctionContext<'_>, access: &Access) -> bool {
    let action = cx.facts().inst(access.inst).action();
    matches!(action, Some(Action::MatrixLoad | Action::MatrixStore))
}

/// The memory request of the lanes of a warp.
#[derive(Clone, Debug)]
pub(crate) struct Lanes {
    /// The offset of each lane from a common address.
    pub(crate) offsets: [i64; LANES],
    /// The lanes that access memory.
    pub(crate) mask: u32,
    /// The bytes of each lane.
    pub(crate) bytes: u64,
    /// Whether the addresses are affine in the thread indices.
    pub(crate) is_affine: bool,
    /// Whether the CTA is assumed to be one-dimensional.
    pub(crate) one_dimension: bool,
}

impl Lanes {
    /// The lanes of the first or second warp that reach an access; `None` if their addresses are unknown.
    pub(crate) fn of(
        cx: &FunctionContext<'_>,
        (threads, sets): (&mut ThreadValues<'_>, &[u128]),
        access: &Access,
    ) -> Option<Self> {
        let block = cx.cfg().of_statement(access.stmt)?;
        let mut set = sets.get(block.index()).copied().unwrap_or(u128::MAX);
        let facts = cx.facts().inst(access.inst);
        if facts.guard().is_some()
            && let Some(guard) = threads.guard(access.stmt, &facts)
        {
            let samples = 0..threads.samples().len();
            let excluded = samples.filter(|s| guard.get(*s) == 0);
            set = excluded.fold(set, |set, sample| set & !(1 << sample));
        }
        let all = u32::MAX >> (LANES - threads.samples().len().min(LANES));
        let warps = [set as u32 & all, (set >> LANES) as u32];
        let warp = warps.iter().position(|mask| *mask != 0).unwrap_or(0);
        let mask = match warps[warp] {
            0 => all,
            mask => mask,
        };
        let (bytes, mask) = match is_of_rows(cx, access) {
            true => (ROW, mask & rows(&facts)),
            false => (access.access.bytes?, mask),
        };
        let shape = threads.shape();
        let (offsets, one_dimension) = match access.request {
            Some(request) => (request.offsets, request.assumptions.one_dimension),
            None => {
                let values = cx.values()?;
                let (form, _) = values.without_wrap(&access.address?, 64);
                let own = Parts::new(cx, values, threads, &form)?.own;
                let first = own.get(LANES * warp).copied()?;
                let offset = |lane| {
                    own.get(LANES * warp + lane)
                        .map_or(0, |at: &i64| at.wrapping_sub(first))
                };
                (core::array::from_fn(offset), !shape.is_required)
            }
        };
        Some(Self {
            offsets,
            mask,
            bytes,
            is_affine: access.request.is_some(),
            one_dimension,
        })
    }

    /// The numbers of the lanes that access memory.
    fn numbers(&self) -> impl Iterator<Item = usize> + '_ {
        (0..LANES).filter(|lane| self.mask >> lane & 1 == 1)
    }

    /// The stride between lanes, if it is constant.
    pub(crate) fn stride(&self) -> Option<i64> {
        let mut lanes = self.numbers();
        let (first, second) = (lanes.next()?, lanes.next()?);
        let [at, next] = [first, second].map(|lane| self.offsets[lane]);
        let count = (second - first) as i64;
        let stride = next.wrapping_sub(at) / count;
        let expected = |lane: usize| at.wrapping_add(stride.wrapping_mul((lane - first) as i64));
        self.numbers()
            .all(|lane| self.offsets[lane] == expected(lane))
            .then_some(stride)
    }

    /// The addresses in ascending order.
    fn addresses(&self) -> [u64; LANES] {
        let lowest = self
            .numbers()
            .map(|lane| self.offsets[lane])
            .min()
            .unwrap_or(0);
        self.offsets
            .map(|offset| offset.wrapping_sub(lowest) as u64)
    }

    /// The minimum number of distinct sectors of global memory over all positions of the lowest address in its sector.
    pub(crate) fn sectors(&self) -> u64 {
        let addresses = self.addresses();
        let aligned = 1 << self.bytes.trailing_zeros().min(SECTOR.trailing_zeros());
        let starts = (0..SECTOR).step_by(aligned);
        let from = |start: u64| addresses.map(|at| at.wrapping_add(start));
        let needed = starts.map(|start| sectors(&from(start), self.bytes, self.mask));
        needed.min().unwrap_or(0)
    }

    /// The number of passes over shared memory, likewise.
    pub(crate) fn passes(&self) -> Passes {
        passes(&self.addresses(), self.bytes, self.mask)
    }

    /// The offsets of the lanes from the first lane.
    pub(crate) fn differences(&self) -> impl Iterator<Item = i64> + '_ {
        let first = self.numbers().next().map_or(0, |lane| self.offsets[lane]);
        self.numbers()
            .map(move |lane| self.offsets[lane].wrapping_sub(first))
    }

    /// The number of distinct bytes.
    pub(crate) fn distinct(&self) -> u64 {
        let mut starts: Vec<i64> = self.numbers().map(|lane| self.offsets[lane]).collect();
        starts.sort_unstable();
        let (mut distinct, mut end) = (0, i64::MIN);
        for start in starts {
            let next = start.saturating_add(self.bytes as i64);
            distinct += next.saturating_sub(start.max(end)).max(0) as u64;
            end = end.max(next);
        }
        distinct
    }
}

/// The lanes that give the addresses of the rows of one, two or four matrices.
fn rows(facts: &Facts<'_>) -> u32 {
    match () {
        () if facts.has_modifier(Modifier::X1) => 0xff,
        () if facts.has_modifier(Modifier::X2) => 0xffff,
        () => u32::MAX,
    }
}

/// A help text with its assumptions.
pub(crate) fn with_assumptions(help: &str, lanes: &Lanes) -> String {
    match lanes.one_dimension {
        true => format!(
            "{help}; this assumes at least 32 threads in dimension x, because the CTA size is not specified with `.reqntid`"
        ),
        false => help.into(),
    }
}
