//! Values that differ between threads but in fewer bits or lanes than is said by [`Uniformity::Varying`]: what follows from the index of the thread in kernels
//! that require CTAs of whole warps.

use alloc::vec::Vec;

use ptx_ir::facts::Facts;
use ptx_ir::{InstId, StmtId};
use ptx_isa::{SpecialReg, Uniformity};

use super::context::Context;
use super::lane_bits::LaneBits;
use super::lane_terms::Terms;
use super::pass::Pass;
use super::phases::is_load;
use crate::cfg::BlockId;
use crate::ssa::ValueId;

/// The lanes of a warp.
pub(super) const LANES: u64 = 32;

/// What is known of the values of a function.
#[derive(Debug, Default)]
pub(super) struct LaneValues {
    /// The threads of a CTA in each dimension, if they are known.
    threads: Option<[u64; 3]>,
    /// Of the values that were looked at.
    values: Vec<Option<LaneBits>>,
}

impl LaneValues {
    /// Nothing is followed unless CTAs are of whole warps.
    pub(super) fn new(context: &Context, values: usize) -> Self {
        let threads = context.threads().filter(|_| !context.is_optimistic);
        let is_whole = |of: &[u64; 3]| of.iter().product::<u64>().is_multiple_of(LANES);
        match threads.filter(is_whole) {
            Some(threads) => Self {
                threads: Some(threads),
                values: vec![None; values],
            },
            None => Self::default(),
        }
    }

    /// Whether values are followed.
    pub(super) const fn are_followed(&self) -> bool {
        self.threads.is_some()
    }

    /// What is known of the index of a thread in a dimension.
    fn index(&self, dimension: usize) -> Option<LaneBits> {
        let threads = self.threads?;
        let size = *threads.get(dimension)?;
        let before: u64 = threads.iter().take(dimension).product();
        let is_last = threads.iter().skip(dimension + 1).all(|of| *of == 1);
        let bits = size.saturating_sub(1).checked_ilog2().map_or(0, |n| n + 1);
        let fills = size.is_power_of_two() || is_last || size.is_multiple_of(LANES) && before == 1;
        match before.is_power_of_two() && fills {
            true => Some(LaneBits::of_index(before.trailing_zeros(), bits)),
            false if before.is_multiple_of(LANES) => Some(LaneBits::of_index(u64::BITS, bits)),
            false => None,
        }
    }

    /// Nothing is known of a value any more.
    pub(super) fn forget(&mut self, id: ValueId) {
        if let Some(of) = self.values.get_mut(id.as_u32() as usize) {
            *of = Some(LaneBits::UNKNOWN);
        }
    }
}

