//! Sparse conditional constants (Wegman and Zadeck): which values are the same number whenever they are computed, and which
//! blocks and edges are never taken because of that.
//!
//! The lattice of a value: [`Unreached`](Constant::Unreached) made, one [`Constant`](Constant::Constant) number, or
//! [`Overdefined`](Constant::Overdefined); it only goes down, so that each value is looked at twice at most after it changed.
//! Control is followed along the edges whose guards, and whose index into a table of labels, allow it. What was there
//! when the function began varies, and so does what comes from memory, special registers and calls. Cost: linear in the
//! values, their reads and the edges. All executions of the blocks reached are covered; behavior that the PTX ISA manual
//! leaves undefined is not folded.

pub(crate) mod instruction;

use alloc::vec::Vec;

use ptx_ir::facts::{Facts, Flow, FunctionFacts};
use ptx_ir::{InstId, Statement, StmtId};
use ptx_isa::{Modifier, ScalarType, SpecialReg};

use crate::cfg::{BlockId, Cfg, EdgeId, EdgeKind};
use crate::graph::Csr;
use crate::reg_lanes::Variables;
use crate::ssa::{Ssa, Value, ValueId};
use instruction::Operands;

/// What is known of a value.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum Constant {
    /// It is never made.
    Unreached,
    /// The bits that it always has, in the width of its register; a predicate or the carry flag is 0 or 1.
    Constant(u128),
    /// It may have different values.
    Overdefined,
}

impl Constant {
    /// The bits, if they are known.
    #[must_use]
    pub const fn known(self) -> Option<u128> {
        match self {
            Self::Constant(bits) => Some(bits),
            _ => None,
        }
    }

    fn xor(self, mask: u128) -> Self {
        match self {
            Self::Constant(bits) => Self::Constant(bits ^ mask),
            other => other,
        }
    }

    fn meet(self, other: Self) -> Self {
        match (self, other) {
            (Self::Unreached, x) | (x, Self::Unreached) => x,
            (a, b) if a == b => a,
            _ => Self::Overdefined,
        }
    }
}

/// The constants of a function.
///
/// ```
/// use ptx_dataflow::function_dataflow::FunctionDataflow;
/// use ptx_ir::facts::ModuleFacts;
/// let module = ptx_parse::parse(b".version 8.0\n.target sm_80\n.entry k() { .reg .b32 a, b; mov.b32 a, 1; add.s32 b, a, a; ret; }").module;
/// let facts = ModuleFacts::new(&module);
/// let function = FunctionDataflow::new(facts.function(module.function("k").unwrap()).unwrap());
/// let (last, _) = function.body().statements().nth(2).unwrap();
/// let sum = function.ssa()?.defs(last).next().unwrap();
/// assert_eq!(function.constants()?.value(sum).known(), Some(2));
/// # Ok::<(), ptx_dataflow::ssa::TooManyPhis>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Constants {
    values: Vec<Constant>,
    blocks: Vec<bool>,
    edges: Vec<bool>,
}

impl Constants {
    /// Follows values and control from the entry.
    pub(crate) fn new(
        facts: FunctionFacts<'_>,
        cfg: &Cfg,
        variables: &Variables,
        ssa: &Ssa,
    ) -> Self {
        crate::builds::record("constants", facts);
        let mut pass = Pass::new(facts, cfg, variables, ssa);
        pass.start();
        pass.run();
        pass.found
    }

    /// What is known of a value.
    #[must_use]
    pub fn value(&self, id: ValueId) -> Constant {
        let value = self.values.get(id.as_u32() as usize);
        value.copied().unwrap_or(Constant::Overdefined)
    }

    /// Whether control may get to a block.
    #[must_use]
    pub fn is_executable(&self, block: BlockId) -> bool {
        self.blocks.get(block.as_u32() as usize) == Some(&true)
    }

    /// Whether control may follow an edge.
    #[must_use]
    pub fn is_taken(&self, edge: EdgeId) -> bool {
        self.edges.get(edge.as_u32() as usize) == Some(&true)
    }
}

struct Pass<'a> {
    facts: FunctionFacts<'a>,
    cfg: &'a Cfg,
    variables: &'a Variables,
    ssa: &'a Ssa,
    found: Constants,
    /// For each value the statements that read or keep it, and the phis with the edges that bring it.
    readers: Csr,
    phis: Csr<(ValueId, EdgeId)>,
    /// Blocks to be walked for the first time, values that changed.
    blocks: Vec<BlockId>,
    changed: Vec<ValueId>,
    modifiers: Vec<Modifier>,
}

