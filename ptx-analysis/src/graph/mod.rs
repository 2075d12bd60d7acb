//! Directed graphs with dense node ids, and what follows from their shape alone.
//!
//! Everything here works on any [`Graph`], knows nothing of PTX, uses no recursion, and is linear or nearly linear in
//! nodes and edges unless its own page says otherwise.

mod control;
mod csr;
mod digraph;
mod dominators;
mod frontier;
mod loops;
mod order;
#[cfg(feature = "petgraph")]
mod petgraph;
mod post;
mod scc;

pub use control::{ControlDependence, Dependents};
pub use csr::Csr;
pub use digraph::{BadGraph, Digraph};
pub use dominators::{Ancestors, Dominators};
pub use frontier::{Frontiers, iterated_frontier};
pub use loops::{Loop, LoopId, Loops, is_reducible};
pub use order::{DepthFirst, ReversePostOrder};
#[cfg(feature = "petgraph")]
pub use petgraph::{Petgraph, Seen};
pub use post::PostDominators;
pub use scc::Components;

/// A directed graph whose nodes are `0..node_count`. Parallel edges and self loops are allowed.
pub trait Graph {
    /// How many nodes there are.
    fn node_count(&self) -> u32;
    /// Where control enters. Meaningless in a graph without nodes.
    fn entry(&self) -> u32;
    /// Where the edges of `node` lead; empty for a node that does not exist.
    fn successors(&self, node: u32) -> &[u32];
    /// Where the edges into `node` come from; as often as `node` occurs among their successors.
    fn predecessors(&self, node: u32) -> &[u32];
    /// Whether control may leave the graph from `node`. A node that exits may have successors too (a guarded exit).
    fn exits(&self, node: u32) -> bool {
        self.successors(node).is_empty()
    }
}

impl<G: Graph + ?Sized> Graph for &G {
    fn node_count(&self) -> u32 {
        (**self).node_count()
    }
    fn entry(&self) -> u32 {
        (**self).entry()
    }
    fn successors(&self, node: u32) -> &[u32] {
        (**self).successors(node)
    }
    fn predecessors(&self, node: u32) -> &[u32] {
        (**self).predecessors(node)
    }
    fn exits(&self, node: u32) -> bool {
        (**self).exits(node)
    }
}

/// No node: what dense tables of nodes hold where there is none.
const NONE: u32 = u32::MAX;

fn some(node: u32) -> Option<u32> {
    (node != NONE).then_some(node)
}
