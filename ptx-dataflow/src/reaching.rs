//! Reaching definitions: the writes whose value a read may see, and the reads that may see a register that was never written.
//!
//! A forward may-analysis over sets of definitions, joined by union: an unconditional write replaces those before it, a
//! conditional one adds to them. Each definition is propagated separately to the blocks where its variable is live, so that
//! the cost is linear in the result instead of definitions times blocks. The result can be quadratic in the size of the
//! function; [`Ssa`](crate::ssa::Ssa) answers most questions in less. Exact for the paths of the graph.

use alloc::vec::Vec;

use ptx_ir::facts::{FunctionFacts, Mentions};
use ptx_ir::{EntityId as _, StmtId};

use crate::cfg::{BlockId, Cfg};
use crate::graph::Csr;
use crate::liveness::Liveness;
use crate::mentions::block_mentions;
use crate::reg_lanes::{VariableId, Variables};

/// A read or a write of a variable.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub struct Site {
    /// The statement.
    pub stmt: StmtId,
    /// The variable.
    pub variable: VariableId,
    /// A write that may leave the old value. Always `false` for a read.
    pub conditional: bool,
}

/// The definitions and reads of a function, and which definitions reach which reads.
///
/// ```
/// use ptx_dataflow::function_dataflow::FunctionDataflow;
/// use ptx_ir::facts::ModuleFacts;
/// let module = ptx_parse::parse(b".version 8.0\n.target sm_80\n.entry k() { .reg .b32 a, b; add.s32 b, a, 1; ret; }").module;
/// let facts = ModuleFacts::new(&module);
/// let function = FunctionDataflow::new(facts.function(module.function("k").unwrap()).unwrap());
/// let reaching = function.reaching();
/// let (read, _) = reaching.uses().next().unwrap();
/// assert!(reaching.may_be_uninitialized(read) && reaching.defs_of(read).is_empty());
/// ```
#[derive(Clone, Debug)]
pub struct Reaching {
    defs: Vec<Site>,
    uses: Vec<Site>,
    defs_of_use: Csr<DefId>,
    uses_of_def: Csr<UseId>,
    uses_of_statement: Csr<UseId>,
    uninitialized: Vec<bool>,
}

crate::ids::ids! {
    /// A write, by its position in [`Reaching::defs`].
    DefId;
    /// A read, by its position in [`Reaching::uses`].
    UseId;
}

/// The number of a definition that denotes the value of a variable where the function begins.
const START: u32 = u32::MAX;

impl Reaching {
    /// Propagates every definition.
    pub(crate) fn new(
        facts: FunctionFacts<'_>,
        cfg: &Cfg,
        variables: &Variables,
        liveness: &Liveness,
    ) -> Self {
        crate::builds::record("reaching definitions", facts);
        let mut local = Local::new(facts, cfg, variables);
        let arriving = arriving(cfg, liveness, &local.leaving);
        local.resolve(facts, cfg, &arriving);
        let Local {
            defs,
            uses,
            links,
            uninitialized,
            ..
        } = local;
        let defs_of_use = Csr::new(
            uses.len(),
            links.iter().map(|link| (link.read, DefId(link.def))),
        );
        let uses_of_def = Csr::new(
            defs.len(),
            links.iter().map(|link| (link.def, UseId(link.read))),
        );
        let uses_of_statement = Csr::new(
            facts.body().statement_table().len(),
            uses.iter()
                .zip(0..)
                .map(|(site, number)| (site.stmt.as_u32(), UseId(number))),
        );
        Self {
            defs,
            uses,
            defs_of_use,
            uses_of_def,
            uses_of_statement,
            uninitialized,
        }
    }

    /// All writes, in the order of the statements.
    #[must_use]
    pub fn defs(&self) -> impl ExactSizeIterator<Item = (DefId, &Site)> + Clone {
        self.defs
            .iter()
            .enumerate()
            .map(|(index, site)| (DefId::from_index(index), site))
    }

    /// All reads, in the order of the statements.
    #[must_use]
    pub fn uses(&self) -> impl ExactSizeIterator<Item = (UseId, &Site)> + Clone {
        self.uses
            .iter()
            .enumerate()
            .map(|(index, site)| (UseId::from_index(index), site))
    }

    /// The read of a variable by a statement.
    #[must_use]
    pub fn read(&self, stmt: StmtId, variable: VariableId) -> Option<UseId> {
        self.uses_of_statement
            .row(stmt.as_u32())
            .iter()
            .copied()
            .find(|read| {
                let site = self.uses.get(read.index());
                site.is_some_and(|site| site.variable == variable)
            })
    }

    /// The writes whose value a read may see.
    #[must_use]
    pub fn defs_of(&self, read: UseId) -> &[DefId] {
        self.defs_of_use.row(read.0)
    }

