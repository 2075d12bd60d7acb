//! Kinds of synchronization: which one does all that another one does.

use alloc::vec::Vec;

use ptx_analysis::ssa::ValueId;
use ptx_ir::facts::Facts;
use ptx_ir::{InstId, Operand, SigId, StmtId};
use ptx_isa::{Action, Modifier, Proxy};

use super::super::function_view::View;
use super::is_synchronization;

/// How many kinds of a function are distinguished; others are taken to be redundant nowhere.
const MOST: usize = 63;

/// The fences and barriers of a function that may be redundant, by what they do.
pub(super) struct Kinds {
    kinds: Vec<Kind>,
    /// The number of the kind of each statement, in the order of the statements.
    of: Vec<(StmtId, usize)>,
}

/// What a fence or a barrier does.
struct Kind {
    signature: SigId,
    operands: Vec<Given>,
    is_barrier: bool,
    /// The scope and the order of a fence between accesses of the generic proxy.
    strength: Option<(u8, u8)>,
    /// The kinds of which it does all that they do, as bits.
    covers: u64,
}

/// The value of an operand.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Given {
    Number(i128),
    Value(ValueId),
}

impl Kinds {
    /// Those of a function, barriers among them if `with_barriers`.
    pub(super) fn new(view: &View<'_>, with_barriers: bool) -> Self {
        let mut found = Self {
            kinds: Vec::new(),
            of: Vec::new(),
        };
        for (stmt, inst, facts) in view.reached().filter(|(_, _, f)| is_synchronization(f)) {
            let kind = kind(view, stmt, inst, &facts);
            let Some(kind) = kind.filter(|k| with_barriers || !k.is_barrier) else {
                continue;
            };
            let same = |k: &Kind| k.signature == kind.signature && k.operands == kind.operands;
            let at = found.kinds.iter().position(same);
            let at = at.unwrap_or(found.kinds.len());
            if at == found.kinds.len() {
                if at == MOST {
                    continue;
                }
                found.kinds.push(kind);
            }
            found.of.push((stmt, at));
        }
        found.of.sort_unstable();
        for at in 0..found.kinds.len() {
            let covers = (0..found.kinds.len()).filter(|other| found.covers(at, *other));
            let covers = covers.fold(0, |all, other| all | 1 << other);
            if let Some(kind) = found.kinds.get_mut(at) {
                kind.covers = covers;
            }
        }
        found
    }

    /// Whether one kind does all that another one does.
    fn covers(&self, at: usize, other: usize) -> bool {
        let strength = |at: usize| self.kinds.get(at).and_then(|k| k.strength);
        let stronger = match (strength(at), strength(other)) {
            (Some((scope, order)), Some((less, part))) => scope >= less && order & part == part,
            _ => false,
        };
        at == other || stronger
    }

    /// The number of the kind of a statement.
    pub(super) fn of(&self, stmt: StmtId) -> Option<usize> {
        let at = self
            .of
            .binary_search_by_key(&stmt, |(stmt, _)| *stmt)
            .ok()?;
        self.of.get(at).map(|(_, kind)| *kind)
    }

    /// The kinds of which a kind does all that they do.
    pub(super) fn covered(&self, kind: usize) -> u64 {
        self.kinds.get(kind).map_or(0, |k| k.covers)
    }

    /// The kinds for which `holds`, as bits.
    fn all(&self, holds: impl Fn(&Kind) -> bool) -> u64 {
        let all = self.kinds.iter().enumerate();
        let all = all.filter(|(_, kind)| holds(kind));
        all.fold(0, |bits, (at, _)| bits | 1 << at)
    }

    pub(super) fn barriers(&self) -> u64 {
        self.all(|k| k.is_barrier)
    }

    /// Fences between accesses of the generic proxy, with a scope.
    pub(super) fn ordinary_fences(&self) -> u64 {
        self.all(|k| k.strength.is_some())
    }

    /// Those whose operands are registers, which may have other values in other blocks.
    pub(super) fn with_registers(&self) -> u64 {
        self.all(|k| k.operands.iter().any(|o| matches!(o, Given::Value(_))))
    }
}

/// What a fence or barrier does; `None` if it may do more, or does it only under a guard.
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
    let given = |operand: &Operand| match (body.pool().integer(*operand), *operand) {
        (Some(number), _) => Some(Given::Number(number.into())),
        (None, Operand::Reg(register)) => view.read(stmt, register).map(Given::Value),
        _ => None,
    };
    let operands: Option<Vec<Given>> = body.operands(inst).iter().map(given).collect();
    let operands = operands?;
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

/// The place of a scope among those that contain each other.
fn scope(scope: Option<Modifier>) -> Option<u8> {
    match scope? {
        Modifier::Cta => Some(0),
        Modifier::Cluster => Some(1),
        Modifier::Gpu => Some(2),
        Modifier::Sys => Some(3),
        _ => None,
    }
}

/// What an order orders: acquire, release, and sequential consistency as bits.
fn order(order: Option<Modifier>) -> Option<u8> {
    match order? {
        Modifier::Acquire => Some(1),
        Modifier::Release => Some(2),
        Modifier::AcqRel => Some(3),
        Modifier::Sc => Some(7),
        _ => None,
    }
}
