//! A function with its analyses, from which the parts of its report are made.

use ptx_analysis::function_analysis::FunctionAnalysis;
use ptx_analysis::graph::LoopId;
use ptx_analysis::source_lines::FunctionLines;
use ptx_analysis::uniformity::FunctionUniformity;
use ptx_ir::facts::FunctionFacts;
use ptx_ir::{InstId, Module, StmtId};

use crate::function_stats::ModuleContext;
use crate::function_values::{FunctionValues, TripCount};
use crate::register_names::RegisterNames;
use crate::source_frames;

/// A function with its analyses.
pub(super) struct FunctionContext<'a> {
    pub(super) module_context: &'a ModuleContext<'a>,
    pub(super) facts: FunctionFacts<'a>,
    pub(super) analysis: &'a FunctionAnalysis<'a>,
    /// `None` for functions with too many phis.
    pub(super) values: Option<FunctionValues<'a>>,
    pub(super) uniformity: Option<&'a FunctionUniformity>,
    pub(super) names: &'a RegisterNames,
    pub(super) lines: FunctionLines<'a, 'a>,
}

impl FunctionContext<'_> {
    pub(super) const fn module(&self) -> &Module {
        self.module_context.module
    }

    /// The line of a statement in the file.
    pub(super) fn line(&self, stmt: StmtId) -> u32 {
        let offset = self.facts.body().source_span(stmt).start;
        self.module_context.lines.position(offset).line
    }

    /// The line of a statement in the original program: `a.cu:11`.
    pub(super) fn source(&self, stmt: StmtId) -> Option<String> {
        source_frames::innermost(&self.lines, stmt)
    }

    /// The opcode and the modifiers of an instruction.
    pub(super) fn mnemonic(&self, inst: InstId) -> String {
        match self.facts.body().inst(inst) {
            Some(inst) => self.module().signature(inst.sig).text().to_owned(),
            None => String::new(),
        }
    }

    /// The trip count of a loop, if anything is known about it.
    pub(super) fn trip_count(&self, id: LoopId) -> Option<TripCount> {
        let values = self.values?;
        values.trip_count(id, &values.text(self.names))
    }
}
