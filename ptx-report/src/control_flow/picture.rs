//! What SVG and HTML have in common: the text of boxes, kinds of edges, and the layout.

use ptx_analysis::cfg::EdgeKind;

use super::details::Details;
use super::layout::{Edge as LayoutEdge, Input, Layout, Size, layout};
use super::model::{Block, Edge, Graph};

/// The width of a character and the distance of two lines of text, in pixels.
pub(super) const CHAR_WIDTH: f64 = 7.3;
pub(super) const LINE_HEIGHT: f64 = 15.0;
/// The distance between the text and the border of a box.
pub(super) const PADDING: f64 = 8.0;
/// The longest line of text and the longest title of a box, in characters.
const LONGEST_LINE: usize = 64;
const LONGEST_TITLE: usize = 48;
/// The longest name that is not folded.
const LONGEST_NAME: usize = 28;

/// What the line of an edge looks like.
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

    /// The name of its class.
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
    /// The index of its source line, if that differs from the one before.
    pub(super) source: Option<usize>,
}

/// A graph with the places of its boxes and lines.
pub(super) struct Picture<'a> {
    pub(super) graph: &'a Graph,
    pub(super) details: &'a Details,
    pub(super) boxes: Vec<TextBox>,
    pub(super) layout: Layout,
}

impl<'a> Picture<'a> {
    /// Lays a graph out, with at most `most` instructions of each block.
    pub(super) fn new(graph: &'a Graph, details: &'a Details, most: usize) -> Self {
        let boxes = boxes(graph, details, most);
        let sizes = sizes(graph, details, &boxes);
        let edges = edges(graph);
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

    /// The number of blocks and of instructions inside each loop.
    pub(super) fn loop_sizes(&self) -> Vec<(usize, usize)> {
        let loops = &self.details.loops;
        let mut sizes = vec![(0, 0); loops.len()];
        for (block, innermost) in self.graph.blocks.iter().zip(&self.details.innermost) {
            if let Some(inner) = *innermost {
                sizes[inner].0 += 1;
                sizes[inner].1 += block.text.len();
            }
        }
        for inner in (0..loops.len()).rev() {
            if let Some(outer) = loops[inner].parent {
                let (blocks, insts) = sizes[inner];
                sizes[outer].0 += blocks;
                sizes[outer].1 += insts;
            }
        }
        sizes
    }
}

fn boxes(graph: &Graph, details: &Details, most: usize) -> Vec<TextBox> {
    let blocks = graph.blocks.iter().enumerate();
    blocks
        .map(|(index, block)| TextBox::new(block, index, details, most))
        .collect()
}

fn sizes(graph: &Graph, details: &Details, boxes: &[TextBox]) -> Vec<Size> {
    let blocks = graph.blocks.iter().zip(boxes);
    blocks
        .map(|(b, text)| text.size(b, graph, details))
        .collect()
}

fn edges(graph: &Graph) -> Vec<LayoutEdge> {
    let edge = |e: &Edge| {
        let style = EdgeStyle::of(e);
        LayoutEdge {
            from: e.from as usize,
            to: e.to as usize,
            kind: style as u8,
            fans_out: matches!(style, EdgeStyle::Table | EdgeStyle::Unknown),
        }
    };
    graph.edges.iter().map(edge).collect()
}

/// A text of at most `most` characters. Long names lose their middle.
fn folded(text: &str, most: usize) -> String {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$';
    let words = text.split_inclusive(|c| !is_name(c));
    let text: String = words
        .map(|word| match word.len() > LONGEST_NAME && word.is_ascii() {
            true => format!(
                "{}…{}",
                &word[..LONGEST_NAME / 2],
                &word[word.len() - LONGEST_NAME / 2..]
            ),
            false => word.to_owned(),
        })
        .collect();
    match text.char_indices().nth(most) {
        Some(_) => text.chars().take(most - 1).chain(['…']).collect(),
        None => text,
    }
}

pub(super) fn text_width(text: &str) -> f64 {
    text.chars().count() as f64 * CHAR_WIDTH
}

impl TextBox {
    fn new(block: &Block, index: usize, details: &Details, most: usize) -> Self {
        let count = block.text.len();
        // Two thirds from the start, the rest from the end; no fold for a single line.
        let head = match count > most + 1 {
            true => most - most / 3,
            false => count,
        };
        let tail = if head < count {
            count - most / 3
        } else {
            count
        };
        let mut lines = Vec::with_capacity(count.min(most + 2));
        let mut last = None;
        let insts = &details.insts[index];
        for nth in (0..head).chain(tail..count) {
            if nth == tail {
                lines.push(TextLine::remark(format!("… {} more", tail - head)));
            }
            let source = insts[nth].source;
            lines.push(TextLine {
                inst: Some(nth),
                text: folded(&block.text[nth], LONGEST_LINE),
                source: source.filter(|_| source != last),
            });
            last = source;
        }
        if block.unknown {
            lines.push(TextLine::remark("(unknown)".into()));
        }
        Self {
            title: folded(&block.title(), LONGEST_TITLE),
            lines,
        }
    }

    fn size(&self, block: &Block, graph: &Graph, details: &Details) -> Size {
        let text = self.lines.iter().map(|l| text_width(&l.text));
        let text = text.fold(text_width(&self.title), f64::max);
        let sources = self.lines.iter().filter_map(|l| l.source);
        let sources = sources.map(|s| text_width(&details.sources[s].short));
        let source = sources.fold(0.0, f64::max);
        let gap = if source > 0.0 { 3.0 * CHAR_WIDTH } else { 0.0 };
        // The guards of all edges fit beside each other.
        let out = graph.edges_from(block.id);
        let guards = out.iter().filter_map(|e| e.guard.as_deref());
        let guard = guards.map(|g| text_width(g) + 10.0).fold(0.0, f64::max);
        let width = (text + gap + source + 2.0 * PADDING).max(guard * (out.len() + 1) as f64);
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
                edges: &edges(&graph),
                loops: &details.loops,
                innermost: &details.innermost,
            });
            checked += 1;
        }
        checked
    }

    #[test]
    fn long_texts_are_folded() {
        let name = "_ZN3cub16_V_300200_SM_8006detail_param_3";
        assert_eq!(
            folded(&format!("ld.param.u64 %rd3, [{name}];"), 64),
            "ld.param.u64 %rd3, [_ZN3cub16_V_30…etail_param_3];"
        );
        assert_eq!(folded("mov.u32 %r1, %r2;", 10), "mov.u32 %…");
        assert_eq!(folded("mov.u32 %r1, 5", 14), "mov.u32 %r1, 5");
    }
}
