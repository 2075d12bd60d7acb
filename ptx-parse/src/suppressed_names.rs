//! Undeclared names that are not reported because their declaration could not be parsed.

use alloc::collections::{BTreeMap, BTreeSet};
use ptx_ir::lex::{Lexer, TokenKind};
use ptx_ir::raw::name::split_numeric_suffix;

use crate::output::Level;
use crate::reporter::Reports;

/// The names that are not reported as undeclared, in the module and in the current function.
#[derive(Default)]
pub(crate) struct SuppressedNames<'s> {
    module: Suppressed<'s>,
    function: Suppressed<'s>,
    /// Names of the module that were reported as undeclared, with the numbers of their records.
    reported: BTreeMap<&'s [u8], usize>,
}

/// The suppressed names of the module or of a function.
#[derive(Default)]
struct Suppressed<'s> {
    /// Names, with and without their numeric suffix.
    names: BTreeSet<&'s [u8]>,
    /// The number of declarations whose names are unknown: as many undeclared names are suppressed.
    unknown_names: u32,
}

impl<'s> SuppressedNames<'s> {
    fn at(&mut self, level: Level) -> &mut Suppressed<'s> {
        match level {
            Level::Module => &mut self.module,
            Level::Body => &mut self.function,
        }
    }

    /// Removes the names of a function at its end.
    #[inline]
    pub(crate) fn function_ended(&mut self, reports: Reports) {
        if reports == Reports::OfFunctions {
            self.reported.clear();
        }
        if self.function.unknown_names > 0 || !self.function.names.is_empty() {
            self.function = Suppressed::default();
        }
    }

    /// Whether no names are suppressed in all functions.
    pub(crate) fn is_empty(&self) -> bool {
        self.module.unknown_names == 0 && self.module.names.is_empty()
    }

    /// Suppresses the names in `text`, which is a part of an error.
    #[cold]
    pub(crate) fn suppress(&mut self, text: &'s [u8], level: Level) {
        let names = &mut self.at(level).names;
        for token in Lexer::fragment(text).filter(|t| t.kind == TokenKind::Ident) {
            let name = token.span.of(text);
            names.insert(name);
            names.insert(split_numeric_suffix(name).0);
        }
    }

    /// Records the number of the record about an undeclared name of the module.
    #[cold]
    pub(crate) fn set_report(&mut self, name: &'s [u8], number: usize) {
        self.reported.insert(name, number);
    }

    /// The number of the record about an undeclared name of the module.
    #[cold]
    pub(crate) fn report_of(&self, name: &[u8]) -> Option<usize> {
        self.reported.get(name).copied()
    }

    /// Records a declaration that could not be parsed, and whose name may be unknown.
    #[cold]
    pub(crate) fn lost_declaration(&mut self, level: Level) {
        let unknown_names = &mut self.at(level).unknown_names;
        *unknown_names = unknown_names.saturating_add(1);
    }

    /// Suppresses all names of the current function, whose parameters are not known.
    pub(crate) fn suppress_function(&mut self) {
        self.function.unknown_names = u32::MAX;
    }

    /// Whether `name` or its range is suppressed.
    #[cold]
    pub(crate) fn contains(&self, name: &[u8]) -> bool {
        self.contains_exactly(name) || self.contains_exactly(split_numeric_suffix(name).0)
    }

    /// Whether `name` itself is suppressed.
    #[cold]
    pub(crate) fn contains_exactly(&self, name: &[u8]) -> bool {
        self.function.names.contains(name) || self.module.names.contains(name)
    }

    /// Whether the undeclared `name` is suppressed. Otherwise it may be the unknown name of a declaration, and
    /// is suppressed from then on.
    #[cold]
    pub(crate) fn suppresses(&mut self, name: &'s [u8]) -> bool {
        if self.contains(name) {
            return true;
        }
        let suppressed = if self.function.unknown_names > 0 {
            &mut self.function
        } else {
            &mut self.module
        };
        if suppressed.unknown_names == 0 {
            return false;
        }
        suppressed.unknown_names -= 1;
        suppressed.names.insert(split_numeric_suffix(name).0);
        true
    }
}
