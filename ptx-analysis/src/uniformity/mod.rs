//! Uniformity: the groups of threads in which the registers, predicates, blocks and branches of a function are the same.
//!
//! # Definitions
//!
//! Threads execute the same *instance* of a statement if they execute that statement, entered its function by the same instances of calls, and are in the
//! same iteration of each loop around it, counted from the entry of the loop (for a loop with several entries: by the number of executions of its header). A
//! register is the same in a group of threads if, after each instance of a statement that writes it, all threads of a group that executed this instance hold
//! the same value. Threads that did not execute the instance do not count; threads whose guard did not hold do. The groups are the grid, the clusters, the CTAs
//! and the warps ([`Uniformity`]).
//!
//! A *branch* is the same if all threads of a group that execute the same instance choose the same successor. A *block* is the same if, for each of its
//! instances, either all threads of a group that entered the function together execute it, or none.
//!
//! # Rules
//!
//! Each value starts as the same in the grid and becomes less uniform by its dependences:
//!
//! * **Data**: operands, special registers ([`SpecialReg::uniformity`](ptx_isa::SpecialReg::uniformity), with `.reqntid`), results that are not a function of
//!   the operands ([`Form::result_uniformity`](ptx_isa::Form::result_uniformity)), and for a guarded write also the guard and the old value.
//! * **Index of the thread**: in kernels that require CTAs of whole warps, the analysis follows the bits of integers that differ within a warp and a CTA, and
//!   the lanes of a warp between which values differ: `%tid.x >> 5` is the same in a warp, and so is the result of a reduction by exchanges between lanes.
//! * **Control**: where paths meet that threads take differently, phis differ as the branch does.
//! * **Time**: a value that is defined in a loop and read after it differs as the number of iterations does.
//! * **Memory**: parameters of kernels, constants, textures and read-only loads (`.nc`) are the same where their address is the same. Weak loads from global
//!   memory are the same where their address is the same, if all threads of the CTA met at a barrier, or the grid began, the thread cannot have synchronized with
//!   another one since, and no thread of the CTA can have synchronized with threads of other CTAs before. If threads of the CTA may have synchronized with others,
//!   or each CTA has its own memory, weak loads after such a barrier are the same at most in the CTA; so are loads from shared memory, if no thread of the CTA
//!   can store to it between the barriers around the load. Other weak loads are the same at most in a warp. Atomic operations and ordered loads differ. Local
//!   memory is followed like registers as long as no other function gets its address; otherwise it differs.
//! * **Calls**: arguments and results follow direct calls, through registers and each word of variables in `.param`, and recursion up to a fixed point. Nothing
//!   is assumed about arguments of functions that other modules may call or whose address is taken, and about calls through addresses.
//!
//! # Assumptions
//!
//! The analysis assumes that programs have no data race, as compilers do: of two accesses of different threads to the same memory of which one writes, and which
//! are not both strong with a scope that includes both threads, one happens before the other. The PTX ISA manual gives no meaning to programs with such a race.
//! A program in which threads wait for a flag with volatile loads and without a fence has one.
//!
//! For weak loads from memory that other threads may write, for special registers that change, and for exchanges between the lanes of a warp, the analysis
//! assumes that the lanes of a warp that separate at a branch meet again at its immediate post-dominator, and that lanes which take the same path in between
//! stay together. Code of ptxas waits there; `ptx-vm` does the same for lanes that are apart for at most 1024 steps. The PTX ISA manual does not promise it.
//! Blocks where paths meet before that, such as the targets of `break` in a loop that lanes leave at different times, do not count as executed together.
//! Undefined values are not considered, such as the value of a lane that does not take part in an exchange, or the content of a variable in local memory before
//! the first store.
//!
//! Cost: linear in the values, their reads, the edges and the frontiers of branches. A function is analyzed again when the arguments or results of its calls
//! change; after eight times, nothing is assumed about these. A function without an SSA form has varying values only.

mod barriers;
mod blocks;
mod cells;
mod connected;
mod context;
mod control;
mod evaluation;
mod function;
mod graphs;
pub(crate) mod incremental;
mod lane_bits;
mod lane_exchanges;
mod lane_terms;
mod lane_values;
mod packed;
mod phases;
mod stack;
mod synchronization;
mod transfer;
mod visible;
mod words;

use alloc::vec::Vec;

use ptx_ir::facts::ModuleFacts;
use ptx_ir::{EntityId as _, FuncId, FunctionKind, StmtId};

pub(crate) use incremental::IncrementalUniformity;
pub use ptx_isa::Uniformity;

