//! From block to block: where phis stand and what arrives.
//!
//! For one variable: the blocks where it is live, backwards from its reads; the iterated frontier of its writes among
//! them (the walk of Sreedhar and Gao over the dominator tree, kept to the live blocks: a branch of the tree where the
//! variable is not live either writes it again or never meets a live join); then up the dominator tree to the value.

use alloc::collections::BinaryHeap;
use alloc::vec::Vec;

use super::local::{Last, Local, Slot};
use super::{Ssa, Value, ValueId};
use crate::cfg::{BlockId, Cfg};
use crate::graph::{Csr, Dominators, Graph};

const NONE: u32 = u32::MAX;

/// A block, as the variable at hand sees it.
#[derive(Copy, Clone)]
struct Node {
    /// The variable for which the rest is right, counted from one.
    stamp: u32,
    live: bool,
    queued: bool,
    walked: bool,
    phi: bool,
    ends: bool,
    /// The last write.
    last: Option<ValueId>,
    /// What it begins with, once known.
    begins: Option<ValueId>,
    /// Lists: live children in the dominator tree, and edges to live blocks that are no children.
    child: u32,
    sibling: u32,
    edge: u32,
}

const FRESH: Node = Node {
    stamp: 0,
    live: false,
    queued: false,
    walked: false,
    phi: false,
    ends: false,
    last: None,
    begins: None,
    child: NONE,
    sibling: NONE,
    edge: NONE,
};

struct Follow<'a> {
    cfg: &'a Cfg,
    dominators: &'a Dominators,
    nodes: Vec<Node>,
    stamp: u32,
    /// The blocks where the variable is live, in the order found.
    live: Vec<u32>,
    /// Edges between them: the next one from the same block, and where it goes.
    edges: Vec<(u32, u32)>,
    joins: Vec<u32>,
    work: Vec<u32>,
    queue: BinaryHeap<(u32, u32)>,
    entry: ValueId,
}

pub(super) fn follow(cfg: &Cfg, dominators: &Dominators, local: Local) -> Ssa {
    let Local {
        mut values,
        mut uses,
        mut returned,
        use_starts,
        def_starts,
        places,
        exposed,
        lasts,
        variables,
    } = local;
    let rows = variables as usize + 1;
    let by_variable = |pairs: &mut dyn Iterator<Item = u32>| {
        let pairs: Vec<(u32, u32)> = pairs.zip(0u32..).collect();
        Csr::new(rows, pairs.iter().copied())
    };
    let readers = by_variable(&mut exposed.iter().map(|e| e.0));
    let writers = by_variable(&mut lasts.iter().map(|l| l.variable));
    let mut state = Follow {
        cfg,
        dominators,
        nodes: alloc::vec![FRESH; cfg.len()],
        stamp: 0,
        live: Vec::new(),
        edges: Vec::new(),
        joins: Vec::new(),
        work: Vec::new(),
        queue: BinaryHeap::new(),
        entry: Ssa::UNKNOWN,
    };
    // Entries and phis get their numbers behind all definitions, phis last.
    let mut phis: Vec<(u32, u32)> = Vec::new();
    let mut args = Vec::new();
    let mut arg_starts = alloc::vec![0];
    let live_at_entry = entries(&mut state, &readers, &writers, &exposed, &lasts, rows);
    let first_entry = values.len() as u32;
    values.extend(
        live_at_entry
            .iter()
            .map(|&variable| Value::Entry { variable }),
    );
    let first_phi = values.len() as u32;
    let mut next_entry = 0;
    for variable in 0..rows as u32 {
        let readers = readers.row(variable);
        let written = writers.row(variable);
        state.begin(readers, written, &exposed, &lasts);
        if state.live.is_empty() {
            continue;
        }
        state.entry = Ssa::UNKNOWN;
        if live_at_entry.get(next_entry) == Some(&variable) {
            state.entry = ValueId(first_entry + next_entry as u32);
            next_entry += 1;
        }
        state.find_joins(written, &lasts);
        for i in 0..state.joins.len() {
            let Some(&block) = state.joins.get(i) else {
                break;
            };
            let phi = ValueId(values.len() as u32);
            state.node(block).begins = Some(phi);
            phis.push((block, phi.0));
            values.push(Value::Phi {
                block: BlockId::new(block),
                variable,
            });
        }
        for i in 0..state.joins.len() {
            let Some(&block) = state.joins.get(i) else {
                break;
            };
            for &from in cfg.predecessors(block) {
                args.push(state.exit_value(from));
            }
            if block == cfg.entry() {
                args.push(state.entry);
            }
            arg_starts.push(args.len() as u32);
        }
        for &slot in readers {
            let Some(&(_, block, slot)) = exposed.get(slot as usize) else {
                continue;
            };
            if !state.is_live(block) {
                continue;
            }
            let value = state.entry_value(block);
            match slot {
                Slot::Through => {}
                Slot::Use(number) => {
                    if let Some(read) = uses.get_mut(number as usize) {
                        read.value = value;
                    }
                }
                Slot::Returned(number) => {
                    if let Some(result) = returned.get_mut(number as usize) {
                        result.value = value;
                    }
                }
                Slot::Old(merge) => {
                    if let Some(Value::Def { old, .. }) = values.get_mut(merge.0 as usize) {
                        *old = Some(value);
                    }
                }
            }
        }
    }
    Ssa {
        values,
        uses,
        returned,
        use_starts,
        def_starts,
        places,
        phis: Csr::new(cfg.len(), phis.iter().copied()),
        args,
        arg_starts,
        first_phi,
        carry: variables,
    }
}

