//! Removing unused labels, all at once.

use alloc::vec::Vec;

use ptx_ir::raw::{EntitySet, name::split_numeric_suffix_str};
use ptx_ir::{EntityId, NameId, Operand, Statement, StmtId};

use crate::Editor;
use crate::names::debug_names;
use crate::placement::needs_label;

impl Editor<'_> {
    /// Removes every label that is not used, with the table or prototype after it, and then the labels that only a removed
    /// table used. Returns the removed statements. Linear in the body.
    pub fn remove_unused_labels(&mut self) -> Vec<StmtId> {
        let mut uses = self.label_uses();
        let names_in_debug_sections: EntitySet<NameId> = debug_names(self.module).collect();
        let mut worklist: Vec<StmtId> = self
            .body()
            .labels()
            .iter()
            .filter(|(id, label)| {
                uses.get(id.index()) == Some(&0) && !names_in_debug_sections.contains(label.name)
            })
            .map(|(_, label)| label.stmt)
            .collect();
        worklist.reverse();
        let mut removed = Vec::new();
        while let Some(stmt) = worklist.pop() {
            // A label that is not inserted yet, or was removed, has no statement.
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
                        let unused_label = body.labels().get(entry).filter(|label| {
                            *count == 0 && !names_in_debug_sections.contains(label.name)
                        });
                        worklist.extend(unused_label.map(|label| label.stmt));
                    }
                }
                self.remove_unchecked(table, statement);
                removed.push(table);
            }
            self.remove_unchecked(stmt, label);
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
                    Operand::Range(range) => {
                        if let (Operand::Name(name), _) = body.pool().pair(range) {
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
