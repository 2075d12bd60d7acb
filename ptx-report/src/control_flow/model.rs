//! A control-flow graph with the text of its blocks, for all output formats.

use ptx_analysis::cfg::{Block as BasicBlock, Edge as BlockEdge, EdgeKind};
use ptx_analysis::function_analysis::FunctionAnalysis;
use ptx_analysis::source_lines::SourceLines;
use ptx_ir::facts::FunctionFacts;
use ptx_ir::{Module, NameId, Statement, StmtId};
use serde::Serialize;

use crate::demangle::{demangle, display_text};
use crate::labels::Labeled;
use crate::source_frames::{JsonFrame, frames};
use crate::{SCHEMA, clean};

/// The control-flow graph of a function.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Graph {
    schema: u32,
    /// The file, as the caller named it.
    pub file: String,
    /// The name of the function in the text.
    pub function: String,
    /// The name of the function in the source language, if it is mangled.
    pub demangled: Option<String>,
    /// The blocks in the order of the text.
    pub blocks: Vec<Block>,
    /// The edges in the order of the blocks that they leave.
    pub edges: Vec<Edge>,
}

/// A basic block.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Block {
    /// The number of the block, which edges refer to.
    pub id: u32,
    /// The label at the beginning of the block.
    pub label: Option<String>,
    /// The instructions of the block, one per line.
    pub text: Vec<String>,
    /// Whether the function may end here.
    pub exits: bool,
    /// Whether the block contains an unrecognized statement.
    pub unknown: bool,
    /// Whether the block represents a branch to any label, without instructions.
    pub dispatch: bool,
    /// Whether the block is reachable from the entry.
    pub reachable: bool,
    /// The number of loops that contain the block.
    pub loop_depth: u32,
    /// The source lines of the first instruction.
    pub source: Vec<JsonFrame>,
}

/// An edge between two blocks.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Edge {
    /// The number of the block that the edge leaves.
    pub from: u32,
    /// The number of the block that the edge enters.
    pub to: u32,
    /// The reason why control may follow the edge.
    pub kind: Labeled<EdgeKind>,
    /// The condition under which the edge is taken: `%p1` or `!%p1`.
    pub guard: Option<String>,
}

/// The colors of blocks outside of loops, in one loop, in two, and in more.
const COLORS: [&str; 4] = ["#ffffff", "#e3edf9", "#bfd7f1", "#93bbe6"];
const UNREACHABLE: &str = "#dddddd";

impl Block {
    /// The color of the box of the block.
    pub(super) fn color(&self) -> &'static str {
        if !self.reachable {
            return UNREACHABLE;
        }
        let [.., deepest] = COLORS;
        COLORS
            .get(self.loop_depth as usize)
            .copied()
            .unwrap_or(deepest)
    }

    /// The number and the name of the block.
    pub(super) fn title(&self) -> String {
        match &self.label {
            Some(label) => format!("{}: {label}", self.id),
            None if self.dispatch => format!("{}: any", self.id),
            None => format!("{}:", self.id),
        }
    }

    /// The lines of text in the box of the block.
    pub(super) fn lines(&self) -> Vec<String> {
        let mut title = self.title();
        if let Some(frame) = self.source.first() {
            title.push_str("  // ");
            title.push_str(&frame.short());
        }
        let mut lines = vec![title];
        lines.extend(self.text.iter().map(|line| display_text(line).into_owned()));
        if self.unknown {
            lines.push("(unknown)".into());
        }
        lines
    }
}

impl Edge {
    /// Whether the edge represents any transfer of control from a statement that was not recognized.
    pub(super) fn is_unknown(&self) -> bool {
        *self.kind == EdgeKind::Unknown
    }
}

impl Graph {
    /// The name of the function for display.
    pub(super) fn title(&self) -> &str {
        self.demangled.as_deref().unwrap_or(&self.function)
    }

