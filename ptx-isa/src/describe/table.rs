//! Tables of legal combinations as text in columns.

use core::fmt::{self, Display, Write};

use super::{Phrases, floors, operand_name, slot_name, words};
use crate::{Cell, Form, Row, SlotAssignment, Table};

/// A table with a heading line; with the modifiers of an instruction, only the row that matches them.
#[must_use]
pub fn table<'a>(
    form: &'a Form,
    table: &'a Table,
    chosen: Option<&'a SlotAssignment>,
) -> impl Display + 'a {
    super::from_fn(move |f| {
        let rows = match chosen {
            None => table.rows,
            Some(assignment) => table.row(assignment).map_or(&[][..], core::slice::from_ref),
        };
        // The heading, then the rows.
        let lines = core::iter::once(None).chain(rows.iter().map(Some));
        let mut widths = [0; MAX_COLUMNS];
        for line in lines.clone() {
            for (column, width) in widths.iter_mut().enumerate() {
                *width = (*width).max(count(&cell(form, table, line, column)));
            }
        }
        for line in lines {
            // Spaces are only written before text.
            let mut padding = 0;
            for (column, &width) in widths.iter().enumerate() {
                let text = cell(form, table, line, column);
                let len = count(&text);
                if len > 0 {
                    write!(f, "{:padding$}{text}", "")?;
                    padding = 0;
                }
                padding += width - len + 2;
            }
            writeln!(f)?;
        }
        Ok(())
    })
}

/// An upper bound of the number of columns of a table.
const MAX_COLUMNS: usize = 24;

/// The text of a column in a row or in the heading: slots, then lengths of operands, then versions and targets.
fn cell<'a>(
    form: &'a Form,
    table: &'a Table,
    row: Option<&'a Row>,
    column: usize,
) -> impl Display + 'a {
    let operand = column.wrapping_sub(table.columns.len());
    super::from_fn(move |f| {
        if let Some(&slot) = table.columns.get(column) {
            match row {
                None => f.write_str(slot_name(form, slot)),
                Some(row) => match row.cells.get(column) {
                    Some(cell) => write_condition(f, form, cell),
                    None => Ok(()),
                },
            }
        } else if let Some(&operand_index) = table.operands.get(operand) {
            match row {
                None => write!(f, "length of {}", operand_name(form, operand_index)),
                Some(row) => write_lengths(f, row.lengths.get(operand).copied().unwrap_or(&[])),
            }
        } else if operand == table.operands.len() {
            row.map_or(Ok(()), |row| write!(f, "{}", floors(row.since)))
        } else {
            Ok(())
        }
    })
}

/// Writes the condition of a cell.
fn write_condition(f: &mut fmt::Formatter<'_>, form: &Form, cell: &Cell) -> fmt::Result {
    match *cell {
        Cell::Any => f.write_str("any"),
        Cell::Absent => f.write_str("none"),
        Cell::OneOf(set) => write!(f, "{}", words(set.as_slice())),
        Cell::Same(slot) => write!(f, "same as {}", slot_name(form, slot)),
    }
}

/// Writes the lengths of an operand in a row: one, or one for each type in its column.
fn write_lengths(f: &mut fmt::Formatter<'_>, list: &[u16]) -> fmt::Result {
    let mut all = Phrases::new(f, " or ");
    list.iter().try_for_each(|n| all.add(format_args!("{n}")))
}

/// The number of characters of a text.
fn count(text: &impl Display) -> usize {
    struct Counter(usize);
    impl Write for Counter {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            self.0 += text.chars().count();
            Ok(())
        }
    }
    let mut counter = Counter(0);
    match write!(counter, "{text}") {
        Ok(()) => counter.0,
        Err(_) => 0,
    }
}
