//! A control-flow graph for Mermaid.

use std::io::{self, Write};

use super::model::Graph;
use crate::clean;

/// Escapes the characters that have a meaning in Mermaid.
fn escaped(text: &str) -> String {
    let escape = |c: char| match c {
        '&' | '"' | '<' | '>' | '#' | ';' | '`' | '|' | '{' | '}' | '[' | ']' | '(' | ')' => {
            format!("#{};", c as u32)
        }
        c => c.to_string(),
    };
    clean(text).chars().map(escape).collect()
}

/// Writes a graph as a Mermaid flowchart.
///
/// # Errors
///
/// Those of `out`.
pub fn mermaid(graph: &Graph, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "flowchart TD")?;
    writeln!(out, "  %% {}", graph.title())?;
    for block in &graph.blocks {
        let text: Vec<String> = block.lines().iter().map(|l| escaped(l)).collect();
        writeln!(out, "  b{}[\"{}\"]", block.id, text.join("<br/>"))?;
        writeln!(out, "  style b{} fill:{}", block.id, block.color())?;
    }
    for edge in &graph.edges {
        let line = match edge.is_unknown() {
            true => "-.->",
            false => "-->",
        };
        let (from, to) = (edge.from, edge.to);
        match &edge.guard {
            Some(guard) => writeln!(out, "  b{from} {line}|\"{}\"| b{to}", escaped(guard))?,
            None => writeln!(out, "  b{from} {line} b{to}")?,
        }
    }
    Ok(())
}
