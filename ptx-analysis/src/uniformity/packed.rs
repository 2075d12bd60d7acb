//! Values that one instruction packs of several registers and another one takes apart again.

use ptx_ir::facts::{Facts, FunctionFacts};
use ptx_ir::{ListId, Operand, Statement, StmtId};

use crate::reg_lanes::Variables;
use crate::ssa::{Ssa, Value};

/// An instruction that takes a value apart, and the one that packed it.
pub(super) struct Parts<'a> {
    pack: StmtId,
    sources: &'a [Operand],
    results: &'a [Operand],
}

impl Parts<'_> {
    /// The statement and the operand from which a result was packed.
    pub(super) fn source(
        &self,
        facts: &Facts<'_>,
        variables: &Variables,
        variable: u32,
    ) -> Option<(StmtId, Operand)> {
        let is_it = |operand: &Operand| {
            let place = facts.place(*operand);
            place.is_some_and(|place| variables.of(place).contains(&variable))
        };
        let at = self.results.iter().position(is_it)?;
        let source = self.sources.get(at)?;
        matches!(
            source,
            Operand::Reg(_) | Operand::Small(_) | Operand::Imm(_)
        )
        .then_some((self.pack, *source))
    }
}

/// Whether an instruction packs several registers into one, whatever their values.
pub(super) fn is_pack(facts: &Facts<'_>) -> bool {
    is_move(facts) && vector(facts, true).is_some() && vector(facts, false).is_none()
}

/// The parts of the value that a statement takes apart, if another statement packed as many of the same size.
pub(super) fn parts<'a>(
    of: FunctionFacts<'a>,
    ssa: &Ssa,
    variables: &Variables,
    (stmt, facts): (StmtId, &Facts<'a>),
) -> Option<Parts<'a>> {
    if !is_move(facts) || vector(facts, true).is_some() {
        return None;
    }
    let results = vector(facts, false)?;
    let mut reads = facts.registers().filter(|m| m.usage.reads());
    let (read, None) = (reads.next()?, reads.next()) else {
        return None;
    };
    let mut read = variables.of(read.place);
    let (variable, None) = (read.next()?, read.next()) else {
        return None;
    };
    let Value::Def {
        stmt: pack,
        old: None,
        ..
    } = ssa.value(ssa.read(stmt, variable)?)
    else {
        return None;
    };
    let Some(Statement::Inst(inst)) = of.body().statement(pack) else {
        return None;
    };
    let packing = of.inst(inst);
    let list = |list| of.body().pool().list(list);
    let sources = vector(&packing, true).filter(|_| is_pack(&packing))?;
    (list(sources).len() == list(results).len()).then(|| Parts {
        pack,
        sources: list(sources),
        results: list(results),
    })
}

/// Whether an instruction only moves registers.
fn is_move(facts: &Facts<'_>) -> bool {
    facts.is_known()
        && facts.guard().is_none()
        && facts.action().is_none()
        && facts.memory().next().is_none()
        && facts.parts().count() == 2
}

/// The only vector that an instruction reads, or writes.
fn vector(facts: &Facts<'_>, is_read: bool) -> Option<ListId> {
    let mut vectors = facts.parts().filter_map(|(operand, usage)| match operand {
        Operand::Vector(list) if usage.reads() == is_read => Some(list),
        _ => None,
    });
    let only = vectors.next()?;
    vectors.next().is_none().then_some(only)
}
