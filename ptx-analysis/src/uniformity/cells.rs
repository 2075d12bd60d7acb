//! Variables in `.param` of functions: the arguments and the results of calls, by their words.

use alloc::vec::Vec;
use core::ops::Range;

use ptx_ir::facts::{Facts, FunctionFacts, MemoryAccess, Space};
use ptx_ir::{
    Binding, EntityId as _, FunctionKind, InstId, Operand, Param, Statement, StmtId, VarId,
};
use ptx_isa::{Access, StateSpace, Uniformity};

use super::context::Context;
use super::graphs::Graphs;
use super::words::{self, WORDS};
use crate::cfg::BlockId;

/// The maximum number of stores to a word; the content of a word with more is not followed.
const MAX_STORES: usize = 32;

/// The position of a statement.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
struct Position {
    block: BlockId,
    /// The number of the statement in the order of the blocks.
    order: u32,
}

/// A word of a variable.
#[derive(Clone, Debug)]
pub(super) struct Cell {
    /// The join of the uniformity of all stores.
    pub(super) uniformity: Uniformity,
    /// The positions of the stores, sorted by execution after [`Cell::is_ordered`] returned `true`.
    stores: Vec<Position>,
    /// The statements that load it.
    pub(super) loads: Vec<StmtId>,
    /// The positions of `loads`, and of the returns of the function if it is a part of a result.
    reads: Vec<Position>,
    /// It is accessed in other ways.
    escapes: bool,
}

impl Cell {
    const EMPTY: Self = Self {
        uniformity: Uniformity::Grid,
        stores: Vec::new(),
        loads: Vec::new(),
        reads: Vec::new(),
        escapes: false,
    };

    /// The blocks that store to it.
    pub(super) fn stores(&self) -> impl Iterator<Item = BlockId> + '_ {
        self.stores.iter().map(|store| store.block)
    }

    /// Returns whether each thread that reads it has executed all stores before, in the same order. Sorts the stores.
    fn is_ordered(&mut self, graphs: &Graphs<'_>) -> bool {
        if self.escapes || self.stores.len() > MAX_STORES {
            return false;
        }
        self.stores
            .sort_by_key(|store| (graphs.dominators.depth(store.block), store.order));
        let precedes = |first: &Position, second: &Position| {
            if first.block == second.block {
                first.order < second.order
            } else {
                graphs.dominators.dominates(first.block, second.block)
            }
        };
        let Some(last) = self.stores.last() else {
            return true;
        };
        let mut pairs = self.stores.iter().zip(self.stores.iter().skip(1));
        pairs.all(|(first, second)| precedes(first, second))
            && self.reads.iter().all(|read| precedes(last, read))
    }
}

/// The variables of a function in `.param`, by words.
pub(super) struct Cells {
    /// The words of all variables; empty if all variables are parameters of a kernel.
    cells: Vec<Cell>,
    /// The first word of each variable, and the end of the last one.
    first_words: Vec<u32>,
    /// All variables are parameters of a kernel, which may be read through registers.
    read_only: bool,
    /// The uniformity of memory in `.param` that is read through equal addresses in registers.
    indirect: Uniformity,
}

impl Cells {
    pub(super) fn new(facts: FunctionFacts<'_>, graphs: &Graphs<'_>, context: &Context) -> Self {
        let body = facts.body();
        let has_declarations = body
            .vars()
            .values()
            .any(|variable| is_param(variable.space) && variable.stmt.is_some());
        if context.kind == FunctionKind::Entry && !has_declarations {
            return Self {
                cells: Vec::new(),
                first_words: Vec::new(),
                read_only: true,
                indirect: Uniformity::Grid,
            };
        }
        let first_words = first_words(facts, context);
        let count = first_words.last().map_or(0, |end| *end as usize);
        let mut cells = Self {
            cells: vec![Cell::EMPTY; count],
            first_words,
            read_only: false,
            indirect: Uniformity::Varying,
        };
        cells.collect_accesses(facts, graphs, context);
        cells.store_arguments(facts, context);
        cells.give_up_unordered(facts, graphs, context);
        cells
    }

