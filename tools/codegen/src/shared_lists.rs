//! The lists of a form: operands, rules, tables, effects, notes and differences. A long list of several forms of a block is a variable.

use std::collections::HashMap;
use std::fmt::Write as _;

use crate::rust::{Printer, WIDTH, append, call, list, unused_name};
use crate::schema::{Block, Form};

/// The greatest length in bytes of a list that is repeated instead of shared.
const MAX_REPEATED: usize = 60;

/// A list of a form.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct List {
    /// The call that adds it, without `with_`.
    name: &'static str,
    /// The type of an item.
    ty: &'static str,
    items: Vec<String>,
}

/// The lists of a form, in the order in which they are written.
pub(crate) struct Lists(pub(crate) [List; 6]);

impl Lists {
    pub(crate) fn new(p: &Printer<'_>, form: &Form) -> Self {
        Self([
            List::new("operands", "FormOperand", &form.operands, |o| p.operand(o)),
            List::new("rules", "Rule", &form.rules, |r| p.rule(r)),
            List::new("tables", "Table", &form.tables, |table| {
                let rows = list(&table.rows, |row| {
                    format!("\n                {}", p.row(row))
                });
                let (columns, operands) = (&table.columns, &table.operands);
                format!("table(&{columns:?}, &{operands:?}, &[{rows}])")
            }),
            List::new("effects", "Effect", &form.effects, |e| p.effect(e)),
            List::new("notes", "&str", &form.notes, |text| format!("{text:?}")),
            List::new("differences", "&str", &form.differences, |text| {
                format!("{text:?}")
            }),
        ])
    }
}

impl List {
    fn new<T>(
        name: &'static str,
        ty: &'static str,
        items: &[T],
        print: impl Fn(&T) -> String,
    ) -> Self {
        let items = items.iter().map(print).collect();
        Self { name, ty, items }
    }
}

/// The lists of a block that are variables, with their names.
pub(crate) struct SharedLists {
    names: HashMap<List, String>,
    /// The lists in the order in which their names were assigned.
    lists: Vec<(String, List)>,
}

impl SharedLists {
    pub(crate) fn new(p: &Printer<'_>, block: &Block, ident: &str) -> Self {
        let mut counts: HashMap<List, usize> = HashMap::new();
        let mut order = Vec::new();
        for form in &block.forms {
            for list in Lists::new(p, form).0 {
                let count = counts.entry(list.clone()).or_default();
                *count += 1;
                if *count == 2 && list.items.join(", ").len() > MAX_REPEATED {
                    order.push(list);
                }
            }
        }
        let mut shared = Self {
            names: HashMap::new(),
            lists: Vec::new(),
        };
        for list in order {
            let base = format!("{ident}_{}", list.name.to_uppercase());
            let name = unused_name(base, |name| {
                shared.lists.iter().any(|(other, _)| other == name)
            });
            shared.names.insert(list.clone(), name.clone());
            shared.lists.push((name, list));
        }
        shared
    }

    pub(crate) fn print(&self, out: &mut String) {
        for (name, list) in &self.lists {
            // Not a constant: only in a static variable, references to the results of functions live as long.
            let (ty, count) = (list.ty, list.items.len());
            let head = format!("static {name}: [{ty}; {count}] = [");
            out.push_str(&head);
            if head.len() + list.items.join(", ").len() < WIDTH {
                out.push_str(&list.items.join(", "));
            } else {
                out.push_str("\n    ");
                append_items(out, &list.items, "\n    ");
            }
            out.push_str("];\n");
        }
    }

    /// Appends the call that adds a list to a form, with the name or the items of the list.
    pub(crate) fn append_call(&self, out: &mut String, list: &List) {
        let name = list.name;
        if list.items.is_empty() {
            return;
        }
        if let Some(shared) = self.names.get(list) {
            return call(out, &format!(".with_{name}(&{shared})"));
        }
        let one_line = list.items.join(", ");
        if one_line.len() < WIDTH || list.items.len() == 1 {
            return call(out, &format!(".with_{name}(&[{one_line}])"));
        }
        let _ = write!(out, "\n        .with_{name}(&[\n            ");
        append_items(out, &list.items, "\n            ");
        out.push_str("])");
    }
}

/// Appends the items of a list, on as few lines as possible.
fn append_items(out: &mut String, items: &[String], new_line: &str) {
    for (i, item) in items.iter().enumerate() {
        if i > 0 {
            out.push(',');
            append(out, " ", new_line, item);
        } else {
            out.push_str(item);
        }
    }
}
