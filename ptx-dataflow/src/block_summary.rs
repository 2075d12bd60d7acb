//! The variables that each block reads before it writes them, writes, and returns.

use alloc::vec::Vec;

use ptx_ir::EntityId as _;
use ptx_ir::facts::{FunctionFacts, Mentions, RegAccess};

use crate::cfg::{BlockId, Cfg};
use crate::graph::Csr;
use crate::mentions::block_mentions;
use crate::reg_lanes::{VariableId, Variables};

/// The uses, kills and definitions of each block, as lists of variables. Computed in one pass over the instructions.
#[derive(Clone, Debug)]
pub struct Summary {
    pub(crate) uses: Csr<VariableId>,
    pub(crate) kills: Csr<VariableId>,
    defs: Csr<VariableId>,
    pub(crate) returned: Csr<VariableId>,
}

impl Summary {
    /// Summarizes the blocks of a function.
    pub(crate) fn new(facts: FunctionFacts<'_>, cfg: &Cfg, variables: &Variables) -> Self {
        crate::builds::record("block summary", facts);
        let mut pass = Pass {
            variables,
            marks: vec![0; variables.len()],
            uses: Vec::new(),
            kills: Vec::new(),
            defs: Vec::new(),
        };
        let mut results: Vec<VariableId> = Vec::new();
        for register in facts.results() {
            results.extend(variables.of(register.into()));
        }
        let mut returned = Vec::new();
        for (id, block) in cfg.blocks() {
            let number = id.as_u32();
            if block.returns {
                returned.extend(results.iter().map(|&variable| (number, variable)));
            }
            for (_, mentions) in block_mentions(facts, block) {
                pass.add(number, &mentions);
            }
        }
        let by_block = |pairs: &[(u32, VariableId)]| Csr::new(cfg.len(), pairs.iter().copied());
        Self {
            uses: by_block(&pass.uses),
            kills: by_block(&pass.kills),
            defs: by_block(&pass.defs),
            returned: by_block(&returned),
        }
    }

    /// The variables that a block reads before any unconditional write in the block.
    #[must_use]
    pub fn uses(&self, block: BlockId) -> &[VariableId] {
        self.uses.row(block.as_u32())
    }

    /// The variables that a block writes unconditionally.
    #[must_use]
    pub fn kills(&self, block: BlockId) -> &[VariableId] {
        self.kills.row(block.as_u32())
    }

    /// The variables that a block writes, conditionally or not.
    #[must_use]
    pub fn defs(&self, block: BlockId) -> &[VariableId] {
        self.defs.row(block.as_u32())
    }

    /// The variables that hold the results of the function, if a block returns: the caller reads them.
    #[must_use]
    pub fn returned(&self, block: BlockId) -> &[VariableId] {
        self.returned.row(block.as_u32())
    }
}

/// The marks of a variable in a block.
const USED: u32 = 1;
const KILLED: u32 = 2;
const DEFINED: u32 = 4;

struct Pass<'a> {
    variables: &'a Variables,
    /// For each variable its marks in the last block that mentions it, and in the bits above them the number of the block plus 1.
    marks: Vec<u64>,
    uses: Vec<(u32, VariableId)>,
    kills: Vec<(u32, VariableId)>,
    defs: Vec<(u32, VariableId)>,
}

impl Pass<'_> {
    /// Adds the registers that a statement mentions.
    #[inline]
    fn add(&mut self, block: u32, mentions: &Mentions<'_>) {
        // All reads come before all writes.
        let mut writes = false;
        for mention in mentions.clone() {
            writes |= !matches!(mention.usage, RegAccess::Read);
            if mention.usage.reads() {
                for variable in self.variables.of(mention.place) {
                    let marks = self.marks(block, variable);
                    if marks & (USED | KILLED) == 0 {
                        self.mark(block, variable, USED);
                        self.uses.push((block, variable));
                    }
                }
            }
        }
        if !writes {
            return;
        }
        for mention in mentions.clone() {
            let (always, sometimes) = (mention.usage.writes(), mention.usage.may_write());
            if !always && !sometimes {
                continue;
            }
            for variable in self.variables.of(mention.place) {
                let marks = self.marks(block, variable);
                if always && marks & KILLED == 0 {
                    self.mark(block, variable, KILLED);
                    self.kills.push((block, variable));
                }
                if marks & DEFINED == 0 {
                    self.mark(block, variable, DEFINED);
                    self.defs.push((block, variable));
                }
            }
        }
    }

    #[inline]
    fn marks(&self, block: u32, variable: VariableId) -> u32 {
        match self.marks.get(variable.index()) {
            Some(&entry) if entry >> 3 == u64::from(block) + 1 => (entry & 7) as u32,
            _ => 0,
        }
    }

    #[inline]
    fn mark(&mut self, block: u32, variable: VariableId, mark: u32) {
        let marks = self.marks(block, variable) | mark;
        if let Some(entry) = self.marks.get_mut(variable.index()) {
            *entry = (u64::from(block) + 1) << 3 | u64::from(marks);
        }
    }
}
