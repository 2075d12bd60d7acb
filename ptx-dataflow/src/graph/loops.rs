//! The loops of a graph: their headers, bodies, exits and preheaders.

use super::loop_headers::{Headers, natural_headers, nest_headers};
use super::{DepthFirst, Dominators, Graph, NONE, Node, Numbered as _, some};
use alloc::vec::Vec;

crate::ids::ids! {
    /// A loop of a [`Loops`]. An outer loop has a lower number than those inside it.
    LoopId;
}

/// The nodes at which control may enter a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LoopKind {
    /// Only the header, which dominates all nodes of the loop.
    Natural,
    /// The header and other nodes.
    Irreducible,
}

/// A loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loop<N = u32> {
    header: N,
    parent: Option<LoopId>,
    depth: u32,
    kind: LoopKind,
    /// The range of the loop in [`Loops::bodies`].
    start: u32,
    end: u32,
}

impl<N: Node> Loop<N> {
    ptx_isa::getters! {
        /// The header: of a natural loop the only node that is entered from outside, of an irreducible loop the node that
        /// comes first in reverse post-order.
        header: N = header;
        /// The innermost loop around this one.
        parent: Option<LoopId> = parent;
        /// The number of loops that contain the header: 1 for an outermost loop.
        depth: u32 = depth;
        /// The nodes at which control may enter.
        kind: LoopKind = kind;
    }
}

/// The loops that the entry of a graph reaches, with their bodies, exits and preheaders. Two loops are disjoint, or one
/// contains the other.
///
/// There are two definitions of a loop, which agree where the graph [is reducible](is_reducible).
/// [`Loops::natural`] has natural loops only, as compilers use them; [`Loops::new`] has irreducible loops too.
#[derive(Clone, Debug)]
pub struct Loops<N = u32> {
    loops: Vec<Loop<N>>,
    innermost: Vec<u32>,
    /// The nodes inside loops, such that each loop is a range with its header first.
    bodies: Vec<N>,
    /// The position of each node in `bodies`.
    position: Vec<u32>,
}

impl<N: Node> Loops<N> {
    /// The nest of strongly connected components. Each component with an edge inside is a loop, whose header is its first
    /// node in reverse post-order; the loops inside it are those of the component without the edges to its header.
    #[doc(hidden)]
    pub fn new(graph: &impl Graph<Node = N>, dominators: &Dominators<N>) -> Self {
        let search = DepthFirst::new(graph);
        let mut nest = Self::from_headers(&search, &nest_headers(graph, &search));
        let dominators = dominators.tree();
        for info in &mut nest.loops {
            let header = info.header.as_u32();
            let is_irreducible = graph
                .pred(header)
                .any(|p| search.is_ancestor(header, p) && !dominators.dominates(header, p));
            if is_irreducible {
                info.kind = LoopKind::Irreducible;
            }
        }
        nest
    }

    /// The natural loops. The header of a loop dominates the source of an edge to it; the loop is the header and all nodes
    /// from which control reaches such a source without passing the header. A cycle that is entered at several nodes is not a
    /// natural loop.
    #[doc(hidden)]
    pub fn natural(graph: &impl Graph<Node = N>, dominators: &Dominators<N>) -> Self {
        let search = DepthFirst::new(graph);
        Self::from_headers(&search, &natural_headers(graph, dominators.tree()))
    }

    /// Creates the loops with these headers. Their kind is [`LoopKind::Natural`].
    fn from_headers(search: &DepthFirst, headers: &Headers) -> Self {
        let nodes = headers.is_header.len();
        let mut loop_of_header = vec![NONE; nodes];
        let mut innermost = vec![NONE; nodes];
        let mut loops: Vec<Loop<N>> = Vec::new();
        // Headers come before the other nodes of their loops.
        for &node in search.preorder() {
            let index = node as usize;
            let enclosing_loop =
                some(headers.enclosing[index]).map(|header| loop_of_header[header as usize]);
            if headers.is_header[index] {
                loop_of_header[index] = loops.len() as u32;
                loops.push(Loop {
                    header: N::from_u32(node),
                    parent: enclosing_loop.map(LoopId),
                    depth: 1 + enclosing_loop.map_or(0, |id| loops[id as usize].depth),
                    kind: LoopKind::Natural,
                    start: 0,
                    end: 0,
                });
                innermost[index] = loop_of_header[index];
            } else if let Some(id) = enclosing_loop {
                innermost[index] = id;
            }
        }
        let mut nest = Self {
            loops,
            innermost,
            bodies: Vec::new(),
            position: vec![NONE; nodes],
        };
        nest.lay_out(search);
        nest
    }

