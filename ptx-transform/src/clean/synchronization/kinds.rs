//! Kinds of synchronization, and the order between them: a kind covers another one if it orders at least as much.

use alloc::vec::Vec;

use ptx_analysis::ssa::ValueId;
use ptx_ir::facts::Facts;
use ptx_ir::{InstId, Operand, SigId, StmtId};
use ptx_isa::{Action, Modifier, Proxy};

use super::super::function_view::View;
use super::is_synchronization;

/// The largest number of kinds of a function that are distinguished; fences and barriers of other kinds are never redundant.
const MAX_KINDS: usize = 63;

/// The fences and barriers of a function that may be redundant, by what they do.
pub(super) struct Kinds {
    kinds: Vec<Kind>,
    /// The number of the kind of each statement, in the order of the statements.
    statement_kinds: Vec<(StmtId, usize)>,
}

/// The signature and the operands of a fence or a barrier.
struct Kind {
    signature: SigId,
    operands: Vec<OperandValue>,
    is_barrier: bool,
    /// The scope and the order of a fence between accesses of the generic proxy.
    strength: Option<(u8, u8)>,
    /// The kinds that order no more than this one, as bits.
    covers: u64,
}

/// The value of an operand.
#[derive(Copy, Clone, PartialEq, Eq)]
enum OperandValue {
    Number(i128),
    Value(ValueId),
}

impl Kinds {
    /// Collects the kinds of the fences of a function and, with `with_barriers`, of the barriers.
    pub(super) fn new(view: &View<'_>, with_barriers: bool) -> Self {
        let mut kinds = Self {
            kinds: Vec::new(),
            statement_kinds: Vec::new(),
        };
        for (stmt, inst, facts) in view.reached().filter(|(_, _, f)| is_synchronization(f)) {
            let kind = kind(view, stmt, inst, &facts);
            let Some(kind) = kind.filter(|k| with_barriers || !k.is_barrier) else {
                continue;
            };
            let index = kinds
                .kinds
                .iter()
                .position(|k| k.signature == kind.signature && k.operands == kind.operands)
                .unwrap_or(kinds.kinds.len());
            if index == kinds.kinds.len() {
                if index == MAX_KINDS {
                    continue;
                }
                kinds.kinds.push(kind);
            }
            kinds.statement_kinds.push((stmt, index));
        }
        kinds.statement_kinds.sort_unstable();
        for index in 0..kinds.kinds.len() {
            let covers = (0..kinds.kinds.len())
                .filter(|other| kinds.covers(index, *other))
                .fold(0, |bits, other| bits | 1 << other);
            if let Some(kind) = kinds.kinds.get_mut(index) {
                kind.covers = covers;
            }
        }
        kinds
    }

    /// Whether one kind orders all that another one orders.
    fn covers(&self, kind: usize, other: usize) -> bool {
        let strength = |kind: usize| self.kinds.get(kind).and_then(|k| k.strength);
        let is_stronger = match (strength(kind), strength(other)) {
            (Some((scope, order)), Some((other_scope, other_order))) => {
                scope >= other_scope && order & other_order == other_order
            }
            _ => false,
        };
        kind == other || is_stronger
    }

    /// The number of the kind of a statement.
    pub(super) fn of(&self, stmt: StmtId) -> Option<usize> {
        let index = self
            .statement_kinds
            .binary_search_by_key(&stmt, |(stmt, _)| *stmt)
            .ok()?;
        self.statement_kinds.get(index).map(|(_, kind)| *kind)
    }

    /// The kinds that order no more than `kind`, as bits.
    pub(super) fn covered(&self, kind: usize) -> u64 {
        self.kinds.get(kind).map_or(0, |k| k.covers)
    }

    /// The kinds that satisfy a predicate, as bits.
    fn bits(&self, predicate: impl Fn(&Kind) -> bool) -> u64 {
        self.kinds
            .iter()
            .enumerate()
            .filter(|(_, kind)| predicate(kind))
            .fold(0, |bits, (index, _)| bits | 1 << index)
    }

    pub(super) fn barriers(&self) -> u64 {
        self.bits(|k| k.is_barrier)
    }

    /// Fences between accesses of the generic proxy, with a scope.
    pub(super) fn ordinary_fences(&self) -> u64 {
        self.bits(|k| k.strength.is_some())
    }

    /// The kinds with registers as operands, which may have other values in other blocks.
    pub(super) fn with_registers(&self) -> u64 {
        self.bits(|k| {
            k.operands
                .iter()
                .any(|operand| matches!(operand, OperandValue::Value(_)))
        })
    }
}

/// The kind of a fence or a barrier; `None` if it has a guard, or may have other effects.
fn kind(view: &View<'_>, stmt: StmtId, inst: InstId, facts: &Facts<'_>) -> Option<Kind> {
    let is_plain = facts.guard().is_none() && view.ssa.defs(stmt).len() == 0;
    if !facts.is_known() || !is_plain {
        return None;
    }
    let is_barrier = facts.action() == Some(Action::BarrierSync);
    let waits = is_barrier && facts.member_mask().is_none() && facts.asynchronous().is_empty();
    let orders = facts.action() == Some(Action::Fence);
    if !waits && !orders {
        return None;
    }
    let body = view.body();
    let operands = body
        .operands(inst)
        .iter()
        .map(|operand| match (body.pool().integer(*operand), *operand) {
            (Some(number), _) => Some(OperandValue::Number(number.into())),
            (None, Operand::Reg(register)) => view.read(stmt, register).map(OperandValue::Value),
            _ => None,
        })
        .collect::<Option<Vec<OperandValue>>>()?;
    // A number of threads may be that of a part of the CTA.
    if is_barrier && operands.len() > 1 {
        return None;
    }
    let is_generic = facts.proxy() == Proxy::Generic && facts.memory().next().is_none();
    let strength = scope(facts.scope()).zip(order(facts.order()));
    Some(Kind {
        signature: body.inst(inst)?.sig,
        operands,
        is_barrier,
        strength: strength.filter(|_| orders && is_generic),
        covers: 0,
    })
}

/// The rank of a scope: a scope contains those of lower ranks.
fn scope(scope: Option<Modifier>) -> Option<u8> {
    match scope? {
        Modifier::Cta => Some(0),
        Modifier::Cluster => Some(1),
        Modifier::Gpu => Some(2),
        Modifier::Sys => Some(3),
        _ => None,
    }
}

/// The parts of a memory order as bits: acquire, release, and sequential consistency.
fn order(order: Option<Modifier>) -> Option<u8> {
    match order? {
        Modifier::Acquire => Some(1),
        Modifier::Release => Some(2),
        Modifier::AcqRel => Some(3),
        Modifier::Sc => Some(7),
        _ => None,
    }
}
