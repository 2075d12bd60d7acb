//! Factors that limit the performance of the functions of a module: resources, work by loops, memory accesses, live registers, asynchronous
//! operations, divergence.
//!
//! The report is static: numbers apply to a warp with 32 active lanes ([`ptx_analysis::work`]).

mod accesses;
mod blocks;
mod context;
mod findings;
mod function;
mod pipeline;
mod synchronization;
mod work;

use std::collections::HashMap;

use ptx_analysis::function_analysis::map_functions;
use ptx_analysis::uniformity::ModuleUniformity;
use ptx_ir::facts::ModuleFacts;
use ptx_ir::{FuncId, Module};
use serde::Serialize;

use crate::SCHEMA;
use crate::control_flow::Outline;
use crate::current_text::CurrentText;
use crate::function_stats::{FunctionStats, ModuleContext};
use crate::launch_estimate::{Launch, LaunchEstimate};
use crate::occupancy::{KernelOccupancy, LaunchSizes};

pub use accesses::Access;
pub use blocks::{Block, Curve, Edge};
pub use findings::Finding;
pub use pipeline::{InFlight, Pipeline, Step};
pub use synchronization::Synchronization;
pub use work::{Factor, FunctionWork, Loop, Memory, Part, Work};

/// The assumed value of symbolic trip counts in sums of work.
pub const ASSUMED_TRIPS: u64 = 100;

/// The report of a module.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The file, as the caller named it.
    pub file: String,
    /// The PTX version of the header.
    pub ptx: Option<String>,
    /// The target of the header.
    pub target: Option<String>,
    /// The assumed value of symbolic trip counts in the field `total` of the work.
    pub assumed_trips: u64,
    /// The functions with a body, in the order of the text.
    pub functions: Vec<Function>,
}

/// The report of a function.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Function {
    /// The line of its start.
    pub line: u32,
    /// The statistics, as in `ptxkit stats`.
    pub stats: FunctionStats,
    /// The CTAs and warps that a multiprocessor runs at the same time; `None` if the limits of the target or the size of a CTA are not known.
    pub occupancy: Option<KernelOccupancy>,
    /// What a launch takes on a device, if one was given and the number of threads of a CTA is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimate: Option<LaunchEstimate>,
    /// The size of its parameters in bytes; `None` if the size of one is unknown.
    pub parameter_bytes: Option<u64>,
    /// Barriers, mbarrier objects and fences.
    pub synchronization: Synchronization,
    /// The number of live registers at each instruction.
    pub pressure_curve: Curve,
    /// The work of the function.
    pub work: FunctionWork,
    /// The natural loops, outer ones before inner ones.
    pub loops: Vec<Loop>,
    /// The memory accesses, except those to parameters.
    pub accesses: Vec<Access>,
    /// The indices of accesses that could be combined into vector accesses.
    pub adjacent: Vec<Vec<usize>>,
    /// The asynchronous operations of loops, and those outside of loops.
    pub pipelines: Vec<Pipeline>,
    /// The findings of lints.
    pub findings: Vec<Finding>,
    /// The basic blocks, in the order of the text.
    pub blocks: Vec<Block>,
    /// The edges between them.
    pub edges: Vec<Edge>,
    /// The positions of its blocks in a drawing, if requested and if there are few enough.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drawing: Option<Outline>,
}

/// The largest number of blocks of a function that is drawn.
const MAX_DRAWN_BLOCKS: usize = 400;

