//! A control-flow graph as SVG.

use std::fmt::Write as _;
use std::io::{self, Write};

use super::layout::{End, Line, Point};
use super::model::{Block, Edge};
use super::picture::{EdgeStyle, LINE_HEIGHT, PADDING, Picture, TextBox, text_width};
use super::theme::Theme;
use crate::counted;
use crate::page::escaped;

/// The distance between the drawing and the border of the picture.
const MARGIN: f64 = 16.0;
/// The radius of the corners of lines.
const CORNER: f64 = 5.0;
/// The largest number of instructions in a tooltip.
const LONGEST_TOOLTIP: usize = 60;

const STYLE: &str = include_str!("svg.css");

/// Writes the picture of a function.
pub(super) fn svg(picture: &Picture<'_>, theme: Theme, out: &mut impl Write) -> io::Result<()> {
    let layout = &picture.layout;
    let function = escaped(picture.graph.title());
    let colors = theme.picture_colors();
    let width = layout.width + 2.0 * MARGIN;
    let height = layout.height + 2.0 * MARGIN;
    writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"-{MARGIN} -{MARGIN} {width:.0} {height:.0}\">\n<title>{function}</title>\n<style>\n{colors}{STYLE}</style>\n<defs>"
    )?;
    for style in EdgeStyle::ALL {
        let name = style.name();
        writeln!(
            out,
            "<marker id=\"{name}\" class=\"{name}\" markerUnits=\"userSpaceOnUse\" markerWidth=\"9\" markerHeight=\"8\" refX=\"8\" refY=\"4\" orient=\"auto\">\
             <path d=\"M 0 0 L 9 4 L 0 8 z\"/></marker>"
        )?;
    }
    writeln!(
        out,
        "</defs>\n<rect class=\"page\" x=\"-{MARGIN}\" y=\"-{MARGIN}\" width=\"100%\" height=\"100%\"/>"
    )?;
    let mut drawing = Drawing {
        picture,
        out: String::new(),
    };
    drawing.loops();
    layout.lines.iter().for_each(|line| drawing.line(line));
    for (index, block) in picture.graph.blocks.iter().enumerate() {
        drawing.text_box(index, block, &picture.boxes[index]);
    }
    // Labels are above everything else.
    for (edge, start) in picture.graph.edges.iter().zip(&layout.starts) {
        if let Some(guard) = &edge.guard {
            drawing.label(EdgeStyle::of(edge), *start, guard);
        }
    }
    writeln!(out, "{}</svg>", drawing.out)
}

/// `0 to 5, if %p1`
fn description(edge: &Edge) -> String {
    let guard = edge.guard.as_ref().map(|g| format!(", if {g}"));
    let (from, to) = (edge.from, edge.to);
    format!("{from} to {to}{}", guard.unwrap_or_default())
}

struct Drawing<'a> {
    picture: &'a Picture<'a>,
    out: String,
}

