//! Facts about each function: signature, instructions, loops, memory, live registers, requirements.

mod dynamic_shared;
mod mix;
mod signature;

use std::collections::{BTreeMap, HashMap};

use ptx_analysis::cfg::Block;
use ptx_analysis::function_analysis::{FunctionAnalysis, map_functions};
use ptx_analysis::pressure::CLASSES;
use ptx_analysis::source_lines::{FunctionLines, SourceLines};
use ptx_ir::facts::{Callees, Facts, FunctionFacts, ModuleFacts};
use ptx_ir::{Body, FuncId, FunctionKind, LineIndex, Module, Statement, StmtId};
use ptx_isa::{RegisterClass, StateSpace};
use ptx_verify::Requirements;
use serde::Serialize;

use crate::clean;
use crate::current_text::CurrentText;
use crate::demangle::demangle;
use crate::labels::Labeled;
use crate::occupancy::{KernelOccupancy, LaunchSizes};
use crate::requirements::{Minimal, Pair};
use crate::sass::{AssemblerMessage, SassStats};
pub use mix::{Access, FAMILIES, Mix, family};
pub use signature::{Parameter, Signature, bytes_of, type_name};

/// A function with a body.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct FunctionStats {
    /// Its name in the text.
    pub name: String,
    /// The name in the source language, if it is mangled.
    pub demangled: Option<String>,
    /// A kernel is an `entry`.
    pub kind: Labeled<FunctionKind>,
    /// Parameters, results and directives of the header.
    #[serde(flatten)]
    pub signature: Signature,
    /// The source lines of most of its instructions.
    pub source: Option<SourceRange>,
    /// Its instructions by kind.
    #[serde(flatten)]
    pub mix: Mix,
    /// The number of basic blocks.
    pub blocks: u64,
    /// The number of natural loops.
    pub loops: u64,
    /// The maximum nesting depth of loops.
    pub loop_depth: u32,
    /// The loops, outer ones before inner ones.
    pub loop_list: Vec<LoopStats>,
    /// The called functions, sorted by name.
    pub callees: Vec<Callee>,
    /// Live registers.
    pub pressure: Pressure,
    /// The size of the static shared memory of a kernel in bytes, including its callees; `None` for other functions and if unknown.
    pub shared_bytes: Option<u64>,
    /// Whether the function names a shared variable whose size the launch determines.
    pub dynamic_shared: bool,
    /// The size of variables in local memory in bytes.
    pub local_bytes: u64,
    /// The CTAs and warps that a multiprocessor runs at the same time; absent if the limits of the target or the size of a CTA are not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub occupancy: Option<KernelOccupancy>,
    /// The lowest target of each architecture family with the lowest PTX version.
    pub requires: Vec<Pair>,
    /// The metrics that ptxas reports, with --ptxas.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ptxas: Option<MachineCode>,
    /// The machine code, with --sass.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sass: Option<SassStats>,
}

/// The maximum number of live registers in the text, which differs from the number that ptxas allocates.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Pressure {
    /// The maximum in units of 32 bits, without predicates.
    pub max_b32_units: u32,
    /// The maximum for each class: `pred`, `b8`, `b16`, `b32`, `b64`, `b128`.
    pub by_class: BTreeMap<Labeled<RegisterClass>, u32>,
}

impl Pressure {
    pub(crate) fn new(pressure: &ptx_analysis::pressure::Pressure) -> Self {
        Self {
            max_b32_units: pressure.units,
            by_class: CLASSES
                .iter()
                .zip(pressure.by_class)
                .map(|(&class, count)| (Labeled(class), count))
                .collect(),
        }
    }
}

/// The metrics that ptxas reports for a function.
#[derive(Clone, Default, PartialEq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MachineCode {
    /// The number of registers of a thread; absent for a function that is not a kernel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub registers: Option<u64>,
    /// The size of the stack frame of a thread in bytes.
    pub stack_bytes: u64,
    /// The number of bytes of spill stores.
    pub spill_store_bytes: u64,
    /// The number of bytes of spill loads.
    pub spill_load_bytes: u64,
    /// The size of static shared memory in bytes.
    pub shared_bytes: u64,
    /// The number of named barriers.
    pub barriers: u64,
    /// The messages of ptxas that name the function, such as C7510 about instructions that it serializes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<AssemblerMessage>,
}

