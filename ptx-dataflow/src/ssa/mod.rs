//! Static single assignment: which value each read sees. The program is not changed; this is a view of it.
//!
//! A value is what one write makes, what a register held when the function began, or a *phi*: what arrives at a block where
//! different values meet. A write that may not happen (under a guard, or of a statement that was not recognized) is a
//! *merge* of what it writes and of the old value. Elements of vector registers have separate values, and the carry flag
//! is a variable with the number after those of all others. The form is minimal and pruned: there is a phi where the
//! iterated dominance frontier of the writes is, if the variable is live there.
//!
//! Unreachable blocks are never executed: a read there sees [`Ssa::UNKNOWN`] unless the same block wrote the register, and
//! their edges bring [`Ssa::UNKNOWN`].
//!
//! Cost: `O(n log n)` in instructions, edges, phis and arguments of phis. Nests of loops exist that need a quadratic number
//! of phis. A function that needs more phis and arguments of phis than 262,144 and 16 for each statement has no SSA form: [`TooManyPhis`].
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
//! # Ok::<(), ptx_dataflow::ssa::TooManyPhis>(())
//! ```

pub(crate) mod cells;
mod local;
mod phi_placement;
mod renaming;

use alloc::vec::Vec;
use core::ops::Range;

use ptx_ir::facts::{FunctionFacts, Stamp};
use ptx_ir::{EntityId, StmtId};

use crate::cfg::{BlockId, Cfg};
use crate::graph::{Csr, Dominators};
use crate::reg_lanes::{VariableId, Variables};
use cells::Cells;

crate::ids::ids! {
    /// A value of an [`Ssa`]: dense, from 0.
    ValueId;
}

/// A function that needs more phis and arguments of phis than the limit: some nests of loops need a number of them that
/// is quadratic in the size of the function. See [`FunctionDataflow::ssa`](crate::function_dataflow::FunctionDataflow::ssa).
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct TooManyPhis {
    /// The number of phis and arguments that was allowed.
    pub limit: u64,
}

impl core::fmt::Display for TooManyPhis {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(
            f,
            "the function needs more than {} phis and arguments of phis",
            self.limit
        )
    }
}

impl core::error::Error for TooManyPhis {}

/// How many phis and arguments any function may need, and how many more for each statement.
const PHIS: u64 = 1 << 18;
const PHIS_PER_STATEMENT: u64 = 16;

/// What makes a value.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum Value {
    /// Unknown; see [`Ssa::UNKNOWN`].
    Unknown,
    /// The register held it when the function began: a parameter, or an undefined value.
    Entry {
        /// The variable.
        variable: VariableId,
    },
    /// A statement wrote it.
    Def {
        /// The statement.
        stmt: StmtId,
        /// The variable.
        variable: VariableId,
        /// Of a merge, the value that remains where the statement does not write; [`Ssa::UNKNOWN`] if it is never read.
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
    /// The value it sees.
    pub value: ValueId,
}

/// The value of a register that holds a result of the function, where the function returns.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct Returned {
    /// The block that returns.
    pub block: BlockId,
    /// The register, or the element of one.
    pub variable: VariableId,
    /// Its value after the last statement of the block.
    pub value: ValueId,
}

/// The values of a function.
#[derive(Clone, Debug)]
pub struct Ssa {
    stamp: Stamp,
    values: Vec<Value>,
    uses: Vec<Use>,
    returned: Vec<Returned>,
    /// Where the uses and the definitions of each statement start.
    use_starts: Vec<u32>,
    def_starts: Vec<u32>,
    /// The position of each statement, if edits changed their order; else empty.
    places: Vec<u32>,
    /// The phis of each block.
    phis: Csr,
    /// Of each phi, in the order of the values.
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
    /// If the function needs more phis and arguments of phis than 262,144 and 16 for each statement.
    pub(crate) fn new(
        facts: FunctionFacts<'_>,
        cfg: &Cfg,
        variables: &Variables,
        dominators: &Dominators<BlockId>,
        cells: &Cells,
    ) -> Result<Self, TooManyPhis> {
        let name = if cells.is_empty() {
            "ssa"
        } else {
            "ssa with cells"
        };
        crate::builds::record(name, facts);
        let local = local::Local::new(facts, cfg, variables, cells);
        let live = phi_placement::live_sets(cfg, &local);
        let statements = facts.body().statement_table().len() as u64;
        let limit = PHIS + PHIS_PER_STATEMENT * statements;
        let placed = phi_placement::place(cfg, dominators, &local, &live, limit)?;
        Ok(renaming::rename(cfg, dominators, local, &live, &placed))
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

    /// What makes a value.
    #[must_use]
    pub fn value(&self, id: ValueId) -> Value {
        let value = self.values.get(id.0 as usize);
        value.copied().unwrap_or(Value::Unknown)
    }

    /// Every value with its id: first those that statements write, in their order, then those at the entry, then phis.
    #[must_use]
    pub fn values(&self) -> impl ExactSizeIterator<Item = (ValueId, Value)> + '_ {
        let values = self.values.iter().enumerate();
        values.map(|(i, &v)| (ValueId(i as u32), v))
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
        /// Which function it is of, at which revision of the module.
        stamp: Stamp = stamp;
        /// The carry flag: the variable after those of [`Variables`].
        carry: VariableId = carry;
        /// Every read, in the order of the statements.
        all_uses: &[Use] = &uses;
        /// The results that the function returns in registers, for each block where it may return. Results that the body never
        /// mentions are left out.
        returned: &[Returned] = &returned;
    }

    fn place(&self, stmt: StmtId) -> u32 {
        let place = self.places.get(stmt.index()).copied();
        place.unwrap_or(stmt.as_u32())
    }

    /// What a statement reads, its guard included, each variable once.
    #[must_use]
    pub fn uses(&self, stmt: StmtId) -> &[Use] {
        let range = row(&self.use_starts, self.place(stmt));
        self.uses
            .get(range.start as usize..range.end as usize)
            .unwrap_or_default()
    }

    /// The value that a statement sees in a variable that it reads.
    #[must_use]
    pub fn read(&self, stmt: StmtId, variable: VariableId) -> Option<ValueId> {
        let mut uses = self.uses(stmt).iter();
        uses.find(|u| u.variable == variable).map(|u| u.value)
    }

    /// The values that a statement writes or may write, one for each variable.
    pub fn defs(&self, stmt: StmtId) -> impl ExactSizeIterator<Item = ValueId> + Clone + use<> {
        row(&self.def_starts, self.place(stmt)).map(ValueId)
    }

    /// The phis of a block.
    #[must_use]
    pub fn phis(&self, block: BlockId) -> impl ExactSizeIterator<Item = ValueId> + Clone + '_ {
        self.phis.row(block.as_u32()).iter().map(|&v| ValueId(v))
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

fn row(starts: &[u32], index: u32) -> Range<u32> {
    let at = |i: usize| starts.get(i).copied().unwrap_or(0);
    let from = at(index as usize);
    from..at(index as usize + 1).max(from)
}
