//! Where lines touch items.

use std::collections::HashMap;
use std::ops::Range;

use super::layers::{Layered, Vertex};
use super::nest::{Role, Wire};

/// The places where lines begin and end.
#[derive(Default)]
pub(super) struct Ports {
    ports: Vec<Port>,
    known: HashMap<Key, usize>,
    /// The vertex of the first bend, and its port. Those of the others follow in the same order.
    first_bend: (usize, usize),
}

#[derive(Copy, Clone)]
struct Port {
    vertex: usize,
    is_below: bool,
    /// The distance from the middle of the vertex.
    offset: f64,
    is_fixed: bool,
}

/// What shares a port: a side of an item, the port of the region there, and the wire or the kind of wires.
#[derive(Copy, Clone, PartialEq, Eq, Hash)]
enum Key {
    Above(usize, Option<usize>, u8, bool),
    Below(usize, Option<usize>, u8),
    OfWire(usize),
}

impl Ports {
    fn add(&mut self, key: Key, port: Port) -> usize {
        let ports = &mut self.ports;
        *self.known.entry(key).or_insert_with(|| {
            ports.push(port);
            ports.len() - 1
        })
    }

    /// The port where a wire begins.
    pub(super) fn below(&mut self, wire: &Wire, vertices: &[Vertex]) -> usize {
        let (item, x) = (wire.from.item, wire.from.x);
        let is_item = matches!(vertices[item].role, Some(Role::Box(_)));
        let key = match is_item && !wire.fans_out {
            true => Key::OfWire(wire.edge),
            false => Key::Below(item, wire.from.port, wire.kind),
        };
        let port = port(item, true, x, is_item, vertices);
        self.add(key, port)
    }

    /// The port where a wire ends.
    pub(super) fn above(&mut self, wire: &Wire, is_back: bool, vertices: &[Vertex]) -> usize {
        let (item, x) = (wire.to.item, wire.to.x);
        let is_item = matches!(vertices[item].role, Some(Role::Box(_)));
        let key = Key::Above(item, wire.to.port, wire.kind, is_back);
        self.add(key, port(item, false, x, is_item, vertices))
    }

    /// Adds a port for each bend.
    pub(super) fn add_bends(&mut self, vertices: Range<usize>) {
        self.first_bend = (vertices.start, self.ports.len());
        self.ports.extend(vertices.map(|vertex| Port {
            vertex,
            is_below: false,
            offset: 0.0,
            is_fixed: true,
        }));
    }

    pub(super) fn of_bend(&self, vertex: usize) -> usize {
        let (first, port) = self.first_bend;
        vertex - first + port
    }

    /// The distance of a port from the middle of its vertex.
    pub(super) fn offset(&self, port: usize) -> f64 {
        self.ports[port].offset
    }

    pub(super) fn vertex(&self, port: usize) -> usize {
        self.ports[port].vertex
    }

    /// The place of a port, given the middles of the vertices.
    pub(super) fn x(&self, port: usize, centers: &[f64]) -> f64 {
        let port = &self.ports[port];
        centers[port.vertex] + port.offset
    }
}

fn port(vertex: usize, is_below: bool, x: Option<f64>, is_free: bool, vertices: &[Vertex]) -> Port {
    let half = vertices[vertex].size.width / 2.0;
    Port {
        vertex,
        is_below,
        offset: x.map_or(0.0, |x| x - half),
        is_fixed: !is_free,
    }
}

/// The least shift of a line that is worth a turn.
const SNAP: f64 = 14.0;

/// Spreads the ports of each box evenly over its bottom and its top, in the order of the other ends of their lines.
/// Lines that close a cycle are on the left. A line that is nearly straight becomes straight.
pub(super) fn spread(graph: &mut Layered, centers: &[f64]) {
    // Tops follow bottoms.
    spread_side(graph, centers, true);
    spread_side(graph, centers, false);
}

fn spread_side(graph: &mut Layered, centers: &[f64], is_below: bool) {
    let ports = &graph.ports;
    // The sum and the number of the other ends, and whether one of them may still move.
    let mut others = vec![(0.0, 0, false); ports.ports.len()];
    let mut note = |port: usize, other: usize| {
        others[port].0 += ports.x(other, centers);
        others[port].1 += 1;
        others[port].2 |= is_below && !ports.ports[other].is_fixed;
    };
    for arc in &graph.arcs {
        note(arc.upper_port, arc.lower_port);
        note(arc.lower_port, arc.upper_port);
    }
    for side in &graph.cut {
        note(side.from, side.to);
        note(side.to, side.from);
    }
    let mean = |(sum, count, _): &(f64, i32, bool)| sum / f64::from(*count);
    let mut keys: Vec<f64> = others.iter().map(mean).collect();
    for side in &graph.back {
        keys[side.from] = f64::NEG_INFINITY;
        keys[side.to] = f64::NEG_INFINITY;
    }
    let is_moved = |port: &Port| !port.is_fixed && port.is_below == is_below;
    let all = ports.ports.iter().enumerate();
    let mut moved: Vec<usize> = all.filter(|(_, p)| is_moved(p)).map(|(i, _)| i).collect();
    let vertex = |port: usize| ports.ports[port].vertex;
    moved.sort_by(|&a, &b| vertex(a).cmp(&vertex(b)).then(keys[a].total_cmp(&keys[b])));
    let mut offsets = Vec::with_capacity(moved.len());
    for group in moved.chunk_by(|&a, &b| vertex(a) == vertex(b)) {
        let center = centers[vertex(group[0])];
        let width = graph.vertices[vertex(group[0])].size.width;
        let step = width / (group.len() + 1) as f64;
        for (nth, &port) in group.iter().enumerate() {
            let even = step * (nth + 1) as f64 - width / 2.0;
            let (_, count, may_move) = others[port];
            let wanted = keys[port] - center;
            let is_near = (wanted - even).abs() < SNAP.min(step * 0.4);
            offsets.push((
                port,
                if is_near && count == 1 && !may_move {
                    wanted
                } else {
                    even
                },
            ));
        }
    }
    for (port, offset) in offsets {
        graph.ports.ports[port].offset = offset;
    }
}
