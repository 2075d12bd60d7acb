//! The memory requests of warps, which the lints about the performance of accesses examine.

use alloc::string::String;
use alloc::vec::Vec;

use ptx_analysis::memory_access::requests::{LANES, Passes, existing_lanes};
use ptx_analysis::memory_access::{Access, Request};
use ptx_analysis::values::{Affine, AffineSymbol, AffineSymbolId, Values};
use ptx_isa::{Action, Proxy};

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

/// The memory request of the lanes of a warp that usually execute an access. The distances between their addresses are known.
#[derive(Clone, Debug)]
pub(crate) struct Lanes {
    request: Request,
    /// The set of the lanes that access memory.
    mask: u32,
}

impl Lanes {
    /// Returns the lanes of an access; `None` if distances between them are unknown, or if it is assumed that lanes have the same quotient.
    pub(crate) fn new(access: &Access) -> Option<Self> {
        let request = access.request.filter(Request::is_exact)?.of_usual_lanes();
        let usual = request.active_lanes().first().copied();
        let mask = usual.unwrap_or(u32::MAX) & existing_lanes(request.lanes);
        Some(Self { request, mask })
    }

    /// Returns the number of bytes that each lane accesses.
    pub(crate) const fn bytes(&self) -> u64 {
        self.request.bytes
    }

    /// Returns `true` if the addresses are affine in the thread indices.
    pub(crate) const fn is_affine(&self) -> bool {
        self.request.is_affine()
    }

    /// Returns the lanes that access memory, in ascending order.
    fn active_lanes(&self) -> impl Iterator<Item = usize> + '_ {
        (0..LANES).filter(|lane| self.mask >> lane & 1 == 1)
    }

    /// Returns the offsets of the lanes that access memory, in the order of the lanes.
    fn active_offsets(&self) -> impl Iterator<Item = i64> + '_ {
        self.active_lanes().map(|lane| self.request.offsets[lane])
    }

    /// Returns the distance in bytes between the addresses of neighboring lanes, if it is constant.
    pub(crate) fn stride(&self) -> Option<i64> {
        let mut lanes = self.active_lanes();
        let (first, second) = (lanes.next()?, lanes.next()?);
        let start = self.request.offsets[first];
        let stride = self.request.offsets[second].wrapping_sub(start) / (second - first) as i64;
        self.active_lanes()
            .all(|lane| {
                let distance = stride.wrapping_mul((lane - first) as i64);
                self.request.offsets[lane] == start.wrapping_add(distance)
            })
            .then_some(stride)
    }

    /// Returns the number of distinct sectors of global memory, if it exceeds a number wherever pointers point to.
    pub(crate) fn sectors_above(&self, max_sectors: u64) -> Option<u64> {
        let least = self.request.without_aligned_pointers().sectors();
        (least > max_sectors).then(|| self.request.sectors())
    }

    /// Returns the numbers of passes over shared memory. If it depends on the address, the least.
    pub(crate) fn passes(&self) -> Passes {
        let mut passes = self.request.passes();
        passes.all = self.request.pass_range().least;
        passes
    }

    /// Returns the number of sectors that the lanes fill if each accesses its own element.
    pub(crate) fn separate_sectors(&self) -> u64 {
        let bytes = self.bytes().saturating_mul(self.mask.count_ones().into());
        bytes.div_ceil(SECTOR)
    }

    /// Returns the number of distinct bytes that the lanes access.
    pub(crate) fn distinct_bytes(&self) -> u64 {
        let mut starts: Vec<i64> = self.active_offsets().collect();
        starts.sort_unstable();
        let (mut distinct, mut last_end) = (0, i64::MIN);
        for start in starts {
            let end = start.saturating_add(self.request.bytes as i64);
            distinct += end.saturating_sub(start.max(last_end)).max(0) as u64;
            last_end = last_end.max(end);
        }
        distinct
    }
}

/// Returns a help text with its assumptions.
pub(crate) fn with_assumptions(help: &str, lanes: &Lanes) -> String {
    if lanes.request.assumptions.one_dimension {
        let count = lanes.request.lanes;
        format!(
            "{help}; this assumes at least {count} threads in dimension x, because the CTA size is not specified with `.reqntid`"
        )
    } else {
        help.into()
    }
}

/// Describes a number that all lanes have in common.
pub(crate) fn number_text(
    cx: &FunctionContext<'_>,
    values: &Values,
    symbol: AffineSymbolId,
) -> String {
    let (form, _) = values.without_wrap(&Affine::symbol(symbol), 64);
    // A multiple of a parameter is as unknown as the parameter.
    let symbol = match form.terms() {
        [term] => term.symbol,
        _ => symbol,
    };
    match values.symbol(symbol) {
        Some(AffineSymbol::Parameter { variable, .. }) => {
            let variable = cx.facts().body().vars().get(variable);
            let name = variable.map_or("", |variable| cx.module().name(variable.name));
            format!("the parameter `{name}`, which is unknown")
        }
        Some(AffineSymbol::Special(register, component)) => {
            let components: &[&str] = if register.is_vector() {
                &[".x", ".y", ".z", ".w"]
            } else {
                &[]
            };
            let component = components.get(usize::from(component)).unwrap_or(&"");
            format!("`{register}{component}`, which is unknown")
        }
        _ => String::from("a number that is unknown before the kernel runs"),
    }
}
