//! Natural loops: a header that dominates the source of an edge back to it, and all that reaches that source without
//! passing the header.
//!
//! Loops of one header are one loop. What is entered in several places has no header and is no loop here. Cost: nearly
//! linear; inner loops are collapsed into their headers before outer ones are walked.

use alloc::vec::Vec;

use crate::lists::Lists;

/// The loop nest of a graph.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Loops {
    headers: Vec<Option<u32>>,
    depths: Vec<u32>,
}

impl Loops {
    /// Finds the loops among the nodes that have a dominator, and the root.
    pub fn new(root: u32, successors: &Lists, idom: &[Option<u32>]) -> Self {
        let nodes = idom.len();
        let tree = Tree::new(root, idom);
        let reached = |n: u32| n == root || idom.get(n as usize).is_some_and(Option::is_some);
        let sources = (0..nodes as u32).filter(|&n| reached(n));
        let pairs = sources.flat_map(|from| successors.get(from).iter().map(move |&to| (to, from)));
        let into = Lists::new(nodes, pairs);
        let mut headers: Vec<Option<u32>> = alloc::vec![None; nodes];
        // The header of the outermost loop found so far, compressed on the way.
        let mut outer: Vec<u32> = (0..nodes as u32).collect();
        let mut order: Vec<u32> = (0..nodes as u32).filter(|&n| reached(n)).collect();
        order.sort_unstable_by_key(|&n| core::cmp::Reverse(tree.first(n)));
        let mut is_header = alloc::vec![false; nodes];
        let mut work = Vec::new();
        for &header in &order {
            let latches = into.get(header).iter();
            work.extend(latches.copied().filter(|&from| tree.dominates(header, from)));
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
                work.extend(into.get(top));
            }
        }
        // Outer headers dominate inner ones: the order of the tree settles depths from outside.
        let mut depths = alloc::vec![0u32; nodes];
        for &node in order.iter().rev() {
            let parent = headers.get(node as usize).copied().flatten();
            let above = parent.and_then(|p| depths.get(p as usize)).copied().unwrap_or(0);
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

/// First and last of the numbers below each node of the dominator tree.
struct Tree {
    first: Vec<u32>,
    last: Vec<u32>,
}

impl Tree {
    fn new(root: u32, idom: &[Option<u32>]) -> Self {
        let pairs = idom.iter().zip(0u32..).filter_map(|(d, n)| Some(((*d)?, n)));
        let children = Lists::new(idom.len(), pairs);
        let mut first = alloc::vec![u32::MAX; idom.len()];
        let mut last = alloc::vec![0; idom.len()];
        let mut next = 0;
        let mut stack = alloc::vec![(root, false)];
        while let Some((node, done)) = stack.pop() {
            if done {
                set(&mut last, node, next);
                continue;
            }
            set(&mut first, node, next);
            next += 1;
            stack.push((node, true));
            stack.extend(children.get(node).iter().map(|&c| (c, false)));
        }
        Self { first, last }
    }

    fn first(&self, node: u32) -> u32 {
        self.first.get(node as usize).copied().unwrap_or(u32::MAX)
    }

    fn dominates(&self, above: u32, below: u32) -> bool {
        let end = self.last.get(above as usize).copied().unwrap_or(0);
        self.first(above) <= self.first(below) && self.first(below) < end
    }
}
