//! Drawings of control-flow graphs: SVG, a page with a viewer, Graphviz, Mermaid.

mod details;
mod graph_languages;
mod html;
mod layout;
mod model;
mod outline;
mod picture;
mod svg;
mod theme;

use std::io::{self, Write};

pub use details::Details;
pub use graph_languages::{dot, mermaid};
pub use model::{Block, Edge, Graph};
pub use outline::{Outline, OutlineLine};
use picture::Picture;
pub use theme::{Theme, UnknownTheme};

/// Writes a graph as an SVG picture. Blocks with more than `max_insts` instructions show the first and the last ones. The element
/// of a block has the attribute `data-block` with its number.
///
/// # Errors
///
/// Errors of writing to `out`.
pub fn svg(
    graph: &Graph,
    details: &Details,
    max_insts: usize,
    theme: Theme,
    out: &mut impl Write,
) -> io::Result<()> {
    svg::svg(&Picture::new(graph, details, max_insts), theme, out)
}

/// Writes a self-contained page with a viewer of all graphs, which works offline. Blocks are shortened as by [`svg`].
///
/// # Errors
///
/// Errors of writing to `out`.
pub fn html<'g>(
    graphs: impl IntoIterator<Item = (&'g Graph, &'g Details)>,
    max_insts: usize,
    out: &mut impl Write,
) -> io::Result<()> {
    let pictures: Vec<Picture<'_>> = graphs
        .into_iter()
        .map(|(graph, details)| Picture::new(graph, details, max_insts))
        .collect();
    html::html(&pictures, out)
}
