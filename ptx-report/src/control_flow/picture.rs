//! A graph that is ready to be drawn as SVG or HTML: the text of boxes, the styles of edges, and the layout.

use ptx_analysis::cfg::EdgeKind;

use super::details::Details;
use super::layout::{Edge as LayoutEdge, Input, Layout, Size, layout};
use super::model::{Block, Edge, Graph};

/// The width of a character, in pixels.
pub(super) const CHAR_WIDTH: f64 = 7.3;
/// The distance of two lines of text, in pixels.
pub(super) const LINE_HEIGHT: f64 = 15.0;
/// The distance between the text and the border of a box.
pub(super) const PADDING: f64 = 8.0;
/// The longest line of text in a box, in characters.
const LONGEST_LINE: usize = 64;
/// The longest title of a box, in characters.
const LONGEST_TITLE: usize = 48;
/// The longest name that is not shortened, in characters.
const LONGEST_NAME: usize = 28;

/// The style of the line of an edge.
#[derive(Copy, Clone, PartialEq, Debug)]
pub(super) enum EdgeStyle {
    Always,
    Taken,
    NotTaken,
    Table,
    Unknown,
}

impl EdgeStyle {
    pub(super) const ALL: [Self; 5] = [
        Self::Always,
        Self::Taken,
        Self::NotTaken,
        Self::Table,
        Self::Unknown,
    ];

    pub(super) fn of(edge: &Edge) -> Self {
        match (*edge.kind, &edge.guard) {
            (EdgeKind::Table(_), _) => Self::Table,
            (kind, _) if !matches!(kind, EdgeKind::Next | EdgeKind::Jump) => Self::Unknown,
            (_, None) => Self::Always,
            (EdgeKind::Jump, Some(_)) => Self::Taken,
            _ => Self::NotTaken,
        }
    }

    /// The class of the line in style sheets.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Always => "always",
            Self::Taken => "taken",
            Self::NotTaken => "not-taken",
            Self::Table => "table",
            Self::Unknown => "unknown",
        }
    }
}

/// A block as a box.
pub(super) struct TextBox {
    pub(super) title: String,
    pub(super) lines: Vec<TextLine>,
}

/// A line of text in a box.
pub(super) struct TextLine {
    /// The index of the instruction; `None` for a remark.
    pub(super) inst: Option<usize>,
    pub(super) text: String,
    /// The index of the source line, if it differs from that of the line before.
    pub(super) source: Option<usize>,
}

/// A graph with the positions of its boxes and lines.
pub(super) struct Picture<'a> {
    pub(super) graph: &'a Graph,
    pub(super) details: &'a Details,
    pub(super) boxes: Vec<TextBox>,
    pub(super) layout: Layout,
}

/// The number of blocks and instructions in a loop.
#[derive(Copy, Clone, Default)]
pub(super) struct LoopSize {
    pub(super) blocks: usize,
    pub(super) insts: usize,
}

impl<'a> Picture<'a> {
    /// Lays a graph out. Each block shows at most `max_insts` instructions.
    pub(super) fn new(graph: &'a Graph, details: &'a Details, max_insts: usize) -> Self {
        let boxes = boxes(graph, details, max_insts);
        let sizes = sizes(graph, details, &boxes);
        let edges = layout_edges(graph);
        let layout = layout(&Input {
            sizes: &sizes,
            edges: &edges,
            loops: &details.loops,
            innermost: &details.innermost,
        });
        Self {
            graph,
            details,
            boxes,
            layout,
        }
    }

    /// The size of each loop, with the loops that it contains.
    pub(super) fn loop_sizes(&self) -> Vec<LoopSize> {
        let loops = &self.details.loops;
        let mut sizes = vec![LoopSize::default(); loops.len()];
        for (block, innermost) in self.graph.blocks.iter().zip(&self.details.innermost) {
            if let Some(inner) = *innermost {
                sizes[inner].blocks += 1;
                sizes[inner].insts += block.text.len();
            }
        }
        for inner in (0..loops.len()).rev() {
            if let Some(outer) = loops[inner].parent {
                let LoopSize { blocks, insts } = sizes[inner];
                sizes[outer].blocks += blocks;
                sizes[outer].insts += insts;
            }
        }
        sizes
    }
}

/// The text in the box of each block.
fn boxes(graph: &Graph, details: &Details, max_insts: usize) -> Vec<TextBox> {
    graph
        .blocks
        .iter()
        .enumerate()
        .map(|(index, block)| TextBox::new(block, index, details, max_insts))
        .collect()
}

/// The size of each box.
fn sizes(graph: &Graph, details: &Details, boxes: &[TextBox]) -> Vec<Size> {
    graph
        .blocks
        .iter()
        .zip(boxes)
        .map(|(block, text_box)| text_box.size(block, graph, details))
        .collect()
}

fn layout_edges(graph: &Graph) -> Vec<LayoutEdge> {
    graph
        .edges
        .iter()
        .map(|edge| {
            let style = EdgeStyle::of(edge);
            LayoutEdge {
                from: edge.from as usize,
                to: edge.to as usize,
                kind: style as u8,
                fans_out: matches!(style, EdgeStyle::Table | EdgeStyle::Unknown),
            }
        })
        .collect()
}

