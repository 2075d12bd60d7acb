//! Facts about each function: signature, instructions, loops, memory, live registers, requirements.

mod layout;
mod machine_code;
mod mix;
mod signature;

use std::collections::{BTreeMap, HashMap};

use ptx_analysis::cfg::{Block, BlockId};
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
use crate::requirements::{Minimal, Pair};
pub use layout::{bytes_of, type_name};
pub use machine_code::MachineCode;
pub use mix::{Access, FAMILIES, Mix, family};
pub use signature::{Parameter, Signature};

/// A function with a body.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct OfFunction {
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
    pub loop_list: Vec<OfLoop>,
    /// The called functions, sorted by name.
    pub callees: Vec<Callee>,
    /// Live registers.
    pub pressure: Pressure,
    /// The size of the static shared memory of a kernel in bytes, including its callees; `None` for other functions and if unknown.
    pub shared_bytes: Option<u64>,
    /// The size of variables in local memory in bytes.
    pub local_bytes: u64,
    /// The lowest target of each architecture family with the lowest PTX version.
    pub requires: Vec<Pair>,
    /// The metrics that ptxas reports, with --ptxas.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ptxas: Option<MachineCode>,
}

/// The maximum number of live registers in the text, which differs from the number that ptxas allocates.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Pressure {
    /// In units of 32 bits, without predicates.
    pub max_b32_units: u32,
    /// The maximum for each class: `pred`, `b8`, `b16`, `b32`, `b64`, `b128`.
    pub by_class: BTreeMap<Labeled<RegisterClass>, u32>,
}

impl Pressure {
    pub(crate) fn new(pressure: &ptx_analysis::pressure::Pressure) -> Self {
        let classes = CLASSES.iter().zip(pressure.by_class);
        Self {
            max_b32_units: pressure.units,
            by_class: classes
                .map(|(&class, units)| (Labeled(class), units))
                .collect(),
        }
    }
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
pub struct OfLoop {
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

impl OfFunction {
    /// The name for display.
    #[must_use]
    pub fn title(&self) -> &str {
        self.demangled.as_deref().unwrap_or(&self.name)
    }

    /// Whether it is an `.entry`.
    #[must_use]
    pub fn is_kernel(&self) -> bool {
        *self.kind == FunctionKind::Entry
    }
}

/// What the functions of a module have in common.
pub(crate) struct Context<'a> {
    pub(crate) module: &'a Module,
    pub(crate) lines: LineIndex,
    pub(crate) source_lines: SourceLines<'a>,
    shared: HashMap<FuncId, Option<u64>>,
    requirements: HashMap<FuncId, Vec<Pair>>,
}

/// The chosen functions with a body, in order. An edited or built module is printed: lines are lines of the text as it is now.
#[must_use]
pub fn of(module: &Module, chosen: impl Fn(FuncId) -> bool + Sync) -> Vec<OfFunction> {
    let text = CurrentText::new(module);
    let (module, chosen) = (text.module(), |id| chosen(text.original(id)));
    let facts = ModuleFacts::of(module, chosen);
    let context = Context::new(module);
    let all = map_functions(&facts, |id, of| {
        chosen(id).then(|| context.function(&FunctionAnalysis::new(of)))
    });
    all.into_iter().flatten().collect()
}

fn minimal(requirements: &Requirements) -> HashMap<FuncId, Vec<Pair>> {
    let mut minimal = Minimal::default();
    let functions = requirements.functions().iter();
    functions
        .map(|(id, availability)| (*id, minimal.of(availability)))
        .collect()
}

impl<'a> Context<'a> {
    pub(crate) fn new(module: &'a Module) -> Self {
        Self {
            module,
            lines: LineIndex::new(module.source()),
            source_lines: SourceLines::new(module),
            shared: ptx_verify::shared_memory(module).into_iter().collect(),
            requirements: minimal(&ptx_verify::requires(module)),
        }
    }
}

impl Context<'_> {
    pub(crate) fn function(&self, analysis: &FunctionAnalysis<'_>) -> OfFunction {
        let (module, id, facts) = (self.module, analysis.id(), analysis.facts());
        let function = &module.functions()[id];
        let body = facts.body();
        let source_lines = self.source_lines.function(body);
        let mut mix = Mix::default();
        let mut range = Range::default();
        let mut callees = Vec::new();
        let mut loops = self.loops(body, analysis);
        let blocks = || analysis.cfg().blocks().filter(|(_, b)| !b.is_dispatch);
        for (block, basic) in blocks() {
            let inner = analysis.loops().innermost(block);
            let mut inner = inner.and_then(|l| loops.get_mut(l.as_u32() as usize));
            if let Some((of_loop, _)) = &mut inner {
                of_loop.blocks += 1;
            }
            for (stmt, facts) in instructions(facts, basic) {
                let line = line(&source_lines, stmt);
                mix.add(&facts, body);
                range.add(line.as_ref());
                callees.extend(facts.callees());
                if let Some((of_loop, range)) = &mut inner {
                    of_loop.mix.add(&facts, body);
                    range.add(line.as_ref());
                }
            }
        }
        OfFunction {
            name: clean(module.name(function.name)).into_owned(),
            demangled: demangle(module.name(function.name)),
            kind: Labeled(function.kind),
            signature: Signature::new(module, function),
            source: range.main(),
            mix,
            blocks: blocks().count() as u64,
            loops: loops.len() as u64,
            loop_depth: loops.iter().map(|(l, _)| l.depth).max().unwrap_or(0),
            loop_list: finished(loops),
            callees: self.callees(&callees),
            pressure: Pressure::new(&analysis.pressure()),
            shared_bytes: self.shared.get(&id).copied().flatten(),
            local_bytes: bytes_of(body.declarations(), body.pool(), StateSpace::Local),
            requires: self.requirements.get(&id).cloned().unwrap_or_default(),
            ptxas: None,
        }
    }

