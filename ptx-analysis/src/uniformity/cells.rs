//! Variables in `.param` of functions: the arguments and the results of calls, by their words.

use alloc::vec::Vec;
use core::ops::Range;

use ptx_ir::facts::{FunctionFacts, MemoryAccess, Space};
use ptx_ir::{Binding, EntityId as _, FunctionKind, Operand, Param, Statement, StmtId, VarId};
use ptx_isa::{Access, StateSpace, Uniformity};

use super::context::Context;
use super::graphs::Graphs;
use super::words::{self, WORDS};
use crate::cfg::BlockId;

/// More stores to a variable are not followed.
const STORES: usize = 32;

/// A word of a variable.
#[derive(Clone, Debug)]
pub(super) struct Cell {
    pub(super) level: Uniformity,
    /// The blocks that store to it, and where in them.
    stores: Vec<(BlockId, u32)>,
    /// The statements that read it, and where they are.
    pub(super) loads: Vec<StmtId>,
    reads: Vec<(BlockId, u32)>,
    /// Whether it is accessed in other ways.
    escapes: bool,
}

impl Cell {
    const EMPTY: Self = Self {
        level: Uniformity::Grid,
        stores: Vec::new(),
        loads: Vec::new(),
        reads: Vec::new(),
        escapes: false,
    };

    /// The blocks that store to it.
    pub(super) fn stores(&self) -> impl Iterator<Item = BlockId> + '_ {
        self.stores.iter().map(|(block, _)| *block)
    }

    /// Whether each thread that reads it has executed all stores before, in the same order.
    fn is_ordered(&mut self, graphs: &Graphs<'_>) -> bool {
        if self.escapes || self.stores.len() > STORES {
            return false;
        }
        let depth = |block: BlockId| graphs.dominators.depth(block);
        self.stores.sort_by_key(|&(block, at)| (depth(block), at));
        let before = |a: (BlockId, u32), b: (BlockId, u32)| match a.0 == b.0 {
            true => a.1 < b.1,
            false => graphs.dominators.dominates(a.0, b.0),
        };
        let mut pairs = self.stores.iter().zip(self.stores.iter().skip(1));
        let last = self.stores.last();
        pairs.all(|(a, b)| before(*a, *b))
            && self
                .reads
                .iter()
                .all(|r| last.is_none_or(|l| before(*l, *r)))
    }
}

/// The variables of a function in `.param`, by words.
pub(super) struct Cells {
    /// By word; empty if all of them are parameters of a kernel.
    all: Vec<Cell>,
    /// The first word of each variable, and the end.
    first: Vec<u32>,
    /// Whether parameters are only read, and may be read through registers.
    read_only: bool,
    /// In which threads memory in `.param` is the same that is read through registers.
    indirect: Uniformity,
}

impl Cells {
    pub(super) fn new(facts: FunctionFacts<'_>, graphs: &Graphs<'_>, context: &Context) -> Self {
        let body = facts.body();
        let in_param = |space: StateSpace| space.base() == StateSpace::Param;
        let local = body
            .vars()
            .values()
            .any(|v| in_param(v.space) && v.stmt.is_some());
        if context.kind == FunctionKind::Entry && !local {
            return Self {
                all: Vec::new(),
                first: Vec::new(),
                read_only: true,
                indirect: Uniformity::Grid,
            };
        }
        let first = first_words(facts, context);
        let mut cells = Self {
            all: vec![Cell::EMPTY; first.last().map_or(0, |n| *n as usize)],
            first,
            read_only: false,
            indirect: Uniformity::Varying,
        };
        let mut order = 0;
        for (block, of) in graphs.cfg.blocks() {
            for (stmt, statement) in body.range(of.first, of.end) {
                order += 1;
                if let Statement::Inst(inst) = statement {
                    cells.statement(facts, (block, order), (stmt, inst));
                }
            }
            if of.returns {
                for param in context.returns(facts) {
                    for cell in cells.of_param(param) {
                        cell.reads.push((block, order));
                    }
                }
            }
        }
        cells.begin(facts, context);
        // Nothing stores to the parameters of a kernel, even if their addresses are used.
        let is_constant = |var: VarId| {
            let declared = body.vars().get(var);
            context.kind == FunctionKind::Entry && declared.is_some_and(|v| v.stmt.is_none())
        };
        let mut is_addressed = context.kind != FunctionKind::Entry;
        for at in 0..body.vars().len() {
            let var = VarId::new(at as u32);
            let words = cells.words(var);
            let is_parameter = body.vars().get(var).is_some_and(|v| in_param(v.space));
            for cell in cells.all.get_mut(words).unwrap_or_default() {
                is_addressed |= cell.escapes && is_parameter && !is_constant(var);
                if !is_constant(var) && !cell.is_ordered(graphs) {
                    cell.level = Uniformity::Varying;
                }
            }
        }
        if !is_addressed {
            // Only addresses of parameters of the kernel are in registers.
            cells.indirect = Uniformity::Grid;
        }
        cells
    }

