//! Which definitions reach which reads, and which reads may see a register that was never written.
//!
//! A forward may-analysis over sets of definitions, joined by union: an unconditional write replaces those before it, a
//! conditional one adds to them. Each definition is followed on its own to the blocks where its variable is live, so that
//! the cost is that of the result instead of definitions times blocks. The result can be quadratic in the size of the
//! function; [`Ssa`](crate::ssa::Ssa) answers most questions in less. Exact for the paths of the graph.

use alloc::vec::Vec;

use ptx_ir::facts::{FunctionFacts, Mentions};
use ptx_ir::{EntityId as _, Statement, StmtId};

use crate::cfg::{BlockId, Cfg};
use crate::graph::Csr;
use crate::liveness::Liveness;
use crate::reg_lanes::{VariableId, Variables};

/// A read or a write of a variable.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub struct Site {
    /// The statement.
    pub stmt: StmtId,
    /// The variable.
    pub variable: VariableId,
    /// Of a write: whether the old value may remain.
    pub conditional: bool,
}

/// Definitions, reads, and what connects them.
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

/// The value at the start of the function, in the lists of a block.
const START: u32 = u32::MAX;

impl Reaching {
    /// Follows every definition.
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
        let forth = links.iter().map(|&(u, d)| (u, DefId(d)));
        let defs_of_use = Csr::new(uses.len(), forth);
        let back = links.iter().map(|&(u, d)| (d, UseId(u)));
        let uses_of_def = Csr::new(defs.len(), back);
        let statements = uses
            .iter()
            .zip(0..)
            .map(|(u, id)| (u.stmt.as_u32(), UseId(id)));
        Self {
            uses_of_statement: Csr::new(facts.body().statement_table().len(), statements),
            defs,
            uses,
            defs_of_use,
            uses_of_def,
            uninitialized,
        }
    }

    /// Every write, in the order of the statements.
    #[must_use]
    pub fn defs(&self) -> impl ExactSizeIterator<Item = (DefId, &Site)> + Clone {
        let defs = self.defs.iter().enumerate();
        defs.map(|(i, site)| (DefId(i as u32), site))
    }

    /// Every read, in the order of the statements.
    #[must_use]
    pub fn uses(&self) -> impl ExactSizeIterator<Item = (UseId, &Site)> + Clone {
        let uses = self.uses.iter().enumerate();
        uses.map(|(i, site)| (UseId(i as u32), site))
    }

    /// The read of a variable by a statement.
    #[must_use]
    pub fn read(&self, stmt: StmtId, variable: VariableId) -> Option<UseId> {
        let of = |id: UseId| self.uses.get(id.0 as usize).map(|u| u.variable);
        let mut reads = self.uses_of_statement.row(stmt.as_u32()).iter();
        reads.find(|&&id| of(id) == Some(variable)).copied()
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

    /// Whether a read may see what was there when the function began.
    #[must_use]
    pub fn may_be_uninitialized(&self, read: UseId) -> bool {
        self.uninitialized.get(read.0 as usize) == Some(&true)
    }
}

/// Follows the definitions that leave their blocks: (block, variable, definition), sorted, for each one that arrives.
fn arriving(cfg: &Cfg, liveness: &Liveness, leaving: &[Leaving]) -> Vec<(u32, VariableId, u32)> {
    let live =
        |block: u32, variable: VariableId| liveness.live_in(BlockId::new(block)).contains(variable);
    let entry = Cfg::ENTRY;
    let mut found: Vec<(u32, VariableId, u32)> = Vec::new();
    let mut work: Vec<u32> = Vec::new();
    // Which block writes which variable unconditionally, sorted for searches.
    let mut ended: Vec<(u32, VariableId)> = leaving
        .iter()
        .filter(|l| l.ends)
        .map(|l| (l.block, l.variable))
        .collect();
    ended.sort_unstable();
    let mut seen = vec![0u32; cfg.len()];
    let mut stamp = 0;
    let mut follow = |def: u32, variable: VariableId, start: &mut Vec<u32>| {
        stamp += 1;
        while let Some(block) = start.pop() {
            let Some(mark) = seen.get_mut(block as usize) else {
                continue;
            };
            if *mark == stamp || !live(block, variable) {
                continue;
            }
            *mark = stamp;
            found.push((block, variable, def));
            if ended.binary_search(&(block, variable)).is_err() {
                let next = cfg.successors(BlockId::new(block)).iter();
                start.extend(next.map(|b| b.as_u32()));
            }
        }
    };
    for variable in liveness.live_in(entry) {
        work.push(entry.as_u32());
        follow(START, variable, &mut work);
    }
    for leaving in leaving {
        let Some(def) = leaving.def else { continue };
        let next = cfg.successors(BlockId::new(leaving.block)).iter();
        work.extend(next.map(|b| b.as_u32()));
        follow(def, leaving.variable, &mut work);
    }
    found.sort_unstable();
    found
}

/// A definition at the end of its block.
struct Leaving {
    block: u32,
    variable: VariableId,
    def: Option<u32>,
    /// Whether the block writes the variable unconditionally; set once for each variable.
    ends: bool,
}

