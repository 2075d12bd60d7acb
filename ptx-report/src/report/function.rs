//! The report of one function.

use std::collections::HashMap;

use ptx_analysis::function_analysis::FunctionAnalysis;
use ptx_analysis::source_lines::FunctionLines;
use ptx_analysis::uniformity::{FunctionUniformity, ModuleUniformity};
use ptx_ir::facts::FunctionFacts;
use ptx_ir::{FuncId, Module, Signature, StmtId};

use super::{
    Function, MOST_DRAWN, accesses, blocks, findings, loops, pipeline, pressure, synchronization,
    work,
};
use crate::control_flow::Outline;
use crate::function_stats::Context;
use crate::function_values::FunctionValues;
use crate::register_names::RegisterNames;
use crate::source_frames;

/// Makes the reports of functions.
pub(super) struct Maker<'a> {
    pub(super) context: &'a Context<'a>,
    pub(super) uniformity: &'a ModuleUniformity,
    /// Where functions begin.
    pub(super) starts: &'a HashMap<FuncId, u32>,
    pub(super) linter: &'a ptx_lint::Linter<'a>,
    /// Whether control-flow graphs are drawn.
    pub(super) draws: bool,
}

/// A function with its analyses.
pub(super) struct Of<'a> {
    pub(super) context: &'a Context<'a>,
    pub(super) facts: FunctionFacts<'a>,
    pub(super) analysis: &'a FunctionAnalysis<'a>,
    /// `None` for functions with too many phis.
    pub(super) values: Option<FunctionValues<'a>>,
    pub(super) uniformity: Option<&'a FunctionUniformity>,
    pub(super) names: &'a RegisterNames,
    pub(super) lines: FunctionLines<'a, 'a>,
}

impl Of<'_> {
    pub(super) const fn module(&self) -> &Module {
        self.context.module
    }

    /// The line of a statement in the file.
    pub(super) fn line(&self, stmt: StmtId) -> u32 {
        let at = self.facts.body().source_span(stmt).start;
        self.context.lines.position(at).line
    }

    /// Its line in the original program: `a.cu:11`.
    pub(super) fn source(&self, stmt: StmtId) -> Option<String> {
        source_frames::innermost(&self.lines, stmt)
    }

    /// The mnemonic of an instruction.
    pub(super) fn signature(&self, inst: ptx_ir::InstId) -> Option<Signature<'_>> {
        let inst = self.facts.body().inst(inst)?;
        Some(self.module().signature(inst.sig))
    }
}

impl Maker<'_> {
    pub(super) fn function(&self, id: FuncId, facts: FunctionFacts<'_>) -> Function {
        let (module, body) = (self.context.module, facts.body());
        let analysis = FunctionAnalysis::new(facts);
        let names = RegisterNames::new(module, body, analysis.variables());
        let of = Of {
            context: self.context,
            facts,
            analysis: &analysis,
            values: FunctionValues::new(&analysis),
            uniformity: self.uniformity.function(id),
            names: &names,
            lines: self.context.source_lines.function(body),
        };
        let work = analysis.work();
        let (accesses, adjacent) = accesses::of(&of);
        let pressure_curve = pressure::of(&of);
        let found = self.linter.function_with(&analysis);
        let found = found.unwrap_or_else(|_| self.linter.function(id));
        let is_drawn = self.draws && analysis.cfg().len() <= MOST_DRAWN;
        let start = self.starts.get(&id).copied().unwrap_or(body.base());
        Function {
            line: self.context.lines.position(start).line,
            stats: self.context.function(&analysis),
            parameter_bytes: synchronization::parameter_bytes(module, id),
            synchronization: synchronization::of(&of),
            loops: loops::of(&of, work),
            blocks: blocks::of(&of, &pressure_curve),
            drawing: is_drawn.then(|| Outline::new(&analysis, blocks::widths(&of))),
            edges: blocks::edges(&of),
            pipelines: pipeline::of(&of),
            findings: findings::of(&of, found),
            work: work::FunctionWork::new(work, &of),
            pressure_curve,
            accesses,
            adjacent,
        }
    }
}
