//! The loop nest.
//!
//! Defined by strongly connected components of what the entry reaches: each that has an edge inside is a loop; its header
//! is its first node in reverse post-order; the loops inside it are those of the component without the edges into its
//! header. Where control enters every loop at its header only, these are the natural loops, those of one header taken
//! together. An irreducible loop has one header all the same, the first that the depth-first search met.
//!
//! Found from the innermost loop outwards with union-find (Tarjan, Havlak, with Ramalingam's treatment of edges into the
//! middle of a loop): nearly linear, also in irreducible graphs.

use super::{Csr, DepthFirst, Dominators, Graph, NONE, some};
use alloc::vec;
use alloc::vec::Vec;

/// A loop of a [`Loops`]. An outer loop has a lower number than those inside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LoopId(pub u32);

/// What is known of a loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loop {
    /// The node that stands for the loop: in a reducible loop the only one entered from outside.
    pub header: u32,
    /// The loop around this one.
    pub parent: Option<LoopId>,
    /// 1 for a loop in no other.
    pub depth: u32,
    /// Whether control enters elsewhere than at the header.
    pub irreducible: bool,
    from: u32,
    to: u32,
}

/// All loops that the entry reaches.
#[derive(Clone, Debug)]
pub struct Loops {
    loops: Vec<Loop>,
    innermost: Vec<u32>,
    /// The nodes inside loops, such that each loop is a range with its header first.
    bodies: Vec<u32>,
}

impl Loops {
    /// The loops of `graph`, whose dominators are `dominators`.
    pub fn new(graph: &impl Graph, dominators: &Dominators) -> Self {
        let search = DepthFirst::new(graph);
        let header = headers(graph, &search);
        Self::from_headers(graph, dominators, &search, &header)
    }

    fn from_headers(
        graph: &impl Graph,
        dominators: &Dominators,
        search: &DepthFirst,
        headers: &Headers,
    ) -> Self {
        let nodes = graph.node_count() as usize;
        let mut id_of = vec![NONE; nodes];
        let mut innermost = vec![NONE; nodes];
        let mut loops: Vec<Loop> = Vec::new();
        // Headers come before what is inside their loops.
        for &node in search.preorder() {
            let at = node as usize;
            let around = some(headers.around[at]).map(|header| id_of[header as usize]);
            if headers.is_header[at] {
                id_of[at] = loops.len() as u32;
                loops.push(Loop {
                    header: node,
                    parent: around.map(LoopId),
                    depth: 1 + around.map_or(0, |id| loops[id as usize].depth),
                    irreducible: graph
                        .predecessors(node)
                        .iter()
                        .any(|&p| search.is_ancestor(node, p) && !dominators.dominates(node, p)),
                    from: 0,
                    to: 0,
                });
                innermost[at] = id_of[at];
            } else if let Some(id) = around {
                innermost[at] = id;
            }
        }
        let mut nest = Self {
            loops,
            innermost,
            bodies: Vec::new(),
        };
        nest.lay_out(search);
        nest
    }

    /// Gives each loop its range of `bodies`.
    fn lay_out(&mut self, search: &DepthFirst) {
        let mut size = vec![0u32; self.loops.len()];
        for &id in self.innermost.iter().filter(|&&id| id != NONE) {
            size[id as usize] += 1;
        }
        for id in (0..self.loops.len()).rev() {
            if let Some(LoopId(up)) = self.loops[id].parent {
                size[up as usize] += size[id];
            }
        }
        let mut end = 0;
        let mut free: Vec<u32> = Vec::with_capacity(self.loops.len());
        for (info, &size) in self.loops.iter_mut().zip(&size) {
            let place = match info.parent {
                Some(LoopId(up)) => &mut free[up as usize],
                None => &mut end,
            };
            let from = *place;
            *place += size;
            (info.from, info.to) = (from, from + size);
            free.push(from + 1);
        }
        self.bodies = vec![0; end as usize];
        for &node in search.preorder() {
            let Some(id) = some(self.innermost[node as usize]) else {
                continue;
            };
            let info = &self.loops[id as usize];
            if info.header == node {
                self.bodies[info.from as usize] = node;
            } else {
                self.bodies[free[id as usize] as usize] = node;
                free[id as usize] += 1;
            }
        }
    }

    /// All loops, outer ones before inner ones; a [`LoopId`] is the position.
    pub fn all(&self) -> &[Loop] {
        &self.loops
    }

    /// What is known of a loop of this nest.
    pub fn get(&self, id: LoopId) -> Option<&Loop> {
        self.loops.get(id.0 as usize)
    }

    /// The nodes of a loop and of those inside it, the header first.
    pub fn body(&self, id: LoopId) -> &[u32] {
        self.get(id)
            .map_or(&[], |l| &self.bodies[l.from as usize..l.to as usize])
    }

    /// The innermost loop that holds `node`.
    pub fn innermost(&self, node: u32) -> Option<LoopId> {
        self.innermost
            .get(node as usize)
            .copied()
            .and_then(some)
            .map(LoopId)
    }

    /// The header of the innermost loop that holds `node`.
    pub fn header(&self, node: u32) -> Option<u32> {
        self.innermost(node)
            .and_then(|id| self.get(id))
            .map(|l| l.header)
    }

    /// How many loops hold `node`.
    pub fn depth(&self, node: u32) -> u32 {
        self.innermost(node)
            .and_then(|id| self.get(id))
            .map_or(0, |l| l.depth)
    }
}

/// Whether every retreating edge of a depth-first search leads to a node that dominates its source. Then so it is in
/// every search: the graph is reducible.
pub fn is_reducible(graph: &impl Graph, dominators: &Dominators) -> bool {
    let search = DepthFirst::new(graph);
    search.preorder().iter().all(|&from| {
        let retreating = |to: u32| search.is_ancestor(to, from);
        graph
            .successors(from)
            .iter()
            .all(|&to| !retreating(to) || dominators.dominates(to, from))
    })
}

struct Headers {
    is_header: Vec<bool>,
    /// The header of the innermost loop around a node; around its own loop for a header.
    around: Vec<u32>,
}

fn headers(graph: &impl Graph, search: &DepthFirst) -> Headers {
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
        for &from in graph
            .predecessors(node)
            .iter()
            .filter(|&&p| search.is_ancestor(node, p))
        {
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

/// Takes a loop or node into the loop of `header`, once.
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
        for &to in graph
            .successors(from)
            .iter()
            .filter(|&&to| !search.is_ancestor(to, from))
        {
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

/// Disjoint sets, each named by its highest node; finding shortens the way.
struct Sets(Vec<u32>);

impl Sets {
    fn new(len: usize) -> Self {
        Self((0..len as u32).collect())
    }

    fn find(&mut self, mut node: u32) -> u32 {
        while self.0[node as usize] != node {
            let up = self.0[node as usize];
            self.0[node as usize] = self.0[up as usize];
            node = up;
        }
        node
    }

    fn join(&mut self, below: u32, above: u32) {
        self.0[below as usize] = above;
    }
}
