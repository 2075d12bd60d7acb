//! `uncoalesced`: accesses to global memory for which a warp needs more sectors than its bytes fill.

use alloc::vec::Vec;

use ptx_analysis::asynchrony::Certainty;
use ptx_analysis::memory_access::requests::existing_lanes;
use ptx_analysis::memory_access::{Access, Request};
use ptx_analysis::uniformity::Uniformity;
use ptx_analysis::values::{Affine, AffineSymbol, AffineSymbolId, Values};
use ptx_ir::Operand;
use ptx_ir::facts::Space;
use ptx_isa::{SpecialReg, StateSpace};

use super::performance::{self, Lanes, SECTOR};
use crate::addresses::is_likely_uniform;
use crate::context::FunctionContext;
use crate::{Finding, Lint};

pub(crate) fn check(cx: &FunctionContext<'_>, findings: &mut Vec<Finding>) {
    // Debug code is not optimized for speed.
    if cx.is_for_debugger() {
        return;
    }
    let Some(accesses) = cx.accesses() else {
        return;
    };
    let global_accesses: Vec<&Access> = accesses
        .all()
        .iter()
        .filter(|access| is_global(access) && performance::is_of_lanes(cx, access))
        .collect();
    if global_accesses.is_empty() {
        return;
    }
    let members = StructureMembers::new(&global_accesses);
    let mut last_reported = None;
    for access in &global_accesses {
        if last_reported == Some(access.stmt) {
            continue;
        }
        let finding = match (access.request, Lanes::new(access)) {
            (_, Some(lanes)) => {
                finding(cx, access, &lanes).filter(|_| !members.use_all_bytes(access, &lanes))
            }
            (Some(request), None) if !may_waste_sectors(&request) => None,
            _ => unknown_stride_finding(cx, access),
        };
        if let Some(finding) = finding {
            last_reported = Some(access.stmt);
            findings.push(finding);
        }
    }
}

/// Returns `true` if a request with unknown distances between rows of lanes needs more sectors than its bytes fill, unless rows share sectors.
fn may_waste_sectors(request: &Request) -> bool {
    let usual = request.active_lanes().first().copied();
    let lanes = usual.unwrap_or(u32::MAX) & existing_lanes(request.lanes);
    let bytes = request.bytes.saturating_mul(lanes.count_ones().into());
    !request.assumptions.same_quotient && request.sectors() > bytes.div_ceil(SECTOR)
}

/// The size in bytes of the longest structure whose members are searched, and the maximum number of accesses to them.
const MOST_BYTES: i64 = 256;
const MOST_MEMBERS: usize = 128;

/// Accesses with the same symbols in their addresses. They are accesses to the members of structures, and may use different parts of the same sectors.
struct StructureMembers<'a> {
    /// The accesses in the order of their keys.
    accesses: Vec<(MemberKey, &'a Access)>,
}

/// The variable part of an address.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct MemberKey {
    writes: bool,
    /// The symbols of the address with their factors.
    terms: Vec<(u32, i64)>,
}

impl MemberKey {
    /// Returns `None` if the address is unknown.
    fn new(access: &Access) -> Option<Self> {
        let terms = access.address.as_ref()?.terms().iter();
        Some(Self {
            writes: access.access.writes(),
            terms: terms
                .map(|term| (term.symbol.as_u32(), term.factor))
                .collect(),
        })
    }
}

impl<'a> StructureMembers<'a> {
    fn new(accesses: &[&'a Access]) -> Self {
        let mut accesses: Vec<(MemberKey, &Access)> = accesses
            .iter()
            .filter_map(|access| Some((MemberKey::new(access)?, *access)))
            .collect();
        accesses.sort_by(|(a, _), (b, _)| a.cmp(b));
        Self { accesses }
    }

    /// Returns `true` if the accesses to the structure of an access use all of its bytes.
    fn use_all_bytes(&self, access: &Access, lanes: &Lanes) -> bool {
        let (Some(key), Some(stride @ (2..=MOST_BYTES))) = (MemberKey::new(access), lanes.stride())
        else {
            return false;
        };
        let first = self.accesses.partition_point(|(other, _)| *other < key);
        let members = self
            .accesses
            .iter()
            .skip(first)
            .take(MOST_MEMBERS)
            .take_while(|(other, _)| *other == key);
        let mut is_used = vec![false; stride as usize];
        for (_, member) in members {
            let start = member.address.map_or(0, |address| address.constant());
            for byte in 0..member.access.bytes.unwrap_or(0) as i64 {
                let offset = start.wrapping_add(byte).rem_euclid(stride);
                if let Some(slot) = is_used.get_mut(offset as usize) {
                    *slot = true;
                }
            }
        }
        is_used.iter().all(|is_used| *is_used)
    }
}

/// Returns the finding about an access whose distance between lanes depends on a parameter, on the size of a CTA or grid, or on another number that is
/// the same for all lanes.
fn unknown_stride_finding(cx: &FunctionContext<'_>, access: &Access) -> Option<Finding> {
    let (address, values) = (access.address?, cx.values()?);
    if !values.is_kernel() {
        return None;
    }
    let (address, _) = values.without_wrap(&address, 64);
    let strides = Strides { cx, values };
    match strides.of_form(&address, MAX_EXPANSIONS)? {
        Stride::Unknown(factor) => {
            let number = performance::number_text(cx, values, factor);
            Some(unknown_distance_finding(cx, access, &number))
        }
        Stride::Zero | Stride::Known => None,
    }
}

/// The number of nested values whose sums are examined: extended products of extended sums.
const MAX_EXPANSIONS: u32 = 4;

/// The difference between the values of neighboring lanes.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Stride {
    /// The lanes of a warp have the same value.
    Zero,
    /// A constant.
    Known,
    /// A multiple of this symbol, which all lanes of a warp have in common.
    Unknown(AffineSymbolId),
}

