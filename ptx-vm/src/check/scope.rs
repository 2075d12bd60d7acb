//! Scopes of the memory model.

use ptx_isa::Modifier;

/// A scope.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) enum Scope {
    /// The threads of the CTA.
    Cta,
    /// The threads of the cluster.
    Cluster,
    /// All threads.
    Device,
}

impl Scope {
    /// All scopes, the narrowest first.
    pub(super) const ALL: [Self; 3] = [Self::Cta, Self::Cluster, Self::Device];

    /// The scope that a modifier names.
    pub(super) const fn of(modifier: Modifier) -> Option<Self> {
        Some(match modifier {
            Modifier::Cta => Self::Cta,
            Modifier::Cluster => Self::Cluster,
            Modifier::Gpu | Modifier::Gl | Modifier::Sys => Self::Device,
            _ => return None,
        })
    }
}
