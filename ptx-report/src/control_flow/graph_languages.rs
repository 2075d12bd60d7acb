//! Control-flow graphs in the languages of Graphviz and Mermaid.

use std::io::{self, Write};

use super::model::Graph;
use crate::clean;

/// Writes a graph in the DOT language.
///
/// # Errors
///
/// Errors of writing to `out`.
pub fn dot(graph: &Graph, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "digraph \"{}\" {{", dot_escaped(graph.title()))?;
    writeln!(out, "  node [shape=box, style=filled, fontname=monospace]")?;
    for block in &graph.blocks {
        let text: String = block
            .lines()
            .iter()
            .map(|line| dot_escaped(line) + "\\l")
            .collect();
        let border = if block.exits { 2 } else { 1 };
        writeln!(
            out,
            "  b{} [label=\"{text}\", fillcolor=\"{}\", penwidth={border}]",
            block.id,
            block.color()
        )?;
    }
    for edge in &graph.edges {
        let label = dot_escaped(edge.guard.as_deref().unwrap_or(""));
        let style = if edge.is_unknown() {
            ", style=dashed"
        } else {
            ""
        };
        let (from, to) = (edge.from, edge.to);
        writeln!(out, "  b{from} -> b{to} [label=\"{label}\"{style}]")?;
    }
    writeln!(out, "}}")
}

fn dot_escaped(text: &str) -> String {
    clean(text).replace('\\', "\\\\").replace('"', "\\\"")
}

/// Writes a graph as a Mermaid flowchart.
///
/// # Errors
///
/// Errors of writing to `out`.
pub fn mermaid(graph: &Graph, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "flowchart TD")?;
    writeln!(out, "  %% {}", graph.title())?;
    for block in &graph.blocks {
        let lines: Vec<String> = block
            .lines()
            .iter()
            .map(|line| mermaid_escaped(line))
            .collect();
        writeln!(out, "  b{}[\"{}\"]", block.id, lines.join("<br/>"))?;
        writeln!(out, "  style b{} fill:{}", block.id, block.color())?;
    }
    for edge in &graph.edges {
        let arrow = if edge.is_unknown() { "-.->" } else { "-->" };
        let (from, to) = (edge.from, edge.to);
        match &edge.guard {
            Some(guard) => {
                writeln!(
                    out,
                    "  b{from} {arrow}|\"{}\"| b{to}",
                    mermaid_escaped(guard)
                )?;
            }
            None => writeln!(out, "  b{from} {arrow} b{to}")?,
        }
    }
    Ok(())
}

/// Escapes the characters that have a meaning in Mermaid.
fn mermaid_escaped(text: &str) -> String {
    let mut escaped = String::new();
    for c in clean(text).chars() {
        match c {
            '&' | '"' | '<' | '>' | '#' | ';' | '`' | '|' | '{' | '}' | '[' | ']' | '(' | ')' => {
                escaped.push_str(&format!("#{};", c as u32));
            }
            c => escaped.push(c),
        }
    }
    escaped
}