/// The strides of the values of a kernel. Warps are assumed to be rows of their CTAs.
#[derive(Copy, Clone)]
struct Strides<'c, 'm> {
    cx: &'c FunctionContext<'m>,
    values: &'c Values,
}

impl Strides<'_, '_> {
    /// The stride of a sum; `None` if it is not known to be one of [`Stride`], or has several parts. Follows at most `expansions` nested values.
    fn of_form(self, form: &Affine, expansions: u32) -> Option<Stride> {
        let mut sum = Stride::Zero;
        for term in form.terms() {
            match (sum, self.of_symbol(term.symbol, expansions)?) {
                (_, Stride::Zero) => {}
                (Stride::Zero, stride) => sum = stride,
                (Stride::Known, Stride::Known) => {}
                // The parts may cancel each other out, or be the digits of an index.
                _ => return None,
            }
        }
        Some(sum)
    }

    fn of_symbol(self, symbol: AffineSymbolId, expansions: u32) -> Option<Stride> {
        match self.values.symbol(symbol)? {
            AffineSymbol::Special(SpecialReg::Tid, 0) => Some(Stride::Known),
            AffineSymbol::Special(SpecialReg::Tid, _) => Some(Stride::Zero),
            AffineSymbol::Special(register, _) => {
                (register.uniformity() <= Uniformity::Warp).then_some(Stride::Zero)
            }
            AffineSymbol::Product(..) => self.of_product(symbol, expansions),
            AffineSymbol::Value { value, .. } if is_likely_uniform(self.cx, value) => {
                Some(Stride::Zero)
            }
            AffineSymbol::Value { .. } => {
                let value = Affine::symbol(symbol);
                let (sum, is_expanded) = self.values.without_wrap(&value, 64);
                if is_expanded {
                    self.of_form(&sum, expansions.checked_sub(1)?)
                } else {
                    None
                }
            }
            _ => Some(Stride::Zero),
        }
    }

    /// The stride of a product of one index and numbers that the lanes have in common.
    fn of_product(self, product: AffineSymbolId, expansions: u32) -> Option<Stride> {
        let mut varying = None;
        let mut number = None;
        for factor in self.values.factors(product) {
            match self.of_symbol(factor, expansions)? {
                Stride::Zero => number = Some(factor),
                stride if varying.is_none() => varying = Some(stride),
                _ => return None,
            }
        }
        match (varying, number) {
            (None, _) => Some(Stride::Zero),
            // The iteration of a loop is 0 or 1 in parts of the run.
            (_, Some(number)) if self.is_counter(number) => None,
            (Some(Stride::Known), Some(number)) => Some(Stride::Unknown(number)),
            (Some(stride), _) => Some(stride),
        }
    }

    fn is_counter(self, symbol: AffineSymbolId) -> bool {
        matches!(self.values.symbol(symbol), Some(AffineSymbol::Counter(_)))
    }
}

/// Returns the finding about an access whose distance between lanes depends on a number that is not known.
fn unknown_distance_finding(cx: &FunctionContext<'_>, access: &Access, number: &str) -> Finding {
    let message = format!(
        "this access may be uncoalesced: the distance between the addresses of the lanes depends on {number}"
    );
    let help = "let consecutive threads access consecutive elements, or load tiles into shared memory first";
    cx.finding(Lint::Uncoalesced, Certainty::Possible, access.stmt, message)
        .with_help(help)
}

fn is_global(access: &Access) -> bool {
    matches!(access.space, Space::State(space) if space.base() == StateSpace::Global)
}

fn finding(cx: &FunctionContext<'_>, access: &Access, lanes: &Lanes) -> Option<Finding> {
    let least_sectors = lanes.distinct_bytes().div_ceil(SECTOR);
    let stride = lanes.stride();
    // Vectors of half a structure use half of each sector.
    let is_vector = matches!(access.access.data, Some((Operand::Vector(_), _)));
    let is_half = stride.and_then(|stride| u64::try_from(stride).ok()) == Some(2 * lanes.bytes());
    if is_vector && is_half {
        return None;
    }
    // Where lanes share addresses, no more sectors than separate elements fill are acceptable.
    let sectors = lanes.sectors_above(least_sectors.max(lanes.separate_sectors()))?;
    let reason = match stride {
        Some(stride) => format!("the addresses of the lanes are {stride} bytes apart"),
        None => "the addresses of the lanes are scattered".into(),
    };
    let message = format!(
        "uncoalesced access: {reason}, so a warp needs {sectors} sectors of {SECTOR} bytes instead of {least_sectors}"
    );
    let finding = cx.finding(Lint::Uncoalesced, Certainty::Definite, access.stmt, message);
    let help = match stride {
        Some(_) => {
            "let consecutive threads access consecutive elements, or load tiles into shared memory first"
        }
        None => "let the threads of a warp access the elements of a single row",
    };
    Some(finding.with_help(performance::with_assumptions(help, lanes)))
}
