//! Drawings of control-flow graphs: SVG, a page with a viewer, Graphviz, Mermaid.

mod details;
mod dot;
mod html;
mod layout;
mod mermaid;
mod model;
mod outline;
mod picture;
mod svg;
mod theme;

use std::io::{self, Write};

pub use details::Details;
pub use dot::dot;
pub use mermaid::mermaid;
pub use model::{Block, Edge, Graph};
pub use outline::{Outline, OutlineLine};
use picture::Picture;
pub use theme::{Theme, UnknownTheme};

/// Writes a graph as an SVG picture. Blocks with more than `most` instructions show the first and the last ones. The element
/// of a block has the attribute `data-block` with its number.
///
/// # Errors
///
/// Those of `out`.
pub fn svg(
    graph: &Graph,
    details: &Details,
    most: usize,
    theme: Theme,
    out: &mut impl Write,
) -> io::Result<()> {
    svg::svg(&Picture::new(graph, details, most), theme, out)
}

/// Writes a self-contained page with a viewer of all graphs, which works offline.
///
/// # Errors
///
/// Those of `out`.
pub fn html<'g>(
    graphs: impl IntoIterator<Item = (&'g Graph, &'g Details)>,
    most: usize,
    out: &mut impl Write,
) -> io::Result<()> {
    let pictures = graphs.into_iter();
    let pictures = pictures.map(|(graph, details)| Picture::new(graph, details, most));
    html::html(&pictures.collect::<Vec<_>>(), out)
}