/// The source lines in the file that most instructions come from.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct SourceRange {
    /// The file with directories.
    pub file: Option<String>,
    /// Counted from 1.
    pub first_line: u32,
    /// Counted from 1, inclusive.
    pub last_line: u32,
}

/// A loop. The mix excludes the instructions of inner loops.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct LoopStats {
    /// The number of the first block.
    pub header: u32,
    /// The number of the first block of the enclosing loop; `None` for an outermost loop.
    pub parent: Option<u32>,
    /// The label of its header.
    pub label: Option<String>,
    /// The line of its start in the file.
    pub line: u32,
    /// The nesting depth, 1 for an outermost loop.
    pub depth: u32,
    /// The number of basic blocks.
    pub blocks: u64,
    /// The number of instructions, including inner loops.
    pub total_instructions: u64,
    /// The source lines of most of its instructions.
    pub source: Option<SourceRange>,
    /// Its instructions by kind.
    #[serde(flatten)]
    pub mix: Mix,
}

/// A called function; without a name, any function that is called through its address.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Callee {
    /// Its name in the text; `None` for calls through an address.
    pub name: Option<String>,
    /// The name in the source language, if it is mangled.
    pub demangled: Option<String>,
    /// The number of calls.
    pub count: u64,
}

impl FunctionStats {
    /// Computes the occupancy of a kernel on a target with the sizes of a launch and, if they are known, the registers that ptxas allocates.
    ///
    /// ```
    /// use ptx_report::function_stats::collect;
    /// use ptx_report::occupancy::LaunchSizes;
    /// let text = b".version 8.0\n.target sm_80\n.address_size 64\n.entry k() { ret; }";
    /// let module = ptx_parse::parse(text).module;
    /// let mut kernel = collect(&module, |_| true).remove(0);
    /// assert_eq!(kernel.occupancy, None);
    /// let mut launch = LaunchSizes::default();
    /// launch.block = Some(256);
    /// kernel.set_launch("sm_80", launch);
    /// assert_eq!(kernel.occupancy.unwrap().occupancy.warps, 64);
    /// ```
    pub fn set_launch(&mut self, target: &str, launch: LaunchSizes) {
        self.occupancy = KernelOccupancy::new(self, target, launch);
    }

    /// The name for display.
    #[must_use]
    pub fn title(&self) -> &str {
        self.demangled.as_deref().unwrap_or(&self.name)
    }

    /// Whether the function is a kernel.
    #[must_use]
    pub fn is_kernel(&self) -> bool {
        *self.kind == FunctionKind::Entry
    }
}

/// The facts about a module that the statistics of all its functions need.
pub(crate) struct ModuleContext<'a> {
    pub(crate) module: &'a Module,
    pub(crate) lines: LineIndex,
    pub(crate) source_lines: SourceLines<'a>,
    /// The size of the static shared memory of each kernel.
    shared: HashMap<FuncId, Option<u64>>,
    requirements: HashMap<FuncId, Vec<Pair>>,
}

/// Collects the statistics of the selected functions with a body, in order. An edited or built module is printed: lines are lines of the text as it
/// is now.
#[must_use]
pub fn collect(module: &Module, is_selected: impl Fn(FuncId) -> bool + Sync) -> Vec<FunctionStats> {
    let text = CurrentText::new(module);
    let (module, is_selected) = (text.module(), |id| is_selected(text.original(id)));
    let facts = ModuleFacts::of(module, is_selected);
    let context = ModuleContext::new(module);
    map_functions(&facts, |id, function_facts| {
        is_selected(id).then(|| context.function(&FunctionAnalysis::new(function_facts)))
    })
    .into_iter()
    .flatten()
    .collect()
}

