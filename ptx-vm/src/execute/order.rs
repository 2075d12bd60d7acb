//! The order in which CTAs start and warps run: that of their indices, or that of a schedule.

use super::grid::Grid;
use crate::schedule::Schedule;

/// An order of `0..count`, without a table.
#[derive(Copy, Clone, Debug)]
pub(super) struct Order {
    seed: Option<u64>,
    /// The number that comes last.
    last: Option<u64>,
    count: u64,
    /// Half of the bits of the least power of four that is not below `count`.
    half: u32,
}

impl Order {
    pub(super) fn new(seed: Option<u64>, count: u64) -> Self {
        let bits = u64::BITS - count.saturating_sub(1).leading_zeros();
        Self {
            seed,
            last: None,
            count,
            half: bits.div_ceil(2).max(1),
        }
    }

    /// The order in which the clusters of a grid begin.
    pub(super) fn of_clusters(grid: &Grid<'_>, count: u64) -> Self {
        let mut order = Self::new(grid.schedule.and_then(Schedule::seed), count);
        if let Some(Schedule::DelayBlock(block)) = grid.schedule {
            let number = grid.clusters().of_linear(block);
            order.last = Some(number).filter(|number| *number < count);
        }
        order
    }

    /// The number at a position, which is below `count`, and so are all numbers that [`scatter`] goes through.
    pub(super) fn at(&self, position: u64) -> u64 {
        let Some(seed) = self.seed else {
            return match self.last {
                Some(last) if position + 1 == self.count => last,
                Some(last) if position >= last => position + 1,
                _ => position,
            };
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

/// The number of turns of which a starved warp or CTA gets one.
const STARVED_PERIOD: u64 = 64;
/// The steps of a warp in a turn, if others are starved: they get theirs soon.
const STEPS: u64 = 1 << 10;

/// The warps of a CTA, or CTAs of a cluster, that run only if the others cannot.
#[derive(Copy, Clone, Debug)]
pub(super) struct Starved {
    /// The index of one of them, and whether it is that one, or all others.
    one: Option<(u64, bool)>,
    /// Whether all of them run, whether or not others can.
    all: bool,
}

impl Starved {
    /// The warps of a CTA that has made a number of turns.
    pub(super) const fn warps(grid: &Grid<'_>, turns: u64) -> Self {
        let one = match grid.schedule {
            Some(Schedule::StarveWarp(warp)) => Some((warp as u64, true)),
            Some(Schedule::FavorWarp(warp)) => Some((warp as u64, false)),
            _ => None,
        };
        let all = turns % STARVED_PERIOD == STARVED_PERIOD - 1;
        Self { one, all }
    }

    /// The CTAs of a grid, by linear index, after a number of turns of their cluster.
    pub(super) const fn blocks(grid: &Grid<'_>, turns: u64) -> Self {
        let one = match grid.schedule {
            Some(Schedule::DelayBlock(block)) => Some((block, true)),
            _ => None,
        };
        let all = turns % STARVED_PERIOD == STARVED_PERIOD - 1;
        Self { one, all }
    }

    /// None of them.
    pub(super) const fn none() -> Self {
        Self {
            one: None,
            all: true,
        }
    }

    /// Whether any of them are.
    pub(super) const fn any(self) -> bool {
        self.one.is_some()
    }

    /// Whether one has to wait for the others, which did some steps or not.
    pub(super) fn waits(self, index: u64, any_steps: bool) -> bool {
        let starved = self.one.is_some_and(|(one, own)| (index == one) == own);
        starved && any_steps && !self.all
    }

    /// The passes over all of them: those that are not starved come first.
    pub(super) fn passes(self) -> impl Iterator<Item = Option<bool>> {
        let passes: &[Option<bool>] = if self.any() {
            &[Some(false), Some(true)]
        } else {
            &[None]
        };
        passes.iter().copied()
    }

    /// Whether one belongs to a pass.
    pub(super) fn is_in(self, index: u64, pass: Option<bool>) -> bool {
        let starved = self.one.is_some_and(|(one, own)| (index == one) == own);
        pass.is_none_or(|wanted| wanted == starved)
    }
}

impl Turn {
    /// A turn of this many warps with at most `most` steps each. In a random order, most of them make only a few.
    pub(super) fn new(grid: &Grid<'_>, warps: usize, most: u64) -> Self {
        let seed = grid.schedule.and_then(Schedule::seed);
        let seed = seed.map(|seed| mix(seed ^ mix(grid.progress.steps())));
        let most = match grid.schedule {
            Some(Schedule::StarveWarp(_) | Schedule::FavorWarp(_)) => most.min(STEPS),
            _ => most,
        };
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
