//! Dominance frontiers: the nodes where the dominance of a node ends.

use super::{Csr, DominatorTree, Dominators, Graph, Node, Numbered as _};
use crate::shared_sets::{SetId, SharedSets, Visited, WordUpdate, push_updates};
use alloc::vec::Vec;
use core::marker::PhantomData;

/// For each node `a` the nodes `b` such that `a` dominates a predecessor of `b` but does not strictly dominate `b`.
///
/// The sets are quadratic in nests of loops, but they share what they have in common: time and memory are
/// `O((V + E) log V)`. To place phis, use [`IteratedFrontiers`].
#[derive(Clone, Debug)]
pub struct Frontiers<N = u32> {
    sets: SharedSets,
    /// The frontier of each node.
    set_ids: Vec<SetId>,
    nodes: PhantomData<fn(N) -> N>,
}

impl<N: Node> Frontiers<N> {
    /// The frontiers of the reachable nodes of `graph`, whose dominators are `dominators`.
    ///
    /// ```
    /// use ptx_dataflow::graph::Dominators;
    /// use ptx_dataflow::internals::{Digraph, Frontiers};
    /// let graph = Digraph::new(4, 0, &[(0, 1), (0, 2), (1, 3), (2, 3)])?;
    /// let frontiers = Frontiers::new(&graph, &Dominators::new(&graph));
    /// assert!(frontiers.contains(1, 3) && frontiers.contains(2, 3) && !frontiers.contains(0, 3));
    /// # Ok::<(), ptx_dataflow::internals::BadGraph>(())
    /// ```
    pub fn new(graph: &impl Graph<Node = N>, dominators: &Dominators<N>) -> Self {
        Self::from_tree(graph, dominators.tree())
    }

    /// Computes the frontiers of a graph whose node ids may be of another type.
    pub(crate) fn from_tree(graph: &impl Graph, dominators: &DominatorTree) -> Self {
        let count = graph.node_count();
        let mut sets = SharedSets::new(count);
        let mut set_ids = vec![SetId::EMPTY; count as usize];
        let children: Csr = dominators.children();
        let mut updates: Vec<WordUpdate> = Vec::new();
        // Children come before their parents. The frontier of a parent has the nodes of its children's frontiers that it does not dominate.
        for &node in dominators.order().iter().rev() {
            let children = children.row(node);
            let mut frontier = SetId::EMPTY;
            for &child in children {
                frontier = sets.union(frontier, set_ids[child as usize]);
            }
            let joins = graph
                .succ(node)
                .filter(|&to| dominators.immediate(to) != Some(node));
            updates.clear();
            push_updates(&mut updates, joins, children.iter().copied());
            set_ids[node as usize] = sets.update(frontier, &updates);
        }
        Self {
            sets,
            set_ids,
            nodes: PhantomData,
        }
    }

    /// The frontier of `node`, ascending; empty for an unreachable node.
    pub fn of(&self, node: N) -> impl Iterator<Item = N> + '_ {
        let numbers = self.sets.iter(self.set(node.as_u32()));
        numbers.map(N::from_u32)
    }

    /// Returns whether `join` is in the frontier of `node`. Logarithmic.
    pub fn contains(&self, node: N, join: N) -> bool {
        let frontier = self.set(node.as_u32());
        self.sets.contains(frontier, join.as_u32())
    }

    fn set(&self, node: u32) -> SetId {
        self.set_ids
            .get(node as usize)
            .copied()
            .unwrap_or(SetId::EMPTY)
    }
}

/// Iterated dominance frontiers: the frontier of a set of nodes, of that set with its frontier, and so on. This is where
/// definitions in those nodes need phis.
///
/// A query costs `O(k log V)` for `k` nodes that are kept or rejected, as parts of frontiers that were already visited
/// are skipped. A value may be used for any number of queries.
#[derive(Clone, Debug)]
pub struct IteratedFrontiers<'a, N = u32> {
    frontiers: &'a Frontiers<N>,
    visited: Visited,
    /// The number of the last query that reached each node.
    last_query: Vec<u32>,
    query: u32,
    worklist: Vec<u32>,
}

impl<'a, N: Node> IteratedFrontiers<'a, N> {
    /// Prepares queries.
    #[must_use]
    pub fn new(frontiers: &'a Frontiers<N>) -> Self {
        Self {
            frontiers,
            visited: Visited::new(&frontiers.sets),
            last_query: vec![0; frontiers.set_ids.len()],
            query: 0,
            worklist: Vec::new(),
        }
    }

    /// The iterated frontier of `nodes`, ascending.
    ///
    /// `keep` is called once for each candidate. If it returns `false`, the candidate is left out, and its own frontier is not followed.
    pub fn of(&mut self, nodes: &[N], mut keep: impl FnMut(N) -> bool) -> Vec<N> {
        self.query += 1;
        self.visited.clear();
        let mut frontier = Vec::new();
        self.worklist.extend(nodes.iter().map(|n| n.as_u32()));
        while let Some(node) = self.worklist.pop() {
            let set = self.frontiers.set(node);
            for number in self.frontiers.sets.iter_unvisited(set, &mut self.visited) {
                let Some(last_query) = self.last_query.get_mut(number as usize) else {
                    continue;
                };
                let node = N::from_u32(number);
                if core::mem::replace(last_query, self.query) != self.query && keep(node) {
                    frontier.push(node);
                    self.worklist.push(number);
                }
            }
        }
        frontier.sort_unstable();
        frontier
    }
}
