//! Depth-first search and the orders it gives.

use super::{Graph, NONE, Node, Numbered as _, some};
use alloc::vec::Vec;

/// A depth-first search from the entry, taking successors in their order. Linear.
#[derive(Clone, Debug)]
pub(crate) struct DepthFirst {
    preorder: Vec<u32>,
    postorder: Vec<u32>,
    parent: Vec<u32>,
    /// The position in `preorder`.
    number: Vec<u32>,
    /// The highest number in the node's subtree.
    last: Vec<u32>,
}

impl DepthFirst {
    /// Searches the nodes that the entry reaches.
    pub(crate) fn new(graph: &impl Graph) -> Self {
        Self::from_roots(graph, core::iter::once(graph.root()))
    }

    /// Searches from the entry, then from each node not seen yet, in ascending order: every node is reached.
    pub(crate) fn whole(graph: &impl Graph) -> Self {
        Self::from_roots(
            graph,
            core::iter::once(graph.root()).chain(0..graph.node_count()),
        )
    }

    fn from_roots(graph: &impl Graph, roots: impl Iterator<Item = u32>) -> Self {
        let nodes = graph.node_count() as usize;
        let mut dfs = Self {
            preorder: Vec::with_capacity(nodes),
            postorder: Vec::with_capacity(nodes),
            parent: vec![NONE; nodes],
            number: vec![NONE; nodes],
            last: vec![NONE; nodes],
        };
        // A node and how many of its successors are done.
        let mut stack: Vec<(u32, u32)> = Vec::new();
        for root in roots {
            if dfs.number.get(root as usize) == Some(&NONE) {
                dfs.discover(root, &mut stack);
            }
            while let Some((node, done)) = stack.last_mut() {
                let node = *node;
                if let Some(next) = graph.succ_at(node, *done as usize) {
                    *done += 1;
                    if dfs.number[next as usize] == NONE {
                        dfs.parent[next as usize] = node;
                        dfs.discover(next, &mut stack);
                    }
                } else {
                    dfs.last[node as usize] = dfs.preorder.len() as u32 - 1;
                    dfs.postorder.push(node);
                    stack.pop();
                }
            }
        }
        dfs
    }

    fn discover(&mut self, node: u32, stack: &mut Vec<(u32, u32)>) {
        self.number[node as usize] = self.preorder.len() as u32;
        self.preorder.push(node);
        stack.push((node, 0));
    }

    /// The nodes reached, in the order of discovery.
    pub(crate) fn preorder(&self) -> &[u32] {
        &self.preorder
    }

    /// The nodes reached, each after all that was discovered from it.
    pub(crate) fn postorder(&self) -> &[u32] {
        &self.postorder
    }

    /// The node from which `node` was discovered.
    pub(crate) fn parent(&self, node: u32) -> Option<u32> {
        self.parent.get(node as usize).copied().and_then(some)
    }

    /// The position of `node` in [`DepthFirst::preorder`]; `None` for a node not reached.
    pub(crate) fn number(&self, node: u32) -> Option<u32> {
        self.number.get(node as usize).copied().and_then(some)
    }

    /// Whether `below` is `above` or was discovered from it, directly or not.
    pub(crate) fn is_ancestor(&self, above: u32, below: u32) -> bool {
        match (self.number(above), self.number(below)) {
            (Some(from), Some(number)) => from <= number && number <= self.last[above as usize],
            _ => false,
        }
    }
}

/// The nodes that the entry reaches, each before its successors except along retreating edges. Linear.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReversePostOrder<N = u32> {
    order: Vec<N>,
    position: Vec<u32>,
}

impl<N: Node> ReversePostOrder<N> {
    /// The order of what the entry reaches.
    pub fn new(graph: &impl Graph<Node = N>) -> Self {
        Self::from_search(graph, &DepthFirst::new(graph))
    }

    /// The order of all nodes: after those that the entry reaches, searches start at each node not seen yet, in ascending
    /// order.
    pub fn whole(graph: &impl Graph<Node = N>) -> Self {
        Self::from_search(graph, &DepthFirst::whole(graph))
    }

    fn from_search(graph: &impl Graph<Node = N>, search: &DepthFirst) -> Self {
        let mut position = vec![NONE; graph.node_count() as usize];
        for (at, &node) in (0u32..).zip(search.postorder.iter().rev()) {
            position[node as usize] = at;
        }
        let order = search.postorder.iter().rev();
        Self {
            order: order.map(|&n| N::from_u32(n)).collect(),
            position,
        }
    }

    /// The nodes in order.
    #[must_use]
    pub fn order(&self) -> &[N] {
        &self.order
    }

    /// The position of `node` in the order; `None` for a node that is not in it.
    pub fn position(&self, node: N) -> Option<u32> {
        self.position_of(node.as_u32())
    }

    pub(crate) fn position_of(&self, node: u32) -> Option<u32> {
        self.position.get(node as usize).copied().and_then(some)
    }
}