    fn collect_accesses(
        &mut self,
        facts: FunctionFacts<'_>,
        graphs: &Graphs<'_>,
        context: &Context,
    ) {
        let mut order = 0;
        for (id, block) in graphs.cfg.blocks() {
            for (stmt, statement) in facts.body().range(block.first, block.end) {
                order += 1;
                if let Statement::Inst(inst) = statement {
                    self.collect_instruction(facts, inst, stmt, Position { block: id, order });
                }
            }
            if block.returns {
                for result in context.returns(facts) {
                    for cell in self.param_cells(result) {
                        cell.reads.push(Position { block: id, order });
                    }
                }
            }
        }
    }

    fn collect_instruction(
        &mut self,
        facts: FunctionFacts<'_>,
        inst: InstId,
        stmt: StmtId,
        position: Position,
    ) {
        let mut accessed: Vec<VarId> = Vec::new();
        for access in facts.inst(inst).memory() {
            let (Some(Operand::Var(variable)), Space::State(space)) = (access.base, access.space)
            else {
                continue;
            };
            if !is_param(space) || access.offset.is_none() {
                continue;
            }
            accessed.push(variable);
            let words = self.accessed(variable, &access);
            for cell in self.cells.get_mut(words).unwrap_or_default() {
                if access.writes() {
                    cell.stores.push(position);
                }
                if access.reads() {
                    cell.reads.push(position);
                    cell.loads.push(stmt);
                }
            }
        }
        each_operand(facts, facts.body().operands(inst), &mut |operand| {
            if let Operand::Var(variable) = operand
                && !accessed.contains(&variable)
            {
                let words = self.words(variable);
                for cell in self.cells.get_mut(words).unwrap_or_default() {
                    cell.escapes = true;
                }
            }
        });
    }

    /// Sets the contents of the parameters where the function begins.
    fn store_arguments(&mut self, facts: FunctionFacts<'_>, context: &Context) {
        for (param, words) in words::numbered(facts.module(), context.params(facts)) {
            let arguments = context.arguments.get(words).unwrap_or_default();
            let last = arguments.last();
            for (index, cell) in self.param_cells(param).iter_mut().enumerate() {
                let argument = arguments.get(index).or(last);
                cell.uniformity = argument.copied().unwrap_or(Uniformity::Varying);
            }
        }
    }

    /// Assumes nothing about words whose stores and reads are not in one order for all threads.
    fn give_up_unordered(
        &mut self,
        facts: FunctionFacts<'_>,
        graphs: &Graphs<'_>,
        context: &Context,
    ) {
        let is_kernel = context.kind == FunctionKind::Entry;
        let mut has_changing_addresses = !is_kernel;
        for (id, variable) in facts.body().vars().iter() {
            // Nothing stores to the parameters of a kernel, even if their addresses are used.
            if is_kernel && variable.stmt.is_none() {
                continue;
            }
            let words = self.words(id);
            for cell in self.cells.get_mut(words).unwrap_or_default() {
                has_changing_addresses |= cell.escapes && is_param(variable.space);
                if !cell.is_ordered(graphs) {
                    cell.uniformity = Uniformity::Varying;
                }
            }
        }
        if !has_changing_addresses {
            self.indirect = Uniformity::Grid;
        }
    }

    fn param_cells(&mut self, param: &Param) -> &mut [Cell] {
        let Binding::Var(variable) = param.binding else {
            return &mut [];
        };
        let words = self.words(variable);
        self.cells.get_mut(words).unwrap_or_default()
    }

    /// The words of a variable.
    pub(super) fn words(&self, variable: VarId) -> Range<usize> {
        let index = variable.index();
        match self.first_words.get(index..index + 2) {
            Some([start, end]) => *start as usize..*end as usize,
            _ => 0..0,
        }
    }

    /// The words of a variable that one of `count` elements of an access reaches.
    pub(super) fn element(
        &self,
        variable: VarId,
        access: &MemoryAccess,
        index: usize,
        count: usize,
    ) -> Range<usize> {
        match bytes(access).filter(|_| count > 0) {
            Some((start, bytes)) => {
                let size = bytes / count as u64;
                self.byte_words(variable, start.saturating_add(index as u64 * size), size)
            }
            None => self.words(variable),
        }
    }

    /// The words of a variable that an access reaches.
    pub(super) fn accessed(&self, variable: VarId, access: &MemoryAccess) -> Range<usize> {
        match bytes(access) {
            Some((start, bytes)) => self.byte_words(variable, start, bytes),
            None => self.words(variable),
        }
    }

