//! Visit traits of petgraph.

use super::Graph;
use alloc::vec::Vec;
use petgraph::Direction;
use petgraph::visit::{
    GraphBase, GraphProp, GraphRef, IntoNeighbors, IntoNeighborsDirected, IntoNodeIdentifiers,
    NodeCompactIndexable, NodeCount, NodeIndexable, VisitMap, Visitable,
};

/// A graph of this crate as petgraph's algorithms take it. Node ids are the same.
#[derive(Debug)]
pub struct Petgraph<'a, G>(pub &'a G);

impl<G> Clone for Petgraph<'_, G> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<G> Copy for Petgraph<'_, G> {}

impl<G: Graph> GraphBase for Petgraph<'_, G> {
    type EdgeId = (u32, u32);
    type NodeId = u32;
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
    fn to_index(&self, node: u32) -> usize {
        node as usize
    }
    fn from_index(&self, index: usize) -> u32 {
        index as u32
    }
}

impl<G: Graph> NodeCompactIndexable for Petgraph<'_, G> {}

impl<G: Graph> IntoNodeIdentifiers for Petgraph<'_, G> {
    type NodeIdentifiers = core::ops::Range<u32>;
    fn node_identifiers(self) -> Self::NodeIdentifiers {
        0..self.0.node_count()
    }
}

impl<'a, G: Graph> IntoNeighbors for Petgraph<'a, G> {
    type Neighbors = core::iter::Copied<core::slice::Iter<'a, u32>>;
    fn neighbors(self, node: u32) -> Self::Neighbors {
        self.0.successors(node).iter().copied()
    }
}

impl<'a, G: Graph> IntoNeighborsDirected for Petgraph<'a, G> {
    type NeighborsDirected = Self::Neighbors;
    fn neighbors_directed(self, node: u32, direction: Direction) -> Self::Neighbors {
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
        Seen(alloc::vec![false; self.0.node_count() as usize])
    }
    fn reset_map(&self, map: &mut Seen) {
        *map = self.visit_map();
    }
}

/// Which nodes a walk of petgraph has seen.
#[derive(Clone, Debug)]
pub struct Seen(Vec<bool>);

impl VisitMap<u32> for Seen {
    fn visit(&mut self, node: u32) -> bool {
        self.0
            .get_mut(node as usize)
            .is_some_and(|seen| !core::mem::replace(seen, true))
    }
    fn is_visited(&self, node: &u32) -> bool {
        self.0.get(*node as usize).copied().unwrap_or(false)
    }
    fn unvisit(&mut self, node: u32) -> bool {
        self.0.get_mut(node as usize).is_some_and(core::mem::take)
    }
}
