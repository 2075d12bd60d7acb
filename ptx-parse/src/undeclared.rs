//! Reports names without a declaration: one error for each missing declaration, at its first use.

use alloc::boxed::Box;
use alloc::vec::Vec;

use ptx_ir::raw::name::split_numeric_suffix_str;
use ptx_ir::{Code, Diagnostic, NameId, Span};

use crate::cascade;
use crate::declared_names::DeclaredNames;
use crate::labels::LabelRange;
use crate::name_use::{Context, Expected};
use crate::output::{Level, Output};
use crate::parser::Parser;
use crate::record::{Cause, Record, Undeclared, UndeclaredCause, UnresolvedUse};
use crate::unfinished;

/// A use of a name that the body does not declare before it.
pub(crate) struct UndeclaredUse {
    pub(crate) name: NameId,
    /// The offset in the source.
    pub(crate) offset: u32,
    /// Whether the name is declared after this use.
    pub(crate) declared_later: bool,
}

/// A use of a name without a declaration. Uses with the same cause and the same common part lack the same declaration.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Use<'s> {
    cause: UndeclaredCause,
    /// The name; the name of a member of a range without its number.
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
    /// At the end of a body, reports names that are not declared before their use, and ranges of labels that are not defined.
    #[cold]
    pub(crate) fn report_undeclared(&mut self, uses: &[UndeclaredUse], ranges: &[LabelRange]) {
        let (src, end) = (self.cursor.src, self.cursor.last);
        if self.reporter.cascade.ends_early(src, end) {
            let following = cascade::rest_of_function(src, end);
            self.suppressed.suppress(following, Level::Body);
        }
        let declared = DeclaredNames::new(&self.out.module, &self.out.body);
        let mut records = missing_labels(&declared, &self.out, ranges);
        let mut unresolved = Vec::new();
        for &UndeclaredUse {
            name: id,
            offset,
            declared_later,
        } in uses
        {
            let name = self.out.module.name(id);
            let spelled = &src[offset as usize..][..name.len()];
            let (prefix, digits) = split_numeric_suffix_str(name);
            let in_range = !digits.is_empty() && declared.range(prefix).is_some();
            let suppressed = if in_range {
                self.suppressed.contains_exactly(spelled)
            } else {
                self.suppressed.contains(spelled)
            };
            if let Some(number) = self.suppressed.report_of(spelled) {
                let span = Span::new(offset, offset + name.len() as u32);
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
                offset,
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
            let mut expected = Context::of_name(src, first.offset as usize, first.name).expected;
            if expected == Expected::Name && declared.registers_are_marked() {
                expected = Expected::Variable;
            }
            let number = self.reporter.count() + records.len();
            if expected.is_of_module() {
                self.suppressed.set_report(first.span().of(src), number);
            }
            records.push(self.undeclared_record(uses, *first, expected));
            for repeated in uses.iter().filter(|u| *u != first) {
                self.reporter.repeat(number, repeated.span());
            }
        }
        records.into_iter().for_each(|record| self.report(record));
    }

    /// The record of uses in a body that lack the same declaration.
    fn undeclared_record(&self, uses: &[Use<'_>], first: Use<'_>, expected: Expected) -> Record {
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
            symbol_count: self.out.module.symbols().len(),
        }));
        Record::new(error, cause)
    }

    /// Reports an undeclared name outside of functions, at `offset`. Later uses are further places of the first error.
    #[cold]
    pub(crate) fn report_undeclared_symbol(
        &mut self,
        id: NameId,
        offset: usize,
        expected: Expected,
    ) {
        let name = self.out.module.name(id);
        let span = Span::at(offset, offset + name.len());
        let spelled = span.of(self.cursor.src);
        if let Some(number) = self.suppressed.report_of(spelled) {
            return self.reporter.repeat(number, span);
        }
        self.suppressed.set_report(spelled, self.reporter.count());
        if let Some(unfinished) = unfinished::before(self.cursor.src, span) {
            return self.report(unfinished);
        }
        let error = Diagnostic::error(Code::UndefinedName, span, "undeclared name");
        let cause = Cause::Undeclared(Box::new(Undeclared {
            cause: UndeclaredCause::Missing,
            expected,
            uses: vec![UnresolvedUse {
                name: id,
                offset: offset as u32,
            }],
            is_range: false,
            function: None,
            symbol_count: self.out.module.symbols().len(),
        }));
        self.report(Record::new(error, cause));
    }
}

/// The errors about the first missing label of each range. The labels of a prefix are counted once.
fn missing_labels(
    declared: &DeclaredNames<'_>,
    out: &Output,
    ranges: &[LabelRange],
) -> Vec<Record> {
    let mut counted: Option<(NameId, u32)> = None;
    let mut ranges: Vec<&LabelRange> = ranges.iter().collect();
    ranges.sort_by_key(|r| (r.prefix, r.offset));
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
            let span = Span::new(range.offset, range.offset + prefix.len() as u32);
            missing.push(Diagnostic::error(Code::UndefinedName, span, message).into());
        }
    }
    missing
}
