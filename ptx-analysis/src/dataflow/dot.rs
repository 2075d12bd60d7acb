//! A picture of any result, for Graphviz.

use crate::graph::Graph;
use alloc::string::String;
use core::fmt::{Display, Formatter, Result};

/// A graph in the language of Graphviz; prints itself. `label` gives the text of a node, for example its state.
#[derive(Clone, Copy, Debug)]
pub struct Dot<'a, G, F> {
    /// What to draw.
    pub graph: &'a G,
    /// The text of a node; may have several lines.
    pub label: F,
}

impl<G: Graph, F: Fn(u32) -> String> Display for Dot<'_, G, F> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        writeln!(f, "digraph {{\n  node [shape=box, fontname=monospace];")?;
        for node in 0..self.graph.node_count() {
            write!(f, "  n{node} [label=\"")?;
            for c in (self.label)(node).chars() {
                match c {
                    '"' | '\\' => write!(f, "\\{c}")?,
                    // Ends a line and sets it to the left.
                    '\n' => f.write_str("\\l")?,
                    c => write!(f, "{c}")?,
                }
            }
            writeln!(f, "\"];")?;
        }
        for node in 0..self.graph.node_count() {
            for to in self.graph.successors(node) {
                writeln!(f, "  n{node} -> n{to};")?;
            }
        }
        writeln!(f, "}}")
    }
}
