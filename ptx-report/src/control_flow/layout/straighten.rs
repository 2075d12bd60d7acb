//! Long edges become vertical where the neighbours of their bends leave space.

use super::layers::Layered;
use super::place::distance;

const ROUNDS: usize = 3;

/// Moves the bends of each long edge above each other and above or below the ports at its ends, in as few groups as a walk
/// from its lower end finds. The order in the layers and the distances stay as they are.
pub(super) fn straighten(graph: &Layered, centers: &mut [f64]) {
    let mut position = vec![0; graph.vertices.len()];
    for layer in &graph.layers {
        for (at, &vertex) in layer.iter().enumerate() {
            position[vertex] = at;
        }
    }
    // The space of a vertex between its neighbours.
    let space = |vertex: usize, centers: &[f64]| {
        let layer = &graph.layers[graph.vertices[vertex].layer];
        let at = position[vertex];
        let left = at.checked_sub(1).map(|i| layer[i]);
        let right = layer.get(at + 1).copied();
        (
            left.map_or(f64::NEG_INFINITY, |l| {
                centers[l] + distance(graph, l, vertex)
            }),
            right.map_or(f64::INFINITY, |r| centers[r] - distance(graph, vertex, r)),
        )
    };
    for _ in 0..ROUNDS {
        for trunk in &graph.trunks {
            let ends = [trunk.lower_end, trunk.upper_end];
            let ends = ends.map(|port| port.map(|p| graph.ports.x(p, centers)));
            let mut rest = &trunk.vertices[..];
            while let Some(&first) = rest.first() {
                let (mut low, mut high) = space(first, centers);
                let mut count = 1;
                for &vertex in &rest[1..] {
                    let (l, h) = space(vertex, centers);
                    if l.max(low) > h.min(high) {
                        break;
                    }
                    (low, high) = (l.max(low), h.min(high));
                    count += 1;
                }
                let (group, later) = rest.split_at(count);
                let mean = group.iter().map(|&v| centers[v]).sum::<f64>() / count as f64;
                let is_lowest = rest.len() == trunk.vertices.len();
                let [lower, upper] = ends;
                let wanted = lower.filter(|_| is_lowest);
                let wanted = wanted.or(upper.filter(|_| later.is_empty()));
                // Rounding may have made the space of the first one negative.
                let x = wanted.unwrap_or(mean).min(high).max(low.min(high));
                group.iter().for_each(|&v| centers[v] = x);
                rest = later;
            }
        }
    }
}
