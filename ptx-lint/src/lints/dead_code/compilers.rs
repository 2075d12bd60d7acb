//! Dead instructions that compilers typically leave and that are not reported: inline assembly, copies, results of calls, unused parts of parameters
//! and special registers whose other parts are used, and instructions that compute the same value as another one.

use alloc::vec::Vec;

use ptx_analysis::memory_access::Access as Known;
use ptx_analysis::source_lines::FunctionLines;
use ptx_ir::facts::{MemoryAccess, Space};
use ptx_ir::{InstId, Operand, Statement, StmtId, VarId};
use ptx_isa::{Access, SpecialReg, StateSpace};

use crate::context::{FunctionContext, Reached};

/// The section of the PTX ISA manual about moves and conversions.
const MOVES: &str = "9.7.9.";

/// The number of instructions before and after a dead one that are searched for the same computation; more at the start of a block.
const NEAR: usize = 2;

/// The number of statements after a dead one that are searched for a write of the same register.
const FAR: usize = 64;

/// Recognizes dead instructions that compilers leave.
pub(super) struct Leftovers<'a> {
    cx: &'a FunctionContext<'a>,
    lines: FunctionLines<'a, 'a>,
    /// The variables that calls write, in order.
    results: Vec<VarId>,
    /// The special registers that are read and their components, one entry for each statement, in order.
    special: Vec<(SpecialReg, u8)>,
    /// The loads of variables and their offsets, in order.
    loads: Vec<(VarId, i64)>,
    /// The statements that access local memory, in order.
    local: Vec<StmtId>,
}

impl<'a> Leftovers<'a> {
    pub(super) fn new(cx: &'a FunctionContext<'a>) -> Self {
        let mut found = Self {
            lines: cx.source_lines().function(cx.body()),
            cx,
            results: Vec::new(),
            special: Vec::new(),
            loads: Vec::new(),
            local: Vec::new(),
        };
        for (_, statement) in cx.body().statements() {
            if let Statement::Inst(inst) = statement {
                found.add(inst);
            }
        }
        found.results.sort_unstable();
        found.special.sort_unstable();
        found.loads.sort_unstable();
        let all = cx.accesses().map_or(&[][..], |accesses| accesses.all());
        let is_local = |access: &&Known| access.space == Space::State(StateSpace::Local);
        let local = all.iter().filter(is_local);
        found.local.extend(local.map(|access| access.stmt));
        found.local.sort_unstable();
        found
    }

    /// Collects the reads and writes of an instruction.
    fn add(&mut self, inst: InstId) {
        let facts = self.cx.facts().inst(inst);
        let lists = facts.call_lists();
        let written = lists.filter(|(_, access)| *access == Access::Write);
        let written = written.flat_map(|(list, _)| list).filter_map(variable);
        self.results.extend(written);
        let read = facts.parts().filter(|(_, usage)| usage.reads());
        let special = read.filter_map(|(operand, _)| self.special_register(operand));
        let special: Vec<(SpecialReg, u8)> = special.collect();
        self.special.extend(special);
        self.loads.extend(facts.memory().filter_map(load));
    }

    pub(super) fn contains(&self, inst: &Reached<'_>) -> bool {
        self.lines.is_inline_asm(inst.stmt)
            || self.is_copy(inst) && !self.is_overwritten(inst)
            || self.is_part_of_special(inst)
            || self.is_part_of_parameter(inst)
            || self.is_result(inst)
            || self.is_on_the_stack(inst)
            || self.is_repeated(inst)
    }

    /// Whether it moves or converts registers, or the address of a variable.
    fn is_copy(&self, inst: &Reached<'_>) -> bool {
        let read = inst.facts.parts().filter(|(_, usage)| usage.reads());
        let mut sources = read.map(|(operand, _)| operand);
        let plain = |operand| !matches!(operand, Operand::Special(_) | Operand::Lane(..));
        inst.facts.section().starts_with(MOVES)
            && inst.facts.memory().next().is_none()
            && sources.all(plain)
    }

    /// Whether it moves a number into a register that an instruction after it in the block writes, as no compiler does.
    fn is_overwritten(&self, inst: &Reached<'_>) -> bool {
        let mut read = inst.facts.parts().filter(|(_, usage)| usage.reads());
        let is_number =
            read.all(|(operand, _)| matches!(operand, Operand::Small(_) | Operand::Imm(_)));
        let block = self.cx.cfg().of_statement(inst.stmt);
        let Some(block) = block
            .and_then(|id| self.cx.cfg().block(id))
            .filter(|_| is_number)
        else {
            return false;
        };
        let registers = |of: InstId| self.cx.facts().inst(of).registers();
        let Some(own) = registers(inst.inst).next().map(|m| m.place) else {
            return false;
        };
        let after = self.cx.body().range(inst.stmt, block.end).skip(1).take(FAR);
        let mut mentions = after.filter_map(|(_, statement)| match statement {
            Statement::Inst(other) => registers(other).find(|m| m.place == own),
            _ => None,
        });
        mentions.next().is_some_and(|first| !first.usage.reads())
    }

