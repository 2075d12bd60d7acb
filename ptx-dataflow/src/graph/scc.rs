//! Strongly connected components (Tarjan), linear.

use super::{Csr, Graph, NONE, Node, Numbered as _, some};
use alloc::vec::Vec;

crate::ids::ids! {
    /// A component of a [`Components`]. Edges between components lead to higher numbers.
    ComponentId;
}

/// The strongly connected components of all nodes, reachable or not.
#[derive(Clone, Debug)]
pub struct Components<N = u32> {
    component: Vec<u32>,
    members: Csr<N>,
}

impl<N: Node> Components<N> {
    /// The components of `graph`.
    ///
    /// ```
    /// use ptx_dataflow::graph::{Components, Digraph};
    /// let graph = Digraph::new(3, 0, &[(0, 1), (1, 0), (1, 2)])?;
    /// let components = Components::new(&graph);
    /// assert_eq!((components.len(), components.of(0)), (2, components.of(1)));
    /// # Ok::<(), ptx_dataflow::graph::BadGraph>(())
    /// ```
    pub fn new(graph: &impl Graph<Node = N>) -> Self {
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
                } else if let Some(back) = index.checked_sub(1).and_then(|i| graph.succ_at(node, i))
                {
                    // This successor is done, or was seen before.
                    if component[back as usize] == NONE {
                        low[at] = low[at].min(low[back as usize]);
                    }
                }
                if let Some(to) = graph.succ_at(node, index) {
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
        let members = component.iter().copied().zip(graph.nodes());
        let members = Csr::new(found as usize, members);
        Self { component, members }
    }

    /// The component of `node`.
    pub fn of(&self, node: N) -> Option<ComponentId> {
        let component = self.component.get(node.as_u32() as usize).copied();
        component.and_then(some).map(ComponentId)
    }

    /// The nodes of a component, ascending.
    #[must_use]
    pub fn members(&self, component: ComponentId) -> &[N] {
        self.members.row(component.0)
    }

    /// Every component.
    pub fn ids(&self) -> impl ExactSizeIterator<Item = ComponentId> + use<N> {
        (0..self.members.len() as u32).map(ComponentId)
    }

    /// How many components there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether there is no component: the graph has no nodes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }
}
