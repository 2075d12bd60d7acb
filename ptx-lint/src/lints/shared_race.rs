//! `shared-race`: unsynchronized accesses of different threads to the same shared memory, at least one of them a write.

mod arms;
mod overlap;
mod pending;
mod repeated;
mod replicated;
mod touch;
mod update;

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use ptx_analysis::uniformity::Uniformity;
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
    let mut races: BTreeMap<StmtId, Race> = BTreeMap::new();
    let mut left = PAIRS;
    let mut judge_pair = |pair: Pair| {
        if left == 0 {
            return;
        }
        left -= 1;
        let (first, second) = (&touches.all[pair.first], &touches.all[pair.second]);
        if let Some(certainty) = judge.race(&pair, first, second) {
            let new = Race {
                certainty,
                other: first.stmt,
                in_warps: judge.is_in_warps(&pair, first, second),
            };
            let known = races.entry(second.stmt).or_insert(new);
            let in_warps = known.in_warps && new.in_warps;
            if known.certainty < certainty {
                *known = new;
            }
            known.in_warps = in_warps;
        }
    };
    pending.pairs(&mut judge_pair);
    arms::pairs(cx, &touches, &mut judge_pair);
    for (store, load) in update::stores(cx, &touches) {
        races
            .entry(store)
            .or_insert(Race::new(Certainty::Possible, load));
    }
    for touch in &touches.all {
        if touch.writes_differ(cx, &mut threads) {
            races.insert(touch.stmt, Race::new(Certainty::Definite, touch.stmt));
        } else if touch.differs_by_warp(cx, &mut threads) {
            let new = Race::new(Certainty::Possible, touch.stmt);
            races.entry(touch.stmt).or_insert(new);
        }
    }
    report(cx, races, found);
}

/// What an access is in a race with.
#[derive(Copy, Clone)]
struct Race {
    certainty: Certainty,
    /// The other access, or the same one in another thread.
    other: StmtId,
    /// Whether only threads of one warp access the same bytes.
    in_warps: bool,
}

impl Race {
    const fn new(certainty: Certainty, other: StmtId) -> Self {
        Self {
            certainty,
            other,
            in_warps: false,
        }
    }
}

/// Adds the findings. One barrier, after the block of the first access or before that of the second one, orders all accesses of both blocks: these are
/// further places of one finding.
fn report(cx: &FunctionContext<'_>, races: BTreeMap<StmtId, Race>, found: &mut Vec<Finding>) {
    let block = |stmt| cx.cfg().of_statement(stmt);
    let mut known: BTreeMap<_, usize> = BTreeMap::new();
    for (stmt, race) in races {
        let kind = (race.certainty, race.in_warps, stmt == race.other);
        let keys = [(false, block(stmt)), (true, block(race.other))].map(|key| (kind, key));
        let at = keys.iter().find_map(|key| known.get(key).copied());
        let at = match at {
            Some(at) => {
                if let Some(finding) = found.get_mut(at) {
                    finding.repeat(cx.span(stmt));
                }
                at
            }
            None => {
                found.push(finding(cx, stmt, race));
                found.len() - 1
            }
        };
        for key in keys {
            known.entry(key).or_insert(at);
        }
    }
}

fn finding(cx: &FunctionContext<'_>, stmt: StmtId, race: Race) -> Finding {
    let certainty = race.certainty;
    if stmt == race.other {
        let message = match certainty {
            Certainty::Definite => {
                "data race: threads store different values to the same shared memory"
            }
            Certainty::Possible => {
                "possible data race: threads of several warps may store different values to the same shared memory"
            }
        };
        let finding = cx.finding(Lint::SharedRace, certainty, stmt, message);
        return finding.with_help("store from a single thread, or use an atomic operation");
    }
    let message = match certainty {
        Certainty::Definite => {
            "data race: threads access the same shared memory without a barrier in between"
        }
        Certainty::Possible => {
            "possible data race: threads may access the same shared memory without a barrier in between"
        }
    };
    let is_divergent = |stmt| {
        let block = cx.cfg().of_statement(stmt);
        block
            .zip(cx.divergence())
            .is_none_or(|(block, of)| of.level(block) > Uniformity::Cta)
    };
    let help = match race.in_warps {
        true => "add `bar.warp.sync` for the lanes of the warp between the two accesses",
        false if is_divergent(stmt) || is_divergent(race.other) => {
            "add a barrier between the two accesses where all threads reach it: not in the code that only some threads execute"
        }
        false => "add a barrier for all threads between the two accesses",
    };
    let finding = cx.finding(Lint::SharedRace, certainty, stmt, message);
    finding
        .with_label(
            cx.span(race.other),
            "another thread accesses the memory here",
        )
        .with_help(help)
}
