//! Facts about the machine code of PTX functions.

use std::collections::{BTreeMap, HashMap};

use ptx_analysis::function_analysis::{FunctionAnalysis, map_functions};
use ptx_ir::facts::{ModuleFacts, Space};
use ptx_ir::{LineIndex, Module, Statement};
use ptx_isa::StateSpace;
use serde::Serialize;

use super::control_flow::innermost_loops;
use super::{Disassembly, SassFunction, SassInstruction};
use crate::clean;
use crate::function_stats::FunctionStats;

/// The machine code of a function, in numbers. A kernel includes its copies of device functions.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct SassStats {
    /// The number of machine instructions.
    pub instructions: u64,
    /// The number of instructions by their opcodes with all modifiers, such as `LDG.E.128`.
    pub opcodes: BTreeMap<String, u64>,
    /// The accesses to local memory, by PTX line.
    pub local: Vec<LocalAccesses>,
    /// The innermost loops.
    pub loops: Vec<UnrolledLoop>,
}

/// The machine instructions of a PTX line that access local memory.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct LocalAccesses {
    /// The line of the PTX file; `None` if ptxas records none.
    pub line: Option<u32>,
    /// The number of loads.
    pub loads: u64,
    /// The number of stores.
    pub stores: u64,
    /// The bytes that these loads read in a thread.
    pub load_bytes: u64,
    /// The bytes that these stores write in a thread.
    pub store_bytes: u64,
    /// Whether ptxas added the accesses: the PTX instructions of the line access no memory that can be local. Most of these are spills of registers.
    pub spills: bool,
}

/// An innermost loop of machine code.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct UnrolledLoop {
    /// The line of the PTX loop that most of its instructions come from; `None` if they come from no loop.
    pub line: Option<u32>,
    /// The address of its first instruction.
    pub first_address: u64,
    /// The address of its last instruction.
    pub last_address: u64,
    /// The number of instructions.
    pub instructions: u64,
    /// The number of copies of the PTX instructions, estimated by the number that most machine instructions have.
    pub copies: u64,
}

/// Whether an opcode has the base and all modifiers of a pattern: `LDG.E.128` matches `LDG`, `LDG.128` and `LDG.E.128`.
#[must_use]
pub fn matches_opcode(opcode: &str, pattern: &str) -> bool {
    let mut words = pattern.split('.');
    words.next() == opcode.split('.').next()
        && words.all(|word| opcode.split('.').skip(1).any(|modifier| modifier == word))
}

/// Adds the facts of machine code to the statistics of functions. Lines are those of the source of the module.
pub fn apply<'f>(
    module: &Module,
    disassembly: &Disassembly,
    functions: impl IntoIterator<Item = &'f mut FunctionStats>,
) {
    let lines = ptx_lines(module);
    for function in functions {
        function.sass = lines
            .get(&function.name)
            .and_then(|lines| SassStats::new(&function.name, disassembly, lines));
    }
}

/// What is known about a PTX line.
#[derive(Copy, Clone, Default)]
struct PtxLine {
    /// The line of the innermost loop.
    innermost_loop: Option<u32>,
    /// Whether an instruction of the line may access local memory.
    may_access_local: bool,
}

type PtxLines = HashMap<u32, PtxLine>;

/// The PTX lines with instructions of each function.
fn ptx_lines(module: &Module) -> HashMap<String, PtxLines> {
    let line_index = LineIndex::new(module.source());
    let facts = ModuleFacts::of(module, |_| true);
    let functions = map_functions(&facts, |id, function_facts| {
        let analysis = FunctionAnalysis::new(function_facts);
        let body = function_facts.body();
        let line_of = |stmt| line_index.position(body.source_span(stmt).start).line;
        let (cfg, loops) = (analysis.cfg(), analysis.loops());
        let mut lines = PtxLines::new();
        for (block_id, block) in cfg.blocks() {
            let header = loops
                .innermost(block_id)
                .and_then(|id| cfg.block(loops.get(id)?.header()));
            let innermost_loop = header.map(|header| {
                let label = header.label.and_then(|label| body.labels().get(label));
                line_of(label.map_or(header.first, |label| label.stmt))
            });
            for (stmt, statement) in body.range(block.first, block.end) {
                let Statement::Inst(inst) = statement else {
                    continue;
                };
                let may_be_local = function_facts.inst(inst).memory().any(|access| {
                    matches!(
                        access.space,
                        Space::State(StateSpace::Local | StateSpace::Param)
                            | Space::Generic
                            | Space::Any
                    )
                });
                let line = lines.entry(line_of(stmt)).or_default();
                line.innermost_loop = line.innermost_loop.or(innermost_loop);
                line.may_access_local |= may_be_local;
            }
        }
        let function = &module.functions()[id];
        (clean(module.name(function.name)).into_owned(), lines)
    });
    functions.into_iter().collect()
}

