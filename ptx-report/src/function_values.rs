//! Static facts about the values of a function: affine forms, trip counts, and access patterns of lanes.

use ptx_analysis::function_analysis::FunctionAnalysis;
use ptx_analysis::graph::LoopId;
use ptx_analysis::memory_access::{Access, Accesses, Pattern, Request};
use ptx_analysis::provenance::{FunctionProvenance, Pointer};
use ptx_analysis::reg_lanes::VariableId;
use ptx_analysis::ssa::Ssa;
use ptx_analysis::values::{Affine, AffineSymbol, Values};
use ptx_ir::StmtId;
use ptx_ir::facts::{FunctionFacts, Space};
use ptx_isa::StateSpace;
use serde::Serialize;

use crate::affine_text::AffineText;
use crate::labels::Labeled;
use crate::register_names::RegisterNames;

/// The values and the memory accesses of a function.
#[derive(Copy, Clone, Debug)]
pub struct FunctionValues<'a> {
    facts: FunctionFacts<'a>,
    ssa: &'a Ssa,
    values: &'a Values,
    provenance: &'a FunctionProvenance,
    accesses: &'a Accesses,
}

/// The trip count of a loop.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct TripCount {
    /// The number of executions of the header each time the loop is entered, if it is constant (see `assumes_no_wrap`).
    pub count: Option<u64>,
    /// The trip count as a formula: `10`, `max(1, n/32)`, or `1 + max(0, (n - %tid.x)/256)`.
    pub form: String,
    /// Whether the loop has no other exit; otherwise the trip count is an upper bound.
    pub exact: bool,
    /// Whether it assumes that a value does not wrap around before it reaches its bound.
    pub assumes_no_wrap: bool,
}

/// The access pattern of the lanes of a warp.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Coalescing {
    /// The pattern of the addresses.
    pub pattern: Labeled<Pattern>,
    /// The stride in bytes from each lane to the next, if it is constant.
    pub stride: Option<i64>,
    /// The number of 32-byte sectors, for global memory and unknown state spaces. If it depends on the address, the least number.
    pub sectors: Option<u64>,
    /// The greatest number of sectors, if it differs from `sectors`: the position of the address in a sector is not known.
    pub most_sectors: Option<u64>,
    /// The rows of the lanes, if the pattern is `rows`.
    pub rows: Option<RowPattern>,
    /// The number of passes over shared memory.
    pub passes: Option<u64>,
    /// The number of passes over shared memory, divided by the number without bank conflicts.
    pub degree: Option<u64>,
    /// The number of lanes that access memory, if it is known that they are fewer than the lanes of a warp.
    pub active_lanes: Option<u32>,
    /// The assumptions on which the pattern depends.
    pub assumes: Vec<Assumption>,
    /// The maximum number of lanes of a warp that exist.
    #[serde(skip)]
    lanes: u32,
}

/// How the lanes of a warp are in rows: all distances within a row are known, and those between rows are not.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct RowPattern {
    /// The number of rows.
    pub count: usize,
    /// The bytes from the start to the end of a row.
    pub bytes: u64,
    /// How far neighboring rows are apart in bytes, if that is a multiple of a number that is the same in all lanes: `4*n`.
    pub distance: Option<String>,
    /// The condition under which rows are far enough apart that each needs sectors that no other row needs: `n >= 8`.
    pub condition: Option<String>,
    /// The greatest degree of bank conflicts for any distance of the rows.
    pub most_degree: Option<u64>,
}

impl RowPattern {
    fn of(request: &Request, is_shared: bool) -> Option<Self> {
        if request.pattern != Pattern::Rows {
            return None;
        }
        let bytes = request.row_bytes();
        Some(Self {
            count: request.row_count(),
            bytes,
            distance: None,
            condition: None,
            most_degree: is_shared.then(|| request.degree()),
        })
    }
}

/// An assumption of an access pattern.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Assumption {
    /// The size of CTAs in dimension x is a multiple of 32: warps are parts of rows.
    OneDimension,
    /// No narrow sum wraps around before it is widened.
    NoWrap,
    /// Pointers that kernels get as parameters are aligned to 256 bytes, like allocations.
    AlignedPointers,
    /// Where the indices of threads are divided by a number, the lanes of a warp have the same quotient.
    SameQuotient,
}

impl Assumption {
    /// `one_dimension`, `no_wrap`, `aligned_pointers` or `same_quotient`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::OneDimension => "one_dimension",
            Self::NoWrap => "no_wrap",
            Self::AlignedPointers => "aligned_pointers",
            Self::SameQuotient => "same_quotient",
        }
    }
}

impl Coalescing {
    /// The pattern of an access; `None` if it is unknown.
    #[must_use]
    pub fn of(access: &Access) -> Option<Self> {
        let Some(request) = access.request else {
            return access.is_tile.then(Self::tile);
        };
        let space = match access.space {
            Space::State(space) => Some(space.base()),
            _ => None,
        };
        let is_global = matches!(space, None | Some(StateSpace::Global | StateSpace::Const));
        let is_shared = space == Some(StateSpace::Shared);
        let assumptions = [
            (request.assumptions.one_dimension, Assumption::OneDimension),
            (request.assumptions.no_wrap, Assumption::NoWrap),
            (
                is_global && request.assumptions.aligned_pointers,
                Assumption::AlignedPointers,
            ),
            (request.assumptions.same_quotient, Assumption::SameQuotient),
        ];
        let sectors = is_global.then(|| request.sectors());
        let most_sectors = is_global.then(|| request.sector_range().most);
        let has_rows = request.pattern == Pattern::Rows;
        let passes = (is_shared && !has_rows).then(|| request.passes());
        let existing = request.lanes;
        let lanes = match request.active_lanes() {
            [] => existing,
            [usual, ..] => usual.count_ones().min(existing),
        };
        Some(Self {
            pattern: Labeled(request.pattern),
            stride: (!has_rows && request.pattern != Pattern::Scattered)
                .then_some(request.offsets[1]),
            sectors,
            most_sectors: most_sectors.filter(|most| Some(*most) > sectors),
            rows: RowPattern::of(&request, is_shared),
            passes: passes.map(|passes| passes.all),
            degree: passes.map(|passes| passes.all.div_ceil(passes.least.max(1))),
            active_lanes: (lanes < 32).then_some(lanes),
            assumes: assumptions
                .into_iter()
                .filter_map(|(is_assumed, assumption)| is_assumed.then_some(assumption))
                .collect(),
            lanes,
        })
    }

