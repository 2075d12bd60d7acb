//! Names without a declaration: one error for each declaration that is missing, at its first use.

use alloc::boxed::Box;
use alloc::vec::Vec;

use ptx_ir::name::split_numeric_suffix_str;
use ptx_ir::{Code, Diagnostic, NameId, Span};

use crate::cascade;
use crate::declared::Declared;
use crate::labels::LabelRange;
use crate::name_use::{Context, Expected};
use crate::output::{Level, Output};
use crate::parser::Parser;
use crate::record::{Cause, Record, Undeclared, UndeclaredCause, UnresolvedUse};
use crate::unfinished;

/// A use of a name that the body does not declare before it.
pub(crate) struct UndeclaredUse {
    pub(crate) name: NameId,
    pub(crate) at: u32,
    /// Whether it is declared after this use.
    pub(crate) declared_later: bool,
}

/// A use of a name without a declaration. Uses with the same cause and the same common part lack the same declaration.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Use<'s> {
    cause: UndeclaredCause,
    /// The name, of a member of a range without its number.
    common: &'s str,
    offset: u32,
    name: &'s str,
    id: NameId,
}

impl Use<'_> {
    fn span(&self) -> Span {
        Span::new(self.offset, self.offset + self.name.len() as u32)
    }
}

impl Parser<'_> {
    /// Reports names that the body that ended does not declare before their use, and ranges of labels that it does not define.
    #[cold]
    pub(crate) fn report_undeclared(&mut self, uses: &[UndeclaredUse], ranges: &[LabelRange]) {
        let (src, end) = (self.cursor.src, self.cursor.last);
        if self.reporter.cascade.ends_early(src, end) {
            let rest = cascade::rest_of_function(src, end);
            self.suppressed.suppress(rest, Level::Body);
        }
        let declared = Declared::of(&self.out.module, &self.out.body);
        let mut records: Vec<Record> = missing_labels(&declared, &self.out, ranges);
        let mut unresolved = Vec::new();
        for &UndeclaredUse {
            name: id,
            at,
            declared_later,
        } in uses
        {
            let name = self.out.module.name(id);
            let spelled = &src[at as usize..][..name.len()];
            let (prefix, digits) = split_numeric_suffix_str(name);
            let in_range = !digits.is_empty() && declared.range(prefix).is_some();
            let suppressed = if in_range {
                self.suppressed.contains_exactly(spelled)
            } else {
                self.suppressed.contains(spelled)
            };
            if let Some(number) = self.suppressed.report_of(spelled) {
                let span = Span::new(at, at + name.len() as u32);
                self.reporter.repeat(number, span);
                continue;
            }
            let (cause, common) = if suppressed {
                continue;
            } else if declared_later {
                (UndeclaredCause::Late, name)
            } else if declared.label(name).is_some() {
                if self.reporter.cascade.has_brace_mismatch() {
                    continue;
                }
                (UndeclaredCause::OtherScope, name)
            } else if in_range {
                (UndeclaredCause::BeyondRange, prefix)
            } else if self.suppressed.suppresses(spelled) {
                continue;
            } else if name.starts_with('%') && !digits.is_empty() {
                (UndeclaredCause::Missing, prefix)
            } else {
                (UndeclaredCause::Missing, name)
            };
            unresolved.push(Use {
                cause,
                common,
                offset: at,
                name,
                id,
            });
        }
        unresolved.sort_unstable();
        let mut groups: Vec<&[Use<'_>]> = unresolved
            .chunk_by(|a, b| (a.cause, a.common) == (b.cause, b.common))
            .collect();
        groups.sort_by_key(|uses| uses.first().map(|first| first.offset));
        for uses in groups {
            let Some(first) = uses.first() else { continue };
            let mut expected = Context::at(src, first.offset as usize, first.name).expected;
            if expected == Expected::Name && declared.registers_are_marked() {
                expected = Expected::Variable;
            }
            let number = self.reporter.count() + records.len();
            if expected.is_of_module() {
                self.suppressed.reported(first.span().of(src), number);
            }
            records.push(self.undeclared(uses, *first, expected));
            for other in uses.iter().filter(|u| *u != first) {
                self.reporter.repeat(number, other.span());
            }
        }
        records.into_iter().for_each(|record| self.report(record));
    }

    /// The error of uses in the body that ended, which lack the same declaration.
    fn undeclared(&self, uses: &[Use<'_>], first: Use<'_>, expected: Expected) -> Record {
        let code = match first.cause {
            UndeclaredCause::Late => Code::LateDeclaration,
            UndeclaredCause::OtherScope => Code::LabelOutOfScope,
            UndeclaredCause::BeyondRange => Code::OutsideRange,
            UndeclaredCause::Missing => Code::UndefinedName,
        };
        if first.cause == UndeclaredCause::Missing
            && let Some(unfinished) = unfinished::before(self.cursor.src, first.span())
        {
            return unfinished.into();
        }
        let error = Diagnostic::error(code, first.span(), "undeclared name");
        let cause = Cause::Undeclared(Box::new(Undeclared {
            cause: first.cause,
            expected,
            uses: uses
                .iter()
                .map(|u| UnresolvedUse {
                    name: u.id,
                    offset: u.offset,
                })
                .collect(),
            is_range: first.common != first.name,
            function: self.function,
            symbols: self.out.module.symbols().len(),
        }));
        Record::new(error, cause)
    }

    /// Reports an undeclared name outside of functions, unless that was done before.
    #[cold]
    pub(crate) fn report_undeclared_symbol(&mut self, id: NameId, at: usize, expected: Expected) {
        let name = self.out.module.name(id);
        let span = Span::at(at, at + name.len());
        let spelled = span.of(self.cursor.src);
        if let Some(number) = self.suppressed.report_of(spelled) {
            return self.reporter.repeat(number, span);
        }
        self.suppressed.reported(spelled, self.reporter.count());
        if let Some(unfinished) = unfinished::before(self.cursor.src, span) {
            return self.report(unfinished);
        }
        let error = Diagnostic::error(Code::UndefinedName, span, "undeclared name");
        let cause = Cause::Undeclared(Box::new(Undeclared {
            cause: UndeclaredCause::Missing,
            expected,
            uses: vec![UnresolvedUse {
                name: id,
                offset: at as u32,
            }],
            is_range: false,
            function: None,
            symbols: self.out.module.symbols().len(),
        }));
        self.report(Record::new(error, cause));
    }
}

/// The first missing label of each range. The labels of a prefix are counted once.
fn missing_labels(declared: &Declared<'_>, out: &Output, ranges: &[LabelRange]) -> Vec<Record> {
    let mut counted: Option<(NameId, u32)> = None;
    let mut ranges: Vec<&LabelRange> = ranges.iter().collect();
    ranges.sort_by_key(|r| (r.prefix, r.at));
    let mut missing = Vec::new();
    for range in ranges {
        let prefix = out.module.name(range.prefix);
        let defined = match counted {
            Some((prefix, defined)) if prefix == range.prefix => defined,
            _ => {
                let defined = (0..)
                    .take_while(|n: &u32| declared.label(&format!("{prefix}{n}")).is_some())
                    .count() as u32;
                counted = Some((range.prefix, defined));
                defined
            }
        };
        if i64::from(defined) < range.count {
            let message = format!("undeclared label `{prefix}{defined}` of this range");
            let span = Span::new(range.at, range.at + prefix.len() as u32);
            missing.push(Diagnostic::error(Code::UndefinedName, span, message).into());
        }
    }
    missing
}
