//! Post-dominators and control dependence. A node `a` post-dominates `b` if every path from `b` to the virtual exit passes `a`.
//!
//! The virtual exit is one more node. An edge leads to it from
//!
//! * every node that [exits](Graph::exits), and
//! * every latch of an infinite loop. An infinite loop is a strongly connected component that no edge leaves and no node of which exits; its header is the
//!   node that comes first in [reverse post-order of the whole graph](super::ReversePostOrder::whole), and its latches are the nodes with an edge to the
//!   header. The loop is assumed to end after some whole iteration, so that the two sides of a branch inside its body still meet again.
//!
//! Hence every node reaches the virtual exit and every node has post-dominators, also nodes that the entry does not reach.

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
    /// use ptx_dataflow::graph::PostDominators;
    /// use ptx_dataflow::internals::Digraph;
    /// let graph = Digraph::new(4, 0, &[(0, 1), (0, 2), (1, 3), (2, 3)])?.with_exits(&[3]);
    /// let post = PostDominators::new(&graph);
    /// assert_eq!(post.immediate(0), Some(3));
    /// # Ok::<(), ptx_dataflow::internals::BadGraph>(())
    /// ```
    #[doc(hidden)]
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
    #[doc(hidden)]
    #[must_use]
    pub fn virtual_exit(&self) -> u32 {
        self.reversed.entry()
    }

    /// The nearest node that post-dominates `node` and is not `node`; `None` if that is the virtual exit.
    ///
    /// This is where the threads of a warp reconverge if they take different branches at `node`.
    pub fn immediate(&self, node: N) -> Option<N> {
        self.tree
            .immediate(node.as_u32())
            .filter(|&ancestor| ancestor != self.virtual_exit())
            .map(N::from_u32)
    }

    /// Returns whether `a` post-dominates `b`; every node post-dominates itself. Constant time.
    pub fn dominates(&self, a: N, b: N) -> bool {
        self.tree.dominates(a.as_u32(), b.as_u32())
    }

    ptx_isa::getters! {
        /// The graph with its edges reversed, entered at the virtual exit; nodes by their numbers.
        #[doc(hidden)]
        reversed: &Digraph = &reversed;
        /// The tree: the dominators of [`PostDominators::reversed`].
        #[doc(hidden)]
        tree: &Dominators = &tree;
    }

    /// The nodes with an edge to the virtual exit.
    #[doc(hidden)]
    #[must_use]
    pub fn leaving(&self) -> impl ExactSizeIterator<Item = N> + Clone {
        self.reversed
            .successors(self.virtual_exit())
            .iter()
            .map(|&node| N::from_u32(node))
    }

    /// The nodes that are certain to be executed once the edge from `from` to `to` is taken, but not before: they depend on
    /// this edge. A walk up the tree from `to`.
    pub fn dependents(&self, from: N, to: N) -> impl Iterator<Item = N> + '_ {
        let tree = self.tree.tree();
        let stop = tree.immediate(from.as_u32());
        tree.ancestors(to.as_u32())
            .take_while(move |&node| Some(node) != stop)
            .map(N::from_u32)
    }

    /// The post-dominance frontier of every node.
    #[doc(hidden)]
    #[must_use]
    pub fn frontiers(&self) -> Frontiers<N> {
        Frontiers::from_tree(&self.reversed, self.tree.tree())
    }
}

/// Reverses the edges of a graph, and adds the virtual exit as its entry.
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
        let may_end = members.iter().any(|&node| {
            graph.exits(node)
                || graph
                    .successors(node)
                    .iter()
                    .any(|&to| components.of(to) != Some(id))
        });
        if may_end {
            continue;
        }
        let Some(&header) = members.iter().min_by_key(|&&node| order.position(node)) else {
            continue;
        };
        edges.extend(
            members
                .iter()
                .filter(|&&node| graph.successors(node).contains(&header))
                .map(|latch| (exit, latch.as_u32())),
        );
        // A node without successors may be declared not to exit: it gets its own edge.
        if graph.successors(header).is_empty() {
            edges.push((exit, header.as_u32()));
        }
    }
    Digraph::from_valid(exit + 1, exit, &edges)
}

/// For each node the branches that it depends on (Ferrante, Ottenstein, Warren): `n` depends on `b` if `n` post-dominates a
/// successor of `b` but does not strictly post-dominate `b`. It is the post-dominance frontier; a guarded exit and the
/// end of an infinite loop count as branches to the virtual exit.
#[derive(Clone, Debug)]
pub struct ControlDependence<N = u32>(Frontiers<N>);

impl<N: Node> ControlDependence<N> {
    /// Computes the dependence of every node.
    #[must_use]
    pub fn new(post: &PostDominators<N>) -> Self {
        Self(post.frontiers())
    }

    /// The nodes whose branches decide whether `node` is executed, ascending.
    pub fn of(&self, node: N) -> impl Iterator<Item = N> + '_ {
        self.0.of(node)
    }
}
