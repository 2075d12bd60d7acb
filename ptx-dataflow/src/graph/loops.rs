//! Loops.

use super::loop_headers::{Headers, nest_headers};
use super::natural_loops::natural_headers;
use super::{DepthFirst, Dominators, Graph, NONE, Node, Numbered as _, some};
use alloc::vec::Vec;

crate::ids::ids! {
    /// A loop of a [`Loops`]. An outer loop has a lower number than those inside it.
    LoopId;
}

/// Where control may enter a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LoopKind {
    /// Only at the header, which dominates all nodes of the loop.
    Natural,
    /// Also at other nodes.
    Irreducible,
}

/// A loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loop<N = u32> {
    header: N,
    parent: Option<LoopId>,
    depth: u32,
    kind: LoopKind,
    from: u32,
    to: u32,
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
        /// Where control may enter.
        kind: LoopKind = kind;
    }
}

/// The loops that the entry of a graph reaches, with their bodies, exits and preheaders. Two loops are disjoint, or one
/// contains the other.
///
/// There are two ways to see the loops of a graph; they agree where the graph [is reducible](is_reducible).
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
    pub fn new(graph: &impl Graph<Node = N>, dominators: &Dominators<N>) -> Self {
        let search = DepthFirst::new(graph);
        let mut nest = Self::from_headers(&search, &nest_headers(graph, &search));
        let dominators = dominators.tree();
        for info in &mut nest.loops {
            let header = info.header.as_u32();
            let enters = |p| search.is_ancestor(header, p) && !dominators.dominates(header, p);
            if graph.pred(header).any(enters) {
                info.kind = LoopKind::Irreducible;
            }
        }
        nest
    }

    /// The natural loops. The header of a loop dominates the source of an edge to it; the loop is the header and all nodes
    /// from which control reaches such a source without passing the header. What is entered at several nodes is not a
    /// natural loop.
    pub fn natural(graph: &impl Graph<Node = N>, dominators: &Dominators<N>) -> Self {
        let search = DepthFirst::new(graph);
        Self::from_headers(&search, &natural_headers(graph, dominators.tree()))
    }

    /// The loops with these headers, all called natural.
    fn from_headers(search: &DepthFirst, headers: &Headers) -> Self {
        let nodes = headers.is_header.len();
        let mut id_of = vec![NONE; nodes];
        let mut innermost = vec![NONE; nodes];
        let mut loops: Vec<Loop<N>> = Vec::new();
        // Headers come before the other nodes of their loops.
        for &node in search.preorder() {
            let at = node as usize;
            let around = some(headers.around[at]).map(|header| id_of[header as usize]);
            if headers.is_header[at] {
                id_of[at] = loops.len() as u32;
                loops.push(Loop {
                    header: N::from_u32(node),
                    parent: around.map(LoopId),
                    depth: 1 + around.map_or(0, |id| loops[id as usize].depth),
                    kind: LoopKind::Natural,
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
            position: vec![NONE; nodes],
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
        // The next free position in each loop; its header has the first.
        let mut free: Vec<u32> = Vec::with_capacity(self.loops.len());
        let mut end = 0;
        for (info, &size) in self.loops.iter_mut().zip(&size) {
            let next = match info.parent {
                Some(LoopId(up)) => &mut free[up as usize],
                None => &mut end,
            };
            let from = *next;
            *next += size;
            (info.from, info.to) = (from, from + size);
            free.push(from + 1);
        }
        let bodies = search.preorder().first().map(|&n| N::from_u32(n));
        self.bodies = bodies.map_or_else(Vec::new, |fill| vec![fill; end as usize]);
        for &node in search.preorder() {
            let Some(id) = some(self.innermost[node as usize]) else {
                continue;
            };
            let info = &self.loops[id as usize];
            let at = if info.header.as_u32() == node {
                info.from
            } else {
                let next = &mut free[id as usize];
                *next += 1;
                *next - 1
            };
            self.bodies[at as usize] = N::from_u32(node);
            self.position[node as usize] = at;
        }
    }

    /// The number of loops.
    #[must_use]
    pub fn len(&self) -> usize {
        self.loops.len()
    }

    /// Whether there are no loops.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.loops.is_empty()
    }

    /// Every loop, outer ones before inner ones.
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
        let range = self.get(id).map(|l| l.from as usize..l.to as usize);
        let body = range.and_then(|range| self.bodies.get(range));
        body.unwrap_or_default()
    }

    /// Whether a loop contains `node`. Constant time.
    pub fn contains(&self, id: LoopId, node: N) -> bool {
        let position = self.position.get(node.as_u32() as usize).copied();
        let inside = |l: &Loop<N>| position.is_some_and(|at| (l.from..l.to).contains(&at));
        self.get(id).is_some_and(inside)
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
        let outer = |id: &LoopId| self.get(*id).and_then(|l| l.parent());
        let all = core::iter::successors(self.innermost(from), outer);
        all.take_while(move |id| !self.contains(*id, to))
    }

    /// The edges out of a loop, each as its source inside and its target outside.
    pub fn exits<'a>(
        &'a self,
        graph: &'a impl Graph<Node = N>,
        id: LoopId,
    ) -> impl Iterator<Item = (N, N)> + 'a {
        let body = self.body(id).iter();
        body.flat_map(move |&from| {
            let targets = graph.successors(from).iter();
            let outside = targets.filter(move |&&to| !self.contains(id, to));
            outside.map(move |&to| (from, to))
        })
    }

    /// The nodes of a loop with an edge to its header.
    pub fn latches<'a>(
        &'a self,
        graph: &'a impl Graph<Node = N>,
        id: LoopId,
    ) -> impl Iterator<Item = N> + 'a {
        let header = self.get(id).map(|l| l.header);
        let before = header.map_or(&[][..], |h| graph.predecessors(h)).iter();
        before.copied().filter(move |&p| self.contains(id, p))
    }

    /// The preheader of a natural loop: the only predecessor of the header outside of the loop, if it has no other
    /// successor. What is computed at its end is computed once before the loop. `None` if there is no such node.
    pub fn preheader(&self, graph: &impl Graph<Node = N>, id: LoopId) -> Option<N> {
        let info = self.get(id).filter(|l| l.kind == LoopKind::Natural)?;
        let before = graph.predecessors(info.header).iter();
        let mut outside = before.copied().filter(|&p| !self.contains(id, p));
        let node = outside.next()?;
        let only = outside.next().is_none() && graph.successors(node).len() == 1;
        (only && !graph.exits(node)).then_some(node)
    }
}

/// Whether every retreating edge of a depth-first search leads to a node that dominates its source. This holds for all
/// searches or for none.
pub fn is_reducible<N: Node>(graph: &impl Graph<Node = N>, dominators: &Dominators<N>) -> bool {
    let search = DepthFirst::new(graph);
    let dominators = dominators.tree();
    search.preorder().iter().all(|&from| {
        let mut retreating = graph.succ(from).filter(|&to| search.is_ancestor(to, from));
        retreating.all(|to| dominators.dominates(to, from))
    })
}