impl<'a> Pass<'a> {
    fn new(facts: FunctionFacts<'a>, cfg: &'a Cfg, variables: &'a Variables, ssa: &'a Ssa) -> Self {
        let mut values = vec![Constant::Unreached; ssa.len()];
        let (mut readers, mut phis) = (Vec::new(), Vec::new());
        readers.extend(
            ssa.all_uses()
                .iter()
                .map(|u| (u.value.as_u32(), u.stmt.as_u32())),
        );
        for ((id, value), state) in ssa.values().zip(&mut values) {
            match value {
                Value::Unknown | Value::Entry { .. } => *state = Constant::Overdefined,
                Value::Def { stmt, old, .. } => {
                    readers.extend(old.map(|old| (old.as_u32(), stmt.as_u32())));
                }
                Value::Phi { block, .. } => {
                    let args = ssa.args(id).iter().zip(cfg.in_edges(block));
                    phis.extend(args.map(|(a, (edge, _))| (a.as_u32(), (id, edge))));
                }
            }
        }
        Self {
            facts,
            cfg,
            variables,
            ssa,
            found: Constants {
                values,
                blocks: vec![false; cfg.len()],
                edges: vec![false; cfg.edges().len()],
            },
            readers: Csr::new(ssa.len(), readers.iter().copied()),
            phis: Csr::new(ssa.len(), phis.iter().copied()),
            blocks: Vec::new(),
            changed: Vec::new(),
            modifiers: Vec::new(),
        }
    }

    fn run(&mut self) {
        loop {
            if let Some(block) = self.blocks.pop() {
                if let Some(b) = self.cfg.block(block).copied() {
                    let statements = self.facts.body().range(b.first, b.end);
                    statements.for_each(|(stmt, _)| self.statement(stmt));
                }
                self.leave(block);
            } else if let Some(value) = self.changed.pop() {
                for i in 0..self.readers.row(value.as_u32()).len() {
                    let Some(&stmt) = self.readers.row(value.as_u32()).get(i) else {
                        break;
                    };
                    let stmt = StmtId::new(stmt);
                    let Some(block) = self.cfg.of_statement(stmt) else {
                        continue;
                    };
                    if self.found.is_executable(block) {
                        self.statement(stmt);
                        if self.last(block).is_some_and(|(last, _)| last == stmt) {
                            self.leave(block);
                        }
                    }
                }
                for i in 0..self.phis.row(value.as_u32()).len() {
                    let Some(&(phi, edge)) = self.phis.row(value.as_u32()).get(i) else {
                        break;
                    };
                    if self.found.is_taken(edge) {
                        self.set(phi, self.found.value(value));
                    }
                }
            } else {
                return;
            }
        }
    }

    /// Enters the function.
    fn start(&mut self) {
        let ssa = self.ssa;
        for phi in ssa.phis(Cfg::ENTRY) {
            // After those of the edges comes what was there at the start.
            if let Some(&at_start) = ssa.args(phi).last() {
                self.set(phi, self.found.value(at_start));
            }
        }
        self.enter(Cfg::ENTRY);
    }

    fn enter(&mut self, block: BlockId) {
        if let Some(seen @ false) = self.found.blocks.get_mut(block.as_u32() as usize) {
            *seen = true;
            self.blocks.push(block);
        }
    }

    /// Follows an edge for the first time.
    fn follow(&mut self, id: EdgeId, to: BlockId) {
        if let Some(taken) = self.found.edges.get_mut(id.as_u32() as usize) {
            *taken = true;
        }
        let ssa = self.ssa;
        if let Some(position) = self.cfg.in_position(id) {
            for phi in ssa.phis(to) {
                if let Some(&arg) = ssa.args(phi).get(position) {
                    self.set(phi, self.found.value(arg));
                }
            }
        }
        self.enter(to);
    }

    fn set(&mut self, id: ValueId, new: Constant) {
        if let Some(state) = self.found.values.get_mut(id.as_u32() as usize) {
            let met = state.meet(new);
            if *state != met {
                *state = met;
                self.changed.push(id);
            }
        }
    }

    /// The last instruction of a block.
    fn last(&self, block: BlockId) -> Option<(StmtId, InstId)> {
        let block = self.cfg.block(block)?;
        let range = self.facts.body().range(block.first, block.end);
        range.rev().find_map(|(stmt, statement)| match statement {
            Statement::Inst(inst) => Some((stmt, inst)),
            _ => None,
        })
    }

