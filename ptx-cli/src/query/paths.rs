//! The conditions `after` and `before`: the statements that every path reaches after, or leaves before, certain instructions.

use ptx_analysis::cfg::{BlockId, Cfg};
use ptx_ir::{EntityId, StmtId};

use super::fields::Direction;
use super::site::InFunction;

/// For each statement, whether every path from the entry to it, or from it out of the function, contains another statement for which `satisfies` is
/// true. False for statements that no such path contains. Linear in the size of the function.
pub(super) fn statements_on_paths(
    function: &InFunction<'_>,
    direction: Direction,
    satisfies: impl Fn(StmtId) -> bool,
) -> Vec<bool> {
    let cfg = function.analysis.cfg();
    // The statements of each block in the direction of the paths, with the results of `satisfies`.
    let blocks: Vec<Vec<(StmtId, bool)>> = cfg
        .blocks()
        .map(|(_, block)| {
            let mut statements: Vec<_> = function
                .body
                .range(block.first, block.end)
                .map(|(stmt, _)| (stmt, satisfies(stmt)))
                .collect();
            if direction == Direction::Before {
                statements.reverse();
            }
            statements
        })
        .collect();
    let has_satisfying = |block: BlockId| {
        let statements = blocks.get(block.index()).into_iter().flatten();
        statements.copied().any(|(_, satisfies)| satisfies)
    };
    let reached = reached_blocks(cfg, direction, |_| true);
    // The blocks that a path reaches without a satisfying statement.
    let reached_without = reached_blocks(cfg, direction, |block| !has_satisfying(block));

    let mut results = vec![false; function.body.statement_table().len()];
    for (block, statements) in blocks.iter().enumerate() {
        if reached.get(block) != Some(&true) {
            continue;
        }
        let mut is_passed = reached_without.get(block) != Some(&true);
        for &(stmt, satisfies) in statements {
            if let Some(slot) = results.get_mut(stmt.index()) {
                *slot = is_passed;
            }
            is_passed |= satisfies;
        }
    }
    results
}

/// The blocks that are reached from the entry, or from which an exit is reached, by going only through blocks that `may_pass`.
fn reached_blocks(
    cfg: &Cfg,
    direction: Direction,
    may_pass: impl Fn(BlockId) -> bool,
) -> Vec<bool> {
    let mut worklist: Vec<BlockId> = match direction {
        Direction::After => vec![Cfg::ENTRY],
        Direction::Before => cfg
            .blocks()
            .filter(|(_, block)| block.exits)
            .map(|(id, _)| id)
            .collect(),
    };
    let mut reached = vec![false; cfg.len()];
    while let Some(block) = worklist.pop() {
        let Some(slot) = reached.get_mut(block.index()) else {
            continue;
        };
        if std::mem::replace(slot, true) || !may_pass(block) {
            continue;
        }
        worklist.extend_from_slice(match direction {
            Direction::After => cfg.successors(block),
            Direction::Before => cfg.predecessors(block),
        });
    }
    reached
}
