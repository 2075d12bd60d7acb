//! Layers, bends, and the arcs between neighbouring layers.

use std::collections::BTreeMap;

use super::{Edge, MAX_BENDS, Size};

/// A graph whose arcs all lead from one layer to the next.
pub(super) struct Layered {
    /// The boxes, and after them the bends.
    pub(super) vertices: Vec<Vertex>,
    pub(super) arcs: Vec<Arc>,
    /// The vertices of each layer from left to right.
    pub(super) layers: Vec<Vec<usize>>,
    /// The arcs that begin at each vertex, and those that end there.
    pub(super) down: Vec<Vec<usize>>,
    pub(super) up: Vec<Vec<usize>>,
    /// Arcs that are drawn as one line, from top to bottom.
    pub(super) chains: Vec<Chain>,
}

/// A box or a bend.
pub(super) struct Vertex {
    pub(super) layer: usize,
    pub(super) size: Size,
    pub(super) is_bend: bool,
}

/// Part of an edge, between two neighbouring layers.
#[derive(Copy, Clone)]
pub(super) struct Arc {
    pub(super) upper: usize,
    pub(super) lower: usize,
}

/// The part of an edge that it does not share with an earlier one.
pub(super) struct Chain {
    pub(super) edge: usize,
    pub(super) arcs: Vec<usize>,
    /// Whether the edge leads upwards.
    pub(super) is_reversed: bool,
    /// Whether the chain reaches the target of its edge, or joins another chain.
    pub(super) reaches_target: bool,
}

impl Layered {
    /// `None` if there are more than [`MAX_BENDS`] bends.
    pub(super) fn new(sizes: &[Size], edges: &[Edge]) -> Option<Self> {
        let (order, is_reversed) = topological_order(sizes.len(), edges);
        let layer = longest_paths(&order, edges, &is_reversed);
        let layers = layer.iter().map(|l| l + 1).max().unwrap_or(0);
        let vertex = |(&size, &layer): (&Size, &usize)| Vertex {
            layer,
            size,
            is_bend: false,
        };
        let mut graph = Self {
            vertices: sizes.iter().zip(&layer).map(vertex).collect(),
            arcs: Vec::new(),
            layers: vec![Vec::new(); layers],
            down: vec![Vec::new(); sizes.len()],
            up: vec![Vec::new(); sizes.len()],
            chains: Vec::new(),
        };
        graph.add_edges(edges, &is_reversed)?;
        graph.fill_layers();
        Some(graph)
    }

    /// Adds the edges, those that share bends one after the other, the longest first.
    fn add_edges(&mut self, edges: &[Edge], is_reversed: &[bool]) -> Option<()> {
        let mut bundles: BTreeMap<(usize, bool, u8), Vec<usize>> = BTreeMap::new();
        for (index, edge) in edges.iter().enumerate().filter(|(_, e)| e.from != e.to) {
            let key = (edge.to, is_reversed[index], edge.style);
            bundles.entry(key).or_default().push(index);
        }
        let boxes = self.vertices.len();
        for ((target, reversed, _), mut bundle) in bundles {
            let at = self.vertices[target].layer;
            let span = |edge: usize| self.vertices[edges[edge].from].layer.abs_diff(at);
            bundle.sort_by_key(|&edge| std::cmp::Reverse(span(edge)));
            // The vertices of the first chain by their distance from the target.
            let mut trunk = vec![target];
            for edge in bundle {
                let source = edges[edge].from;
                let span = self.vertices[source].layer.abs_diff(at);
                let is_first = trunk.len() == 1;
                for distance in trunk.len()..span {
                    let layer = if reversed {
                        at + distance
                    } else {
                        at - distance
                    };
                    trunk.push(self.add_bend(layer));
                }
                if self.vertices.len() - boxes > MAX_BENDS {
                    return None;
                }
                let reaches_target = is_first || span == 1;
                let mut path = vec![source];
                match reaches_target {
                    true => path.extend(trunk[..span].iter().rev()),
                    false => path.push(trunk[span - 1]),
                }
                if reversed {
                    path.reverse();
                }
                let arcs = path.windows(2).map(|w| self.add_arc(w[0], w[1])).collect();
                self.chains.push(Chain {
                    edge,
                    arcs,
                    is_reversed: reversed,
                    reaches_target,
                });
            }
        }
        Some(())
    }

