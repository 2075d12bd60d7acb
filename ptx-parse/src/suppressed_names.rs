//! Undeclared names that are not reported, because their declaration could not be parsed.

use alloc::collections::{BTreeMap, BTreeSet};
use ptx_ir::lex::{Lexer, TokenKind};
use ptx_ir::name::split_numeric_suffix;

use crate::output::Level;
use crate::reporter::Reports;

/// The names that are not reported as undeclared, in the module and in the current function.
#[derive(Default)]
pub(crate) struct SuppressedNames<'s> {
    module: Suppressed<'s>,
    function: Suppressed<'s>,
    /// Names of the module that were reported as undeclared, with the numbers of the diagnostics.
    reported: BTreeMap<&'s [u8], usize>,
}

#[derive(Default)]
struct Suppressed<'s> {
    /// Names, as they are and without a numeric suffix.
    names: BTreeSet<&'s [u8]>,
    /// Declarations that may have lost a name: as many undeclared ones are suppressed.
    lost: u32,
}

impl<'s> SuppressedNames<'s> {
    fn at(&mut self, level: Level) -> &mut Suppressed<'s> {
        match level {
            Level::Module => &mut self.module,
            Level::Body => &mut self.function,
        }
    }

    /// A function ended: what concerns only its names is forgotten.
    #[inline]
    pub(crate) fn function_ended(&mut self, reports: Reports) {
        if reports == Reports::OfFunctions {
            self.reported.clear();
        }
        if self.function.lost > 0 || !self.function.names.is_empty() {
            self.function = Suppressed::default();
        }
    }

    /// Whether the names of no other function are suppressed.
    pub(crate) fn is_empty(&self) -> bool {
        self.module.lost == 0 && self.module.names.is_empty()
    }

    /// The names in `text` were part of an error.
    #[cold]
    pub(crate) fn suppress(&mut self, text: &'s [u8], level: Level) {
        let names = &mut self.at(level).names;
        for token in Lexer::fragment(text).filter(|t| t.kind == TokenKind::Ident) {
            let name = token.span.of(text);
            names.insert(name);
            names.insert(split_numeric_suffix(name).0);
        }
    }

    /// The diagnostic with this number is the one about the name in the module.
    #[cold]
    pub(crate) fn reported(&mut self, name: &'s [u8], number: usize) {
        self.reported.insert(name, number);
    }

    /// The number of the diagnostic about the name.
    #[cold]
    pub(crate) fn report_of(&self, name: &[u8]) -> Option<usize> {
        self.reported.get(name).copied()
    }

    /// A declaration was reported whose name may not be among those it mentions.
    #[cold]
    pub(crate) fn lost_declaration(&mut self, level: Level) {
        let lost = &mut self.at(level).lost;
        *lost = lost.saturating_add(1);
    }

    /// The parameters of the current function are not known: none of its names is reported.
    pub(crate) fn suppress_function(&mut self) {
        self.function.lost = u32::MAX;
    }

    /// Whether `name`, or the range it belongs to, is suppressed.
    #[cold]
    pub(crate) fn contains(&self, name: &[u8]) -> bool {
        self.contains_exactly(name) || self.contains_exactly(split_numeric_suffix(name).0)
    }

    /// Whether `name` itself is suppressed.
    #[cold]
    pub(crate) fn contains_exactly(&self, name: &[u8]) -> bool {
        self.function.names.contains(name) || self.module.names.contains(name)
    }

    /// Whether the undeclared `name` is suppressed. One that is not may be the name that a declaration
    /// has lost.
    #[cold]
    pub(crate) fn suppresses(&mut self, name: &'s [u8]) -> bool {
        if self.contains(name) {
            return true;
        }
        let level = if self.function.lost > 0 {
            &mut self.function
        } else {
            &mut self.module
        };
        if level.lost == 0 {
            return false;
        }
        level.lost -= 1;
        level.names.insert(split_numeric_suffix(name).0);
        true
    }
}
