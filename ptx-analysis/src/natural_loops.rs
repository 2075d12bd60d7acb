//! Natural loops: a header that dominates the source of an edge back to it, and all that reaches that source without
//! passing the header.
//!
//! Loops of one header are one loop. What is entered in several places has no header and is no loop here; see
//! [`graph::Loops`](crate::graph::Loops) for a nest that holds those too. Cost: nearly
//! linear; inner loops are collapsed into their headers before outer ones are walked.

use alloc::vec::Vec;

use crate::graph::{Dominators, Graph};

/// The natural loops of a graph.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NaturalLoops {
    headers: Vec<Option<u32>>,
    depths: Vec<u32>,
}

impl NaturalLoops {
    /// Finds the loops among the nodes that the entry reaches.
    pub fn new(graph: &impl Graph, dominators: &Dominators) -> Self {
        let nodes = graph.node_count() as usize;
        let mut headers: Vec<Option<u32>> = alloc::vec![None; nodes];
        // The header of the outermost loop found so far, compressed on the way.
        let mut outer: Vec<u32> = (0..nodes as u32).collect();
        let mut is_header = alloc::vec![false; nodes];
        let mut work = Vec::new();
        // What is dominated comes behind what dominates it.
        let order = dominators.order();
        for &header in order.iter().rev() {
            let latches = graph.predecessors(header).iter();
            work.extend(
                latches
                    .copied()
                    .filter(|&from| dominators.dominates(header, from)),
            );
            if work.is_empty() {
                continue;
            }
            set(&mut is_header, header, true);
            while let Some(node) = work.pop() {
                let top = find(&mut outer, node);
                if top == header {
                    continue;
                }
                set(&mut headers, top, Some(header));
                set(&mut outer, top, header);
                let before = graph.predecessors(top).iter();
                work.extend(before.copied().filter(|&n| dominators.is_reachable(n)));
            }
        }
        // Outer headers dominate inner ones: the order of the tree settles depths from outside.
        let mut depths = alloc::vec![0u32; nodes];
        for &node in order {
            let parent = headers.get(node as usize).copied().flatten();
            let above = parent
                .and_then(|p| depths.get(p as usize))
                .copied()
                .unwrap_or(0);
            let own = u32::from(is_header.get(node as usize) == Some(&true));
            set(&mut depths, node, above + own);
        }
        for node in 0..nodes as u32 {
            if is_header.get(node as usize) == Some(&true) {
                set(&mut headers, node, Some(node));
            }
        }
        Self { headers, depths }
    }

    /// The header of the innermost loop around a node; a header is in its own loop.
    pub fn header(&self, node: u32) -> Option<u32> {
        self.headers.get(node as usize).copied().flatten()
    }

    /// How many loops a node lies in.
    pub fn depth(&self, node: u32) -> u32 {
        self.depths.get(node as usize).copied().unwrap_or(0)
    }
}

fn set<T>(table: &mut [T], node: u32, value: T) {
    if let Some(entry) = table.get_mut(node as usize) {
        *entry = value;
    }
}

fn find(outer: &mut [u32], node: u32) -> u32 {
    let above = |outer: &[u32], n: u32| outer.get(n as usize).copied().unwrap_or(n);
    let mut top = node;
    while above(outer, top) != top {
        let next = above(outer, top);
        set(outer, top, above(outer, next));
        top = next;
    }
    top
}
