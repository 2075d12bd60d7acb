//! Details in drawings besides the graph: loops, and the source line and live registers of each instruction.

use std::collections::HashMap;

use ptx_analysis::function_analysis::FunctionAnalysis;
use ptx_analysis::graph::LoopId;
use ptx_analysis::pressure::Pressure;
use ptx_analysis::reg_lanes::VariableId;
use ptx_analysis::source_lines::SourceLines;
use ptx_ir::{EntityId, LineIndex, Statement};
use serde::Serialize;

use super::layout::Loop;
use crate::basic_blocks::live_lists_fit;
use crate::demangle::short_text;
use crate::register_names::RegisterNames;
use crate::sass::Disassembly;
use crate::source_frames::{self, frames};

/// Details that [`svg`](super::svg) and [`html`](super::html) show besides the graph: loops, source lines and live registers.
#[derive(Debug)]
pub struct Details {
    /// The natural loops, the outer ones first.
    pub(super) loops: Vec<Loop>,
    /// The index of the innermost loop of each block.
    pub(super) innermost: Vec<Option<usize>>,
    /// The instructions of each block.
    pub(super) insts: Vec<Vec<Inst>>,
    /// The distinct source lines of the function.
    pub(super) sources: Vec<SourceLine>,
    /// The names of all registers.
    pub(super) registers: Vec<String>,
    /// The registers that are live at the end of each block; empty if there are too many to list.
    pub(super) live_out: Vec<Vec<u32>>,
    /// The maximum number of live registers, in units of 32 bits.
    pub(super) units: u32,
}

/// An instruction, as the viewer reads it.
#[derive(Debug, Serialize, Default)]
pub(super) struct Inst {
    /// The index of its source line.
    pub(super) source: Option<usize>,
    /// The number of live registers, in units of 32 bits.
    pub(super) units: u32,
    /// The registers that are live after the instruction, but not before it.
    pub(super) written: Vec<u32>,
    /// The registers that are live before the instruction, but not after it.
    pub(super) read: Vec<u32>,
    /// The machine instructions that come from its line of the file.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) sass: Vec<String>,
    /// The offset in the file.
    #[serde(skip)]
    start: u32,
}

#[derive(Debug, Serialize, Clone, PartialEq, Eq, Hash)]
pub(super) struct SourceLine {
    /// `a.cu:11`
    pub(super) short: String,
    /// The text with directories, and with the calls that were inlined.
    pub(super) full: String,
}

impl Details {
    /// Adds the machine code of the function `name`, which pages show with each instruction. `lines` are those of the file. If several instructions are in a line of the file, the first one
    /// has the machine code of all.
    pub fn add_machine_code(&mut self, name: &str, disassembly: &Disassembly, lines: &LineIndex) {
        let mut machine_code = disassembly.by_line(name);
        for inst in self.insts.iter_mut().flatten() {
            let instructions = machine_code
                .remove(&lines.position(inst.start).line)
                .unwrap_or_default();
            let texts = instructions.iter().map(|instruction| {
                let text = instruction.text();
                format!("{:04x}  {}", instruction.address, short_text(&text))
            });
            inst.sass = texts.collect();
        }
    }

    /// Collects the details of a function. `lines` are the source lines of its module.
    #[must_use]
    pub fn new(lines: &SourceLines<'_>, analysis: &FunctionAnalysis<'_>) -> Self {
        let (cfg, body) = (analysis.cfg(), analysis.body());
        let source_lines = lines.function(body);
        let mut sources = Interner::default();
        let mut insts = Vec::with_capacity(cfg.len());
        // The block of each instruction, and its index there.
        let mut positions = HashMap::new();
        for (block, (_, info)) in cfg.blocks().enumerate() {
            let mut block_insts = Vec::new();
            for (stmt, statement) in body.range(info.first, info.end) {
                if matches!(statement, Statement::Inst(_) | Statement::Opaque(_)) {
                    positions.insert(stmt, (block, block_insts.len()));
                    let source = sources.intern(&frames(&source_lines, stmt));
                    block_insts.push(Inst {
                        source,
                        start: body.source_span(stmt).start,
                        ..Inst::default()
                    });
                }
            }
            insts.push(block_insts);
        }
        let pressure = Pressure::visit(analysis, &mut |point| {
            if let Some(&(block, index)) = positions.get(&point.stmt) {
                let inst = &mut insts[block][index];
                inst.units = point.units;
                inst.written = numbers(point.written.iter().copied());
                inst.read = numbers(point.read.iter().copied());
            }
        });
        let loops = analysis.loops();
        let index = |id: LoopId| id.as_u32() as usize;
        let live_out = if live_lists_fit(analysis, body.statement_table().len()) {
            cfg.blocks()
                .map(|(id, _)| numbers(analysis.liveness().live_out(id).iter()))
                .collect()
        } else {
            Vec::new()
        };
        Self {
            loops: loops
                .iter()
                .map(|(_, info)| Loop {
                    parent: info.parent().map(index),
                    header: info.header().index(),
                })
                .collect(),
            innermost: cfg
                .blocks()
                .map(|(id, _)| loops.innermost(id).map(index))
                .collect(),
            insts,
            sources: sources.lines,
            registers: RegisterNames::new(lines.module(), body, analysis.variables())
                .iter()
                .map(str::to_owned)
                .collect(),
            live_out,
            units: pressure.units,
        }
    }
}

/// The numbers of variables, which are indices in [`Details::registers`].
fn numbers(variables: impl IntoIterator<Item = VariableId>) -> Vec<u32> {
    variables.into_iter().map(VariableId::as_u32).collect()
}

/// The distinct source lines, and the index of each.
#[derive(Default)]
struct Interner {
    lines: Vec<SourceLine>,
    indices: HashMap<SourceLine, usize>,
}

impl Interner {
    /// Returns the index of the source line of an instruction, and adds the line if it is new.
    fn intern(&mut self, frames: &[source_frames::JsonFrame]) -> Option<usize> {
        let line = SourceLine {
            short: frames.first()?.short(),
            full: source_frames::text(frames),
        };
        let lines = &mut self.lines;
        Some(*self.indices.entry(line).or_insert_with_key(|line| {
            lines.push(line.clone());
            lines.len() - 1
        }))
    }
}
