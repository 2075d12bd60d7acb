//! What all pictures of a graph show.

use ptx_analysis::cfg::{BlockId, Edge, EdgeKind};
use ptx_analysis::function_analysis::FunctionAnalysis;
use ptx_ir::facts::FunctionFacts;
use ptx_ir::{Module, NameId, Statement, StmtId};
use serde::Serialize;

use crate::render::{SCHEMA, clean};

/// A function as text in boxes.
#[derive(Serialize)]
pub(crate) struct Picture {
    schema: u32,
    file: String,
    pub(crate) function: String,
    pub(crate) blocks: Vec<Node>,
    pub(crate) edges: Vec<Arrow>,
}

/// A block.
#[derive(Serialize)]
pub(crate) struct Node {
    pub(crate) id: u32,
    pub(crate) label: Option<String>,
    /// Its instructions, one a line.
    pub(crate) text: Vec<String>,
    pub(crate) exits: bool,
    pub(crate) unknown: bool,
    pub(crate) hub: bool,
    pub(crate) reachable: bool,
    pub(crate) loop_depth: u32,
}

/// An edge.
#[derive(Serialize)]
pub(crate) struct Arrow {
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) kind: &'static str,
    /// The guard that must hold, as it would be written: `%p1` or `!%p1`.
    pub(crate) guard: Option<String>,
}

impl Picture {
    pub(crate) fn new(file: &str, module: &Module, facts: FunctionFacts<'_>, name: NameId) -> Self {
        let analysis = FunctionAnalysis::new(facts);
        let body = facts.body();
        let text = |stmt: StmtId| {
            let bytes = body.source_span(stmt).of(module.source());
            let text = String::from_utf8_lossy(bytes);
            let words: Vec<&str> = text.split_whitespace().collect();
            clean(&words.join(" ")).into_owned()
        };
        let mut blocks = Vec::new();
        let mut edges = Vec::new();
        for (id, block) in analysis.cfg().blocks() {
            let shown = |stmt: &StmtId| {
                let statement = body.statement(*stmt);
                matches!(statement, Some(Statement::Inst(_) | Statement::Opaque(_)))
            };
            let statements = (block.first.as_u32()..block.end.as_u32()).map(StmtId::new);
            let label = block.label.and_then(|l| body.labels().get(l));
            blocks.push(Node {
                id: id.as_u32(),
                label: label.map(|l| clean(module.name(l.name)).into_owned()),
                text: statements.filter(shown).map(text).collect(),
                exits: block.exits,
                unknown: block.unknown,
                hub: block.is_dispatch,
                reachable: analysis.is_reachable(id),
                loop_depth: analysis.loops().depth(id),
            });
            let guard = guard(module, facts, &analysis, id);
            edges.extend(
                analysis
                    .cfg()
                    .out_edges(id)
                    .map(|(_, edge)| arrow(edge, guard.as_deref())),
            );
        }
        Self {
            schema: SCHEMA,
            file: file.to_owned(),
            function: clean(module.name(name)).into_owned(),
            blocks,
            edges,
        }
    }
}

fn arrow(edge: &Edge, guard: Option<&str>) -> Arrow {
    let sign = edge.when.map(|when| if when { "" } else { "!" });
    Arrow {
        from: edge.from.as_u32(),
        to: edge.to.as_u32(),
        kind: match edge.kind {
            EdgeKind::Next => "next",
            EdgeKind::Jump => "jump",
            EdgeKind::Table(_) => "table",
            _ => "unknown",
        },
        guard: sign.map(|sign| format!("{sign}{}", guard.unwrap_or("?"))),
    }
}

/// The guard of the last instruction of a block.
fn guard(
    module: &Module,
    facts: FunctionFacts<'_>,
    analysis: &FunctionAnalysis,
    id: BlockId,
) -> Option<String> {
    let block = analysis.cfg().block(id)?;
    let body = facts.body();
    let range = block.first.as_u32()..block.end.as_u32();
    let last = range
        .rev()
        .find_map(|s| match body.statement(StmtId::new(s)) {
            Some(Statement::Inst(inst)) => Some(inst),
            _ => None,
        });
    let (place, _) = facts.inst(last?).guard_register()?;
    let register = body.registers().get(place.register)?;
    let decl = body.reg_decls().get(register.decl)?;
    let name = module.name(decl.name);
    Some(match decl.count {
        Some(_) => format!("{name}{}", register.number),
        None => name.to_owned(),
    })
}
