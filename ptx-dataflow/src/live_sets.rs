//! The sets of variables that are live at the start and at the end of each block.
//!
//! The least solution of `live_in = uses ∪ (live_out − kills)` and `live_out = at_end ∪ ⋃ live_in of the successors`,
//! by a worklist in post-order. The sets share equal parts (see [`SharedSets`]): time and memory are linear in the differences between
//! neighboring blocks, not in the sizes of the sets.

use alloc::collections::BinaryHeap;
use alloc::vec::Vec;
use core::cmp::Reverse;

use crate::graph::{Csr, DepthFirst, Graph, Numbered as _};
use crate::reg_lanes::VariableId;
use crate::shared_sets::{SetId, SharedSets, WordUpdate, push_updates};

/// The effects of blocks on variables: for each block a row of variables below `bound`.
pub(crate) struct Effects<'a> {
    /// Variables that are read before any unconditional write in the block.
    pub(crate) uses: &'a Csr<VariableId>,
    /// Variables that are written unconditionally.
    pub(crate) kills: &'a Csr<VariableId>,
    /// Variables that are read after the function, where the block returns.
    pub(crate) at_end: &'a Csr<VariableId>,
    /// One more than the greatest variable.
    pub(crate) bound: u32,
}

/// The live sets of a function.
#[derive(Clone, Debug)]
pub(crate) struct LiveSets {
    pub(crate) sets: SharedSets,
    live_in: Vec<SetId>,
    live_out: Vec<SetId>,
}

impl LiveSets {
    /// Solves the equations for all blocks of `graph`, reachable or not.
    pub(crate) fn new(graph: &impl Graph, effects: &Effects<'_>) -> Self {
        let blocks = graph.node_count() as usize;
        let search = DepthFirst::whole(graph);
        let mut solver = Solver {
            graph,
            order: search.postorder(),
            position: vec![0; blocks],
            worklist: BinaryHeap::new(),
            queued: vec![true; blocks],
            updates: Vec::new(),
            starts: Vec::with_capacity(blocks + 1),
            solution: Self {
                sets: SharedSets::new(effects.bound),
                live_in: vec![SetId::EMPTY; blocks],
                live_out: vec![SetId::EMPTY; blocks],
            },
        };
        solver.initialize(effects);
        // Each block once; after that, the worklist has the blocks whose successors changed.
        for position in 0..blocks as u32 {
            solver.visit(position);
        }
        while let Some(Reverse(position)) = solver.worklist.pop() {
            solver.visit(position);
        }
        solver.solution
    }

    /// The variables that are live before the first instruction of a block.
    pub(crate) fn live_in(&self, block: u32) -> SetId {
        get(&self.live_in, block)
    }

    /// The variables that are live after the last instruction of a block.
    pub(crate) fn live_out(&self, block: u32) -> SetId {
        get(&self.live_out, block)
    }

    /// Returns whether a variable is live before the first instruction of a block.
    pub(crate) fn is_live_in(&self, block: u32, variable: VariableId) -> bool {
        self.sets.contains(self.live_in(block), variable.as_u32())
    }

    /// The sets at the start and at the end of every block.
    pub(crate) fn all(&self) -> impl Iterator<Item = SetId> + '_ {
        self.live_in.iter().chain(&self.live_out).copied()
    }
}

fn get(sets: &[SetId], block: u32) -> SetId {
    sets.get(block as usize).copied().unwrap_or(SetId::EMPTY)
}

fn numbers(variables: &[VariableId]) -> impl Iterator<Item = u32> + '_ {
    variables.iter().map(|variable| variable.as_u32())
}

struct Solver<'a, G> {
    graph: &'a G,
    order: &'a [u32],
    /// The position of each block in `order`.
    position: Vec<u32>,
    /// The positions of the blocks that have to be visited again.
    worklist: BinaryHeap<Reverse<u32>>,
    /// Whether each block has to be visited.
    queued: Vec<bool>,
    /// The updates of each block, from the set at its end to that at its start, and their first indices by block.
    updates: Vec<WordUpdate>,
    starts: Vec<usize>,
    solution: LiveSets,
}

impl<G: Graph> Solver<'_, G> {
    /// Collects the updates of blocks, and sets the ends of blocks that return.
    fn initialize(&mut self, effects: &Effects<'_>) {
        for (index, &block) in (0u32..).zip(self.order) {
            if let Some(position) = self.position.get_mut(block as usize) {
                *position = index;
            }
        }
        for block in 0..self.graph.node_count() {
            self.starts.push(self.updates.len());
            push_updates(
                &mut self.updates,
                numbers(effects.uses.row(block)),
                numbers(effects.kills.row(block)),
            );
            let mut at_end = Vec::new();
            let read_at_end = numbers(effects.at_end.row(block));
            push_updates(&mut at_end, read_at_end, core::iter::empty());
            if let Some(live_out) = self.solution.live_out.get_mut(block as usize) {
                *live_out = self.solution.sets.update(SetId::EMPTY, &at_end);
            }
        }
        self.starts.push(self.updates.len());
    }

    /// Updates the start of the block at a position from its end, and the ends of its predecessors if the start changed.
    fn visit(&mut self, position: u32) {
        let Some(&block) = self.order.get(position as usize) else {
            return;
        };
        let index = block as usize;
        let (Some(queued), Some(&first), Some(&end)) = (
            self.queued.get_mut(index),
            self.starts.get(index),
            self.starts.get(index + 1),
        ) else {
            return;
        };
        *queued = false;
        let updates = self.updates.get(first..end).unwrap_or_default();
        let live_out = get(&self.solution.live_out, block);
        let new_live_in = self.solution.sets.update(live_out, updates);
        let Some(live_in) = self.solution.live_in.get_mut(index) else {
            return;
        };
        if core::mem::replace(live_in, new_live_in) == new_live_in {
            return;
        }
        for predecessor in self.graph.pred(block) {
            self.flow(new_live_in, predecessor);
        }
    }

    /// Adds the live set at the start of a successor to the end of a block.
    fn flow(&mut self, live: SetId, block: u32) {
        let index = block as usize;
        let (Some(live_out), Some(queued)) = (
            self.solution.live_out.get_mut(index),
            self.queued.get_mut(index),
        ) else {
            return;
        };
        let joined = self.solution.sets.union(*live_out, live);
        if core::mem::replace(live_out, joined) != joined && !core::mem::replace(queued, true) {
            let position = self.position.get(index).copied().unwrap_or(0);
            self.worklist.push(Reverse(position));
        }
    }
}
