//! Graphs with text at their nodes, such as results of analyses, in the language of Graphviz.

use crate::graph::{Graph, Node as _, Numbered as _};
use alloc::string::String;
use core::fmt::{Display, Formatter, Result};

/// Displays a graph in the language of Graphviz. `label` returns the text of a node, for example its state.
#[derive(Clone, Copy, Debug)]
pub struct Dot<'a, G, F> {
    /// The graph.
    pub graph: &'a G,
    /// The text of a node, of any number of lines.
    pub label: F,
}

impl<G: Graph, F: Fn(G::Node) -> String> Display for Dot<'_, G, F> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        writeln!(f, "digraph {{\n  node [shape=box, fontname=monospace];")?;
        for node in self.graph.nodes() {
            write!(f, "  n{} [label=\"", node.as_u32())?;
            for c in (self.label)(node).chars() {
                match c {
                    '"' | '\\' => write!(f, "\\{c}")?,
                    // Ends a line that is aligned to the left.
                    '\n' => f.write_str("\\l")?,
                    c => write!(f, "{c}")?,
                }
            }
            writeln!(f, "\"];")?;
        }
        for node in 0..self.graph.node_count() {
            for to in self.graph.succ(node) {
                writeln!(f, "  n{node} -> n{to};")?;
            }
        }
        writeln!(f, "}}")
    }
}