    /// Assigns each loop its range in `bodies`, and adds the nodes.
    fn lay_out(&mut self, search: &DepthFirst) {
        let mut size = vec![0u32; self.loops.len()];
        for &id in self.innermost.iter().filter(|&&id| id != NONE) {
            size[id as usize] += 1;
        }
        for id in (0..self.loops.len()).rev() {
            if let Some(LoopId(parent)) = self.loops[id].parent {
                size[parent as usize] += size[id];
            }
        }
        // The next free position in each loop; its header has the first one.
        let mut next_free: Vec<u32> = Vec::with_capacity(self.loops.len());
        let mut total_size = 0;
        for (info, &size) in self.loops.iter_mut().zip(&size) {
            let next = match info.parent {
                Some(LoopId(parent)) => &mut next_free[parent as usize],
                None => &mut total_size,
            };
            let start = *next;
            *next += size;
            (info.start, info.end) = (start, start + size);
            next_free.push(start + 1);
        }
        let filler = search.preorder().first().map(|&n| N::from_u32(n));
        self.bodies = filler.map_or_else(Vec::new, |node| vec![node; total_size as usize]);
        for &node in search.preorder() {
            let Some(id) = some(self.innermost[node as usize]) else {
                continue;
            };
            let info = &self.loops[id as usize];
            let position = if info.header.as_u32() == node {
                info.start
            } else {
                let next = &mut next_free[id as usize];
                *next += 1;
                *next - 1
            };
            self.bodies[position as usize] = N::from_u32(node);
            self.position[node as usize] = position;
        }
    }

    /// The number of loops.
    #[must_use]
    pub fn len(&self) -> usize {
        self.loops.len()
    }

    /// Returns whether there are no loops.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.loops.is_empty()
    }

    /// All loops, outer ones before inner ones.
    #[must_use]
    pub fn iter(
        &self,
    ) -> impl ExactSizeIterator<Item = (LoopId, &Loop<N>)> + DoubleEndedIterator + Clone {
        let loops = self.loops.iter().enumerate();
        loops.map(|(id, info)| (LoopId(id as u32), info))
    }

    /// A loop; `None` if it is not one of these.
    #[must_use]
    pub fn get(&self, id: LoopId) -> Option<&Loop<N>> {
        self.loops.get(id.0 as usize)
    }

    /// The nodes of a loop and of the loops inside it, the header first.
    #[must_use]
    pub fn body(&self, id: LoopId) -> &[N] {
        self.get(id)
            .and_then(|info| self.bodies.get(info.start as usize..info.end as usize))
            .unwrap_or_default()
    }

    /// Returns whether a loop contains `node`. Constant time.
    pub fn contains(&self, id: LoopId, node: N) -> bool {
        self.get(id)
            .zip(self.position.get(node.as_u32() as usize))
            .is_some_and(|(info, position)| (info.start..info.end).contains(position))
    }

    /// The innermost loop that contains `node`.
    pub fn innermost(&self, node: N) -> Option<LoopId> {
        let id = self.innermost.get(node.as_u32() as usize).copied();
        id.and_then(some).map(LoopId)
    }

    /// The header of the innermost loop that contains `node`; a header is in its own loop.
    pub fn header(&self, node: N) -> Option<N> {
        let id = self.innermost(node)?;
        self.get(id).map(|l| l.header)
    }

    /// The number of loops that contain `node`.
    pub fn depth(&self, node: N) -> u32 {
        let id = self.innermost(node);
        id.and_then(|id| self.get(id)).map_or(0, |l| l.depth)
    }

    /// The loops that an edge leaves, inner ones first.
    #[doc(hidden)]
    pub fn left(&self, from: N, to: N) -> impl Iterator<Item = LoopId> + '_ {
        core::iter::successors(self.innermost(from), |id| self.get(*id)?.parent)
            .take_while(move |id| !self.contains(*id, to))
    }

    /// The edges out of a loop, each as its source inside and its target outside.
    pub fn exits<'a>(
        &'a self,
        graph: &'a impl Graph<Node = N>,
        id: LoopId,
    ) -> impl Iterator<Item = (N, N)> + 'a {
        self.body(id).iter().flat_map(move |&from| {
            graph
                .successors(from)
                .iter()
                .filter(move |&&to| !self.contains(id, to))
                .map(move |&to| (from, to))
        })
    }

    /// The nodes of a loop with an edge to its header.
    pub fn latches<'a>(
        &'a self,
        graph: &'a impl Graph<Node = N>,
        id: LoopId,
    ) -> impl Iterator<Item = N> + 'a {
        self.get(id)
            .map_or(&[][..], |info| graph.predecessors(info.header))
            .iter()
            .copied()
            .filter(move |&node| self.contains(id, node))
    }

    /// The preheader of a natural loop: the only predecessor of the header outside of the loop, if it has no other
    /// successor. Code at its end is executed once before the loop. `None` if there is no such node.
    pub fn preheader(&self, graph: &impl Graph<Node = N>, id: LoopId) -> Option<N> {
        let info = self.get(id).filter(|l| l.kind == LoopKind::Natural)?;
        let mut entering = graph
            .predecessors(info.header)
            .iter()
            .copied()
            .filter(|&node| !self.contains(id, node));
        let node = entering.next()?;
        let is_preheader =
            entering.next().is_none() && graph.successors(node).len() == 1 && !graph.exits(node);
        is_preheader.then_some(node)
    }
}

/// Returns whether every retreating edge of a depth-first search leads to a node that dominates its source. This holds for all
/// searches or for none.
pub fn is_reducible<N: Node>(graph: &impl Graph<Node = N>, dominators: &Dominators<N>) -> bool {
    let search = DepthFirst::new(graph);
    let dominators = dominators.tree();
    search.preorder().iter().all(|&from| {
        let mut retreating = graph.succ(from).filter(|&to| search.is_ancestor(to, from));
        retreating.all(|to| dominators.dominates(to, from))
    })
}
