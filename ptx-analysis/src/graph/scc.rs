//! Strongly connected components (Tarjan), linear.

use super::{Csr, Graph, NONE, some};
use alloc::vec;
use alloc::vec::Vec;

/// The components of all nodes, reached or not. Numbered such that edges between components lead to higher numbers.
#[derive(Clone, Debug)]
pub struct Components {
    component: Vec<u32>,
    members: Csr,
}

impl Components {
    /// The components of `graph`.
    pub fn new(graph: &impl Graph) -> Self {
        let nodes = graph.node_count();
        let mut number = vec![NONE; nodes as usize];
        let mut low = vec![NONE; nodes as usize];
        let mut component = vec![NONE; nodes as usize];
        let (mut next, mut found) = (0, 0);
        let (mut open, mut stack): (Vec<u32>, Vec<(u32, u32)>) = (Vec::new(), Vec::new());
        for root in 0..nodes {
            if number[root as usize] == NONE {
                stack.push((root, 0));
            }
            while let Some((node, done)) = stack.last_mut() {
                let (node, index) = (*node, *done as usize);
                let at = node as usize;
                if index == 0 && number[at] == NONE {
                    (number[at], low[at]) = (next, next);
                    next += 1;
                    open.push(node);
                } else if let Some(&back) = index
                    .checked_sub(1)
                    .and_then(|i| graph.successors(node).get(i))
                {
                    // Back from this successor, or passed it by.
                    if component[back as usize] == NONE {
                        low[at] = low[at].min(low[back as usize]);
                    }
                }
                if let Some(&to) = graph.successors(node).get(index) {
                    *done += 1;
                    if number[to as usize] == NONE {
                        stack.push((to, 0));
                    }
                    continue;
                }
                if low[at] == number[at] {
                    while let Some(member) = open.pop() {
                        component[member as usize] = found;
                        if member == node {
                            break;
                        }
                    }
                    found += 1;
                }
                stack.pop();
            }
        }
        // Tarjan finds a component after those it leads to.
        for id in &mut component {
            *id = found - 1 - *id;
        }
        let members = Csr::new(found as usize, component.iter().copied().zip(0..nodes));
        Self { component, members }
    }

    /// The component of `node`.
    pub fn of(&self, node: u32) -> Option<u32> {
        self.component.get(node as usize).copied().and_then(some)
    }

    /// The nodes of a component, ascending.
    pub fn members(&self, component: u32) -> &[u32] {
        self.members.row(component)
    }

    /// How many components there are.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether there is none: the graph has no nodes.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }
}
