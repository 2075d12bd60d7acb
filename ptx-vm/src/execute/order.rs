//! The order in which CTAs start and warps run: that of their indices, or a random one that a seed determines.

use super::grid::Grid;

/// An order of `0..count`, without a table.
#[derive(Copy, Clone, Debug)]
pub(super) struct Order {
    seed: Option<u64>,
    count: u64,
    /// Half of the bits of the least power of four that is not below `count`.
    half: u32,
}

impl Order {
    pub(super) fn new(seed: Option<u64>, count: u64) -> Self {
        let bits = u64::BITS - count.saturating_sub(1).leading_zeros();
        Self {
            seed,
            count,
            half: bits.div_ceil(2).max(1),
        }
    }

    /// The number at a position, which is below `count`, and so are all numbers that [`scatter`] goes through.
    pub(super) fn at(&self, position: u64) -> u64 {
        let Some(seed) = self.seed else {
            return position;
        };
        let mut number = scatter(position, self.half, seed);
        while number >= self.count {
            number = scatter(number, self.half, seed);
        }
        number
    }
}

/// A permutation of the numbers of `2 * half` bits: four rounds of a Feistel network.
fn scatter(number: u64, half: u32, seed: u64) -> u64 {
    let mask = (1 << half) - 1;
    let (mut high, mut low) = (number >> half & mask, number & mask);
    for round in 0..4 {
        let mixed = mix(low ^ mix(seed.wrapping_add(round)));
        (high, low) = (low, (high ^ mixed) & mask);
    }
    high << half | low
}

/// A number in which each bit depends on all bits of another one (the function of the generator SplitMix64).
pub(super) const fn mix(number: u64) -> u64 {
    let a = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let b = (a ^ a >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let c = (b ^ b >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    c ^ c >> 31
}

/// A turn of the warps of a CTA: which one is next, and how many steps it makes.
#[derive(Copy, Clone, Debug)]
pub(super) struct Turn {
    order: Order,
    most: u64,
}

impl Turn {
    /// A turn of this many warps with at most `most` steps each. In a random order, most of them make only a few.
    pub(super) fn new(grid: &Grid<'_>, warps: usize, most: u64) -> Self {
        let seed = grid.schedule;
        let seed = seed.map(|seed| mix(seed ^ mix(grid.progress.steps())));
        Self {
            order: Order::new(seed, warps as u64),
            most,
        }
    }

    /// A turn of this many warps in the order of their indices.
    pub(super) fn in_order(warps: usize, most: u64) -> Self {
        Self {
            order: Order::new(None, warps as u64),
            most,
        }
    }

    /// The warp at a position.
    pub(super) fn warp(&self, position: usize) -> usize {
        self.order.at(position as u64) as usize
    }

    /// The steps of the warp at a position.
    pub(super) fn steps(&self, position: usize) -> u64 {
        let Some(seed) = self.order.seed else {
            return self.most;
        };
        let random = mix(seed.wrapping_add(position as u64));
        (1 << (random % 15)).min(self.most)
    }
}
