//! Depth-first search and the orders it gives.

use super::{Graph, NONE, some};
use alloc::vec;
use alloc::vec::Vec;

/// A depth-first search from the entry, taking successors in their order. Linear.
#[derive(Clone, Debug)]
pub struct DepthFirst {
    preorder: Vec<u32>,
    postorder: Vec<u32>,
    parent: Vec<u32>,
    /// Position in `preorder`.
    number: Vec<u32>,
    /// The highest number in the node's subtree.
    last: Vec<u32>,
}

impl DepthFirst {
    /// Searches what the entry reaches.
    pub fn new(graph: &impl Graph) -> Self {
        Self::from_roots(graph, core::iter::once(graph.entry()))
    }

    /// Searches from the entry, then from each node not seen yet, in ascending order: every node is reached.
    pub fn whole(graph: &impl Graph) -> Self {
        Self::from_roots(
            graph,
            core::iter::once(graph.entry()).chain(0..graph.node_count()),
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
                if let Some(&next) = graph.successors(node).get(*done as usize) {
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
    pub fn preorder(&self) -> &[u32] {
        &self.preorder
    }

    /// The nodes reached, each behind all that was discovered from it.
    pub fn postorder(&self) -> &[u32] {
        &self.postorder
    }

    /// From where `node` was discovered.
    pub fn parent(&self, node: u32) -> Option<u32> {
        self.parent.get(node as usize).copied().and_then(some)
    }

    /// The position of `node` in [`DepthFirst::preorder`]; `None` where the search did not get.
    pub fn number(&self, node: u32) -> Option<u32> {
        self.number.get(node as usize).copied().and_then(some)
    }

    /// Whether the search reached `node`.
    pub fn is_reachable(&self, node: u32) -> bool {
        self.number(node).is_some()
    }

    /// Whether `below` is `above` or was discovered from it, directly or not.
    pub fn is_ancestor(&self, above: u32, below: u32) -> bool {
        match (self.number(above), self.number(below)) {
            (Some(from), Some(number)) => from <= number && number <= self.last[above as usize],
            _ => false,
        }
    }
}

/// The nodes that the entry reaches, each before its successors but for retreating edges. Linear.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReversePostOrder {
    order: Vec<u32>,
    position: Vec<u32>,
}

impl ReversePostOrder {
    /// The order of what the entry reaches.
    pub fn new(graph: &impl Graph) -> Self {
        Self::from_search(graph, DepthFirst::new(graph))
    }

    /// The order of all nodes, those that the entry does not reach among them: see [`DepthFirst::whole`].
    pub fn whole(graph: &impl Graph) -> Self {
        Self::from_search(graph, DepthFirst::whole(graph))
    }

    fn from_search(graph: &impl Graph, search: DepthFirst) -> Self {
        let mut order = search.postorder;
        order.reverse();
        let mut position = vec![NONE; graph.node_count() as usize];
        for (i, &node) in order.iter().enumerate() {
            position[node as usize] = i as u32;
        }
        Self { order, position }
    }

    /// The nodes in order.
    pub fn order(&self) -> &[u32] {
        &self.order
    }

    /// Where `node` stands in the order; `None` for a node outside.
    pub fn position(&self, node: u32) -> Option<u32> {
        self.position.get(node as usize).copied().and_then(some)
    }
}
