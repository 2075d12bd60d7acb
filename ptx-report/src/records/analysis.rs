//! The results of analyses in the records of functions and instructions.

use std::sync::Arc;

use ptx_analysis::cfg::{Block as BasicBlock, BlockId};
use ptx_analysis::function_analysis::FunctionAnalysis;
use ptx_analysis::liveness::LiveSet;
use ptx_analysis::memory_access::Pattern;
use ptx_analysis::provenance::CallSummaries;
use ptx_analysis::reg_lanes::VariableId;
use ptx_analysis::uniformity::{FunctionUniformity, ModuleUniformity};
use ptx_ir::facts::{FunctionFacts, ModuleFacts, Space};
use ptx_ir::{FuncId, LineIndex, Module, StmtId};
use ptx_isa::{StateSpace, Uniformity};
use serde::{Serialize, Serializer};

use crate::basic_blocks::BasicBlocks;
use crate::function_stats::Pressure;
use crate::function_values::{Assumption, Coalescing, FunctionValues, TripCount};
use crate::instruction_facts::FactNames;
use crate::labels::Labeled;

/// The results for a function.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct FunctionResults<'a> {
    /// The id of the entry block.
    pub entry: u32,
    /// The maximum number of simultaneously live registers.
    pub pressure: PeakPressure,
    /// The basic blocks in the order of the text.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<Block<'static>>"))]
    pub blocks: Blocks<'a>,
}

/// The maximum number of live registers, and where it is reached.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct PeakPressure {
    /// The line of the first instruction with the maximum of `max_b32_units`.
    pub line: Option<u32>,
    /// The maximum, also for each class of registers separately.
    #[serde(flatten)]
    pub pressure: Pressure,
}

/// The basic blocks of a function, serialized as a list of [`Block`].
#[derive(Copy, Clone, Debug)]
pub struct Blocks<'a>(&'a Analyses<'a>);

/// A basic block. Lists that are too long are null.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Block<'a> {
    /// The number of the block, in the order of the text.
    pub id: u32,
    /// The label at its start.
    pub label: Option<&'a str>,
    /// The first line of its labels and instructions.
    pub first_line: u32,
    /// The last line of its labels and instructions.
    pub last_line: u32,
    /// The ids of its successors, without duplicates.
    pub succ: Option<Vec<u32>>,
    /// Control may leave the function here.
    pub exits: bool,
    /// Its last statement is unrecognized; every label is a successor then.
    pub unknown: bool,
    /// It is reachable from the entry.
    pub reachable: bool,
    /// The immediate dominator.
    pub idom: Option<u32>,
    /// The immediate post-dominator on paths that leave the function.
    pub ipdom: Option<u32>,
    /// The header of the innermost natural loop that contains it.
    pub loop_header: Option<u32>,
    /// The number of natural loops that contain it.
    pub loop_depth: u32,
    /// For the header of a natural loop, the number of its executions each time the loop is entered, if anything is known about it.
    pub trip_count: Option<TripCount>,
    /// The largest group of threads of which, among those that entered the function together, all execute the block or none does.
    pub uniform: Labeled<Uniformity>,
    /// The registers that are read before any unconditional write in the block.
    pub uses: Vec<&'a str>,
    /// The registers that are written unconditionally.
    pub kills: Vec<&'a str>,
    /// The registers that are written, with or without a guard.
    pub defs: Vec<&'a str>,
    /// The registers that hold the results of the function, if the block may return.
    pub returned: Vec<&'a str>,
    /// The live registers at the start.
    pub live_in: Option<Vec<&'a str>>,
    /// The live registers at the end.
    pub live_out: Option<Vec<&'a str>>,
}

/// The results for an instruction or an unrecognized statement.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct InstructionResults<'a> {
    /// The id of its block.
    pub block: u32,
    /// The integer results with an affine form.
    pub affine: Vec<RegisterForm<'a>>,
    /// The results that are addresses.
    pub provenance: Vec<RegisterPointer<'a>>,
    /// The object that the first memory access which is not to a parameter points into.
    pub object: Option<String>,
    /// The state space of this access, which is also inferred for generic addresses.
    pub space: Option<Labeled<StateSpace>>,
    /// The pattern of the addresses of the lanes, for this access.
    pub coalescing: Option<Labeled<Pattern>>,
    /// The bytes from the address of each lane to the next.
    pub stride: Option<i64>,
    /// The number of 32-byte sectors that a request needs; the least number if it depends on the position of the address in a sector.
    pub sectors: Option<u64>,
    /// For shared memory, the number of passes divided by the number without bank conflicts.
    pub degree: Option<u64>,
    /// The assumptions of these results.
    pub assumes: Vec<Assumption>,
    /// The uniformity of each register that it writes.
    pub uniform: Vec<RegisterUniformity<'a>>,
}