    /// The loops without their instructions, outer ones before inner ones.
    fn loops(&self, body: &Body, analysis: &FunctionAnalysis<'_>) -> Vec<(OfLoop, Range)> {
        let loops = analysis.loops();
        let of = |l: &ptx_analysis::graph::Loop<BlockId>| {
            let block = analysis.cfg().block(l.header());
            let label = block.and_then(|b| body.labels().get(b.label?));
            let name = label.map(|l| clean(self.module.name(l.name)).into_owned());
            let first = label.map(|l| l.stmt).or(block.map(|b| b.first));
            let first = first.map(|stmt| body.source_span(stmt).start);
            let parent = l.parent().and_then(|p| loops.get(p));
            OfLoop {
                header: l.header().as_u32(),
                parent: parent.map(|p| p.header().as_u32()),
                label: name,
                line: first.map_or(0, |at| self.lines.position(at).line),
                depth: l.depth(),
                blocks: 0,
                total_instructions: 0,
                source: None,
                mix: Mix::default(),
            }
        };
        let all = loops.iter().map(|(_, l)| (of(l), Range::default()));
        all.collect()
    }

    /// The functions that are called, in the order of their names.
    fn callees(&self, calls: &[Callees<'_>]) -> Vec<Callee> {
        let name = |callee: &Callees<'_>| match callee {
            Callees::Function(symbol) => {
                let symbol = self.module.symbols().get(*symbol)?;
                Some(self.module.name(symbol.name))
            }
            _ => None,
        };
        let mut names: Vec<Option<&str>> = calls.iter().map(name).collect();
        names.sort_unstable();
        let same = names.chunk_by(|a, b| a == b);
        same.map(|all| {
            let name = all.first().copied().flatten();
            Callee {
                name: name.map(|n| clean(n).into_owned()),
                demangled: name.and_then(demangle),
                count: all.len() as u64,
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
    let statements = facts.body().range(block.first, block.end);
    statements.filter_map(move |(stmt, statement)| match statement {
        Statement::Inst(inst) => Some((stmt, facts.inst(inst))),
        _ => None,
    })
}

/// Fills in what depends on inner loops.
fn finished(mut loops: Vec<(OfLoop, Range)>) -> Vec<OfLoop> {
    let numbers = loops.iter().enumerate();
    let numbers: HashMap<u32, usize> = numbers.map(|(i, (l, _))| (l.header, i)).collect();
    for i in (0..loops.len()).rev() {
        let Some((of, _)) = loops.get_mut(i) else {
            continue;
        };
        of.total_instructions += of.mix.instructions;
        let total = of.total_instructions;
        let parent = of.parent.and_then(|p| numbers.get(&p));
        if let Some((parent, _)) = parent.and_then(|&p| loops.get_mut(p)) {
            parent.total_instructions += total;
        }
    }
    let with_source = loops.into_iter().map(|(of, range)| OfLoop {
        source: range.main(),
        ..of
    });
    with_source.collect()
}

/// The file and the line of an instruction that was not inlined.
fn line(lines: &FunctionLines<'_, '_>, stmt: StmtId) -> Option<(Option<String>, u32)> {
    let mut frames = lines.frames(stmt);
    let frame = frames.next().filter(|frame| frame.line > 0)?;
    let file = frame.file.map(|file| clean(&file).into_owned());
    frames.next().is_none().then_some((file, frame.line))
}

/// For each file the number of instructions, and their first and last line.
#[derive(Default)]
struct Range(HashMap<Option<String>, (u64, u32, u32)>);

impl Range {
    fn add(&mut self, line: Option<&(Option<String>, u32)>) {
        let Some((file, line)) = line else { return };
        let Some((count, first, last)) = self.0.get_mut(file) else {
            self.0.insert(file.clone(), (1, *line, *line));
            return;
        };
        *count += 1;
        *first = (*first).min(*line);
        *last = (*last).max(*line);
    }

    /// The file with most instructions.
    fn main(self) -> Option<SourceRange> {
        let files = self.0.into_iter();
        let main = files.max_by(|(a, x), (b, y)| x.0.cmp(&y.0).then(b.cmp(a)));
        main.map(|(file, (_, first_line, last_line))| SourceRange {
            file,
            first_line,
            last_line,
        })
    }
}