/// The minimal versions and targets of each function.
fn minimal_requirements(requirements: &Requirements) -> HashMap<FuncId, Vec<Pair>> {
    let mut minimal = Minimal::default();
    requirements
        .functions()
        .iter()
        .map(|(id, availability)| (*id, minimal.of(availability)))
        .collect()
}

impl<'a> ModuleContext<'a> {
    pub(crate) fn new(module: &'a Module) -> Self {
        Self {
            module,
            lines: LineIndex::new(module.source()),
            source_lines: SourceLines::new(module),
            shared: ptx_verify::shared_memory(module).into_iter().collect(),
            requirements: minimal_requirements(&ptx_verify::requires(module)),
        }
    }
}

impl ModuleContext<'_> {
    /// The statistics of a function.
    pub(crate) fn function(&self, analysis: &FunctionAnalysis<'_>) -> FunctionStats {
        let (module, id, facts) = (self.module, analysis.id(), analysis.facts());
        let function = &module.functions()[id];
        let body = facts.body();
        let source_lines = self.source_lines.function(body);
        let mut mix = Mix::default();
        let mut source = SourceCounts::default();
        let mut callees = Vec::new();
        let mut loops = self.loops(body, analysis);
        let blocks = || analysis.cfg().blocks().filter(|(_, b)| !b.is_dispatch);
        for (id, block) in blocks() {
            let mut innermost = analysis
                .loops()
                .innermost(id)
                .and_then(|l| loops.get_mut(l.as_u32() as usize));
            if let Some(counted) = &mut innermost {
                counted.stats.blocks += 1;
            }
            for (stmt, facts) in instructions(facts, block) {
                let line = line(&source_lines, stmt);
                mix.add(&facts, body);
                source.add(line.as_ref());
                callees.extend(facts.callees());
                if let Some(counted) = &mut innermost {
                    counted.stats.mix.add(&facts, body);
                    counted.source.add(line.as_ref());
                }
            }
        }
        let max_depth = loops.iter().map(|counted| counted.stats.depth).max();
        let mut stats = FunctionStats {
            name: clean(module.name(function.name)).into_owned(),
            demangled: demangle(module.name(function.name)),
            kind: Labeled(function.kind),
            signature: Signature::new(module, function),
            source: source.most_frequent_file(),
            mix,
            blocks: blocks().count() as u64,
            loops: loops.len() as u64,
            loop_depth: max_depth.unwrap_or(0),
            loop_list: finish_loops(loops),
            callees: self.callees(&callees),
            pressure: Pressure::new(&analysis.pressure()),
            shared_bytes: self.shared.get(&id).copied().flatten(),
            dynamic_shared: dynamic_shared::is_used(module, body),
            local_bytes: bytes_of(body.declarations(), body.pool(), StateSpace::Local),
            requires: self.requirements.get(&id).cloned().unwrap_or_default(),
            occupancy: None,
            ptxas: None,
            sass: None,
        };
        if let Some(target) = module.header().target {
            stats.set_launch(target.text(), LaunchSizes::default());
        }
        stats
    }

    /// The loops before their instructions are counted, outer ones before inner ones.
    fn loops(&self, body: &Body, analysis: &FunctionAnalysis<'_>) -> Vec<CountedLoop> {
        let loops = analysis.loops();
        loops
            .iter()
            .map(|(_, info)| {
                let block = analysis.cfg().block(info.header());
                let label = block.and_then(|b| body.labels().get(b.label?));
                let first_stmt = label.map(|l| l.stmt).or(block.map(|b| b.first));
                let start = first_stmt.map(|stmt| body.source_span(stmt).start);
                let parent = info.parent().and_then(|p| loops.get(p));
                let stats = LoopStats {
                    header: info.header().as_u32(),
                    parent: parent.map(|p| p.header().as_u32()),
                    label: label.map(|l| clean(self.module.name(l.name)).into_owned()),
                    line: start.map_or(0, |offset| self.lines.position(offset).line),
                    depth: info.depth(),
                    blocks: 0,
                    total_instructions: 0,
                    source: None,
                    mix: Mix::default(),
                };
                CountedLoop {
                    stats,
                    source: SourceCounts::default(),
                }
            })
            .collect()
    }

    /// The called functions with the numbers of their calls, in the order of their names.
    fn callees(&self, calls: &[Callees<'_>]) -> Vec<Callee> {
        let mut names: Vec<Option<&str>> = calls
            .iter()
            .map(|callee| match callee {
                Callees::Function(symbol) => {
                    let symbol = self.module.symbols().get(*symbol)?;
                    Some(self.module.name(symbol.name))
                }
                _ => None,
            })
            .collect();
        names.sort_unstable();
        names
            .chunk_by(|a, b| a == b)
            .map(|calls| {
                let name = calls.first().copied().flatten();
                Callee {
                    name: name.map(|n| clean(n).into_owned()),
                    demangled: name.and_then(demangle),
                    count: calls.len() as u64,
                }
            })
            .collect()
    }
}

