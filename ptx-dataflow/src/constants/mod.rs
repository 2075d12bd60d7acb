//! Sparse conditional constants (Wegman and Zadeck): the values that are the same number whenever they are computed, and the
//! blocks and edges that control never reaches because of that.
//!
//! ```text
//!        Overdefined            the value may differ
//!      /      |      \
//!    ...  Constant(4)  ...      it is always this number
//!      \      |      /
//!        Unreached              it is not computed
//! ```
//!
//! Control is followed along the edges whose guards, and whose index into a table of labels, allow it. Values where the function begins are overdefined, and
//! so are values from memory, special registers and calls. Cost: each fact changes at most twice, see [`SparseAnalysis`]. The result covers all executions
//! of the reached blocks; behavior that the PTX ISA manual leaves undefined is not folded.

pub(crate) mod instruction;

use alloc::vec::Vec;

use ptx_ir::facts::{Facts, Flow, FunctionFacts};
use ptx_ir::{InstId, Statement, StmtId};
use ptx_isa::{Modifier, ScalarType, SpecialReg};

use crate::cfg::{BlockId, Cfg, EdgeId, EdgeKind};
use crate::dataflow::JoinSemiLattice;
use crate::dataflow::sparse::{
    SparseAnalysis, SparseInput, SparseSolution, SparseSolver, SsaGraph, solve_on_graph,
};
use crate::reg_lanes::Variables;
use crate::ssa::{Ssa, Value, ValueId};
use instruction::Operands;

/// The lattice of constants.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum Constant {
    /// The value is never computed.
    Unreached,
    /// The bits that the value always has, in the width of its register; a predicate or the carry flag is 0 or 1.
    Constant(u128),
    /// The value may differ.
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

    fn joined(self, other: Self) -> Self {
        match (self, other) {
            (Self::Unreached, constant) | (constant, Self::Unreached) => constant,
            (a, b) if a == b => a,
            _ => Self::Overdefined,
        }
    }
}

impl JoinSemiLattice for Constant {
    fn join(&mut self, other: &Self) -> bool {
        let joined = self.joined(*other);
        core::mem::replace(self, joined) != joined
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
/// # Ok::<(), ptx_dataflow::AnalysisError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Constants {
    solution: SparseSolution<Constant>,
}

impl Constants {
    /// Propagates values and control from the entry.
    pub(crate) fn new(
        facts: FunctionFacts<'_>,
        cfg: &Cfg,
        variables: &Variables,
        ssa: &Ssa,
        graph: &SsaGraph,
    ) -> Self {
        crate::builds::record("constants", facts);
        let input = SparseInput {
            facts,
            cfg,
            ssa,
            graph,
        };
        let mut propagation = Propagation {
            facts,
            cfg,
            variables,
            modifiers: Vec::new(),
        };
        // The lattice has three levels, which limit the sweeps.
        Self {
            solution: solve_on_graph(input, &mut propagation, u32::MAX),
        }
    }

    /// The lattice element of a value.
    #[must_use]
    pub fn value(&self, id: ValueId) -> Constant {
        *self.solution.value(id)
    }

    /// Returns whether control may reach a block.
    #[must_use]
    pub fn is_executable(&self, block: BlockId) -> bool {
        self.solution.is_executable(block)
    }

    /// Returns whether control may follow an edge.
    #[must_use]
    pub fn is_taken(&self, edge: EdgeId) -> bool {
        self.solution.is_followed(edge)
    }
}

/// The transfer functions.
struct Propagation<'a> {
    facts: FunctionFacts<'a>,
    cfg: &'a Cfg,
    variables: &'a Variables,
    /// The modifiers of the current instruction; kept for its allocation.
    modifiers: Vec<Modifier>,
}

