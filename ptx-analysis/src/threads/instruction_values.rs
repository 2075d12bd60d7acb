//! Values that instructions write in single threads.

use alloc::vec::Vec;
use core::cell::Cell;

use ptx_ir::StmtId;
use ptx_ir::facts::Facts;
use ptx_isa::{Action, Modifier, ScalarType, SpecialReg};

use super::{InstructionStatement, PerThread, ThreadValues};
use crate::constants::Constant;
use crate::reg_lanes::VariableId;
use crate::ssa::ValueId;
use crate::uniformity::Uniformity;
use ptx_dataflow::internals::{CellAccess, CellUse, Operands, Source, Target, cell_variable};
use ptx_semantics::fold::Video;
use ptx_semantics::internals::fold_columns;

/// The values that an instruction reads.
type ReadValues = [(ValueId, PerThread)];

fn find(read_values: &ReadValues, id: ValueId) -> Option<&PerThread> {
    read_values
        .iter()
        .find(|(read_id, _)| *read_id == id)
        .map(|(_, value)| value)
}

fn varies_by_sample(read_values: &ReadValues) -> bool {
    read_values
        .iter()
        .any(|(_, value)| matches!(value, PerThread::Each(_)))
}

impl ThreadValues<'_> {
    /// The value that an instruction writes to a variable; `None` if it is unknown. `depth` definitions lead to the instruction.
    pub(super) fn written_value(
        &mut self,
        statement: InstructionStatement,
        variable: VariableId,
        depth: u32,
    ) -> Option<PerThread> {
        let stmt = statement.stmt;
        let facts = self.facts.inst(statement.inst);
        if !facts.is_known() {
            return None;
        }
        if let [access] = *self.cells.of(stmt) {
            return self.cell_value(access, &facts, variable, depth);
        }
        if facts.memory().next().is_some() {
            return None;
        }
        if facts.action() == Some(Action::Shuffle) {
            return self.shuffled_value(stmt, &facts, variable, depth);
        }
        let ssa = self.ssa;
        let mut read_values: Vec<(ValueId, PerThread)> = Vec::new();
        for read in ssa.uses(stmt) {
            read_values.push((read.value, self.follow(read.value, depth)?));
        }
        if let Some((value, evaluations)) =
            self.fold_all_samples(statement, &facts, variable, &read_values)
        {
            let remaining = self.remaining_evaluations.checked_sub(evaluations);
            self.remaining_evaluations = remaining.unwrap_or(0);
            return remaining.map(|_| value);
        }
        self.fold_each_sample(statement, &facts, variable, &read_values)
    }

    /// The value that lanes pass to each other, if it is the same in all lanes of a warp.
    fn shuffled_value(
        &mut self,
        stmt: StmtId,
        facts: &Facts<'_>,
        variable: VariableId,
        depth: u32,
    ) -> Option<PerThread> {
        let (result, _) = facts.results().next()?;
        let passed = facts.place(facts.sources().next()?.operand)?;
        if self.variables.of(facts.place(result)?).single() != Some(variable) {
            return None;
        }
        let passed = self.variables.of(passed).single()?;
        let value = self.follow(self.ssa.read(stmt, passed)?, depth)?;
        (self.uniformity(&value) <= Uniformity::Warp).then_some(value)
    }

    /// Folds all samples at once. Returns the value and the number of evaluations; `None` if each sample has to be folded alone.
    fn fold_all_samples(
        &self,
        statement: InstructionStatement,
        facts: &Facts<'_>,
        variable: VariableId,
        read_values: &ReadValues,
    ) -> Option<(PerThread, u64)> {
        if facts.reads_carry() {
            return None;
        }
        let operands = Operands {
            facts: self.facts,
            variables: self.variables,
            ssa: self.ssa,
            value: |_| Constant::Overdefined,
            special: |_, _| Constant::Overdefined,
        };
        let target = operands.target(facts, variable)?;
        let id = self.facts.body().inst(statement.inst)?.sig;
        let signature = self.facts.module().signature(id);
        let types: Vec<ScalarType> = signature.types().collect();
        let modifiers: Vec<Modifier> = signature.modifiers().collect();
        let mut columns = Some(Vec::new());
        let mut varies = varies_by_sample(read_values);
        let video = operands.sources(statement.stmt, facts, &types, |source| {
            varies |= matches!(source, Source::Special(..));
            match (&mut columns, self.column(source, read_values)) {
                (Some(columns), Some(column)) => columns.push(column),
                (columns, _) => *columns = None,
            }
        })?;
        if video != Video::default() {
            return None;
        }
        let folded = fold_columns(signature.opcode()?, &modifiers, &columns?)?;
        let number = |sample| {
            let folded = folded.get(sample)?;
            match target {
                Target::First => {
                    let bits = operands.extended(&folded, variable).known()?;
                    u64::try_from(bits).ok()
                }
                Target::Second => folded.second.map(u64::from),
            }
        };
        if !varies {
            return Some((PerThread::Same(number(0)?), 1));
        }
        let mut numbers = Vec::with_capacity(self.samples.len());
        for sample in 0..self.samples.len() {
            numbers.push(number(sample)?);
        }
        Some((PerThread::from_values(numbers), self.samples.len() as u64))
    }

    /// The values of a source in all samples.
    fn column(&self, source: Source, read_values: &ReadValues) -> Option<PerThread> {
        Some(match source {
            Source::Bits(bits) => PerThread::Same(bits as u64),
            Source::Value(id) => find(read_values, id)?.clone(),
            Source::Not(id) => match find(read_values, id)? {
                PerThread::Same(value) => PerThread::Same(value ^ 1),
                PerThread::Each(values) => PerThread::Each(values.iter().map(|v| v ^ 1).collect()),
            },
            Source::Special(register, component) => {
                let values: Option<_> = (0..self.samples.len())
                    .map(|sample| self.special(register, component.unwrap_or(0), sample))
                    .collect();
                PerThread::Each(values?)
            }
            Source::Unknown => return None,
        })
    }

    /// Folds one sample after the other.
    fn fold_each_sample(
        &mut self,
        statement: InstructionStatement,
        facts: &Facts<'_>,
        variable: VariableId,
        read_values: &ReadValues,
    ) -> Option<PerThread> {
        let InstructionStatement { stmt, inst } = statement;
        let varies = Cell::new(varies_by_sample(read_values));
        let mut modifiers = Vec::new();
        let mut numbers = Vec::new();
        for sample in 0..self.samples.len() {
            self.remaining_evaluations = self.remaining_evaluations.checked_sub(1)?;
            let operands = Operands {
                facts: self.facts,
                variables: self.variables,
                ssa: self.ssa,
                value: |id| {
                    find(read_values, id).map_or(Constant::Overdefined, |value| {
                        Constant::Constant(value.get(sample).into())
                    })
                },
                special: |register: SpecialReg, component: Option<u8>| {
                    varies.set(true);
                    let value = self.special(register, component.unwrap_or(0), sample);
                    value.map_or(Constant::Overdefined, |v| Constant::Constant(v.into()))
                },
            };
            let folded = operands.result(stmt, inst, facts, &mut modifiers).ok()?;
            let bits = operands.part(&folded, facts, variable).known()?;
            let number = u64::try_from(bits).ok()?;
            if !varies.get() {
                return Some(PerThread::Same(number));
            }
            numbers.push(number);
        }
        Some(PerThread::from_values(numbers))
    }

    /// The value that an instruction loads from a cell of memory, or stores to it.
    fn cell_value(
        &mut self,
        access: CellAccess,
        facts: &Facts<'_>,
        variable: VariableId,
        depth: u32,
    ) -> Option<PerThread> {
        let cell_variable = cell_variable(self.ssa.carry(), access.cell);
        let bytes = facts.memory().next()?.bytes;
        match access.usage {
            CellUse::Read => {
                let value = self.ssa.read(access.stmt, cell_variable)?;
                let loaded = self.follow(value, depth)?;
                let class = self.variables.class(variable)?;
                // A load that is narrower than its register extends the value.
                (bytes == Some(u64::from(class.bits()) / 8)).then_some(loaded)
            }
            CellUse::Write if variable == cell_variable => {
                let (data, _) = facts.memory().next()?.data?;
                let source = self.variables.of(facts.place(data)?).single()?;
                let value = self.ssa.read(access.stmt, source)?;
                let class = self.variables.class(source)?;
                let stored = self.follow(value, depth)?;
                (bytes == Some(u64::from(class.bits()) / 8)).then_some(stored)
            }
            _ => None,
        }
    }
}