    /// Creates the graph of a function. `lines` are the source lines of its module, and `name` is the name of the function.
    #[must_use]
    pub fn new(
        file: &str,
        lines: &SourceLines<'_>,
        analysis: &FunctionAnalysis<'_>,
        name: NameId,
    ) -> Self {
        let facts = analysis.facts();
        let (module, body) = (lines.module(), facts.body());
        let lines = lines.function(body);
        let mut blocks = Vec::new();
        let mut edges = Vec::new();
        for (id, block) in analysis.cfg().blocks() {
            let label = block.label.and_then(|l| body.labels().get(l));
            let instructions = body.range(block.first, block.end).filter(|(_, statement)| {
                matches!(statement, Statement::Inst(_) | Statement::Opaque(_))
            });
            let first = instructions.clone().next().map(|(stmt, _)| stmt);
            blocks.push(Block {
                id: id.as_u32(),
                label: label.map(|l| clean(module.name(l.name)).into_owned()),
                text: instructions
                    .map(|(stmt, _)| text(module, facts, stmt))
                    .collect(),
                exits: block.exits,
                unknown: block.unknown,
                dispatch: block.is_dispatch,
                reachable: analysis.is_reachable(id),
                loop_depth: analysis.loops().depth(id),
                source: first.map_or(Vec::new(), |stmt| frames(&lines, stmt)),
            });
            let guard = guard(module, facts, block);
            edges.extend(
                analysis
                    .cfg()
                    .out_edges(id)
                    .map(|(_, block_edge)| edge(block_edge, guard.as_deref())),
            );
        }
        Self {
            schema: SCHEMA,
            file: file.to_owned(),
            function: clean(module.name(name)).into_owned(),
            demangled: demangle(module.name(name)),
            blocks,
            edges,
        }
    }

    /// The edges that leave a block.
    pub(super) fn edges_from(&self, block: u32) -> &[Edge] {
        let first = self.edges.partition_point(|e| e.from < block);
        let end = self.edges.partition_point(|e| e.from <= block);
        self.edges.get(first..end).unwrap_or_default()
    }
}

/// The text of a statement on one line.
fn text(module: &Module, facts: FunctionFacts<'_>, stmt: StmtId) -> String {
    let bytes = ptx_print::verbatim_statement(module, facts.body(), stmt);
    let text = String::from_utf8_lossy(&bytes);
    let tokens: Vec<&str> = text.split_whitespace().collect();
    clean(&tokens.join(" ")).into_owned()
}

/// Converts an edge. `guard` is the guard of the instruction that it leaves.
fn edge(edge: &BlockEdge, guard: Option<&str>) -> Edge {
    Edge {
        from: edge.from.as_u32(),
        to: edge.to.as_u32(),
        kind: Labeled(edge.kind),
        guard: edge.when.map(|value| {
            let sign = if value { "" } else { "!" };
            format!("{sign}{}", guard.unwrap_or("?"))
        }),
    }
}

/// The guard of the last instruction of a block.
fn guard(module: &Module, facts: FunctionFacts<'_>, block: &BasicBlock) -> Option<String> {
    let body = facts.body();
    let (_, last) = block.insts(body).next_back()?;
    let (lane, _) = facts.inst(last).guard_register()?;
    let register = body.registers().get(lane.register)?;
    let decl = body.reg_decls().get(register.decl)?;
    let name = module.name(decl.name);
    Some(match decl.count {
        Some(_) => format!("{name}{}", register.number),
        None => name.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use ptx_ir::facts::ModuleFacts;

    use ptx_edit::EditModule as _;

    use super::*;

    #[test]
    fn inserted_statements_are_in_their_block() {
        let text = ".version 8.0\n.target sm_80\n.entry k() { .reg .pred p; .reg .b32 r;\n\
            mov.b32 r, 1;\n@p bra L;\nmov.b32 r, 2;\nL: ret; }\n";
        let mut module = ptx_parse::parse_str(text).module;
        let (id, name) = module
            .definitions()
            .map(|(id, f, _)| (id, f.name))
            .next()
            .unwrap();
        let body = module.body(id).unwrap();
        let is_inst = |(_, s): &(StmtId, Statement)| matches!(s, Statement::Inst(_));
        let (jump, _) = body.statements().filter(is_inst).nth(1).unwrap();
        let mut editor = module.edit(id).unwrap();
        for _ in 0..2 {
            let inserted = editor
                .inst("bar.sync", &[ptx_ir::Operand::Small(0)])
                .unwrap();
            editor.insert_before(jump, inserted).unwrap();
        }
        let facts = ModuleFacts::new(&module);
        let lines = SourceLines::new(&module);
        let facts = facts.function(id).unwrap();
        let graph = Graph::new("", &lines, &FunctionAnalysis::new(facts), name);
        let lengths: Vec<usize> = graph.blocks.iter().map(|b| b.text.len()).collect();
        assert_eq!(lengths, [4, 1, 1]);
        assert_eq!(graph.edges_from(0)[0].guard.as_deref(), Some("p"));
    }
}
