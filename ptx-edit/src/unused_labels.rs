//! Removing unused labels, all at once.

use alloc::vec::Vec;

use ptx_ir::name::split_numeric_suffix_str;
use ptx_ir::{EntityId, EntitySet, Label, LabelId, NameId, Operand, Statement, StmtId};

use crate::Editor;
use crate::names::debug_names;
use crate::placement::needs_label;

impl Editor<'_> {
    /// Removes every label that is not used, with the table or prototype after it, and then those that only such a table
    /// used. Returns the removed statements. Linear in the body.
    pub fn remove_unused_labels(&mut self) -> Vec<StmtId> {
        let mut uses = self.label_uses();
        let debug: EntitySet<NameId> = debug_names(self.module).collect();
        let labels = self.body().labels().iter();
        let unused = |(id, label): &(LabelId, &Label)| {
            uses.get(id.index()) == Some(&0) && !debug.contains(label.name)
        };
        let mut worklist: Vec<StmtId> = labels.filter(unused).map(|(_, l)| l.stmt).collect();
        worklist.reverse();
        let mut removed = Vec::new();
        while let Some(stmt) = worklist.pop() {
            // A label that was not placed, or was removed before, has no statement.
            let Some(label @ Statement::Label(_)) = self.body().statement(stmt) else {
                continue;
            };
            let next = self.body().after(stmt);
            let table = next.and_then(|s| Some((s, self.body().statement(s)?)));
            if let Some((table, statement)) = table.filter(|(_, s)| needs_label(self.body(), *s)) {
                let body = self.body();
                for operand in body.walk(statement) {
                    let Operand::Label(entry) = operand else {
                        continue;
                    };
                    if let Some(count) = uses.get_mut(entry.index()) {
                        *count -= 1;
                        let label = body.labels().get(entry);
                        let label = label.filter(|l| *count == 0 && !debug.contains(l.name));
                        worklist.extend(label.map(|l| l.stmt));
                    }
                }
                self.take(table, statement);
                removed.push(table);
            }
            self.take(stmt, label);
            removed.push(stmt);
        }
        removed
    }

    /// The number of uses of each label; a range of names that may denote it is a use.
    fn label_uses(&self) -> Vec<u32> {
        let body = self.body();
        let mut counts = vec![0u32; body.labels().len()];
        let mut ranges: Vec<&str> = Vec::new();
        for (_, statement) in body.statements() {
            for operand in body.walk(statement) {
                match operand {
                    Operand::Label(id) => {
                        if let Some(count) = counts.get_mut(id.index()) {
                            *count += 1;
                        }
                    }
                    Operand::Range(at) => {
                        if let (Operand::Name(name), _) = body.pool().pair(at) {
                            ranges.push(self.module.name(name));
                        }
                    }
                    _ => {}
                }
            }
        }
        if ranges.is_empty() {
            return counts;
        }
        ranges.sort_unstable();
        for ((_, label), count) in body.labels().iter().zip(&mut counts) {
            let stem = split_numeric_suffix_str(self.module.name(label.name)).0;
            *count += u32::from(ranges.binary_search(&stem).is_ok());
        }
        counts
    }
}
