//! The points where lines touch items.

use std::collections::HashMap;
use std::ops::Range;

use super::layers::{Layered, Vertex};
use super::region::{Role, Wire, WireEnd};

/// The points where lines begin and end.
#[derive(Default)]
pub(super) struct Ports {
    ports: Vec<Port>,
    /// The port of each key.
    indices: HashMap<Key, usize>,
    /// The vertex of the first bend. The vertices of all other bends follow.
    first_bend: usize,
    /// The port of the first bend. The ports of the other bends follow in the same order.
    first_bend_port: usize,
}

/// A side of a box or of a bend.
#[derive(Copy, Clone, PartialEq)]
enum Side {
    Top,
    Bottom,
}

#[derive(Copy, Clone)]
struct Port {
    vertex: usize,
    side: Side,
    /// The distance from the middle of the vertex.
    offset: f64,
    is_fixed: bool,
}

/// The wires that share a port.
#[derive(Copy, Clone, PartialEq, Eq, Hash)]
enum Key {
    /// The wires of a kind that end at a port of an item.
    Top {
        item: usize,
        port: Option<usize>,
        kind: u8,
        is_back: bool,
    },
    /// The wires of a kind that begin at a port of an item.
    Bottom {
        item: usize,
        port: Option<usize>,
        kind: u8,
    },
    /// The beginning of one edge.
    Edge(usize),
}

impl Ports {
    fn add(&mut self, key: Key, port: Port) -> usize {
        let ports = &mut self.ports;
        *self.indices.entry(key).or_insert_with(|| {
            ports.push(port);
            ports.len() - 1
        })
    }

    /// The port where a wire begins.
    pub(super) fn below(&mut self, wire: &Wire, vertices: &[Vertex]) -> usize {
        let is_box = matches!(vertices[wire.from.item].role, Some(Role::Box(_)));
        let key = if is_box && !wire.fans_out {
            Key::Edge(wire.edge)
        } else {
            Key::Bottom {
                item: wire.from.item,
                port: wire.from.port,
                kind: wire.kind,
            }
        };
        self.add(key, Port::new(&wire.from, Side::Bottom, vertices))
    }

    /// The port where a wire ends.
    pub(super) fn above(&mut self, wire: &Wire, is_back: bool, vertices: &[Vertex]) -> usize {
        let key = Key::Top {
            item: wire.to.item,
            port: wire.to.port,
            kind: wire.kind,
            is_back,
        };
        self.add(key, Port::new(&wire.to, Side::Top, vertices))
    }

    /// Adds a port for each bend.
    pub(super) fn add_bends(&mut self, vertices: Range<usize>) {
        self.first_bend = vertices.start;
        self.first_bend_port = self.ports.len();
        self.ports.extend(vertices.map(|vertex| Port {
            vertex,
            side: Side::Top,
            offset: 0.0,
            is_fixed: true,
        }));
    }

    pub(super) fn port_of_bend(&self, vertex: usize) -> usize {
        vertex - self.first_bend + self.first_bend_port
    }

    /// The distance of a port from the middle of its vertex.
    pub(super) fn offset(&self, port: usize) -> f64 {
        self.ports[port].offset
    }

    pub(super) fn vertex(&self, port: usize) -> usize {
        self.ports[port].vertex
    }

    /// The x coordinate of a port. `centers` are the middles of the vertices.
    pub(super) fn x(&self, port: usize, centers: &[f64]) -> f64 {
        let port = &self.ports[port];
        centers[port.vertex] + port.offset
    }
}

impl Port {
    fn new(end: &WireEnd, side: Side, vertices: &[Vertex]) -> Self {
        let vertex = &vertices[end.item];
        Self {
            vertex: end.item,
            side,
            offset: end.x.map_or(0.0, |x| x - vertex.size.width / 2.0),
            is_fixed: !matches!(vertex.role, Some(Role::Box(_))),
        }
    }
}

/// The distance below which the end of a line moves so that the line becomes straight, in pixels.
const SNAP: f64 = 14.0;

/// Spreads the ports of each box evenly over its bottom and its top, in the order of the other ends of their lines.
/// Lines that close a cycle are on the left. A line that is nearly straight becomes straight.
pub(super) fn spread(graph: &mut Layered, centers: &[f64]) {
    // The ports at tops move to the ports at bottoms, which are final then.
    spread_side(graph, centers, Side::Bottom);
    spread_side(graph, centers, Side::Top);
}

/// The other ends of the lines at a port.
#[derive(Copy, Clone, Default)]
struct OtherEnds {
    /// The sum of their x coordinates.
    sum: f64,
    count: i32,
    /// Whether one of them may still move.
    may_move: bool,
}

impl OtherEnds {
    fn mean(&self) -> f64 {
        self.sum / f64::from(self.count)
    }
}

fn spread_side(graph: &mut Layered, centers: &[f64], side: Side) {
    let ports = &graph.ports;
    let mut other_ends = vec![OtherEnds::default(); ports.ports.len()];
    let arcs = graph
        .arcs
        .iter()
        .map(|arc| (arc.upper_port, arc.lower_port));
    let cut = graph.cut.iter().map(|wire| (wire.from, wire.to));
    for (from, to) in arcs.chain(cut) {
        for (port, other) in [(from, to), (to, from)] {
            let ends = &mut other_ends[port];
            ends.sum += ports.x(other, centers);
            ends.count += 1;
            ends.may_move |= side == Side::Bottom && !ports.ports[other].is_fixed;
        }
    }
    let mut keys: Vec<f64> = other_ends.iter().map(OtherEnds::mean).collect();
    for wire in &graph.back {
        keys[wire.from] = f64::NEG_INFINITY;
        keys[wire.to] = f64::NEG_INFINITY;
    }
    let mut movable: Vec<usize> = (0..ports.ports.len())
        .filter(|&port| !ports.ports[port].is_fixed && ports.ports[port].side == side)
        .collect();
    movable.sort_by(|&a, &b| {
        ports
            .vertex(a)
            .cmp(&ports.vertex(b))
            .then(keys[a].total_cmp(&keys[b]))
    });
    let mut offsets = Vec::with_capacity(movable.len());
    for group in movable.chunk_by(|&a, &b| ports.vertex(a) == ports.vertex(b)) {
        let vertex = ports.vertex(group[0]);
        let width = graph.vertices[vertex].size.width;
        let step = width / (group.len() + 1) as f64;
        for (nth, &port) in group.iter().enumerate() {
            let even = step * (nth + 1) as f64 - width / 2.0;
            let straight = keys[port] - centers[vertex];
            let is_near = (straight - even).abs() < SNAP.min(step * 0.4);
            let ends = &other_ends[port];
            let offset = if is_near && ends.count == 1 && !ends.may_move {
                straight
            } else {
                even
            };
            offsets.push((port, offset));
        }
    }
    for (port, offset) in offsets {
        graph.ports.ports[port].offset = offset;
    }
}
