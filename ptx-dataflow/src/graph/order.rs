//! Depth-first search, and the orders of nodes that follow from it.

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

    /// Searches from the entry, then from each node that was not reached, in ascending order: every node is reached.
    pub(crate) fn whole(graph: &impl Graph) -> Self {
        Self::from_roots(
            graph,
            core::iter::once(graph.root()).chain(0..graph.node_count()),
        )
    }

    fn from_roots(graph: &impl Graph, roots: impl Iterator<Item = u32>) -> Self {
        let nodes = graph.node_count() as usize;
        let mut search = Self {
            preorder: Vec::with_capacity(nodes),
            postorder: Vec::with_capacity(nodes),
            parent: vec![NONE; nodes],
            number: vec![NONE; nodes],
            last: vec![NONE; nodes],
        };
        // A node and the number of its successors that were visited.
        let mut stack: Vec<(u32, u32)> = Vec::new();
        for root in roots {
            if search.number.get(root as usize) == Some(&NONE) {
                search.discover(root, &mut stack);
            }
            while let Some((node, visited)) = stack.last_mut() {
                let node = *node;
                if let Some(next) = graph.succ_at(node, *visited as usize) {
                    *visited += 1;
                    if search.number[next as usize] == NONE {
                        search.parent[next as usize] = node;
                        search.discover(next, &mut stack);
                    }
                } else {
                    search.last[node as usize] = search.preorder.len() as u32 - 1;
                    search.postorder.push(node);
                    stack.pop();
                }
            }
        }
        search
    }

    fn discover(&mut self, node: u32, stack: &mut Vec<(u32, u32)>) {
        self.number[node as usize] = self.preorder.len() as u32;
        self.preorder.push(node);
        stack.push((node, 0));
    }

    /// The reached nodes, in the order of discovery.
    pub(crate) fn preorder(&self) -> &[u32] {
        &self.preorder
    }

    /// The reached nodes, each after all nodes that were discovered from it.
    pub(crate) fn postorder(&self) -> &[u32] {
        &self.postorder
    }

    /// The node from which `node` was discovered.
    pub(crate) fn parent(&self, node: u32) -> Option<u32> {
        self.parent.get(node as usize).copied().and_then(some)
    }

    /// The position of `node` in [`DepthFirst::preorder`]; `None` for a node that was not reached.
    pub(crate) fn number(&self, node: u32) -> Option<u32> {
        self.number.get(node as usize).copied().and_then(some)
    }

    /// Returns whether `descendant` is `ancestor` or was discovered from it, directly or not.
    pub(crate) fn is_ancestor(&self, ancestor: u32, descendant: u32) -> bool {
        match (self.number(ancestor), self.number(descendant)) {
            (Some(first), Some(number)) => {
                first <= number && number <= self.last[ancestor as usize]
            }
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
    /// The order of the nodes that the entry reaches.
    #[doc(hidden)]
    pub fn new(graph: &impl Graph<Node = N>) -> Self {
        Self::from_search(graph, &DepthFirst::new(graph))
    }

    /// The order of all nodes: after those that the entry reaches, searches start at each node that was not reached, in ascending
    /// order.
    #[doc(hidden)]
    pub fn whole(graph: &impl Graph<Node = N>) -> Self {
        Self::from_search(graph, &DepthFirst::whole(graph))
    }

    fn from_search(graph: &impl Graph<Node = N>, search: &DepthFirst) -> Self {
        let mut position = vec![NONE; graph.node_count() as usize];
        let mut order = Vec::with_capacity(search.postorder.len());
        for &node in search.postorder.iter().rev() {
            position[node as usize] = order.len() as u32;
            order.push(N::from_u32(node));
        }
        Self { order, position }
    }

    /// The nodes in order.
    #[must_use]
    pub fn order(&self) -> &[N] {
        &self.order
    }

    /// The position of `node` in the order; `None` for a node that is not in it.
    pub fn position(&self, node: N) -> Option<u32> {
        self.position
            .get(node.as_u32() as usize)
            .copied()
            .and_then(some)
    }
}