/// Shortens a text to at most `max_chars` characters. The middle of long names is omitted.
fn shortened(text: &str, max_chars: usize) -> String {
    let mut short = String::new();
    for word in text.split_inclusive(|c: char| !c.is_ascii_alphanumeric() && !"_$".contains(c)) {
        if word.len() > LONGEST_NAME && word.is_ascii() {
            short.push_str(&word[..LONGEST_NAME / 2]);
            short.push('…');
            short.push_str(&word[word.len() - LONGEST_NAME / 2..]);
        } else {
            short.push_str(word);
        }
    }
    if short.char_indices().nth(max_chars).is_some() {
        short.chars().take(max_chars - 1).chain(['…']).collect()
    } else {
        short
    }
}

/// The width of a line of text, in pixels.
pub(super) fn text_width(text: &str) -> f64 {
    text.chars().count() as f64 * CHAR_WIDTH
}

impl TextBox {
    fn new(block: &Block, index: usize, details: &Details, max_insts: usize) -> Self {
        let count = block.text.len();
        // Of the instructions that are shown, two thirds are from the start and a third from the end. A single instruction is not
        // replaced by a remark.
        let (head, tail) = if count > max_insts + 1 {
            (max_insts - max_insts / 3, count - max_insts / 3)
        } else {
            (count, count)
        };
        let mut lines = Vec::with_capacity(count.min(max_insts + 2));
        let mut previous_source = None;
        let insts = &details.insts[index];
        for nth in (0..head).chain(tail..count) {
            if nth == tail {
                lines.push(TextLine::remark(format!("… {} more", tail - head)));
            }
            let source = insts[nth].source;
            lines.push(TextLine {
                inst: Some(nth),
                text: shortened(&block.text[nth], LONGEST_LINE),
                source: source.filter(|_| source != previous_source),
            });
            previous_source = source;
        }
        if block.unknown {
            lines.push(TextLine::remark("(unknown)".into()));
        }
        Self {
            title: shortened(&block.title(), LONGEST_TITLE),
            lines,
        }
    }

    fn size(&self, block: &Block, graph: &Graph, details: &Details) -> Size {
        let text = self
            .lines
            .iter()
            .map(|line| text_width(&line.text))
            .fold(text_width(&self.title), f64::max);
        let source = self
            .lines
            .iter()
            .filter_map(|line| line.source)
            .map(|source| text_width(&details.sources[source].short))
            .fold(0.0, f64::max);
        let gap = if source > 0.0 { 3.0 * CHAR_WIDTH } else { 0.0 };
        // The guards of all edges fit beside each other.
        let out_edges = graph.edges_from(block.id);
        let guard = out_edges
            .iter()
            .filter_map(|edge| edge.guard.as_deref())
            .map(|guard| text_width(guard) + 10.0)
            .fold(0.0, f64::max);
        let width = (text + gap + source + 2.0 * PADDING).max(guard * (out_edges.len() + 1) as f64);
        Size {
            width: width.max(48.0),
            height: (self.lines.len() + 1) as f64 * LINE_HEIGHT + 2.0 * PADDING,
        }
    }
}

impl TextLine {
    fn remark(text: String) -> Self {
        Self {
            inst: None,
            text,
            source: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use ptx_analysis::function_analysis::FunctionAnalysis;
    use ptx_analysis::source_lines::SourceLines;
    use ptx_ir::facts::ModuleFacts;

    use super::super::layout::tests::check_layout;
    use super::*;

    #[test]
    fn functions_of_the_corpus_satisfy_the_invariants() {
        let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/../corpus");
        let mut checked = 0;
        for folder in ["hand", "compiled/nvcc", "compiled/triton"] {
            let files = std::fs::read_dir(format!("{corpus}/{folder}")).unwrap();
            for file in files.map(|f| f.unwrap().path()) {
                let bytes = std::fs::read(&file).unwrap();
                checked += check_file(&bytes);
            }
        }
        assert!(checked > 300, "{checked} functions");
    }

    fn check_file(bytes: &[u8]) -> usize {
        let module = ptx_parse::parse(bytes).module;
        let facts = ModuleFacts::new(&module);
        let lines = SourceLines::new(&module);
        let mut checked = 0;
        for (id, function, _) in module.definitions() {
            let facts = facts.function(id).unwrap();
            let analysis = FunctionAnalysis::new(facts);
            if analysis.cfg().len() < 5 {
                continue;
            }
            let graph = Graph::new("", &lines, &analysis, function.name);
            let details = Details::new(&lines, &analysis);
            let sizes = sizes(&graph, &details, &boxes(&graph, &details, 12));
            check_layout(&Input {
                sizes: &sizes,
                edges: &layout_edges(&graph),
                loops: &details.loops,
                innermost: &details.innermost,
            });
            checked += 1;
        }
        checked
    }

    #[test]
    fn long_texts_are_shortened() {
        let name = "_ZN3cub16_V_300200_SM_8006detail_param_3";
        assert_eq!(
            shortened(&format!("ld.param.u64 %rd3, [{name}];"), 64),
            "ld.param.u64 %rd3, [_ZN3cub16_V_30…etail_param_3];"
        );
        assert_eq!(shortened("mov.u32 %r1, %r2;", 10), "mov.u32 %…");
        assert_eq!(shortened("mov.u32 %r1, 5", 14), "mov.u32 %r1, 5");
    }
}
