//! The bits and lanes in which values differ, for values that are not the same in a warp: what follows from the index of the thread in kernels that require
//! CTAs of whole warps.

use ptx_isa::{SpecialReg, Uniformity};

use super::evaluation::{Evaluation, Site};
use super::lane_bits::{LANES, LaneBits};
use super::lane_terms::Terms;
use super::phases::is_shared_load;
use super::transfer::Definition;
use crate::cfg::BlockId;
use crate::reg_lanes::VariableId;
use crate::ssa::ValueId;

impl<'a> Evaluation<'a> {
    /// The differing bits of a value where a block reads it.
    pub(super) fn read_lanes(&self, value: ValueId, block: BlockId) -> LaneBits {
        let uniformity = self.read(value, block);
        if uniformity <= Uniformity::Cta {
            return LaneBits::uniform(uniformity);
        }
        let Some(bits) = self.lanes.get(value) else {
            return LaneBits::uniform(uniformity);
        };
        match self.defining_block(value) {
            Some(definition) if definition != block => {
                bits.chosen(self.control.temporal(definition, block))
            }
            _ => bits,
        }
    }

    /// The differing bits of a component of a special register.
    pub(super) fn special_lanes(
        &self,
        register: SpecialReg,
        component: Option<u8>,
        block: BlockId,
    ) -> LaneBits {
        let index = match (register, component) {
            (SpecialReg::Tid, Some(component)) => self.lanes.thread_index(component.into()),
            (SpecialReg::Laneid, None) => Some(LaneBits::of_index(0, LANES.ilog2())),
            _ => None,
        };
        index.unwrap_or_else(|| LaneBits::uniform(self.special(register, component, block)))
    }

    /// Joins the differing bits of a value with others. Returns the uniformity that follows from them and from `uniformity`.
    fn raise_lanes(&mut self, id: ValueId, bits: LaneBits, uniformity: Uniformity) -> Uniformity {
        let Some(joined) = self.lanes.raise(id, bits) else {
            return uniformity;
        };
        if joined.is_changed {
            self.solver.revisit_readers(id);
        }
        uniformity.min(joined.bits.uniformity())
    }

    /// Refines the uniformity of a phi by the differing bits of its arguments.
    pub(super) fn refined_phi(
        &mut self,
        id: ValueId,
        block: BlockId,
        uniformity: Uniformity,
    ) -> Uniformity {
        if !self.lanes.are_followed() || uniformity < Uniformity::Warp {
            return uniformity;
        }
        let joined = self
            .reachable_arguments(id, block)
            .map(|argument| self.read_lanes(argument, block))
            .reduce(LaneBits::join)
            .unwrap_or(LaneBits::UNKNOWN);
        self.raise_lanes(id, joined.chosen(self.control.join(block)), uniformity)
    }

    /// Refines the uniformity of a value that an instruction defines by its differing bits.
    pub(super) fn refined(
        &mut self,
        site: &Site<'a>,
        definition: Definition,
        uniformity: Uniformity,
    ) -> Uniformity {
        if !self.lanes.are_followed() || uniformity < Uniformity::Warp {
            return uniformity;
        }
        let facts = &site.facts;
        let states_uniformity = facts.results().any(|(_, stated)| stated.is_some());
        let written = if states_uniformity {
            self.exchange_lanes(site, definition.variable)
        } else {
            self.result_lanes(site, definition.variable)
        };
        let bits = self.with_old_lanes(site, definition, written);
        self.raise_lanes(definition.value, bits, uniformity)
    }

    /// The differing bits of a variable after a statement that may keep its old value.
    fn with_old_lanes(
        &self,
        site: &Site<'_>,
        definition: Definition,
        written: LaneBits,
    ) -> LaneBits {
        let old = definition.old.map(|old| self.read_lanes(old, site.block));
        let Some((register, _)) = site.facts.guard_register() else {
            let is_cell = definition.variable > self.ssa.carry();
            return match old {
                None => written,
                Some(old) if is_cell && site.facts.guard().is_none() => written.mixed(old),
                Some(_) => LaneBits::UNKNOWN,
            };
        };
        let mut guard = LaneBits::uniform(Uniformity::Grid);
        for variable in self.variables.of(register) {
            let value = self.ssa.read(site.stmt, variable);
            guard = guard.mixed(value.map_or(LaneBits::UNKNOWN, |value| {
                self.read_lanes(value, site.block)
            }));
        }
        let both = old.map_or(written, |old| written.join(old));
        if guard.is_same_in_warp() {
            both.chosen(guard.uniformity())
        } else {
            both.mixed(guard)
        }
    }

    /// The differing bits of a result that is computed or loaded.
    fn result_lanes(&mut self, site: &Site<'a>, variable: VariableId) -> LaneBits {
        let facts = &site.facts;
        let mut is_loaded = false;
        if self.context.cells.of(site.stmt).is_empty() {
            for access in facts.memory().filter(|access| access.reads()) {
                is_loaded = true;
                // Threads that load through the same address have to get the same.
                let is_undisturbed =
                    is_shared_load(&access) && self.phases.is_undisturbed(site.stmt);
                let warp = Uniformity::Warp;
                if !is_undisturbed && self.loaded(site, &access, warp) > warp {
                    return LaneBits::UNKNOWN;
                }
            }
        }
        let mut mixed = LaneBits::uniform(self.specials(site.inst, site.block));
        for read in self.ssa.uses(site.stmt) {
            mixed = mixed.mixed(self.read_lanes(read.value, site.block));
        }
        if is_loaded {
            return mixed.mixed(LaneBits::uniform(Uniformity::Grid));
        }
        let computed = Terms::new(self, site)
            .and_then(|terms| terms.result(variable))
            .unwrap_or(mixed);
        let exchanged = self.exchanged_operands(site);
        match exchanged.map(|lane_bits| mixed.exchanged(lane_bits)) {
            Some(bits) if bits.lanes().count_ones() < computed.lanes().count_ones() => bits,
            _ => computed,
        }
    }
}
