//! Details in drawings besides the graph: loops, and the source line and live registers of each instruction.

use std::collections::HashMap;

use ptx_analysis::cfg::BlockId;
use ptx_analysis::function_analysis::FunctionAnalysis;
use ptx_analysis::graph::LoopId;
use ptx_analysis::pressure::Pressure;
use ptx_analysis::reg_lanes::VariableId;
use ptx_analysis::source_lines::SourceLines;
use ptx_ir::{EntityId, Statement};
use serde::Serialize;

use super::layout::Loop;
use crate::live_lists::live_lists_fit;
use crate::register_names::RegisterNames;
use crate::source_frames::{self, frames};

/// Details that [`svg`](super::svg) and [`html`](super::html) show besides the graph: loops, source lines and live registers.
#[derive(Debug)]
pub struct Details {
    /// The natural loops, the outer ones first.
    pub(super) loops: Vec<Loop>,
    /// The innermost loop of each block.
    pub(super) innermost: Vec<Option<usize>>,
    /// The instructions of each block.
    pub(super) insts: Vec<Vec<Inst>>,
    pub(super) sources: Vec<SourceLine>,
    pub(super) registers: Vec<String>,
    /// The registers that are live at the end of each block; empty if there are too many to list.
    pub(super) live_out: Vec<Vec<u32>>,
    /// The maximum number of live registers, in units of 32 bits.
    pub(super) units: u32,
}

/// An instruction.
#[derive(Debug, Serialize, Default)]
pub(super) struct Inst {
    /// The index of its source line.
    pub(super) source: Option<usize>,
    pub(super) units: u32,
    /// The registers that are live only after the instruction, and only before it.
    pub(super) written: Vec<u32>,
    pub(super) read: Vec<u32>,
}

#[derive(Debug, Serialize, Clone, PartialEq, Eq, Hash)]
pub(super) struct SourceLine {
    /// `a.cu:11`
    pub(super) short: String,
    /// With directories and calls that were inlined.
    pub(super) full: String,
}

impl Details {
    /// Of a function; `lines` are those of its module.
    #[must_use]
    pub fn new(lines: &SourceLines<'_>, analysis: &FunctionAnalysis<'_>) -> Self {
        let (cfg, body) = (analysis.cfg(), analysis.body());
        let source_lines = lines.function(body);
        let mut sources = Interner::default();
        let mut insts = Vec::with_capacity(cfg.len());
        let mut index_of = HashMap::new();
        for (block, (_, info)) in cfg.blocks().enumerate() {
            let mut list = Vec::new();
            for (stmt, statement) in body.range(info.first, info.end) {
                if matches!(statement, Statement::Inst(_) | Statement::Opaque(_)) {
                    index_of.insert(stmt, (block, list.len()));
                    let source = sources.of(&frames(&source_lines, stmt));
                    list.push(Inst {
                        source,
                        ..Inst::default()
                    });
                }
            }
            insts.push(list);
        }
        let names = RegisterNames::new(lines.module(), body, analysis.variables());
        let is_listed = live_lists_fit(analysis, body.statement_table().len());
        let pressure = Pressure::visit(analysis, &mut |point| {
            if let Some(&(block, inst)) = index_of.get(&point.stmt) {
                let inst = &mut insts[block][inst];
                inst.units = point.units;
                inst.written = numbers(point.written.iter().copied());
                inst.read = numbers(point.read.iter().copied());
            }
        });
        let loops = analysis.loops();
        let number = |id: LoopId| id.as_u32() as usize;
        let of_loop = |(_, info): (_, &ptx_analysis::graph::Loop<BlockId>)| Loop {
            parent: info.parent().map(number),
            header: info.header().index(),
        };
        let ids = cfg.blocks().map(|(id, _)| id);
        let live_out = ids
            .clone()
            .map(|id| numbers(analysis.liveness().live_out(id)));
        Self {
            loops: loops.iter().map(of_loop).collect(),
            innermost: ids.map(|id| loops.innermost(id).map(number)).collect(),
            insts,
            sources: sources.lines,
            registers: names.iter().map(str::to_owned).collect(),
            live_out: if is_listed {
                live_out.collect()
            } else {
                Vec::new()
            },
            units: pressure.units,
        }
    }
}

/// The numbers of variables, which are indices in [`Details::registers`].
fn numbers(variables: impl IntoIterator<Item = VariableId>) -> Vec<u32> {
    variables.into_iter().map(VariableId::as_u32).collect()
}

/// Source lines by their text.
#[derive(Default)]
struct Interner {
    lines: Vec<SourceLine>,
    known: HashMap<SourceLine, usize>,
}

impl Interner {
    fn of(&mut self, frames: &[source_frames::JsonFrame]) -> Option<usize> {
        let line = SourceLine {
            short: frames.first()?.short(),
            full: source_frames::text(frames),
        };
        let lines = &mut self.lines;
        Some(*self.known.entry(line).or_insert_with_key(|line| {
            lines.push(line.clone());
            lines.len() - 1
        }))
    }
}
