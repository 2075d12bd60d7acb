//! Repairs: the weakest changes of orders, scopes and fences with which no execution fails.

use ptx_ir::facts::FunctionFacts;
use ptx_isa::Proxy;

use super::{Kernel, KernelReport};

/// A change of a statement.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct RepairEdit {
    /// The offset of the first changed byte of the source.
    pub start: usize,
    /// The offset after the last changed byte.
    pub end: usize,
    /// The new text.
    pub text: String,
    /// The line, from 1.
    pub line: u32,
}

/// Changes with which no execution fails.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Repair {
    /// The changes, in the order of the source.
    pub edits: Vec<RepairEdit>,
    /// The changed source.
    pub source: Vec<u8>,
    /// Whether all executions of the changed source were explored, and not only those in which loops end early enough.
    pub is_proven: bool,
}

/// What the exploration of a candidate says.
enum Verdict {
    /// It fails, or is not legal.
    Wrong,
    /// The limit of steps was reached.
    Undecided,
    /// No execution fails, as far as loops are unrolled.
    Bounded,
    Right,
}

impl Verdict {
    fn new(report: Option<&KernelReport>) -> Self {
        match report {
            Some(report) if report.counterexamples.is_empty() => {
                let statistics = &report.statistics;
                if report.is_complete() {
                    Self::Right
                } else if statistics.limit.is_some() {
                    Self::Undecided
                } else if statistics.unsupported.is_some() {
                    Self::Wrong
                } else {
                    Self::Bounded
                }
            }
            _ => Self::Wrong,
        }
    }
}

/// A change that may be part of a repair.
#[derive(Clone, Debug)]
struct Candidate {
    edit: RepairEdit,
    /// Larger for stronger changes.
    cost: u32,
}

const SCOPES: [&str; 4] = [".cta", ".cluster", ".gpu", ".sys"];
/// The levels of `membar`.
const LEVELS: [&str; 3] = [".cta", ".gl", ".sys"];
/// The orders that replace `.relaxed`, with their costs. Each costs more than a wider scope: the scope was meant to be right with the present order.
const ORDERS: [(&str, u32); 3] = [(".acquire", 4), (".release", 4), (".acq_rel", 12)];
/// The fences of the async proxy, weaker ones first.
const PROXY_FENCES: [&str; 3] = [
    "fence.proxy.async.shared::cta",
    "fence.proxy.async.global",
    "fence.proxy.async",
];
/// The limits of steps of the explorations of a candidate.
const STEPS: [u64; 2] = [3_000, LAST_STEPS];
/// The limit of steps after which a candidate without failures is taken for a repair that is not proven.
const LAST_STEPS: u64 = 30_000;
/// The candidates that are explored after one whose loops are always cut off.
const MAX_AFTER_BOUNDED: usize = 30;
/// The candidates that are explored with more steps than the first limit.
const MAX_LONG: usize = 20;
/// The cost of a fence.
const FENCE_COST: u32 = 24;
/// The cost of the second direction of an order.
const BOTH_COST: u32 = 8;
/// The cost of an order for a weak operation.
const STRONG_COST: u32 = 8;

