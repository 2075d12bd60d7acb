//! Redundant synchronization: a fence beside a fence that orders at least as much, and a barrier beside the same barrier.
//!
//! Between the two are only instructions that compute registers. One of two fences is removed wherever they are, since a fence only concerns the
//! thread that executes it. The second of two barriers is removed only if all threads of the CTA execute both once: in a kernel, in a block that every
//! path enters, and not in a loop.

use alloc::string::String;
use alloc::vec::Vec;

use ptx_ir::facts::Facts;
use ptx_ir::{FunctionKind, InstId, Operand, Statement, StmtId};
use ptx_isa::{Modifier, Proxy};

use super::definition::Definition;
use super::function_view::View;
use super::rewrite::{Rewrite, Step};

pub(super) const DEFINITION: Definition = Definition {
    name: "synchronization",
    term: "elimination of redundant synchronization",
    summary: "Remove fences and barriers beside others that do at least the same",
    plan,
    finish: None,
};

pub(super) fn plan(view: &View<'_>) -> Vec<Step> {
    let mut steps = Vec::new();
    let is_synchronization = |f: &Facts<'_>| f.is_fence() || f.is_barrier();
    if !view.reached().any(|(_, _, f)| is_synchronization(&f)) {
        return steps;
    }
    for (id, block) in view.cfg.blocks() {
        if !view.dominators.is_reachable(id) {
            continue;
        }
        let mut before: Option<(StmtId, InstId)> = None;
        for (stmt, statement) in view.body().range(block.first, block.end) {
            let Statement::Inst(inst) = statement else {
                if matches!(statement, Statement::Opaque(_)) {
                    before = None;
                }
                continue;
            };
            let facts = view.facts.inst(inst);
            if !is_synchronization(&facts) {
                let computes = facts.may_be_moved() && facts.memory().next().is_none();
                before = before.filter(|_| computes);
                continue;
            }
            let redundant = before.and_then(|b| redundant(view, b, (stmt, inst)));
            let redundant = redundant.filter(|r| r.is_fence || is_always_executed(view, stmt));
            match redundant {
                Some(found) => {
                    if found.stmt != stmt {
                        before = Some((stmt, inst));
                    }
                    let act = Rewrite::Remove;
                    let (stmt, why) = (found.stmt, found.why);
                    steps.push(Step { stmt, act, why });
                }
                None => before = Some((stmt, inst)),
            }
        }
    }
    steps
}

struct Redundant {
    stmt: StmtId,
    is_fence: bool,
    why: String,
}

/// Which of two neighbours does nothing that the other does not.
fn redundant(
    view: &View<'_>,
    (first, first_inst): (StmtId, InstId),
    (second, second_inst): (StmtId, InstId),
) -> Option<Redundant> {
    let (a, b) = (view.facts.inst(first_inst), view.facts.inst(second_inst));
    let plain = |f: &Facts<'_>, stmt| f.guard().is_none() && view.ssa.defs(stmt).len() == 0;
    if !a.is_known() || !b.is_known() || !plain(&a, first) || !plain(&b, second) {
        return None;
    }
    if a.is_fence() != b.is_fence() || a.is_barrier() != b.is_barrier() {
        return None;
    }
    let same = is_same(view, (first, first_inst), (second, second_inst));
    let found = |stmt, of: &str, is_fence| {
        Some(Redundant {
            stmt,
            is_fence,
            why: format!("the {of} orders the same"),
        })
    };
    if a.is_barrier() {
        let only_waits = a.lanes().is_none() && a.asynchronous().is_empty();
        let waits = only_waits && same && waits_and_continues(&a);
        return if waits {
            found(second, "barrier before it", false)
        } else {
            None
        };
    }
    if same || covers(&a, &b) {
        return found(second, "fence before it", true);
    }
    covers(&b, &a).then(|| found(first, "fence after it", true))?
}

/// Whether a barrier of the CTA waits, so that threads leave it together.
fn waits_and_continues(f: &Facts<'_>) -> bool {
    f.action() == Some(ptx_isa::Action::BarrierSync)
}

/// Whether two instructions are the same, with the same values of their operands.
fn is_same(view: &View<'_>, a: (StmtId, InstId), b: (StmtId, InstId)) -> bool {
    let body = view.body();
    let signature = |inst: InstId| body.inst(inst).map(|i| i.sig);
    let number = |o: &Operand| body.pool().integer(*o);
    let read = |stmt, o: &Operand| match *o {
        Operand::Reg(register) => view.read(stmt, register),
        _ => None,
    };
    let (x, y) = (body.operands(a.1), body.operands(b.1));
    let equal = |(x, y): (&Operand, &Operand)| match (number(x), number(y)) {
        (Some(x), Some(y)) => x == y,
        (None, None) => {
            let value = read(a.0, x);
            value.is_some() && value == read(b.0, y)
        }
        _ => false,
    };
    signature(a.1) == signature(b.1) && x.len() == y.len() && x.iter().zip(y).all(equal)
}

/// Whether a fence between accesses of the generic proxy orders all that another one does.
fn covers(a: &Facts<'_>, b: &Facts<'_>) -> bool {
    let generic = |f: &Facts<'_>| f.proxy() == Proxy::Generic && f.memory().next().is_none();
    let scopes = (scope(a.scope()), scope(b.scope()));
    let orders = (order(a.order()), order(b.order()));
    let (Some(a_scope), Some(b_scope)) = scopes else {
        return false;
    };
    let (Some(a_order), Some(b_order)) = orders else {
        return false;
    };
    let order = a_order & b_order == b_order;
    generic(a) && generic(b) && a_scope >= b_scope && order
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

/// Whether all threads of a launch execute a statement once.
fn is_always_executed(view: &View<'_>, stmt: StmtId) -> bool {
    let function = view.module().functions().get(view.facts.id());
    let is_kernel = function.is_some_and(|f| f.kind == FunctionKind::Entry);
    let Some(block) = view.cfg.of_statement(stmt).filter(|_| is_kernel) else {
        return false;
    };
    let analysis = view.analysis();
    let mut at = ptx_analysis::cfg::Cfg::ENTRY;
    let mut on_every_path = at == block;
    while let Some(next) = analysis.ipdom(at).filter(|_| !on_every_path) {
        at = next;
        on_every_path = at == block;
    }
    on_every_path && !view.is_repeated(block)
}
