//! The items of a completion.

use lsp_types::{
    CompletionItem, CompletionItemKind, CompletionItemLabelDetails, CompletionList,
    CompletionTextEdit, Documentation, Range, TextEdit,
};
use ptx_ir::query::Environment;
use ptx_ir::{Linkage, Span};
use ptx_isa::{
    Directive, DirectivePosition, InstQuery, Modifier, Opcode, PtxVersion, ScalarType, Since,
    SpecialReg, Target,
};

use super::modifiers;
use crate::document::Document;

pub(super) struct Items<'d> {
    pub(super) document: &'d Document,
    environment: Environment,
    /// The word that the items replace.
    word: String,
    range: Range,
    items: Vec<CompletionItem>,
    /// Whether items are left out.
    incomplete: bool,
}

/// How likely an item is meant.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Rank {
    Likely,
    Possible,
    Unlikely,
}

impl<'d> Items<'d> {
    pub(super) fn new(document: &'d Document, word: Span, environment: Environment) -> Self {
        Self {
            document,
            environment,
            word: document.text(word),
            range: document.range(word),
            items: Vec::new(),
            incomplete: false,
        }
    }

    pub(super) fn finish(mut self, most: usize) -> CompletionList {
        self.items.sort_by(|a, b| a.sort_text.cmp(&b.sort_text));
        self.incomplete |= self.items.len() > most;
        self.items.truncate(most);
        CompletionList {
            is_incomplete: self.incomplete,
            items: self.items,
        }
    }

    /// Adds a text, unless it does not begin with what is written.
    pub(super) fn add(&mut self, text: &str, kind: CompletionItemKind, rank: Rank, detail: &str) {
        let begins = text
            .get(..self.word.len())
            .is_some_and(|t| t.eq_ignore_ascii_case(&self.word));
        if !begins {
            return;
        }
        let number = self.items.len();
        self.items.push(CompletionItem {
            label: text.to_owned(),
            kind: Some(kind),
            detail: (!detail.is_empty()).then(|| detail.to_owned()),
            sort_text: Some(format!("{}{number:05}", rank as u8)),
            filter_text: Some(text.to_owned()),
            text_edit: Some(CompletionTextEdit::Edit(TextEdit::new(
                self.range,
                text.to_owned(),
            ))),
            ..CompletionItem::default()
        });
    }

    /// Adds a sentence to the last item.
    fn document_last(&mut self, text: &str, summary: &str) {
        if let Some(last) = self.items.last_mut().filter(|i| i.label == text) {
            last.documentation = Some(Documentation::String(summary.to_owned()));
        }
    }

    fn has(&self, since: PtxVersion, target: Option<Target>) -> bool {
        self.environment.has(since, target)
    }

    pub(super) fn opcodes(&mut self) {
        for &opcode in Opcode::ALL {
            if !self.is_available(opcode) {
                continue;
            }
            let instruction = opcode.instructions().first();
            self.add(
                opcode.text(),
                CompletionItemKind::KEYWORD,
                Rank::Possible,
                "",
            );
            if let Some(instruction) = instruction {
                self.document_last(opcode.text(), instruction.summary());
            }
        }
    }

    /// Whether one of the alternatives is met, or there are no alternatives.
    fn met(&self, since: &[Since]) -> bool {
        let version = self.environment.version();
        let on = |s: &Since| match self.environment.target() {
            Some(target) => s.is_met(version, target),
            None => s.version() <= version,
        };
        since.is_empty() || since.iter().any(on)
    }

    /// Whether some form of an instruction with the opcode exists in the version and on the target.
    fn is_available(&self, opcode: Opcode) -> bool {
        let mut all = opcode.instructions().iter();
        all.any(|i| self.met(i.since()) && i.forms().iter().any(|f| self.met(f.since())))
    }

