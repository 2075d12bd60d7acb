//! What follows from branches that threads take differently: where their ways meet, which loops they leave at different times, and to which blocks the
//! lanes of a warp come one after the other.

use alloc::collections::BinaryHeap;
use alloc::vec::Vec;
use core::cmp::Reverse;

use ptx_isa::Uniformity;

use super::graphs::Graphs;
use crate::cfg::BlockId;
use crate::graph::{LoopId, Node as _};

/// How many blocks are visited for all branches of a function: this number, and more for each block. Beyond that, all ways meet everywhere.
const VISITS: u64 = 1 << 14;
const VISITS_PER_BLOCK: u64 = 1 << 7;

/// What a branch changed.
#[derive(Default)]
pub(super) struct Changes {
    /// Blocks whose phis depend on more.
    pub(super) joins: Vec<BlockId>,
    /// Blocks to which lanes of a warp do not come together any more.
    pub(super) split: Vec<BlockId>,
    /// Whether threads leave a loop at different times that they left together before.
    pub(super) loops: bool,
}

/// How a block was come to from a branch.
#[derive(Copy, Clone, Default)]
struct Visit {
    /// The branch, counted from one.
    query: u32,
    /// The block after which all ways from the branch are the same.
    since: u32,
    /// Whether different ways meet here.
    joined: bool,
    /// Whether lanes come here one after the other.
    apart: bool,
}