    /// What the parameters hold at the start of the function, before all stores.
    fn begin(&mut self, facts: FunctionFacts<'_>, context: &Context) {
        let params = context.params(facts).to_vec();
        for (param, numbers) in words::numbered(facts.module(), &params) {
            let arguments = context.arguments.get(numbers).unwrap_or_default();
            let last = arguments.last().copied();
            for (at, cell) in self.of_param(param).iter_mut().enumerate() {
                let level = arguments.get(at).copied().or(last);
                cell.level = level.unwrap_or(Uniformity::Varying);
            }
        }
    }

    fn of_param(&mut self, param: &Param) -> &mut [Cell] {
        let Binding::Var(var) = param.binding else {
            return &mut [];
        };
        let words = self.words(var);
        self.all.get_mut(words).unwrap_or_default()
    }

    /// The words of a variable.
    pub(super) fn words(&self, var: VarId) -> Range<usize> {
        match self.first.get(var.index()..var.index() + 2) {
            Some([start, end]) => *start as usize..*end as usize,
            _ => 0..0,
        }
    }

    /// The words of a variable that an element of what is loaded or stored reaches.
    pub(super) fn element(
        &self,
        var: VarId,
        access: &MemoryAccess,
        (at, count): (usize, usize),
    ) -> Range<usize> {
        let all = self.words(var);
        let Some((start, bytes)) = bytes(access).filter(|_| count > 0) else {
            return all;
        };
        let size = bytes / count as u64;
        let of = words::words(start.saturating_add(at as u64 * size), size);
        (all.start + of.start).min(all.end)..(all.start + of.end).min(all.end)
    }

    /// The words of a variable that an access reaches.
    pub(super) fn accessed(&self, var: VarId, access: &MemoryAccess) -> Range<usize> {
        let all = self.words(var);
        match bytes(access) {
            Some((start, bytes)) => {
                let of = words::words(start, bytes);
                (all.start + of.start).min(all.end)..(all.start + of.end).min(all.end)
            }
            None => all,
        }
    }

    /// Notes what a statement does to variables.
    fn statement(
        &mut self,
        facts: FunctionFacts<'_>,
        at: (BlockId, u32),
        (stmt, inst): (StmtId, ptx_ir::InstId),
    ) {
        let of = facts.inst(inst);
        let mut accessed: Vec<VarId> = Vec::new();
        for access in of.memory() {
            let (Some(Operand::Var(var)), Space::State(space)) = (access.base, access.space) else {
                continue;
            };
            if space.base() != StateSpace::Param || access.offset.is_none() {
                continue;
            }
            accessed.push(var);
            let words = self.accessed(var, &access);
            for cell in self.all.get_mut(words).unwrap_or_default() {
                if access.writes() {
                    cell.stores.push(at);
                }
                if access.reads() {
                    cell.reads.push(at);
                    cell.loads.push(stmt);
                }
            }
        }
        each_operand(facts, facts.body().operands(inst), &mut |operand| {
            if let Operand::Var(var) = operand
                && !accessed.contains(&var)
            {
                let words = self.words(var);
                let cells = self.all.get_mut(words).unwrap_or_default();
                cells.iter_mut().for_each(|cell| cell.escapes = true);
            }
        });
    }