    /// The reads that may see the value of a write.
    #[must_use]
    pub fn uses_of(&self, def: DefId) -> &[UseId] {
        self.uses_of_def.row(def.0)
    }

    /// Returns whether a read may see the value that the register had where the function begins.
    #[must_use]
    pub fn may_be_uninitialized(&self, read: UseId) -> bool {
        self.uninitialized.get(read.index()) == Some(&true)
    }
}

/// A definition that reaches the start of a block, in the order of blocks, variables and definitions.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Arriving {
    block: u32,
    variable: VariableId,
    /// The number of the definition, or [`START`].
    def: u32,
}

/// Propagates the definitions that leave their blocks. The result is sorted.
fn arriving(cfg: &Cfg, liveness: &Liveness, leaving: &[Leaving]) -> Vec<Arriving> {
    // The blocks that write a variable unconditionally, with the variable, sorted.
    let mut killed: Vec<(u32, VariableId)> = leaving
        .iter()
        .filter(|l| l.def.is_none())
        .map(|l| (l.block, l.variable))
        .collect();
    killed.sort_unstable();
    let mut propagation = Propagation {
        cfg,
        liveness,
        killed,
        last_round: vec![0; cfg.len()],
        round: 0,
        worklist: Vec::new(),
        arriving: Vec::new(),
    };
    for variable in liveness.live_in(Cfg::ENTRY).iter() {
        propagation.worklist.push(Cfg::ENTRY);
        propagation.run(START, variable);
    }
    for leaving in leaving {
        if let Some(def) = leaving.def {
            let successors = cfg.successors(BlockId::new(leaving.block));
            propagation.worklist.extend(successors);
            propagation.run(def, leaving.variable);
        }
    }
    propagation.arriving.sort_unstable();
    propagation.arriving
}

/// Propagates one definition after the other along the edges.
struct Propagation<'a> {
    cfg: &'a Cfg,
    liveness: &'a Liveness,
    /// The blocks that write a variable unconditionally, with the variable, sorted.
    killed: Vec<(u32, VariableId)>,
    /// The last round that reached each block. A round propagates one definition.
    last_round: Vec<u32>,
    round: u32,
    worklist: Vec<BlockId>,
    arriving: Vec<Arriving>,
}

impl Propagation<'_> {
    /// Propagates a definition from the starts of the blocks in the worklist.
    fn run(&mut self, def: u32, variable: VariableId) {
        self.round += 1;
        while let Some(block) = self.worklist.pop() {
            let Some(last_round) = self.last_round.get_mut(block.index()) else {
                continue;
            };
            if *last_round == self.round || !self.liveness.live_in(block).contains(variable) {
                continue;
            }
            *last_round = self.round;
            let number = block.as_u32();
            self.arriving.push(Arriving {
                block: number,
                variable,
                def,
            });
            if self.killed.binary_search(&(number, variable)).is_err() {
                self.worklist.extend(self.cfg.successors(block));
            }
        }
    }
}

/// A definition at the end of its block.
struct Leaving {
    block: u32,
    variable: VariableId,
    /// The number of the definition. `None` means that the block writes the variable unconditionally; there is one such entry for each variable, besides
    /// those of its definitions.
    def: Option<u32>,
}

/// A definition that reaches a read, by their numbers.
#[derive(Copy, Clone)]
struct Link {
    read: u32,
    def: u32,
}

/// The definitions of a variable at a position.
#[derive(Clone, Default)]
struct Current {
    /// The block of the position, counted from one; 0 before the first block.
    block: u32,
    defs: Vec<u32>,
}

/// The definitions and reads of the blocks.
struct Local<'a> {
    variables: &'a Variables,
    defs: Vec<Site>,
    uses: Vec<Site>,
    leaving: Vec<Leaving>,
    links: Vec<Link>,
    uninitialized: Vec<bool>,
    /// The current definitions by variable.
    current: Vec<Current>,
}

impl<'a> Local<'a> {
    /// Finds the definitions that leave each block.
    fn new(facts: FunctionFacts<'_>, cfg: &Cfg, variables: &'a Variables) -> Self {
        let mut local = Self {
            variables,
            defs: Vec::new(),
            uses: Vec::new(),
            leaving: Vec::new(),
            links: Vec::new(),
            uninitialized: Vec::new(),
            current: vec![Current::default(); variables.len()],
        };
        // The variables that the block writes, each with whether it does so unconditionally.
        let mut written: Vec<(VariableId, bool)> = Vec::new();
        for (id, block) in cfg.blocks() {
            written.clear();
            for (stmt, mentions) in block_mentions(facts, block) {
                local.add_writes(id, stmt, &mentions, &mut written);
            }
            written.sort_unstable();
            written.dedup();
            for &(variable, is_unconditional) in &written {
                local.leave(id, variable, is_unconditional);
            }
        }
        local
    }

