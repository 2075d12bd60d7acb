//! The end of a body: which of the labels used before their definition were defined, and the errors
//! of names that were not.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::vec::Vec;
use ptx_ir::name::split_numeric_suffix;
use ptx_ir::raw::RawBody;
use ptx_ir::{
    Body, Code, Diagnostic, EntityId, Label, LabelId, NameId, Operand, PrimaryMap, Span, Statement,
    StmtId,
};
use ptx_isa::Opcode;

use crate::labels::PendingLabels;
use crate::parser::{Parser, late_declaration};

/// What a body declares, for better errors about undeclared names.
struct Declared {
    labels: BTreeMap<NameId, StmtId>,
    ranges: BTreeMap<NameId, u32>,
}

impl Declared {
    fn of(body: &Body) -> Self {
        let labels = body.labels().values().map(|l| (l.name, l.stmt));
        let ranges = body.reg_decls().values();
        Self {
            labels: labels.collect(),
            ranges: ranges.filter_map(|d| Some((d.name, d.count?))).collect(),
        }
    }
}

impl Parser<'_> {
    /// At the end of a body: replaces labels that were merged or never defined, and reports the latter.
    pub(crate) fn resolve_labels(&mut self) {
        let mut pending = core::mem::take(&mut self.scopes.labels);
        if !(pending.merged.is_empty() && pending.undefined.is_empty()) {
            self.replace_labels(&pending);
        }
        pending.clear();
        self.scopes.labels = pending;
        self.suppressed.function_ended();
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
        let undeclared = |&(_, o): &(LabelId, Operand)| matches!(o, Operand::Name(_));
        if !pending.undefined.iter().any(undeclared) {
            return;
        }
        let declared = Declared::of(&self.out.body);
        let (src, end) = (self.cursor.src, self.cursor.last);
        if self.reporter.cascade.ends_early(src, end) {
            self.suppressed.suppress_function();
        }
        for &(id, at) in &pending.uses {
            if let Operand::Name(name) = replacement[id.index()] {
                let after_use = pending.declared_after_use.contains(&id);
                self.undeclared(&declared, name, at, after_use);
            }
        }
    }

    /// Reports a name without a declaration.
    #[cold]
    fn undeclared(&mut self, declared: &Declared, name: NameId, at: u32, after_use: bool) {
        let src = self.cursor.src;
        let module = &self.out.module;
        let text = module.name(name);
        let spelled = &src[at as usize..][..text.len()];
        let range = self.range_of(declared, spelled);
        let suppressed = match range {
            Some(_) => self.suppressed.contains_exactly(spelled),
            None => self.suppressed.contains(spelled),
        };
        if suppressed {
            return;
        }
        let span = Span::new(at, at + text.len() as u32);
        let d = if after_use {
            late_declaration(text, span)
        } else if let Some(&label) = declared.labels.get(&name) {
            if self.reporter.cascade.has_brace_mismatch() {
                return;
            }
            let message =
                format!("expected a label of this scope, found `{text}` of another scope");
            Diagnostic::error(Code::LabelOutOfScope, span, message)
                .with_label(self.out.body.source_span(label), "defined here")
                .with_help("a label is visible in its own scope and the scopes inside it")
        } else if let Some((prefix, count)) = range {
            let prefix = module.name(prefix);
            let last = count.saturating_sub(1);
            let message = format!(
                "expected `{prefix}0` to `{prefix}{last}`, which `{prefix}<{count}>` declares, found `{text}`"
            );
            Diagnostic::error(Code::OutsideRange, span, message)
        } else if self.suppressed.suppresses(spelled) {
            return;
        } else {
            let message = format!("undeclared name `{text}`");
            let d = Diagnostic::error(Code::UndefinedName, span, message);
            if text.starts_with('%') || Opcode::from_text(spelled).is_some() {
                d.with_help(format!(
                    "declare it before its first use: `.reg .b32 {text};`"
                ))
            } else {
                d
            }
        };
        self.report(d);
    }

    /// The range of registers that a name would belong to if its number were smaller.
    fn range_of(&self, declared: &Declared, name: &[u8]) -> Option<(NameId, u32)> {
        let (prefix, digits) = split_numeric_suffix(name);
        let prefix = self.out.module.find_name(prefix)?;
        let count = *declared.ranges.get(&prefix)?;
        (!digits.is_empty()).then_some((prefix, count))
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
    let mut renumbered: Vec<Option<LabelId>> = alloc::vec![None; old.len()];
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
