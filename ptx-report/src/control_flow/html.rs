//! Control-flow graphs as one page with a viewer.

use std::io::{self, Write};

use serde::Serialize;

use super::details::{Inst, SourceLine};
use super::layout::{End, Rect};
use super::picture::{self, EdgeStyle, Picture};
use super::svg::escaped;
use super::theme::colors;

const PAGE: &str = include_str!("viewer/page.html");
const STYLE: &str = concat!(
    colors!(":root", automatic),
    include_str!("viewer/viewer.css")
);
const SCRIPT: &str = concat!(
    include_str!("viewer/squeeze.js"),
    include_str!("viewer/graph.js"),
    include_str!("viewer/draw.js"),
    include_str!("viewer/search.js"),
    include_str!("viewer/details.js"),
    include_str!("viewer/main.js"),
);

/// What the script reads.
#[derive(Serialize)]
struct Page<'a> {
    char_width: f64,
    line_height: f64,
    padding: f64,
    functions: Vec<Function<'a>>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    file: &'a str,
    width: f64,
    height: f64,
    units: u32,
    blocks: Vec<Block<'a>>,
    loops: Vec<Option<Loop>>,
    edges: Vec<Edge<'a>>,
    lines: Vec<Line>,
    sources: &'a [SourceLine],
    registers: &'a [String],
}

#[derive(Serialize)]
struct Block<'a> {
    id: u32,
    title: &'a str,
    label: Option<&'a str>,
    at: [f64; 4],
    inside: Option<usize>,
    depth: u32,
    exits: bool,
    reachable: bool,
    text: &'a [String],
    insts: &'a [Inst],
    /// The text that is shown, the index of the instruction, and that of the source line.
    shown: Vec<(&'a str, Option<usize>, Option<usize>)>,
    live_out: Option<&'a [u32]>,
}

#[derive(Serialize)]
struct Loop {
    header: usize,
    parent: Option<usize>,
    at: [f64; 4],
    blocks: usize,
    insts: usize,
}

#[derive(Serialize)]
struct Edge<'a> {
    from: u32,
    to: u32,
    style: &'static str,
    guard: Option<&'a str>,
    x: f64,
    y: f64,
}

#[derive(Serialize)]
struct Line {
    edge: usize,
    inside: Option<usize>,
    /// x and y of each point.
    points: Vec<f64>,
    end: &'static str,
    back: bool,
}

/// Writes a page with these pictures.
pub(super) fn html(pictures: &[Picture<'_>], out: &mut impl Write) -> io::Result<()> {
    let page = Page {
        char_width: picture::CHAR_WIDTH,
        line_height: picture::LINE_HEIGHT,
        padding: picture::PADDING,
        functions: pictures.iter().map(function).collect(),
    };
    // No text can end the element of the data.
    let data = serde_json::to_string(&page)?.replace('<', "\\u003c");
    let title = pictures.first().map_or("", |p| &p.graph.function);
    let mut rest = PAGE;
    for (mark, text) in [
        ("@title@", escaped(title).as_str()),
        ("@style@", STYLE),
        ("@data@", &data),
        ("@script@", SCRIPT),
    ] {
        let (before, after) = rest.split_once(mark).unwrap_or((rest, ""));
        out.write_all(before.as_bytes())?;
        out.write_all(text.as_bytes())?;
        rest = after;
    }
    out.write_all(rest.as_bytes())
}

fn function<'a>(picture: &'a Picture<'_>) -> Function<'a> {
    let (graph, details, layout) = (picture.graph, picture.details, &picture.layout);
    let loops = details.loops.iter().zip(picture.loop_sizes());
    let of_loop = |((info, (blocks, insts)), rect): ((&super::layout::Loop, _), &Option<Rect>)| {
        Some(Loop {
            header: info.header,
            parent: info.parent,
            at: sides(&(*rect)?),
            blocks,
            insts,
        })
    };
    let edges = graph.edges.iter().zip(&layout.starts);
    let edges = edges.map(|(e, start)| Edge {
        from: e.from,
        to: e.to,
        style: EdgeStyle::of(e).name(),
        guard: e.guard.as_deref(),
        x: rounded(start.x),
        y: rounded(start.y),
    });
    let line = |line: &super::layout::Line| Line {
        edge: line.edge,
        inside: line.region,
        points: line
            .points
            .iter()
            .flat_map(|p| [rounded(p.x), rounded(p.y)])
            .collect(),
        end: match line.end {
            End::Box => "box",
            End::Border => "border",
            End::Join => "join",
            End::Cut => "cut",
        },
        back: line.is_back,
    };
    Function {
        name: &graph.function,
        file: &graph.file,
        width: rounded(layout.width),
        height: rounded(layout.height),
        units: details.units,
        blocks: (0..graph.blocks.len()).map(|b| block(picture, b)).collect(),
        loops: loops.zip(&layout.loops).map(of_loop).collect(),
        edges: edges.collect(),
        lines: layout.lines.iter().map(line).collect(),
        sources: &details.sources,
        registers: &details.registers,
    }
}

fn block<'a>(picture: &'a Picture<'_>, index: usize) -> Block<'a> {
    let block = &picture.graph.blocks[index];
    let text = &picture.boxes[index];
    let lines = text.lines.iter();
    Block {
        id: block.id,
        title: &text.title,
        label: block.label.as_deref(),
        at: sides(&picture.layout.boxes[index]),
        inside: picture.details.innermost[index],
        depth: block.loop_depth,
        exits: block.exits,
        reachable: block.reachable,
        text: &block.text,
        insts: &picture.details.insts[index],
        shown: lines.map(|l| (l.text.as_str(), l.inst, l.source)).collect(),
        live_out: picture.details.live_out.get(index).map(Vec::as_slice),
    }
}

/// Left, top, width and height.
fn sides(rect: &Rect) -> [f64; 4] {
    [rect.left, rect.top, rect.width, rect.height].map(rounded)
}

fn rounded(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}
