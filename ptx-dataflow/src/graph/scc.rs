//! Strongly connected components, by the algorithm of Tarjan: linear.

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
    /// use ptx_dataflow::internals::{Components, Digraph};
    /// let graph = Digraph::new(3, 0, &[(0, 1), (1, 0), (1, 2)])?;
    /// let components = Components::new(&graph);
    /// assert_eq!((components.len(), components.of(0)), (2, components.of(1)));
    /// # Ok::<(), ptx_dataflow::internals::BadGraph>(())
    /// ```
    pub fn new(graph: &impl Graph<Node = N>) -> Self {
        let nodes = graph.node_count();
        let mut number = vec![NONE; nodes as usize];
        let mut low = vec![NONE; nodes as usize];
        let mut component = vec![NONE; nodes as usize];
        let (mut next_number, mut component_count) = (0, 0);
        // The nodes whose component is not complete, in the order of their numbers.
        let mut open: Vec<u32> = Vec::new();
        // A node and the number of its successors that were visited.
        let mut stack: Vec<(u32, u32)> = Vec::new();
        for root in 0..nodes {
            if number[root as usize] == NONE {
                stack.push((root, 0));
            }
            while let Some((node, visited)) = stack.last_mut() {
                let (node, edge) = (*node, *visited as usize);
                let index = node as usize;
                if edge == 0 && number[index] == NONE {
                    (number[index], low[index]) = (next_number, next_number);
                    next_number += 1;
                    open.push(node);
                } else if let Some(successor) = edge
                    .checked_sub(1)
                    .and_then(|edge| graph.succ_at(node, edge))
                    && component[successor as usize] == NONE
                {
                    low[index] = low[index].min(low[successor as usize]);
                }
                if let Some(successor) = graph.succ_at(node, edge) {
                    *visited += 1;
                    if number[successor as usize] == NONE {
                        stack.push((successor, 0));
                    }
                    continue;
                }
                if low[index] == number[index] {
                    while let Some(member) = open.pop() {
                        component[member as usize] = component_count;
                        if member == node {
                            break;
                        }
                    }
                    component_count += 1;
                }
                stack.pop();
            }
        }
        // A component was completed after the components that it leads to.
        for id in &mut component {
            *id = component_count - 1 - *id;
        }
        let members = Csr::new(
            component_count as usize,
            component.iter().copied().zip(graph.nodes()),
        );
        Self { component, members }
    }

    /// The component of `node`.
    pub fn of(&self, node: N) -> Option<ComponentId> {
        self.component
            .get(node.as_u32() as usize)
            .copied()
            .and_then(some)
            .map(ComponentId)
    }

    /// The nodes of a component, ascending.
    #[must_use]
    pub fn members(&self, component: ComponentId) -> &[N] {
        self.members.row(component.0)
    }

    /// All components.
    pub fn ids(&self) -> impl ExactSizeIterator<Item = ComponentId> + use<N> {
        (0..self.members.len() as u32).map(ComponentId)
    }

    /// The number of components.
    #[must_use]
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Returns whether there is no component: the graph has no nodes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }
}
