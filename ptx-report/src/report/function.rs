//! The report of one function.

use std::collections::HashMap;

use ptx_analysis::function_analysis::FunctionAnalysis;
use ptx_analysis::uniformity::ModuleUniformity;
use ptx_ir::facts::FunctionFacts;
use ptx_ir::{FuncId, Module};

use super::accesses::ListedAccesses;
use super::blocks::{self, Curve};
use super::context::FunctionContext;
use super::findings::Finding;
use super::synchronization::Synchronization;
use super::work::{self, FunctionWork};
use super::{Drawings, Function, MAX_DRAWN_BLOCKS, pipeline};
use crate::control_flow::Outline;
use crate::function_stats::ModuleContext;
use crate::function_values::FunctionValues;
use crate::register_names::RegisterNames;

/// Creates the reports of the functions of a module.
pub(super) struct Reporter<'a> {
    pub(super) module_context: &'a ModuleContext<'a>,
    pub(super) uniformity: &'a ModuleUniformity,
    /// The offset of the start of each function.
    pub(super) starts: &'a HashMap<FuncId, u32>,
    pub(super) linter: &'a ptx_lint::Linter<'a>,
    pub(super) drawings: Drawings,
}

impl Reporter<'_> {
    pub(super) fn function(&self, id: FuncId, facts: FunctionFacts<'_>) -> Function {
        let (module, body) = (self.module_context.module, facts.body());
        let analysis = FunctionAnalysis::new(facts);
        let names = RegisterNames::new(module, body, analysis.variables());
        let function = FunctionContext {
            module_context: self.module_context,
            facts,
            analysis: &analysis,
            values: FunctionValues::new(&analysis),
            uniformity: self.uniformity.function(id),
            names: &names,
            lines: self.module_context.source_lines.function(body),
        };
        let work = analysis.work();
        let ListedAccesses { accesses, adjacent } = ListedAccesses::new(&function);
        let pressure_curve = Curve::new(&function);
        let findings = self
            .linter
            .function_with(&analysis)
            .unwrap_or_else(|_| self.linter.function(id));
        let is_drawn =
            self.drawings == Drawings::Included && analysis.cfg().len() <= MAX_DRAWN_BLOCKS;
        let start = self.starts.get(&id).copied().unwrap_or(body.base());
        Function {
            line: self.module_context.lines.position(start).line,
            stats: self.module_context.function(&analysis),
            occupancy: None,
            estimate: None,
            parameter_bytes: parameter_bytes(module, id),
            synchronization: Synchronization::new(&function),
            loops: work::loops(&function, work),
            blocks: blocks::blocks(&function, &pressure_curve),
            drawing: is_drawn.then(|| Outline::new(&analysis, blocks::text_lengths(&function))),
            edges: blocks::edges(&function),
            pipelines: pipeline::pipelines(&function),
            findings: findings
                .into_iter()
                .map(|finding| Finding::new(finding, &function))
                .collect(),
            work: FunctionWork::new(work, &function),
            pressure_curve,
            accesses,
            adjacent,
        }
    }
}

/// The bytes of the parameters of a function, each at its alignment; `None` if the size of one is not known.
fn parameter_bytes(module: &Module, id: FuncId) -> Option<u64> {
    let interface = module.functions().get(id)?.interface;
    interface
        .params
        .of(module.params())
        .iter()
        .try_fold(0u64, |end, param| {
            let layout = param.layout(module.pool())?;
            let start = end.checked_next_multiple_of(layout.align.max(1))?;
            start.checked_add(layout.size?)
        })
}
