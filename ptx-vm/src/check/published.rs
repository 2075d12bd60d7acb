//! Scopes of the memory model, and the clocks that stores publish to the threads of a scope.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use ptx_isa::Modifier;

use super::clock::Clock;

/// A scope of the memory model.
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

/// A CTA and its cluster, by their linear indices.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct BlockInCluster {
    pub(super) block: u64,
    pub(super) cluster: u64,
}

/// The clocks that the stores to a location publish, by scope.
#[derive(Clone, Debug, Default)]
pub(super) struct Published {
    device: Option<Clock>,
    clusters: HashMap<u64, Clock>,
    blocks: HashMap<u64, Clock>,
}

impl Published {
    /// Publishes a clock of a thread of a CTA to the threads of a scope.
    pub(super) fn add(&mut self, publisher: BlockInCluster, scope: Scope, clock: &Clock) {
        join_entry(self.blocks.entry(publisher.block), clock);
        if scope >= Scope::Cluster {
            join_entry(self.clusters.entry(publisher.cluster), clock);
        }
        if scope == Scope::Device {
            match &mut self.device {
                Some(published) => published.join(clock),
                None => self.device = Some(clock.clone()),
            }
        }
    }

    /// The clocks that a thread of a CTA acquires by a read in a scope, with the scope in which each was published.
    pub(super) fn get(
        &self,
        reader: BlockInCluster,
        scope: Scope,
    ) -> impl Iterator<Item = (Scope, &Clock)> {
        let device = self.device.as_ref().filter(|_| scope == Scope::Device);
        let cluster = self
            .clusters
            .get(&reader.cluster)
            .filter(|_| scope >= Scope::Cluster);
        let block = self.blocks.get(&reader.block);
        [
            (Scope::Device, device),
            (Scope::Cluster, cluster),
            (Scope::Cta, block),
        ]
        .into_iter()
        .filter_map(|(scope, clock)| Some((scope, clock?)))
    }
}

fn join_entry(entry: Entry<'_, u64, Clock>, clock: &Clock) {
    match entry {
        Entry::Occupied(mut published) => published.get_mut().join(clock),
        Entry::Vacant(vacant) => {
            vacant.insert(clock.clone());
        }
    }
}
