//! The headers of natural loops.

use super::loop_headers::{Headers, Sets};
use super::{DominatorTree, Graph, NONE, Numbered as _};
use alloc::vec::Vec;

/// The headers of natural loops: nodes that dominate the source of an edge to them. The loops inside a loop are collapsed
/// into their headers before it is walked: nearly linear.
pub(super) fn natural_headers(graph: &impl Graph, dominators: &DominatorTree) -> Headers {
    let nodes = graph.node_count() as usize;
    let mut is_header = vec![false; nodes];
    let mut around = vec![NONE; nodes];
    let mut sets = Sets::new(nodes);
    let mut work: Vec<u32> = Vec::new();
    // Inner headers before outer ones: what a node dominates comes after it.
    for &header in dominators.order().iter().rev() {
        work.extend(
            graph
                .pred(header)
                .filter(|&p| dominators.dominates(header, p)),
        );
        is_header[header as usize] = !work.is_empty();
        while let Some(node) = work.pop() {
            let inside = sets.find(node);
            if inside != header {
                around[inside as usize] = header;
                sets.join(inside, header);
                let reachable = |&p: &u32| dominators.is_reachable(p);
                work.extend(graph.pred(inside).filter(reachable));
            }
        }
    }
    Headers { is_header, around }
}
