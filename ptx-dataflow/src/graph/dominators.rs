//! Dominators: `a` dominates `b` if every path from the entry to `b` passes `a`.
//!
//! Computed by semi-NCA (Georgiadis): semidominators with path compression, then the nearest common ancestor by a walk
//! up the tree that is nearly constant in practice. O(E log V) for the first part.

use super::{Csr, DepthFirst, Graph, NONE, Node, Numbered as _, some};
use alloc::vec::Vec;
use core::marker::PhantomData;

/// The dominator tree of the nodes that the entry reaches. Other nodes dominate nothing and are dominated by nothing.
#[derive(Clone, Debug)]
pub struct Dominators<N = u32> {
    tree: DominatorTree,
    nodes: PhantomData<fn(N) -> N>,
}

impl<N: Node> Dominators<N> {
    /// The dominators of the nodes that the entry of `graph` reaches.
    ///
    /// ```
    /// use ptx_dataflow::graph::Dominators;
    /// use ptx_dataflow::internals::Digraph;
    /// let graph = Digraph::new(4, 0, &[(0, 1), (0, 2), (1, 3), (2, 3)])?;
    /// let dominators = Dominators::new(&graph);
    /// assert_eq!(dominators.immediate(3), Some(0));
    /// assert!(dominators.dominates(0, 3) && !dominators.dominates(1, 3));
    /// # Ok::<(), ptx_dataflow::internals::BadGraph>(())
    /// ```
    #[doc(hidden)]
    pub fn new(graph: &impl Graph<Node = N>) -> Self {
        Self {
            tree: DominatorTree::new(graph),
            nodes: PhantomData,
        }
    }

    /// The tree by the numbers of the nodes.
    pub(crate) fn tree(&self) -> &DominatorTree {
        &self.tree
    }

    /// The nearest node that dominates `node` and is not `node`; `None` for the entry and for unreachable nodes.
    pub fn immediate(&self, node: N) -> Option<N> {
        self.tree.immediate(node.as_u32()).map(N::from_u32)
    }

    /// Returns whether the entry reaches `node`.
    pub fn is_reachable(&self, node: N) -> bool {
        self.tree.is_reachable(node.as_u32())
    }

    /// Returns whether `a` dominates `b`; every reachable node dominates itself. Constant time.
    pub fn dominates(&self, a: N, b: N) -> bool {
        self.tree.dominates(a.as_u32(), b.as_u32())
    }

    /// Returns whether `a` dominates `b` and is not `b`.
    pub fn strictly_dominates(&self, a: N, b: N) -> bool {
        a != b && self.dominates(a, b)
    }

    /// `node` and all nodes that dominate it, the nearest first; empty for an unreachable node.
    pub fn ancestors(&self, node: N) -> impl Iterator<Item = N> + '_ {
        let numbers = self.tree.ancestors(node.as_u32());
        numbers.map(N::from_u32)
    }

    /// The nearest node that dominates both nodes.
    pub fn nearest_common(&self, a: N, b: N) -> Option<N> {
        self.tree
            .nearest_common(a.as_u32(), b.as_u32())
            .map(N::from_u32)
    }

    /// The number of nodes that dominate `node`, itself not counted.
    #[doc(hidden)]
    pub fn depth(&self, node: N) -> u32 {
        self.tree.depth(node.as_u32())
    }

    /// The reachable nodes, each after its immediate dominator.
    #[doc(hidden)]
    #[must_use]
    pub fn order(&self) -> impl ExactSizeIterator<Item = N> + DoubleEndedIterator + Clone {
        self.tree.order().iter().map(|&n| N::from_u32(n))
    }

    /// The children in the dominator tree by the number of the parent: the nodes that it dominates immediately. Linear.
    #[doc(hidden)]
    #[must_use]
    pub fn children(&self) -> Csr<N> {
        self.tree.children()
    }
}

/// A dominator tree by the numbers of the nodes; its functions are described at [`Dominators`].
#[derive(Clone, Debug)]
pub(crate) struct DominatorTree {
    idom: Vec<u32>,
    /// The reachable nodes, each after its immediate dominator.
    order: Vec<u32>,
    /// The interval of each node: `a` dominates `b` if the interval of `a` contains the start of that of `b`.
    start: Vec<u32>,
    end: Vec<u32>,
    depth: Vec<u32>,
}

impl DominatorTree {
    pub(crate) fn new(graph: &impl Graph) -> Self {
        let search = DepthFirst::new(graph);
        Self::from_numbers(graph, &search)
    }

