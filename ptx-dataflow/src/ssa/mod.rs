//! Static single assignment: the value that each read sees. The program is not changed; the form is a view of it.
//!
//! A value is the result of one write, the value of a register where the function begins, or a *phi*: the value of a variable at the start of a block where
//! different values meet. A conditional write (under a guard, or of a statement that was not recognized) is a
//! *merge* of the new value and the old value. Elements of vector registers have separate values, and the carry flag
//! is a variable with the number after those of all registers. The form is minimal and pruned: a variable has a phi in the blocks of the
//! iterated dominance frontier of its writes where it is live.
//!
//! ```text
//!        mov a, 1        v1 = def a
//!    @p  mov a, 2        v2 = def a, old v1        a merge: 2 or v1
//!    @q  bra L
//!        mov a, 3        v3 = def a
//!    L:                  v4 = phi a (v2, v3)
//!        st [d], a       use of v4
//! ```
//!
//! Unreachable blocks are never executed: a read there sees [`Ssa::UNKNOWN`] unless the same block wrote the register, and
//! the arguments of phis for edges from there are [`Ssa::UNKNOWN`].
//!
//! Cost: `O(n log n)` in instructions, edges, phis and arguments of phis. Nests of loops exist that need a quadratic number
//! of phis. A function that needs more phis and arguments of phis than 262,144 and 16 for each statement has no SSA form: [`AnalysisError::TooManyPhis`].
//!
//! ```
//! use ptx_dataflow::{function_dataflow::FunctionDataflow, ssa::Value};
//! use ptx_ir::{StmtId, facts::ModuleFacts};
//! let text = b".version 8.0\n.target sm_80\n.address_size 64\n.entry k()\n{\n.reg .pred p; .reg .b32 a; .reg .b64 d;\n\
//!     mov.b32 a, 1; @p mov.b32 a, 2; st.global.b32 [d], a;\n}";
//! let module = ptx_parse::parse(text).module;
//! let facts = ModuleFacts::new(&module);
//! let function = FunctionDataflow::new(facts.function(module.function("k").unwrap()).unwrap());
//! let ssa = function.ssa()?;
//! let store = StmtId::from_index(5);
//! let read = ssa.uses(store)[1].value;
//! assert!(matches!(ssa.value(read), Value::Def { old: Some(_), .. }));
//! # use ptx_ir::EntityId as _;
//! # Ok::<(), ptx_dataflow::AnalysisError>(())
//! ```

pub(crate) mod cells;
mod local;
mod phi_placement;
mod renaming;

use alloc::vec::Vec;
use core::ops::Range;

use ptx_ir::facts::{FunctionFacts, Stamp};
use ptx_ir::{Budget, EntityId, StmtId};

use crate::cfg::{BlockId, Cfg};
use crate::error::AnalysisError;
use crate::graph::{Csr, Dominators};
use crate::meter::Meter;
use crate::reg_lanes::{VariableId, Variables};
use cells::Cells;

crate::ids::ids! {
    /// A value of an [`Ssa`]: dense, from 0.
    ValueId;
}

/// The number of phis and arguments that every function may need, and the additional number for each statement.
const PHIS: u64 = 1 << 18;
const PHIS_PER_STATEMENT: u64 = 16;

/// The origin of a value.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum Value {
    /// Unknown; see [`Ssa::UNKNOWN`].
    Unknown,
    /// The register has the value where the function begins: a parameter, or an undefined value.
    Entry {
        /// The variable.
        variable: VariableId,
    },
    /// A statement writes the value.
    Def {
        /// The statement.
        stmt: StmtId,
        /// The variable.
        variable: VariableId,
        /// The old value of a merge, which remains if the statement does not write; [`Ssa::UNKNOWN`] if the merge is never read.
        old: Option<ValueId>,
    },
    /// Different values meet at the start of a block: see [`Ssa::args`].
    Phi {
        /// The block.
        block: BlockId,
        /// The variable.
        variable: VariableId,
    },
}

/// A read.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct Use {
    /// The statement that reads.
    pub stmt: StmtId,
    /// The variable that it reads.
    pub variable: VariableId,
    /// The value that it sees.
    pub value: ValueId,
}

/// The value of a register that holds a result of the function, at the end of a block that returns.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct Returned {
    /// The block that returns.
    pub block: BlockId,
    /// The register, or the element of one.
    pub variable: VariableId,
    /// The value after the last statement of the block.
    pub value: ValueId,
}

/// The values of a function.
#[derive(Clone, Debug)]
pub struct Ssa {
    stamp: Stamp,
    values: Vec<Value>,
    uses: Vec<Use>,
    returned: Vec<Returned>,
    /// The first use and the first definition of each statement, by position.
    use_starts: Vec<u32>,
    def_starts: Vec<u32>,
    /// The position of each statement, if edits changed their order; else empty.
    positions: Vec<u32>,
    /// The phis of each block.
    phis: Csr,
    /// The arguments of the phis, in the order of the values.
    args: Vec<ValueId>,
    arg_starts: Vec<u32>,
    first_phi: u32,
    carry: VariableId,
}

