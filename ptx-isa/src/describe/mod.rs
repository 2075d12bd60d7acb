//! Forms, operands, rules and effects as English text.
//!
//! Every function returns a value to display and allocates nothing. Slots and operands have the names that they have in
//! [`Form::syntax`](crate::Form::syntax).

mod condition;
mod effect;
mod example;
mod fact;
mod operand;
mod rule;
mod slot;
mod table;

pub use condition::{condition, demand};
pub use effect::effect;
pub use example::{directive_module, example_module, register_example};
pub use fact::{Topic, each_fact};
pub use operand::{details, operand, role, type_of};
pub use rule::{floor, floors, rule, rule_kind};
pub use slot::{alternatives, words};
pub use table::table;

use core::fmt;

use crate::Form;

/// A value that a function displays: `core::fmt::from_fn`, which needs Rust 1.93.
fn from_fn(write: impl Fn(&mut fmt::Formatter<'_>) -> fmt::Result) -> impl fmt::Display {
    struct FromFn<F>(F);
    impl<F: Fn(&mut fmt::Formatter<'_>) -> fmt::Result> fmt::Display for FromFn<F> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            self.0(f)
        }
    }
    FromFn(write)
}

/// The name of a slot.
fn slot_name(form: &Form, slot: u8) -> &'static str {
    form.slot(slot.into()).map_or("", |s| s.name())
}

/// The name of an operand.
fn operand_name(form: &Form, operand: u8) -> &'static str {
    form.operands()
        .get(usize::from(operand))
        .map_or("", |o| o.name)
}

/// Writes phrases with a separator.
struct Phrases<'a, 'b> {
    f: &'a mut fmt::Formatter<'b>,
    separator: &'static str,
    first: bool,
}

impl<'a, 'b> Phrases<'a, 'b> {
    fn new(f: &'a mut fmt::Formatter<'b>, separator: &'static str) -> Self {
        Self {
            f,
            separator,
            first: true,
        }
    }

    fn add(&mut self, phrase: fmt::Arguments<'_>) -> fmt::Result {
        if !self.first {
            self.f.write_str(self.separator)?;
        }
        self.first = false;
        self.f.write_fmt(phrase)
    }
}
