//! Which value each read sees, as if every write made a register of its own (static single assignment). The program is
//! not changed: this is a view beside it.
//!
//! A value is what one write makes, what was there at the start, or a *phi*: what arrives at a block where different
//! values meet. A write that may not happen (under a guard, or of a statement that was not understood) is a *merge* of
//! what it writes and of what was there. Elements of vectors have values of their own, and the carry flag is one more
//! variable behind all others. The view is minimal and pruned: a phi stands where the iterated dominance frontier of
//! the writes is, and only if its variable is live there.
//!
//! Unreachable blocks are never executed: what they read is [`Ssa::UNKNOWN`] unless the same block has written it, and
//! so is what their edges bring.
//!
//! Cost: each variable is followed on its own, in time and memory of the blocks where it is live or written, and their
//! edges. Exact for the paths of the graph.
//!
//! ```
//! use ptx_analysis::{cfg::Cfg, graph::Dominators, ssa::{Ssa, Value}, variables::Variables};
//! use ptx_ir::{StmtId, facts::ModuleFacts};
//! let text = b".version 8.0\n.target sm_80\n.address_size 64\n.entry k()\n{\n.reg .pred p; .reg .b32 a; .reg .b64 d;\n\
//!     mov.b32 a, 1; @p mov.b32 a, 2; st.global.b32 [d], a;\n}";
//! let module = ptx_parse::parse(text).module;
//! let facts = ModuleFacts::new(&module);
//! let facts = facts.function(module.function("k").unwrap()).unwrap();
//! let (cfg, variables) = (Cfg::new(facts), Variables::new(facts.body()));
//! let ssa = Ssa::new(facts, &cfg, &Dominators::new(&cfg), &variables);
//! let store = StmtId::from_index(5);
//! let read = ssa.uses(store)[1].value;
//! assert!(matches!(ssa.value(read), Value::Def { old: Some(_), .. }));
//! # use ptx_ir::EntityId as _;
//! ```

mod local;
mod phi_placement;

use alloc::vec::Vec;
use core::ops::Range;

use ptx_ir::facts::FunctionFacts;
use ptx_ir::{EntityId, StmtId};

use crate::cfg::{BlockId, Cfg};
use crate::graph::{Csr, Dominators};
use crate::reg_lanes::Variables;

/// A value of an [`Ssa`]: dense, from 0.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ValueId(u32);

impl ValueId {
    /// The id of position `index`.
    pub const fn new(index: u32) -> Self {
        Self(index)
    }

    /// The position this id stands for.
    pub const fn as_u32(self) -> u32 {
        self.0
    }
}

/// What makes a value.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum Value {
    /// Nothing that is followed.
    Unknown,
    /// It was there when the function began: a parameter in a register, or whatever the register held.
    Entry {
        /// Of which variable.
        variable: u32,
    },
    /// A statement wrote it.
    Def {
        /// Which one.
        stmt: StmtId,
        /// Of which variable.
        variable: u32,
        /// Of a merge, what remains where the statement does not write; [`Ssa::UNKNOWN`] where nobody reads that.
        old: Option<ValueId>,
    },
    /// Different values meet at the start of a block: see [`Ssa::args`].
    Phi {
        /// Which block.
        block: BlockId,
        /// Of which variable.
        variable: u32,
    },
}

/// A read.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct Use {
    /// The statement that reads.
    pub stmt: StmtId,
    /// What it reads.
    pub variable: u32,
    /// The value it sees.
    pub value: ValueId,
}

/// What the caller gets in a register that holds a result of the function.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct Returned {
    /// The block that returns.
    pub block: BlockId,
    /// The register, or the element of one.
    pub variable: u32,
    /// What it holds behind the last statement of the block.
    pub value: ValueId,
}

/// The values of a function.
#[derive(Clone, Debug)]
pub struct Ssa {
    values: Vec<Value>,
    uses: Vec<Use>,
    returned: Vec<Returned>,
    /// Where the uses and the definitions of each statement begin.
    use_starts: Vec<u32>,
    def_starts: Vec<u32>,
    /// Which of the statements each is, where edits changed their order.
    places: Vec<u32>,
    /// The phis of each block.
    phis: Csr,
    /// Of each phi, in the order of the values.
    args: Vec<ValueId>,
    arg_starts: Vec<u32>,
    first_phi: u32,
    carry: u32,
}

impl Ssa {
    /// Read where nothing is known: in unreachable blocks, and by merges that nobody reads.
    pub const UNKNOWN: ValueId = ValueId(0);

    /// Follows every variable of a function.
    pub fn new(
        facts: FunctionFacts<'_>,
        cfg: &Cfg,
        dominators: &Dominators,
        variables: &Variables,
    ) -> Self {
        let local = local::Local::new(facts, cfg, variables);
        phi_placement::follow(cfg, dominators, local)
    }

    /// How many values there are: ids lie below.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Never: there is always [`Ssa::UNKNOWN`].
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// What makes a value.
    pub fn value(&self, id: ValueId) -> Value {
        let value = self.values.get(id.0 as usize);
        value.copied().unwrap_or(Value::Unknown)
    }

    /// Every value with its id: first those that statements write, in their order, then entries and phis.
    pub fn values(&self) -> impl ExactSizeIterator<Item = (ValueId, Value)> + '_ {
        let values = self.values.iter().enumerate();
        values.map(|(i, &v)| (ValueId(i as u32), v))
    }

    /// The variable that holds a value.
    pub fn variable(&self, id: ValueId) -> Option<u32> {
        match self.value(id) {
            Value::Unknown => None,
            Value::Entry { variable }
            | Value::Def { variable, .. }
            | Value::Phi { variable, .. } => Some(variable),
        }
    }

    /// The number of the carry flag: the one behind all of [`Variables`].
    pub fn carry(&self) -> u32 {
        self.carry
    }

    fn place(&self, stmt: StmtId) -> u32 {
        let place = self.places.get(stmt.index()).copied();
        place.unwrap_or(stmt.as_u32())
    }

    /// What a statement reads, each variable once; a guard too.
    pub fn uses(&self, stmt: StmtId) -> &[Use] {
        let range = row(&self.use_starts, self.place(stmt));
        self.uses
            .get(range.start as usize..range.end as usize)
            .unwrap_or_default()
    }

    /// Every read, in the order of the statements.
    pub fn all_uses(&self) -> &[Use] {
        &self.uses
    }

    /// What the function returns in registers, block for block where it may return, each result that the body mentions.
    pub fn returned(&self) -> &[Returned] {
        &self.returned
    }

    /// The value that a statement sees in a variable that it reads.
    pub fn read(&self, stmt: StmtId, variable: u32) -> Option<ValueId> {
        let mut uses = self.uses(stmt).iter();
        uses.find(|u| u.variable == variable).map(|u| u.value)
    }

    /// The values that a statement makes, one for each variable that it writes or may write.
    pub fn defs(&self, stmt: StmtId) -> impl ExactSizeIterator<Item = ValueId> + Clone + use<> {
        row(&self.def_starts, self.place(stmt)).map(ValueId)
    }

    /// The phis of a block.
    pub fn phis(&self, block: BlockId) -> impl ExactSizeIterator<Item = ValueId> + Clone + '_ {
        self.phis.row(block.as_u32()).iter().map(|&v| ValueId(v))
    }

    /// What each edge brings to a phi, in the order of [`Cfg::into`]; for the entry of the function one more behind
    /// them, what was there at the start. Empty for a value that is no phi.
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
