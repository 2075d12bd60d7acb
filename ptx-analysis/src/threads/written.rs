//! What instructions write in single threads.

use alloc::rc::Rc;
use alloc::vec::Vec;
use core::cell::Cell;

use ptx_dataflow::internals::{CellUse, Operands, Source, Target};
use ptx_ir::facts::Facts;
use ptx_ir::{InstId, StmtId};
use ptx_isa::{Modifier, ScalarType, SpecialReg};

use super::{PerThread, ThreadValues};
use crate::constants::Constant;
use crate::ssa::ValueId;
use ptx_semantics::fold::{Video, fold_columns};

/// The values that an instruction reads.
type Read = [(ValueId, PerThread)];

fn find(read: &Read, id: ValueId) -> Option<&PerThread> {
    let mut read = read.iter();
    read.find(|(of, _)| *of == id).map(|(_, value)| value)
}

impl ThreadValues<'_> {
    /// What an instruction writes to a variable.
    pub(super) fn written(
        &mut self,
        (stmt, inst): (StmtId, InstId),
        variable: u32,
        depth: u32,
    ) -> Option<PerThread> {
        let facts = self.facts.inst(inst);
        if !facts.is_known() {
            return None;
        }
        if let [cell] = self.cells.of(stmt) {
            return self.through_cell(stmt, &facts, (cell.cell, cell.usage), variable, depth);
        }
        if facts.memory().next().is_some() {
            return None;
        }
        let ssa = self.ssa;
        let mut read: Vec<(ValueId, PerThread)> = Vec::new();
        for of in ssa.uses(stmt) {
            read.push((of.value, self.follow(of.value, depth)?));
        }
        if let Some((value, evaluations)) = self.together((stmt, inst), &facts, variable, &read) {
            let left = self.left.checked_sub(evaluations);
            self.left = left.unwrap_or(0);
            return left.map(|_| value);
        }
        self.one_by_one((stmt, inst), &facts, variable, &read)
    }

    /// The value in all samples at once, and the number of evaluations; `None` if each sample has to be looked at alone.
    fn together(
        &self,
        (stmt, inst): (StmtId, InstId),
        facts: &Facts<'_>,
        variable: u32,
        read: &Read,
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
        let signature = self.facts.body().inst(inst)?.sig;
        let signature = self.facts.module().signature(signature);
        let types: Vec<ScalarType> = signature.types().collect();
        let modifiers: Vec<Modifier> = signature.modifiers().collect();
        let mut columns = Some(Vec::new());
        let mut varies = read.iter().any(|(_, v)| matches!(v, PerThread::Each(_)));
        let video = operands.sources((stmt, facts), &types, |source| {
            varies |= matches!(source, Source::Special(..));
            match (&mut columns, self.column(source, read)) {
                (Some(columns), Some(column)) => columns.push(column),
                (columns, _) => *columns = None,
            }
        })?;
        if video != Video::default() {
            return None;
        }
        let folded = fold_columns(signature.opcode()?, &modifiers, &columns?)?;
        let bits = |sample| {
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
            return Some((PerThread::Same(bits(0)?), 1));
        }
        let all: Option<Vec<u64>> = (0..self.samples.len()).map(bits).collect();
        Some((PerThread::from_values(all?), self.samples.len() as u64))
    }

    /// A source in each sample.
    fn column(&self, source: Source, read: &Read) -> Option<PerThread> {
        Some(match source {
            Source::Bits(bits) => PerThread::Same(bits as u64),
            Source::Value(id) => find(read, id)?.clone(),
            Source::Not(id) => match find(read, id)? {
                PerThread::Same(value) => PerThread::Same(value ^ 1),
                PerThread::Each(all) => PerThread::Each(all.iter().map(|v| v ^ 1).collect()),
            },
            Source::Special(register, component) => {
                let of = |sample| self.special(register, component.unwrap_or(0), sample);
                let all: Option<Rc<[u64]>> = (0..self.samples.len()).map(of).collect();
                PerThread::Each(all?)
            }
            Source::Unknown => return None,
        })
    }

    /// The value in one sample after the other.
    fn one_by_one(
        &mut self,
        (stmt, inst): (StmtId, InstId),
        facts: &Facts<'_>,
        variable: u32,
        read: &Read,
    ) -> Option<PerThread> {
        let varies = Cell::new(read.iter().any(|(_, v)| matches!(v, PerThread::Each(_))));
        let mut modifiers = Vec::new();
        let mut all = Vec::new();
        for sample in 0..self.samples.len() {
            self.left = self.left.checked_sub(1)?;
            let operands = Operands {
                facts: self.facts,
                variables: self.variables,
                ssa: self.ssa,
                value: |id| {
                    find(read, id).map_or(Constant::Overdefined, |value| {
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
            let part = operands.part(&folded, facts, variable);
            let bits = u64::try_from(part.known()?).ok()?;
            if !varies.get() {
                return Some(PerThread::Same(bits));
            }
            all.push(bits);
        }
        Some(PerThread::from_values(all))
    }

    /// What is loaded from a cell of memory, or stored to it.
    fn through_cell(
        &mut self,
        stmt: StmtId,
        facts: &Facts<'_>,
        (cell, usage): (u32, CellUse),
        variable: u32,
        depth: u32,
    ) -> Option<PerThread> {
        let own = self.ssa.carry() + 1 + cell;
        match usage {
            CellUse::Read => {
                let held = self.ssa.read(stmt, own)?;
                let held = self.follow(held, depth)?;
                let class = self.variables.class(self.facts.body(), variable)?;
                let access = facts.memory().next()?;
                // A narrow load extends what it reads.
                (access.bytes == Some(u64::from(class.bits()) / 8)).then_some(held)
            }
            CellUse::Write if variable == own => {
                let (data, _) = facts.memory().next()?.data?;
                let place = facts.place(data)?;
                let mut of = self.variables.of(place);
                let (from, None) = (of.next()?, of.next()) else {
                    return None;
                };
                let value = self.ssa.read(stmt, from)?;
                let class = self.variables.class(self.facts.body(), from)?;
                let bytes = facts.memory().next()?.bytes;
                let stored = self.follow(value, depth)?;
                (bytes == Some(u64::from(class.bits()) / 8)).then_some(stored)
            }
            _ => None,
        }
    }
}
