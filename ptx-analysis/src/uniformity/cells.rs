//! Variables in `.param` of functions: the arguments and the results of calls.

use alloc::vec::Vec;

use ptx_ir::facts::{FunctionFacts, Space};
use ptx_ir::{Binding, EntityId as _, FunctionKind, Operand, Param, Statement, StmtId, VarId};
use ptx_isa::{StateSpace, Uniformity};

use super::context::Context;
use super::graphs::Graphs;
use crate::cfg::BlockId;

/// More stores to a variable are not followed.
const STORES: usize = 32;

/// A variable.
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
    fn is_ordered(&mut self, graphs: &Graphs) -> bool {
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

/// The variables of a function in `.param`.
pub(super) struct Cells {
    /// By variable; empty if all of them are parameters of a kernel.
    all: Vec<Cell>,
    /// Whether parameters are only read, and may be read through registers.
    read_only: bool,
}

impl Cells {
    pub(super) fn new(facts: FunctionFacts<'_>, graphs: &Graphs, context: &Context) -> Self {
        let body = facts.body();
        let in_param = |space: StateSpace| space.base() == StateSpace::Param;
        let local = body
            .vars()
            .values()
            .any(|v| in_param(v.space) && v.stmt.is_some());
        if context.kind == FunctionKind::Entry && !local {
            return Self {
                all: Vec::new(),
                read_only: true,
            };
        }
        let mut cells = Self {
            all: vec![Cell::EMPTY; body.vars().len()],
            read_only: false,
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
                    if let Some(cell) = cells.of_param(param) {
                        cell.reads.push((block, order));
                    }
                }
            }
        }
        let params = context.params(facts).to_vec();
        for (param, level) in params.iter().zip(&context.arguments) {
            if let Some(cell) = cells.of_param(param) {
                // Its value at the start of the function, before all stores.
                cell.level = *level;
            }
        }
        // Nothing stores to the parameters of a kernel, even if their addresses are used.
        let is_constant = |var: VarId| {
            let declared = body.vars().get(var);
            context.kind == FunctionKind::Entry && declared.is_some_and(|v| v.stmt.is_none())
        };
        for (at, cell) in cells.all.iter_mut().enumerate() {
            if !is_constant(VarId::new(at as u32)) && !cell.is_ordered(graphs) {
                cell.level = Uniformity::Varying;
            }
        }
        cells
    }

    fn of_param(&mut self, param: &Param) -> Option<&mut Cell> {
        match param.binding {
            Binding::Var(var) => self.all.get_mut(var.index()),
            _ => None,
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
            let known = space.base() == StateSpace::Param && access.offset.is_some();
            let Some(cell) = self.all.get_mut(var.index()).filter(|_| known) else {
                continue;
            };
            accessed.push(var);
            if access.writes() {
                cell.stores.push(at);
            }
            if access.reads() {
                cell.reads.push(at);
                cell.loads.push(stmt);
            }
        }
        each_operand(facts, facts.body().operands(inst), &mut |operand| {
            if let Operand::Var(var) = operand
                && !accessed.contains(&var)
                && let Some(cell) = self.all.get_mut(var.index())
            {
                cell.escapes = true;
            }
        });
    }

    /// The variable.
    pub(super) fn get(&self, var: VarId) -> Option<&Cell> {
        self.all.get(var.index())
    }

    pub(super) fn get_mut(&mut self, var: VarId) -> Option<&mut Cell> {
        self.all.get_mut(var.index())
    }

    /// In which threads memory in `.param` is the same that has the same address.
    pub(super) fn level(&self, base: Option<Operand>) -> Uniformity {
        match base {
            _ if self.read_only => Uniformity::Grid,
            Some(Operand::Var(var)) => self.get(var).map_or(Uniformity::Varying, |c| c.level),
            _ => Uniformity::Varying,
        }
    }
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
