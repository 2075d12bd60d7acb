//! The clocks that stores publish to the threads that read them.

use std::collections::HashMap;

use super::clock::Clock;
use super::scope::Scope;

/// A CTA and its cluster, by their linear indices.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Home {
    pub(super) block: u64,
    pub(super) cluster: u64,
}

/// The clocks that the stores to a location publish.
#[derive(Clone, Debug, Default)]
pub(super) struct Published {
    device: Option<Clock>,
    clusters: HashMap<u64, Clock>,
    blocks: HashMap<u64, Clock>,
}

impl Published {
    /// Publishes a clock to the threads of a scope.
    pub(super) fn add(&mut self, home: Home, scope: Scope, clock: &Clock) {
        join(self.blocks.entry(home.block), clock);
        if scope >= Scope::Cluster {
            join(self.clusters.entry(home.cluster), clock);
        }
        if scope == Scope::Device {
            match &mut self.device {
                Some(known) => known.join(clock),
                none => *none = Some(clock.clone()),
            }
        }
    }

    /// The clock that a thread acquires by a read in a scope.
    pub(super) fn get(&self, home: Home, scope: Scope) -> impl Iterator<Item = &Clock> {
        let device = self.device.as_ref().filter(|_| scope == Scope::Device);
        let cluster = self.clusters.get(&home.cluster);
        let cluster = cluster.filter(|_| scope >= Scope::Cluster);
        let block = self.blocks.get(&home.block);
        device.into_iter().chain(cluster).chain(block)
    }
}

fn join(entry: std::collections::hash_map::Entry<'_, u64, Clock>, clock: &Clock) {
    match entry {
        std::collections::hash_map::Entry::Occupied(mut known) => known.get_mut().join(clock),
        std::collections::hash_map::Entry::Vacant(free) => {
            free.insert(clock.clone());
        }
    }
}
