//! Fragments as a picture.

use std::fmt::Write as _;

use super::text::{cells, range, title};
use super::{FragmentMatrix, Fragments, SharedLayout};

/// The size of a cell in pixels.
const CELL: [usize; 2] = [64, 22];
/// The margin, and the space between matrices.
const MARGIN: usize = 16;
/// The space of the numbers of rows.
const ROW_NUMBERS: usize = 48;

/// An SVG picture of the matrices, one below the other. Lanes of a group of four have one color.
#[must_use]
pub fn svg(fragments: &Fragments) -> String {
    let mut body = String::new();
    let (mut top, mut width) = (MARGIN, 0);
    for matrix in &fragments.matrices {
        let [right, bottom] = draw_matrix(&mut body, matrix, top);
        (top, width) = (bottom + MARGIN, width.max(right));
    }
    for layout in &fragments.shared {
        let [right, bottom] = draw_layout(&mut body, layout, top);
        (top, width) = (bottom + MARGIN, width.max(right));
    }
    let (width, height) = (width + MARGIN, top + MARGIN);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"monospace\" font-size=\"11\">\n<style>\
         svg{{background:#fff}}text{{fill:#222}}rect{{stroke:#888}}.h{{font-weight:bold;font-size:13px}}\
         @media(prefers-color-scheme:dark){{svg{{background:#1b1e23}}text{{fill:#e6e6e6}}rect{{stroke:#666}}}}</style>\n{body}</svg>\n"
    )
}

/// Draws a matrix below a vertical position; returns the right and lower ends.
fn draw_matrix(svg: &mut String, matrix: &FragmentMatrix, top: usize) -> [usize; 2] {
    heading(svg, &title(matrix), top);
    let [height, width] = matrix.block();
    let top = top + 2 * CELL[1];
    for (index, column) in (0..matrix.columns).step_by(width).enumerate() {
        column_number(svg, &range(column, width), index, top);
    }
    let rows = cells(matrix);
    for (index, row) in rows.iter().enumerate() {
        row_number(svg, &range(index * height, height), index, top);
        for (column, text) in row.iter().enumerate() {
            let place = matrix
                .places
                .get(index * height)
                .and_then(|places| places.get(column * width));
            let hue = place.map_or(0, |place| place.lane / 4 * 45);
            let shade = place.map_or(0, |place| place.lane % 4 * 8);
            cell(
                svg,
                text,
                [column, index],
                top,
                &format!("hsla({hue},70%,{}%,.45)", 45 + shade),
            );
        }
    }
    ends(rows.first().map_or(0, Vec::len), rows.len(), top)
}

fn draw_layout(svg: &mut String, layout: &SharedLayout, top: usize) -> [usize; 2] {
    heading(svg, &format!("{}: {}", layout.swizzle, layout.meaning), top);
    let top = top + 2 * CELL[1];
    let chunks = layout.offsets.first().map_or(0, Vec::len);
    for chunk in 0..chunks {
        column_number(svg, &chunk.to_string(), chunk, top);
    }
    for (line, offsets) in layout.offsets.iter().enumerate() {
        row_number(svg, &line.to_string(), line, top);
        for (chunk, offset) in offsets.iter().enumerate() {
            let hue = offset / 16 % 8 * 45;
            cell(
                svg,
                &offset.to_string(),
                [chunk, line],
                top,
                &format!("hsla({hue},70%,55%,.45)"),
            );
        }
    }
    ends(chunks, layout.offsets.len(), top)
}

/// The right and lower ends of a table.
const fn ends(columns: usize, rows: usize, top: usize) -> [usize; 2] {
    [
        MARGIN + ROW_NUMBERS + columns * CELL[0],
        top + rows * CELL[1],
    ]
}

fn heading(svg: &mut String, text: &str, top: usize) {
    let _ = writeln!(
        svg,
        "<text class=\"h\" x=\"{MARGIN}\" y=\"{}\">{}</text>",
        top + CELL[1] / 2,
        escaped(text)
    );
}

fn column_number(svg: &mut String, text: &str, column: usize, top: usize) {
    let x = MARGIN + ROW_NUMBERS + column * CELL[0] + CELL[0] / 2;
    let _ = writeln!(
        svg,
        "<text text-anchor=\"middle\" x=\"{x}\" y=\"{}\">{text}</text>",
        top - 6
    );
}

fn row_number(svg: &mut String, text: &str, row: usize, top: usize) {
    let y = top + row * CELL[1] + 15;
    let _ = writeln!(
        svg,
        "<text text-anchor=\"end\" x=\"{}\" y=\"{y}\">{text}</text>",
        MARGIN + ROW_NUMBERS - 6
    );
}

fn cell(svg: &mut String, text: &str, [column, row]: [usize; 2], top: usize, fill: &str) {
    let (x, y) = (MARGIN + ROW_NUMBERS + column * CELL[0], top + row * CELL[1]);
    let _ = writeln!(
        svg,
        "<rect x=\"{x}\" y=\"{y}\" width=\"{}\" height=\"{}\" fill=\"{fill}\"/><text text-anchor=\"middle\" x=\"{}\" y=\"{}\">{}</text>",
        CELL[0],
        CELL[1],
        x + CELL[0] / 2,
        y + 15,
        escaped(text)
    );
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}
