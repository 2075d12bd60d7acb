//! Directed graphs with dense node ids, and analyses of their shape: orders, dominators and loops.
//!
//! The algorithms work on any [`Graph`], know nothing of PTX, use no recursion, and are linear or nearly linear in
//! nodes and edges unless their documentation says otherwise.

pub(crate) mod csr;
pub(crate) mod digraph;
mod dominators;
pub(crate) mod frontier;
mod loop_headers;
mod loops;
mod order;
#[cfg(feature = "petgraph")]
mod petgraph;
pub(crate) mod post;
pub(crate) mod scc;

pub(crate) use csr::Csr;
pub(crate) use digraph::Digraph;
pub(crate) use dominators::DominatorTree;
pub use dominators::Dominators;
pub(crate) use frontier::{Frontiers, IteratedFrontiers};
pub use loops::{Loop, LoopId, LoopKind, Loops, is_reducible};
pub(crate) use order::DepthFirst;
pub use order::ReversePostOrder;
#[cfg(feature = "petgraph")]
pub use petgraph::{Petgraph, Seen};
pub use post::PostDominators;
pub(crate) use scc::{ComponentId, Components};

/// The id of a node: a dense number.
pub trait Node: Copy + Ord + core::hash::Hash + core::fmt::Debug {
    /// The node with this number.
    fn from_u32(number: u32) -> Self;
    /// The number of the node.
    fn as_u32(self) -> u32;
}

impl Node for u32 {
    fn from_u32(number: u32) -> Self {
        number
    }
    fn as_u32(self) -> u32 {
        self
    }
}

/// A directed graph whose nodes have the numbers `0..node_count`. Parallel edges and self loops are allowed.
pub trait Graph {
    /// The ids of the nodes.
    type Node: Node;

    /// The number of nodes.
    fn node_count(&self) -> u32;
    /// The node where control enters. Meaningless in a graph without nodes.
    fn entry(&self) -> Self::Node;
    /// The targets of the edges out of `node`; empty for a node that does not exist.
    fn successors(&self, node: Self::Node) -> &[Self::Node];
    /// The sources of the edges into `node`, once for each edge.
    fn predecessors(&self, node: Self::Node) -> &[Self::Node];
    /// Returns whether control can leave the graph from `node`. A node that exits may have successors too (a guarded exit).
    fn exits(&self, node: Self::Node) -> bool {
        self.successors(node).is_empty()
    }
    /// All nodes, in the order of their numbers.
    fn nodes(&self) -> impl ExactSizeIterator<Item = Self::Node> + DoubleEndedIterator + Clone {
        (0..self.node_count()).map(Self::Node::from_u32)
    }
}

impl<G: Graph> Graph for &G {
    type Node = G::Node;

    fn node_count(&self) -> u32 {
        (**self).node_count()
    }
    fn entry(&self) -> Self::Node {
        (**self).entry()
    }
    fn successors(&self, node: Self::Node) -> &[Self::Node] {
        (**self).successors(node)
    }
    fn predecessors(&self, node: Self::Node) -> &[Self::Node] {
        (**self).predecessors(node)
    }
    fn exits(&self, node: Self::Node) -> bool {
        (**self).exits(node)
    }
}

/// The edges of a graph by the numbers of the nodes, for algorithms that keep arrays.
pub(crate) trait Numbered: Graph {
    /// The number of the entry.
    fn root(&self) -> u32 {
        self.entry().as_u32()
    }
    /// The numbers of the successors.
    fn succ(&self, node: u32) -> impl ExactSizeIterator<Item = u32> + Clone {
        let nodes = self.successors(Self::Node::from_u32(node)).iter();
        nodes.map(|n| n.as_u32())
    }
    /// The number of a successor.
    fn succ_at(&self, node: u32, index: usize) -> Option<u32> {
        let nodes = self.successors(Self::Node::from_u32(node));
        nodes.get(index).map(|n| n.as_u32())
    }
    /// The numbers of the predecessors.
    fn pred(&self, node: u32) -> impl ExactSizeIterator<Item = u32> + Clone {
        let nodes = self.predecessors(Self::Node::from_u32(node)).iter();
        nodes.map(|n| n.as_u32())
    }
}

impl<G: Graph> Numbered for G {}

/// The value that means "no node" in a dense table of nodes.
const NONE: u32 = u32::MAX;

/// Returns a node of a dense table, unless it is [`NONE`].
fn some(node: u32) -> Option<u32> {
    (node != NONE).then_some(node)
}