    /// Follows the edges that may be taken.
    fn leave(&mut self, block: BlockId) {
        let last = self
            .last(block)
            .map(|(stmt, inst)| (stmt, self.facts.inst(inst)));
        let guard =
            last.and_then(|(stmt, f)| Some(self.operands().place(stmt, f.guard_register()?.0)));
        let index = last
            .filter(|(_, f)| f.flow() == Flow::Table)
            .and_then(|(stmt, f)| {
                let (operand, _) = f.parts().next()?;
                Some(self.operands().operand(stmt, operand, &[ScalarType::U32]))
            });
        let cfg = self.cfg;
        let chosen = index.and_then(Constant::known).filter(|&n| {
            // An index outside of the table is undefined behavior: nothing is concluded.
            cfg.out_edges(block).any(|(_, e)| {
                let dispatch = self.cfg.block(e.to).is_some_and(|b| b.is_dispatch);
                !dispatch && matches!(e.kind, EdgeKind::Table(at) if u128::from(at) == n)
            })
        });
        for (id, edge) in cfg.out_edges(block) {
            let allowed = match (edge.when, guard) {
                (Some(_), Some(Constant::Unreached)) => false,
                (Some(when), Some(Constant::Constant(is))) => when == (is == 1),
                _ => true,
            };
            let allowed = allowed
                && match edge.kind {
                    EdgeKind::Table(_) if index == Some(Constant::Unreached) => false,
                    EdgeKind::Table(at) => chosen.is_none_or(|n| n == u128::from(at)),
                    _ => true,
                };
            if allowed && !self.found.is_taken(id) {
                self.follow(id, edge.to);
            }
        }
    }

    /// What instructions read.
    fn operands(
        &self,
    ) -> Operands<'_, impl Fn(ValueId) -> Constant, impl Fn(SpecialReg, Option<u8>) -> Constant>
    {
        Operands {
            facts: self.facts,
            variables: self.variables,
            ssa: self.ssa,
            value: |id| self.found.value(id),
            special: |_, _| Constant::Overdefined,
        }
    }

    /// Works out what a statement writes.
    fn statement(&mut self, stmt: StmtId) {
        let defs = self.ssa.defs(stmt);
        let is_final = |id| self.found.value(id) == Constant::Overdefined;
        // Nothing changes an overdefined value; a statement without definitions ends here, too.
        if defs.clone().all(is_final) {
            return;
        }
        let inst = match self.facts.body().statement(stmt) {
            Some(Statement::Inst(inst)) => Some(inst),
            _ => None,
        };
        let facts = inst.map(|i| self.facts.inst(i)).filter(Facts::is_known);
        // Whether it writes, if that is known.
        let guard = facts.and_then(|f| f.guard().map(|_| f.guard_register()));
        let runs = match guard {
            None => Constant::Constant(1),
            Some(None) => Constant::Overdefined,
            Some(Some((place, sense))) => self
                .operands()
                .place(stmt, place)
                .xor(sense.is_negated().into()),
        };
        let mut modifiers = core::mem::take(&mut self.modifiers);
        let result = match (facts, inst) {
            (Some(f), Some(inst)) => self.operands().result(stmt, inst, &f, &mut modifiers),
            _ => Err(Constant::Overdefined),
        };
        self.modifiers = modifiers;
        for def in defs {
            let Value::Def { variable, old, .. } = self.ssa.value(def) else {
                continue;
            };
            let new = match (&result, facts) {
                (Ok(folded), Some(f)) => self.operands().part(folded, &f, variable),
                (Err(state), _) => *state,
                _ => Constant::Overdefined,
            };
            let kept = old.map_or(Constant::Unreached, |old| self.found.value(old));
            let new = match (runs, old) {
                (_, None) | (Constant::Constant(1), _) => new,
                (Constant::Constant(_), Some(_)) => kept,
                (Constant::Unreached, _) => Constant::Unreached,
                (Constant::Overdefined, Some(_)) => match new {
                    Constant::Unreached => Constant::Unreached,
                    new => new.meet(kept),
                },
            };
            // A statement that was not recognized may also leave its results unchanged.
            let new = if facts.is_none() {
                Constant::Overdefined
            } else {
                new
            };
            self.set(def, new);
        }
    }
}
