//! Dataflow problems whose effects are defined for single instructions and their facts.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use ptx_ir::facts::{Facts, FunctionFacts};
use ptx_ir::{InstId, Statement, StmtId};

use super::{Analysis, Direction, Incomplete, JoinSemiLattice, Solution, solve};
use crate::cfg::BlockId;
use crate::function_dataflow::FunctionDataflow;

/// A dataflow problem over the instructions of a function. Effects must be monotone.
///
/// ```
/// use ptx_dataflow::dataflow::{Direction, InstAnalysis, MapLattice, solve_insts};
/// use ptx_dataflow::function_dataflow::FunctionDataflow;
/// use ptx_ir::StmtId;
/// use ptx_ir::facts::{Facts, ModuleFacts, RegisterComponent};
///
/// /// The last statement that wrote each register, if it is the same on all paths.
/// struct LastWrites;
///
/// impl InstAnalysis for LastWrites {
///     type Domain = MapLattice<RegisterComponent, StmtId>;
///     const DIRECTION: Direction = Direction::Forward;
///
///     fn bottom(&self) -> Self::Domain { MapLattice::new() }
///     fn inst(&self, facts: Facts<'_>, stmt: StmtId, state: &mut Self::Domain) {
///         for place in facts.writes() {
///             state.set(place, stmt);
///         }
///     }
/// }
///
/// let text = b".version 8.0\n.target sm_80\n.entry k() { .reg .b32 a, b; .reg .pred p;\n\
///     mov.b32 a, 1; mov.b32 b, 2; @p bra L; mov.b32 a, 3; L: add.s32 a, a, b; ret; }";
/// let module = ptx_parse::parse(text).module;
/// let facts = ModuleFacts::new(&module);
/// let function = FunctionDataflow::new(facts.function(module.function("k").unwrap()).unwrap());
/// let solution = solve_insts(&function, &LastWrites, u64::MAX)?;
/// let mut known = Vec::new();
/// solution.visit(&function, &LastWrites, |_, before, _| known.push(before.iter().count()));
/// // Before `add`, `a` was written by one of two statements.
/// assert_eq!(known, [0, 1, 2, 2, 1, 2]);
/// # Ok::<(), ptx_dataflow::dataflow::Incomplete>(())
/// ```
pub trait InstAnalysis {
    /// The facts.
    type Domain: JoinSemiLattice;
    /// The direction in which they flow.
    const DIRECTION: Direction;

    /// The least fact.
    fn bottom(&self) -> Self::Domain;

    /// The fact where control enters the function; backward, where control leaves it. The default is [`bottom`](Self::bottom).
    fn boundary(&self) -> Self::Domain {
        self.bottom()
    }

    /// Applies an instruction to the state, in the direction of the analysis.
    fn inst(&self, facts: Facts<'_>, stmt: StmtId, state: &mut Self::Domain);

    /// Applies a statement that was not recognized, which may do anything. The default replaces the state by the [`boundary`](Self::boundary).
    fn unrecognized(&self, stmt: StmtId, state: &mut Self::Domain) {
        let _ = stmt;
        *state = self.boundary();
    }
}

/// The solution of an [`InstAnalysis`].
#[derive(Clone, Debug)]
pub struct InstSolution<D> {
    blocks: Solution<D, BlockId>,
}

/// Solves an analysis over the blocks of a function, visiting at most `budget` blocks.
///
/// # Errors
///
/// As [`solve`].
pub fn solve_insts<A: InstAnalysis>(
    function: &FunctionDataflow<'_>,
    analysis: &A,
    budget: u64,
) -> Result<InstSolution<A::Domain>, Incomplete> {
    let by_block = ByBlock::new(function, analysis);
    let blocks = solve(function.cfg(), &by_block, budget)?;
    Ok(InstSolution { blocks })
}

impl<D: JoinSemiLattice> InstSolution<D> {
    /// Calls `visit` with each reached statement that is an instruction or was not recognized, and the states before and after it as control goes. The
    /// blocks are in the order of the text; in each, the statements are in the direction of the analysis. `analysis` is the one that was solved.
    pub fn visit<A: InstAnalysis<Domain = D>>(
        &self,
        function: &FunctionDataflow<'_>,
        analysis: &A,
        mut visit: impl FnMut(StmtId, &D, &D),
    ) {
        let by_block = ByBlock::new(function, analysis);
        for (block, _) in function.cfg().blocks() {
            let Some(state) = self.blocks.state(block) else {
                continue;
            };
            let mut state = state.clone();
            for (stmt, inst) in by_block.statements(block) {
                let entered = state.clone();
                by_block.apply(stmt, inst, &mut state);
                match A::DIRECTION {
                    Direction::Forward => visit(stmt, &entered, &state),
                    Direction::Backward => visit(stmt, &state, &entered),
                }
            }
        }
    }