    /// The pattern of an access to tiles of matrices.
    const fn tile() -> Self {
        Self {
            pattern: Labeled(Pattern::Tile),
            stride: None,
            sectors: None,
            most_sectors: None,
            rows: None,
            passes: None,
            degree: None,
            active_lanes: None,
            assumes: Vec::new(),
            lanes: 0,
        }
    }

    /// The pattern of an access, with the distance of its rows as text.
    #[must_use]
    pub fn with_text(access: &Access, text: &AffineText<'_>) -> Option<Self> {
        let mut coalescing = Self::of(access)?;
        if let Some(rows) = &mut coalescing.rows
            && let Some(stride) = access.request.and_then(|request| request.stride())
        {
            let factor = i64::try_from(stride.least_factor).ok()?;
            let distance = Affine::symbol(stride.symbol).multiple(factor, 64);
            rows.distance = distance.map(|distance| text.form(&distance));
            if coalescing.sectors.is_some() {
                let least = rows
                    .bytes
                    .next_multiple_of(32)
                    .div_ceil(stride.least_factor);
                let symbol = text.form(&Affine::symbol(stride.symbol));
                rows.condition = Some(format!("{symbol} >= {least}"));
            }
        }
        Some(coalescing)
    }

    /// The minimum number of sectors for a number of bytes per lane: that of contiguous accesses.
    #[must_use]
    pub fn least_sectors(&self, bytes: u64) -> Option<u64> {
        let lanes = if *self.pattern == Pattern::Uniform {
            1
        } else {
            u64::from(self.lanes)
        };
        let least = bytes.saturating_mul(lanes).div_ceil(32);
        self.sectors.map(|_| least)
    }
}

impl<'a> FunctionValues<'a> {
    /// The values of a function; `None` if it has too many phis.
    #[must_use]
    pub fn new(function: &'a FunctionAnalysis<'_>) -> Option<Self> {
        Some(Self {
            facts: function.facts(),
            ssa: function.ssa().ok()?,
            values: function.values().ok()?,
            provenance: function.provenance().ok()?,
            accesses: function.accesses().ok()?,
        })
    }

    /// The SSA form.
    #[must_use]
    pub const fn ssa(&self) -> &'a Ssa {
        self.ssa
    }

    /// The values.
    #[must_use]
    pub const fn values(&self) -> &'a Values {
        self.values
    }

    /// The memory accesses.
    #[must_use]
    pub const fn accesses(&self) -> &'a Accesses {
        self.accesses
    }

    /// The writer of affine forms with these names of registers.
    #[must_use]
    pub fn text(&self, names: &'a RegisterNames) -> AffineText<'a> {
        let (module, body) = (self.facts.module(), self.facts.body());
        AffineText::new(module, body, self.values, self.ssa, names)
    }

    /// The trip count of a loop, if anything is known about it.
    #[must_use]
    pub fn trip_count(&self, id: LoopId, text: &AffineText<'_>) -> Option<TripCount> {
        let count = self.values.trip_count(id)?;
        Some(TripCount {
            count: count.most_without_wrap(),
            form: text.trip_count(count),
            exact: count.is_exact,
            assumes_no_wrap: count.assumes_no_wrap(),
        })
    }

    /// The registers that a statement writes, with the affine forms of their values. Values that are only a symbol for themselves are omitted.
    pub fn forms(self, stmt: StmtId) -> impl Iterator<Item = (VariableId, Affine)> + 'a {
        self.ssa.defs(stmt).filter_map(move |def| {
            let form = self.values.affine(def);
            let symbol = form.as_symbol().and_then(|s| self.values.symbol(s));
            let is_opaque =
                matches!(symbol, Some(AffineSymbol::Value { value, .. }) if value == def);
            let variable = self.ssa.variable(def).filter(|_| !is_opaque)?;
            Some((variable, form))
        })
    }

    /// The registers that a statement writes and that are addresses.
    pub fn pointers(self, stmt: StmtId) -> impl Iterator<Item = (VariableId, Pointer)> + 'a {
        self.ssa.defs(stmt).filter_map(move |def| {
            let pointer = self.provenance.pointer(def)?;
            Some((self.ssa.variable(def)?, pointer))
        })
    }

    /// The first memory access of a statement that is not to parameters.
    #[must_use]
    pub fn access(&self, stmt: StmtId) -> Option<&'a Access> {
        self.accesses
            .of_statement(stmt)
            .iter()
            .find(|access| !is_param(access))
    }
}

/// Whether an access is to parameters.
#[must_use]
pub fn is_param(access: &Access) -> bool {
    matches!(access.space, Space::State(space) if space.base() == StateSpace::Param)
}
