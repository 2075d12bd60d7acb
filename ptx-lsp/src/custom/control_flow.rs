//! `ptxkit/controlFlow`: the control-flow graph of a function as a picture, with the ranges and properties of its blocks.

use std::collections::HashMap;

use lsp_types::Range;
use ptx_analysis::cfg::{Block as BasicBlock, BlockId};
use ptx_analysis::function_analysis::FunctionAnalysis;
use ptx_analysis::liveness::LiveSet;
use ptx_analysis::pressure::Pressure;
use ptx_analysis::source_lines::SourceLines;
use ptx_analysis::uniformity::{FunctionUniformity, ModuleUniformity};
use ptx_ir::facts::ModuleFacts;
use ptx_ir::{Body, Span};
use ptx_lint::Finding;
use ptx_report::basic_blocks::BasicBlocks;
use ptx_report::control_flow::{self, Details, Graph, Theme};
use ptx_report::register_names::RegisterNames;
use serde::Serialize;

use super::{FunctionParams, function};
use crate::analysis_text::MAX_WHOLE_MODULE;
use crate::document::Document;
use crate::message::{Failure, code};

/// The maximum number of instructions of a block that the picture shows.
const MAX_INSTRUCTIONS: usize = 12;

/// A function as a graph.
#[derive(Serialize)]
pub(super) struct ControlFlow {
    /// The picture; the element of a block has the attribute `data-block` with its number.
    svg: String,
    blocks: Vec<Block>,
}

/// A basic block.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Block {
    id: u32,
    /// The range from its first statement to its last one.
    range: Range,
    /// The names of the registers that are live at its beginning; `None` if the lists of all blocks are too long.
    live_in: Option<Vec<String>>,
    /// The names of the registers that are live at its end.
    live_out: Option<Vec<String>>,
    /// The maximum number of live registers at an instruction, in units of 32 bits.
    pressure: u32,
    loop_depth: u32,
    /// The largest group of threads of which either all or none execute the block: `grid`, `cluster`, `cta`, `warp` or `varying`; `None` if the document is
    /// too large.
    uniform: Option<&'static str>,
    /// The largest group of threads that all continue with the same block.
    branch: Option<&'static str>,
    /// The names of the lints with findings in the block.
    lints: Vec<&'static str>,
}

/// The control flow of the function that the parameters name.
pub(super) fn control_flow(
    document: &Document,
    params: &FunctionParams,
) -> Result<ControlFlow, Failure> {
    let module = document.module();
    let id = function(module, params)?;
    let theme = params
        .theme
        .as_deref()
        .unwrap_or("automatic")
        .parse::<Theme>()
        .map_err(|error| Failure::new(code::INVALID_PARAMS, error.to_string()))?;
    let is_whole_module = module.source().len() <= MAX_WHOLE_MODULE;
    let facts = ModuleFacts::of(module, |f| is_whole_module || f == id);
    let uniformity = is_whole_module.then(|| ModuleUniformity::new(&facts));
    let Some(facts) = facts.function(id) else {
        let message = "the function has no facts";
        return Err(Failure::new(code::REQUEST_FAILED, message));
    };
    let analysis = FunctionAnalysis::new(facts);
    let lines = SourceLines::new(module);
    let name = module.functions()[id].name;
    let graph = Graph::new(document.uri.as_str(), &lines, &analysis, name);
    let details = Details::new(&lines, &analysis);
    let mut svg = Vec::new();
    control_flow::svg(&graph, &details, MAX_INSTRUCTIONS, theme, &mut svg)
        .map_err(|e| Failure::new(code::REQUEST_FAILED, e.to_string()))?;
    let uniformity = uniformity.as_ref().and_then(|u| u.function(id));
    Ok(ControlFlow {
        svg: String::from_utf8_lossy(&svg).into_owned(),
        blocks: blocks(document, &analysis, uniformity),
    })
}

/// The blocks with statements, in the order of the text.
fn blocks(
    document: &Document,
    analysis: &FunctionAnalysis<'_>,
    uniformity: Option<&FunctionUniformity>,
) -> Vec<Block> {
    let (module, body) = (document.module(), analysis.body());
    let blocks = BasicBlocks::new(analysis);
    let names = RegisterNames::new(module, body, analysis.variables());
    let list_names = |live: LiveSet<'_>| {
        blocks
            .has_live_lists()
            .then(|| live.iter().map(|v| names.get(v).to_owned()).collect())
    };
    let pressure = block_pressures(analysis);
    let findings = document.lint_findings();
    blocks
        .iter()
        .map(|(id, block)| {
            let span = block_span(body, block);
            Block {
                id: id.as_u32(),
                range: document.range(span),
                live_in: list_names(analysis.liveness().live_in(id)),
                live_out: list_names(analysis.liveness().live_out(id)),
                pressure: pressure.get(&id).copied().unwrap_or(0),
                loop_depth: analysis.loops().depth(id),
                uniform: uniformity.map(|u| u.block(id).name()),
                branch: uniformity.map(|u| u.branch(id).name()),
                lints: lints_in(&findings, span),
            }
        })
        .collect()
}

/// The names of the lints with findings that begin in a span, each once. `findings` are in the order of the text.
fn lints_in(findings: &[&Finding], span: Span) -> Vec<&'static str> {
    let first = findings.partition_point(|f| f.diagnostic.span.start < span.start);
    let mut names: Vec<&str> = findings
        .iter()
        .skip(first)
        .take_while(|f| f.diagnostic.span.start < span.end)
        .map(|f| f.lint.name())
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// The span from the first statement of a block to its last one; empty, at the beginning of the body, for a block without statements.
fn block_span(body: &Body, block: &BasicBlock) -> Span {
    let mut spans = body
        .range(block.first, block.end)
        .map(|(stmt, _)| body.source_span(stmt));
    match spans.next() {
        Some(first) => first.join(spans.next_back().unwrap_or(first)),
        None => Span::new(body.base() + 1, body.base() + 1),
    }
}

/// The maximum number of live registers in each block, in units of 32 bits.
fn block_pressures(analysis: &FunctionAnalysis<'_>) -> HashMap<BlockId, u32> {
    let (cfg, body) = (analysis.cfg(), analysis.body());
    let mut block_of = HashMap::new();
    for (id, block) in cfg.blocks() {
        let statements = body.range(block.first, block.end);
        block_of.extend(statements.map(|(stmt, _)| (stmt, id)));
    }
    let mut pressures: HashMap<BlockId, u32> = HashMap::new();
    Pressure::visit(analysis, &mut |point| {
        if let Some(block) = block_of.get(&point.stmt) {
            let pressure = pressures.entry(*block).or_insert(0);
            *pressure = point.units.max(*pressure);
        }
    });
    pressures
}