    /// The modifiers that may follow: the next ones in their order first.
    pub(super) fn modifiers(&mut self, opcode: Opcode, before: &[Modifier]) {
        let next = modifiers::next(opcode, before, |since| self.met(since));
        let later = opcode.completions(before, before.len());
        let later = later.into_iter().filter(|m| !next.contains(m));
        let later = later.map(|m| (m, Rank::Unlikely));
        let next = next.iter().map(|m| (*m, Rank::Likely));
        for (modifier, rank) in next.chain(later).collect::<Vec<_>>() {
            if !self.exists(opcode, before, modifier) {
                continue;
            }
            let kind = match modifier.scalar_type() {
                Some(_) => CompletionItemKind::TYPE_PARAMETER,
                None => CompletionItemKind::ENUM_MEMBER,
            };
            self.add(modifier.text(), kind, rank, "");
            if let Some(summary) = modifier.summary() {
                self.document_last(modifier.text(), summary);
            }
        }
    }

    /// Whether a mnemonic that is complete with a modifier exists in the version and on the target.
    fn exists(&self, opcode: Opcode, before: &[Modifier], modifier: Modifier) -> bool {
        let Some(target) = self.environment.target() else {
            return true;
        };
        let all: Vec<Modifier> = before.iter().copied().chain([modifier]).collect();
        let query = InstQuery::new(opcode, &all, &[]);
        let mut candidates = query.candidates().peekable();
        // One without candidates is not complete.
        let complete = candidates.peek().is_some();
        !complete || candidates.any(|f| f.targets(self.environment.version()).contains(target))
    }

    pub(super) fn directives(&mut self, position: DirectivePosition) {
        let allowed = |d: Directive| {
            let linkage =
                position == DirectivePosition::Module && Linkage::from_directive(d).is_some();
            d.is_allowed_in(position) || linkage
        };
        for &directive in Directive::ALL {
            if allowed(directive) && self.has(directive.since(), None) {
                self.add(
                    directive.text(),
                    CompletionItemKind::KEYWORD,
                    Rank::Possible,
                    "",
                );
                self.document_last(directive.text(), directive.summary());
            }
        }
    }

    /// The words of a declaration: types, and the directives that can be combined with them.
    pub(super) fn types(&mut self) {
        for &ty in ScalarType::ALL {
            let declared = ty.is_register_type() || ty.is_variable_type() || ty.is_parameter_type();
            if declared && self.has(ty.since(), ty.target()) {
                self.add(
                    ty.text(),
                    CompletionItemKind::TYPE_PARAMETER,
                    Rank::Likely,
                    "",
                );
                self.document_last(ty.text(), ty.summary());
            }
        }
        self.directives(DirectivePosition::Declaration);
    }

    pub(super) fn versions(&mut self) {
        for version in PtxVersion::KNOWN.iter().rev() {
            self.add(
                &version.to_string(),
                CompletionItemKind::CONSTANT,
                Rank::Likely,
                "",
            );
        }
    }

    pub(super) fn targets(&mut self) {
        for target in Target::ALL.iter().rev() {
            if self.has(target.min_version(), None) {
                self.add(
                    target.text(),
                    CompletionItemKind::CONSTANT,
                    Rank::Likely,
                    "",
                );
            }
        }
    }

    pub(super) fn special_registers(&mut self, rank: Rank) {
        for &register in SpecialReg::ALL {
            if self.has(register.since(), register.target()) {
                self.add(register.text(), CompletionItemKind::CONSTANT, rank, "");
                self.document_last(register.text(), register.summary());
            }
        }
    }

    /// Adds a name, with a C++ or Rust name beside it.
    pub(super) fn name(&mut self, text: &str, kind: CompletionItemKind, rank: Rank, detail: &str) {
        let count = self.items.len();
        self.add(text, kind, rank, detail);
        if self.items.len() > count
            && let Some(demangled) = ptx_report::demangle::demangle(text)
            && let Some(last) = self.items.last_mut()
        {
            last.label_details = Some(CompletionItemLabelDetails {
                detail: None,
                description: Some(demangled),
            });
        }
    }
}
