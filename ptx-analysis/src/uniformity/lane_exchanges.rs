//! What lanes of a warp get from each other: after a commutative operation of a value and that of the lane whose index differs in one bit, both lanes have the same.
//! Five of these reduce a value over a warp.

use ptx_ir::facts::Facts;
use ptx_ir::{InstId, Operand, Statement, StmtId};
use ptx_isa::{Marks, Modifier, ResultUniformity, Uniformity};

use super::lane_bits::LaneBits;
use super::pass::Pass;
use super::statement::{SEGMENT_BITS, WHOLE_WARP};
use crate::cfg::BlockId;
use crate::ssa::{Value, ValueId};
use ptx_semantics::fold::commutes;

impl<'a> Pass<'a> {
    /// What is known of a register that lanes get from each other.
    pub(super) fn exchange_lanes(
        &mut self,
        (stmt, block): (StmtId, BlockId),
        facts: &Facts<'_>,
        variable: u32,
    ) -> LaneBits {
        if self.result_uniformity(facts, variable) != Some(ResultUniformity::LaneValue)
            || !self.is_whole((stmt, block), facts, stmt)
        {
            return LaneBits::UNKNOWN;
        }
        let segments = self.number(facts, Marks::LANE_SEGMENT);
        let segments = segments.filter(|n| n & WHOLE_WARP == WHOLE_WARP);
        let Some((source, segments)) = self.exchanged_value(stmt, facts).zip(segments) else {
            return LaneBits::UNKNOWN;
        };
        let source = self.read_lanes(source, block);
        let segment = (segments >> 8) as u8;
        if facts.has_modifier(Modifier::Bfly) {
            let lane = self.number(facts, Marks::LANE_INDEX);
            let is_inside = lane.is_some_and(|of| of & !WHOLE_WARP == 0 && of as u8 & segment == 0);
            return if is_inside { source } else { LaneBits::UNKNOWN };
        }
        let mut lanes = facts.marked(Marks::LANE_INDEX);
        let is_same = lanes.all(|o| self.argument(stmt, block, o) <= Uniformity::Warp);
        match facts.has_modifier(Modifier::Idx) && is_same {
            true => source.read_from(segment),
            false => LaneBits::UNKNOWN,
        }
    }

    /// If an instruction is a commutative operation of a value and of that of another lane, the bits in which the index of that lane differs.
    pub(super) fn exchanged_operands(
        &mut self,
        (stmt, inst): (StmtId, InstId),
        facts: &Facts<'_>,
    ) -> Option<u8> {
        let body = self.facts.body();
        let ([a, b], [_, Operand::Reg(_), Operand::Reg(_)]) =
            (self.ssa.uses(stmt), body.operands(inst))
        else {
            return None;
        };
        if facts.guard().is_some() || facts.memory().next().is_some() {
            return None;
        }
        let (exchange, of) = self
            .exchange(a.value, b.value)
            .or_else(|| self.exchange(b.value, a.value))?;
        let signature = body.inst(inst)?.sig;
        let signature = self.facts.module().signature(signature);
        let mut modifiers = [Modifier::ALL[0]; 16];
        let mut count = 0;
        for (slot, modifier) in modifiers.iter_mut().zip(signature.modifiers()) {
            *slot = modifier;
            count += 1;
        }
        let block = self.block(exchange)?;
        let is_known = commutes(signature.opcode()?, &modifiers[..count])
            && self.is_whole((exchange, block), &of, stmt);
        let bits = self.number(&of, Marks::LANE_INDEX)?;
        (is_known && bits & !WHOLE_WARP == 0).then_some(bits as u8)
    }

    /// The exchange by which a value is that of another lane.
    fn exchange(&self, value: ValueId, other: ValueId) -> Option<(StmtId, Facts<'a>)> {
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
        let facts = self.facts.inst(inst);
        if !facts.has_modifier(Modifier::Bfly)
            || self.result_uniformity(&facts, variable) != Some(ResultUniformity::LaneValue)
            || self.number(&facts, Marks::LANE_SEGMENT)? & SEGMENT_BITS != WHOLE_WARP
        {
            return None;
        }
        let source = self.exchanged_value(stmt, &facts)?;
        (source == other).then_some((stmt, facts))
    }

    /// Whether all lanes of the warps that execute an exchange do so. What `reader` computes has to be looked at again if not.
    fn is_whole(
        &mut self,
        (stmt, block): (StmtId, BlockId),
        facts: &Facts<'_>,
        reader: StmtId,
    ) -> bool {
        let mut participants = facts.marked(Marks::PARTICIPANTS);
        let pool = self.facts.body().pool();
        let all = |n: i64| n as u32 == u32::MAX;
        let is_all = participants.all(|o| pool.integer(o).is_some_and(all));
        let executed = self.executions.get(block.as_u32() as usize);
        let is_executed = executed.is_some_and(|of| *of <= Uniformity::Warp);
        self.collective.push(reader);
        is_all && is_executed && facts.guard().is_none() && self.block(stmt) == Some(block)
    }

    /// The value that lanes get from each other.
    fn exchanged_value(&self, stmt: StmtId, facts: &Facts<'_>) -> Option<ValueId> {
        let (operand, _) = facts.parts().find(|(_, usage)| usage.reads())?;
        let mut variables = self.variables.of(facts.place(operand)?);
        let (variable, None) = (variables.next()?, variables.next()) else {
            return None;
        };
        self.ssa.read(stmt, variable)
    }

    /// The number that an operand with a mark is.
    fn number(&self, facts: &Facts<'_>, mark: Marks) -> Option<i64> {
        let operand = facts.marked(mark).next()?;
        self.facts.body().pool().integer(operand)
    }
}