impl Drawing<'_> {
    fn loops(&mut self) {
        let details = self.picture.details;
        let sizes = self.picture.loop_sizes();
        let rects = &self.picture.layout.loops;
        for ((info, size), rect) in details.loops.iter().zip(sizes).zip(rects) {
            let Some(rect) = rect else { continue };
            let insts = counted(size.insts, "instruction");
            let mut title = match size.blocks {
                1 => format!("loop at {}: {insts}", info.header),
                blocks => format!("loop at {}: {blocks} blocks, {insts}", info.header),
            };
            if text_width(&title) > rect.width - 2.0 * PADDING {
                title = format!("loop at {}", info.header);
            }
            let _ = writeln!(
                self.out,
                "<rect class=\"loop\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"6\"/>\
                 <text class=\"loop-title\" x=\"{:.1}\" y=\"{:.1}\">{title}</text>",
                rect.left,
                rect.top,
                rect.width,
                rect.height,
                rect.left + PADDING,
                rect.top + LINE_HEIGHT
            );
        }
    }

    fn text_box(&mut self, index: usize, block: &Block, text_box: &TextBox) {
        let rect = self.picture.layout.boxes[index];
        let sources = &self.picture.details.sources;
        let depth = if block.reachable {
            format!("depth{}", block.loop_depth.min(3))
        } else {
            "unreachable".into()
        };
        let exits = if block.exits { " exits" } else { "" };
        let _ = writeln!(
            self.out,
            "<g data-block=\"{}\"><title>{}</title><rect class=\"block {depth}{exits}\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"3\"/>",
            block.id,
            escaped(&tooltip(block)),
            rect.left,
            rect.top,
            rect.width,
            rect.height
        );
        let left = rect.left + PADDING;
        let right = rect.left + rect.width - PADDING;
        let mut y = rect.top + PADDING + LINE_HEIGHT - 4.0;
        let _ = writeln!(
            self.out,
            "<text class=\"title\" x=\"{left:.1}\" y=\"{y:.1}\">{}</text>",
            escaped(&text_box.title)
        );
        for line in &text_box.lines {
            y += LINE_HEIGHT;
            let class = if line.inst.is_none() {
                " class=\"remark\""
            } else {
                ""
            };
            let _ = write!(
                self.out,
                "<text{class} x=\"{left:.1}\" y=\"{y:.1}\">{}</text>",
                escaped(&line.text)
            );
            if let Some(source) = line.source {
                let _ = write!(
                    self.out,
                    "<text class=\"source\" x=\"{right:.1}\" y=\"{y:.1}\"><title>{}</title>{}</text>",
                    escaped(&sources[source].full),
                    escaped(&sources[source].short)
                );
            }
            self.out.push('\n');
        }
        self.out.push_str("</g>\n");
    }

    fn line(&mut self, line: &Line) {
        let edge = &self.picture.graph.edges[line.edge];
        let style = EdgeStyle::of(edge).name();
        let back = if line.is_back { " back" } else { "" };
        let marker = match line.end {
            End::Box | End::Cut => format!(" marker-end=\"url(#{style})\""),
            End::Border | End::Join => String::new(),
        };
        let _ = writeln!(
            self.out,
            "<path class=\"edge {style}{back}\"{marker} d=\"{}\"><title>{}</title></path>",
            path(&line.points),
            escaped(&description(edge))
        );
        if let (End::Cut, Some(point)) = (line.end, line.points.last()) {
            let position = Point {
                x: point.x - 4.0,
                y: point.y - 2.0,
            };
            self.label(EdgeStyle::of(edge), position, &format!("to {}", edge.to));
        }
    }

    /// Writes a text to the right of the start of an edge, with a halo so that it can be read on a line.
    fn label(&mut self, style: EdgeStyle, start: Point, text: &str) {
        let _ = writeln!(
            self.out,
            "<text class=\"label {}\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            style.name(),
            start.x + 5.0,
            start.y + 13.0,
            escaped(text)
        );
    }
}

/// The title of a block and its first instructions.
fn tooltip(block: &Block) -> String {
    let mut lines = vec![block.title()];
    if let Some(frame) = block.source.first() {
        lines.push(format!("// {}", frame.short()));
    }
    lines.extend(block.text.iter().take(LONGEST_TOOLTIP).cloned());
    if block.text.len() > LONGEST_TOOLTIP {
        lines.push(format!("… {} more", block.text.len() - LONGEST_TOOLTIP));
    }
    lines.join("\n")
}

/// The commands of a path that draws a line with round corners.
fn path(points: &[Point]) -> String {
    let mut path = String::new();
    let Some(first) = points.first() else {
        return path;
    };
    let _ = write!(path, "M {:.1} {:.1}", first.x, first.y);
    for segment_pair in points.windows(3) {
        let corner = segment_pair[1];
        // The point on the segment towards `end` where the round corner begins.
        let curve_end = |end: Point| {
            let (dx, dy) = (end.x - corner.x, end.y - corner.y);
            let length = dx.hypot(dy);
            let fraction = if length > 0.0 {
                CORNER.min(length / 2.0) / length
            } else {
                0.0
            };
            (corner.x + dx * fraction, corner.y + dy * fraction)
        };
        let ((ax, ay), (bx, by)) = (curve_end(segment_pair[0]), curve_end(segment_pair[2]));
        let _ = write!(
            path,
            " L {ax:.1} {ay:.1} Q {:.1} {:.1} {bx:.1} {by:.1}",
            corner.x, corner.y
        );
    }
    if let Some(last) = points.last() {
        let _ = write!(path, " L {:.1} {:.1}", last.x, last.y);
    }
    path
}
