//! Tables that are wider than the terminal: the last columns of a row become lines below it.
//!
//! ```text
//!  Line  Depth  Instruction
//!    90      1  ld.global.b32
//!       Address: param_0 + 4*%tid.x; Source: matrix.cu:11
//! ```

use std::io::{self, Write};

use comfy_table::{ColumnConstraint, ContentArrangement, Row, Table};

use crate::output::heading;

/// The number of columns before and after the content of a cell.
const PADDING: usize = 2;
/// The indentation of the lines below a row.
const INDENT: usize = 6;
/// The least number of columns that stay in the table. If fewer fit, the cells are wrapped instead.
const MIN_COLUMNS: usize = 2;

/// Writes a table with a header whose rows are longer than a width. Returns `false` and writes nothing if the rows fit, or too few columns would
/// stay.
pub(crate) fn write(out: &mut impl Write, table: &Table, width: usize) -> io::Result<bool> {
    let Some(header) = table.header() else {
        return Ok(false);
    };
    let widths = table.column_max_content_widths();
    let kept = fitting_columns(&widths, width);
    if kept == widths.len() || kept < MIN_COLUMNS {
        return Ok(false);
    }
    let mut narrow = table.clone();
    narrow.set_content_arrangement(ContentArrangement::Disabled);
    for column in narrow.column_iter_mut().skip(kept) {
        column.set_constraint(ColumnConstraint::Hidden);
    }
    let lines: Vec<String> = narrow.lines().collect();
    let Some((header_line, row_lines)) = lines.split_first() else {
        return Ok(false);
    };
    if row_lines.len() != table.row_count() {
        // A cell has several lines.
        return Ok(false);
    }
    writeln!(out, " {}", heading(header_line.trim_end()))?;
    for (line, row) in row_lines.iter().zip(table.row_iter()) {
        writeln!(out, " {}", line.trim_end())?;
        for line in wrapped(&details(header, row, kept), width, INDENT) {
            writeln!(out, "{line}")?;
        }
    }
    Ok(true)
}

/// The number of columns at the beginning of a table that fit a width.
fn fitting_columns(widths: &[u16], width: usize) -> usize {
    let mut end = 1;
    widths
        .iter()
        .take_while(|&&column| {
            end += usize::from(column) + PADDING;
            end <= width
        })
        .count()
}

/// The titles and contents of the columns that are not kept: `Address: param_0; Source: a.cu:11`.
fn details(header: &Row, row: &Row, kept: usize) -> String {
    let details: Vec<String> = header
        .cell_iter()
        .zip(row.cell_iter())
        .skip(kept)
        .map(|(title, cell)| (title.content(), cell.content().trim().to_owned()))
        .filter(|(_, content)| !content.is_empty())
        .map(|(title, content)| format!("{title}: {content}"))
        .collect();
    details.join("; ")
}

/// The lines of a text, indented and not longer than a width. Words that are too long are divided.
pub(crate) fn wrapped(text: &str, width: usize, indent: usize) -> Vec<String> {
    let available = width.saturating_sub(indent).max(1);
    let indent = " ".repeat(indent);
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    let mut line_len = 0;
    for word in text.split_whitespace() {
        let word: Vec<char> = word.chars().collect();
        if line_len > 0 && line_len + 1 + word.len() > available {
            lines.push(std::mem::take(&mut line));
            line_len = 0;
        }
        for (index, part) in word.chunks(available).enumerate() {
            if index > 0 {
                lines.push(std::mem::take(&mut line));
                line_len = 0;
            }
            if line_len > 0 {
                line.push(' ');
                line_len += 1;
            }
            line.extend(part);
            line_len += part.len();
        }
    }
    if line_len > 0 {
        lines.push(line);
    }
    lines.iter().map(|line| format!("{indent}{line}")).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panics")]

    use super::*;

    #[test]
    fn the_last_columns_become_lines() {
        let mut table = crate::output::table();
        table.set_header(["Line", "Kind", "Text"]);
        table.add_row(["1", "load", "a text that is too long for the line"]);
        table.add_row(["12", "store", ""]);
        let mut text = Vec::new();
        assert!(write(&mut text, &table, 30).unwrap());
        let expected = "  Line  Kind\n  1     load\n      Text: a text that is too\n      long for the line\n  12    store\n";
        assert_eq!(String::from_utf8(text).unwrap(), expected);
        assert!(!write(&mut Vec::new(), &table, 80).unwrap());
        assert!(!write(&mut Vec::new(), &table, 8).unwrap());
    }

    #[test]
    fn long_words_are_divided() {
        assert_eq!(
            wrapped("ab cdefgh", 9, INDENT),
            ["      ab", "      cde", "      fgh"]
        );
        assert!(wrapped("", 9, INDENT).is_empty());
    }
}