    fn add_bend(&mut self, layer: usize) -> usize {
        self.vertices.push(Vertex {
            layer,
            size: Size {
                width: 0.0,
                height: 0.0,
                side: 0.0,
            },
            is_bend: true,
        });
        self.down.push(Vec::new());
        self.up.push(Vec::new());
        self.vertices.len() - 1
    }

    fn add_arc(&mut self, upper: usize, lower: usize) -> usize {
        let arc = self.arcs.len();
        self.arcs.push(Arc { upper, lower });
        self.down[upper].push(arc);
        self.up[lower].push(arc);
        arc
    }

    /// A first order of each layer: that of a depth-first search.
    fn fill_layers(&mut self) {
        let mut is_seen = vec![false; self.vertices.len()];
        let mut stack = Vec::new();
        for root in 0..self.vertices.len() {
            stack.push(root);
            while let Some(vertex) = stack.pop() {
                if std::mem::replace(&mut is_seen[vertex], true) {
                    continue;
                }
                self.layers[self.vertices[vertex].layer].push(vertex);
                stack.extend(self.down[vertex].iter().rev().map(|&a| self.arcs[a].lower));
            }
        }
    }
}

/// The boxes such that every edge leads forward but those that are marked: the ones that close a cycle.
fn topological_order(boxes: usize, edges: &[Edge]) -> (Vec<usize>, Vec<bool>) {
    #[derive(Copy, Clone, PartialEq)]
    enum State {
        New,
        Open,
        Done,
    }
    let mut out = vec![Vec::new(); boxes];
    for (index, edge) in edges.iter().enumerate() {
        out[edge.from].push(index);
    }
    let mut is_reversed = vec![false; edges.len()];
    let mut state = vec![State::New; boxes];
    let mut order = Vec::with_capacity(boxes);
    for root in 0..boxes {
        if state[root] != State::New {
            continue;
        }
        state[root] = State::Open;
        let mut path = vec![(root, 0)];
        while let Some((vertex, next)) = path.last_mut() {
            let Some(&edge) = out[*vertex].get(*next) else {
                state[*vertex] = State::Done;
                order.push(*vertex);
                path.pop();
                continue;
            };
            *next += 1;
            let to = edges[edge].to;
            match state[to] {
                State::New => {
                    state[to] = State::Open;
                    path.push((to, 0));
                }
                State::Open => is_reversed[edge] = true,
                State::Done => {}
            }
        }
    }
    order.reverse();
    (order, is_reversed)
}

/// The layer of each box: one below the lowest of its predecessors; without predecessors, one above the highest successor.
fn longest_paths(order: &[usize], edges: &[Edge], is_reversed: &[bool]) -> Vec<usize> {
    let mut out = vec![Vec::new(); order.len()];
    let mut has_predecessor = vec![false; order.len()];
    for (edge, &reversed) in edges
        .iter()
        .zip(is_reversed)
        .filter(|(e, _)| e.from != e.to)
    {
        let (upper, lower) = match reversed {
            true => (edge.to, edge.from),
            false => (edge.from, edge.to),
        };
        out[upper].push(lower);
        has_predecessor[lower] = true;
    }
    let mut layer = vec![0; order.len()];
    for &upper in order {
        for &lower in &out[upper] {
            layer[lower] = layer[lower].max(layer[upper] + 1);
        }
    }
    for vertex in (1..order.len()).filter(|&v| !has_predecessor[v]) {
        let highest = out[vertex].iter().map(|&lower| layer[lower]).min();
        layer[vertex] = highest.map_or(0, |h| h - 1);
    }
    layer
}