impl Pass<'_> {
    /// What is known of a value where a block reads it.
    pub(super) fn read_lanes(&self, value: ValueId, block: BlockId) -> LaneBits {
        let level = self.read(value, block);
        if level <= Uniformity::Cta {
            return LaneBits::uniform(level);
        }
        let known = self.lanes.values.get(value.as_u32() as usize);
        let Some(known) = known.copied().flatten() else {
            return LaneBits::uniform(level);
        };
        match self.made(value) {
            Some(made) if made != block => known.chosen(self.control.temporal(made, block)),
            _ => known,
        }
    }

    /// What is known of a component of a special register.
    pub(super) fn special_lanes(
        &self,
        register: SpecialReg,
        component: Option<u8>,
        block: BlockId,
    ) -> LaneBits {
        let index = match (register, component) {
            (SpecialReg::Tid, Some(component)) => self.lanes.index(component.into()),
            (SpecialReg::Laneid, None) => Some(LaneBits::of_index(0, LANES.ilog2())),
            _ => None,
        };
        index.unwrap_or_else(|| LaneBits::uniform(self.special(register, component, block)))
    }

    /// In which threads a value is the same of which something was found, or that is the same in a group.
    fn lower(&mut self, id: ValueId, found: LaneBits, level: Uniformity) -> Uniformity {
        let Some(known) = self.lanes.values.get_mut(id.as_u32() as usize) else {
            return level;
        };
        let joined = known.map_or(found, |known| known.join(found));
        if *known != Some(joined) {
            *known = Some(joined);
            self.notify(id);
        }
        level.min(joined.level())
    }

    /// In which threads a phi is the same, which is at least so in a group.
    pub(super) fn refined_phi(
        &mut self,
        (id, block): (ValueId, BlockId),
        level: Uniformity,
    ) -> Uniformity {
        if !self.lanes.are_followed() || level < Uniformity::Warp {
            return level;
        }
        let edges = self.graphs.cfg.in_edges(block);
        let sources = edges.map(|(_, e)| self.graphs.dominators.is_reachable(e.from));
        let args = self
            .ssa
            .args(id)
            .iter()
            .zip(sources.chain(core::iter::once(true)));
        let args = args.filter(|(_, is_reachable)| *is_reachable);
        let args = args.map(|(arg, _)| self.read_lanes(*arg, block));
        let joined = args.reduce(LaneBits::join).unwrap_or(LaneBits::UNKNOWN);
        self.lower(id, joined.chosen(self.control.join(block)), level)
    }

    /// In which threads what a statement writes is the same, which is at least so in a group.
    pub(super) fn refined(
        &mut self,
        (stmt, inst, block): (StmtId, InstId, BlockId),
        facts: &Facts<'_>,
        (def, variable, old): (ValueId, u32, Option<ValueId>),
        level: Uniformity,
    ) -> Uniformity {
        if !self.lanes.are_followed() || level < Uniformity::Warp {
            return level;
        }
        let is_special = facts.results().any(|(_, of)| of.is_some());
        let mut new = match is_special {
            true => self.exchange_lanes((stmt, block), facts, variable),
            false => self.result_lanes((stmt, inst, block), facts, variable),
        };
        if let Some((place, _)) = facts.guard_register() {
            let guards = self.variables.of(place).map(|v| self.ssa.read(stmt, v));
            let guard = guards.fold(LaneBits::uniform(Uniformity::Grid), |all, of| {
                let of = of.map_or(LaneBits::UNKNOWN, |of| self.read_lanes(of, block));
                all.mixed(of)
            });
            let old = old.map(|old| self.read_lanes(old, block));
            let both = old.map_or(new, |old| new.join(old));
            new = match guard.is_same_in_warp() {
                true => both.chosen(guard.level()),
                false => both.mixed(guard),
            };
        } else if let Some(old) = old {
            let is_cell = variable > self.ssa.carry();
            new = match is_cell && facts.guard().is_none() {
                true => new.mixed(self.read_lanes(old, block)),
                false => LaneBits::UNKNOWN,
            };
        }
        self.lower(def, new, level)
    }

    /// What is known of a result that is computed, or loaded.
    fn result_lanes(
        &mut self,
        (stmt, inst, block): (StmtId, InstId, BlockId),
        facts: &Facts<'_>,
        variable: u32,
    ) -> LaneBits {
        let mut is_loaded = false;
        if self.context.cells.of(stmt).is_empty() {
            for access in facts.memory().filter(|access| access.reads()) {
                is_loaded = true;
                // What two threads load that have the same address.
                let undisturbed = self.phases.is_undisturbed(stmt) && is_load(&access);
                let warp = Uniformity::Warp;
                if !undisturbed && self.loaded(facts, &access, warp, (stmt, block)) > warp {
                    return LaneBits::UNKNOWN;
                }
            }
        }
        let start = LaneBits::uniform(self.specials(inst, block));
        let mixed = self.ssa.uses(stmt).iter().fold(start, |all, of| {
            let of = self.read_lanes(of.value, block);
            all.mixed(of)
        });
        if is_loaded {
            return mixed.mixed(LaneBits::uniform(Uniformity::Grid));
        }
        let terms = Terms::new(self, (stmt, block), facts);
        let computed = terms.and_then(|terms| terms.result(variable));
        let computed = computed.unwrap_or(mixed);
        let bits = self.exchanged_operands((stmt, inst), facts);
        match bits.map(|bits| mixed.exchanged(bits)) {
            Some(of) if of.depends().count_ones() < computed.depends().count_ones() => of,
            _ => computed,
        }
    }
}
