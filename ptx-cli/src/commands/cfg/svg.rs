//! A picture as SVG. The library finds the places; what stands there is drawn here: text as in a listing, the same bytes
//! every time.

use std::fmt::Write as _;
use std::io::Write;

use anyhow::{Result, bail};
use layout::core::base::Orientation;
use layout::core::color::Color;
use layout::core::format::{ClipHandle, RenderBackend};
use layout::core::geometry::Point;
use layout::core::style::{LineStyleKind, StyleAttr};
use layout::std_shapes::shapes::{Arrow, Element, LineEndKind, ShapeKind};
use layout::topo::layout::VisualGraph;

use super::dot::{lines, shade};
use super::model::Picture;

/// Beyond this the layout takes too long, and nobody can look at it.
const MOST_BLOCKS: usize = 1000;
/// The size of letters, the width of one, and the distance of lines; in pixels.
const SIZE: usize = 12;
const WIDTH: f64 = 7.3;
const LINE: f64 = 15.0;
/// Between text and border.
const MARGIN: f64 = 8.0;

const HEAD: &str = "\
<defs><marker id=\"head\" markerWidth=\"9\" markerHeight=\"8\" refX=\"8\" refY=\"4\" orient=\"auto-start-reverse\">\
<polygon points=\"0 0, 9 4, 0 8\"/></marker></defs>
<style>
text { font: 12px monospace; white-space: pre; }
.guard { text-anchor: middle; }
.behind { stroke: white; stroke-width: 5px; }
path { fill: none; stroke: black; }
</style>
";

/// Draws a function.
pub(crate) fn svg(picture: &Picture, out: &mut impl Write) -> Result<()> {
    if picture.blocks.len() > MOST_BLOCKS {
        bail!(
            "{} has {} blocks, too many for a picture: use --format dot",
            picture.function,
            picture.blocks.len()
        );
    }
    let mut graph = VisualGraph::new(Orientation::TopToBottom);
    let mut handles = Vec::new();
    for node in &picture.blocks {
        let lines = lines(node);
        let width = lines.iter().map(|l| l.chars().count()).max().unwrap_or(0);
        let size = Point::new(
            width as f64 * WIDTH + 2.0 * MARGIN,
            lines.len() as f64 * LINE + 2.0 * MARGIN,
        );
        let border = if node.exits { 3 } else { 1 };
        let style = StyleAttr::new(Color::fast("black"), border, hex(shade(node)), 0, SIZE);
        let shape = ShapeKind::new_box(&lines.join("\n"));
        let element = Element::create(shape, style, Orientation::TopToBottom, size);
        handles.push(graph.add_node(element));
    }
    for edge in &picture.edges {
        let ends = (
            handles.get(edge.from as usize),
            handles.get(edge.to as usize),
        );
        if let (Some(&from), Some(&to)) = ends {
            let line = if edge.kind == "unknown" {
                LineStyleKind::Dashed
            } else {
                LineStyleKind::Normal
            };
            let arrow = Arrow {
                start: LineEndKind::None,
                end: LineEndKind::Arrow,
                line_style: line,
                text: edge.guard.clone().unwrap_or_default(),
                ..Arrow::default()
            };
            graph.add_edge(arrow, from, to);
        }
    }
    let mut canvas = Canvas::default();
    graph.do_it(false, false, false, &mut canvas);
    let (width, height) = (canvas.right + 10.0, canvas.bottom + 10.0);
    writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\">\n<title>{}</title>\n{HEAD}{}{}</svg>",
        escaped(&picture.function),
        canvas.shapes,
        canvas.guards
    )?;
    Ok(())
}