    /// Whether it copies a special register that is read again, or one of three components that are all read, such as those of a `dim3`.
    fn is_part_of_special(&self, inst: &Reached<'_>) -> bool {
        let mut read = inst.facts.parts().filter(|(_, usage)| usage.reads());
        let (Some((operand, _)), None) = (read.next(), read.next()) else {
            return false;
        };
        let Some((register, component)) = self.special_register(operand) else {
            return false;
        };
        let reads = |component| {
            let first = self.special.partition_point(|r| *r < (register, component));
            let same = self.special.iter().skip(first).take(2);
            same.filter(|r| **r == (register, component)).count()
        };
        reads(component) > 1 || register.is_vector() && (0..3).all(|c| reads(c) > 0)
    }

    /// The special register, and the component of it, that an operand reads.
    fn special_register(&self, operand: Operand) -> Option<(SpecialReg, u8)> {
        match operand {
            Operand::Special(register) => Some((register, 0)),
            Operand::Lane(selector, at) => match self.cx.body().pool().get(at) {
                Operand::Special(register) => Some((register, selector.element()?)),
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether it loads a part of a parameter from which other parts are loaded.
    fn is_part_of_parameter(&self, inst: &Reached<'_>) -> bool {
        let is_param = |space| matches!(space, Space::State(s) if s.base() == StateSpace::Param);
        let own = inst.facts.memory().filter(|access| is_param(access.space));
        let mut own = own.filter_map(load);
        own.any(|(var, offset)| {
            let first = self.loads.partition_point(|(v, _)| *v < var);
            let end = self.loads.partition_point(|(v, _)| *v <= var);
            let same = self.loads.get(first..end).unwrap_or_default();
            let mut ends = same.first().into_iter().chain(same.last());
            ends.any(|(_, other)| *other != offset)
        })
    }

    /// Whether it loads the result of a call.
    fn is_result(&self, inst: &Reached<'_>) -> bool {
        let of_call = |var| self.results.binary_search(&var).is_ok();
        let bases = inst.facts.memory().filter_map(|access| access.base);
        bases.filter_map(|base| variable(&base)).any(of_call)
    }

    /// Whether it loads from local memory, as unoptimized code does for each use of a variable.
    fn is_on_the_stack(&self, inst: &Reached<'_>) -> bool {
        self.local.binary_search(&inst.stmt).is_ok()
    }

    /// Whether a nearby instruction computes the same value.
    fn is_repeated(&self, inst: &Reached<'_>) -> bool {
        let Some(block) = self.cx.cfg().of_statement(inst.stmt) else {
            return false;
        };
        let Some(block) = self.cx.cfg().block(block) else {
            return false;
        };
        let is_inst = |(_, statement)| match statement {
            Statement::Inst(inst) => Some(inst),
            _ => None,
        };
        let body = self.cx.body();
        let before = body.range(block.first, inst.stmt).rev();
        let before: Vec<InstId> = before.filter_map(is_inst).take(NEAR).collect();
        let after = body.range(inst.stmt, block.end).filter_map(is_inst);
        let mut after = after.skip(1).take(2 * NEAR - before.len());
        let is_same = |other: InstId| self.computes_same(other, inst);
        before.iter().any(|i| is_same(*i) || self.reloads(*i, inst)) || after.any(is_same)
    }

    fn computes_same(&self, other: InstId, inst: &Reached<'_>) -> bool {
        let body = self.cx.body();
        let signature = |inst: InstId| body.inst(inst).map(|i| i.sig);
        let sources = |inst: InstId| {
            let f = self.cx.facts().inst(inst);
            let read = f.parts().filter(|(_, usage)| usage.reads());
            let operands: Vec<Operand> = read.map(|(operand, _)| operand).collect();
            operands
        };
        let alike = signature(other) == signature(inst.inst);
        alike && self.same(&sources(other), &sources(inst.inst))
    }

    /// Whether it loads a value that another instruction stored: the value of an assignment.
    fn reloads(&self, store: InstId, inst: &Reached<'_>) -> bool {
        let stored = self.cx.facts().inst(store);
        let stored = stored.memory().filter(|a| a.access == Access::Write);
        let stored: Vec<Operand> = stored.filter_map(|a| a.operand).collect();
        let loaded: Vec<Operand> = inst.facts.memory().filter_map(|a| a.operand).collect();
        !loaded.is_empty() && self.same(&stored, &loaded)
    }

    /// Whether operands have the same text.
    fn same(&self, some: &[Operand], others: &[Operand]) -> bool {
        let pool = self.cx.body().pool();
        let plain = |operand: &Operand| match operand {
            Operand::Address(id) => pool.address(*id).map(|a| (a.base, pool.integer(a.offset))),
            other => Some((*other, pool.integer(*other))),
        };
        some.len() == others.len() && some.iter().map(plain).eq(others.iter().map(plain))
    }
}

fn variable(operand: &Operand) -> Option<VarId> {
    match operand {
        Operand::Var(var) => Some(*var),
        _ => None,
    }
}

/// The variable and the offset that an instruction loads from.
fn load(access: MemoryAccess) -> Option<(VarId, i64)> {
    let var = variable(&access.base?)?;
    (access.access == Access::Read).then_some((var, access.offset?))
}
