//! `uncoalesced`: accesses to global memory for which a warp needs more sectors than its bytes fill.

use alloc::vec::Vec;

use ptx_analysis::asynchrony::Certainty;
use ptx_analysis::memory_access::Access;
use ptx_analysis::uniformity::Uniformity;
use ptx_analysis::values::Symbol;
use ptx_ir::Operand;
use ptx_ir::facts::Space;
use ptx_isa::{SpecialReg, StateSpace};

use super::performance::{self, Lanes, SECTOR};
use crate::context::FunctionContext;
use crate::{Finding, Lint};

pub(crate) fn check(cx: &FunctionContext<'_>, found: &mut Vec<Finding>) {
    // Debug code is not optimized for speed.
    if cx.is_for_debugger() {
        return;
    }
    let Some(accesses) = cx.accesses() else {
        return;
    };
    let is_relevant = |a: &&Access| is_global(a) && performance::is_of_lanes(cx, a);
    let all: Vec<&Access> = accesses.all().iter().filter(is_relevant).collect();
    if all.is_empty() {
        return;
    }
    let Some((mut threads, sets)) = cx.threads() else {
        return;
    };
    let mut rows = Rows::new(&all);
    let mut last = None;
    for access in &all {
        if last == Some(access.stmt) {
            continue;
        }
        let lanes = Lanes::of(cx, (&mut threads, sets), access);
        let found_here = match &lanes {
            Some(lanes) => finding(cx, access, lanes).filter(|_| !rows.are_used(access, lanes)),
            None => of_parameter(cx, access),
        };
        if let Some(finding) = found_here {
            last = Some(access.stmt);
            found.push(finding);
        }
    }
}

/// The accesses with the same symbols in their addresses, in the order of these: members of structures, whose sectors others use.
struct Rows<'a> {
    all: Vec<(Key, &'a Access)>,
}

/// Whether it writes, and the symbols of the address with their factors.
type Key = (bool, Vec<(u32, i64)>);

fn key(access: &Access) -> Option<Key> {
    let terms = access.address.as_ref()?.terms().iter();
    let terms = terms.map(|t| (t.symbol.as_u32(), t.factor));
    Some((access.access.writes(), terms.collect()))
}

impl<'a> Rows<'a> {
    fn new(all: &[&'a Access]) -> Self {
        let mut all: Vec<(Key, &Access)> = all.iter().filter_map(|a| Some((key(a)?, *a))).collect();
        all.sort_by(|a, b| a.0.cmp(&b.0));
        Self { all }
    }

    /// Whether accesses to the same structures use all of their bytes.
    fn are_used(&mut self, access: &Access, lanes: &Lanes) -> bool {
        let (Some(key), Some(stride @ (2..=MOST_BYTES))) = (key(access), lanes.stride()) else {
            return false;
        };
        let first = self.all.partition_point(|(k, _)| *k < key);
        let members = self.all.iter().skip(first).take(MOST_MEMBERS);
        let members = members.take_while(|(k, _)| *k == key);
        let mut used = vec![false; stride as usize];
        for (_, member) in members {
            let start = member.address.map_or(0, |a| a.constant());
            for byte in 0..member.access.bytes.unwrap_or(0) as i64 {
                let at = start.wrapping_add(byte).rem_euclid(stride);
                if let Some(slot) = used.get_mut(at as usize) {
                    *slot = true;
                }
            }
        }
        used.iter().all(|used| *used)
    }
}

/// The bytes of the longest structure whose members are looked for, and how many accesses to them.
const MOST_BYTES: i64 = 256;
const MOST_MEMBERS: usize = 128;

/// An access whose distance between lanes depends on a parameter, or on the size of a CTA or grid.
fn of_parameter(cx: &FunctionContext<'_>, access: &Access) -> Option<Finding> {
    let (form, values) = (access.address?, cx.values()?);
    if !values.is_kernel() {
        return None;
    }
    let (form, _) = values.without_wrap(&form, 64);
    let is_index = |s| matches!(values.symbol(s), Some(Symbol::Special(SpecialReg::Tid, 0)));
    let is_size = |s| match values.symbol(s) {
        Some(Symbol::Parameter { .. }) => true,
        Some(Symbol::Special(register, _)) => register.uniformity() <= Uniformity::Cta,
        _ => false,
    };
    let mut strides = 0;
    for term in form.terms() {
        match values.symbol(term.symbol)? {
            Symbol::Product(a, b) if is_index(a) && is_size(b) || is_size(a) && is_index(b) => {
                strides += 1;
            }
            // The distance between lanes also depends on another value.
            Symbol::Value { .. } => return None,
            Symbol::Product(a, b) if !is_size(a) || !is_size(b) => return None,
            _ if is_index(term.symbol) => return None,
            _ => {}
        }
    }
    if strides != 1 {
        return None;
    }
    let message = "this access may be uncoalesced: the distance between the addresses of the lanes depends on a launch parameter";
    let help = "let consecutive threads access consecutive elements, or load tiles into shared memory first";
    let finding = cx.finding(Lint::Uncoalesced, Certainty::Possible, access.stmt, message);
    Some(finding.with_help(help))
}

fn is_global(access: &Access) -> bool {
    matches!(access.space, Space::State(space) if space.base() == StateSpace::Global)
}

fn finding(cx: &FunctionContext<'_>, access: &Access, lanes: &Lanes) -> Option<Finding> {
    let least = lanes.distinct().div_ceil(SECTOR);
    let stride = lanes.stride();
    // Vectors of half a structure use half of each sector.
    let is_vector = matches!(access.access.data, Some((Operand::Vector(_), _)));
    let is_half = stride.and_then(|s| u64::try_from(s).ok()) == Some(2 * lanes.bytes);
    if is_vector && is_half {
        return None;
    }
    let sectors = lanes.sectors();
    if sectors <= least {
        return None;
    }
    let how = match stride {
        Some(stride) => format!("the addresses of the lanes are {stride} bytes apart"),
        None => "the addresses of the lanes are scattered".into(),
    };
    let message = format!(
        "uncoalesced access: {how}, so a warp needs {sectors} sectors of {SECTOR} bytes instead of {least}"
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
