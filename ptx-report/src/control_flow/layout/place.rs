//! Horizontal coordinates.

use super::layers::Layered;
use super::order::Direction;

/// The number of sweeps; each goes once down or once up.
const SWEEPS: usize = 24;
/// The distance of two boxes, of a line from a box, and of two lines, in pixels.
const BOX_GAP: f64 = 32.0;
const LINE_GAP: f64 = 16.0;
const LINES_GAP: f64 = 12.0;

/// The horizontal middle of each vertex.
pub(super) fn place(graph: &Layered) -> Vec<f64> {
    let mut centers = vec![0.0; graph.vertices.len()];
    for layer in &graph.layers {
        for (&vertex, offset) in layer.iter().zip(offsets(graph, layer)) {
            centers[vertex] = offset;
        }
    }
    for sweep in 0..SWEEPS {
        let direction = Direction::of_sweep(sweep);
        for number in direction.layers(graph.layers.len()) {
            place_layer(graph, &graph.layers[number], direction, &mut centers);
        }
    }
    centers
}

/// The least distance of the middles of two neighbours.
pub(super) fn distance(graph: &Layered, left: usize, right: usize) -> f64 {
    let gap = match (graph.is_line(left), graph.is_line(right)) {
        (false, false) => BOX_GAP,
        (true, true) => LINES_GAP,
        _ => LINE_GAP,
    };
    gap + (graph.vertices[left].size.width + graph.vertices[right].size.width) / 2.0
}

/// The positions in a layer whose vertices are as close together as they may be.
fn offsets(graph: &Layered, layer: &[usize]) -> Vec<f64> {
    let mut offsets = Vec::with_capacity(layer.len());
    let mut at = 0.0;
    for (index, &vertex) in layer.iter().enumerate() {
        if let Some(&left) = index.checked_sub(1).and_then(|i| layer.get(i)) {
            at += distance(graph, left, vertex);
        }
        offsets.push(at);
    }
    offsets
}

/// Places the vertices of a layer as close to the mean of their neighbours as their distances allow: the weighted
/// least-squares solution, by pooling adjacent violators.
fn place_layer(graph: &Layered, layer: &[usize], direction: Direction, centers: &mut [f64]) {
    struct Pool {
        sum: f64,
        weight: f64,
        count: usize,
    }
    let offsets = offsets(graph, layer);
    let mut pools: Vec<Pool> = Vec::new();
    for (&vertex, offset) in layer.iter().zip(&offsets) {
        let (wanted, weight) = wanted(graph, vertex, direction, centers);
        let mut pool = Pool {
            sum: (wanted - offset) * weight,
            weight,
            count: 1,
        };
        while let Some(last) = pools.pop_if(|p| p.sum * pool.weight >= pool.sum * p.weight) {
            pool.sum += last.sum;
            pool.weight += last.weight;
            pool.count += last.count;
        }
        pools.push(pool);
    }
    let shifts = pools
        .iter()
        .flat_map(|p| std::iter::repeat_n(p.sum / p.weight, p.count));
    for ((&vertex, offset), shift) in layer.iter().zip(offsets).zip(shifts) {
        centers[vertex] = offset + shift;
    }
}

/// The weighted mean of the neighbours of a vertex, and its weight. Arcs between lines weigh most, so that long edges are
/// straight.
fn wanted(graph: &Layered, vertex: usize, direction: Direction, centers: &[f64]) -> (f64, f64) {
    let (mut sum, mut weight) = (0.0, 0.0);
    for (neighbour, port, own) in direction.visited(graph, vertex) {
        let lines = [vertex, neighbour].map(|v| usize::from(graph.is_line(v)));
        let arc = [1.0, 2.0, 8.0][lines[0] + lines[1]];
        sum += (graph.ports.x(port, centers) - graph.ports.offset(own)) * arc;
        weight += arc;
    }
    match weight > 0.0 {
        true => (sum / weight, weight),
        false => (centers[vertex], 0.1),
    }
}