/// The variables live where the function begins.
fn entries(
    state: &mut Follow<'_>,
    readers: &Csr,
    writers: &Csr,
    exposed: &[(u32, u32, Slot)],
    lasts: &[Last],
    rows: usize,
) -> Vec<u32> {
    let mut found = Vec::new();
    for variable in 0..rows as u32 {
        state.begin(readers.row(variable), writers.row(variable), exposed, lasts);
        if state.is_live(Cfg::ENTRY.as_u32()) {
            found.push(variable);
        }
    }
    found
}

impl Follow<'_> {
    /// The block; one that does not exist cannot come from the graph.
    fn node(&mut self, block: u32) -> &mut Node {
        let stamp = self.stamp;
        let node = &mut self.nodes[block as usize];
        if node.stamp != stamp {
            *node = Node { stamp, ..FRESH };
        }
        node
    }

    fn is_live(&self, block: u32) -> bool {
        let node = self.nodes.get(block as usize);
        node.is_some_and(|n| n.stamp == self.stamp && n.live)
    }

    /// Starts with the next variable: marks its writes and finds where it is live.
    fn begin(
        &mut self,
        readers: &[u32],
        writers: &[u32],
        exposed: &[(u32, u32, Slot)],
        lasts: &[Last],
    ) {
        self.stamp += 1;
        self.live.clear();
        for last in writers.iter().filter_map(|&w| lasts.get(w as usize)) {
            let node = self.node(last.block);
            (node.last, node.ends) = (Some(last.value), last.ends);
        }
        for &(_, block, slot) in readers.iter().filter_map(|&r| exposed.get(r as usize)) {
            if !matches!(slot, Slot::Old(_)) {
                self.mark_live(block);
            }
        }
        let mut next = 0;
        while let Some(&block) = self.live.get(next) {
            next += 1;
            for &from in self.cfg.predecessors(block) {
                if !self.node(from).ends {
                    self.mark_live(from);
                }
            }
        }
    }

    fn mark_live(&mut self, block: u32) {
        if self.dominators.is_reachable(block)
            && !core::mem::replace(&mut self.node(block).live, true)
        {
            self.live.push(block);
        }
    }

    /// The live blocks where different values meet.
    fn find_joins(&mut self, writers: &[u32], lasts: &[Last]) {
        self.joins.clear();
        let reached = |l: &&Last| self.dominators.is_reachable(l.block);
        let written = writers.iter().filter_map(|&w| lasts.get(w as usize));
        let roots: Vec<u32> = written.filter(reached).map(|l| l.block).collect();
        if roots.is_empty() {
            return;
        }
        self.link();
        for block in roots {
            self.enqueue(block);
        }
        let mut work = core::mem::take(&mut self.work);
        while let Some((depth, root)) = self.queue.pop() {
            self.node(root).walked = true;
            work.push(root);
            while let Some(block) = work.pop() {
                let mut edge = self.node(block).edge;
                while let Some(&(next, to)) = self.edges.get(edge as usize) {
                    edge = next;
                    // Deeper targets are dominated by the root; they end no dominance of it.
                    if self.dominators.depth(to) <= depth
                        && !core::mem::replace(&mut self.node(to).phi, true)
                    {
                        self.joins.push(to);
                        self.enqueue(to);
                    }
                }
                let mut child = self.node(block).child;
                while child != NONE {
                    if !core::mem::replace(&mut self.node(child).walked, true) {
                        work.push(child);
                    }
                    child = self.node(child).sibling;
                }
            }
        }
        self.work = work;
        self.joins.sort_unstable();
    }

    fn enqueue(&mut self, block: u32) {
        if !core::mem::replace(&mut self.node(block).queued, true) {
            self.queue.push((self.dominators.depth(block), block));
        }
    }

    /// Lists the tree edges and the other edges between live blocks at the block they come from.
    fn link(&mut self) {
        self.edges.clear();
        for i in 0..self.live.len() {
            let Some(&block) = self.live.get(i) else {
                break;
            };
            let above = self.dominators.immediate(block);
            if let Some(above) = above {
                let first = core::mem::replace(&mut self.node(above).child, block);
                self.node(block).sibling = first;
            }
            for &from in self.cfg.predecessors(block) {
                if Some(from) != above && self.dominators.is_reachable(from) {
                    let number = self.edges.len() as u32;
                    let next = core::mem::replace(&mut self.node(from).edge, number);
                    self.edges.push((next, block));
                }
            }
        }
    }

    /// The value with which a live block begins.
    fn entry_value(&mut self, block: u32) -> ValueId {
        let mut work = core::mem::take(&mut self.work);
        let mut at = block;
        let value = loop {
            let node = self.node(at);
            if let Some(value) = node.begins {
                break value;
            }
            work.push(at);
            let Some(above) = self.dominators.immediate(at) else {
                break self.entry;
            };
            if let Some(value) = self.node(above).last {
                break value;
            }
            at = above;
        };
        while let Some(below) = work.pop() {
            self.node(below).begins = Some(value);
        }
        self.work = work;
        value
    }

    /// The value at the end of a block.
    fn exit_value(&mut self, block: u32) -> ValueId {
        if !self.dominators.is_reachable(block) {
            return Ssa::UNKNOWN;
        }
        let last = self.node(block).last;
        last.unwrap_or_else(|| self.entry_value(block))
    }
}