    /// The words of a variable that contain some of its bytes.
    fn byte_words(&self, variable: VarId, start: u64, bytes: u64) -> Range<usize> {
        let all = self.words(variable);
        let words = words::words(start, bytes);
        (all.start + words.start).min(all.end)..(all.start + words.end).min(all.end)
    }

    /// A word.
    pub(super) fn get(&self, word: usize) -> Option<&Cell> {
        self.cells.get(word)
    }

    pub(super) fn get_mut(&mut self, word: usize) -> Option<&mut Cell> {
        self.cells.get_mut(word)
    }

    /// Returns whether all variables are parameters of a kernel.
    pub(super) const fn are_read_only(&self) -> bool {
        self.read_only
    }

    /// The uniformity of memory in `.param` that is read through equal addresses in registers.
    pub(super) const fn indirect(&self) -> Uniformity {
        self.indirect
    }
}

fn is_param(space: StateSpace) -> bool {
    space.base() == StateSpace::Param
}

/// The first byte that an access reaches in its variable, and the number of bytes; `None` if they are unknown.
fn bytes(access: &MemoryAccess) -> Option<(u64, u64)> {
    Some((u64::try_from(access.offset?).ok()?, access.bytes?))
}

/// The first word of each variable, and the end of the last one. Words that no instruction accesses are not followed.
fn first_words(facts: FunctionFacts<'_>, context: &Context) -> Vec<u32> {
    let body = facts.body();
    let mut counts = vec![1u32; body.vars().len()];
    let mut grow = |variable: VarId, count: usize| {
        if let Some(words) = counts.get_mut(variable.index()) {
            *words = (*words).max(count as u32);
        }
    };
    let mut results: Vec<VarId> = Vec::new();
    for (inst, _) in body.insts() {
        let inst = facts.inst(inst);
        for access in inst.memory() {
            if let (Some(Operand::Var(variable)), Some((start, bytes))) =
                (access.base, bytes(&access))
            {
                grow(variable, words::words(start, bytes).end);
            }
        }
        results.extend(call_variables(&inst, Access::Write));
    }
    for param in context.params(facts).iter().chain(context.returns(facts)) {
        if let Binding::Var(variable) = param.binding {
            grow(variable, words::count(facts.module(), param));
        }
    }
    // The result of a call may be the argument of another one.
    results.sort_unstable();
    results.dedup();
    for (inst, _) in body.insts() {
        for variable in call_variables(&facts.inst(inst), Access::Read) {
            if results.binary_search(&variable).is_ok() {
                grow(variable, WORDS);
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

/// The variables that a call reads as arguments or writes as results.
fn call_variables<'a>(inst: &Facts<'a>, access: Access) -> impl Iterator<Item = VarId> + use<'a> {
    inst.call_lists()
        .filter(move |(_, list_access)| *list_access == access)
        .flat_map(|(operands, _)| operands)
        .filter_map(|operand| match operand {
            Operand::Var(variable) => Some(*variable),
            _ => None,
        })
}

/// Calls `visit` with each operand that is not composed of others, and with the parts of the others.
pub(super) fn each_operand(
    facts: FunctionFacts<'_>,
    operands: &[Operand],
    visit: &mut impl FnMut(Operand),
) {
    let pool = facts.body().pool();
    for operand in operands {
        match *operand {
            Operand::List(id) | Operand::Vector(id) | Operand::Bracket(id) => {
                for &part in pool.list(id) {
                    match part {
                        Operand::Vector(id) => pool.list(id).iter().for_each(|part| visit(*part)),
                        other => leaf(facts, other, visit),
                    }
                }
            }
            Operand::Pair(pair) => {
                let (first, second) = pool.pair(pair);
                leaf(facts, first, visit);
                leaf(facts, second, visit);
            }
            other => leaf(facts, other, visit),
        }
    }
}

/// Calls `visit` with the base of an address, and with the operand of a sign.
fn leaf(facts: FunctionFacts<'_>, operand: Operand, visit: &mut impl FnMut(Operand)) {
    let pool = facts.body().pool();
    match operand {
        Operand::Address(id) => {
            if let Some(address) = pool.address(id) {
                visit(address.base);
            }
        }
        Operand::Not(inner) | Operand::Neg(inner) => leaf(facts, pool.get(inner), visit),
        other => visit(other),
    }
}
