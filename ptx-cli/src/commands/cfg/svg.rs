//! A control-flow graph as SVG.

use std::fmt::Write as _;
use std::io::Write;

use anyhow::{Result, bail};

use super::layout::{self, Arrow, Edge, Label, Layout, Size, TooLarge, layout};
use super::model::{Block, Graph};

/// The width of a character and the distance of two lines of text, in pixels.
const CHAR_WIDTH: f64 = 7.3;
const LINE_HEIGHT: f64 = 15.0;
/// The distance between the text and the border of a box.
const PADDING: f64 = 8.0;
/// The distance between the drawing and the border of the picture.
const MARGIN: f64 = 10.0;
/// How far the edge of a box to itself reaches to the right.
const SELF_LOOP: f64 = 36.0;

const HEAD: &str = "\
<defs><marker id=\"head\" markerWidth=\"9\" markerHeight=\"8\" refX=\"8\" refY=\"4\" orient=\"auto-start-reverse\">\
<polygon points=\"0 0, 9 4, 0 8\"/></marker></defs>
<style>
text { font: 12px monospace; white-space: pre; }
.guard { text-anchor: middle; }
.halo { stroke: white; stroke-width: 5px; }
path { fill: none; stroke: black; }
</style>
";

/// Writes the graph of a function.
pub(crate) fn svg(graph: &Graph, out: &mut impl Write) -> Result<()> {
    let boxes: Vec<TextBox<'_>> = graph
        .blocks
        .iter()
        .map(|b| TextBox::new(b, graph))
        .collect();
    let sizes: Vec<Size> = boxes.iter().map(TextBox::size).collect();
    let edge = |e: &super::model::Edge| Edge {
        from: e.from as usize,
        to: e.to as usize,
        style: u8::from(e.is_unknown()),
    };
    let edges: Vec<Edge> = graph.edges.iter().map(edge).collect();
    let layout = match layout(&sizes, &edges) {
        Ok(layout) => layout,
        Err(why) => bail!("{} {}: use --format dot", graph.function, limit(why)),
    };
    let drawing = Drawing {
        graph,
        boxes: &boxes,
        layout: &layout,
        out: String::new(),
    };
    let (width, height) = (layout.width + 2.0 * MARGIN, layout.height + 2.0 * MARGIN);
    writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"-{MARGIN} -{MARGIN} {width:.0} {height:.0}\">\n<title>{}</title>\n{HEAD}{}</svg>",
        escaped(&graph.function),
        drawing.finish()
    )?;
    Ok(())
}

fn limit(why: TooLarge) -> String {
    match why {
        TooLarge::Boxes(n) => format!(
            "has {n} blocks, more than the {} of a picture",
            layout::MAX_BOXES
        ),
        TooLarge::Edges(n) => format!(
            "has {n} edges, more than the {} of a picture",
            layout::MAX_EDGES
        ),
        TooLarge::Bends => "has too many long edges for a picture".into(),
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

fn text_width(text: &str) -> f64 {
    text.chars().count() as f64 * CHAR_WIDTH
}

/// A block as a box.
struct TextBox<'a> {
    block: &'a Block,
    lines: Vec<String>,
    width: f64,
    /// The guard of the edge from the block to itself, if there is one.
    self_loop: Option<&'a str>,
}

impl<'a> TextBox<'a> {
    fn new(block: &'a Block, graph: &'a Graph) -> Self {
        let lines = block.lines();
        let text = lines.iter().map(|l| text_width(l)).fold(0.0, f64::max);
        // The guards of all edges fit beside each other.
        let out = graph.edges_from(block.id);
        let guards = out.iter().filter_map(|e| e.guard.as_deref());
        let guard = guards.map(|g| text_width(g) + 8.0).fold(4.0, f64::max);
        let self_loop = out.iter().find(|e| e.to == block.id);
        Self {
            block,
            lines,
            width: (text + 2.0 * PADDING).max(guard * (out.len() + 1) as f64),
            self_loop: self_loop.map(|e| e.guard.as_deref().unwrap_or("")),
        }
    }

    fn height(&self) -> f64 {
        self.lines.len() as f64 * LINE_HEIGHT + 2.0 * PADDING
    }

    /// With the edge to itself.
    fn size(&self) -> Size {
        let beside = self
            .self_loop
            .map_or(0.0, |guard| SELF_LOOP + text_width(guard));
        Size {
            width: self.width,
            height: self.height(),
            side: beside,
        }
    }
}

struct Drawing<'a> {
    graph: &'a Graph,
    boxes: &'a [TextBox<'a>],
    layout: &'a Layout,
    out: String,
}

