//! A graph made from a list of edges.

use super::{Csr, Graph};
use alloc::vec::Vec;

/// An immutable graph: successors and predecessors of a node are slices of two arrays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Digraph {
    entry: u32,
    forward: Csr,
    backward: Csr,
    exits: Option<Vec<bool>>,
}

/// Why a list of edges is no graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadGraph {
    /// The entry is not a node.
    Entry(u32),
    /// An end of this edge is not a node.
    Edge(u32, u32),
}

impl Digraph {
    /// The graph with these edges; successors are in the order of the list. The entry of a graph without nodes is 0.
    pub fn new(nodes: u32, entry: u32, edges: &[(u32, u32)]) -> Result<Self, BadGraph> {
        if entry >= nodes && (nodes, entry) != (0, 0) {
            return Err(BadGraph::Entry(entry));
        }
        if let Some(&(from, to)) = edges.iter().find(|&&(from, to)| from.max(to) >= nodes) {
            return Err(BadGraph::Edge(from, to));
        }
        Ok(Self::from_valid(nodes, entry, edges))
    }

    /// As [`Digraph::new`], where all ends are known to be nodes.
    pub(crate) fn from_valid(nodes: u32, entry: u32, edges: &[(u32, u32)]) -> Self {
        Self {
            entry,
            forward: Csr::new(nodes as usize, edges.iter().copied()),
            backward: Csr::new(nodes as usize, edges.iter().map(|&(from, to)| (to, from))),
            exits: None,
        }
    }

    /// Says from which nodes control leaves, instead of those without successors.
    pub fn with_exits(mut self, exits: &[u32]) -> Self {
        let mut flags = alloc::vec![false; self.forward.len()];
        for &exit in exits {
            if let Some(flag) = flags.get_mut(exit as usize) {
                *flag = true;
            }
        }
        self.exits = Some(flags);
        self
    }
}

impl Graph for Digraph {
    fn node_count(&self) -> u32 {
        self.forward.len() as u32
    }
    fn entry(&self) -> u32 {
        self.entry
    }
    fn successors(&self, node: u32) -> &[u32] {
        self.forward.row(node)
    }
    fn predecessors(&self, node: u32) -> &[u32] {
        self.backward.row(node)
    }
    fn exits(&self, node: u32) -> bool {
        match &self.exits {
            Some(flags) => flags.get(node as usize).copied().unwrap_or(false),
            None => self.successors(node).is_empty(),
        }
    }
}