    fn from_numbers(graph: &impl Graph, search: &DepthFirst) -> Self {
        let nodes = graph.node_count() as usize;
        let order = search.preorder();
        let parent: Vec<u32> = order
            .iter()
            .map(|&n| search.parent(n).and_then(|p| search.number(p)).unwrap_or(0))
            .collect();
        let by_number = semi_nca(&parent, |number| {
            graph
                .pred(order[number as usize])
                .filter_map(|p| search.number(p))
        });
        let mut idom = vec![NONE; nodes];
        for (number, &node) in order.iter().enumerate().skip(1) {
            idom[node as usize] = order[by_number[number] as usize];
        }
        let (mut start, mut end, mut depth) = (vec![NONE; nodes], vec![0; nodes], vec![0; nodes]);
        let mut size = vec![1u32; order.len()];
        for number in (1..order.len()).rev() {
            size[by_number[number] as usize] += size[number];
        }
        // The next free position inside the interval of each node.
        let mut next_free = vec![0u32; order.len()];
        for (number, &node) in order.iter().enumerate() {
            let next = &mut next_free[by_number[number] as usize];
            let first = *next;
            *next += size[number];
            next_free[number] = first + 1;
            start[node as usize] = first;
            end[node as usize] = first + size[number];
            if let Some(parent) = some(idom[node as usize]) {
                depth[node as usize] = depth[parent as usize] + 1;
            }
        }
        Self {
            idom,
            order: order.to_vec(),
            start,
            end,
            depth,
        }
    }

    pub(crate) fn immediate(&self, node: u32) -> Option<u32> {
        self.idom.get(node as usize).copied().and_then(some)
    }

    pub(crate) fn is_reachable(&self, node: u32) -> bool {
        self.start
            .get(node as usize)
            .is_some_and(|&start| start != NONE)
    }

    pub(crate) fn dominates(&self, a: u32, b: u32) -> bool {
        self.is_reachable(a) && self.is_reachable(b) && {
            let interval = self.start[a as usize]..self.end[a as usize];
            interval.contains(&self.start[b as usize])
        }
    }

    pub(crate) fn ancestors(&self, node: u32) -> TreeAncestors<'_> {
        TreeAncestors {
            tree: self,
            next: self.is_reachable(node).then_some(node),
        }
    }

    pub(crate) fn nearest_common(&self, mut a: u32, mut b: u32) -> Option<u32> {
        if !self.is_reachable(a) || !self.is_reachable(b) {
            return None;
        }
        while a != b {
            if self.depth(a) >= self.depth(b) {
                a = self.immediate(a)?;
            } else {
                b = self.immediate(b)?;
            }
        }
        Some(a)
    }

    pub(crate) fn depth(&self, node: u32) -> u32 {
        self.depth.get(node as usize).copied().unwrap_or(0)
    }

    pub(crate) fn order(&self) -> &[u32] {
        &self.order
    }

    pub(crate) fn children<N: Node>(&self) -> Csr<N> {
        let edges = self
            .order
            .iter()
            .skip(1)
            .map(|&node| (self.idom[node as usize], N::from_u32(node)));
        Csr::new(self.idom.len(), edges)
    }
}

/// A node and the nodes that dominate it, by their numbers.
#[derive(Clone, Debug)]
pub(crate) struct TreeAncestors<'a> {
    tree: &'a DominatorTree,
    next: Option<u32>,
}

impl Iterator for TreeAncestors<'_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        let node = self.next?;
        self.next = self.tree.immediate(node);
        Some(node)
    }
}

/// Computes immediate dominators. Nodes are numbered by a depth-first search; the immediate dominator of the root is the root.
fn semi_nca<I: Iterator<Item = u32>>(parent: &[u32], predecessors: impl Fn(u32) -> I) -> Vec<u32> {
    let len = parent.len();
    let mut semi: Vec<u32> = (0..len as u32).collect();
    // The forest of the nodes that were processed: `link` leads to an ancestor and is shortened by `compress`; `best` is the node with the least
    // semidominator between a node and its link.
    let mut link = parent.to_vec();
    let mut best = semi.clone();
    let mut path = Vec::new();
    for node in (1..len as u32).rev() {
        let mut least = parent[node as usize];
        for p in predecessors(node) {
            // Nodes up to `node` are not in the forest: each is its own root.
            let candidate = if p <= node {
                p
            } else {
                semi[compress(p, node, &mut link, &mut best, &semi, &mut path) as usize]
            };
            least = least.min(candidate);
        }
        semi[node as usize] = least;
    }
    let mut idom = parent.to_vec();
    for node in 1..len {
        let mut ancestor = idom[node];
        while ancestor > semi[node] {
            ancestor = idom[ancestor as usize];
        }
        idom[node] = ancestor;
    }
    idom
}

/// Returns the node with the least semidominator on the path from `node` to its last ancestor above `limit`, and compresses the path.
fn compress(
    node: u32,
    limit: u32,
    link: &mut [u32],
    best: &mut [u32],
    semi: &[u32],
    path: &mut Vec<u32>,
) -> u32 {
    let mut ancestor = node;
    while link[ancestor as usize] > limit {
        path.push(ancestor);
        ancestor = link[ancestor as usize];
    }
    // The link of `ancestor` is outside of the forest. The nodes below it get the same link, and its best node if that is better.
    while let Some(descendant) = path.pop() {
        let (lower, upper) = (best[descendant as usize], best[ancestor as usize]);
        if semi[upper as usize] < semi[lower as usize] {
            best[descendant as usize] = upper;
        }
        link[descendant as usize] = link[ancestor as usize];
        ancestor = descendant;
    }
    best[node as usize]
}
