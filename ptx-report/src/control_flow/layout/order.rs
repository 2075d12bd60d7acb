//! The order of the vertices in each layer, with few crossings.

use super::layers::Layered;

/// The number of barycenter sweeps; each goes once down or once up.
const SWEEPS: usize = 24;
/// Sweeping stops after this many sweeps without improvement.
const MAX_STALE_SWEEPS: usize = 6;

/// Orders the vertices of each layer so that few arcs cross.
pub(super) fn reduce_crossings(graph: &mut Layered) {
    let mut fewest_crossings = crossings(graph);
    let mut best_layers = graph.layers.clone();
    let mut stale_sweeps = 0;
    for sweep in 0..SWEEPS {
        if fewest_crossings == 0 || stale_sweeps == MAX_STALE_SWEEPS {
            break;
        }
        sort_by_barycenter(graph, Direction::of_sweep(sweep));
        let crossings = crossings(graph);
        stale_sweeps += 1;
        if crossings < fewest_crossings {
            fewest_crossings = crossings;
            best_layers.clone_from(&graph.layers);
            stale_sweeps = 0;
        }
    }
    graph.layers = best_layers;
}

/// The direction in which a sweep visits the layers.
#[derive(Copy, Clone, PartialEq)]
pub(super) enum Direction {
    Down,
    Up,
}

impl Direction {
    /// The direction of a sweep: they go down and up in turn.
    pub(super) fn of_sweep(sweep: usize) -> Self {
        if sweep.is_multiple_of(2) {
            Self::Down
        } else {
            Self::Up
        }
    }

    /// The indices of `count` layers in this direction.
    pub(super) fn layers(self, count: usize) -> Box<dyn Iterator<Item = usize>> {
        match self {
            Self::Down => Box::new(0..count),
            Self::Up => Box::new((0..count).rev()),
        }
    }

    /// The neighbors of a vertex in the layer that the sweep visited before the layer of the vertex.
    pub(super) fn visited_neighbors(
        self,
        graph: &Layered,
        vertex: usize,
    ) -> impl Iterator<Item = Neighbor> {
        let arcs = match self {
            Self::Down => &graph.up[vertex],
            Self::Up => &graph.down[vertex],
        };
        arcs.iter().map(move |&arc| {
            let arc = graph.arcs[arc];
            match self {
                Self::Down => Neighbor {
                    vertex: arc.upper,
                    port: arc.upper_port,
                    near_port: arc.lower_port,
                },
                Self::Up => Neighbor {
                    vertex: arc.lower,
                    port: arc.lower_port,
                    near_port: arc.upper_port,
                },
            }
        })
    }
}

/// A vertex that an arc joins with another one.
pub(super) struct Neighbor {
    pub(super) vertex: usize,
    /// The port of the arc at this vertex.
    pub(super) port: usize,
    /// The port of the arc at the other vertex.
    pub(super) near_port: usize,
}

/// The position of each vertex in its layer.
fn positions(graph: &Layered) -> Vec<usize> {
    let mut positions = vec![0; graph.vertices.len()];
    for layer in &graph.layers {
        for (position, &vertex) in layer.iter().enumerate() {
            positions[vertex] = position;
        }
    }
    positions
}

/// Sorts each layer by the mean position of the neighbors in the layer before it.
fn sort_by_barycenter(graph: &mut Layered, direction: Direction) {
    let mut positions = positions(graph);
    for number in direction.layers(graph.layers.len()) {
        let mut layer = std::mem::take(&mut graph.layers[number]);
        let mut keyed: Vec<(f64, usize)> = layer
            .iter()
            .map(|&vertex| {
                let key = barycenter(graph, vertex, direction, &positions);
                (key.unwrap_or(positions[vertex] as f64), vertex)
            })
            .collect();
        keyed.sort_by(|a, b| a.0.total_cmp(&b.0));
        layer.clear();
        for (position, (_, vertex)) in keyed.into_iter().enumerate() {
            positions[vertex] = position;
            layer.push(vertex);
        }
        graph.layers[number] = layer;
    }
}

/// The mean position of the neighbors of a vertex in the layer before it; `None` if it has no neighbors there.
fn barycenter(
    graph: &Layered,
    vertex: usize,
    direction: Direction,
    positions: &[usize],
) -> Option<f64> {
    let (mut sum, mut count) = (0.0, 0);
    for neighbor in direction.visited_neighbors(graph, vertex) {
        // Ports at the border of a region are in order, too.
        let width = graph.vertices[neighbor.vertex].size.width.max(1.0);
        sum += positions[neighbor.vertex] as f64 + graph.ports.offset(neighbor.port) / width;
        count += 1;
    }
    (count > 0).then(|| sum / f64::from(count))
}

/// The number of pairs of arcs that cross: inversions, counted with a Fenwick tree in O(arcs · log).
pub(super) fn crossings(graph: &Layered) -> u64 {
    let positions = positions(graph);
    let mut crossings = 0;
    for (number, layer) in graph.layers.iter().enumerate() {
        let below = graph.layers.get(number + 1).map_or(0, Vec::len);
        let mut tree = vec![0u64; below + 1];
        let mut inserted = 0;
        for &upper in layer {
            let lower_positions: Vec<usize> = graph.down[upper]
                .iter()
                .map(|&arc| positions[graph.arcs[arc].lower])
                .collect();
            for &lower in &lower_positions {
                // The arcs further to the left in this layer that end further to the right.
                let mut node = lower + 1;
                let mut not_right = 0;
                while node > 0 {
                    not_right += tree[node];
                    node &= node - 1;
                }
                crossings += inserted - not_right;
            }
            for lower in lower_positions {
                let mut node = lower + 1;
                while node < tree.len() {
                    tree[node] += 1;
                    node += node & node.wrapping_neg();
                }
                inserted += 1;
            }
        }
    }
    crossings
}
