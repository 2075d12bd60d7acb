//! Repairs: the weakest changes of orders, scopes and fences with which no execution fails.

use ptx_ir::facts::FunctionFacts;

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
}

/// A change that may be part of a repair.
#[derive(Clone, Debug)]
struct Candidate {
    edit: RepairEdit,
    /// Larger for stronger changes.
    cost: u32,
}

const SCOPES: [&str; 4] = [".cta", ".cluster", ".gpu", ".sys"];
/// The orders that replace `.relaxed`, with their costs.
const ORDERS: [(&str, u32); 3] = [(".acquire", 1), (".release", 1), (".acq_rel", 3)];
/// The cost of a fence.
const FENCE_COST: u32 = 6;
/// The cost of an order for a weak operation.
const STRONG_COST: u32 = 2;

impl Kernel<'_> {
    /// Finds the weakest single change, or pair of changes, with which no execution fails. `check` explores a changed source, and returns `None`
    /// if it is not legal. It is called at most `limit` times. The result is complete: the exploration of the changed source has no failure and left
    /// out nothing.
    pub fn repair(
        &self,
        limit: usize,
        check: &mut dyn FnMut(&[u8]) -> Option<KernelReport>,
    ) -> Option<Repair> {
        let mut candidates = self.repair_candidates();
        candidates.sort_by_key(|candidate| (candidate.cost, candidate.edit.start));
        let mut sets: Vec<(u32, Vec<usize>)> = Vec::new();
        for (first, candidate) in candidates.iter().enumerate() {
            sets.push((candidate.cost, vec![first]));
            for (second, other) in candidates.iter().enumerate().skip(first + 1) {
                let overlaps =
                    candidate.edit.start < other.edit.end && other.edit.start < candidate.edit.end;
                if !overlaps {
                    sets.push((candidate.cost + other.cost, vec![first, second]));
                }
            }
        }
        // A single change comes before a pair of changes.
        sets.sort_by_key(|(cost, set)| (set.len(), *cost));
        for (_, set) in sets.into_iter().take(limit) {
            let mut edits: Vec<RepairEdit> = set
                .iter()
                .filter_map(|number| Some(candidates.get(*number)?.edit.clone()))
                .collect();
            edits.sort_by_key(|edit| edit.start);
            let source = applied(self.facts.module().source(), &edits)?;
            let is_right = check(&source)
                .is_some_and(|report| report.counterexamples.is_empty() && report.is_complete());
            if is_right {
                return Some(Repair { edits, source });
            }
        }
        None
    }

    fn repair_candidates(&self) -> Vec<Candidate> {
        let mut result = Vec::new();
        for (number, &id) in self.code.instructions.iter().enumerate() {
            let facts = self.facts.inst(id);
            let Some(signature) = facts.signature() else {
                continue;
            };
            let is_access = facts.memory().next().is_some();
            if !is_access && !facts.is_fence() {
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
    let mut result = Vec::new();
    let scope = SCOPES
        .iter()
        .position(|scope| has(scope.trim_start_matches('.')));
    let mut orders: Vec<(String, u32)> = vec![(mnemonic.to_owned(), 0)];
    if has("relaxed") {
        orders.extend(ORDERS.map(|(order, cost)| (replaced(".relaxed", order), cost)));
    } else if has("acq_rel") && has("fence") {
        orders.push((replaced(".acq_rel", ".sc"), FENCE_COST));
    } else if has("volatile") {
        // A volatile operation has system scope; device scope is enough for the threads of a device.
        for (order, cost) in ORDERS.into_iter().take(2) {
            result.push((
                replaced(".volatile", &format!("{order}.gpu")),
                cost + STRONG_COST,
            ));
        }
    } else if scope.is_none() && !has("acquire") && !has("release") {
        let (opcode, tail) = mnemonic.split_once('.').unwrap_or((mnemonic, ""));
        let tail = tail.trim_start_matches("weak.");
        for (level, scope) in (1..).zip(SCOPES.iter().take(3)) {
            for (order, cost) in [(".relaxed", 0)].into_iter().chain(ORDERS) {
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
        for (level, wider) in (1..).zip(SCOPES.iter().skip(present + 1)) {
            let from = SCOPES.get(present).copied().unwrap_or(".cta");
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