/// A register with its value as an affine form.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct RegisterForm<'a> {
    /// The name of the register.
    pub register: &'a str,
    /// `4*%tid.x + p + 16`, modulo the width of the register.
    pub form: String,
}

/// A register that holds an address.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct RegisterPointer<'a> {
    /// The name of the register.
    pub register: &'a str,
    /// The memory that it points into: `*p`, `v` or `allocation@5`.
    pub object: Option<String>,
    /// The state space of that memory.
    pub space: Option<Labeled<StateSpace>>,
    /// It is a generic address instead of one in the state space.
    pub generic: bool,
    /// The bytes from the start of the object.
    pub offset: Option<i64>,
}

/// A register with its uniformity.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct RegisterUniformity<'a> {
    /// The name of the register.
    pub register: &'a str,
    /// The largest group of threads in which its value is the same.
    pub uniform: Labeled<Uniformity>,
}

/// The analyses that functions share.
#[derive(Debug)]
pub(super) struct ModuleAnalyses {
    uniformity: ModuleUniformity,
    pub(super) calls: Arc<CallSummaries>,
}

impl ModuleAnalyses {
    /// `facts` are those of the visited functions: all functions if there is no filter.
    pub(super) fn new(
        module: &Module,
        facts: &ModuleFacts<'_>,
        functions: Option<&(dyn Fn(FuncId) -> bool + Sync)>,
    ) -> Self {
        Self {
            // The uniformity of a function depends on those that it calls and that call it.
            uniformity: match functions {
                Some(is_visited) => ModuleUniformity::of(&ModuleFacts::new(module), is_visited),
                None => ModuleUniformity::new(facts),
            },
            calls: Arc::new(CallSummaries::new(facts)),
        }
    }
}

/// The analyses of a function.
#[derive(Debug)]
pub(super) struct Analyses<'a> {
    facts: FunctionFacts<'a>,
    names: &'a FactNames<'a>,
    lines: &'a LineIndex,
    analysis: &'a FunctionAnalysis<'a>,
    blocks: BasicBlocks<'a>,
    /// `None` for functions with too many phis.
    values: Option<FunctionValues<'a>>,
    uniformity: Option<&'a FunctionUniformity>,
}

impl<'a> Analyses<'a> {
    pub(super) fn new(
        id: FuncId,
        facts: FunctionFacts<'a>,
        analysis: &'a FunctionAnalysis<'a>,
        names: &'a FactNames<'a>,
        lines: &'a LineIndex,
        module: &'a ModuleAnalyses,
    ) -> Self {
        Self {
            facts,
            names,
            lines,
            analysis,
            blocks: BasicBlocks::new(analysis),
            values: FunctionValues::new(analysis),
            uniformity: module.uniformity.function(id),
        }
    }

