//! The end of a body: which of the labels used before their definition were defined.

use alloc::vec::Vec;
use ptx_ir::raw::RawBody;
use ptx_ir::{EntityId, Label, LabelId, Operand, PrimaryMap, Span, Statement};

use crate::labels::PendingLabels;
use crate::parser::Parser;
use crate::record::late_declaration;
use crate::undeclared::UndeclaredUse;

impl Parser<'_> {
    /// At the end of a body: replaces labels that were merged or never defined, and reports the latter.
    pub(crate) fn resolve_labels(&mut self) {
        let mut pending = core::mem::take(&mut self.scopes.labels);
        let early = !pending.tables.is_empty() && !pending.uses.is_empty();
        let resolved = pending.merged.is_empty() && pending.undefined.is_empty();
        if !resolved || early || !pending.ranges.is_empty() {
            self.replace_labels(&pending);
        }
        pending.clear();
        self.scopes.labels = pending;
        self.suppressed.function_ended(self.reporter.reports);
    }

    #[inline(never)]
    fn replace_labels(&mut self, pending: &PendingLabels) {
        let old = self.out.body.labels().clone();
        let replacement = renumber(&old, pending, self.out.body.labels_mut());
        let resolve = |o: Operand| match o {
            Operand::Label(id) => replacement.get(id.index()).copied().unwrap_or(o),
            _ => o,
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
        self.early_uses_of_tables(&replacement, pending);
        let undeclared = |&(_, o): &(LabelId, Operand)| matches!(o, Operand::Name(_));
        if !pending.undefined.iter().any(undeclared) && pending.ranges.is_empty() {
            return;
        }
        let named = |&(id, at): &(LabelId, u32)| match replacement.get(id.index())? {
            Operand::Name(name) => Some(UndeclaredUse {
                name: *name,
                at,
                declared_later: pending.declared_after_use.contains(&id),
            }),
            _ => None,
        };
        let uses: Vec<UndeclaredUse> = pending.uses.iter().filter_map(named).collect();
        self.report_undeclared(&uses, &pending.ranges);
    }

    /// Reports the uses of tables and prototypes before them: ptxas resolves only labels of statements there.
    fn early_uses_of_tables(&mut self, replacement: &[Operand], pending: &PendingLabels) {
        let resolved = |id: LabelId| match replacement.get(id.index()) {
            Some(Operand::Label(id)) => Some(*id),
            _ => None,
        };
        let mut tables: Vec<LabelId> = pending.tables.iter().filter_map(|t| resolved(*t)).collect();
        tables.sort_unstable();
        for &(id, at) in &pending.uses {
            let Some(id) = resolved(id).filter(|id| tables.binary_search(id).is_ok()) else {
                continue;
            };
            let text = self.out.module.name(self.out.body.labels()[id].name);
            let d = late_declaration(text, Span::new(at, at + text.len() as u32));
            self.report(d.with_label(
                self.out.body.source_span(self.out.body.labels()[id].stmt),
                "defined here",
            ));
        }
    }
}

/// Fills `labels` with those of `old` that remain, and gives what each old one becomes: a label of
/// `labels`, or what an undefined one is instead.
fn renumber(
    old: &PrimaryMap<LabelId, Label>,
    pending: &PendingLabels,
    labels: &mut PrimaryMap<LabelId, Label>,
) -> Vec<Operand> {
    labels.clear();
    let mut becomes: Vec<Operand> = old.ids().map(Operand::Label).collect();
    for &(id, operand) in &pending.undefined {
        becomes[id.index()] = operand;
    }
    // A merge goes outward, into a scope that closes later: follow from the outermost in.
    for &(inner, outer) in pending.merged.iter().rev() {
        becomes[inner.index()] = becomes[outer.index()];
    }
    let mut renumbered: Vec<Option<LabelId>> = vec![None; old.len()];
    for (id, label) in old.iter() {
        if becomes[id.index()] == Operand::Label(id) {
            renumbered[id.index()] = Some(labels.push(*label));
        }
    }
    for target in &mut becomes {
        if let Operand::Label(id) = *target
            && let Some(new) = renumbered[id.index()]
        {
            *target = Operand::Label(new);
        }
    }
    becomes
}
