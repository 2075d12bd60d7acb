//! A picture as Graphviz, Mermaid and SVG.

use std::io::{self, Write};

use anyhow::{Result, bail};
use layout::backends::svg::SVGWriter;
use layout::core::base::Orientation;
use layout::core::color::Color;
use layout::core::geometry::Point;
use layout::core::style::StyleAttr;
use layout::std_shapes::shapes::{Arrow as Line, Element, ShapeKind};
use layout::topo::layout::VisualGraph;

use super::picture::{Node, Picture};

/// Beyond this the layout takes too long, and nobody can look at it.
const MOST_BLOCKS: usize = 1000;

/// The colours of blocks outside of loops, in one, in two, and deeper.
const SHADES: [&str; 4] = ["#ffffff", "#e3edf9", "#bfd7f1", "#93bbe6"];

fn shade(node: &Node) -> &'static str {
    if !node.reachable {
        return "#dddddd";
    }
    SHADES
        .get(node.loop_depth as usize)
        .copied()
        .unwrap_or(SHADES[3])
}

fn lines(node: &Node) -> Vec<String> {
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

pub(crate) fn svg(picture: &Picture, out: &mut impl Write) -> Result<()> {
    if picture.blocks.len() > MOST_BLOCKS {
        bail!(
            "{} has {} blocks, too many for a picture: use --format dot",
            picture.function,
            picture.blocks.len()
        );
    }
    const SIZE: usize = 12;
    let mut graph = VisualGraph::new(Orientation::TopToBottom);
    let mut handles = Vec::new();
    for node in &picture.blocks {
        let lines = lines(node);
        let width = lines.iter().map(|l| l.chars().count()).max().unwrap_or(0);
        let size = Point::new(
            width as f64 * SIZE as f64 * 0.62 + 20.0,
            lines.len() as f64 * SIZE as f64 * 1.25 + 20.0,
        );
        let fill = Color::from_name(shade(node)).or_else(|| hex(shade(node)));
        let border = if node.exits { 3 } else { 1 };
        let black = Color::fast("black");
        let style = StyleAttr::new(black, border, fill, 0, SIZE);
        let shape = ShapeKind::new_box(&lines.join("\n"));
        handles.push(graph.add_node(Element::create(
            shape,
            style,
            Orientation::TopToBottom,
            size,
        )));
    }
    for edge in &picture.edges {
        let ends = (
            handles.get(edge.from as usize),
            handles.get(edge.to as usize),
        );
        if let (Some(&from), Some(&to)) = ends {
            graph.add_edge(Line::simple(edge.guard.as_deref().unwrap_or("")), from, to);
        }
    }
    let mut svg = SVGWriter::new();
    graph.do_it(false, false, false, &mut svg);
    out.write_all(svg.finalize().as_bytes())?;
    Ok(())
}

fn hex(text: &str) -> Option<Color> {
    let value = u32::from_str_radix(text.strip_prefix('#')?, 16).ok()?;
    Some(Color::new(value << 8 | 0xff))
}