struct Local<'a> {
    variables: &'a Variables,
    defs: Vec<Site>,
    uses: Vec<Site>,
    leaving: Vec<Leaving>,
    links: Vec<(u32, u32)>,
    uninitialized: Vec<bool>,
    /// The current definitions of each variable, and the block that they belong to, counted from one.
    now: Vec<(u32, Vec<u32>)>,
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
            now: vec![(0, Vec::new()); variables.len()],
        };
        let mut touched = Vec::new();
        for (id, block) in cfg.blocks() {
            let stamp = id.as_u32() + 1;
            touched.clear();
            each(facts, block.first, block.end, |stmt, mentions| {
                for m in mentions
                    .clone()
                    .filter(|m| m.usage.writes() || m.usage.may_write())
                {
                    for variable in variables.of(m.place) {
                        let def = local.defs.len() as u32;
                        let conditional = !m.usage.writes();
                        let site = Site {
                            stmt,
                            variable,
                            conditional,
                        };
                        // A register that is listed twice among the results is written once.
                        if local.defs.last().is_some_and(|d| d.stmt == stmt)
                            && local
                                .defs
                                .iter()
                                .rev()
                                .take_while(|d| d.stmt == stmt)
                                .any(|d| *d == site)
                        {
                            continue;
                        }
                        local.defs.push(site);
                        let Some((block, now)) = local.now.get_mut(variable.index()) else {
                            continue;
                        };
                        if *block != stamp {
                            *block = stamp;
                            now.clear();
                            touched.push((variable, false));
                        }
                        if !conditional {
                            now.clear();
                            touched.push((variable, true));
                        }
                        now.push(def);
                    }
                }
            });
            touched.sort_unstable();
            touched.dedup();
            for &(variable, ends) in &touched {
                if ends {
                    local.leaving.push(Leaving {
                        block: id.as_u32(),
                        variable,
                        def: None,
                        ends,
                    });
                } else if let Some((_, now)) = local.now.get(variable.index()) {
                    local.leaving.extend(now.iter().map(|&def| Leaving {
                        block: id.as_u32(),
                        variable,
                        def: Some(def),
                        ends: false,
                    }));
                }
            }
        }
        local
    }

    /// Connects every read with what arrives.
    fn resolve(
        &mut self,
        facts: FunctionFacts<'_>,
        cfg: &Cfg,
        arriving: &[(u32, VariableId, u32)],
    ) {
        for (block, _) in &mut self.now {
            *block = 0;
        }
        let variables = self.variables;
        let mut next_def = 0;
        for (id, block) in cfg.blocks() {
            each(facts, block.first, block.end, |stmt, mentions| {
                let first = self.uses.len();
                for m in mentions.clone().filter(|m| m.usage.reads()) {
                    for variable in variables.of(m.place) {
                        let site = Site {
                            stmt,
                            variable,
                            conditional: false,
                        };
                        if self.uses.iter().skip(first).any(|u| *u == site) {
                            continue;
                        }
                        let number = self.uses.len() as u32;
                        self.uses.push(site);
                        let now = current(&mut self.now, id.as_u32(), variable, arriving);
                        self.uninitialized.push(now.contains(&START));
                        let defs = now.iter().filter(|&&d| d != START);
                        self.links.extend(defs.map(|&def| (number, def)));
                    }
                }
                while let Some(site) = self.defs.get(next_def).filter(|d| d.stmt == stmt) {
                    let now = current(&mut self.now, id.as_u32(), site.variable, arriving);
                    let def = next_def as u32;
                    // Around a loop it may reach itself: then it is where it arrived.
                    let key = |d| (id.as_u32(), site.variable, d);
                    let first = arriving.partition_point(|a| *a < key(0));
                    let came = arriving.binary_search(&key(def)).ok().map(|at| at - first);
                    if !site.conditional {
                        now.clear();
                        now.push(def);
                    } else if came.is_none_or(|at| now.get(at) != Some(&def)) {
                        now.push(def);
                    }
                    next_def += 1;
                }
            });
        }
    }
}

/// The current definitions of a variable in a block.
fn current<'n>(
    now: &'n mut Vec<(u32, Vec<u32>)>,
    block: u32,
    variable: VariableId,
    arriving: &[(u32, VariableId, u32)],
) -> &'n mut Vec<u32> {
    let index = variable.index();
    if index >= now.len() {
        now.resize(index + 1, (0, Vec::new()));
    }
    let (stamp, defs) = &mut now[index];
    if *stamp != block + 1 {
        *stamp = block + 1;
        defs.clear();
        let start = arriving.partition_point(|&(b, v, _)| (b, v) < (block, variable));
        let rest = arriving.get(start..).unwrap_or_default().iter();
        let mine = rest.take_while(|&&(b, v, _)| (b, v) == (block, variable));
        defs.extend(mine.map(|&(_, _, def)| def));
    }
    defs
}

/// Calls `with` with the mentions of every statement from `first` to before `end`.
fn each(
    facts: FunctionFacts<'_>,
    first: StmtId,
    end: StmtId,
    mut with: impl FnMut(StmtId, &Mentions<'_>),
) {
    for (stmt, statement) in facts.body().range(first, end) {
        match statement {
            Statement::Inst(inst) => with(stmt, &facts.inst(inst).registers()),
            Statement::Opaque(opaque) => with(stmt, &facts.opaque(opaque)),
            _ => {}
        }
    }
}