    /// Adds the writes of a statement.
    fn add_writes(
        &mut self,
        block: BlockId,
        stmt: StmtId,
        mentions: &Mentions<'_>,
        written: &mut Vec<(VariableId, bool)>,
    ) {
        let first_def = self.defs.len();
        let writes = mentions
            .clone()
            .filter(|m| m.usage.writes() || m.usage.may_write());
        for mention in writes {
            let conditional = !mention.usage.writes();
            for variable in self.variables.of(mention.place) {
                let site = Site {
                    stmt,
                    variable,
                    conditional,
                };
                // A register that is listed twice among the results is written once.
                if self.defs.iter().skip(first_def).any(|def| *def == site) {
                    continue;
                }
                let def = self.defs.len() as u32;
                self.defs.push(site);
                let Some(current) = self.current.get_mut(variable.index()) else {
                    continue;
                };
                if current.block != block.as_u32() + 1 {
                    current.block = block.as_u32() + 1;
                    current.defs.clear();
                    written.push((variable, false));
                }
                if !conditional {
                    current.defs.clear();
                    written.push((variable, true));
                }
                current.defs.push(def);
            }
        }
    }

    /// Adds the definitions of a variable at the end of a block.
    fn leave(&mut self, block: BlockId, variable: VariableId, is_unconditional: bool) {
        let leaving = |def| Leaving {
            block: block.as_u32(),
            variable,
            def,
        };
        if is_unconditional {
            self.leaving.push(leaving(None));
        } else if let Some(current) = self.current.get(variable.index()) {
            self.leaving
                .extend(current.defs.iter().map(|&def| leaving(Some(def))));
        }
    }

    /// Links each read with the definitions that reach it.
    fn resolve(&mut self, facts: FunctionFacts<'_>, cfg: &Cfg, arriving: &[Arriving]) {
        for current in &mut self.current {
            current.block = 0;
        }
        let mut next_def = 0;
        for (id, block) in cfg.blocks() {
            for (stmt, mentions) in block_mentions(facts, block) {
                self.add_reads(id, stmt, &mentions, arriving);
                while let Some(site) = self.defs.get(next_def).filter(|d| d.stmt == stmt).copied() {
                    self.apply_write(id, site, next_def as u32, arriving);
                    next_def += 1;
                }
            }
        }
    }

    /// Adds the reads of a statement.
    fn add_reads(
        &mut self,
        block: BlockId,
        stmt: StmtId,
        mentions: &Mentions<'_>,
        arriving: &[Arriving],
    ) {
        let first_use = self.uses.len();
        for mention in mentions.clone().filter(|m| m.usage.reads()) {
            for variable in self.variables.of(mention.place) {
                let site = Site {
                    stmt,
                    variable,
                    conditional: false,
                };
                if self.uses.iter().skip(first_use).any(|read| *read == site) {
                    continue;
                }
                let read = self.uses.len() as u32;
                self.uses.push(site);
                let defs = current_defs(&mut self.current, block, variable, arriving);
                self.uninitialized.push(defs.contains(&START));
                self.links.extend(
                    defs.iter()
                        .filter(|&&def| def != START)
                        .map(|&def| Link { read, def }),
                );
            }
        }
    }

    /// Changes the current definitions by a write.
    fn apply_write(&mut self, block: BlockId, site: Site, def: u32, arriving: &[Arriving]) {
        let defs = current_defs(&mut self.current, block, site.variable, arriving);
        if !site.conditional {
            defs.clear();
            defs.push(def);
            return;
        }
        // Around a loop, a definition may arrive at its own block: then it is already among the current ones, at the position where it arrived.
        let arrival = |def| Arriving {
            block: block.as_u32(),
            variable: site.variable,
            def,
        };
        let first = arriving.partition_point(|a| *a < arrival(0));
        let is_current = arriving
            .binary_search(&arrival(def))
            .is_ok_and(|index| defs.get(index - first) == Some(&def));
        if !is_current {
            defs.push(def);
        }
    }
}

/// The current definitions of a variable in a block: at first, those that arrive.
fn current_defs<'n>(
    current: &'n mut Vec<Current>,
    block: BlockId,
    variable: VariableId,
    arriving: &[Arriving],
) -> &'n mut Vec<u32> {
    let index = variable.index();
    if index >= current.len() {
        current.resize(index + 1, Current::default());
    }
    let current = &mut current[index];
    let number = block.as_u32();
    if current.block != number + 1 {
        current.block = number + 1;
        current.defs.clear();
        let first = arriving.partition_point(|a| (a.block, a.variable) < (number, variable));
        let arriving = arriving.get(first..).unwrap_or_default();
        current.defs.extend(
            arriving
                .iter()
                .take_while(|a| (a.block, a.variable) == (number, variable))
                .map(|a| a.def),
        );
    }
    &mut current.defs
}
