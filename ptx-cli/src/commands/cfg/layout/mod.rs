//! A layered layout of a control-flow graph, after Sugiyama, Tagawa and Toda.
//!
//! 1. [`layers`]: edges that close a cycle in a depth-first search are reversed; every box is in the layer below the
//!    lowest of its predecessors (longest path). An edge that passes layers gets a *bend* in each of them; edges to the same
//!    target share their bends.
//! 2. [`order`]: a fixed number of barycentre sweeps reduces crossings.
//! 3. [`place`]: a fixed number of sweeps moves each vertex towards its neighbours, as far as the others in its layer allow.
//! 4. [`route`]: edges leave boxes at the bottom, run vertically through the bends, and turn only between two layers, so that no
//!    edge passes through a box.
//!
//! With `n` boxes, edges and bends the time is O(n log n). The number of bends can grow with the product of boxes and targets of
//! long edges, hence [`MAX_BENDS`]. The result depends only on the input.

mod layers;
mod order;
mod place;
mod route;

pub(super) use route::{Arrow, Label, Line, Waypoint};

/// The largest number of boxes in a picture.
pub(super) const MAX_BOXES: usize = 2_000;
/// The largest number of edges in a picture.
pub(super) const MAX_EDGES: usize = 10_000;
/// The largest number of bends in a picture.
pub(super) const MAX_BENDS: usize = 100_000;

/// A box, in pixels.
#[derive(Copy, Clone)]
pub(super) struct Size {
    pub(super) width: f64,
    pub(super) height: f64,
    /// The space to keep free on its left and on its right.
    pub(super) side: f64,
}

impl Size {
    /// The distance from the middle to the end of the free space.
    fn half(self) -> f64 {
        self.width / 2.0 + self.side
    }
}

/// An edge between two boxes, given by their indices.
#[derive(Copy, Clone)]
pub(super) struct Edge {
    pub(super) from: usize,
    pub(super) to: usize,
    /// Edges of different styles do not share bends.
    pub(super) style: u8,
}

/// Where boxes and edges are drawn, in pixels.
pub(super) struct Layout {
    /// The middle of the top of each box.
    pub(super) tops: Vec<(f64, f64)>,
    /// What is drawn of each edge; edges that share bends are drawn once there.
    pub(super) lines: Vec<Line>,
    /// Where the label of each edge is centred; `None` for an edge from a box to itself.
    pub(super) labels: Vec<Option<Label>>,
    pub(super) width: f64,
    pub(super) height: f64,
}

/// Why a graph was not laid out.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum TooLarge {
    Boxes(usize),
    Edges(usize),
    Bends,
}

/// Lays a graph out. Edges from a box to itself get no line, and edges must name boxes that exist.
pub(super) fn layout(sizes: &[Size], edges: &[Edge]) -> Result<Layout, TooLarge> {
    if sizes.len() > MAX_BOXES {
        return Err(TooLarge::Boxes(sizes.len()));
    }
    if edges.len() > MAX_EDGES {
        return Err(TooLarge::Edges(edges.len()));
    }
    let mut graph = layers::Layered::new(sizes, edges).ok_or(TooLarge::Bends)?;
    order::reduce_crossings(&mut graph);
    let centers = place::place(&graph);
    Ok(route::route(&graph, edges, &centers))
}

#[cfg(test)]
mod tests;
