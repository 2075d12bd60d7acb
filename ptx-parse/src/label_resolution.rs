//! Resolves labels at the end of a body: those that are used before their definition, and those that have none.

use alloc::vec::Vec;
use ptx_ir::raw::RawBody;
use ptx_ir::{EntityId, Label, LabelId, Operand, PrimaryMap, Span, Statement};

use crate::labels::PendingLabels;
use crate::parser::Parser;
use crate::record::late_declaration;
use crate::undeclared::UndeclaredUse;

impl Parser<'_> {
    /// Replaces labels that were merged or never defined, and reports the latter.
    pub(crate) fn resolve_labels(&mut self) {
        let mut pending = core::mem::take(&mut self.scopes.labels);
        let may_use_tables_early = !pending.tables.is_empty() && !pending.uses.is_empty();
        let are_resolved = pending.merged.is_empty() && pending.undefined.is_empty();
        if !are_resolved || may_use_tables_early || !pending.ranges.is_empty() {
            self.replace_labels(&pending);
        }
        pending.clear();
        self.scopes.labels = pending;
        self.suppressed.function_ended(self.reporter.reports);
    }

    #[inline(never)]
    fn replace_labels(&mut self, pending: &PendingLabels) {
        let old_labels = self.out.body.labels().clone();
        let replacement = renumber(&old_labels, pending, self.out.body.labels_mut());
        let resolve = |operand: Operand| match operand {
            Operand::Label(id) => replacement.get(id.index()).copied().unwrap_or(operand),
            _ => operand,
        };
        self.out.body.pool_mut().map_names(resolve);
        for declarator in self.out.body.declarations_mut().declarators.iter_mut() {
            declarator.init = resolve(declarator.init);
        }
        for statement in self.out.body.statements_mut().values_mut() {
            if let Statement::Label(id) = statement
                && let Operand::Label(new) = resolve(Operand::Label(*id))
            {
                *id = new;
            }
        }
        self.report_early_uses_of_tables(&replacement, pending);
        let has_undeclared_names = pending
            .undefined
            .iter()
            .any(|(_, operand)| matches!(operand, Operand::Name(_)));
        if !has_undeclared_names && pending.ranges.is_empty() {
            return;
        }
        let uses: Vec<UndeclaredUse> = pending
            .uses
            .iter()
            .filter_map(|&(id, offset)| match replacement.get(id.index())? {
                Operand::Name(name) => Some(UndeclaredUse {
                    name: *name,
                    offset,
                    declared_later: pending.declared_after_use.contains(&id),
                }),
                _ => None,
            })
            .collect();
        self.report_undeclared(&uses, &pending.ranges);
    }

    /// Reports the uses of tables and prototypes before their definition. ptxas resolves only labels of statements there.
    fn report_early_uses_of_tables(&mut self, replacement: &[Operand], pending: &PendingLabels) {
        let resolved = |id: LabelId| match replacement.get(id.index()) {
            Some(Operand::Label(id)) => Some(*id),
            _ => None,
        };
        let mut tables: Vec<LabelId> = pending.tables.iter().filter_map(|t| resolved(*t)).collect();
        tables.sort_unstable();
        for &(id, offset) in &pending.uses {
            let Some(id) = resolved(id).filter(|id| tables.binary_search(id).is_ok()) else {
                continue;
            };
            let text = self.out.module.name(self.out.body.labels()[id].name);
            let definition = self.out.body.source_span(self.out.body.labels()[id].stmt);
            self.report(
                late_declaration(text, Span::new(offset, offset + text.len() as u32))
                    .with_label(definition, "defined here"),
            );
        }
    }
}

/// Fills `labels` with the labels of `old_labels` that remain. Returns the replacement of each old label: a label of
/// `labels`, or the operand that an undefined label becomes.
fn renumber(
    old_labels: &PrimaryMap<LabelId, Label>,
    pending: &PendingLabels,
    labels: &mut PrimaryMap<LabelId, Label>,
) -> Vec<Operand> {
    labels.clear();
    let mut replacement: Vec<Operand> = old_labels.ids().map(Operand::Label).collect();
    for &(id, operand) in &pending.undefined {
        replacement[id.index()] = operand;
    }
    // A label merges into a label of an outer scope, whose own merge comes later in the list.
    for &(inner, outer) in pending.merged.iter().rev() {
        replacement[inner.index()] = replacement[outer.index()];
    }
    let mut renumbered: Vec<Option<LabelId>> = vec![None; old_labels.len()];
    for (id, label) in old_labels.iter() {
        if replacement[id.index()] == Operand::Label(id) {
            renumbered[id.index()] = Some(labels.push(*label));
        }
    }
    for target in &mut replacement {
        if let Operand::Label(id) = *target
            && let Some(new) = renumbered[id.index()]
        {
            *target = Operand::Label(new);
        }
    }
    replacement
}