impl SparseAnalysis for Propagation<'_> {
    type Domain = Constant;
    const FOLLOWS_EDGES: bool = true;

    fn bottom(&self) -> Constant {
        Constant::Unreached
    }

    fn top(&self) -> Constant {
        Constant::Overdefined
    }

    fn inst(&mut self, facts: Facts<'_>, stmt: StmtId, solver: &mut SparseSolver<'_, Constant>) {
        if !facts.is_known() {
            return self.unrecognized(stmt, solver);
        }
        let ssa = solver.ssa();
        let defs = ssa.defs(stmt);
        // An overdefined value does not change. A statement without definitions has no results to compute.
        if defs
            .clone()
            .all(|def| *solver.value(def) == Constant::Overdefined)
        {
            return;
        }
        let Some(Statement::Inst(inst)) = self.facts.body().statement(stmt) else {
            return;
        };
        let execution = self.execution(&facts, stmt, solver);
        let mut modifiers = core::mem::take(&mut self.modifiers);
        let result = self
            .operands(solver)
            .result(stmt, inst, &facts, &mut modifiers);
        self.modifiers = modifiers;
        for def in defs {
            let Value::Def { variable, old, .. } = ssa.value(def) else {
                continue;
            };
            let new = match &result {
                Ok(folded) => self.operands(solver).part(folded, &facts, variable),
                Err(constant) => *constant,
            };
            let constant = match old {
                None => new,
                Some(old) => merged(execution, new, *solver.value(old)),
            };
            solver.raise(def, &constant);
        }
    }

    fn leave(&mut self, block: BlockId, solver: &mut SparseSolver<'_, Constant>) {
        let last = self
            .last_inst(block)
            .map(|(stmt, inst)| (stmt, self.facts.inst(inst)));
        let guard = last.and_then(|(stmt, facts)| {
            let (place, _) = facts.guard_register()?;
            Some(self.operands(solver).place(stmt, place))
        });
        let index = last
            .filter(|(_, facts)| facts.flow() == Flow::Table)
            .and_then(|(stmt, facts)| {
                let (operand, _) = facts.parts().next()?;
                let types = [ScalarType::U32];
                Some(self.operands(solver).operand(stmt, operand, &types))
            });
        let entry = index
            .and_then(Constant::known)
            .filter(|&number| self.is_table_entry(block, number));
        for (id, edge) in self.cfg.out_edges(block) {
            let may_hold = match (edge.when, guard) {
                (Some(_), Some(Constant::Unreached)) => false,
                (Some(when), Some(Constant::Constant(bits))) => when == (bits == 1),
                _ => true,
            };
            let may_select = match edge.kind {
                EdgeKind::Table(_) if index == Some(Constant::Unreached) => false,
                EdgeKind::Table(number) => entry.is_none_or(|entry| entry == u128::from(number)),
                _ => true,
            };
            if may_hold && may_select {
                solver.follow(id);
            }
        }
    }
}

impl Propagation<'_> {
    /// The predicate under which an instruction writes its results.
    fn execution(
        &self,
        facts: &Facts<'_>,
        stmt: StmtId,
        solver: &SparseSolver<'_, Constant>,
    ) -> Constant {
        if facts.guard().is_none() {
            return Constant::Constant(1);
        }
        match facts.guard_register() {
            None => Constant::Overdefined,
            Some((place, sense)) => self
                .operands(solver)
                .place(stmt, place)
                .xor(sense.is_negated().into()),
        }
    }

    /// The last instruction of a block.
    fn last_inst(&self, block: BlockId) -> Option<(StmtId, InstId)> {
        let block = self.cfg.block(block)?;
        block.insts(self.facts.body()).next_back()
    }

    /// Returns whether the table of the jump at the end of a block has an entry. An index outside of the table is undefined behavior, from which nothing is
    /// concluded.
    fn is_table_entry(&self, block: BlockId, index: u128) -> bool {
        self.cfg.out_edges(block).any(|(_, edge)| {
            let target = self.cfg.block(edge.to);
            let is_entry =
                matches!(edge.kind, EdgeKind::Table(number) if u128::from(number) == index);
            is_entry && !target.is_some_and(|block| block.is_dispatch)
        })
    }

    /// Evaluates operands with the current facts.
    fn operands<'s>(
        &'s self,
        solver: &'s SparseSolver<'_, Constant>,
    ) -> Operands<
        's,
        impl Fn(ValueId) -> Constant + 's,
        impl Fn(SpecialReg, Option<u8>) -> Constant + 's,
    > {
        Operands {
            facts: self.facts,
            variables: self.variables,
            ssa: solver.ssa(),
            value: |id| *solver.value(id),
            special: |_, _| Constant::Overdefined,
        }
    }
}

/// The value of a merge: `new` if the instruction is executed, else `old`.
fn merged(execution: Constant, new: Constant, old: Constant) -> Constant {
    match (execution, new) {
        (Constant::Constant(1), _) => new,
        (Constant::Constant(_), _) => old,
        (Constant::Unreached, _) | (Constant::Overdefined, Constant::Unreached) => {
            Constant::Unreached
        }
        (Constant::Overdefined, _) => new.joined(old),
    }
}