impl Report {
    /// Creates the report of the selected functions of a module. An edited or built module is printed: lines are lines of the text as it is now.
    ///
    /// ```
    /// use ptx_analysis::memory_access::Pattern;
    /// use ptx_report::report::Report;
    /// let module = ptx_parse::parse(
    ///     b".version 8.0\n.target sm_80\n.address_size 64\n.entry k(.param .u64 p) { .reg .b32 t; .reg .b64 a, d;\n\
    ///     ld.param.u64 a, [p]; mov.u32 t, %tid.x; mad.wide.u32 d, t, 8, a; ld.global.b32 t, [d]; ret; }",
    /// ).module;
    /// let report = Report::new("a.ptx", &module, |_| true);
    /// let access = &report.functions[0].accesses[0];
    /// let coalescing = access.coalescing.as_ref().unwrap();
    /// assert!(matches!(*coalescing.pattern, Pattern::Strided(_)));
    /// assert_eq!(coalescing.sectors, Some(8));
    /// ```
    #[must_use]
    pub fn new(file: &str, module: &Module, is_selected: impl Fn(FuncId) -> bool + Sync) -> Self {
        Self::build(file, module, is_selected, Drawings::Omitted)
    }

    /// Creates a report like [`new`](Self::new), with drawings of the control-flow graphs.
    #[must_use]
    pub fn with_drawings(
        file: &str,
        module: &Module,
        is_selected: impl Fn(FuncId) -> bool + Sync,
    ) -> Self {
        Self::build(file, module, is_selected, Drawings::Included)
    }

    /// Uses the sizes of a launch for the occupancy of all kernels.
    pub fn set_launch(&mut self, launch: LaunchSizes) {
        let target = self.target.as_deref().unwrap_or_default();
        for function in &mut self.functions {
            function.stats.set_launch(target, launch);
            // The report has it beside the statistics.
            function.occupancy = function.stats.occupancy.take();
        }
    }

    /// Estimates what a launch of each kernel takes, after the sizes of the launch are [set](Self::set_launch).
    ///
    /// ```
    /// use ptx_report::launch_estimate::{Device, Launch};
    /// use ptx_report::report::Report;
    /// let text = b".version 8.0\n.target sm_80\n.address_size 64\n.entry k() .reqntid 256 { ret; }";
    /// let module = ptx_parse::parse(text).module;
    /// let mut report = Report::new("a.ptx", &module, |_| true);
    /// report.set_estimate(&Launch::new(Device::of_target("sm_80").unwrap(), 108 * 4));
    /// assert_eq!(report.functions[0].estimate.as_ref().unwrap().waves, Some(0.5));
    /// ```
    pub fn set_estimate(&mut self, launch: &Launch) {
        for function in &mut self.functions {
            function.estimate = LaunchEstimate::new(function, launch);
        }
    }

    fn build(
        file: &str,
        module: &Module,
        is_selected: impl Fn(FuncId) -> bool + Sync,
        drawings: Drawings,
    ) -> Self {
        let text = CurrentText::new(module);
        let (module, is_selected) = (text.module(), |id| is_selected(text.original(id)));
        let facts = ModuleFacts::new(module);
        let starts: HashMap<FuncId, u32> = module
            .items()
            .filter_map(|(item, content)| match content {
                ptx_ir::Item::Function(id) => Some((id, module.span(item).start)),
                _ => None,
            })
            .collect();
        let options = ptx_lint::LintOptions::default();
        let reporter = function::Reporter {
            module_context: &ModuleContext::new(module),
            uniformity: &ModuleUniformity::new(&facts),
            starts: &starts,
            linter: &ptx_lint::Linter::new(&facts, &options),
            drawings,
        };
        // The reports are large and moved twice, hence the boxes.
        let reports = map_functions(&facts, |id, function_facts| {
            is_selected(id).then(|| Box::new(reporter.function(id, function_facts)))
        });
        let mut functions = Vec::with_capacity(reports.iter().flatten().count());
        functions.extend(reports.into_iter().flatten().map(|report| *report));
        let header = module.header();
        let mut report = Self {
            schema: SCHEMA,
            file: file.to_owned(),
            ptx: header.version.map(|v| v.to_string()),
            target: header.target.map(|t| t.text().to_owned()),
            assumed_trips: ASSUMED_TRIPS,
            functions,
        };
        report.set_launch(LaunchSizes::default());
        report
    }
}

/// Whether the reports of functions contain drawings of their control-flow graphs.
#[derive(Copy, Clone, PartialEq)]
enum Drawings {
    Omitted,
    Included,
}
