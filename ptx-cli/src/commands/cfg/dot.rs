//! A picture as Graphviz and as Mermaid; and what all pictures of a block have in common.

use std::io::{self, Write};

use super::model::{Node, Picture};

/// The colours of blocks outside of loops, in one, in two, and deeper.
const SHADES: [&str; 4] = ["#ffffff", "#e3edf9", "#bfd7f1", "#93bbe6"];

pub(super) fn shade(node: &Node) -> &'static str {
    if !node.reachable {
        return "#dddddd";
    }
    SHADES
        .get(node.loop_depth as usize)
        .copied()
        .unwrap_or(SHADES[3])
}

pub(super) fn lines(node: &Node) -> Vec<String> {
    let title = match &node.label {
        Some(label) => format!("{}: {label}", node.id),
        None if node.hub => format!("{}: any", node.id),
        None => format!("{}:", node.id),
    };
    let mut lines = vec![title];
    lines.extend(node.text.iter().cloned());
    if node.unknown {
        lines.push("(unknown)".into());
    }
    lines
}

/// In quotes, for Graphviz.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

pub(crate) fn dot(picture: &Picture, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "digraph {} {{", quoted(&picture.function))?;
    writeln!(out, "  node [shape=box, style=filled, fontname=monospace]")?;
    for node in &picture.blocks {
        let text: String = lines(node)
            .iter()
            .map(|l| l.replace('\\', "\\\\").replace('"', "\\\"") + "\\l")
            .collect();
        let border = if node.exits { 2 } else { 1 };
        writeln!(
            out,
            "  b{} [label=\"{text}\", fillcolor=\"{}\", penwidth={border}]",
            node.id,
            shade(node)
        )?;
    }
    for edge in &picture.edges {
        let label = edge.guard.as_deref().unwrap_or("");
        let style = if edge.kind == "unknown" {
            ", style=dashed"
        } else {
            ""
        };
        writeln!(
            out,
            "  b{} -> b{} [label={}{style}]",
            edge.from,
            edge.to,
            quoted(label)
        )?;
    }
    writeln!(out, "}}")
}

/// Text that Mermaid reads as text.
fn plain(text: &str) -> String {
    let escape = |c: char| match c {
        '&' | '"' | '<' | '>' | '#' | ';' | '`' | '|' | '{' | '}' | '[' | ']' | '(' | ')' => {
            format!("#{};", c as u32)
        }
        c => c.to_string(),
    };
    text.chars().map(escape).collect()
}

pub(crate) fn mermaid(picture: &Picture, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "flowchart TD")?;
    writeln!(out, "  %% {}", picture.function)?;
    for node in &picture.blocks {
        let text: Vec<String> = lines(node).iter().map(|l| plain(l)).collect();
        writeln!(out, "  b{}[\"{}\"]", node.id, text.join("<br/>"))?;
        writeln!(out, "  style b{} fill:{}", node.id, shade(node))?;
    }
    for edge in &picture.edges {
        let line = if edge.kind == "unknown" {
            "-.->"
        } else {
            "-->"
        };
        match &edge.guard {
            Some(guard) => writeln!(
                out,
                "  b{} {line}|\"{}\"| b{}",
                edge.from,
                plain(guard),
                edge.to
            )?,
            None => writeln!(out, "  b{} {line} b{}", edge.from, edge.to)?,
        }
    }
    Ok(())
}
