//! The lists of a form: operands, rules, tables, effects, notes and differences. A long list that several forms of a block have is a variable.

use std::collections::HashMap;
use std::fmt::Write as _;

use crate::emit_forms::{WIDTH, append, call};
use crate::rust::{Printer, list};
use crate::schema::{Block, Form};

/// Lists of at most as many bytes are repeated.
const SHORT: usize = 60;

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
    pub(crate) fn of(p: &Printer<'_>, form: &Form) -> Self {
        let tables = form.tables.iter().map(|table| {
            let rows = list(&table.rows, |row| {
                format!("\n                {}", p.row(row))
            });
            let (columns, operands) = (&table.columns, &table.operands);
            format!("table(&{columns:?}, &{operands:?}, &[{rows}])")
        });
        let texts = |texts: &[String]| texts.iter().map(|t| format!("{t:?}")).collect();
        let of = |name, ty, items| List { name, ty, items };
        Self([
            of(
                "operands",
                "FormOperand",
                form.operands.iter().map(|o| p.operand(o)).collect(),
            ),
            of(
                "rules",
                "Rule",
                form.rules.iter().map(|r| p.rule(r)).collect(),
            ),
            of("tables", "Table", tables.collect()),
            of(
                "effects",
                "Effect",
                form.effects.iter().map(|e| p.effect(e)).collect(),
            ),
            of("notes", "&str", texts(&form.notes)),
            of("differences", "&str", texts(&form.differences)),
        ])
    }
}

/// The lists of a block that are variables, with their names.
pub(crate) struct SharedLists {
    names: HashMap<List, String>,
    /// In the order of the names.
    all: Vec<(String, List)>,
}

impl SharedLists {
    pub(crate) fn new(p: &Printer<'_>, block: &Block, ident: &str) -> Self {
        let mut counts: HashMap<List, usize> = HashMap::new();
        let mut order = Vec::new();
        for form in &block.forms {
            for list in Lists::of(p, form).0 {
                let count = counts.entry(list.clone()).or_default();
                *count += 1;
                if *count == 2 && list.items.join(", ").len() > SHORT {
                    order.push(list);
                }
            }
        }
        let mut shared = Self {
            names: HashMap::new(),
            all: Vec::new(),
        };
        for list in order {
            let base = format!("{ident}_{}", list.name.to_uppercase());
            let numbered = (2..).map(|n| format!("{base}_{n}"));
            let mut free = std::iter::once(base.clone()).chain(numbered);
            let free = free.find(|name| !shared.all.iter().any(|(taken, _)| taken == name));
            let name = free.unwrap_or(base);
            shared.names.insert(list.clone(), name.clone());
            shared.all.push((name, list));
        }
        shared
    }

    pub(crate) fn print(&self, out: &mut String) {
        for (name, list) in &self.all {
            // Not a constant: only in a static variable, references to the results of functions live as long.
            let (ty, count) = (list.ty, list.items.len());
            let head = format!("static {name}: [{ty}; {count}] = [");
            out.push_str(&head);
            if head.len() + list.items.join(", ").len() < WIDTH {
                out.push_str(&list.items.join(", "));
            } else {
                out.push_str("\n    ");
                items(out, &list.items, "\n    ");
            }
            out.push_str("];\n");
        }
    }

    /// Adds a list to a form, by its name or with its items.
    pub(crate) fn section(&self, out: &mut String, list: &List) {
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
        items(out, &list.items, "\n            ");
        out.push_str("])");
    }
}

/// The items of a list, on as few lines as possible.
fn items(out: &mut String, items: &[String], new_line: &str) {
    for (i, item) in items.iter().enumerate() {
        if i > 0 {
            out.push(',');
            append(out, " ", new_line, item);
        } else {
            out.push_str(item);
        }
    }
}