    /// A word.
    pub(super) fn get(&self, word: usize) -> Option<&Cell> {
        self.all.get(word)
    }

    pub(super) fn get_mut(&mut self, word: usize) -> Option<&mut Cell> {
        self.all.get_mut(word)
    }

    /// Whether all variables are parameters of a kernel.
    pub(super) const fn are_read_only(&self) -> bool {
        self.read_only
    }

    /// In which threads memory in `.param` is the same that has the same address in registers.
    pub(super) const fn indirect(&self) -> Uniformity {
        self.indirect
    }
}

/// The bytes that an access reaches: the first, and how many.
fn bytes(access: &MemoryAccess) -> Option<(u64, u64)> {
    Some((u64::try_from(access.offset?).ok()?, access.bytes?))
}

/// The first word of each variable, and the end. Words that no instruction accesses are not followed.
fn first_words(facts: FunctionFacts<'_>, context: &Context) -> Vec<u32> {
    let body = facts.body();
    let mut counts = vec![1u32; body.vars().len()];
    let mut grow = |var: VarId, count: usize| {
        if let Some(of) = counts.get_mut(var.index()) {
            *of = (*of).max(count as u32);
        }
    };
    let mut results: Vec<VarId> = Vec::new();
    for (inst, _) in body.insts() {
        let of = facts.inst(inst);
        for access in of.memory() {
            if let (Some(Operand::Var(var)), Some((start, bytes))) = (access.base, bytes(&access)) {
                grow(var, words::words(start, bytes).end);
            }
        }
        for (list, _) in of
            .call_lists()
            .filter(|(_, access)| *access == Access::Write)
        {
            results.extend(list.iter().filter_map(|operand| match operand {
                Operand::Var(var) => Some(*var),
                _ => None,
            }));
        }
    }
    for param in context.params(facts).iter().chain(context.returns(facts)) {
        if let Binding::Var(var) = param.binding {
            grow(var, words::count(facts.module(), param));
        }
    }
    // What a call returns may be what another one gets.
    results.sort_unstable();
    results.dedup();
    for (inst, _) in body.insts() {
        let lists = facts.inst(inst);
        let lists = lists.call_lists();
        for (list, _) in lists.filter(|(_, access)| *access == Access::Read) {
            for operand in list {
                if let Operand::Var(var) = operand
                    && results.binary_search(var).is_ok()
                {
                    grow(*var, WORDS);
                }
            }
        }
    }
    let mut end = 0;
    let ends = counts.iter().map(|count| {
        end += count;
        end
    });
    core::iter::once(0).chain(ends).collect()
}

/// Calls `each` with operands and their parts.
pub(super) fn each_operand(
    facts: FunctionFacts<'_>,
    operands: &[Operand],
    each: &mut impl FnMut(Operand),
) {
    let pool = facts.body().pool();
    for operand in operands {
        match *operand {
            Operand::List(id) | Operand::Vector(id) | Operand::Bracket(id) => {
                for &part in pool.list(id) {
                    match part {
                        Operand::Vector(id) => pool.list(id).iter().for_each(|p| each(*p)),
                        other => leaf(facts, other, each),
                    }
                }
            }
            Operand::Pair(at) => {
                let (first, second) = pool.pair(at);
                leaf(facts, first, each);
                leaf(facts, second, each);
            }
            other => leaf(facts, other, each),
        }
    }
}

/// An operand, without what selects a part of it.
fn leaf(facts: FunctionFacts<'_>, operand: Operand, each: &mut impl FnMut(Operand)) {
    let pool = facts.body().pool();
    match operand {
        Operand::Address(id) => {
            if let Some(address) = pool.address(id) {
                each(address.base);
            }
        }
        Operand::Not(at) | Operand::Neg(at) => leaf(facts, pool.get(at), each),
        other => each(other),
    }
}