use crate::cfg::BlockId;
use crate::function_analysis::{FunctionAnalysis, map_functions};
use crate::graph::LoopId;
use crate::incremental::EvaluationLimit;
use crate::module_analysis::ModuleAnalysis;
use crate::reg_lanes::VariableId;
use context::{Callees, Context};
use function::analyze;
pub(crate) use graphs::RegionGraphs;
pub(crate) use stack::Stack;

/// A register that a statement writes.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub struct UniformDef {
    /// The statement.
    pub stmt: StmtId,
    /// The register, as [`Variables`](crate::reg_lanes::Variables) number it.
    pub variable: VariableId,
    /// The uniformity of the register after the statement.
    pub uniformity: Uniformity,
}

/// The uniformity of a function.
///
/// ```
/// use ptx_analysis::function_analysis::FunctionAnalysis;
/// use ptx_analysis::uniformity::Uniformity;
/// use ptx_ir::facts::ModuleFacts;
///
/// let text = b".version 8.0\n.target sm_80\n.entry k(.param .u32 n) { .reg .b32 a; ld.param.u32 a, [n]; }";
/// let module = ptx_parse::parse(text).module;
/// let facts = ModuleFacts::new(&module);
/// let function = FunctionAnalysis::new(facts.function(module.function("k").unwrap()).unwrap());
/// let (load, _) = function.body().statements().nth(1).unwrap();
/// assert_eq!(function.uniformity().defs(load)[0].uniformity, Uniformity::Grid);
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FunctionUniformity {
    /// The registers that statements write, by the ids of the statements.
    defs: Vec<UniformDef>,
    /// The guards of statements, by the ids of the statements.
    guards: Vec<(StmtId, Uniformity)>,
    /// The executions of blocks, by their numbers.
    blocks: Vec<Uniformity>,
    /// The choices of successors of blocks, by their numbers.
    branches: Vec<Uniformity>,
    /// The paths to blocks, by their numbers.
    joins: Vec<Uniformity>,
    /// The numbers of iterations after which threads leave loops, by the numbers of [`loop_forest`](crate::function_dataflow::FunctionDataflow::loop_forest).
    exits: Vec<Uniformity>,
}

impl FunctionUniformity {
    /// Analyzes a function alone: nothing is assumed about its callers and callees.
    pub(crate) fn new(function: &FunctionAnalysis<'_>) -> Self {
        let mut context = Context::new(function.facts(), function.id());
        context.cells = function.stack().cells.clone();
        if context.kind != FunctionKind::Entry {
            context.give_up();
        }
        analyze(function, &context, &Callees::UNKNOWN).uniformity
    }

    /// Analyzes a kernel alone. If no directive states the size of CTAs, dimension x is assumed to be a multiple of 32.
    pub(crate) fn of_warps(function: &FunctionAnalysis<'_>) -> Self {
        let mut context = Context::new(function.facts(), function.id());
        context.cells = function.stack().cells.clone();
        context.assume_whole_warps();
        analyze(function, &context, &Callees::UNKNOWN).uniformity
    }

    /// The registers that a statement writes, by their number.
    #[must_use]
    pub fn defs(&self, stmt: StmtId) -> &[UniformDef] {
        let start = self.defs.partition_point(|d| d.stmt < stmt);
        let end = self.defs.partition_point(|d| d.stmt <= stmt);
        self.defs.get(start..end).unwrap_or_default()
    }

    /// The uniformity of a register after a statement that writes it.
    #[must_use]
    pub fn def(&self, stmt: StmtId, variable: VariableId) -> Uniformity {
        let mut defs = self.defs(stmt).iter();
        let def = defs.find(|d| d.variable == variable);
        def.map_or(Uniformity::Varying, |d| d.uniformity)
    }

    /// The uniformity of the guard of a statement.
    #[must_use]
    pub fn guard(&self, stmt: StmtId) -> Uniformity {
        let index = self.guards.binary_search_by_key(&stmt, |(stmt, _)| *stmt);
        index.map_or(Uniformity::Varying, |index| self.guards[index].1)
    }

    /// The largest group of which, for each instance of a block of [`Cfg::new`](crate::cfg::Cfg::new), all threads execute it or none.
    #[must_use]
    pub fn block(&self, block: BlockId) -> Uniformity {
        let uniformity = self.blocks.get(block.as_u32() as usize);
        uniformity.copied().unwrap_or(Uniformity::Varying)
    }

    /// The uniformity of the choice of the block that follows a block.
    #[must_use]
    pub fn branch(&self, block: BlockId) -> Uniformity {
        let uniformity = self.branches.get(block.as_u32() as usize);
        uniformity.copied().unwrap_or(Uniformity::Varying)
    }

