//! Live registers: those whose value may be read later.
//!
//! A backward may-analysis over sets of registers, joined by union. A guarded write does not end the life of a value. The
//! registers that hold the results of a function are read by its caller: they are live where it returns, though not
//! where its thread ends. Unreachable blocks are analyzed like any other. Exact for the paths of the graph.
//!
//! The sets of neighboring blocks share equal parts, so that `v` registers that are live through `b` blocks
//! take `O(v + b)` memory instead of `O(v * b)`. Listing all of them still takes `O(v * b)` time.

use alloc::vec::Vec;

use ptx_ir::facts::{FunctionFacts, RegisterComponent};
use ptx_ir::{Statement, StmtId};

use crate::block_summary::Summary;
use crate::cfg::{BlockId, Cfg};
use crate::function_dataflow::FunctionDataflow;
use crate::live_sets::{Effects, LiveSets};
use crate::mentions::mentions;
use crate::reg_lanes::{VariableId, VariableSet, Variables};
use crate::shared_sets::{Counts, SetId, SharedSets};

/// The variables that are live at the start and at the end of each block.
///
/// ```
/// use ptx_dataflow::function_dataflow::FunctionDataflow;
/// use ptx_ir::facts::ModuleFacts;
/// let module = ptx_parse::parse(b".version 8.0\n.target sm_80\n.entry k() { .reg .b32 a; mov.b32 a, 1; bra L; L: neg.s32 a, a; ret; }").module;
/// let facts = ModuleFacts::new(&module);
/// let function = FunctionDataflow::new(facts.function(module.function("k").unwrap()).unwrap());
/// let blocks: Vec<_> = function.cfg().blocks().map(|(id, _)| id).collect();
/// let liveness = function.liveness();
/// assert_eq!(liveness.live_in(blocks[0]).iter().count(), 0);
/// assert_eq!(liveness.live_out(blocks[0]).iter().count(), 1);
/// ```
#[derive(Clone, Debug)]
pub struct Liveness {
    sets: LiveSets,
}

impl Liveness {
    /// Solves the dataflow equations of a function.
    pub(crate) fn new(
        facts: FunctionFacts<'_>,
        cfg: &Cfg,
        variables: &Variables,
        summary: &Summary,
    ) -> Self {
        crate::builds::record("liveness", facts);
        let effects = Effects {
            uses: &summary.uses,
            kills: &summary.kills,
            at_end: &summary.returned,
            bound: variables.len() as u32,
        };
        Self {
            sets: LiveSets::new(cfg, &effects),
        }
    }

    /// The variables that are live before the first instruction of a block.
    #[must_use]
    pub fn live_in(&self, block: BlockId) -> LiveSet<'_> {
        self.set(self.sets.live_in(block.as_u32()))
    }

    /// The variables that are live after the last instruction of a block.
    #[must_use]
    pub fn live_out(&self, block: BlockId) -> LiveSet<'_> {
        self.set(self.sets.live_out(block.as_u32()))
    }

    /// The total length of [`Liveness::live_in`] and [`Liveness::live_out`] of all blocks. Does not list them.
    #[doc(hidden)]
    #[must_use]
    pub fn total(&self) -> u64 {
        let mut counts = Counts::<1>::new(&self.sets.sets, &[]);
        self.sets
            .all()
            .map(|set| u64::from(counts.of(set)[0]))
            .sum()
    }

    /// The numbers of live variables by class, for any of the sets.
    pub(crate) fn counts<'a, const N: usize>(&'a self, classes: &'a [u8]) -> Counts<'a, N> {
        Counts::new(&self.sets.sets, classes)
    }

    fn set(&self, set: SetId) -> LiveSet<'_> {
        LiveSet {
            sets: &self.sets.sets,
            set,
        }
    }
}

/// A set of live variables.
#[derive(Copy, Clone, Debug)]
pub struct LiveSet<'a> {
    sets: &'a SharedSets,
    pub(crate) set: SetId,
}

impl<'a> LiveSet<'a> {
    /// Returns whether a variable is live. Logarithmic in the number of variables.
    #[must_use]
    pub fn contains(&self, variable: VariableId) -> bool {
        self.sets.contains(self.set, variable.as_u32())
    }