fn hex(text: &str) -> Option<Color> {
    let value = u32::from_str_radix(text.strip_prefix('#')?, 16).ok()?;
    Some(Color::new(value << 8 | 0xff))
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

/// What was drawn so far.
#[derive(Default)]
struct Canvas {
    shapes: String,
    /// The labels of edges, which lie above everything.
    guards: String,
    /// The corner of the box that was drawn last, until its text comes.
    corner: Option<(f64, f64)>,
    right: f64,
    bottom: f64,
}

impl Canvas {
    fn grow(&mut self, x: f64, y: f64) {
        self.right = self.right.max(x);
        self.bottom = self.bottom.max(y);
    }

    /// On white, so that it can be read above its line.
    fn guard(&mut self, at: Point, text: &str) {
        let half = text.chars().count() as f64 * WIDTH / 2.0;
        let (x, y) = (at.x.max(half + 2.0), at.y + 4.0);
        self.grow(x + half, y);
        let text = escaped(text);
        for class in ["guard behind", "guard"] {
            let _ = writeln!(
                self.guards,
                "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\">{text}</text>"
            );
        }
    }
}

impl RenderBackend for Canvas {
    fn draw_rect(
        &mut self,
        xy: Point,
        size: Point,
        look: &StyleAttr,
        _: Option<String>,
        _: Option<ClipHandle>,
    ) {
        self.grow(xy.x + size.x, xy.y + size.y);
        self.corner = Some((xy.x, xy.y));
        let fill = look.fill_color.unwrap_or_else(Color::transparent);
        let _ = writeln!(
            self.shapes,
            "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"{}\" stroke=\"black\" \
             stroke-width=\"{}\"/>",
            xy.x,
            xy.y,
            size.x,
            size.y,
            fill.to_web_color(),
            look.line_width
        );
    }

    /// The text of the box that was just drawn, or a guard beside an edge.
    fn draw_text(&mut self, at: Point, text: &str, _: &StyleAttr) {
        let Some((x, mut y)) = self.corner.take() else {
            self.guard(at, text);
            return;
        };
        y += MARGIN - 3.0;
        for line in text.lines() {
            y += LINE;
            let (x, line) = (x + MARGIN, escaped(line));
            let _ = writeln!(self.shapes, "<text x=\"{x:.1}\" y=\"{y:.1}\">{line}</text>");
        }
    }

    /// A path is a point with its control point, and then control points with their points. An edge that goes up has its
    /// head at the start.
    fn draw_arrow(
        &mut self,
        path: &[(Point, Point)],
        dashed: bool,
        head: (bool, bool),
        _: &StyleAttr,
        _: Option<String>,
        _: &str,
    ) {
        let [(a, b), (c, d), rest @ ..] = path else {
            return;
        };
        for (p, q) in path {
            self.grow(p.x.max(q.x), p.y.max(q.y));
        }
        let dash = if dashed {
            " stroke-dasharray=\"5\""
        } else {
            ""
        };
        let start = if head.0 {
            " marker-start=\"url(#head)\""
        } else {
            ""
        };
        let end = if head.1 {
            " marker-end=\"url(#head)\""
        } else {
            ""
        };
        let _ = write!(self.shapes, "<path{dash}{start}{end} d=\"M {:.1} ", a.x);
        match rest {
            // From a block to itself: the library's line runs back on itself.
            [(_, last)] if (last.x, last.y) == (a.x, a.y) => {
                let far = if d.x < a.x { a.x - 40.0 } else { a.x + 40.0 };
                let _ = write!(
                    self.shapes,
                    "{:.1} C {far:.1} {:.1}, {far:.1} {:.1}, {:.1} {:.1}",
                    a.y - 8.0,
                    a.y - 24.0,
                    a.y + 24.0,
                    a.x,
                    a.y + 8.0
                );
            }
            _ => {
                let _ = write!(
                    self.shapes,
                    "{:.1} C {:.1} {:.1}, {:.1} {:.1}, {:.1} {:.1}",
                    a.y, b.x, b.y, c.x, c.y, d.x, d.y
                );
                for (p, q) in rest {
                    let _ = write!(
                        self.shapes,
                        " S {:.1} {:.1}, {:.1} {:.1}",
                        p.x, p.y, q.x, q.y
                    );
                }
            }
        }
        self.shapes += "\"/>\n";
    }

    // Nothing of what is drawn here is made of these.
    fn draw_line(&mut self, _: Point, _: Point, _: &StyleAttr, _: Option<String>) {}
    fn draw_circle(&mut self, _: Point, _: Point, _: &StyleAttr, _: Option<String>) {}
    fn create_clip(&mut self, _: Point, _: Point, _: usize) -> ClipHandle {
        0
    }
}
