//! A control-flow graph for Graphviz.

use std::io::{self, Write};

use super::model::Graph;
use crate::clean;

fn escaped(text: &str) -> String {
    clean(text).replace('\\', "\\\\").replace('"', "\\\"")
}

/// Writes a graph in the DOT language.
///
/// # Errors
///
/// Those of `out`.
pub fn dot(graph: &Graph, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "digraph \"{}\" {{", escaped(graph.title()))?;
    writeln!(out, "  node [shape=box, style=filled, fontname=monospace]")?;
    for block in &graph.blocks {
        let lines = block.lines();
        let text: String = lines.iter().map(|l| escaped(l) + "\\l").collect();
        let border = if block.exits { 2 } else { 1 };
        writeln!(
            out,
            "  b{} [label=\"{text}\", fillcolor=\"{}\", penwidth={border}]",
            block.id,
            block.color()
        )?;
    }
    for edge in &graph.edges {
        let label = escaped(edge.guard.as_deref().unwrap_or(""));
        let style = match edge.is_unknown() {
            true => ", style=dashed",
            false => "",
        };
        let (from, to) = (edge.from, edge.to);
        writeln!(out, "  b{from} -> b{to} [label=\"{label}\"{style}]")?;
    }
    writeln!(out, "}}")
}
