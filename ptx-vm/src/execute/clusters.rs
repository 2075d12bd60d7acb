//! The clusters of a grid and their numbers.

/// The shape of a grid and of its clusters.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Clusters {
    /// CTAs of the grid in each dimension.
    pub(super) blocks: [u32; 3],
    /// CTAs of a cluster in each dimension.
    pub(super) cluster: [u32; 3],
}

impl Clusters {
    fn counts(self) -> [u64; 3] {
        core::array::from_fn(|i| u64::from(self.blocks[i] / self.cluster[i].max(1)))
    }

    /// The number of clusters.
    pub(super) fn count(self) -> u64 {
        self.counts().iter().product()
    }

    /// The number of CTAs of a cluster.
    pub(crate) fn size(self) -> u64 {
        self.cluster.iter().map(|&n| u64::from(n)).product()
    }

    /// `%clusterid` of a number.
    pub(super) fn index(self, number: u64) -> [u32; 3] {
        let [x, y, _] = self.counts();
        [number % x, number / x % y, number / (x * y)].map(|i| i as u32)
    }

    /// The number of the cluster with this CTA.
    pub(crate) fn of_block(self, index: [u32; 3]) -> u64 {
        let [x, y, _] = self.counts();
        let [a, b, c] = core::array::from_fn(|i| u64::from(index[i] / self.cluster[i].max(1)));
        a + x * (b + y * c)
    }

    /// The number of the cluster with this CTA, by its linear index.
    pub(crate) fn of_linear(self, block: u64) -> u64 {
        if self.size() == 1 {
            return block;
        }
        let [x, y, _] = self.blocks.map(u64::from);
        self.of_block([block % x, block / x % y, block / (x * y)].map(|i| i as u32))
    }
}
