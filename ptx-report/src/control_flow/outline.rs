//! The places of blocks and lines in a drawing that shows no instructions.

use ptx_analysis::cfg::{Edge as BlockEdge, EdgeKind};
use ptx_analysis::function_analysis::FunctionAnalysis;
use ptx_ir::EntityId;
use serde::Serialize;

use super::layout::{Edge, End, Input, Loop, Rect, Size, layout};
use super::picture::EdgeStyle;

/// The height of a box, and the width for each character of its text.
const HEIGHT: f64 = 26.0;
const CHARACTER: f64 = 7.5;
/// The width of a box besides its text.
const MARGIN: f64 = 16.0;

/// A drawing of a graph with a small box for each block.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Outline {
    /// The width of the drawing, in pixels.
    pub width: i32,
    /// Its height.
    pub height: i32,
    /// Left, top, width and height of each block.
    pub boxes: Vec<[i32; 4]>,
    /// The same of each loop; `None` for a loop that is nested too deep.
    pub loops: Vec<Option<[i32; 4]>>,
    /// The lines of the edges.
    pub lines: Vec<OutlineLine>,
}

/// A part of an edge.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct OutlineLine {
    /// x and y of each point.
    pub points: Vec<i32>,
    /// `always`, `taken`, `not-taken`, `table` or `unknown`.
    pub style: &'static str,
    /// Whether it ends with an arrow head.
    pub arrow: bool,
    /// Whether it closes a cycle.
    pub back: bool,
}

impl Outline {
    /// Of a function; `texts` are what will be written in the boxes of all blocks.
    #[must_use]
    pub fn new(analysis: &FunctionAnalysis<'_>, texts: impl IntoIterator<Item = usize>) -> Self {
        let (cfg, loops) = (analysis.cfg(), analysis.loops());
        let mut characters = texts.into_iter();
        let sizes: Vec<Size> = cfg
            .blocks()
            .map(|_| Size {
                width: characters.next().unwrap_or(0) as f64 * CHARACTER + MARGIN,
                height: HEIGHT,
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
        let number = |id: ptx_analysis::graph::LoopId| id.as_u32() as usize;
        let nest = loops.iter().map(|(_, info)| Loop {
            parent: info.parent().map(number),
            header: info.header().index(),
        });
        let innermost = cfg.blocks().map(|(id, _)| loops.innermost(id).map(number));
        let found = layout(&Input {
            sizes: &sizes,
            edges: &edges,
            loops: &nest.collect::<Vec<_>>(),
            innermost: &innermost.collect::<Vec<_>>(),
        });
        let line = |line: &super::layout::Line| OutlineLine {
            points: line
                .points
                .iter()
                .flat_map(|p| [whole(p.x), whole(p.y)])
                .collect(),
            style: styles.get(line.edge).map_or("unknown", |s| s.name()),
            arrow: matches!(line.end, End::Box | End::Cut),
            back: line.is_back,
        };
        Self {
            width: whole(found.width),
            height: whole(found.height),
            boxes: found.boxes.iter().map(sides).collect(),
            loops: found.loops.iter().map(|r| r.as_ref().map(sides)).collect(),
            lines: found.lines.iter().map(line).collect(),
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

/// Left, top, width and height.
fn sides(rect: &Rect) -> [i32; 4] {
    [rect.left, rect.top, rect.width, rect.height].map(whole)
}

fn whole(pixels: f64) -> i32 {
    pixels.round() as i32
}
