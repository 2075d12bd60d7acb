//! Values that an instruction packs from several registers and another instruction unpacks.

use ptx_ir::facts::Facts;
use ptx_ir::{ListId, Operand, Statement};

use super::evaluation::{Evaluation, Site};
use crate::reg_lanes::VariableId;
use crate::reg_lanes::Variables;
use crate::ssa::Value;

/// The registers of an instruction that unpacks a value, and the instruction that packed it.
pub(super) struct Unpacked<'a> {
    /// The instruction that packed the value, with the block of the instruction that unpacks it.
    pub(super) pack: Site<'a>,
    sources: &'a [Operand],
    results: &'a [Operand],
}

impl Unpacked<'_> {
    /// The operand of [`pack`](Self::pack) that becomes the content of a variable.
    pub(super) fn source(
        &self,
        facts: &Facts<'_>,
        variables: &Variables,
        variable: VariableId,
    ) -> Option<Operand> {
        let index = self.results.iter().position(|operand| {
            let register = facts.place(*operand);
            register.is_some_and(|register| variables.of(register).contains(&variable))
        })?;
        let source = self.sources.get(index)?;
        matches!(
            source,
            Operand::Reg(_) | Operand::Small(_) | Operand::Imm(_)
        )
        .then_some(*source)
    }
}

/// Returns whether an instruction packs several registers into one, whatever their values.
pub(super) fn is_pack(facts: &Facts<'_>) -> bool {
    is_move(facts) && read_vector(facts).is_some() && written_vector(facts).is_none()
}

/// Returns the registers of an instruction that unpacks a value, if another instruction packed as many registers of the same size.
pub(super) fn unpacked<'a>(evaluation: &Evaluation<'a>, site: &Site<'a>) -> Option<Unpacked<'a>> {
    let facts = &site.facts;
    if !is_move(facts) || read_vector(facts).is_some() {
        return None;
    }
    let results = written_vector(facts)?;
    let mut reads = facts
        .registers()
        .filter(|mention| mention.usage.reads())
        .flat_map(|mention| evaluation.variables.of(mention.place));
    let (variable, None) = (reads.next()?, reads.next()) else {
        return None;
    };
    let read = evaluation.ssa.read(site.stmt, variable)?;
    let Value::Def {
        stmt, old: None, ..
    } = evaluation.ssa.value(read)
    else {
        return None;
    };
    let body = evaluation.facts.body();
    let Some(Statement::Inst(inst)) = body.statement(stmt) else {
        return None;
    };
    let pack = Site {
        stmt,
        inst,
        facts: evaluation.facts.inst(inst),
        block: site.block,
    };
    let sources = read_vector(&pack.facts).filter(|_| is_pack(&pack.facts))?;
    let (sources, results) = (body.pool().list(sources), body.pool().list(results));
    (sources.len() == results.len()).then_some(Unpacked {
        pack,
        sources,
        results,
    })
}

/// Returns whether an instruction only moves registers.
fn is_move(facts: &Facts<'_>) -> bool {
    facts.is_known()
        && facts.guard().is_none()
        && facts.action().is_none()
        && facts.memory().next().is_none()
        && facts.parts().count() == 2
}

/// The only vector that an instruction reads.
fn read_vector(facts: &Facts<'_>) -> Option<ListId> {
    only_vector(
        facts
            .parts()
            .filter(|(_, usage)| usage.reads())
            .map(|(operand, _)| operand),
    )
}

/// The only vector that an instruction writes.
fn written_vector(facts: &Facts<'_>) -> Option<ListId> {
    only_vector(
        facts
            .parts()
            .filter(|(_, usage)| !usage.reads())
            .map(|(operand, _)| operand),
    )
}

fn only_vector(operands: impl Iterator<Item = Operand>) -> Option<ListId> {
    let mut vectors = operands.filter_map(|operand| match operand {
        Operand::Vector(list) => Some(list),
        _ => None,
    });
    let only = vectors.next()?;
    vectors.next().is_none().then_some(only)
}