    /// The live variables, ascending.
    pub fn iter(&self) -> impl Iterator<Item = VariableId> + Clone + use<'a> {
        self.sets.iter(self.set).map(VariableId::new)
    }

    /// Returns whether no variable is live.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.set == SetId::EMPTY
    }

    /// The number of live variables. Linear; see [`Liveness::total`] for a sum over all blocks.
    #[must_use]
    pub fn count(&self) -> usize {
        self.iter().count()
    }
}

/// The live variables at a position between two instructions of a block. It starts at the end of the block and moves to its start.
///
/// Cost: that of listing the live variables at the end of the block, and for each step `O(log v)` for each register that the instruction names.
///
/// ```
/// use ptx_dataflow::function_dataflow::FunctionDataflow;
/// use ptx_dataflow::liveness::LiveCursor;
/// use ptx_ir::facts::ModuleFacts;
/// let module = ptx_parse::parse(b".version 8.0\n.target sm_80\n.entry k() { .reg .b32 a, b; mov.b32 a, 1; add.s32 b, a, a; ret; }").module;
/// let facts = ModuleFacts::new(&module);
/// let function = FunctionDataflow::new(facts.function(module.function("k").unwrap()).unwrap());
/// let (block, _) = function.cfg().blocks().next().unwrap();
/// let mut cursor = LiveCursor::at_end(&function, block);
/// let mut counts = Vec::new();
/// while cursor.previous().is_some() {
///     counts.push(cursor.live().count());
/// }
/// // Before `ret`, `add` and `mov`.
/// assert_eq!(counts, [0, 1, 0]);
/// ```
#[derive(Debug)]
pub struct LiveCursor<'a> {
    function: &'a FunctionDataflow<'a>,
    live: VariableSet,
    /// The instructions before the position, in the order of the text.
    before: Vec<(StmtId, Statement)>,
}

impl<'a> LiveCursor<'a> {
    /// The position after the last instruction of a block.
    #[must_use]
    pub fn at_end(function: &'a FunctionDataflow<'_>, block: BlockId) -> Self {
        let statements = match function.cfg().block(block) {
            Some(block) => function
                .body()
                .range(block.first, block.end)
                .filter(|(_, s)| matches!(s, Statement::Inst(_) | Statement::Opaque(_)))
                .collect(),
            None => Vec::new(),
        };
        Self {
            function,
            live: function.liveness().live_out(block).iter().collect(),
            before: statements,
        }
    }

    /// The position after an instruction, or a statement that was not recognized; `None` for other statements.
    #[must_use]
    pub fn after(function: &'a FunctionDataflow<'_>, stmt: StmtId) -> Option<Self> {
        let mut cursor = Self::at_end(function, function.cfg().of_statement(stmt)?);
        while cursor.before.last()?.0 != stmt {
            cursor.previous();
        }
        Some(cursor)
    }

    /// The variables that are live at the position.
    #[must_use]
    pub const fn live(&self) -> &VariableSet {
        &self.live
    }

    /// Returns whether a register, or an element of a vector register, is live at the position; of a whole vector register, whether any element is.
    #[must_use]
    pub fn is_live(&self, place: RegisterComponent) -> bool {
        self.function
            .variables()
            .of(place)
            .any(|variable| self.live.contains(variable))
    }

    /// Moves before the previous instruction, or statement that was not recognized, and returns it; `None` at the start of the block.
    pub fn previous(&mut self) -> Option<StmtId> {
        let (stmt, statement) = self.before.pop()?;
        let Some(mentions) = mentions(self.function.facts(), statement) else {
            return Some(stmt);
        };
        let variables = self.function.variables();
        for mention in mentions.clone().filter(|m| m.usage.writes()) {
            for variable in variables.of(mention.place) {
                self.live.remove(variable);
            }
        }
        for mention in mentions.filter(|m| m.usage.reads()) {
            for variable in variables.of(mention.place) {
                self.live.insert(variable);
            }
        }
        Some(stmt)
    }
}