impl Kernel<'_> {
    /// Finds the weakest single change, or pair of changes, with which no execution fails. `check` explores a changed source with a limit of steps, and
    /// returns `None` if the source is not legal; with 0 steps only that is asked. At most `limit` changed sources are explored; those that need many
    /// steps come last. If no changed source can be explored completely, because a loop is always cut off or there are too many executions, the result
    /// is one of which no explored execution fails.
    pub fn repair(
        &self,
        limit: usize,
        check: &mut dyn FnMut(&[u8], u64) -> Option<KernelReport>,
    ) -> Option<Repair> {
        let mut candidates = self.repair_candidates();
        // Two changes of different statements are legal together if each one is.
        candidates.retain(|candidate| {
            let edits = std::slice::from_ref(&candidate.edit);
            applied(self.facts.module().source(), edits)
                .is_some_and(|source| check(&source, 0).is_some())
        });
        let mut sets = edit_sets(candidates);
        sets.truncate(limit);
        let mut bounded: Option<Repair> = None;
        for steps in STEPS {
            let mut undecided = Vec::new();
            let mut count = 0;
            for edits in sets {
                let source = applied(self.facts.module().source(), &edits)?;
                let verdict = Verdict::new(check(&source, steps).as_ref());
                let mut repair = Repair {
                    edits,
                    source,
                    is_proven: false,
                };
                match verdict {
                    Verdict::Right => {
                        repair.is_proven = true;
                        return Some(repair);
                    }
                    Verdict::Undecided if steps == LAST_STEPS && bounded.is_none() => {
                        bounded = Some(repair);
                    }
                    Verdict::Undecided => undecided.push(repair.edits),
                    Verdict::Bounded => bounded = bounded.or(Some(repair)),
                    Verdict::Wrong => {}
                }
                count += usize::from(bounded.is_some());
                if count > MAX_AFTER_BOUNDED {
                    return bounded;
                }
            }
            sets = undecided;
            // Long explorations are for the weakest candidates only.
            sets.truncate(MAX_LONG);
        }
        bounded
    }

    fn repair_candidates(&self) -> Vec<Candidate> {
        let mut result = Vec::new();
        let has_proxies = self.code.instructions.iter().any(|&id| {
            let mut accesses = self.facts.inst(id).memory();
            accesses.any(|access| access.proxy == Proxy::Async)
        });
        for (number, &id) in self.code.instructions.iter().enumerate() {
            let facts = self.facts.inst(id);
            let Some(signature) = facts.signature() else {
                continue;
            };
            let is_access = facts.memory().next().is_some();
            if !is_access && !facts.is_fence() && !facts.is_barrier() {
                continue;
            }
            let Some(place) = Place::new(
                self.facts,
                self.code.statements.get(number).copied(),
                signature.text(),
            ) else {
                continue;
            };
            let (line, _) = self.source_line(number as u32);
            let mut add = |text: String, cost: u32| {
                result.push(Candidate {
                    edit: RepairEdit {
                        start: place.start,
                        end: place.end,
                        text,
                        line,
                    },
                    cost,
                });
            };
            for (text, cost) in stronger(signature.text()) {
                add(text, cost);
            }
            // The fence of a proxy is between the accesses, next to one of them or to what synchronizes them.
            if has_proxies && facts.guard().is_none() && !facts.is_fence() {
                for (level, fence) in (1..).zip(PROXY_FENCES) {
                    add(format!("{fence}; {}", signature.text()), FENCE_COST + level);
                }
            }
            if is_access && facts.guard().is_none() && !signature.text().contains(".param") {
                for (level, scope) in (1..).zip(SCOPES.iter().take(3)) {
                    let mnemonic = signature.text();
                    add(
                        format!("fence.acq_rel{scope}; {mnemonic}"),
                        FENCE_COST + level,
                    );
                    add(
                        format!("fence.sc{scope}; {mnemonic}"),
                        2 * FENCE_COST + level,
                    );
                }
            }
        }
        result
    }
}

/// The single changes and pairs of changes, the weakest first; a single change comes before a pair.
fn edit_sets(mut candidates: Vec<Candidate>) -> Vec<Vec<RepairEdit>> {
    candidates.sort_by_key(|candidate| (candidate.cost, candidate.edit.start));
    let mut sets: Vec<(u32, Vec<&RepairEdit>)> = Vec::new();
    for (first, candidate) in candidates.iter().enumerate() {
        sets.push((candidate.cost, vec![&candidate.edit]));
        for second in candidates.iter().skip(first + 1) {
            let overlaps =
                candidate.edit.start < second.edit.end && second.edit.start < candidate.edit.end;
            if !overlaps {
                let cost = candidate.cost + second.cost;
                sets.push((cost, vec![&candidate.edit, &second.edit]));
            }
        }
    }
    sets.sort_by_key(|(cost, set)| (set.len(), *cost));
    sets.into_iter()
        .map(|(_, set)| {
            let mut edits: Vec<RepairEdit> = set.into_iter().cloned().collect();
            edits.sort_by_key(|edit| edit.start);
            edits
        })
        .collect()
}

/// Where the mnemonic of an instruction is in the source.
struct Place {
    start: usize,
    end: usize,
}

impl Place {
    fn new(
        facts: FunctionFacts<'_>,
        statement: Option<ptx_ir::StmtId>,
        mnemonic: &str,
    ) -> Option<Self> {
        let span = facts.body().source_span(statement?);
        let source = facts.module().source();
        let bytes = source.get(span.start as usize..span.end as usize)?;
        let offset = bytes
            .windows(mnemonic.len())
            .position(|window| window == mnemonic.as_bytes())?;
        let start = span.start as usize + offset;
        Some(Self {
            start,
            end: start + mnemonic.len(),
        })
    }
}

/// Fences of the async proxy for other state spaces than that of a fence, and for all of them, with costs.
fn wider_proxy_fences(mnemonic: &str, space: Option<&str>) -> Vec<(String, u32)> {
    let Some(space) = space.filter(|_| mnemonic.starts_with("fence.proxy.async")) else {
        return Vec::new();
    };
    let first = usize::from(space != "global");
    let wider = PROXY_FENCES.iter().skip(first);
    (1..)
        .zip(wider)
        .filter(|(_, text)| **text != mnemonic)
        .map(|(cost, text)| ((*text).to_owned(), cost))
        .collect()
}

