//! Adapter to the graph algorithms of petgraph.

use super::{Graph, Node};
use alloc::vec::Vec;
use petgraph::Direction;
use petgraph::visit::{
    GraphBase, GraphProp, GraphRef, IntoNeighbors, IntoNeighborsDirected, IntoNodeIdentifiers,
    NodeCompactIndexable, NodeCount, NodeIndexable, VisitMap, Visitable,
};

/// Makes petgraph's algorithms work on a graph of this crate. Node ids are the same.
#[derive(Debug)]
pub struct Petgraph<'a, G>(pub &'a G);

impl<G> Clone for Petgraph<'_, G> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<G> Copy for Petgraph<'_, G> {}

impl<G: Graph> GraphBase for Petgraph<'_, G> {
    type EdgeId = (G::Node, G::Node);
    type NodeId = G::Node;
}

impl<G: Graph> GraphRef for Petgraph<'_, G> {}

impl<G: Graph> GraphProp for Petgraph<'_, G> {
    type EdgeType = petgraph::Directed;
}

impl<G: Graph> NodeCount for Petgraph<'_, G> {
    fn node_count(&self) -> usize {
        self.0.node_count() as usize
    }
}

impl<G: Graph> NodeIndexable for Petgraph<'_, G> {
    fn node_bound(&self) -> usize {
        self.0.node_count() as usize
    }
    fn to_index(&self, node: G::Node) -> usize {
        node.as_u32() as usize
    }
    fn from_index(&self, index: usize) -> G::Node {
        G::Node::from_u32(index as u32)
    }
}

impl<G: Graph> NodeCompactIndexable for Petgraph<'_, G> {}

impl<G: Graph> IntoNodeIdentifiers for Petgraph<'_, G> {
    type NodeIdentifiers = core::iter::Map<core::ops::Range<u32>, fn(u32) -> G::Node>;
    fn node_identifiers(self) -> Self::NodeIdentifiers {
        (0..self.0.node_count()).map(G::Node::from_u32)
    }
}

impl<'a, G: Graph> IntoNeighbors for Petgraph<'a, G> {
    type Neighbors = core::iter::Copied<core::slice::Iter<'a, G::Node>>;
    fn neighbors(self, node: G::Node) -> Self::Neighbors {
        self.0.successors(node).iter().copied()
    }
}

impl<'a, G: Graph> IntoNeighborsDirected for Petgraph<'a, G> {
    type NeighborsDirected = Self::Neighbors;
    fn neighbors_directed(self, node: G::Node, direction: Direction) -> Self::Neighbors {
        match direction {
            Direction::Outgoing => self.0.successors(node),
            Direction::Incoming => self.0.predecessors(node),
        }
        .iter()
        .copied()
    }
}

impl<G: Graph> Visitable for Petgraph<'_, G> {
    type Map = Seen;
    fn visit_map(&self) -> Seen {
        Seen(vec![false; self.0.node_count() as usize])
    }
    fn reset_map(&self, map: &mut Seen) {
        *map = self.visit_map();
    }
}

/// The nodes that a walk of petgraph has visited.
#[derive(Clone, Debug)]
pub struct Seen(Vec<bool>);

impl<N: Node> VisitMap<N> for Seen {
    fn visit(&mut self, node: N) -> bool {
        self.0
            .get_mut(node.as_u32() as usize)
            .is_some_and(|seen| !core::mem::replace(seen, true))
    }
    fn is_visited(&self, node: &N) -> bool {
        let seen = self.0.get(node.as_u32() as usize);
        seen.copied().unwrap_or(false)
    }
    fn unvisit(&mut self, node: N) -> bool {
        let seen = self.0.get_mut(node.as_u32() as usize);
        seen.is_some_and(core::mem::take)
    }
}
