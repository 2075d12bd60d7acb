//! Removing labels that nothing mentions, all at once.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use super::Editor;
use super::editor::needs_label;
use super::operand_walk;
use crate::body::Statement;
use crate::entity::EntityId;
use crate::operand::Operand;
use crate::{LabelId, NameId, SectionEntry, StmtId};

impl Editor<'_> {
    /// Removes every label that nothing mentions, with the table or prototype behind it, and then those that only such a
    /// table mentioned. Gives the statements that went. Linear in the body; removing them one by one is not.
    pub fn remove_unused_labels(&mut self) -> Vec<StmtId> {
        let mut counts = self.label_mentions();
        let debug = self.debug_names();
        let labels = self.body().labels.iter();
        let unused = |(id, label): &(LabelId, &crate::Label)| {
            counts.get(id.index()) == Some(&0) && !debug.contains(&label.name)
        };
        let mut work: Vec<StmtId> = labels.filter(unused).map(|(_, l)| l.stmt).collect();
        work.reverse();
        let mut removed = Vec::new();
        while let Some(stmt) = work.pop() {
            // One that was made and not placed, or removed before, stands nowhere.
            let Some(&label @ Statement::Label(_)) = self.body().statements.get(stmt) else {
                continue;
            };
            let behind = self.body().after(stmt);
            let table = behind.and_then(|s| Some((s, *self.body().statements.get(s)?)));
            if let Some((table, statement)) = table.filter(|(_, s)| needs_label(self.body(), *s)) {
                let mut todo = operand_walk::of_statement(self.body(), statement);
                while let Some((_, operand)) = operand_walk::next(&self.body().pool, &mut todo) {
                    let Operand::Label(entry) = operand else {
                        continue;
                    };
                    if let Some(count) = counts.get_mut(entry.index()) {
                        *count -= 1;
                        let label = self.body().labels.get(entry).copied();
                        work.extend(
                            label
                                .filter(|l| *count == 0 && !debug.contains(&l.name))
                                .map(|l| l.stmt),
                        );
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

    /// How often each label is mentioned, and once more for each range of names that it may belong to.
    fn label_mentions(&self) -> Vec<u32> {
        let body = self.body();
        let mut counts = alloc::vec![0u32; body.labels.len()];
        let mut ranges = BTreeSet::new();
        for (_, statement) in body.statements() {
            let mut todo = operand_walk::of_statement(body, statement);
            while let Some((_, operand)) = operand_walk::next(&body.pool, &mut todo) {
                match operand {
                    Operand::Label(id) => {
                        if let Some(count) = counts.get_mut(id.index()) {
                            *count += 1;
                        }
                    }
                    Operand::Range(at) => {
                        if let (Operand::Name(name), _) = body.pool.pair(at) {
                            ranges.insert(name);
                        }
                    }
                    _ => {}
                }
            }
        }
        let prefixes: Vec<&str> = ranges.iter().map(|n| self.module.name(*n)).collect();
        if !prefixes.is_empty() {
            for ((_, label), count) in body.labels.iter().zip(&mut counts) {
                let name = self.module.name(label.name);
                let digits = |rest: &str| rest.bytes().all(|b| b.is_ascii_digit());
                let member = |p: &&str| name.strip_prefix(*p).is_some_and(digits);
                *count += u32::from(prefixes.iter().any(member));
            }
        }
        counts
    }

    /// The names in debug sections, which are not resolved.
    fn debug_names(&self) -> BTreeSet<NameId> {
        let module = &self.module;
        if module.sections.is_empty() {
            return BTreeSet::new();
        }
        let sections = module.sections.values().flat_map(|s| &s.entries);
        let labels = sections.filter_map(|e| match e {
            SectionEntry::Label(name) => Some(*name),
            _ => None,
        });
        let all = module.pool.operands().iter().copied();
        let bases = module.pool.addresses().iter().map(|a| a.base);
        let names = all.chain(bases).filter_map(|o| match o {
            Operand::Name(name) => Some(name),
            _ => None,
        });
        labels.chain(names).collect()
    }
}
