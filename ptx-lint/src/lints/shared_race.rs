//! `shared-race`: unsynchronized accesses of different threads to the same shared memory, at least one of them a write.

mod arms;
mod overlap;
mod pending;
mod repeated;
mod touch;
mod update;

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use ptx_ir::StmtId;

use crate::context::FunctionContext;
use crate::{Certainty, Finding, Lint};
use overlap::Judge;
use pending::{Pair, Pending};
use touch::Touches;

/// The maximum number of compared pairs of accesses in a function.
const PAIRS: usize = 1 << 12;

pub(crate) fn check(cx: &FunctionContext<'_>, found: &mut Vec<Finding>) {
    if !cx.has_shared() {
        return;
    }
    let Some((mut threads, sets)) = cx.threads() else {
        return;
    };
    let Some(touches) = Touches::new(cx, &mut threads, sets) else {
        return;
    };
    if !touches.all.iter().any(|t| t.writes) {
        return;
    }
    let groups = pending::groups(cx, &mut threads, sets);
    let pending = Pending::new(cx, &touches, &groups);
    let judge = Judge::new(cx, &threads, sets, &touches, &groups);
    let mut races: BTreeMap<StmtId, (Certainty, StmtId)> = BTreeMap::new();
    let mut left = PAIRS;
    let mut judge_pair = |pair: Pair| {
        if left == 0 {
            return;
        }
        left -= 1;
        let (first, second) = (&touches.all[pair.first], &touches.all[pair.second]);
        if let Some(certainty) = judge.race(&pair, first, second) {
            let new = (certainty, first.stmt);
            let known = races.entry(second.stmt).or_insert(new);
            if known.0 < certainty {
                *known = new;
            }
        }
    };
    pending.pairs(&mut judge_pair);
    arms::pairs(cx, &touches, &mut judge_pair);
    for (store, load) in update::stores(cx, &touches) {
        races.entry(store).or_insert((Certainty::Possible, load));
    }
    for touch in &touches.all {
        if touch.writes_differ(cx, &mut threads) {
            races.insert(touch.stmt, (Certainty::Definite, touch.stmt));
        } else if touch.differs_by_warp(cx, &mut threads) {
            let new = (Certainty::Possible, touch.stmt);
            races.entry(touch.stmt).or_insert(new);
        }
    }
    for (stmt, (certainty, other)) in races {
        let message = match certainty {
            Certainty::Definite => "data race: threads access the same shared memory without a barrier in between",
            Certainty::Possible => "possible data race: threads may access the same shared memory without a barrier in between",
        };
        if stmt == other {
            let message = match certainty {
                Certainty::Definite => "data race: threads store different values to the same shared memory",
                Certainty::Possible => "possible data race: threads of several warps may store different values to the same shared memory",
            };
            let finding = cx.finding(Lint::SharedRace, certainty, stmt, message);
            found.push(finding.with_help("store from a single thread, or use an atomic operation"));
            continue;
        }
        let finding = cx.finding(Lint::SharedRace, certainty, stmt, message);
        found.push(
            finding
                .with_label(cx.span(other), "another thread accesses the memory here")
                .with_help("add a barrier for all threads between the two accesses"),
        );
    }
}
