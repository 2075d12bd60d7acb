//! Vertical coordinates and the lines of edges.

use super::layers::{Chain, Layered};
use super::{Edge, Layout};

/// The least distance of two layers, the largest, and by how much it grows with the widest turn between them.
const LEAST_GAP: f64 = 46.0;
const LARGEST_GAP: f64 = 140.0;
const GAP_PER_PIXEL: f64 = 0.08;

/// What is drawn of an edge.
pub(in super::super) struct Line {
    /// The index of the edge.
    pub(in super::super) edge: usize,
    /// From top to bottom.
    pub(in super::super) waypoints: Vec<Waypoint>,
    pub(in super::super) arrow: Arrow,
}

/// A vertical part of a line; between two waypoints it turns.
#[derive(Copy, Clone, PartialEq, Debug)]
pub(in super::super) struct Waypoint {
    pub(in super::super) x: f64,
    pub(in super::super) top: f64,
    pub(in super::super) bottom: f64,
}

/// Which end of a line has an arrow head.
#[derive(Copy, Clone, PartialEq, Debug)]
pub(in super::super) enum Arrow {
    /// The line joins another one.
    None,
    Top,
    Bottom,
}

/// The place of a label.
#[derive(Copy, Clone, PartialEq, Debug)]
pub(in super::super) enum Label {
    /// Below this point, at the bottom of a box.
    Below(f64, f64),
    /// Above this point, at the top of a box.
    Above(f64, f64),
}

/// Where the arcs begin and end, horizontally.
struct Ports {
    upper: Vec<f64>,
    lower: Vec<f64>,
}

/// Draws the edges of a graph whose vertices have these horizontal middles.
pub(super) fn route(graph: &Layered, edges: &[Edge], centers: &[f64]) -> Layout {
    let ports = Ports::new(graph, centers);
    let rows = rows(graph, &ports);
    let mut labels = vec![None; edges.len()];
    let mut lines = Vec::with_capacity(graph.chains.len());
    for chain in &graph.chains {
        let waypoints = waypoints(graph, &ports, &rows, chain);
        labels[chain.edge] = match (chain.is_reversed, waypoints.first(), waypoints.last()) {
            (false, Some(first), _) => Some(Label::Below(first.x, first.top)),
            (true, _, Some(last)) => Some(Label::Above(last.x, last.bottom)),
            _ => None,
        };
        lines.push(Line {
            edge: chain.edge,
            waypoints,
            arrow: match (chain.reaches_target, chain.is_reversed) {
                (false, _) => Arrow::None,
                (true, true) => Arrow::Top,
                (true, false) => Arrow::Bottom,
            },
        });
    }
    let vertices = graph.vertices.iter().zip(centers);
    let right = vertices.map(|(vertex, center)| center + vertex.size.half());
    let boxes = graph
        .vertices
        .iter()
        .zip(centers)
        .filter(|(v, _)| !v.is_bend);
    Layout {
        tops: boxes
            .map(|(v, &center)| (center, rows[v.layer].0))
            .collect(),
        lines,
        labels,
        width: right.fold(0.0, f64::max),
        height: rows.last().map_or(0.0, |row| row.1),
    }
}

impl Ports {
    /// Spreads the arcs of each box evenly over its bottom and its top, in the order of their other ends.
    fn new(graph: &Layered, centers: &[f64]) -> Self {
        let mut ports = Self {
            upper: vec![0.0; graph.arcs.len()],
            lower: vec![0.0; graph.arcs.len()],
        };
        for (index, vertex) in graph.vertices.iter().enumerate() {
            let spread = |arcs: &[usize], other: fn(&Layered, usize) -> usize| {
                let mut arcs = arcs.to_vec();
                let key = |&arc: &usize| centers[other(graph, arc)];
                arcs.sort_by(|a, b| key(a).total_cmp(&key(b)));
                let left = centers[index] - vertex.size.width / 2.0;
                let step = vertex.size.width / (arcs.len() + 1) as f64;
                let at = (1..).map(|n| left + step * f64::from(n));
                arcs.into_iter().zip(at).collect::<Vec<_>>()
            };
            for (arc, at) in spread(&graph.down[index], |g, arc| g.arcs[arc].lower) {
                ports.upper[arc] = at;
            }
            for (arc, at) in spread(&graph.up[index], |g, arc| g.arcs[arc].upper) {
                ports.lower[arc] = at;
            }
        }
        ports
    }
}

/// The top and the bottom of each layer.
fn rows(graph: &Layered, ports: &Ports) -> Vec<(f64, f64)> {
    let mut rows = Vec::with_capacity(graph.layers.len());
    let mut top = 0.0;
    for layer in &graph.layers {
        let height = layer.iter().map(|&v| graph.vertices[v].size.height);
        let bottom = top + height.fold(0.0, f64::max);
        rows.push((top, bottom));
        let arcs = layer.iter().flat_map(|&v| &graph.down[v]);
        let turn = arcs.map(|&arc| (ports.upper[arc] - ports.lower[arc]).abs());
        let widest = turn.fold(0.0, f64::max);
        top = bottom + (LEAST_GAP + widest * GAP_PER_PIXEL).min(LARGEST_GAP);
    }
    rows
}

/// The vertical parts of a chain. Vertices are aligned at the top of their layer.
fn waypoints(graph: &Layered, ports: &Ports, rows: &[(f64, f64)], chain: &Chain) -> Vec<Waypoint> {
    let mut waypoints = Vec::with_capacity(chain.arcs.len() + 1);
    for (nth, &arc) in chain.arcs.iter().enumerate() {
        let ends = graph.arcs[arc];
        let upper = &graph.vertices[ends.upper];
        let (top, bottom) = rows[upper.layer];
        waypoints.push(Waypoint {
            x: ports.upper[arc],
            top: match (nth, upper.is_bend) {
                // The chain begins where it leaves another one.
                (0, true) => bottom,
                _ => top + upper.size.height,
            },
            bottom,
        });
        if nth + 1 == chain.arcs.len() {
            let (top, _) = rows[graph.vertices[ends.lower].layer];
            waypoints.push(Waypoint {
                x: ports.lower[arc],
                top,
                bottom: top,
            });
        }
    }
    waypoints
}