    /// The uniformity of the path to a block: of the choice of the arguments of its phis.
    pub(crate) fn join(&self, block: BlockId) -> Uniformity {
        let uniformity = self.joins.get(block.as_u32() as usize);
        uniformity.copied().unwrap_or(Uniformity::Varying)
    }

    /// The uniformity of the number of iterations after which threads leave a loop of the loop forest.
    pub(crate) fn exit(&self, id: LoopId) -> Uniformity {
        let uniformity = self.exits.get(id.as_u32() as usize);
        uniformity.copied().unwrap_or(Uniformity::Varying)
    }
}

/// The uniformity of all functions of a module. See the [module documentation](self).
///
/// ```
/// use ptx_analysis::reg_lanes::Variables;
/// use ptx_analysis::uniformity::{ModuleUniformity, Uniformity};
/// use ptx_ir::facts::ModuleFacts;
///
/// let text = b".version 8.0\n.target sm_80\n.address_size 64\n.entry k(.param .u32 n)\n{\n\
///     .reg .b32 a, b, c;\n\
///     ld.param.u32 a, [n]; mov.u32 b, %ctaid.x; mov.u32 c, %tid.x;\n}";
/// let module = ptx_parse::parse(text).module;
/// let facts = ModuleFacts::new(&module);
/// let uniformity = ModuleUniformity::new(&facts);
/// let kernel = module.function("k").unwrap();
/// let body = module.body(kernel).unwrap();
/// let definitions: Vec<Uniformity> = body
///     .statements()
///     .flat_map(|(stmt, _)| uniformity.function(kernel).unwrap().defs(stmt))
///     .map(|def| def.uniformity)
///     .collect();
/// assert_eq!(definitions, [Uniformity::Grid, Uniformity::Cta, Uniformity::Varying]);
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ModuleUniformity {
    functions: Vec<Option<FunctionUniformity>>,
}

impl ModuleUniformity {
    /// Analyzes a module.
    #[must_use]
    pub fn new(facts: &ModuleFacts<'_>) -> Self {
        Self::of(facts, |_| true)
    }

    /// Analyzes the functions for which `is_selected` returns `true`, and all functions that call or are called. The facts must be those of the whole module.
    #[doc(hidden)]
    #[must_use]
    pub fn of(facts: &ModuleFacts<'_>, is_selected: impl Fn(FuncId) -> bool + Sync) -> Self {
        let module = ModuleAnalysis::new(facts);
        Self::with(&module, IncrementalUniformity::new(), is_selected)
    }

    /// Analyzes a module under the assumption that only what depends on the index of the thread differs: memory that is loaded is as uniform as the
    /// address, and functions of other modules call with, and return, values that are the same. CTAs of unknown size are taken to have one of
    /// [`CtaShape`](crate::threads::CtaShape). A value that is called varying then has a reason to differ; one that is called uniform may differ still.
    #[must_use]
    pub fn optimistic(facts: &ModuleFacts<'_>) -> Self {
        let module = ModuleAnalysis::new(facts);
        Self::with(&module, IncrementalUniformity::optimistic(), |_| true)
    }

    /// Analyzes a module whose functions share their analyses.
    pub(crate) fn of_module(module: &ModuleAnalysis<'_>) -> Self {
        Self::with(module, IncrementalUniformity::new(), |_| true)
    }

    fn with(
        module: &ModuleAnalysis<'_>,
        mut driver: IncrementalUniformity,
        is_selected: impl Fn(FuncId) -> bool + Sync,
    ) -> Self {
        driver.enter_all(module);
        driver.update(module, &mut EvaluationLimit::unlimited());
        let mut functions = vec![None; module.module().functions().len()];
        let alone = map_functions(module.facts(), |id, _| {
            let function = module
                .function(id)
                .filter(|_| is_selected(id) && module.is_alone(id))?;
            Some((id, driver.evaluate(&function, module.calls())))
        });
        for (id, uniformity) in alone.into_iter().flatten() {
            functions[id.index()] = Some(uniformity);
        }
        for (id, ..) in module.module().definitions() {
            if !module.is_alone(id) {
                let function = module.function(id);
                functions[id.index()] =
                    function.and_then(|function| driver.take(&function, module.calls()));
            }
        }
        Self { functions }
    }

    /// The uniformity of a function that has a body.
    #[must_use]
    pub fn function(&self, id: FuncId) -> Option<&FunctionUniformity> {
        self.functions.get(id.index())?.as_ref()
    }
}
