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
use super::rewrite::{Rewrite, Step, VectorAccess};

pub(super) const DEFINITION: Definition = Definition {
    name: "vectorize",
    term: "vectorization",
    summary: "Combine adjacent accesses of proven alignment into vector accesses",
    plan,
    finish: None,
};

/// The greatest number of elements of a vector that all targets have.
const MAX_ELEMENTS: usize = 4;

pub(super) fn plan(view: &View<'_>) -> Vec<Step> {
    let Ok(accesses) = view.function.accesses() else {
        return Vec::new();
    };
    let mut vectors: Vec<Vector> = Vec::new();
    for adjacent in accesses.adjacent() {
        let parts: Option<Vec<&Access>> = adjacent
            .accesses
            .iter()
            .map(|index| accesses.all().get(*index))
            .collect();
        vectors.extend(parts.and_then(|parts| join(view, adjacent, &parts)));
    }
    vectors.sort_by_key(|vector| view.position(vector.first));
    let mut steps = Vec::new();
    // Statements up to this one belong to a vector. Overlapping vectors wait for the next round.
    let mut end: Option<StmtId> = None;
    for vector in vectors {
        if end.is_none_or(|end| view.precedes(end, vector.first)) {
            end = Some(vector.last);
            steps.push(vector.step);
        }
    }
    steps
}

/// Accesses that become one, from the first to the last statement.
struct Vector {
    first: StmtId,
    last: StmtId,
    step: Step,
}

/// Joins adjacent accesses to one, if they can be moved to the same statement.
fn join(view: &View<'_>, adjacent: &Adjacent, parts: &[&Access]) -> Option<Vector> {
    let lowest = parts.first()?;
    let mut statements: Vec<StmtId> = parts.iter().map(|a| a.stmt).collect();
    statements.sort_by_key(|stmt| view.position(*stmt));
    let (first, last) = (*statements.first()?, *statements.last()?);
    let direction = if lowest.access.writes() {
        Direction::Store
    } else {
        Direction::Load
    };
    let signature = |access: &Access| view.body().inst(access.inst).map(|inst| inst.sig);
    for access in parts {
        let is_guarded = view.facts.inst(access.inst).guard().is_some();
        if is_guarded || signature(access) != signature(lowest) {
            return None;
        }
    }
    let mut data = Vec::new();
    for part in parts {
        data.extend(elements(view, part)?);
    }
    if data.len() > MAX_ELEMENTS || !is_movable(view, first, last, parts, direction) {
        return None;
    }
    let target = match direction {
        Direction::Load => first,
        Direction::Store => last,
    };
    let is_base_overwritten = register(lowest.access.base).is_some_and(|base| {
        mentions(view, lowest.stmt, target).any(|mention| mention.may_write(base))
    });
    if is_base_overwritten {
        return None;
    }
    let mut results = data.clone();
    results.sort_unstable();
    results.dedup();
    if direction == Direction::Load && results.len() != data.len() {
        return None;
    }
    let operands = view.body().operands(lowest.inst);
    let address_index = operands
        .iter()
        .position(|operand| Some(*operand) == lowest.access.operand)?;
    let data_index = operands
        .iter()
        .position(|operand| lowest.access.data.is_some_and(|(data, _)| data == *operand))?;
    let accesses = match direction {
        Direction::Load => "loads",
        Direction::Store => "stores",
    };
    let why = format!(
        "{} {accesses} of adjacent memory are aligned to {} bytes",
        parts.len(),
        adjacent.bytes
    );
    statements.retain(|stmt| *stmt != target);
    let access = VectorAccess {
        replaced: statements,
        data_index,
        elements: data.into_iter().map(Operand::Reg).collect(),
        address_index,
        address: *operands.get(address_index)?,
    };
    Some(Vector {
        first,
        last,
        step: Step {
            stmt: target,
            rewrite: Rewrite::Vector(access),
            why,
        },
    })
}

#[derive(Copy, Clone, PartialEq, Eq)]
enum Direction {
    Load,
    Store,
}

/// The registers that an access loads or stores.
fn elements(view: &View<'_>, access: &Access) -> Option<Vec<RegId>> {
    let (data, _) = access.access.data?;
    let list = match data {
        Operand::Vector(list) => view.body().pool().list(list),
        Operand::Reg(register) => return Some(vec![register]),
        _ => return None,
    };
    list.iter()
        .map(|operand| register(Some(*operand)))
        .collect()
}

fn register(operand: Option<Operand>) -> Option<RegId> {
    match operand? {
        Operand::Reg(register) => Some(register),
        _ => None,
    }
}

/// No statement between the accesses uses the registers that are moved: loads move up to `first`, stores down to `last`.
fn is_movable(
    view: &View<'_>,
    first: StmtId,
    last: StmtId,
    parts: &[&Access],
    direction: Direction,
) -> bool {
    parts.iter().all(|part| {
        let Some(registers) = elements(view, part) else {
            return false;
        };
        let base = register(part.access.base);
        registers.iter().all(|&register| match direction {
            // A register that is stored later may be read before that.
            Direction::Store => {
                !mentions(view, part.stmt, last).any(|mention| mention.may_write(register))
            }
            // A register that is loaded earlier may not be used before that, nor overwrite the base of a later access.
            Direction::Load => {
                Some(register) != base
                    && !mentions(view, first, part.stmt).any(|mention| mention.may_use(register))
            }
        })
    })
}

/// A use of a register between two statements.
#[derive(Copy, Clone)]
enum Mention {
    Read(RegId),
    Write(RegId),
    /// An unrecognized statement, which may use any register.
    Unknown,
}

impl Mention {
    fn may_use(self, register: RegId) -> bool {
        match self {
            Self::Read(used) | Self::Write(used) => used == register,
            Self::Unknown => true,
        }
    }

    fn may_write(self, register: RegId) -> bool {
        !matches!(self, Self::Read(_)) && self.may_use(register)
    }
}

/// The uses of registers between two statements, which may be in any order: from the first in the text, inclusive, to the second,
/// exclusive.
fn mentions(view: &View<'_>, a: StmtId, b: StmtId) -> impl Iterator<Item = Mention> {
    let (start, end) = if view.precedes(b, a) { (b, a) } else { (a, b) };
    let statements = view.body().range(start, end);
    statements.flat_map(move |(stmt, statement)| {
        let facts = match statement {
            Statement::Inst(inst) if stmt != end => Some(view.facts.inst(inst)),
            _ => None,
        };
        let unknown = matches!(statement, Statement::Opaque(_)).then_some(Mention::Unknown);
        let registers = facts.into_iter().flat_map(|facts| facts.registers());
        registers
            .map(|r| match r.usage {
                RegAccess::Read => Mention::Read(r.place.register),
                _ => Mention::Write(r.place.register),
            })
            .chain(unknown)
    })
}