    /// The states at the boundaries of blocks.
    #[must_use]
    pub const fn blocks(&self) -> &Solution<D, BlockId> {
        &self.blocks
    }
}

/// An [`InstAnalysis`] as an [`Analysis`] of blocks.
struct ByBlock<'a, A> {
    facts: FunctionFacts<'a>,
    analysis: &'a A,
    /// For each block the statements that have an effect, in the order of the text, with their instructions. The instruction is `None` for a statement that
    /// was not recognized.
    blocks: Vec<Vec<(StmtId, Option<InstId>)>>,
}

impl<'a, A: InstAnalysis> ByBlock<'a, A> {
    fn new(function: &'a FunctionDataflow<'_>, analysis: &'a A) -> Self {
        let mut blocks = Vec::with_capacity(function.cfg().len());
        for (_, block) in function.cfg().blocks() {
            let mut statements = Vec::new();
            for (stmt, statement) in function.body().range(block.first, block.end) {
                match statement {
                    Statement::Inst(inst) => statements.push((stmt, Some(inst))),
                    Statement::Opaque(_) => statements.push((stmt, None)),
                    _ => {}
                }
            }
            blocks.push(statements);
        }
        Self {
            facts: function.facts(),
            analysis,
            blocks,
        }
    }

    fn of_block(&self, block: BlockId) -> &[(StmtId, Option<InstId>)] {
        self.blocks
            .get(block.as_u32() as usize)
            .map_or(&[], Vec::as_slice)
    }

    /// The statements of a block in the direction of the analysis.
    fn statements(&self, block: BlockId) -> impl Iterator<Item = (StmtId, Option<InstId>)> + '_ {
        let statements = self.of_block(block);
        let count = statements.len();
        (0..count).map(move |index| match A::DIRECTION {
            Direction::Forward => statements[index],
            Direction::Backward => statements[count - 1 - index],
        })
    }

    fn apply(&self, stmt: StmtId, inst: Option<InstId>, state: &mut A::Domain) {
        match inst {
            Some(inst) => self.analysis.inst(self.facts.inst(inst), stmt, state),
            None => self.analysis.unrecognized(stmt, state),
        }
    }
}

impl<A: InstAnalysis> Analysis for ByBlock<'_, A> {
    type Node = BlockId;
    type Domain = A::Domain;
    const DIRECTION: Direction = A::DIRECTION;

    fn bottom(&self) -> A::Domain {
        self.analysis.bottom()
    }

    fn boundary(&self) -> A::Domain {
        self.analysis.boundary()
    }

    fn len(&self, block: BlockId) -> u32 {
        self.of_block(block).len() as u32
    }

    fn effect(&self, block: BlockId, index: u32, state: &mut A::Domain) {
        if let Some(&(stmt, inst)) = self.of_block(block).get(index as usize) {
            self.apply(stmt, inst, state);
        }
    }
}

/// A lattice of maps: a key has a value if it has the same value on all paths. Two maps are joined by removing the keys whose values differ.
///
/// It has no least element: it is for forward analyses, in which a block has no state before a path reaches it.
///
/// ```text
///   { a: 1, b: 2 }   { a: 1, b: 3 }        one map for each path
///               \     /
///             { a: 1 }                      where they meet
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MapLattice<K, V> {
    entries: BTreeMap<K, V>,
}

impl<K: Ord, V> Default for MapLattice<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: Ord, V> MapLattice<K, V> {
    /// The empty map.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            entries: BTreeMap::new(),
        }
    }

    /// The value of a key.
    #[must_use]
    pub fn get(&self, key: &K) -> Option<&V> {
        self.entries.get(key)
    }

    /// Sets the value of a key.
    pub fn set(&mut self, key: K, value: V) {
        self.entries.insert(key, value);
    }

    /// Removes a key.
    pub fn forget(&mut self, key: &K) {
        self.entries.remove(key);
    }

    /// Removes the keys for which `keep` returns `false`.
    pub fn retain(&mut self, mut keep: impl FnMut(&K, &V) -> bool) {
        self.entries.retain(|key, value| keep(key, value));
    }

    /// The keys with their values, ascending.
    pub fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.entries.iter()
    }
}

impl<K: Ord + Clone, V: PartialEq + Clone> JoinSemiLattice for MapLattice<K, V> {
    fn join(&mut self, other: &Self) -> bool {
        let old_len = self.entries.len();
        self.entries
            .retain(|key, value| other.entries.get(key) == Some(value));
        self.entries.len() != old_len
    }
}
