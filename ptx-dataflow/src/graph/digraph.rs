//! A graph from a list of edges.

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

/// A list of edges that [`Digraph::new`] refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BadGraph {
    /// The entry is not a node.
    Entry(u32),
    /// The source or the target of this edge is not a node.
    Edge(u32, u32),
}

impl core::fmt::Display for BadGraph {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Entry(entry) => write!(f, "the entry {entry} is not a node of the graph"),
            Self::Edge(from, to) => {
                write!(
                    f,
                    "an end of the edge from {from} to {to} is not a node of the graph"
                )
            }
        }
    }
}

impl core::error::Error for BadGraph {}

impl Digraph {
    /// The graph with the nodes `0..nodes` and these edges, each from its first node to its second. Successors are in the
    /// order of the list. The entry of a graph without nodes is 0.
    ///
    /// # Errors
    ///
    /// If the entry or an end of an edge is not below `nodes`.
    ///
    /// ```
    /// use ptx_dataflow::graph::{Dominators, Loops};
    /// use ptx_dataflow::internals::Digraph;
    /// // A loop: 1 and 2 go round, 3 comes after it.
    /// let graph = Digraph::new(4, 0, &[(0, 1), (1, 2), (2, 1), (2, 3)])?;
    /// let dominators = Dominators::new(&graph);
    /// assert_eq!(dominators.immediate(3), Some(2));
    /// let loops = Loops::new(&graph, &dominators);
    /// let (id, info) = loops.iter().next().unwrap();
    /// assert_eq!((info.header(), loops.body(id)), (1, &[1, 2][..]));
    /// assert_eq!(loops.preheader(&graph, id), Some(0));
    /// # Ok::<(), ptx_dataflow::internals::BadGraph>(())
    /// ```
    pub fn new(nodes: u32, entry: u32, edges: &[(u32, u32)]) -> Result<Self, BadGraph> {
        if entry >= nodes && (nodes, entry) != (0, 0) {
            return Err(BadGraph::Entry(entry));
        }
        if let Some(&(from, to)) = edges.iter().find(|&&(from, to)| from.max(to) >= nodes) {
            return Err(BadGraph::Edge(from, to));
        }
        Ok(Self::from_valid(nodes, entry, edges))
    }

    /// Creates a graph as [`Digraph::new`] does. The entry and all ends must be nodes.
    pub(crate) fn from_valid(nodes: u32, entry: u32, edges: &[(u32, u32)]) -> Self {
        Self {
            entry,
            forward: Csr::new(nodes as usize, edges.iter().copied()),
            backward: Csr::new(nodes as usize, edges.iter().map(|&(from, to)| (to, from))),
            exits: None,
        }
    }

    /// Sets the nodes from which control leaves, instead of those without successors.
    #[must_use]
    pub fn with_exits(mut self, exits: &[u32]) -> Self {
        let mut flags = vec![false; self.forward.len()];
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
    type Node = u32;

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
