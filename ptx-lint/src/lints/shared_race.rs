//! `shared-race`: unsynchronized accesses of different threads to the same shared memory, at least one of them a write.

mod accesses;
mod address;
mod arms;
mod overlap;
mod pending;
mod repeated;
mod replicated;
mod update;

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use ptx_analysis::uniformity::Uniformity;
use ptx_ir::StmtId;

use crate::context::FunctionContext;
use crate::{Certainty, Finding, Lint};
use accesses::SharedAccesses;
use overlap::RaceTest;
use pending::{Pair, Pending};

/// The maximum number of compared pairs of accesses in a function.
const MAX_PAIRS: usize = 1 << 12;

pub(crate) fn check(cx: &FunctionContext<'_>, findings: &mut Vec<Finding>) {
    if !cx.has_shared() {
        return;
    }
    let Some((mut threads, reaching)) = cx.threads() else {
        return;
    };
    let Some(mut accesses) = SharedAccesses::new(cx, &mut threads, reaching) else {
        return;
    };
    if !accesses.all.iter().any(|access| access.writes) {
        return;
    }
    let groups = pending::groups(cx, &mut threads, reaching);
    let mut pairs: Vec<Pair> = Vec::new();
    let mut add_pair = |pair| {
        if pairs.len() < MAX_PAIRS {
            pairs.push(pair);
        }
    };
    Pending::new(cx, &accesses, &groups).pairs(&mut add_pair);
    arms::pairs(cx, &accesses, &mut add_pair);
    accesses.find_replicas(cx, &mut threads, &pairs);
    let test = RaceTest::new(cx, &threads, reaching, &accesses, &groups);
    let mut races: BTreeMap<StmtId, Race> = BTreeMap::new();
    for pair in pairs {
        let (first, second) = (&accesses.all[pair.first], &accesses.all[pair.second]);
        if let Some(certainty) = test.race(&pair, first, second) {
            let race = Race {
                certainty,
                other: first.stmt,
                in_warps: test.is_in_warps(&pair, first, second),
            };
            races
                .entry(second.stmt)
                .and_modify(|earlier| earlier.add(race))
                .or_insert(race);
        }
    }
    for (store, load) in update::stores(cx, &accesses) {
        races
            .entry(store)
            .or_insert(Race::new(Certainty::Possible, load));
    }
    for access in &accesses.all {
        if access.writes_differ(cx, &mut threads) {
            races.insert(access.stmt, Race::new(Certainty::Definite, access.stmt));
        } else if access.differs_by_warp(cx, &mut threads) {
            races
                .entry(access.stmt)
                .or_insert(Race::new(Certainty::Possible, access.stmt));
        }
    }
    report(cx, races, findings);
}

/// A race of an access.
#[derive(Copy, Clone)]
struct Race {
    certainty: Certainty,
    /// The other access, or the access itself in another thread.
    other: StmtId,
    /// Only threads of one warp access the same bytes.
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

    /// Adds a race with another access: the first one of the highest certainty is reported.
    fn add(&mut self, race: Self) {
        let in_warps = self.in_warps && race.in_warps;
        if self.certainty < race.certainty {
            *self = race;
        }
        self.in_warps = in_warps;
    }
}

/// Adds the findings. One barrier, after the block of the first access or before that of the second one, orders all accesses of both blocks: these are
/// further places of one finding.
fn report(cx: &FunctionContext<'_>, races: BTreeMap<StmtId, Race>, findings: &mut Vec<Finding>) {
    let block = |stmt| cx.cfg().of_statement(stmt);
    // The indices of the findings.
    let mut reported: BTreeMap<_, usize> = BTreeMap::new();
    for (stmt, race) in races {
        let cause = (race.certainty, race.in_warps, stmt == race.other);
        let keys = [
            (cause, (false, block(stmt))),
            (cause, (true, block(race.other))),
        ];
        let index = keys
            .iter()
            .find_map(|key| reported.get(key).copied())
            .unwrap_or(findings.len());
        match findings.get_mut(index) {
            Some(finding) => finding.repeat(cx.span(stmt)),
            None => findings.push(finding(cx, stmt, race)),
        }
        for key in keys {
            reported.entry(key).or_insert(index);
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
            .is_none_or(|(block, divergence)| divergence.level(block) > Uniformity::Cta)
    };
    let help = if race.in_warps {
        "add `bar.warp.sync` for the lanes of the warp between the two accesses"
    } else if is_divergent(stmt) || is_divergent(race.other) {
        "add a barrier between the two accesses where all threads reach it: not in the code that only some threads execute"
    } else {
        "add a barrier for all threads between the two accesses"
    };
    cx.finding(Lint::SharedRace, certainty, stmt, message)
        .with_label(
            cx.span(race.other),
            "another thread accesses the memory here",
        )
        .with_help(help)
}
