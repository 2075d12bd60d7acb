//! The effects of branches that threads take differently: the blocks where their paths meet, the loops that they leave at different times, and the blocks that
//! the lanes of a warp reach one after the other.
//!
//! ```text
//!        branch            The paths from the branch to its immediate post-dominator are followed along
//!        ╱    ╲            dominance frontiers. A block where two paths meet depends on the branch, and so
//!       a      b           does each value that is read after a loop which a path leaves. Lanes come one after
//!       │╲     │           the other to a block where paths meet before the post-dominator (c), and to the blocks
//!       │ ╲    │           that it dominates.
//!       │  c◀──┘
//!       ╲  │
//!     post-dominator
//! ```

use alloc::collections::BinaryHeap;
use alloc::vec::Vec;
use core::cmp::Reverse;

use ptx_isa::Uniformity;

use super::graphs::{Graphs, LoopExit};
use crate::cfg::BlockId;
use crate::graph::{LoopId, Node as _};

/// The maximum number of visits of blocks for all branches of a function: this number, and more for each block. Beyond that, all paths may meet everywhere.
const VISITS: u64 = 1 << 14;
const VISITS_PER_BLOCK: u64 = 1 << 7;

/// The effects of a branch that are new.
#[derive(Default)]
pub(super) struct Changes {
    /// Blocks whose phis depend on more.
    pub(super) joins: Vec<BlockId>,
    /// Blocks that lanes of a warp do not reach together any more.
    pub(super) split: Vec<BlockId>,
    /// Threads leave a loop at different times that they left together before.
    pub(super) loops: bool,
}

/// The last visit of a block.
#[derive(Copy, Clone, Default)]
struct Visit {
    /// The number of the branch, counted from one.
    query: u32,
    /// The block from which on all paths from the branch to this block are the same.
    since: u32,
    /// Different paths meet here.
    joined: bool,
    /// Lanes reach the block one after the other.
    apart: bool,
}

/// The effects of branches.
pub(super) struct Control<'a> {
    graphs: &'a Graphs<'a>,
    /// For each block the uniformity of the path to it.
    joins: Vec<Uniformity>,
    /// For each loop the uniformity of the number of iterations.
    exits: Vec<Uniformity>,
    /// An element of `exits` is less uniform than the grid.
    any_exits: bool,
    /// For each loop the group in which threads that meet in it are in the same iteration.
    in_step: Vec<Uniformity>,
    /// The uniformity of the current branch.
    uniformity: Uniformity,
    /// The blocks that lanes of a warp reach one after the other.
    split: Vec<bool>,
    /// The exits of each loop; empty until threads leave a loop at different times.
    loop_exits: Vec<Vec<LoopExit>>,
    remaining_visits: u64,
    /// The least uniform branch since the visits are spent.
    given_up: Option<Uniformity>,
    /// The number of the current branch.
    query: u32,
    visits: Vec<Visit>,
    /// The blocks that were visited for the current branch.
    visited: Vec<BlockId>,
    /// The blocks whose dominance frontiers have to be visited, with their positions in reverse postorder.
    worklist: BinaryHeap<Reverse<(u32, u32)>>,
}

impl<'a> Control<'a> {
    pub(super) fn new(graphs: &'a Graphs<'a>) -> Self {
        let blocks = graphs.cfg.len();
        Self {
            graphs,
            joins: vec![Uniformity::Grid; blocks],
            exits: vec![Uniformity::Grid; graphs.loops.len()],
            any_exits: false,
            in_step: vec![Uniformity::Grid; graphs.loops.len()],
            uniformity: Uniformity::Grid,
            split: vec![false; blocks],
            loop_exits: Vec::new(),
            remaining_visits: VISITS + VISITS_PER_BLOCK * blocks as u64,
            given_up: None,
            query: 0,
            visits: vec![Visit::default(); blocks],
            visited: Vec::new(),
            worklist: BinaryHeap::new(),
        }
    }

    /// The uniformity of the path to a block.
    pub(super) fn join(&self, block: BlockId) -> Uniformity {
        let join = self.joins.get(block.as_u32() as usize);
        join.copied().unwrap_or(Uniformity::Varying)
    }

    /// For each block the uniformity of the path to it.
    pub(super) fn joins(&self) -> &[Uniformity] {
        &self.joins
    }

    /// For each loop the uniformity of the number of iterations.
    pub(super) fn exits(&self) -> &[Uniformity] {
        &self.exits
    }

    /// For each loop the group in which threads that meet in it are in the same iteration.
    pub(super) fn in_step(&self) -> &[Uniformity] {
        &self.in_step
    }

    /// Returns whether the lanes of a warp that execute the same instance of a block execute it together.
    pub(super) fn is_together(&self, block: BlockId) -> bool {
        self.split.get(block.as_u32() as usize) == Some(&false)
    }