/// Mnemonics with a stronger order or a wider scope, with costs.
fn stronger(mnemonic: &str) -> Vec<(String, u32)> {
    let words: Vec<&str> = mnemonic.split('.').collect();
    let has = |word: &str| words.contains(&word);
    let replaced = |from: &str, to: &str| {
        let changed: Vec<String> = words
            .iter()
            .map(|word| {
                if format!(".{word}") == from {
                    to.trim_start_matches('.').to_owned()
                } else {
                    (*word).to_owned()
                }
            })
            .collect();
        changed.join(".")
    };
    let orders_of = |orders: &[(&'static str, u32)]| -> Vec<(&'static str, u32)> {
        let is_possible = |order: &str| match words.first() {
            Some(&"ld") => order == ".acquire",
            Some(&("st" | "red")) => order == ".release",
            _ => true,
        };
        let orders = orders.iter().copied();
        orders.filter(|(order, _)| is_possible(order)).collect()
    };
    if has("proxy") {
        return wider_proxy_fences(mnemonic, words.get(3).copied());
    }
    let scopes = if has("membar") {
        &LEVELS[..]
    } else {
        &SCOPES[..]
    };
    let scope = scopes
        .iter()
        .position(|scope| has(scope.trim_start_matches('.')));
    let mut result = Vec::new();
    let mut orders: Vec<(String, u32)> = vec![(mnemonic.to_owned(), 0)];
    if has("relaxed") {
        for (order, cost) in orders_of(&ORDERS) {
            orders.push((replaced(".relaxed", order), cost));
        }
    } else if has("acquire") && (has("atom") || has("fence")) {
        orders.push((replaced(".acquire", ".acq_rel"), BOTH_COST));
    } else if has("release") && (has("atom") || has("fence")) {
        orders.push((replaced(".release", ".acq_rel"), BOTH_COST));
    } else if has("acq_rel") && has("fence") {
        orders.push((replaced(".acq_rel", ".sc"), FENCE_COST));
    } else if has("volatile") {
        // A volatile operation is strong and has system scope; device scope is enough for the threads of a device.
        for (order, cost) in orders_of(&ORDERS) {
            result.push((replaced(".volatile", &format!("{order}.gpu")), cost));
        }
    } else if scope.is_none() && !has("acquire") && !has("release") {
        let (opcode, tail) = mnemonic.split_once('.').unwrap_or((mnemonic, ""));
        let tail = tail.trim_start_matches("weak.");
        for (level, scope) in (1..).zip(SCOPES.iter().take(3)) {
            for (order, cost) in [(".relaxed", 0)].into_iter().chain(orders_of(&ORDERS)) {
                let text = format!("{opcode}{order}{scope}.{tail}");
                result.push((text, STRONG_COST + cost + level));
            }
        }
    }
    for (text, cost) in orders {
        if cost > 0 {
            result.push((text.clone(), cost));
        }
        let Some(present) = scope else {
            continue;
        };
        for (level, wider) in (1..).zip(scopes.iter().skip(present + 1)) {
            let from = scopes.get(present).copied().unwrap_or(".cta");
            result.push((text.replacen(from, wider, 1), cost + level));
        }
    }
    result
}

fn applied(source: &[u8], edits: &[RepairEdit]) -> Option<Vec<u8>> {
    let mut result = Vec::with_capacity(source.len() + 64);
    let mut position = 0;
    for edit in edits {
        result.extend(source.get(position..edit.start)?);
        result.extend(edit.text.as_bytes());
        position = edit.end;
    }
    result.extend(source.get(position..)?);
    Some(result)
}

#[cfg(test)]
mod tests {
    use super::stronger;

    #[test]
    fn changes_keep_the_form_of_the_instruction() {
        let first = |mnemonic: &str| {
            let mut changes = stronger(mnemonic);
            changes.sort_by_key(|(_, cost)| *cost);
            changes.into_iter().map(|(text, _)| text).next()
        };
        for (mnemonic, text) in [
            ("membar.cta", "membar.gl"),
            ("membar.gl", "membar.sys"),
            ("fence.acq_rel.cta", "fence.acq_rel.cluster"),
            ("atom.exch.acquire.gpu.b32", "atom.exch.acquire.sys.b32"),
            ("ld.global.u32", "ld.relaxed.cta.global.u32"),
            ("st.volatile.global.u32", "st.release.gpu.global.u32"),
        ] {
            assert_eq!(first(mnemonic).as_deref(), Some(text), "{mnemonic}");
        }
        for (mnemonic, text) in [
            ("atom.exch.acquire.gpu.b32", "atom.exch.acq_rel.gpu.b32"),
            ("red.release.gpu.add.u32", "red.release.sys.add.u32"),
            ("atom.release.cta.add.u32", "atom.acq_rel.gpu.add.u32"),
        ] {
            let changes = stronger(mnemonic);
            assert!(
                changes.iter().any(|(change, _)| change == text),
                "{mnemonic}"
            );
        }
        assert!(stronger("membar.sys").is_empty());
    }
}
