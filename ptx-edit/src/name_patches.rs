//! The tokens of a statement or an item that spell a name, as patches with another name.

use alloc::string::String;
use alloc::vec::Vec;

use ptx_ir::edit_log::{NewText, Patch};
use ptx_ir::lex::ident_tokens::{Text, Word, Words};
use ptx_ir::{Module, NameId, Span, Statement};

use crate::names::member_number;

/// A name that is replaced.
pub(crate) struct Replacement {
    pub(crate) old: String,
    pub(crate) new: NameId,
    /// For a range the number of its members.
    pub(crate) count: Option<u32>,
}

/// Which identifiers of a statement or an item can be the name.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(crate) enum Among {
    All(Text),
    /// In the header of a function those outside parentheses.
    HeaderOutside,
    /// And those inside.
    HeaderInside,
}

impl Among {
    pub(crate) const OTHER: Self = Self::All(Text::Other);

    pub(crate) fn of(statement: Statement) -> Self {
        Self::All(match statement {
            Statement::Inst(_) => Text::Instruction,
            _ => Text::Other,
        })
    }

    fn includes(self, word: &Word) -> bool {
        match self {
            Self::All(_) => true,
            Self::HeaderOutside => word.depth == 0,
            Self::HeaderInside => word.depth > 0,
        }
    }

    fn text(self) -> Text {
        match self {
            Self::All(text) => text,
            Self::HeaderOutside | Self::HeaderInside => Text::Head,
        }
    }
}

impl Replacement {
    /// The patches of a statement at `span`, to which `earlier` patches apply.
    pub(crate) fn patches(
        &self,
        module: &Module,
        span: Span,
        earlier: &[Patch],
        among: Among,
    ) -> Vec<Patch> {
        let text = span.of(module.source());
        let mut found = Vec::new();
        for word in Words::new(text, among.text()).filter(|w| among.includes(w)) {
            let at = word.span.shifted(span.start);
            // The text of these is printed from the record.
            if earlier
                .iter()
                .any(|p| p.is_from_record() && p.span.overlaps(at))
            {
                continue;
            }
            let before = earlier
                .iter()
                .find(|p| p.span.start == at.start && !p.span.is_empty());
            if let Some(len) = self.matches(module, word.span.of(text), at, before) {
                found.push(Patch {
                    span: Span::new(at.start, at.start + len as u32),
                    text: NewText::Text(self.new),
                });
            }
        }
        found
    }

    /// The lists of parameters that an edit wrote, with the new name.
    pub(crate) fn lists(&self, module: &Module, earlier: &[Patch]) -> Vec<(Span, String)> {
        let mut found = Vec::new();
        for patch in earlier {
            let NewText::Text(text) = patch.text else {
                continue;
            };
            let text = module.name_bytes(text);
            if text.trim_ascii_start().first() != Some(&b'(') {
                continue;
            }
            let mut names = Words::new(text, Text::Head).map(|w| w.span);
            if let Some(at) = names.find(|s| s.of(text) == self.old.as_bytes()) {
                let before = text.get(..at.start as usize).unwrap_or_default();
                let after = text.get(at.end as usize..).unwrap_or_default();
                let new = [before, module.name_bytes(self.new), after].concat();
                found.push((patch.span, String::from_utf8_lossy(&new).into_owned()));
            }
        }
        found
    }

    /// How many bytes of a token are the name, if it is the name or a member.
    fn matches(
        &self,
        module: &Module,
        token: &[u8],
        at: Span,
        before: Option<&Patch>,
    ) -> Option<usize> {
        let (name, rest) = match before {
            // The patch of the declaration of a range ends before its number.
            Some(patch) => {
                let NewText::Text(text) = patch.text else {
                    return None;
                };
                let len = patch.span.len().min(at.len());
                (module.name_bytes(text), token.get(len..)?)
            }
            None => {
                let name = self.old.as_bytes();
                (name, token.strip_prefix(name)?)
            }
        };
        if name != self.old.as_bytes() {
            return None;
        }
        let member = member_number(rest).zip(self.count);
        let fits = rest.is_empty() || member.is_some_and(|(n, count)| n < count);
        fits.then_some(token.len() - rest.len())
    }
}