    /// The uniformity of the number of iterations after which threads left the loops around a definition that do not contain a read.
    pub(super) fn temporal(&self, definition: BlockId, read: BlockId) -> Uniformity {
        let mut uniformity = Uniformity::Grid;
        if !self.any_exits {
            return uniformity;
        }
        let mut innermost = self.graphs.loops.innermost(definition);
        while let Some(id) = innermost
            && uniformity < Uniformity::Varying
            && !self.graphs.loops.contains(id, read)
        {
            let exits = self.exits.get(id.as_u32() as usize).copied();
            uniformity = uniformity.join(exits.unwrap_or(Uniformity::Varying));
            innermost = self.graphs.loops.get(id).and_then(|info| info.parent());
        }
        uniformity
    }

    /// Records the uniformity of the branch at the end of a block, if it is less uniform than before.
    pub(super) fn diverge(&mut self, branch: BlockId, uniformity: Uniformity) -> Changes {
        let mut changes = Changes::default();
        let graphs = self.graphs;
        let successors = graphs.cfg.successors(branch);
        if successors.iter().all(|to| Some(to) == successors.first()) {
            return changes;
        }
        if self.remaining_visits == 0 {
            return self.give_up(uniformity);
        }
        let stop = graphs.post.immediate(branch);
        self.query += 1;
        self.uniformity = uniformity;
        self.visited.clear();
        self.worklist.clear();
        let mut innermost = graphs.loops.innermost(branch);
        while let Some(id) = innermost
            && stop.is_none_or(|stop| !graphs.loops.contains(id, stop))
        {
            changes.loops |= self.leave(id, stop);
            innermost = graphs.loops.get(id).and_then(|info| info.parent());
        }
        if let Some(id) = graphs.irreducible(branch) {
            self.enter_irreducible(id);
        }
        for &successor in successors {
            self.visit(successor, successor, branch, stop);
        }
        self.follow(branch, stop);
        changes.loops |= self.pass_headers(branch, stop);
        if self.remaining_visits == 0 {
            return self.give_up(uniformity);
        }
        self.collect(stop, &mut changes);
        changes
    }

    /// Follows all paths from the blocks in the worklist.
    fn follow(&mut self, branch: BlockId, stop: Option<BlockId>) {
        let graphs = self.graphs;
        while let Some(Reverse((_, block))) = self.worklist.pop() {
            let block = BlockId::from_u32(block);
            let since = BlockId::from_u32(self.visits[block.as_u32() as usize].since);
            for frontier in graphs.frontiers.of(block) {
                self.visit(frontier, since, branch, stop);
            }
        }
    }

    /// Marks threads as being in different iterations of the loops whose headers a path reaches before all paths meet in the loop. Returns whether a loop is
    /// left at different times that was left together before.
    fn pass_headers(&mut self, branch: BlockId, stop: Option<BlockId>) -> bool {
        let (graphs, mut is_changed) = (self.graphs, false);
        let Some(meeting) = stop else {
            return false;
        };
        // From inner to outer loops: headers by the depth of their loops.
        let mut headers: BinaryHeap<(u32, u32)> = BinaryHeap::new();
        let (mut examined, mut last_depth) = (0, u32::MAX);
        loop {
            for &block in self.visited.get(examined..).unwrap_or_default() {
                if block != meeting && graphs.is_header_around(block, branch) {
                    headers.push((graphs.loops.depth(block), block.as_u32()));
                }
            }
            examined = self.visited.len();
            let Some((depth, header)) = headers.pop() else {
                return is_changed;
            };
            let header = BlockId::from_u32(header);
            if let Some(id) = graphs.loops.innermost(header)
                && depth < last_depth
                && graphs.loops.contains(id, meeting)
            {
                last_depth = depth;
                is_changed |= self.leave(id, stop);
                self.lose_step(id);
                self.start_at(header, Paths::Several);
                self.follow(branch, stop);
            }
        }
    }

    /// Threads leave a loop at different times, and meet at `stop`. Returns whether that is new.
    fn leave(&mut self, id: LoopId, stop: Option<BlockId>) -> bool {
        let index = id.as_u32() as usize;
        if self.remaining_visits == 0 {
            return false;
        }
        if self.loop_exits.is_empty() {
            match self.graphs.loop_exits(self.remaining_visits) {
                Some(exits) => self.loop_exits = exits,
                None => self.remaining_visits = 0,
            }
        }
        let count = self.loop_exits.get(index).map_or(0, Vec::len) as u64;
        self.remaining_visits = self.remaining_visits.saturating_sub(1 + count);
        if self.remaining_visits == 0 {
            return false;
        }
        let exits = core::mem::take(&mut self.loop_exits[index]);
        for exit in &exits {
            let paths = if exit.has_several_edges {
                Paths::Several
            } else {
                Paths::One
            };
            if Some(exit.block) == stop {
                self.reach_apart(exit.block, paths);
            } else {
                self.start_at(exit.block, paths);
            }
        }
        self.loop_exits[index] = exits;
        self.any_exits = true;
        let old = self.exits[index];
        self.exits[index] = old.join(self.uniformity);
        old < self.uniformity
    }

