//! Control dependence: which branches decide whether a node runs.

use super::{Ancestors, Frontiers, PostDominators};

/// For each node the branches it depends on (Ferrante, Ottenstein, Warren): `n` depends on `b` if `n` post-dominates a
/// successor of `b` but does not strictly post-dominate `b`. It is the post-dominance frontier; a guarded exit and the
/// end of an infinite loop count as branches to the virtual exit. Time and memory are the size of the result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlDependence(Frontiers);

impl ControlDependence {
    /// The dependence of every node.
    pub fn new(post: &PostDominators) -> Self {
        Self(post.frontiers())
    }

    /// The nodes at whose end it is decided whether `node` runs, ascending.
    pub fn of(&self, node: u32) -> &[u32] {
        self.0.of(node)
    }
}

impl PostDominators {
    /// The nodes that run for certain once the edge from `from` to `to` is taken, but not for certain before: those that
    /// depend on this edge. From `to` on up the tree; nothing is computed beforehand.
    pub fn dependents(&self, from: u32, to: u32) -> Dependents<'_> {
        Dependents {
            up: self.tree().ancestors(to),
            stop: self.tree().immediate(from),
        }
    }
}

/// The nodes that depend on an edge: see [`PostDominators::dependents`].
#[derive(Clone, Debug)]
pub struct Dependents<'a> {
    up: Ancestors<'a>,
    stop: Option<u32>,
}

impl Iterator for Dependents<'_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        self.up.next().filter(|&node| Some(node) != self.stop)
    }
}
