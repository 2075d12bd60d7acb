//! Cells of tables of legal combinations.

use core::fmt::{self, Display};

use super::{Phrases, slot_name, words};
use crate::{Cell, Form};

/// What a cell asks of its slot.
pub fn cell(form: &Form, cell: &Cell) -> impl Display {
    fmt::from_fn(move |f| match *cell {
        Cell::Any => f.write_str("any"),
        Cell::Absent => f.write_str("none"),
        Cell::Words(set) => write!(f, "{}", words(set.as_slice())),
        Cell::Same(slot) => write!(f, "as {}", slot_name(form, slot)),
    })
}

/// The lengths a row gives to an operand: one, or one for each type of the operand's column.
pub fn lengths(list: &[u16]) -> impl Display {
    fmt::from_fn(move |f| {
        let mut all = Phrases::new(f, " or ");
        list.iter().try_for_each(|n| all.add(format_args!("{n}")))
    })
}
