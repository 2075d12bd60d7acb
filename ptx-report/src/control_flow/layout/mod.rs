//! A layered layout of a control-flow graph, after Sugiyama, Tagawa and Toda, with a rectangle for each loop.
//!
//! 1. [`nest`] divides the graph into regions: the function and each loop, in which the loops inside it are boxes with ports
//!    at their borders. Regions are laid out from the innermost outwards.
//! 2. [`layers`]: edges that close a cycle in a depth-first search are set aside; every box is in the layer below the lowest of
//!    its predecessors (longest path). An edge that passes layers gets a *bend* in each of them; edges of one kind to the same
//!    target share their bends. If there are more than [`BENDS_PER_EDGE`] bends for each edge, the longest edges are cut: their
//!    ends say where they lead.
//! 3. [`order`]: a fixed number of barycenter sweeps reduces crossings.
//! 4. [`place`]: a fixed number of sweeps moves each vertex towards its neighbors, as far as the others in its layer allow;
//!    then long edges become vertical, and [`ports`] spreads the ends of lines over the sides of their boxes.
//! 5. [`route`]: edges leave boxes at the bottom, run vertically through the bends, and turn only between two layers, in tracks
//!    that [`channel`] assigns, so that no edge passes through a box. Edges that close a cycle run upwards in lanes on the left.
//!
//! For a graph of `n` boxes and edges, time is O(n log n) and memory O(n): regions deeper than [`MAX_DEPTH`] are not divided
//! further, the number of bends is at most proportional to that of edges, and all sweeps are of a fixed number. The result
//! depends only on the input.

mod channel;
mod layers;
mod nest;
mod order;
mod place;
mod ports;
mod region;
mod route;

/// The depth of the nesting below which regions are not divided further.
const MAX_DEPTH: usize = 12;
/// The number of bends that a region may have for each of its edges.
const BENDS_PER_EDGE: usize = 12;
/// The number of bends that a region may have besides.
const BENDS_PER_REGION: usize = 4_000;

/// The size of a box, in pixels.
#[derive(Copy, Clone, Default, Debug)]
pub(super) struct Size {
    pub(super) width: f64,
    pub(super) height: f64,
}

/// An edge between two boxes, given by their indices.
#[derive(Copy, Clone, Debug)]
pub(super) struct Edge {
    pub(super) from: usize,
    pub(super) to: usize,
    /// Only edges of one kind share lines.
    pub(super) kind: u8,
    /// Whether the edge leaves its box at the same point as the others of its kind.
    pub(super) fans_out: bool,
}

/// A natural loop.
#[derive(Copy, Clone, Debug)]
pub(super) struct Loop {
    /// The index of the loop around it, which is lower than its own.
    pub(super) parent: Option<usize>,
    /// The box of its header.
    pub(super) header: usize,
}

/// The boxes, edges and loops of a graph.
pub(super) struct Input<'a> {
    pub(super) sizes: &'a [Size],
    pub(super) edges: &'a [Edge],
    pub(super) loops: &'a [Loop],
    /// The innermost loop of each box.
    pub(super) innermost: &'a [Option<usize>],
}

/// A point, in pixels.
#[derive(Copy, Clone, PartialEq, Debug, Default)]
pub(super) struct Point {
    pub(super) x: f64,
    pub(super) y: f64,
}

/// A rectangle, in pixels.
#[derive(Copy, Clone, PartialEq, Debug, Default)]
pub(super) struct Rect {
    pub(super) left: f64,
    pub(super) top: f64,
    pub(super) width: f64,
    pub(super) height: f64,
}

/// The part of an edge within one region: horizontal and vertical segments.
#[derive(Clone, Debug)]
pub(super) struct Line {
    /// The first of the edges that share the line.
    pub(super) edge: usize,
    /// The loop whose region contains the line; `None` for the region of the function.
    pub(super) region: Option<usize>,
    pub(super) points: Vec<Point>,
    pub(super) end: End,
    /// Whether the edge closes a cycle.
    pub(super) is_back: bool,
}

/// The end of a line.
#[derive(Copy, Clone, PartialEq, Debug)]
pub(super) enum End {
    /// An arrow head at the box that the edge leads to.
    Box,
    /// The border of a loop, where the next line begins.
    Border,
    /// Another line, which the line joins.
    Join,
    /// An arrow head in free space: the edge is not drawn beyond it.
    Cut,
}

/// The positions of the boxes, loops and edges of a graph.
#[derive(Debug, Default)]
pub(super) struct Layout {
    pub(super) boxes: Vec<Rect>,
    /// `None` for a loop that is nested too deep.
    pub(super) loops: Vec<Option<Rect>>,
    pub(super) lines: Vec<Line>,
    /// The point where each edge leaves its box.
    pub(super) starts: Vec<Point>,
    pub(super) width: f64,
    pub(super) height: f64,
}

/// Lays a graph out. Edges must name boxes that exist, and loops contain their headers.
pub(super) fn layout(input: &Input<'_>) -> Layout {
    nest::layout(input)
}

#[cfg(test)]
pub(super) mod tests;