/// The instructions of a block.
fn instructions<'a>(
    facts: FunctionFacts<'a>,
    block: &Block,
) -> impl Iterator<Item = (StmtId, Facts<'a>)> {
    facts.body().range(block.first, block.end).filter_map(
        move |(stmt, statement)| match statement {
            Statement::Inst(inst) => Some((stmt, facts.inst(inst))),
            _ => None,
        },
    )
}

/// A loop whose instructions are being counted.
struct CountedLoop {
    stats: LoopStats,
    source: SourceCounts,
}

/// Computes the totals, which include inner loops, and the source lines.
fn finish_loops(mut loops: Vec<CountedLoop>) -> Vec<LoopStats> {
    let indices: HashMap<u32, usize> = loops
        .iter()
        .enumerate()
        .map(|(index, counted)| (counted.stats.header, index))
        .collect();
    // Inner loops come after the loops that contain them.
    for index in (0..loops.len()).rev() {
        let Some(counted) = loops.get_mut(index) else {
            continue;
        };
        let stats = &mut counted.stats;
        stats.total_instructions += stats.mix.instructions;
        let total = stats.total_instructions;
        let parent = stats.parent.and_then(|header| indices.get(&header));
        if let Some(parent) = parent.and_then(|&parent| loops.get_mut(parent)) {
            parent.stats.total_instructions += total;
        }
    }
    loops
        .into_iter()
        .map(|counted| LoopStats {
            source: counted.source.most_frequent_file(),
            ..counted.stats
        })
        .collect()
}

/// The file and the line of an instruction that was not inlined.
fn line(lines: &FunctionLines<'_, '_>, stmt: StmtId) -> Option<(Option<String>, u32)> {
    let mut frames = lines.frames(stmt);
    let frame = frames.next().filter(|frame| frame.line > 0)?;
    let file = frame.file.map(|file| clean(&file).into_owned());
    frames.next().is_none().then_some((file, frame.line))
}

/// The instructions of a function or a loop that come from each source file.
#[derive(Default)]
struct SourceCounts(HashMap<Option<String>, FileCount>);

/// The instructions that come from a source file.
struct FileCount {
    instructions: u64,
    first_line: u32,
    last_line: u32,
}

impl SourceCounts {
    fn add(&mut self, line: Option<&(Option<String>, u32)>) {
        let Some((file, line)) = line else { return };
        let Some(count) = self.0.get_mut(file) else {
            let count = FileCount {
                instructions: 1,
                first_line: *line,
                last_line: *line,
            };
            self.0.insert(file.clone(), count);
            return;
        };
        count.instructions += 1;
        count.first_line = count.first_line.min(*line);
        count.last_line = count.last_line.max(*line);
    }

    /// The lines of the file with the most instructions; of several such files, the first one by name.
    fn most_frequent_file(self) -> Option<SourceRange> {
        self.0
            .into_iter()
            .max_by(|(file, count), (other_file, other_count)| {
                count
                    .instructions
                    .cmp(&other_count.instructions)
                    .then(other_file.cmp(file))
            })
            .map(|(file, count)| SourceRange {
                file,
                first_line: count.first_line,
                last_line: count.last_line,
            })
    }
}
