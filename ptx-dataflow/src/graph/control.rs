//! Control dependence: which branches decide whether a node runs.

use super::dominators::TreeAncestors;
use super::{Frontier, Frontiers, Node, PostDominators};
use core::marker::PhantomData;

/// For each node the branches it depends on (Ferrante, Ottenstein, Warren): `n` depends on `b` if `n` post-dominates a
/// successor of `b` but does not strictly post-dominate `b`. It is the post-dominance frontier; a guarded exit and the
/// end of an infinite loop count as branches to the virtual exit.
#[derive(Clone, Debug)]
pub struct ControlDependence<N = u32>(Frontiers<N>);

impl<N: Node> ControlDependence<N> {
    /// The dependence of every node.
    #[must_use]
    pub fn new(post: &PostDominators<N>) -> Self {
        Self(post.frontiers())
    }

    /// The nodes at whose end it is decided whether `node` runs, ascending.
    pub fn of(&self, node: N) -> Frontier<'_, N> {
        self.0.of(node)
    }
}

impl<N: Node> PostDominators<N> {
    /// The nodes that are certain to run once the edge from `from` to `to` is taken, but not before: those that depend on
    /// this edge. A walk up the tree from `to`.
    pub fn dependents(&self, from: N, to: N) -> Dependents<'_, N> {
        let tree = self.tree().tree();
        Dependents {
            up: tree.ancestors(to.as_u32()),
            stop: tree.immediate(from.as_u32()),
            nodes: PhantomData,
        }
    }
}

/// The nodes that depend on an edge: see [`PostDominators::dependents`].
#[derive(Clone, Debug)]
pub struct Dependents<'a, N = u32> {
    up: TreeAncestors<'a>,
    stop: Option<u32>,
    nodes: PhantomData<fn(N) -> N>,
}

impl<N: Node> Iterator for Dependents<'_, N> {
    type Item = N;

    fn next(&mut self) -> Option<N> {
        let node = self.up.next().filter(|&node| Some(node) != self.stop);
        node.map(N::from_u32)
    }
}