impl Drawing<'_> {
    fn finish(mut self) -> String {
        for (block, &(center, top)) in self.boxes.iter().zip(&self.layout.tops) {
            self.text_box(block, center - block.width / 2.0, top);
        }
        for line in &self.layout.lines {
            self.line(line);
        }
        // Labels are above everything else.
        for (edge, label) in self.graph.edges.iter().zip(&self.layout.labels) {
            match (edge.guard.as_deref(), label) {
                (Some(guard), Some(Label::Below(x, y))) => self.guard(*x, y + 16.0, guard),
                (Some(guard), Some(Label::Above(x, y))) => self.guard(*x, y - 12.0, guard),
                _ => {}
            }
        }
        self.out
    }

    fn text_box(&mut self, shape: &TextBox<'_>, left: f64, top: f64) {
        let (width, height) = (shape.width, shape.height());
        let border = if shape.block.exits { 3 } else { 1 };
        let _ = writeln!(
            self.out,
            "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" fill=\"{}\" stroke=\"black\" \
             stroke-width=\"{border}\"/>",
            shape.block.color()
        );
        let mut y = top + PADDING - 3.0;
        for line in &shape.lines {
            y += LINE_HEIGHT;
            let (x, line) = (left + PADDING, escaped(line));
            let _ = writeln!(self.out, "<text x=\"{x:.1}\" y=\"{y:.1}\">{line}</text>");
        }
        if let Some(guard) = shape.self_loop {
            let (x, far) = (left + width, left + width + SELF_LOOP * 4.0 / 3.0);
            let (from, to) = (top + height * 0.75, top + height * 0.25);
            let _ = writeln!(
                self.out,
                "<path marker-end=\"url(#head)\" d=\"M {x:.1} {from:.1} C {far:.1} {from:.1}, {far:.1} {to:.1}, {x:.1} {to:.1}\"/>"
            );
            let x = x + SELF_LOOP + text_width(guard) / 2.0;
            self.guard(x, top + height / 2.0 + 4.0, guard);
        }
    }

    fn line(&mut self, line: &layout::Line) {
        let is_unknown = self
            .graph
            .edges
            .get(line.edge)
            .is_some_and(|e| e.is_unknown());
        let dash = if is_unknown {
            " stroke-dasharray=\"5\""
        } else {
            ""
        };
        let head = match line.arrow {
            Arrow::None => "",
            Arrow::Top => " marker-start=\"url(#head)\"",
            Arrow::Bottom => " marker-end=\"url(#head)\"",
        };
        let _ = write!(self.out, "<path{dash}{head} d=\"");
        let mut before: Option<layout::Waypoint> = None;
        for point in &line.waypoints {
            let (x, top, bottom) = (point.x, point.top, point.bottom);
            let _ = match before {
                None => write!(self.out, "M {x:.1} {top:.1}"),
                Some(from) => {
                    let middle = (from.bottom + top) / 2.0;
                    write!(
                        self.out,
                        " C {:.1} {middle:.1}, {x:.1} {middle:.1}, {x:.1} {top:.1}",
                        from.x
                    )
                }
            };
            if bottom > top {
                let _ = write!(self.out, " V {bottom:.1}");
            }
            before = Some(*point);
        }
        self.out += "\"/>\n";
    }

    /// The guard of an edge, with a white halo so that it can be read on a line.
    fn guard(&mut self, x: f64, y: f64, text: &str) {
        let text = escaped(text);
        for class in ["guard halo", "guard"] {
            let _ = writeln!(
                self.out,
                "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\">{text}</text>"
            );
        }
    }
}
