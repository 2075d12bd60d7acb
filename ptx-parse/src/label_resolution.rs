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

use crate::cascade;
use crate::labels::{LabelRange, PendingLabels};
use crate::output::Level;
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
        let early = !pending.tables.is_empty() && !pending.uses.is_empty();
        let resolved = pending.merged.is_empty() && pending.undefined.is_empty();
        if !resolved || early || !pending.ranges.is_empty() {
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
        self.early_uses_of_tables(&replacement, pending);
        let undeclared = |&(_, o): &(LabelId, Operand)| matches!(o, Operand::Name(_));
        if !pending.undefined.iter().any(undeclared) && pending.ranges.is_empty() {
            return;
        }
        let declared = Declared::of(&self.out.body);
        self.missing_labels(&declared, &pending.ranges);
        let (src, end) = (self.cursor.src, self.cursor.last);
        if self.reporter.cascade.ends_early(src, end) {
            let rest = cascade::rest_of_function(src, end);
            self.suppressed.suppress(rest, Level::Body);
        }
        for &(id, at) in &pending.uses {
            if let Operand::Name(name) = replacement[id.index()] {
                let after_use = pending.declared_after_use.contains(&id);
                self.undeclared(&declared, name, at, after_use);
            }
        }
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

    /// Reports the first missing label of each range. The labels of a prefix are counted once.
    fn missing_labels(&mut self, declared: &Declared, ranges: &[LabelRange]) {
        let mut counted = BTreeMap::new();
        for range in ranges {
            let module = &self.out.module;
            let prefix = module.name(range.prefix);
            let defined = counted.entry(range.prefix).or_insert_with(|| {
                let is_label = |n: &u32| {
                    let name = module.find_name(format!("{prefix}{n}").as_bytes());
                    name.is_some_and(|n| declared.labels.contains_key(&n))
                };
                (0..).take_while(is_label).count() as u32
            });
            if i64::from(*defined) >= range.count {
                continue;
            }
            let message = format!("undeclared label `{prefix}{defined}` of this range");
            let span = Span::new(range.at, range.at + prefix.len() as u32);
            self.report(Diagnostic::error(Code::UndefinedName, span, message));
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
