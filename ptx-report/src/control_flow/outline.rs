//! The positions of blocks and lines in a drawing that shows no instructions.

use ptx_analysis::cfg::{Edge as BlockEdge, EdgeKind};
use ptx_analysis::function_analysis::FunctionAnalysis;
use ptx_ir::EntityId;
use serde::Serialize;

use super::layout::{Edge, End, Input, Loop, Rect, Size, layout};
use super::picture::EdgeStyle;

/// The height of a box, in pixels.
const BOX_HEIGHT: f64 = 26.0;
/// The width of a character in a box, in pixels.
const CHARACTER_WIDTH: f64 = 7.5;
/// The width of a box besides its text, in pixels.
const BOX_MARGIN: f64 = 16.0;

/// A drawing of a graph with a small box for each block.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Outline {
    /// The width of the drawing, in pixels.
    pub width: i32,
    /// The height of the drawing, in pixels.
    pub height: i32,
    /// The left edge, top edge, width and height of each block.
    pub boxes: Vec<[i32; 4]>,
    /// The left edge, top edge, width and height of each loop; `None` for a loop that is nested too deep.
    pub loops: Vec<Option<[i32; 4]>>,
    /// The lines of the edges.
    pub lines: Vec<OutlineLine>,
}

/// A line that draws an edge or a part of it.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct OutlineLine {
    /// The x and y coordinate of each point, in turn.
    pub points: Vec<i32>,
    /// `always`, `taken`, `not-taken`, `table` or `unknown`.
    pub style: &'static str,
    /// Whether the line ends with an arrow head.
    pub arrow: bool,
    /// Whether the edge closes a cycle.
    pub back: bool,
}

impl Outline {
    /// Lays out a function. `text_lengths` are the numbers of characters that will be written in the boxes of all blocks.
    #[must_use]
    pub fn new(
        analysis: &FunctionAnalysis<'_>,
        text_lengths: impl IntoIterator<Item = usize>,
    ) -> Self {
        let (cfg, loops) = (analysis.cfg(), analysis.loops());
        let mut text_lengths = text_lengths.into_iter();
        let sizes: Vec<Size> = cfg
            .blocks()
            .map(|_| Size {
                width: text_lengths.next().unwrap_or(0) as f64 * CHARACTER_WIDTH + BOX_MARGIN,
                height: BOX_HEIGHT,
            })
            .collect();
        let styles: Vec<EdgeStyle> = cfg.edges().map(|(_, e)| style(e)).collect();
        let edges: Vec<Edge> = cfg
            .edges()
            .zip(&styles)
            .map(|((_, e), &style)| Edge {
                from: e.from.index(),
                to: e.to.index(),
                kind: style as u8,
                fans_out: matches!(style, EdgeStyle::Table | EdgeStyle::Unknown),
            })
            .collect();
        let index = |id: ptx_analysis::graph::LoopId| id.as_u32() as usize;
        let loop_nest: Vec<Loop> = loops
            .iter()
            .map(|(_, info)| Loop {
                parent: info.parent().map(index),
                header: info.header().index(),
            })
            .collect();
        let innermost: Vec<Option<usize>> = cfg
            .blocks()
            .map(|(id, _)| loops.innermost(id).map(index))
            .collect();
        let layout = layout(&Input {
            sizes: &sizes,
            edges: &edges,
            loops: &loop_nest,
            innermost: &innermost,
        });
        let lines = layout.lines.iter().map(|line| OutlineLine {
            points: line
                .points
                .iter()
                .flat_map(|p| [pixels(p.x), pixels(p.y)])
                .collect(),
            style: styles.get(line.edge).map_or("unknown", |s| s.name()),
            arrow: matches!(line.end, End::Box | End::Cut),
            back: line.is_back,
        });
        Self {
            width: pixels(layout.width),
            height: pixels(layout.height),
            boxes: layout.boxes.iter().map(sides).collect(),
            loops: layout
                .loops
                .iter()
                .map(|rect| rect.as_ref().map(sides))
                .collect(),
            lines: lines.collect(),
        }
    }
}

fn style(edge: &BlockEdge) -> EdgeStyle {
    match (edge.kind, edge.when) {
        (EdgeKind::Next, Some(_)) => EdgeStyle::NotTaken,
        (EdgeKind::Jump, Some(_)) => EdgeStyle::Taken,
        (EdgeKind::Next | EdgeKind::Jump, None) => EdgeStyle::Always,
        (EdgeKind::Table(_), _) => EdgeStyle::Table,
        _ => EdgeStyle::Unknown,
    }
}

/// The left edge, top edge, width and height.
fn sides(rect: &Rect) -> [i32; 4] {
    [rect.left, rect.top, rect.width, rect.height].map(pixels)
}

fn pixels(length: f64) -> i32 {
    length.round() as i32
}
