//! Exchanges between the lanes of a warp.
//!
//! After a commutative operation on a value and that of the lane whose index differs in one bit, both lanes have the same value. Five of these reduce a value
//! over a warp.

use alloc::vec::Vec;

use ptx_ir::facts::Facts;
use ptx_ir::{Operand, Statement};
use ptx_isa::{Marks, Modifier, ResultUniformity, Uniformity};
use ptx_semantics::internals::commutes;

use super::evaluation::{Evaluation, Site};
use super::lane_bits::LaneBits;
use super::transfer::{SEGMENT_BITS, WHOLE_WARP};
use crate::reg_lanes::VariableId;
use crate::ssa::{Value, ValueId};

impl<'a> Evaluation<'a> {
    /// The differing bits of a register that lanes read from each other.
    pub(super) fn exchange_lanes(&mut self, site: &Site<'a>, variable: VariableId) -> LaneBits {
        let facts = &site.facts;
        if self.result_uniformity(facts, variable) != Some(ResultUniformity::LaneValue) {
            return LaneBits::UNKNOWN;
        }
        self.collective.push(site.stmt);
        if !self.is_whole(site) {
            return LaneBits::UNKNOWN;
        }
        let segments = self
            .marked_integer(facts, Marks::LANE_SEGMENT)
            .filter(|segments| segments & WHOLE_WARP == WHOLE_WARP);
        let Some((source, segments)) = self.exchanged_value(site).zip(segments) else {
            return LaneBits::UNKNOWN;
        };
        let source = self.read_lanes(source, site.block);
        let segment = (segments >> 8) as u8;
        if facts.has_modifier(Modifier::Bfly) {
            let lane = self.marked_integer(facts, Marks::LANE_INDEX);
            let stays_in_segment =
                lane.is_some_and(|lane| lane & !WHOLE_WARP == 0 && lane as u8 & segment == 0);
            return if stays_in_segment {
                source
            } else {
                LaneBits::UNKNOWN
            };
        }
        let mut lanes = facts.marked(Marks::LANE_INDEX);
        let is_same_lane = lanes.all(|lane| self.argument(site, lane) <= Uniformity::Warp);
        if facts.has_modifier(Modifier::Idx) && is_same_lane {
            source.broadcast(segment)
        } else {
            LaneBits::UNKNOWN
        }
    }

    /// If an instruction is a commutative operation on a value and that of another lane, the bits in which the index of that lane differs.
    pub(super) fn exchanged_operands(&mut self, site: &Site<'a>) -> Option<u8> {
        let body = self.facts.body();
        let ([first, second], [_, Operand::Reg(_), Operand::Reg(_)]) =
            (self.ssa.uses(site.stmt), body.operands(site.inst))
        else {
            return None;
        };
        if site.facts.guard().is_some() || site.facts.memory().next().is_some() {
            return None;
        }
        let exchange = self
            .exchange(first.value, second.value)
            .or_else(|| self.exchange(second.value, first.value))?;
        let id = body.inst(site.inst)?.sig;
        let signature = self.facts.module().signature(id);
        let modifiers: Vec<Modifier> = signature.modifiers().collect();
        if !commutes(signature.opcode()?, &modifiers) {
            return None;
        }
        self.collective.push(site.stmt);
        let bits = self.marked_integer(&exchange.facts, Marks::LANE_INDEX)?;
        (self.is_whole(&exchange) && bits & !WHOLE_WARP == 0).then_some(bits as u8)
    }

    /// The instruction by which `value` is the `source` of another lane.
    fn exchange(&self, value: ValueId, source: ValueId) -> Option<Site<'a>> {
        let Value::Def {
            stmt,
            variable,
            old: None,
        } = self.ssa.value(value)
        else {
            return None;
        };
        let Some(Statement::Inst(inst)) = self.facts.body().statement(stmt) else {
            return None;
        };
        let site = Site {
            stmt,
            inst,
            facts: self.facts.inst(inst),
            block: self.block(stmt)?,
        };
        if !site.facts.has_modifier(Modifier::Bfly)
            || self.result_uniformity(&site.facts, variable) != Some(ResultUniformity::LaneValue)
            || self.marked_integer(&site.facts, Marks::LANE_SEGMENT)? & SEGMENT_BITS != WHOLE_WARP
        {
            return None;
        }
        (self.exchanged_value(&site)? == source).then_some(site)
    }

    /// Returns whether all lanes of the warps that execute an exchange do so. What depends on it has to be evaluated again when executions of blocks change.
    fn is_whole(&self, site: &Site<'_>) -> bool {
        let pool = self.facts.body().pool();
        let mut participants = site.facts.marked(Marks::PARTICIPANTS);
        let has_all_participants = participants.all(|operand| {
            let mask = pool.integer(operand);
            mask.is_some_and(|mask| mask as u32 == u32::MAX)
        });
        has_all_participants
            && self.is_executed_by(site.block, Uniformity::Warp)
            && site.facts.guard().is_none()
    }

    /// The value that lanes read from each other.
    fn exchanged_value(&self, site: &Site<'_>) -> Option<ValueId> {
        let (operand, _) = site.facts.parts().find(|(_, usage)| usage.reads())?;
        let variable = self.variables.of(site.facts.place(operand)?).single()?;
        self.ssa.read(site.stmt, variable)
    }

    /// The integer of an operand with a mark.
    fn marked_integer(&self, facts: &Facts<'_>, mark: Marks) -> Option<i64> {
        let operand = facts.marked(mark).next()?;
        self.facts.body().pool().integer(operand)
    }
}
