//! Post-dominators: `a` post-dominates `b` if every path from `b` to the virtual exit passes `a`.
//!
//! The virtual exit is one more node. An edge leads to it from
//!
//! * every node that [exits](Graph::exits), and
//! * of every infinite loop, a strongly connected component that no edge leaves and no node of which exits: from each
//!   node with an edge back to the header, the node of the component that comes first in
//!   [reverse post-order of the whole graph](super::ReversePostOrder::whole). The loop is thought to end after some
//!   whole iteration, so that a branch inside its body still has a place where its sides meet again.
//!
//! Hence every node reaches the virtual exit and every node has post-dominators, also those the entry does not reach.

use super::{
    Components, Digraph, Dominators, Frontiers, Graph, Node, Numbered as _, ReversePostOrder,
};
use alloc::vec::Vec;
use core::marker::PhantomData;

/// The post-dominator tree of all nodes, rooted at the virtual exit.
#[derive(Clone, Debug)]
pub struct PostDominators<N = u32> {
    reversed: Digraph,
    tree: Dominators,
    nodes: PhantomData<fn(N) -> N>,
}

impl<N: Node> PostDominators<N> {
    /// The post-dominators of every node of `graph`.
    ///
    /// ```
    /// use ptx_dataflow::graph::{Digraph, PostDominators};
    /// let graph = Digraph::new(4, 0, &[(0, 1), (0, 2), (1, 3), (2, 3)])?.with_exits(&[3]);
    /// let post = PostDominators::new(&graph);
    /// assert_eq!(post.immediate(0), Some(3));
    /// # Ok::<(), ptx_dataflow::graph::BadGraph>(())
    /// ```
    pub fn new(graph: &impl Graph<Node = N>) -> Self {
        let reversed = reverse(graph);
        let tree = Dominators::new(&reversed);
        Self {
            reversed,
            tree,
            nodes: PhantomData,
        }
    }

    /// The number of the virtual exit: one more than that of the last node.
    #[must_use]
    pub fn virtual_exit(&self) -> u32 {
        self.reversed.entry()
    }

    /// The nearest node that post-dominates `node` and is not `node`; `None` if that is the virtual exit.
    ///
    /// This is where a warp reconverges whose threads take different ways at `node`.
    pub fn immediate(&self, node: N) -> Option<N> {
        let up = self.tree.immediate(node.as_u32());
        up.filter(|&up| up != self.virtual_exit()).map(N::from_u32)
    }

    /// Whether `a` post-dominates `b`; every node post-dominates itself. Constant time.
    pub fn dominates(&self, a: N, b: N) -> bool {
        self.tree.dominates(a.as_u32(), b.as_u32())
    }

    ptx_isa::getters! {
        /// The graph with its edges reversed, entered at the virtual exit; nodes by their numbers.
        reversed: &Digraph = &reversed;
        /// The tree: the dominators of [`PostDominators::reversed`].
        tree: &Dominators = &tree;
    }

    /// The nodes with an edge to the virtual exit.
    #[must_use]
    pub fn leaving(&self) -> impl ExactSizeIterator<Item = N> + Clone {
        let leaving = self.reversed.successors(self.virtual_exit()).iter();
        leaving.map(|&n| N::from_u32(n))
    }

    /// The post-dominance frontier of every node.
    #[must_use]
    pub fn frontiers(&self) -> Frontiers<N> {
        Frontiers::from_tree(&self.reversed, self.tree.tree())
    }
}

fn reverse<N: Node>(graph: &impl Graph<Node = N>) -> Digraph {
    let exit = graph.node_count();
    let mut edges: Vec<(u32, u32)> = Vec::new();
    for node in graph.nodes() {
        let number = node.as_u32();
        edges.extend(graph.succ(number).map(|to| (to, number)));
        if graph.exits(node) {
            edges.push((exit, number));
        }
    }
    let components = Components::new(graph);
    let order = ReversePostOrder::whole(graph);
    for id in components.ids() {
        let members = components.members(id);
        let ends = |&node: &N| {
            let mut targets = graph.successors(node).iter();
            graph.exits(node) || targets.any(|&to| components.of(to) != Some(id))
        };
        if members.iter().any(ends) {
            continue;
        }
        let Some(&header) = members.iter().min_by_key(|&&node| order.position(node)) else {
            continue;
        };
        let latch = |&&node: &&N| graph.successors(node).contains(&header);
        let latches = members.iter().filter(latch);
        edges.extend(latches.map(|&node| (exit, node.as_u32())));
        // A node without successors may be declared not to exit: it gets its own edge.
        if graph.successors(header).is_empty() {
            edges.push((exit, header.as_u32()));
        }
    }
    Digraph::from_valid(exit + 1, exit, &edges)
}
