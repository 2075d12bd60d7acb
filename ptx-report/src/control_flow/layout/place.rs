//! Horizontal coordinates of vertices.

use super::layers::Layered;
use super::order::Direction;

/// The number of sweeps; each goes once down or once up.
const SWEEPS: usize = 24;
/// The least distance of two boxes, in pixels.
const BOX_GAP: f64 = 32.0;
/// The least distance of a line from a box.
const LINE_GAP: f64 = 16.0;
/// The least distance of two lines.
const LINES_GAP: f64 = 12.0;
/// The number of times that [`straighten`] visits all long edges.
const STRAIGHTENING_ROUNDS: usize = 3;

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

/// The least distance of the middles of two neighbors.
fn distance(graph: &Layered, left: usize, right: usize) -> f64 {
    let gap = match (graph.is_line(left), graph.is_line(right)) {
        (false, false) => BOX_GAP,
        (true, true) => LINES_GAP,
        _ => LINE_GAP,
    };
    gap + (graph.vertices[left].size.width + graph.vertices[right].size.width) / 2.0
}

/// The positions of the vertices in a layer where they are as close together as they may be.
fn offsets(graph: &Layered, layer: &[usize]) -> Vec<f64> {
    let mut offsets = Vec::with_capacity(layer.len());
    let mut offset = 0.0;
    for (index, &vertex) in layer.iter().enumerate() {
        if let Some(&left) = index.checked_sub(1).and_then(|i| layer.get(i)) {
            offset += distance(graph, left, vertex);
        }
        offsets.push(offset);
    }
    offsets
}

/// Places the vertices of a layer as close to their preferred centers as their distances allow: the weighted least-squares solution, by pooling
/// adjacent violators.
fn place_layer(graph: &Layered, layer: &[usize], direction: Direction, centers: &mut [f64]) {
    struct Pool {
        sum: f64,
        weight: f64,
        count: usize,
    }
    let offsets = offsets(graph, layer);
    let mut pools: Vec<Pool> = Vec::new();
    for (&vertex, offset) in layer.iter().zip(&offsets) {
        let preference = preferred_center(graph, vertex, direction, centers);
        let mut pool = Pool {
            sum: (preference.center - offset) * preference.weight,
            weight: preference.weight,
            count: 1,
        };
        while let Some(left) = pools.pop_if(|p| p.sum * pool.weight >= pool.sum * p.weight) {
            pool.sum += left.sum;
            pool.weight += left.weight;
            pool.count += left.count;
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

/// The center where a vertex should be placed.
struct Preference {
    center: f64,
    weight: f64,
}

/// The weighted mean of the neighbors of a vertex. Arcs between lines weigh most, so that long edges are straight.
fn preferred_center(
    graph: &Layered,
    vertex: usize,
    direction: Direction,
    centers: &[f64],
) -> Preference {
    let (mut sum, mut weight) = (0.0, 0.0);
    for neighbor in direction.visited_neighbors(graph, vertex) {
        let line_ends = [vertex, neighbor.vertex].map(|v| usize::from(graph.is_line(v)));
        let arc_weight = [1.0, 2.0, 8.0][line_ends[0] + line_ends[1]];
        let center = graph.ports.x(neighbor.port, centers) - graph.ports.offset(neighbor.near_port);
        sum += center * arc_weight;
        weight += arc_weight;
    }
    if weight > 0.0 {
        Preference {
            center: sum / weight,
            weight,
        }
    } else {
        Preference {
            center: centers[vertex],
            weight: 0.1,
        }
    }
}

/// Moves the bends of each long edge above each other and above or below the ports at its ends, in as few groups as a walk
/// from its lower end finds. The order in the layers and the distances stay as they are.
pub(super) fn straighten(graph: &Layered, centers: &mut [f64]) {
    let mut position = vec![0; graph.vertices.len()];
    for layer in &graph.layers {
        for (index, &vertex) in layer.iter().enumerate() {
            position[vertex] = index;
        }
    }
    // The least and the greatest center of a vertex between its neighbors.
    let free_range = |vertex: usize, centers: &[f64]| {
        let layer = &graph.layers[graph.vertices[vertex].layer];
        let index = position[vertex];
        let low = match index.checked_sub(1).map(|i| layer[i]) {
            Some(left) => centers[left] + distance(graph, left, vertex),
            None => f64::NEG_INFINITY,
        };
        let high = match layer.get(index + 1) {
            Some(&right) => centers[right] - distance(graph, vertex, right),
            None => f64::INFINITY,
        };
        (low, high)
    };
    for _ in 0..STRAIGHTENING_ROUNDS {
        for trunk in &graph.trunks {
            let [lower_x, upper_x] = [trunk.lower_end, trunk.upper_end]
                .map(|port| port.map(|p| graph.ports.x(p, centers)));
            let mut vertices = &trunk.vertices[..];
            while let Some(&first) = vertices.first() {
                let (mut low, mut high) = free_range(first, centers);
                let mut count = 1;
                for &vertex in &vertices[1..] {
                    let (vertex_low, vertex_high) = free_range(vertex, centers);
                    if vertex_low.max(low) > vertex_high.min(high) {
                        break;
                    }
                    (low, high) = (vertex_low.max(low), vertex_high.min(high));
                    count += 1;
                }
                let (group, remaining) = vertices.split_at(count);
                let mean = group.iter().map(|&v| centers[v]).sum::<f64>() / count as f64;
                let is_lowest = vertices.len() == trunk.vertices.len();
                let end_x = lower_x
                    .filter(|_| is_lowest)
                    .or(upper_x.filter(|_| remaining.is_empty()));
                // Rounding may have made the range of the first vertex empty.
                let x = end_x.unwrap_or(mean).min(high).max(low.min(high));
                for &vertex in group {
                    centers[vertex] = x;
                }
                vertices = remaining;
            }
        }
    }
}
