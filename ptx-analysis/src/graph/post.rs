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

use super::{Components, Digraph, Dominators, Frontiers, Graph, ReversePostOrder};
use alloc::vec::Vec;

/// The post-dominator tree of all nodes, rooted at the virtual exit.
#[derive(Clone, Debug)]
pub struct PostDominators {
    reversed: Digraph,
    tree: Dominators,
}

impl PostDominators {
    /// Linear but for the dominators of the reversed graph.
    pub fn new(graph: &impl Graph) -> Self {
        let reversed = reverse(graph);
        let tree = Dominators::new(&reversed);
        Self { reversed, tree }
    }

    /// The virtual exit: the number behind the last node.
    pub fn virtual_exit(&self) -> u32 {
        self.reversed.entry()
    }

    /// The nearest node that post-dominates `node` and is not `node`; `None` if that is the virtual exit.
    pub fn immediate(&self, node: u32) -> Option<u32> {
        self.tree
            .immediate(node)
            .filter(|&up| up != self.virtual_exit())
    }

    /// Where the paths that part at `node` must meet again, [the immediate post-dominator](Self::immediate) under the
    /// name that divergence knows it by; `None` if they may leave without meeting.
    pub fn reconvergence(&self, node: u32) -> Option<u32> {
        self.immediate(node)
    }

    /// Whether `a` post-dominates `b`; every node post-dominates itself. Constant time.
    pub fn dominates(&self, a: u32, b: u32) -> bool {
        self.tree.dominates(a, b)
    }

    /// The graph with its edges turned round, entered at the virtual exit.
    pub fn reversed(&self) -> &Digraph {
        &self.reversed
    }

    /// The tree: dominators of [`PostDominators::reversed`].
    pub fn tree(&self) -> &Dominators {
        &self.tree
    }

    /// The nodes with an edge to the virtual exit.
    pub fn leaving(&self) -> &[u32] {
        self.reversed.successors(self.virtual_exit())
    }

    /// The post-dominance frontier of every node. Its size can be quadratic.
    pub fn frontiers(&self) -> Frontiers {
        Frontiers::new(&self.reversed, &self.tree)
    }
}

fn reverse(graph: &impl Graph) -> Digraph {
    let exit = graph.node_count();
    let mut edges: Vec<(u32, u32)> = Vec::new();
    for node in 0..exit {
        edges.extend(graph.successors(node).iter().map(|&to| (to, node)));
        if graph.exits(node) {
            edges.push((exit, node));
        }
    }
    let components = Components::new(graph);
    let order = ReversePostOrder::whole(graph);
    for id in 0..components.len() as u32 {
        let members = components.members(id);
        let ends = |&node: &u32| {
            graph.exits(node)
                || graph
                    .successors(node)
                    .iter()
                    .any(|&to| components.of(to) != Some(id))
        };
        if members.iter().any(ends) {
            continue;
        }
        let Some(&header) = members.iter().min_by_key(|&&node| order.position(node)) else {
            continue;
        };
        let latch = |&&node: &&u32| graph.successors(node).contains(&header);
        edges.extend(members.iter().filter(latch).map(|&node| (exit, node)));
        // A dead end that does not exit (it may be so declared) has no edge at all: it is its own way out.
        if graph.successors(header).is_empty() {
            edges.push((exit, header));
        }
    }
    Digraph::from_valid(exit + 1, exit, &edges)
}