/// The effects of branches.
pub(super) struct Control<'a> {
    graphs: &'a Graphs<'a>,
    /// Of each block, in which threads the way to it is the same.
    joins: Vec<Uniformity>,
    /// Of each loop, in which threads the number of iterations is the same.
    exits: Vec<Uniformity>,
    any_exits: bool,
    /// Of each loop, in which threads those that meet in it are in the same iteration.
    in_step: Vec<Uniformity>,
    /// In which threads the last branch goes the same way.
    level: Uniformity,
    split: Vec<bool>,
    /// The blocks after each loop; empty until a loop is left.
    after: Vec<Vec<(BlockId, bool)>>,
    visits_left: u64,
    /// The highest level of a branch since nothing is known any more.
    given_up: Option<Uniformity>,
    query: u32,
    visits: Vec<Visit>,
    visited: Vec<BlockId>,
    work: BinaryHeap<Reverse<(u32, u32)>>,
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
            level: Uniformity::Grid,
            split: vec![false; blocks],
            after: Vec::new(),
            visits_left: VISITS + VISITS_PER_BLOCK * blocks as u64,
            given_up: None,
            query: 0,
            visits: vec![Visit::default(); blocks],
            visited: Vec::new(),
            work: BinaryHeap::new(),
        }
    }

    /// In which threads the way to a block is the same.
    pub(super) fn join(&self, block: BlockId) -> Uniformity {
        let join = self.joins.get(block.as_u32() as usize);
        join.copied().unwrap_or(Uniformity::Varying)
    }

    /// Of each loop, in which threads those that meet in it are in the same iteration.
    pub(super) fn in_step(&self) -> &[Uniformity] {
        &self.in_step
    }

    /// Whether the lanes of a warp that execute the same instance of a block execute it together.
    pub(super) fn is_together(&self, block: BlockId) -> bool {
        self.split.get(block.as_u32() as usize) == Some(&false)
    }

    /// In which threads a value that was made in one block is the same in another one, as far as they left loops together.
    pub(super) fn temporal(&self, made: BlockId, used: BlockId) -> Uniformity {
        let mut level = Uniformity::Grid;
        if !self.any_exits {
            return level;
        }
        let mut around = self.graphs.loops.innermost(made);
        while let Some(id) = around
            && level < Uniformity::Varying
            && !self.graphs.loops.contains(id, used)
        {
            let exits = self.exits.get(id.as_u32() as usize).copied();
            level = level.join(exits.unwrap_or(Uniformity::Varying));
            around = self.graphs.loops.get(id).and_then(|l| l.parent());
        }
        level
    }

    /// Threads take different ways at the end of a block.
    pub(super) fn diverge(&mut self, branch: BlockId, level: Uniformity) -> Changes {
        let mut changes = Changes::default();
        let graphs = self.graphs;
        let successors = graphs.cfg.successors(branch);
        if successors.iter().all(|to| Some(to) == successors.first()) {
            return changes;
        }
        if self.visits_left == 0 {
            return self.give_up(level);
        }
        let stop = graphs.post.immediate(branch);
        self.query += 1;
        self.level = level;
        self.visited.clear();
        self.work.clear();
        let mut around = graphs.loops.innermost(branch);
        while let Some(id) = around
            && stop.is_none_or(|stop| !graphs.loops.contains(id, stop))
        {
            changes.loops |= self.leave(id, level, stop);
            around = graphs.loops.get(id).and_then(|l| l.parent());
        }
        if let Some(id) = graphs.irreducible(branch) {
            self.enter_irreducible(id);
        }
        for &to in successors {
            self.visit(to, to, (branch, stop));
        }
        self.follow(branch, stop);
        changes.loops |= self.pass_headers(branch, stop, level);
        match self.visits_left {
            0 => self.give_up(level),
            _ => {
                self.collect(level, stop, &mut changes);
                changes
            }
        }
    }

    /// Follows all ways from the blocks that were come to.
    fn follow(&mut self, branch: BlockId, stop: Option<BlockId>) {
        let graphs = self.graphs;
        while let Some(Reverse((_, from))) = self.work.pop() {
            let from = BlockId::from_u32(from);
            let since = BlockId::from_u32(self.visits[from.as_u32() as usize].since);
            for to in graphs.frontiers.of(from) {
                self.visit(to, since, (branch, stop));
            }
        }
    }

    /// Where a way leads to the next iteration of a loop before all ways meet in that loop, threads are in different iterations from then on;
    /// whether that is new.
    fn pass_headers(&mut self, branch: BlockId, stop: Option<BlockId>, level: Uniformity) -> bool {
        let (graphs, mut changed) = (self.graphs, false);
        let Some(meeting) = stop else {
            return false;
        };
        // From inner to outer loops.
        let mut headers: BinaryHeap<(u32, u32)> = BinaryHeap::new();
        let (mut seen, mut depth) = (0, u32::MAX);
        loop {
            for &block in self.visited.get(seen..).unwrap_or_default() {
                if block != meeting && graphs.is_header_around(block, branch) {
                    headers.push((graphs.loops.depth(block), block.as_u32()));
                }
            }
            seen = self.visited.len();
            let Some((next, header)) = headers.pop() else {
                return changed;
            };
            let header = BlockId::from_u32(header);
            if let Some(id) = graphs.loops.innermost(header)
                && next < depth
                && graphs.loops.contains(id, meeting)
            {
                depth = next;
                changed |= self.leave(id, level, stop);
                self.lose_step(id);
                self.begin_at(header, true);
                self.follow(branch, stop);
            }
        }
    }

    /// Threads leave a loop at different times, by different edges, and meet at `stop`; whether that is new.
    fn leave(&mut self, id: LoopId, level: Uniformity, stop: Option<BlockId>) -> bool {
        let at = id.as_u32() as usize;
        if self.visits_left == 0 {
            return false;
        }
        if self.after.is_empty() {
            match self.graphs.after(self.visits_left) {
                Some(after) => self.after = after,
                None => self.visits_left = 0,
            }
        }
        let count = self.after.get(at).map_or(0, Vec::len) as u64;
        self.visits_left = self.visits_left.saturating_sub(1 + count);
        if self.visits_left == 0 {
            return false;
        }
        let after = core::mem::take(&mut self.after[at]);
        for &(to, several) in &after {
            match Some(to) == stop {
                true => self.come_to(to, several),
                false => self.begin_at(to, several),
            }
        }
        self.after[at] = after;
        self.any_exits = true;
        let old = self.exits[at];
        self.exits[at] = old.join(level);
        old < level
    }

    /// Threads are in different iterations of a loop from now on.
    fn lose_step(&mut self, id: LoopId) {
        if let Some(level) = self.in_step.get_mut(id.as_u32() as usize) {
            *level = level.join(self.level);
        }
    }

    /// All ways are possible in a loop that is entered at several blocks, and so threads may be in different iterations.
    fn enter_irreducible(&mut self, id: LoopId) {
        let graphs = self.graphs;
        self.lose_step(id);
        for &block in graphs.loops.body(id) {
            self.begin_at(block, true);
        }
    }

    /// Lanes come to a block one after the other, and so to those after it.
    fn begin_at(&mut self, block: BlockId, joined: bool) {
        self.come_to(block, joined);
        self.push(block);
    }

    /// Lanes come to a block one after the other.
    fn come_to(&mut self, block: BlockId, joined: bool) {
        let visit = Visit {
            query: self.query,
            since: block.as_u32(),
            joined,
            apart: true,
        };
        self.visited.push(block);
        self.visits[block.as_u32() as usize] = visit;
    }

    fn push(&mut self, block: BlockId) {
        let position = self.graphs.position(block);
        self.work.push(Reverse((position, block.as_u32())));
        self.visits_left = self.visits_left.saturating_sub(1);
        if self.visits_left == 0 {
            self.work.clear();
        }
    }

    /// Threads come to a block; all that came since another one took the same way.
    fn visit(&mut self, to: BlockId, since: BlockId, (branch, stop): (BlockId, Option<BlockId>)) {
        self.visits_left = self.visits_left.saturating_sub(1);
        let seen = &mut self.visits[to.as_u32() as usize];
        if seen.query != self.query {
            *seen = Visit {
                query: self.query,
                since: since.as_u32(),
                joined: false,
                apart: false,
            };
            self.visited.push(to);
            if let Some(id) = self.graphs.irreducible(to)
                && !self.graphs.loops.contains(id, branch)
            {
                self.enter_irreducible(id);
                return;
            }
        } else if seen.since == since.as_u32() {
            return;
        } else {
            (seen.joined, seen.apart) = (true, true);
            if seen.since == to.as_u32() {
                return;
            }
            seen.since = to.as_u32();
        }
        // The ways meet again, or the next iteration begins.
        if Some(to) != stop && !self.graphs.is_header_around(to, branch) {
            self.push(to);
        }
    }

    /// What the last branch changed.
    fn collect(&mut self, level: Uniformity, stop: Option<BlockId>, changes: &mut Changes) {
        for block in core::mem::take(&mut self.visited) {
            let visit = self.visits[block.as_u32() as usize];
            let join = &mut self.joins[block.as_u32() as usize];
            if visit.joined && *join < level {
                *join = level;
                changes.joins.push(block);
            }
            let since = self.visits[visit.since as usize];
            let apart = visit.apart || since.apart && since.query == self.query;
            if level == Uniformity::Varying && apart && Some(block) != stop {
                self.split(block, changes);
            }
        }
    }

    /// Lanes come one after the other to a block and to all that it dominates.
    fn split(&mut self, block: BlockId, changes: &mut Changes) {
        let mut work = vec![block];
        while let Some(block) = work.pop() {
            if let Some(split @ false) = self.split.get_mut(block.as_u32() as usize) {
                *split = true;
                changes.split.push(block);
                work.extend(self.graphs.children.row(block.as_u32()));
            }
        }
    }

    /// Nothing is known about the ways of threads any more.
    fn give_up(&mut self, level: Uniformity) -> Changes {
        if self.given_up.is_some_and(|before| before >= level) {
            return Changes::default();
        }
        self.given_up = Some(level);
        let raise = |all: &mut [Uniformity]| all.iter_mut().for_each(|of| *of = of.join(level));
        raise(&mut self.joins);
        raise(&mut self.exits);
        raise(&mut self.in_step);
        self.any_exits = true;
        self.split.fill(true);
        let blocks = || self.graphs.cfg.blocks().map(|(id, _)| id).collect();
        Changes {
            joins: blocks(),
            split: blocks(),
            loops: true,
        }
    }
}
