//! Control-flow graphs as one page with a viewer.

use std::io::{self, Write};

use serde::Serialize;

use super::details::{Inst, SourceLine};
use super::layout::{End, Rect};
use super::picture::{self, EdgeStyle, Picture};
use super::theme::colors;
use crate::counted;
use crate::demangle::short_names;
use crate::page::Page;

const BODY: &str = include_str!("viewer/body.html");
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

/// The data that the script of the page reads. The names of the fields are those that the script uses.
#[derive(Serialize)]
struct Data<'a> {
    char_width: f64,
    line_height: f64,
    padding: f64,
    functions: Vec<Function<'a>>,
}

#[derive(Serialize)]
struct Function<'a> {
    /// The name in the text.
    name: &'a str,
    /// The name in the source language.
    title: &'a str,
    /// The name without what it has in common with the other functions.
    short: String,
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
    /// Left, top, width and height.
    #[serde(rename = "at")]
    sides: [f64; 4],
    /// The index of the innermost loop.
    #[serde(rename = "inside")]
    innermost: Option<usize>,
    depth: u32,
    exits: bool,
    reachable: bool,
    text: &'a [String],
    insts: &'a [Inst],
    /// For each line of text: the text, the index of the instruction, and the index of the source line.
    #[serde(rename = "shown")]
    lines: Vec<(&'a str, Option<usize>, Option<usize>)>,
    /// The registers that are live at the end of the block; `None` if there are too many to list.
    live_out: Option<&'a [u32]>,
}

#[derive(Serialize)]
struct Loop {
    header: usize,
    parent: Option<usize>,
    /// Left, top, width and height.
    #[serde(rename = "at")]
    sides: [f64; 4],
    /// The number of blocks in the loop.
    blocks: usize,
    /// The number of instructions in the loop.
    insts: usize,
}

#[derive(Serialize)]
struct Edge<'a> {
    from: u32,
    to: u32,
    style: &'static str,
    guard: Option<&'a str>,
    /// The coordinates of the start of the edge.
    x: f64,
    y: f64,
}

#[derive(Serialize)]
struct Line {
    edge: usize,
    /// The index of the loop whose region contains the line.
    #[serde(rename = "inside")]
    region: Option<usize>,
    /// x and y of each point.
    points: Vec<f64>,
    end: &'static str,
    back: bool,
}

/// Writes a page with a viewer of `pictures`.
pub(super) fn html(pictures: &[Picture<'_>], out: &mut impl Write) -> io::Result<()> {
    let names: Vec<&str> = pictures
        .iter()
        .map(|picture| picture.graph.function.as_str())
        .collect();
    let data = Data {
        char_width: picture::CHAR_WIDTH,
        line_height: picture::LINE_HEIGHT,
        padding: picture::PADDING,
        functions: pictures
            .iter()
            .zip(short_names(&names))
            .map(|(picture, short)| function(picture, short))
            .collect(),
    };
    let title = match pictures {
        [picture] => picture.graph.title().to_owned(),
        _ => counted(pictures.len(), "function"),
    };
    let file = pictures.first().map_or("", |picture| &picture.graph.file);
    let mut page = Page::new(&title, file, "control-flow.md").with_contents(STYLE, BODY, SCRIPT);
    page.add_data("data", &data)?;
    page.write(out)
}

fn function<'a>(picture: &'a Picture<'_>, short: String) -> Function<'a> {
    let (graph, details, layout) = (picture.graph, picture.details, &picture.layout);
    Function {
        name: &graph.function,
        title: graph.title(),
        short,
        file: &graph.file,
        width: rounded(layout.width),
        height: rounded(layout.height),
        units: details.units,
        blocks: (0..graph.blocks.len()).map(|b| block(picture, b)).collect(),
        loops: loops(picture),
        edges: graph
            .edges
            .iter()
            .zip(&layout.starts)
            .map(|(edge, start)| Edge {
                from: edge.from,
                to: edge.to,
                style: EdgeStyle::of(edge).name(),
                guard: edge.guard.as_deref(),
                x: rounded(start.x),
                y: rounded(start.y),
            })
            .collect(),
        lines: layout.lines.iter().map(line).collect(),
        sources: &details.sources,
        registers: &details.registers,
    }
}

/// The loops of a function; `None` for a loop that is nested too deep to be drawn.
fn loops(picture: &Picture<'_>) -> Vec<Option<Loop>> {
    picture
        .details
        .loops
        .iter()
        .zip(picture.loop_sizes())
        .zip(&picture.layout.loops)
        .map(|((info, size), rect)| {
            Some(Loop {
                header: info.header,
                parent: info.parent,
                sides: sides(&(*rect)?),
                blocks: size.blocks,
                insts: size.insts,
            })
        })
        .collect()
}

fn line(line: &super::layout::Line) -> Line {
    Line {
        edge: line.edge,
        region: line.region,
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
    }
}

fn block<'a>(picture: &'a Picture<'_>, index: usize) -> Block<'a> {
    let block = &picture.graph.blocks[index];
    let text_box = &picture.boxes[index];
    Block {
        id: block.id,
        title: &text_box.title,
        label: block.label.as_deref(),
        sides: sides(&picture.layout.boxes[index]),
        innermost: picture.details.innermost[index],
        depth: block.loop_depth,
        exits: block.exits,
        reachable: block.reachable,
        text: &block.text,
        insts: &picture.details.insts[index],
        lines: text_box
            .lines
            .iter()
            .map(|line| (line.text.as_str(), line.inst, line.source))
            .collect(),
        live_out: picture.details.live_out.get(index).map(Vec::as_slice),
    }
}

/// Left, top, width and height.
fn sides(rect: &Rect) -> [f64; 4] {
    [rect.left, rect.top, rect.width, rect.height].map(rounded)
}

/// Rounds to tenths of a pixel, which keeps the data short.
fn rounded(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}