impl Ssa {
    /// The value of reads in unreachable blocks, and the old value of merges where it is never read.
    pub const UNKNOWN: ValueId = ValueId(0);

    /// Computes the values of a function. The cells of memory are variables as well.
    ///
    /// # Errors
    ///
    /// The function needs more phis and arguments of phis than 262,144 and 16 for each statement, or the budget is exhausted.
    pub(crate) fn new(
        facts: FunctionFacts<'_>,
        cfg: &Cfg,
        variables: &Variables,
        dominators: &Dominators<BlockId>,
        cells: &Cells,
        budget: &Budget,
    ) -> Result<Self, AnalysisError> {
        let name = if cells.is_empty() {
            "ssa"
        } else {
            "ssa with cells"
        };
        crate::builds::record(name, facts);
        let mut meter = Meter::new(budget);
        let local = local::LocalValues::new(facts, cfg, variables, cells, &mut meter)?;
        let live = phi_placement::live_sets(cfg, &local);
        let limit = PHIS + PHIS_PER_STATEMENT * facts.body().statement_table().len() as u64;
        let placed = phi_placement::place(cfg, dominators, &local, &live, limit, &mut meter)?;
        let ssa = renaming::rename(cfg, dominators, local, &live, &placed, &mut meter)?;
        meter.charge()?;
        Ok(ssa)
    }

    /// The number of values.
    #[allow(
        clippy::len_without_is_empty,
        reason = "there is always `Ssa::UNKNOWN`"
    )]
    #[must_use]
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// The origin of a value.
    #[must_use]
    pub fn value(&self, id: ValueId) -> Value {
        self.values
            .get(id.index())
            .copied()
            .unwrap_or(Value::Unknown)
    }

    /// All values with their ids: first the values that statements write, in their order, then the values at the entry, then phis.
    #[must_use]
    pub fn values(&self) -> impl ExactSizeIterator<Item = (ValueId, Value)> + '_ {
        self.values
            .iter()
            .enumerate()
            .map(|(index, &value)| (ValueId::from_index(index), value))
    }

    /// The variable that holds a value.
    #[must_use]
    pub fn variable(&self, id: ValueId) -> Option<VariableId> {
        match self.value(id) {
            Value::Unknown => None,
            Value::Entry { variable }
            | Value::Def { variable, .. }
            | Value::Phi { variable, .. } => Some(variable),
        }
    }

    ptx_isa::getters! {
        /// The function and the revision of the module that the form belongs to.
        #[doc(hidden)]
        stamp: Stamp = stamp;
        /// The carry flag: the variable after those of [`Variables`].
        carry: VariableId = carry;
        /// All reads, in the order of the statements.
        all_uses: &[Use] = &uses;
        /// The results that the function returns in registers, for each block where it may return, without results that the body never
        /// mentions.
        returned: &[Returned] = &returned;
    }

    /// The position of a statement in the order of the text.
    fn position(&self, stmt: StmtId) -> u32 {
        self.positions
            .get(stmt.index())
            .copied()
            .unwrap_or(stmt.as_u32())
    }

    /// The reads of a statement, including its guard, each variable once.
    #[must_use]
    pub fn uses(&self, stmt: StmtId) -> &[Use] {
        let range = row(&self.use_starts, self.position(stmt));
        self.uses
            .get(range.start as usize..range.end as usize)
            .unwrap_or_default()
    }

    /// The value that a statement sees in a variable that it reads.
    #[must_use]
    pub fn read(&self, stmt: StmtId, variable: VariableId) -> Option<ValueId> {
        self.uses(stmt)
            .iter()
            .find(|u| u.variable == variable)
            .map(|u| u.value)
    }

    /// The values that a statement writes or may write, one for each variable.
    pub fn defs(&self, stmt: StmtId) -> impl ExactSizeIterator<Item = ValueId> + Clone + use<> {
        row(&self.def_starts, self.position(stmt)).map(ValueId)
    }

    /// The phis of a block.
    #[must_use]
    pub fn phis(&self, block: BlockId) -> impl ExactSizeIterator<Item = ValueId> + Clone + '_ {
        self.phis
            .row(block.as_u32())
            .iter()
            .map(|&number| ValueId(number))
    }

    /// The arguments of a phi: one for each edge, in the order of [`Cfg::in_edges`]; at the entry of the function one more
    /// after them, the value at the start. Empty for other values.
    #[must_use]
    pub fn args(&self, phi: ValueId) -> &[ValueId] {
        let Some(index) = phi.0.checked_sub(self.first_phi) else {
            return &[];
        };
        let range = row(&self.arg_starts, index);
        self.args
            .get(range.start as usize..range.end as usize)
            .unwrap_or_default()
    }
}

/// The range of the entries of a row, whose first entries are in `starts`; empty for a row that does not exist.
fn row(starts: &[u32], index: u32) -> Range<u32> {
    let bound = |index: usize| starts.get(index).copied().unwrap_or(0);
    let first = bound(index as usize);
    first..bound(index as usize + 1).max(first)
}
