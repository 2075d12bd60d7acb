//! Vectorization: adjacent accesses of proven alignment become one access of a vector.
//!
//! Loads are moved up to the first of them, stores down to the last. Nothing between may change the memory ([`Accesses::adjacent`](ptx_analysis::memory_access::Accesses::adjacent)), and nothing
//! between may read or write the registers that are moved. Accesses that several threads may see in some order are left alone, and those with guards.

use alloc::vec::Vec;

use ptx_analysis::memory_access::{Access, Adjacent};
use ptx_ir::facts::RegAccess;
use ptx_ir::{Operand, RegId, Statement, StmtId};

use super::definition::Definition;
use super::function_view::View;
use super::rewrite::{Rewrite, Step};

pub(super) const DEFINITION: Definition = Definition {
    name: "vectorise",
    term: "vectorization",
    summary: "Combine adjacent accesses of proven alignment into vector accesses",
    plan,
    finish: None,
};

/// The most elements of a vector that all targets have.
const MOST: usize = 4;

pub(super) fn plan(view: &View<'_>) -> Vec<Step> {
    let Ok(accesses) = view.function.accesses() else {
        return Vec::new();
    };
    let mut steps = Vec::new();
    // Statements up to this one belong to a vector. Others wait for the next round.
    let mut taken: Option<StmtId> = None;
    let mut all: Vec<(StmtId, StmtId, Step)> = Vec::new();
    for adjacent in accesses.adjacent() {
        let parts = adjacent.accesses.iter().map(|at| accesses.all().get(*at));
        let parts: Option<Vec<&Access>> = parts.collect();
        all.extend(parts.and_then(|parts| join(view, adjacent, &parts)));
    }
    all.sort_by(|a, b| match view.precedes(a.0, b.0) {
        true => core::cmp::Ordering::Less,
        false if a.0 == b.0 => core::cmp::Ordering::Equal,
        false => core::cmp::Ordering::Greater,
    });
    for (first, last, step) in all {
        if taken.is_none_or(|end| view.precedes(end, first)) {
            taken = Some(last);
            steps.push(step);
        }
    }
    steps
}

/// The first and the last statement of a vector, and the change.
fn join(view: &View<'_>, adjacent: &Adjacent, parts: &[&Access]) -> Option<(StmtId, StmtId, Step)> {
    let lowest = parts.first()?;
    let mut order: Vec<StmtId> = parts.iter().map(|a| a.stmt).collect();
    order.sort_by_key(|stmt| view.position(*stmt));
    let (first, last) = (*order.first()?, *order.last()?);
    let writes = lowest.access.writes();
    let signature = |a: &Access| view.body().inst(a.inst).map(|i| i.sig);
    let is_guarded = |a: &Access| view.facts.inst(a.inst).guard().is_some();
    if (parts.iter()).any(|a| signature(a) != signature(lowest) || is_guarded(a)) {
        return None;
    }
    let mut data = Vec::new();
    for part in parts {
        data.extend(elements(view, part)?);
    }
    if data.len() > MOST || !is_movable(view, (first, last), parts, writes) {
        return None;
    }
    let target = if writes { last } else { first };
    let base = register(lowest.access.base);
    if base.is_some_and(|base| is_mentioned(view, base, (lowest.stmt, target), true)) {
        return None;
    }
    let mut results = data.clone();
    results.sort_unstable();
    results.dedup();
    if !writes && results.len() != data.len() {
        return None;
    }
    let operands = view.body().operands(lowest.inst);
    let at = operands
        .iter()
        .position(|o| Some(*o) == lowest.access.operand)?;
    let place = operands
        .iter()
        .position(|o| lowest.access.data.is_some_and(|(d, _)| d == *o))?;
    let what = if writes { "stores" } else { "loads" };
    let why = format!(
        "{} {what} of adjacent memory are aligned to {} bytes",
        parts.len(),
        adjacent.bytes
    );
    let act = Rewrite::Vector {
        others: order.into_iter().filter(|s| *s != target).collect(),
        data: (place, data.into_iter().map(Operand::Reg).collect()),
        address: (at, *operands.get(at)?),
    };
    Some((
        first,
        last,
        Step {
            stmt: target,
            act,
            why,
        },
    ))
}

/// The registers that an access loads or stores.
fn elements(view: &View<'_>, access: &Access) -> Option<Vec<RegId>> {
    let (data, _) = access.access.data?;
    let list = match data {
        Operand::Vector(list) => view.body().pool().list(list),
        Operand::Reg(register) => return Some(vec![register]),
        _ => return None,
    };
    list.iter().map(|o| register(Some(*o))).collect()
}

fn register(operand: Option<Operand>) -> Option<RegId> {
    match operand? {
        Operand::Reg(register) => Some(register),
        _ => None,
    }
}

/// Whether nothing between reads or writes what is moved.
fn is_movable(
    view: &View<'_>,
    (first, last): (StmtId, StmtId),
    parts: &[&Access],
    writes: bool,
) -> bool {
    parts.iter().all(|part| {
        let Some(registers) = elements(view, part) else {
            return false;
        };
        let range = if writes {
            (part.stmt, last)
        } else {
            (first, part.stmt)
        };
        // What is stored later may be read before that; what is loaded earlier may not.
        let own = registers
            .iter()
            .any(|r| is_mentioned(view, *r, range, writes));
        let base = register(part.access.base);
        let overwrites = |r: &RegId| !writes && Some(*r) == base;
        !own && !registers.iter().any(overwrites)
    })
}

/// Whether a statement between two, in any order, writes a register, or mentions it. The first of the two counts unless it only reads it, and the
/// last does not.
fn is_mentioned(
    view: &View<'_>,
    register: RegId,
    (from, to): (StmtId, StmtId),
    only_writes: bool,
) -> bool {
    let (from, to) = match view.precedes(to, from) {
        true => (to, from),
        false => (from, to),
    };
    let mut between = view.body().range(from, to);
    between.any(|(stmt, statement)| match statement {
        Statement::Inst(inst) => {
            let facts = view.facts.inst(inst);
            let mut mentions = facts.registers();
            stmt != to
                && mentions.any(|m| {
                    m.place.register == register && (!only_writes || m.usage != RegAccess::Read)
                })
        }
        Statement::Opaque(_) => true,
        _ => false,
    })
}
