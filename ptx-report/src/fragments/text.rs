//! Fragments as tables of text.

use std::fmt::Write as _;

use super::{FragmentMatrix, Fragments, SharedLayout};

/// The largest number of columns of a table; the remaining ones are only in JSON and in pictures.
const MAX_COLUMNS: usize = 32;

/// The fragments as text, with a table for each matrix.
#[must_use]
pub fn text(fragments: &Fragments) -> String {
    let mut text = format!("{}\n", fragments.name);
    for matrix in &fragments.matrices {
        text.push('\n');
        write_matrix(&mut text, matrix);
    }
    for layout in &fragments.shared {
        text.push('\n');
        write_layout(&mut text, layout);
    }
    if !fragments.notes.is_empty() {
        text.push('\n');
    }
    for note in &fragments.notes {
        let _ = writeln!(text, "{note}");
    }
    text
}

/// The name of an operand in cells: its first letter, or nothing for matrices with a number.
fn short_name(matrix: &FragmentMatrix) -> &str {
    let is_named = matrix.operand.len() == 1 || matrix.operand.contains(" of ");
    matrix.operand.get(..1).filter(|_| is_named).unwrap_or("r")
}

/// A range `4–7`, or one number.
pub(super) fn range(first: usize, count: usize) -> String {
    if count > 1 {
        format!("{first}–{}", first + count - 1)
    } else {
        first.to_string()
    }
}

/// The blocks of a matrix as cells: the text of each, by rows.
pub(super) fn cells(matrix: &FragmentMatrix) -> Vec<Vec<String>> {
    let [height, width] = matrix.block();
    let has_index =
        (height, width) == (1, 1) && matrix.places.iter().flatten().any(|p| p.index > 0);
    let name = short_name(matrix);
    let blocks = |places: &Vec<super::FragmentPlace>| {
        let places = places.iter().step_by(width);
        places
            .map(|place| match has_index {
                true => format!("T{} {name}{}.{}", place.lane, place.register, place.index),
                false => format!("T{} {name}{}", place.lane, place.register),
            })
            .collect()
    };
    matrix.places.iter().step_by(height).map(blocks).collect()
}

/// A line that says what a matrix is.
pub(super) fn title(matrix: &FragmentMatrix) -> String {
    let registers = match matrix.registers {
        1 => "1 register".to_owned(),
        count => format!("{count} registers"),
    };
    format!(
        "{}: {}, {} × {} of {}, {registers} per lane",
        matrix.operand, matrix.meaning, matrix.rows, matrix.columns, matrix.element
    )
}

fn write_matrix(text: &mut String, matrix: &FragmentMatrix) {
    let _ = writeln!(text, "{}", title(matrix));
    if let [first, .., last] = matrix.address_lanes[..] {
        let _ = writeln!(
            text,
            "  lanes {first} to {last} have the addresses of its rows in memory"
        );
    }
    let [height, width] = matrix.block();
    let header = (0..matrix.columns)
        .step_by(width)
        .map(|column| range(column, width));
    let mut table = vec![
        std::iter::once(matrix.row_name.to_owned())
            .chain(header)
            .collect(),
    ];
    for (index, mut row) in cells(matrix).into_iter().enumerate() {
        row.insert(0, range(index * height, height));
        table.push(row);
    }
    write_table(text, &table);
}

fn write_layout(text: &mut String, layout: &SharedLayout) {
    let _ = writeln!(text, "{}: {}", layout.swizzle, layout.meaning);
    let chunks = layout.offsets.first().map_or(0, Vec::len);
    let header = (0..chunks).map(|chunk| chunk.to_string());
    let mut table = vec![std::iter::once("line".to_owned()).chain(header).collect()];
    for (line, offsets) in layout.offsets.iter().enumerate() {
        let offsets = offsets.iter().map(ToString::to_string);
        table.push(std::iter::once(line.to_string()).chain(offsets).collect());
    }
    write_table(text, &table);
}

/// Writes rows with aligned columns.
fn write_table(text: &mut String, rows: &[Vec<String>]) {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let shown = columns.min(MAX_COLUMNS + 1);
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row: &Vec<String>| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..shown).map(width).collect();
    for row in rows {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            let _ = write!(line, "  {cell:>width$}");
        }
        if columns > shown {
            line += "  …";
        }
        let _ = writeln!(text, "{}", line.trim_end());
    }
}
