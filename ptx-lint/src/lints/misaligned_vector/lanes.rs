//! The addresses of the lanes of a warp that reach an access, from affine forms or from the values of sample threads.

use ptx_analysis::memory_access::Access;
use ptx_analysis::memory_access::requests::{LANES, existing_lanes};
use ptx_analysis::threads::ThreadValues;
use ptx_ir::EntityId as _;
use ptx_ir::facts::Facts;
use ptx_isa::Modifier;

use crate::addresses::Parts;
use crate::context::FunctionContext;
use crate::lints::performance;

/// The addresses of the lanes of a warp.
#[derive(Clone, Debug)]
pub(super) struct Lanes {
    /// The offset of each lane from a common address.
    offsets: [i64; LANES],
    /// The set of the lanes that access memory.
    mask: u32,
    /// The offsets are those of CTAs of a likely size, and differ for other sizes that the kernel allows.
    pub(super) depends_on_size: bool,
}

impl Lanes {
    /// Returns the lanes of the first or second warp that reach an access; `None` if their addresses are unknown. `sets` are the sample threads that
    /// reach each block.
    pub(super) fn new(
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
        if performance::is_of_rows(cx, access) {
            mask &= row_lanes(&facts);
        }
        let is_required = threads.shape().is_required;
        let request = access.request.filter(|request| request.is_affine());
        let (offsets, depends_on_size) = match request {
            Some(request) => (request.offsets, false),
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
                (offsets, depends_on_size)
            }
        };
        Some(Self {
            offsets,
            mask,
            depends_on_size,
        })
    }

    /// Returns the differences of the addresses of the lanes from that of the first lane.
    pub(super) fn differences(&self) -> impl Iterator<Item = i64> + '_ {
        let mut active = (0..LANES).filter(|lane| self.mask >> lane & 1 == 1);
        let first = active.next().map_or(0, |lane| self.offsets[lane]);
        (0..LANES)
            .filter(|lane| self.mask >> lane & 1 == 1)
            .map(move |lane| self.offsets[lane].wrapping_sub(first))
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