impl SassStats {
    /// `None` if the cubin has no code of the function.
    fn new(name: &str, disassembly: &Disassembly, lines: &PtxLines) -> Option<Self> {
        let mut stats = Self::default();
        let mut local: BTreeMap<Option<u32>, LocalAccesses> = BTreeMap::new();
        for part in disassembly.parts(name) {
            for instruction in part.executable() {
                stats.instructions += 1;
                *stats.opcodes.entry(instruction.opcode.clone()).or_default() += 1;
                if let Some(bytes) = local_bytes(instruction) {
                    let accesses = local.entry(instruction.line).or_default();
                    match instruction.base() {
                        "LDL" => {
                            accesses.loads += 1;
                            accesses.load_bytes += bytes;
                        }
                        _ => {
                            accesses.stores += 1;
                            accesses.store_bytes += bytes;
                        }
                    }
                }
            }
            let loops = innermost_loops(part);
            stats
                .loops
                .extend(loops.iter().filter_map(|l| unrolled(part, l, lines)));
        }
        stats.local = local
            .into_iter()
            .map(|(line, accesses)| {
                let known = line.and_then(|line| lines.get(&line));
                LocalAccesses {
                    line,
                    spills: known.is_some_and(|line| !line.may_access_local),
                    ..accesses
                }
            })
            .collect();
        (stats.instructions > 0).then_some(stats)
    }

    /// The number of instructions whose opcode matches a pattern such as `LDG.128`.
    #[must_use]
    pub fn count(&self, pattern: &str) -> u64 {
        let matching = self
            .opcodes
            .iter()
            .filter(|(opcode, _)| matches_opcode(opcode, pattern));
        matching.map(|(_, count)| count).sum()
    }

    /// The number of instructions that ptxas added to access local memory.
    #[must_use]
    pub fn spills(&self) -> u64 {
        let spills = self.local.iter().filter(|accesses| accesses.spills);
        spills
            .map(|accesses| accesses.loads + accesses.stores)
            .sum()
    }

    /// The largest number of copies of a loop; `None` without loops.
    #[must_use]
    pub fn max_copies(&self) -> Option<u64> {
        self.loops.iter().map(|l| l.copies).max()
    }
}

/// The bytes that an access to local memory moves in a thread; `None` for other instructions.
fn local_bytes(instruction: &SassInstruction) -> Option<u64> {
    if !matches!(instruction.base(), "LDL" | "STL") {
        return None;
    }
    let bits = instruction.opcode.split('.').find_map(|modifier| {
        let digits = modifier.trim_start_matches(['U', 'S']);
        digits
            .parse::<u64>()
            .ok()
            .filter(|bits| [8, 16, 32, 64, 128].contains(bits))
    });
    Some(bits.unwrap_or(32) / 8)
}

/// Whether each copy of a loop has the instruction: it neither branches nor spills nor copies registers.
fn is_copied(instruction: &SassInstruction) -> bool {
    !matches!(
        instruction.base(),
        "BRA" | "BSSY" | "BSYNC" | "EXIT" | "WARPSYNC" | "NOP" | "LDL" | "STL" | "MOV" | "UMOV"
    ) && !instruction.opcode.starts_with("IMAD.MOV")
}

/// The facts of a loop with these instructions.
fn unrolled(function: &SassFunction, members: &[usize], lines: &PtxLines) -> Option<UnrolledLoop> {
    let instructions = || members.iter().filter_map(|i| function.instructions.get(*i));
    let mut by_line: BTreeMap<u32, HashMap<&str, u64>> = BTreeMap::new();
    let mut by_loop: BTreeMap<u32, u64> = BTreeMap::new();
    for instruction in instructions() {
        let Some(line) = instruction.line else {
            continue;
        };
        if let Some(line) = lines.get(&line).and_then(|line| line.innermost_loop) {
            *by_loop.entry(line).or_default() += 1;
        }
        if is_copied(instruction) {
            *by_line
                .entry(line)
                .or_default()
                .entry(&instruction.opcode)
                .or_default() += 1;
        }
    }
    // An instruction of PTX may become several ones of the same opcode, but mostly one of some opcode. The number of copies of a line counts as often
    // as the line has instructions, because the counter of a loop has one copy.
    let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
    for opcodes in by_line.values() {
        if let Some(copies) = opcodes.values().copied().min() {
            *counts.entry(copies).or_default() += opcodes.values().sum::<u64>();
        }
    }
    let key = |(copies, count): &(u64, u64)| (*count, std::cmp::Reverse(*copies));
    let copies = counts.into_iter().max_by_key(key);
    Some(UnrolledLoop {
        line: by_loop
            .into_iter()
            .max_by_key(|(line, count)| (*count, std::cmp::Reverse(*line)))
            .map(|(line, _)| line),
        first_address: instructions().next()?.address,
        last_address: instructions().next_back()?.address,
        instructions: members.len() as u64,
        copies: copies.map_or(1, |(copies, _)| copies),
    })
}
