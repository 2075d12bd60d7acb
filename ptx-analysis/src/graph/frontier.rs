//! Dominance frontiers: where the dominance of a node ends.

use super::{Csr, Dominators, Graph};
use alloc::collections::BinaryHeap;
use alloc::vec;
use alloc::vec::Vec;

/// For each node `a` the nodes `b` such that `a` dominates a predecessor of `b` but does not strictly dominate `b`.
///
/// Time and memory are the size of the result, which is quadratic in nests of loops: where only the joins of some
/// definitions matter, ask [`iterated_frontier`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frontiers(Csr);

impl Frontiers {
    /// The frontiers of the reached nodes of `graph`, whose dominators are `dominators`.
    pub fn new(graph: &impl Graph, dominators: &Dominators) -> Self {
        let mut pairs = Vec::new();
        let mut seen_for = vec![super::NONE; graph.node_count() as usize];
        for join in (0..graph.node_count()).filter(|&n| dominators.is_reachable(n)) {
            let stop = dominators.immediate(join);
            for &from in graph.predecessors(join) {
                for node in dominators
                    .ancestors(from)
                    .take_while(|&node| Some(node) != stop)
                {
                    // From here up another predecessor has been before.
                    if seen_for[node as usize] == join {
                        break;
                    }
                    seen_for[node as usize] = join;
                    pairs.push((node, join));
                }
            }
        }
        Self(Csr::new(graph.node_count() as usize, pairs.iter().copied()))
    }

    /// The frontier of `node`, ascending; empty for a node not reached.
    pub fn of(&self, node: u32) -> &[u32] {
        self.0.row(node)
    }
}

/// The frontier of a set of nodes, of that set with its frontier, and so on: where definitions in `nodes` need merges.
///
/// Ascending. One walk over the dominator tree from the deepest nodes up (Sreedhar and Gao): O(E + V log V) however
/// large the frontiers of single nodes are.
pub fn iterated_frontier(
    graph: &impl Graph,
    dominators: &Dominators,
    children: &Csr,
    nodes: &[u32],
) -> Vec<u32> {
    let count = graph.node_count() as usize;
    let (mut queued, mut walked) = (vec![false; count], vec![false; count]);
    let mut found = vec![false; count];
    let mut queue = BinaryHeap::new();
    for &node in nodes.iter().filter(|&&n| dominators.is_reachable(n)) {
        if !core::mem::replace(&mut queued[node as usize], true) {
            queue.push((dominators.depth(node), node));
        }
    }
    let mut stack = Vec::new();
    while let Some((depth, root)) = queue.pop() {
        walked[root as usize] = true;
        stack.push(root);
        while let Some(node) = stack.pop() {
            for &to in graph.successors(node) {
                // Deeper targets are dominated by the root; they end no dominance of it.
                if dominators.immediate(to) == Some(node) || dominators.depth(to) > depth {
                    continue;
                }
                found[to as usize] = true;
                if !core::mem::replace(&mut queued[to as usize], true) {
                    queue.push((dominators.depth(to), to));
                }
            }
            for &child in children.row(node) {
                if !core::mem::replace(&mut walked[child as usize], true) {
                    stack.push(child);
                }
            }
        }
    }
    (0..count as u32).filter(|&n| found[n as usize]).collect()
}
