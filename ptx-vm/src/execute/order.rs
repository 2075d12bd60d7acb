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
    half_bits: u32,
}

impl Order {
    pub(super) fn new(seed: Option<u64>, count: u64) -> Self {
        let bits = u64::BITS - count.saturating_sub(1).leading_zeros();
        Self {
            seed,
            last: None,
            count,
            half_bits: bits.div_ceil(2).max(1),
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
    pub(super) fn number_at(&self, position: u64) -> u64 {
        let Some(seed) = self.seed else {
            return match self.last {
                Some(last) if position + 1 == self.count => last,
                Some(last) if position >= last => position + 1,
                _ => position,
            };
        };
        let mut number = scatter(position, self.half_bits, seed);
        while number >= self.count {
            number = scatter(number, self.half_bits, seed);
        }
        number
    }
}

/// A permutation of the numbers of `2 * half_bits` bits: four rounds of a Feistel network.
fn scatter(number: u64, half_bits: u32, seed: u64) -> u64 {
    let mask = (1 << half_bits) - 1;
    let (mut high, mut low) = (number >> half_bits & mask, number & mask);
    for round in 0..4 {
        let mixed = mix(low ^ mix(seed.wrapping_add(round)));
        (high, low) = (low, (high ^ mixed) & mask);
    }
    high << half_bits | low
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
    max_steps: u64,
}

/// The number of turns of which a starved warp or CTA gets one.
const STARVED_PERIOD: u64 = 64;
/// The steps of a warp in a turn, if others are starved: they get theirs soon.
const STEPS: u64 = 1 << 10;

/// The warps of a CTA, or CTAs of a cluster, that run only if the others cannot.
#[derive(Copy, Clone, Debug)]
pub(super) struct Starved {
    chosen: Option<Choice>,
    /// Whether the starved ones run in this turn as well, even if others can.
    run_anyway: bool,
}

/// The choice of warps or CTAs that are starved, by the index of one.
#[derive(Copy, Clone, Debug)]
enum Choice {
    Only(u64),
    AllBut(u64),
}

/// A pass over the warps of a CTA, or the CTAs of a cluster.
#[derive(Copy, Clone, Debug)]
pub(super) enum Pass {
    All,
    /// The warps or CTAs that are not starved.
    Favored,
    Starved,
}

impl Starved {
    /// The warps of a CTA that has made a number of turns.
    pub(super) const fn warps(grid: &Grid<'_>, turns: u64) -> Self {
        let chosen = match grid.schedule {
            Some(Schedule::StarveWarp(warp)) => Some(Choice::Only(warp as u64)),
            Some(Schedule::FavorWarp(warp)) => Some(Choice::AllBut(warp as u64)),
            _ => None,
        };
        let run_anyway = turns % STARVED_PERIOD == STARVED_PERIOD - 1;
        Self { chosen, run_anyway }
    }

    /// The CTAs of a grid, by linear index, after a number of turns of their cluster.
    pub(super) const fn blocks(grid: &Grid<'_>, turns: u64) -> Self {
        let chosen = match grid.schedule {
            Some(Schedule::DelayBlock(block)) => Some(Choice::Only(block)),
            _ => None,
        };
        let run_anyway = turns % STARVED_PERIOD == STARVED_PERIOD - 1;
        Self { chosen, run_anyway }
    }

    /// No warps and no CTAs.
    pub(super) const fn none() -> Self {
        Self {
            chosen: None,
            run_anyway: true,
        }
    }

    fn contains(self, index: u64) -> bool {
        match self.chosen {
            None => false,
            Some(Choice::Only(starved)) => index == starved,
            Some(Choice::AllBut(favored)) => index != favored,
        }
    }

    /// Whether a warp or CTA does not run because it is starved and others made steps.
    pub(super) fn waits(self, index: u64, others_made_steps: bool) -> bool {
        others_made_steps && !self.run_anyway && self.contains(index)
    }

    /// The passes over all warps or CTAs: those that are not starved come first.
    pub(super) fn passes(self) -> impl Iterator<Item = Pass> {
        let passes: &[Pass] = match self.chosen {
            Some(_) => &[Pass::Favored, Pass::Starved],
            None => &[Pass::All],
        };
        passes.iter().copied()
    }

    /// Whether a warp or CTA belongs to a pass.
    pub(super) fn is_in(self, index: u64, pass: Pass) -> bool {
        match pass {
            Pass::All => true,
            Pass::Favored => !self.contains(index),
            Pass::Starved => self.contains(index),
        }
    }
}

impl Turn {
    /// A turn of a number of warps with at most `max_steps` steps each. In a random order, most of them make only a few.
    pub(super) fn new(grid: &Grid<'_>, warps: usize, max_steps: u64) -> Self {
        let seed = grid.schedule.and_then(Schedule::seed);
        let seed = seed.map(|seed| mix(seed ^ mix(grid.progress.steps())));
        let max_steps = match grid.schedule {
            Some(Schedule::StarveWarp(_) | Schedule::FavorWarp(_)) => max_steps.min(STEPS),
            _ => max_steps,
        };
        Self {
            order: Order::new(seed, warps as u64),
            max_steps,
        }
    }

    /// A turn of a number of warps in the order of their indices.
    pub(super) fn in_order(warps: usize, max_steps: u64) -> Self {
        Self {
            order: Order::new(None, warps as u64),
            max_steps,
        }
    }

    /// The warp at a position.
    pub(super) fn warp(&self, position: usize) -> usize {
        self.order.number_at(position as u64) as usize
    }

    /// The steps of the warp at a position.
    pub(super) fn steps(&self, position: usize) -> u64 {
        let Some(seed) = self.order.seed else {
            return self.max_steps;
        };
        let random = mix(seed.wrapping_add(position as u64));
        (1 << (random % 15)).min(self.max_steps)
    }
}
