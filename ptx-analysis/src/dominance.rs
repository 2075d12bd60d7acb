//! Immediate dominators of any dense graph, by semidominators (Georgiadis and Tarjan's SNCA).
//!
//! A node dominates another if every path from the root to it goes through the first. Cost: nearly linear, without
//! recursion. Exact. Turned around with a virtual exit it gives post-dominators: of the paths that leave the function, so
//! that a node from which none leaves has none.

use alloc::vec::Vec;

use crate::lists::Lists;

const NONE: u32 = u32::MAX;

/// The immediate dominator of every node that `root` reaches; `None` for the others and for the root.
pub fn immediate_dominators(root: u32, successors: &Lists, nodes: usize) -> Vec<Option<u32>> {
    let mut search = Search::new(root, successors, nodes);
    let count = search.order.len();
    let reached = search.order.iter().zip(0u32..);
    let pairs = reached.flat_map(|(&node, number)| {
        let targets = successors.get(node).iter();
        targets.map(move |&to| (to, number))
    });
    // The edges that are reached, by target; the sources by their numbers.
    let into = Lists::new(nodes, pairs);
    for number in (1..count as u32).rev() {
        let node = search.order[number as usize];
        let mut semi = search.parent[number as usize];
        for &from in into.get(node) {
            semi = semi.min(search.least(from, number));
        }
        search.semi[number as usize] = semi;
    }
    let mut idom = search.parent.clone();
    let mut found = alloc::vec![None; nodes];
    for number in 1..count {
        let mut above = idom[number];
        while above > search.semi[number] {
            above = idom[above as usize];
        }
        idom[number] = above;
        let node = search.order[number] as usize;
        if let Some(entry) = found.get_mut(node) {
            *entry = search.order.get(above as usize).copied();
        }
    }
    found
}

/// Numbers in the order of a depth-first search; all tables are indexed by them.
struct Search {
    order: Vec<u32>,
    parent: Vec<u32>,
    semi: Vec<u32>,
    /// The least semidominator on the way up to `link`, for nodes that were handled.
    label: Vec<u32>,
    link: Vec<u32>,
    path: Vec<u32>,
}

impl Search {
    fn new(root: u32, successors: &Lists, nodes: usize) -> Self {
        let mut number = alloc::vec![NONE; nodes];
        let (mut order, mut parent) = (Vec::new(), Vec::new());
        let mut stack = alloc::vec![(root, 0)];
        while let Some((node, from)) = stack.pop() {
            let Some(entry) = number.get_mut(node as usize) else {
                continue;
            };
            if *entry != NONE {
                continue;
            }
            let at = order.len() as u32;
            *entry = at;
            order.push(node);
            parent.push(from);
            let targets = successors.get(node).iter().rev();
            stack.extend(targets.map(|&to| (to, at)));
        }
        let all: Vec<u32> = (0..order.len() as u32).collect();
        Self {
            semi: all.clone(),
            label: all.clone(),
            link: parent.clone(),
            order,
            parent,
            path: Vec::new(),
        }
    }

    /// The least semidominator among the handled ancestors of `node`, itself included; those above `limit` are handled.
    fn least(&mut self, node: u32, limit: u32) -> u32 {
        if node <= limit {
            return node;
        }
        // Compress the path from the top down, without recursion.
        let mut at = node;
        while self.link[at as usize] > limit {
            self.path.push(at);
            at = self.link[at as usize];
        }
        self.refresh(at);
        while let Some(below) = self.path.pop() {
            let above = self.link[below as usize];
            self.refresh(below);
            let (best, other) = (self.label[below as usize], self.label[above as usize]);
            self.label[below as usize] = best.min(other);
            self.link[below as usize] = self.link[above as usize];
        }
        self.label[node as usize]
    }

    /// A handled node's label is at most its semidominator.
    fn refresh(&mut self, node: u32) {
        let semi = self.semi[node as usize];
        let label = &mut self.label[node as usize];
        *label = (*label).min(semi);
    }
}
