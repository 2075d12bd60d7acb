//! The headers of loops, from the innermost loop outwards, with union-find: nearly linear, also in irreducible graphs.

use super::{Csr, DepthFirst, DominatorTree, Graph, NONE, Numbered as _};
use alloc::vec::Vec;

/// The headers of the loops of a graph, by node.
pub(super) struct Headers {
    pub(super) is_header: Vec<bool>,
    /// The header of the innermost loop that contains the node; for a header, that of the next outer loop. `NONE` outside of loops.
    pub(super) enclosing: Vec<u32>,
}

/// Finds the headers of the nest of strongly connected components; see [`Loops::new`](super::Loops::new). The algorithm is that of Tarjan and Havlak, with
/// Ramalingam's treatment of edges into the middle of a loop.
pub(super) fn nest_headers(graph: &impl Graph, search: &DepthFirst) -> Headers {
    let nodes = graph.node_count() as usize;
    let mut is_header = vec![false; nodes];
    let mut enclosing = vec![NONE; nodes];
    let joining_edges = edges_by_meeting(graph, search);
    let mut loop_sets = DisjointSets::new(nodes);
    // For each loop, or node outside of loops, the sources of joining edges into it: a linked list in `entries`.
    let mut first_entry = vec![NONE; nodes];
    let mut entries: Vec<(u32, u32)> = Vec::new();
    let mut worklist = Vec::new();
    for &node in search.preorder().iter().rev() {
        // Edges whose ends have `node` as nearest common ancestor: no loop below it could have used them.
        for edge in joining_edges.row(node).chunks_exact(2) {
            let target = loop_sets.find(edge[1]) as usize;
            entries.push((edge[0], first_entry[target]));
            first_entry[target] = entries.len() as u32 - 1;
        }
        for source in graph.pred(node).filter(|&p| search.is_ancestor(node, p)) {
            is_header[node as usize] = true;
            enter(&mut enclosing, loop_sets.find(source), node, &mut worklist);
        }
        while let Some(inner) = worklist.pop() {
            let mut entry = first_entry[inner as usize];
            while let Some(&(source, next_entry)) = entries.get(entry as usize) {
                enter(&mut enclosing, loop_sets.find(source), node, &mut worklist);
                entry = next_entry;
            }
            loop_sets.join(inner, node);
        }
    }
    Headers {
        is_header,
        enclosing,
    }
}

/// Adds a node, or a loop by its header, to the loop of `header`, unless a loop contains it already.
fn enter(enclosing: &mut [u32], member: u32, header: u32, worklist: &mut Vec<u32>) {
    if member != header && enclosing[member as usize] == NONE {
        enclosing[member as usize] = header;
        worklist.push(member);
    }
}

/// Lists the edges that do not retreat by the nearest common ancestor of their ends in the depth-first tree. A row holds source and target of each edge in
/// turn. This is Tarjan's offline method: nodes are joined to their parents in postorder.
fn edges_by_meeting(graph: &impl Graph, search: &DepthFirst) -> Csr {
    let mut subtrees = DisjointSets::new(graph.node_count() as usize);
    let mut edges = Vec::new();
    for &from in search.postorder() {
        for to in graph.succ(from).filter(|&to| !search.is_ancestor(to, from)) {
            let ancestor = subtrees.find(to);
            edges.push((ancestor, from));
            edges.push((ancestor, to));
        }
        if let Some(parent) = search.parent(from) {
            subtrees.join(from, parent);
        }
    }
    Csr::new(graph.node_count() as usize, edges.iter().copied())
}

/// Finds the headers of natural loops: nodes that dominate the source of an edge to them. The loops inside a loop are collapsed
/// into their headers before its nodes are visited: nearly linear.
pub(super) fn natural_headers(graph: &impl Graph, dominators: &DominatorTree) -> Headers {
    let nodes = graph.node_count() as usize;
    let mut is_header = vec![false; nodes];
    let mut enclosing = vec![NONE; nodes];
    let mut loop_sets = DisjointSets::new(nodes);
    let mut worklist: Vec<u32> = Vec::new();
    // Inner headers before outer ones: in the order, a node comes before those that it dominates.
    for &header in dominators.order().iter().rev() {
        worklist.extend(
            graph
                .pred(header)
                .filter(|&p| dominators.dominates(header, p)),
        );
        is_header[header as usize] = !worklist.is_empty();
        while let Some(node) = worklist.pop() {
            let member = loop_sets.find(node);
            if member != header {
                enclosing[member as usize] = header;
                loop_sets.join(member, header);
                worklist.extend(graph.pred(member).filter(|&p| dominators.is_reachable(p)));
            }
        }
    }
    Headers {
        is_header,
        enclosing,
    }
}

/// Disjoint sets of nodes, each represented by one of its nodes.
struct DisjointSets(Vec<u32>);

impl DisjointSets {
    fn new(len: usize) -> Self {
        Self((0..len as u32).collect())
    }

    /// The representative of the set of a node. Halves the path to it.
    fn find(&mut self, mut node: u32) -> u32 {
        while self.0[node as usize] != node {
            let parent = self.0[node as usize];
            self.0[node as usize] = self.0[parent as usize];
            node = parent;
        }
        node
    }

    /// Adds the set of which `representative` is the representative to that of `target`.
    fn join(&mut self, representative: u32, target: u32) {
        self.0[representative as usize] = target;
    }
}
