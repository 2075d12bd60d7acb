//! `ptxkit/controlFlow`: the control-flow graph of a function as a picture, and what its blocks have to do with the text.

use std::collections::HashMap;

use lsp_types::Range;
use ptx_analysis::cfg::{Block as BasicBlock, BlockId};
use ptx_analysis::function_analysis::FunctionAnalysis;
use ptx_analysis::liveness::LiveSet;
use ptx_analysis::pressure::Pressure;
use ptx_analysis::source_lines::SourceLines;
use ptx_analysis::uniformity::{FunctionUniformity, ModuleUniformity};
use ptx_ir::facts::{FunctionFacts, ModuleFacts};
use ptx_ir::{Body, Span};
use ptx_lint::Finding;
use ptx_report::basic_blocks::BasicBlocks;
use ptx_report::control_flow::{self, Details, Graph, Theme};
use ptx_report::register_names::RegisterNames;
use serde::Serialize;

use super::{About, function};
use crate::document::Document;
use crate::message::{Failure, code};
use crate::register_value::MOST_BYTES;

/// The most instructions of a block that the picture shows.
const MOST_INSTRUCTIONS: usize = 12;

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
    /// From its first statement to its last one.
    range: Range,
    /// The names of the registers that are live at its beginning; `None` if there are too many in the function.
    live_in: Option<Vec<String>>,
    live_out: Option<Vec<String>>,
    /// The most live registers at one of its instructions, in units of 32 bits.
    pressure: u32,
    loop_depth: u32,
    /// The largest group of threads of which all execute it or none: `grid`, `cluster`, `cta`, `warp` or `varying`; `None` if the document is too large.
    uniform: Option<&'static str>,
    /// The largest group whose threads go on to the same place.
    branch: Option<&'static str>,
    /// The names of the lints that report something in it.
    lints: Vec<&'static str>,
}

/// Of the function that the parameters name.
pub(super) fn control_flow(document: &Document, about: &About) -> Result<ControlFlow, Failure> {
    let module = document.module();
    let id = function(module, about)?;
    let theme = about.theme.as_deref().unwrap_or("automatic");
    let theme: Result<Theme, _> = theme.parse();
    let theme = theme.map_err(|e| Failure::new(code::INVALID_PARAMS, e.to_string()))?;
    let whole = module.source().len() <= MOST_BYTES;
    let facts = ModuleFacts::of(module, |f| whole || f == id);
    let uniformity = whole.then(|| ModuleUniformity::new(&facts));
    let uniformity = uniformity.as_ref().and_then(|u| u.function(id));
    let failed = |why: String| Failure::new(code::REQUEST_FAILED, why);
    let no_facts = || failed("the function has no facts".to_owned());
    let facts = facts.function(id).ok_or_else(no_facts)?;
    let analysis = FunctionAnalysis::new(facts);
    let lines = SourceLines::new(module);
    let name = module.functions()[id].name;
    let graph = Graph::new(document.uri.as_str(), &lines, facts, &analysis, name);
    let details = Details::new(&lines, facts, &analysis);
    let mut svg = Vec::new();
    control_flow::svg(&graph, &details, MOST_INSTRUCTIONS, theme, &mut svg)
        .map_err(|e| failed(e.to_string()))?;
    Ok(ControlFlow {
        svg: String::from_utf8_lossy(&svg).into_owned(),
        blocks: blocks(document, facts, &analysis, uniformity),
    })
}

/// Those with statements, in the order of the text.
fn blocks(
    document: &Document,
    facts: FunctionFacts<'_>,
    analysis: &FunctionAnalysis,
    uniformity: Option<&FunctionUniformity>,
) -> Vec<Block> {
    let (module, body) = (document.module(), facts.body());
    let basic = BasicBlocks::new(module, body, analysis);
    let names = RegisterNames::new(module, body, analysis.variables());
    let listed = |live: LiveSet<'_>| {
        let list = || live.iter().map(|v| names.get(v).to_owned()).collect();
        basic.has_live_lists().then(list)
    };
    let pressure = pressures(facts, analysis);
    let findings = document.lint_findings();
    let block = |(id, block): (BlockId, &BasicBlock)| Block {
        id: id.as_u32(),
        range: document.range(extent(body, block)),
        live_in: listed(analysis.liveness().live_in(id)),
        live_out: listed(analysis.liveness().live_out(id)),
        pressure: pressure.get(&id).copied().unwrap_or(0),
        loop_depth: analysis.loops().depth(id),
        uniform: uniformity.map(|u| u.block(id).name()),
        branch: uniformity.map(|u| u.branch(id).name()),
        lints: lints_in(&findings, extent(body, block)),
    };
    basic.iter().map(block).collect()
}

/// The names of the lints with findings in a part of the text, each once. Findings are in the order of the text.
fn lints_in(findings: &[&Finding], extent: Span) -> Vec<&'static str> {
    let start = |f: &&Finding| f.diagnostic.span.start;
    let first = findings.partition_point(|f| start(f) < extent.start);
    let inside = findings.iter().skip(first);
    let inside = inside.take_while(|f| start(f) < extent.end);
    let mut names: Vec<&str> = inside.map(|f| f.lint.name()).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// From the first statement of a block to its last one; the beginning of the body for a block without statements.
fn extent(body: &Body, block: &BasicBlock) -> Span {
    let mut statements = body.range(block.first, block.end);
    let first = statements.next().map(|(stmt, _)| body.source_span(stmt));
    let last = statements
        .next_back()
        .map(|(stmt, _)| body.source_span(stmt));
    let start = Span::new(body.base() + 1, body.base() + 1);
    first.map_or(start, |first| first.join(last.unwrap_or(first)))
}

/// The most live registers in each block.
fn pressures(facts: FunctionFacts<'_>, analysis: &FunctionAnalysis) -> HashMap<BlockId, u32> {
    let (cfg, body) = (analysis.cfg(), facts.body());
    let mut block_of = HashMap::new();
    for (id, block) in cfg.blocks() {
        let statements = body.range(block.first, block.end);
        block_of.extend(statements.map(|(stmt, _)| (stmt, id)));
    }
    let mut most: HashMap<BlockId, u32> = HashMap::new();
    let (variables, liveness) = (analysis.variables(), analysis.liveness());
    Pressure::visit(facts, cfg, variables, liveness, &mut |point| {
        if let Some(block) = block_of.get(&point.stmt) {
            let most = most.entry(*block).or_insert(0);
            *most = point.units.max(*most);
        }
    });
    most
}
