//! Which statements every path passes before or after certain instructions.

use ptx_analysis::cfg::{BlockId, Cfg};
use ptx_ir::{EntityId, StmtId};

use super::fields::Direction;
use super::site::InFunction;

/// For each statement whether every path from the entry to it, or from it out of the function, passes an instruction that `is`
/// accepts, other than itself. Linear in the size of the function.
pub(super) fn passed(
    function: &InFunction<'_>,
    direction: Direction,
    is: impl Fn(StmtId) -> bool,
) -> Vec<bool> {
    let cfg = function.analysis.cfg();
    let blocks = cfg.blocks().map(|(_, block)| {
        let of_block = function.body.range(block.first, block.end);
        let mut found: Vec<_> = of_block.map(|(stmt, _)| (stmt, is(stmt))).collect();
        if direction == Direction::Before {
            found.reverse();
        }
        found
    });
    let blocks: Vec<Vec<(StmtId, bool)>> = blocks.collect();
    let has = |block: BlockId| {
        let found = blocks.get(block.index()).into_iter().flatten();
        found.copied().any(|(_, is)| is)
    };
    let connected = reached(cfg, direction, |_| true);
    // The blocks whose first statement a path reaches that has passed none.
    let bare = reached(cfg, direction, |block| !has(block));

    let mut passed = vec![false; function.body.statement_table().len()];
    for (id, found) in blocks.iter().enumerate() {
        if connected.get(id) != Some(&true) {
            continue;
        }
        let mut so_far = bare.get(id) != Some(&true);
        for &(stmt, is) in found {
            if let Some(slot) = passed.get_mut(stmt.index()) {
                *slot = so_far;
            }
            so_far |= is;
        }
    }
    passed
}

/// The blocks that are reached from the entry, or from which an exit is reached, by going only through blocks that `may_pass`.
fn reached(cfg: &Cfg, direction: Direction, may_pass: impl Fn(BlockId) -> bool) -> Vec<bool> {
    let mut work: Vec<BlockId> = match direction {
        Direction::After => vec![Cfg::ENTRY],
        Direction::Before => {
            let exits = cfg.blocks().filter(|(_, block)| block.exits);
            exits.map(|(id, _)| id).collect()
        }
    };
    let mut reached = vec![false; cfg.len()];
    while let Some(block) = work.pop() {
        let Some(slot) = reached.get_mut(block.index()) else {
            continue;
        };
        if std::mem::replace(slot, true) || !may_pass(block) {
            continue;
        }
        work.extend_from_slice(match direction {
            Direction::After => cfg.successors(block),
            Direction::Before => cfg.predecessors(block),
        });
    }
    reached
}
