//! The headers of the loop nest, found from the innermost loop outwards with union-find (Tarjan, Havlak, with Ramalingam's
//! treatment of edges into the middle of a loop): nearly linear, also in irreducible graphs.

use super::{Csr, DepthFirst, Graph, NONE, Numbered as _};
use alloc::vec::Vec;

/// Which nodes are headers of loops, and the loops around nodes.
pub(super) struct Headers {
    pub(super) is_header: Vec<bool>,
    /// The header of the innermost loop around a node; around its own loop for a header.
    pub(super) around: Vec<u32>,
}

/// The headers of the nest of strongly connected components; see [`Loops::new`](super::Loops::new).
pub(super) fn nest_headers(graph: &impl Graph, search: &DepthFirst) -> Headers {
    let nodes = graph.node_count() as usize;
    let mut is_header = vec![false; nodes];
    let mut around = vec![NONE; nodes];
    let joining = edges_by_meeting(graph, search);
    let mut set = Sets::new(nodes);
    // Of each loop found so far (or node in none) the places that lead to it, as chains in one vector.
    let mut first = vec![NONE; nodes];
    let mut chain: Vec<(u32, u32)> = Vec::new();
    let mut work = Vec::new();
    for &node in search.preorder().iter().rev() {
        // Edges whose ends have `node` as nearest common ancestor: no loop below it could have used them.
        for edge in joining.row(node).chunks_exact(2) {
            let to = set.find(edge[1]) as usize;
            chain.push((edge[0], first[to]));
            first[to] = chain.len() as u32 - 1;
        }
        for from in graph.pred(node).filter(|&p| search.is_ancestor(node, p)) {
            is_header[node as usize] = true;
            enter(&mut around, set.find(from), node, &mut work);
        }
        while let Some(inside) = work.pop() {
            let mut link = first[inside as usize];
            while let Some(&(from, next)) = chain.get(link as usize) {
                enter(&mut around, set.find(from), node, &mut work);
                link = next;
            }
            set.join(inside, node);
        }
    }
    Headers { is_header, around }
}

/// Puts a loop or a node into the loop of `header`, once.
fn enter(around: &mut [u32], inside: u32, header: u32, work: &mut Vec<u32>) {
    if inside != header && around[inside as usize] == NONE {
        around[inside as usize] = header;
        work.push(inside);
    }
}

/// For each node the edges, but for retreating ones, whose ends have it as nearest common ancestor in the depth-first
/// tree; flattened to pairs. Tarjan's offline method: nodes are joined to their parents when they are done.
fn edges_by_meeting(graph: &impl Graph, search: &DepthFirst) -> Csr {
    let mut set = Sets::new(graph.node_count() as usize);
    let mut found = Vec::new();
    for &from in search.postorder() {
        for to in graph.succ(from).filter(|&to| !search.is_ancestor(to, from)) {
            let meeting = set.find(to);
            found.push((meeting, from));
            found.push((meeting, to));
        }
        if let Some(up) = search.parent(from) {
            set.join(from, up);
        }
    }
    Csr::new(graph.node_count() as usize, found.iter().copied())
}

/// Disjoint sets, each represented by one of its nodes. `find` shortens paths.
pub(super) struct Sets(Vec<u32>);

impl Sets {
    pub(super) fn new(len: usize) -> Self {
        Self((0..len as u32).collect())
    }

    pub(super) fn find(&mut self, mut node: u32) -> u32 {
        while self.0[node as usize] != node {
            let up = self.0[node as usize];
            self.0[node as usize] = self.0[up as usize];
            node = up;
        }
        node
    }

    pub(super) fn join(&mut self, below: u32, above: u32) {
        self.0[below as usize] = above;
    }
}