    /// Marks threads that meet in a loop as being in different iterations.
    fn lose_step(&mut self, id: LoopId) {
        if let Some(group) = self.in_step.get_mut(id.as_u32() as usize) {
            *group = group.join(self.uniformity);
        }
    }

    /// All paths are possible in a loop that is entered at several blocks, and threads may be in different iterations.
    fn enter_irreducible(&mut self, id: LoopId) {
        let graphs = self.graphs;
        self.lose_step(id);
        for &block in graphs.loops.body(id) {
            self.start_at(block, Paths::Several);
        }
    }

    /// Lanes reach a block one after the other, and so the blocks after it.
    fn start_at(&mut self, block: BlockId, paths: Paths) {
        self.reach_apart(block, paths);
        self.push(block);
    }

    /// Lanes reach a block one after the other.
    fn reach_apart(&mut self, block: BlockId, paths: Paths) {
        self.visited.push(block);
        self.visits[block.as_u32() as usize] = Visit {
            query: self.query,
            since: block.as_u32(),
            joined: paths == Paths::Several,
            apart: true,
        };
    }

    fn push(&mut self, block: BlockId) {
        let position = self.graphs.position(block);
        self.worklist.push(Reverse((position, block.as_u32())));
        self.remaining_visits = self.remaining_visits.saturating_sub(1);
        if self.remaining_visits == 0 {
            self.worklist.clear();
        }
    }

    /// Visits a block on a path from the branch; from `since` on, all paths to it are the same.
    fn visit(&mut self, block: BlockId, since: BlockId, branch: BlockId, stop: Option<BlockId>) {
        self.remaining_visits = self.remaining_visits.saturating_sub(1);
        let visit = &mut self.visits[block.as_u32() as usize];
        if visit.query != self.query {
            *visit = Visit {
                query: self.query,
                since: since.as_u32(),
                joined: false,
                apart: false,
            };
            self.visited.push(block);
            if let Some(id) = self.graphs.irreducible(block)
                && !self.graphs.loops.contains(id, branch)
            {
                self.enter_irreducible(id);
                return;
            }
        } else if visit.since == since.as_u32() {
            return;
        } else {
            (visit.joined, visit.apart) = (true, true);
            if visit.since == block.as_u32() {
                return;
            }
            visit.since = block.as_u32();
        }
        // At `stop` the paths have met, and at a header around the branch the next iteration begins.
        if Some(block) != stop && !self.graphs.is_header_around(block, branch) {
            self.push(block);
        }
    }

    /// Collects the effects of the current branch from its visits.
    fn collect(&mut self, stop: Option<BlockId>, changes: &mut Changes) {
        let uniformity = self.uniformity;
        for block in core::mem::take(&mut self.visited) {
            let visit = self.visits[block.as_u32() as usize];
            let join = &mut self.joins[block.as_u32() as usize];
            if visit.joined && *join < uniformity {
                *join = uniformity;
                changes.joins.push(block);
            }
            let since = self.visits[visit.since as usize];
            let is_apart = visit.apart || since.apart && since.query == self.query;
            if uniformity == Uniformity::Varying && is_apart && Some(block) != stop {
                self.split(block, changes);
            }
        }
    }

    /// Lanes reach a block, and all blocks that it dominates, one after the other.
    fn split(&mut self, block: BlockId, changes: &mut Changes) {
        let mut worklist = vec![block];
        while let Some(block) = worklist.pop() {
            if let Some(split @ false) = self.split.get_mut(block.as_u32() as usize) {
                *split = true;
                changes.split.push(block);
                worklist.extend(self.graphs.children.row(block.as_u32()));
            }
        }
    }

    /// Assumes nothing about the paths of threads any more, if a branch is less uniform than the grid.
    fn give_up(&mut self, uniformity: Uniformity) -> Changes {
        if self.given_up.is_some_and(|earlier| earlier >= uniformity) {
            return Changes::default();
        }
        self.given_up = Some(uniformity);
        for table in [&mut self.joins, &mut self.exits, &mut self.in_step] {
            for entry in table {
                *entry = entry.join(uniformity);
            }
        }
        self.any_exits = true;
        self.split.fill(true);
        let blocks: Vec<BlockId> = self.graphs.cfg.blocks().map(|(id, _)| id).collect();
        Changes {
            joins: blocks.clone(),
            split: blocks,
            loops: true,
        }
    }
}

/// The paths that reach a block.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Paths {
    One,
    /// Different paths meet at the block.
    Several,
}
