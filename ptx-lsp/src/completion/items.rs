//! The list of completion items, and the words that are added to it for each kind of position.

use lsp_types::{
    CompletionItem, CompletionItemKind as Kind, CompletionItemLabelDetails, CompletionList,
    CompletionTextEdit, Documentation, Range, TextEdit,
};
use ptx_ir::raw::query::Environment;
use ptx_ir::{Linkage, Span};
use ptx_isa::internals::{DirectivePosition, InstQuery};
use ptx_isa::{Directive, Modifier, Opcode, PtxVersion, ScalarType, Since, SpecialReg, Target};

use super::modifiers;
use crate::document::Document;

pub(super) struct Items<'d> {
    pub(super) document: &'d Document,
    environment: Environment,
    /// The beginning of a word that the items replace.
    word: String,
    range: Range,
    items: Vec<CompletionItem>,
}

/// The likelihood of an item. More likely items come first.
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
        }
    }

    /// Returns the `max_items` most likely items.
    pub(super) fn finish(mut self, max_items: usize) -> CompletionList {
        self.items.sort_by(|a, b| a.sort_text.cmp(&b.sort_text));
        let is_incomplete = self.items.len() > max_items;
        self.items.truncate(max_items);
        CompletionList {
            is_incomplete,
            items: self.items,
        }
    }

    /// Adds an item, if its text begins with the written word, ignoring case.
    pub(super) fn add(&mut self, text: &str, kind: Kind, rank: Rank, detail: &str) {
        let has_prefix = text
            .get(..self.word.len())
            .is_some_and(|prefix| prefix.eq_ignore_ascii_case(&self.word));
        if !has_prefix {
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

    /// Adds an item with a summary of its meaning, if its text begins with the written word.
    fn add_documented(&mut self, text: &str, kind: Kind, rank: Rank, summary: &str) {
        let count = self.items.len();
        self.add(text, kind, rank, "");
        if let Some(added) = self.items.get_mut(count) {
            added.documentation = Some(Documentation::String(summary.to_owned()));
        }
    }

    /// Whether a word with these minimum versions exists for the document.
    fn has(&self, since: PtxVersion, target: Option<Target>) -> bool {
        self.environment.has(since, target)
    }

    pub(super) fn add_opcodes(&mut self) {
        for &opcode in Opcode::ALL {
            if let Some(instruction) = opcode.instructions().first()
                && self.is_available(opcode)
            {
                let summary = instruction.summary();
                self.add_documented(opcode.text(), Kind::KEYWORD, Rank::Possible, summary);
            }
        }
    }

    /// Whether one of the alternatives is satisfied, or there are no alternatives.
    fn is_met(&self, alternatives: &[Since]) -> bool {
        let version = self.environment.version();
        alternatives.is_empty()
            || alternatives
                .iter()
                .any(|since| match self.environment.target() {
                    Some(target) => since.is_met(version, target),
                    None => since.version() <= version,
                })
    }

    /// Whether a form of an instruction with the opcode exists in the version and on the target.
    fn is_available(&self, opcode: Opcode) -> bool {
        opcode.instructions().iter().any(|instruction| {
            self.is_met(instruction.since())
                && instruction.forms().iter().any(|f| self.is_met(f.since()))
        })
    }

    /// Adds the modifiers that may follow `preceding`: first those that may come next, then those that may come later.
    pub(super) fn add_modifiers(&mut self, opcode: Opcode, preceding: &[Modifier]) {
        let next = modifiers::next_modifiers(opcode, preceding, |since| self.is_met(since));
        for modifier in &next {
            self.add_modifier(opcode, preceding, *modifier, Rank::Likely);
        }
        for modifier in opcode.completions(preceding, preceding.len()) {
            if !next.contains(&modifier) {
                self.add_modifier(opcode, preceding, modifier, Rank::Unlikely);
            }
        }
    }

    fn add_modifier(
        &mut self,
        opcode: Opcode,
        preceding: &[Modifier],
        modifier: Modifier,
        rank: Rank,
    ) {
        if !self.may_complete(opcode, preceding, modifier) {
            return;
        }
        let kind = match modifier.scalar_type() {
            Some(_) => Kind::TYPE_PARAMETER,
            None => Kind::ENUM_MEMBER,
        };
        match modifier.summary() {
            Some(summary) => self.add_documented(modifier.text(), kind, rank, summary),
            None => self.add(modifier.text(), kind, rank, ""),
        }
    }

    /// Whether the mnemonic with one more modifier exists in the version and on the target, or is not complete yet.
    fn may_complete(&self, opcode: Opcode, preceding: &[Modifier], modifier: Modifier) -> bool {
        let Some(target) = self.environment.target() else {
            return true;
        };
        let modifiers: Vec<Modifier> = preceding.iter().copied().chain([modifier]).collect();
        let query = InstQuery::new(opcode, &modifiers, &[]);
        let mut candidates = query.candidates().peekable();
        let is_complete = candidates.peek().is_some();
        !is_complete || candidates.any(|f| f.targets(self.environment.version()).contains(target))
    }

    pub(super) fn add_directives(&mut self, position: DirectivePosition) {
        for &directive in Directive::ALL {
            let is_linkage = position == DirectivePosition::Module
                && Linkage::from_directive(directive).is_some();
            let is_allowed = is_linkage || directive.is_allowed_in(position);
            if is_allowed && self.has(directive.since(), None) {
                let (text, summary) = (directive.text(), directive.summary());
                self.add_documented(text, Kind::KEYWORD, Rank::Possible, summary);
            }
        }
    }

    /// Adds the words of a declaration: types, and the directives that can be combined with them.
    pub(super) fn add_types(&mut self) {
        for &ty in ScalarType::ALL {
            let is_declarable =
                ty.is_register_type() || ty.is_variable_type() || ty.is_parameter_type();
            if is_declarable && self.has(ty.since(), ty.target()) {
                let (text, summary) = (ty.text(), ty.summary());
                self.add_documented(text, Kind::TYPE_PARAMETER, Rank::Likely, summary);
            }
        }
        self.add_directives(DirectivePosition::Declaration);
    }

    pub(super) fn add_versions(&mut self) {
        for version in PtxVersion::KNOWN.iter().rev() {
            self.add(&version.to_string(), Kind::CONSTANT, Rank::Likely, "");
        }
    }

    pub(super) fn add_targets(&mut self) {
        for target in Target::ALL.iter().rev() {
            if self.has(target.min_version(), None) {
                self.add(target.text(), Kind::CONSTANT, Rank::Likely, "");
            }
        }
    }

    pub(super) fn add_special_registers(&mut self, rank: Rank) {
        for &register in SpecialReg::ALL {
            if self.has(register.since(), register.target()) {
                self.add_documented(register.text(), Kind::CONSTANT, rank, register.summary());
            }
        }
    }

    /// Adds a name. Its demangled C++ or Rust name is shown beside it.
    pub(super) fn add_name(&mut self, text: &str, kind: Kind, rank: Rank, detail: &str) {
        let count = self.items.len();
        self.add(text, kind, rank, detail);
        if let Some(added) = self.items.get_mut(count)
            && let Some(demangled) = ptx_report::demangle::demangle(text)
        {
            added.label_details = Some(CompletionItemLabelDetails {
                detail: None,
                description: Some(demangled),
            });
        }
    }
}
