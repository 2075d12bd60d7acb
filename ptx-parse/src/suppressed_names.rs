//! Names that nothing declares because their declaration was not understood: no mistakes of their
//! own.

use alloc::collections::BTreeSet;
use ptx_ir::NameId;
use ptx_ir::lex::{Lexer, TokenKind};

use crate::parser::Parser;

/// What is excused, in the module and in the function at hand.
#[derive(Default)]
pub(crate) struct Excuses {
    /// Names, as they are and without the number at their end.
    module: BTreeSet<NameId>,
    function: BTreeSet<NameId>,
    /// Declarations that may have lost a name: as many unknown ones are excused.
    lost: [u32; 2],
}

impl Excuses {
    fn level(&mut self, in_function: bool) -> &mut BTreeSet<NameId> {
        if in_function {
            &mut self.function
        } else {
            &mut self.module
        }
    }

    /// Forgets what is excused in one function only.
    #[inline]
    pub(crate) fn end_function(&mut self) {
        if self.lost[1] > 0 || !self.function.is_empty() {
            self.function.clear();
            self.lost[1] = 0;
        }
    }
}

/// A name without the number at its end, which may be that of a range.
fn stem(name: &[u8]) -> &[u8] {
    let digits = name.iter().rev().take_while(|b| b.is_ascii_digit()).count();
    &name[..name.len() - digits]
}

impl Parser<'_> {
    /// Excuses the names in `start..end`, which was reported.
    #[cold]
    pub(crate) fn excuse_names(&mut self, start: usize, end: usize) {
        let text = &self.src[start..end];
        for token in Lexer::fragment(text).filter(|t| t.kind == TokenKind::Ident) {
            let at = start + token.span.start as usize;
            let name = token.span.of(text);
            for len in [name.len(), stem(name).len()] {
                let id = self.intern(at, at + len);
                self.excuses.level(self.in_body).insert(id);
            }
        }
    }

    /// Whether a declaration that begins at `start` lacks a name before `end`: it has none there, or
    /// none behind its last comma.
    #[cold]
    pub(crate) fn lacks_name(&self, start: usize, end: usize) -> bool {
        let text = &self.src[start..end.max(start)];
        let mut tokens = Lexer::fragment(text).filter(|t| !t.kind.is_trivia());
        let last = tokens.clone().last();
        last.is_some_and(|t| t.span.of(text) == b",") || !tokens.any(|t| t.kind == TokenKind::Ident)
    }

    /// Notes that a declaration was reported whose name may not be among those it mentions.
    #[cold]
    pub(crate) fn note_lost_decl(&mut self, in_function: bool) {
        if self.trouble.is_any() {
            let lost = &mut self.excuses.lost[usize::from(in_function)];
            *lost = lost.saturating_add(1);
        }
    }

    /// Excuses all names of the function that begins, whose parameters are not known.
    pub(crate) fn excuse_all(&mut self) {
        self.excuses.lost[1] = u32::MAX;
    }

    /// Whether `name` is excused.
    #[cold]
    pub(crate) fn is_excused(&self, name: &[u8]) -> bool {
        self.is_excused_itself(name) || self.is_excused_itself(stem(name))
    }

    /// Whether this very `name` is excused, not another of its range.
    #[cold]
    pub(crate) fn is_excused_itself(&self, name: &[u8]) -> bool {
        let name = self.module.names.find(name).map(NameId::new);
        name.is_some_and(|n| self.excuses.function.contains(&n) || self.excuses.module.contains(&n))
    }

    /// Whether an unknown `name` is excused: the first that is not, is taken for one that was lost.
    #[cold]
    pub(crate) fn excuse_unknown(&mut self, name: &[u8]) -> bool {
        if self.is_excused(name) {
            return true;
        }
        let Some(level) = self.excuses.lost.iter().rposition(|&n| n > 0) else {
            return false;
        };
        self.excuses.lost[level] -= 1;
        let id = NameId::new(self.module.names.intern(stem(name)).0);
        self.excuses.level(level == 1).insert(id);
        true
    }
}