    pub(super) fn function(&'a self) -> FunctionResults<'a> {
        let pressure = self.analysis.pressure();
        FunctionResults {
            entry: 0,
            pressure: PeakPressure {
                line: pressure.at.map(|stmt| {
                    let offset = self.facts.body().source_span(stmt).start;
                    self.lines.position(offset).line
                }),
                pressure: Pressure::new(&pressure),
            },
            blocks: Blocks(self),
        }
    }

    fn block(&'a self, id: BlockId, block: &BasicBlock) -> Block<'a> {
        let (analysis, blocks) = (self.analysis, &self.blocks);
        let (first_line, last_line) = blocks.lines(block, self.lines);
        let mut successors = Vec::new();
        let has_successors = blocks.successors(id, &mut |to| successors.push(to));
        let registers = self.names.registers();
        let names = |variables: &[VariableId]| {
            let variables = variables.iter();
            variables.map(|&variable| registers.get(variable)).collect()
        };
        let summary = analysis.summary();
        let liveness = blocks.has_live_lists().then(|| analysis.liveness());
        let live_names = |live: LiveSet<'_>| {
            let variables = live.iter();
            variables.map(|variable| registers.get(variable)).collect()
        };
        Block {
            id: id.as_u32(),
            label: blocks.label(block),
            first_line,
            last_line,
            succ: has_successors.then_some(successors),
            exits: blocks.exits(id),
            unknown: block.unknown,
            reachable: analysis.is_reachable(id),
            idom: blocks.idom(id).map(BlockId::as_u32),
            ipdom: blocks.ipdom(id).map(BlockId::as_u32),
            loop_header: blocks.loop_header(id).map(BlockId::as_u32),
            loop_depth: analysis.loops().depth(id),
            trip_count: self.trip_count(id),
            uniform: Labeled(self.uniformity.map_or(Uniformity::Varying, |u| u.block(id))),
            uses: names(summary.uses(id)),
            kills: names(summary.kills(id)),
            defs: names(summary.defs(id)),
            returned: names(blocks.returned(id)),
            live_in: liveness.map(|liveness| live_names(liveness.live_in(id))),
            live_out: liveness.map(|liveness| live_names(liveness.live_out(id))),
        }
    }

    /// The trip count of the loop with this header.
    fn trip_count(&self, block: BlockId) -> Option<TripCount> {
        let loops = self.analysis.loops();
        let is_header = loops.header(block) == Some(block);
        let id = loops.innermost(block).filter(|_| is_header)?;
        let values = self.values.as_ref()?;
        values.trip_count(id, &values.text(self.names.registers()))
    }

    /// The results for an instruction or an unrecognized statement; `None` for other statements.
    pub(super) fn instruction(&'a self, stmt: StmtId) -> Option<InstructionResults<'a>> {
        let block = self.analysis.cfg().of_statement(stmt)?.as_u32();
        let registers = self.names.registers();
        let definitions = self.uniformity.map(|uniformity| uniformity.defs(stmt));
        let uniform = definitions.unwrap_or_default().iter();
        let mut results = InstructionResults {
            block,
            affine: Vec::new(),
            provenance: Vec::new(),
            object: None,
            space: None,
            coalescing: None,
            stride: None,
            sectors: None,
            degree: None,
            assumes: Vec::new(),
            uniform: uniform
                .map(|definition| RegisterUniformity {
                    register: registers.get(definition.variable),
                    uniform: Labeled(definition.uniformity),
                })
                .collect(),
        };
        if let Some(values) = &self.values {
            self.add_values(values, stmt, &mut results);
        }
        Some(results)
    }

    fn add_values(
        &'a self,
        values: &FunctionValues<'_>,
        stmt: StmtId,
        results: &mut InstructionResults<'a>,
    ) {
        let registers = self.names.registers();
        let text = values.text(registers);
        let forms = values.forms(stmt).map(|(variable, form)| RegisterForm {
            register: registers.get(variable),
            form: text.form(&form),
        });
        results.affine = forms.collect();
        results.provenance = values
            .pointers(stmt)
            .map(|(variable, pointer)| RegisterPointer {
                register: registers.get(variable),
                object: pointer.object.map(|object| text.object(object)),
                space: pointer.space.map(Labeled),
                generic: pointer.is_generic,
                offset: pointer.offset,
            })
            .collect();
        let Some(access) = values.access(stmt) else {
            return;
        };
        results.object = access.provenance.map(|object| text.object(object));
        results.space = match access.space {
            Space::State(space) => Some(Labeled(space)),
            _ => None,
        };
        if let Some(coalescing) = Coalescing::of(access) {
            results.coalescing = Some(coalescing.pattern);
            results.stride = coalescing.stride;
            results.sectors = coalescing.sectors;
            results.degree = coalescing.degree;
            results.assumes = coalescing.assumes;
        }
    }
}

impl FunctionResults<'_> {
    /// The lists of live registers are short enough to be written; otherwise they are null.
    #[must_use]
    pub fn has_live_lists(&self) -> bool {
        self.blocks.0.blocks.has_live_lists()
    }

    /// The successors of jumps through shared tables are few enough to be written; otherwise they are null.
    #[must_use]
    pub fn has_dispatch_successors(&self) -> bool {
        self.blocks.0.blocks.has_dispatch_successors()
    }
}

impl<'a> Blocks<'a> {
    /// The blocks in the order of the text.
    pub fn iter(self) -> impl Iterator<Item = Block<'a>> {
        let blocks = self.0.blocks.iter();
        blocks.map(move |(id, block)| self.0.block(id, block))
    }
}

impl Serialize for Blocks<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}
