//! Makes the diagnostics of what the parser could not read: the likely mistake, with what to write instead.
//!
//! The parser knows nothing of this module. It leaves [`Record`]s, which are repaired when the module and all of its names are
//! known. Only sources with errors cost something here.

mod bracket_place;
mod brackets;
mod dotted_names;
mod keyword;
mod lookalike;
mod missing_declaration;
mod other_notations;
mod repeated;
mod specifier;
mod statement;
mod undeclared;
mod unknown_modifier;
mod unknown_opcode;

use alloc::string::String;
use alloc::vec::Vec;

use ptx_ir::{Code, Diagnostic, Module, Span};

use crate::record::{Cause, Place, Record, late_declaration};
use crate::repair::undeclared::UndeclaredNames;
use crate::repair::unknown_modifier::{KnownChoices, UnknownModifier};
use crate::repair::unknown_opcode::Suggestions;
use crate::reporter::Records;
use crate::scope::Scopes;

/// What is known of the errors of a source that were repaired before.
struct Repairer<'m> {
    module: &'m Module,
    undeclared: UndeclaredNames<'m>,
    choices: KnownChoices,
    suggestions: Suggestions,
}

/// The diagnostics of what could not be read of a module, in the order of the source. `names` are those of the module.
pub(crate) fn diagnostics(module: &Module, names: &Scopes, records: Records) -> Vec<Diagnostic> {
    if records.records.is_empty() {
        return Vec::new();
    }
    let mut repairer = Repairer {
        module,
        undeclared: UndeclaredNames::new(module, records.reports),
        choices: KnownChoices::default(),
        suggestions: Suggestions::default(),
    };
    let mut diagnostics: Vec<Diagnostic> = Vec::with_capacity(records.records.len());
    for record in records.records {
        let is_first = diagnostics.is_empty();
        diagnostics.push(repairer.repair(record, is_first));
    }
    add_repeats(&mut diagnostics, records.repeats);
    let src = module.source();
    dotted_names::explain(src, &mut diagnostics);
    explain_late_declarations(&mut diagnostics, module, names);
    let duplicates = diagnostics
        .iter_mut()
        .filter(|d| d.code == Code::DuplicateName);
    repeated::remove_all(src, duplicates);
    for d in &mut diagnostics {
        if is_about_names(d.code) && !d.repeats.is_empty() {
            name_repeats(d, src);
            d.message += &format!(" (used {} times)", d.repeats.len() + 1);
        }
    }
    ptx_ir::sort_by_position(&mut diagnostics);
    diagnostics
}

const fn is_about_names(code: Code) -> bool {
    matches!(
        code,
        Code::UndefinedName | Code::LateDeclaration | Code::LabelOutOfScope | Code::OutsideRange
    )
}

impl Repairer<'_> {
    fn repair(&mut self, record: Record, is_first: bool) -> Diagnostic {
        let module = self.module;
        let src = module.source();
        let Record {
            error: d,
            cause,
            place,
        } = record;
        let is_mark = !matches!(cause, Cause::CharacterInText);
        let d = if d.code == Code::StrayByte && is_mark {
            lookalike::explain(src, d)
        } else {
            d
        };
        let d = match cause {
            Cause::Stated | Cause::CharacterInText => d,
            Cause::UnknownDirective => keyword::directive(src, d),
            Cause::UnknownType => keyword::ty(src, d),
            Cause::UnknownAttribute => keyword::attribute(src, d),
            Cause::UnknownTarget => keyword::target(src, d),
            Cause::UndottedType => specifier::undotted_type(src, d),
            Cause::MissingSpace { name, in_body } => {
                specifier::missing_space(src, d, name, in_body)
            }
            Cause::MissingParameterType => specifier::missing_parameter_type(src, d),
            Cause::UnknownModifier { sig, start, word } => {
                let place = UnknownModifier { sig, start, word };
                unknown_modifier::explain(module, &mut self.choices, d, place)
            }
            Cause::UnknownOpcode { sig } => {
                unknown_opcode::explain(module, &mut self.suggestions, d, sig)
            }
            Cause::Undeclared(undeclared) => self.undeclared.diagnostic(&undeclared).unwrap_or(d),
        };
        match place {
            Some(Place::Statement(context)) => statement::explain(src, context, d, is_first),
            Some(Place::Header { start }) => statement::header(src, start, d),
            None => d,
        }
    }
}

/// Adds the further places of errors, by the numbers of the diagnostics. What replaces the first name replaces the others.
fn add_repeats(diagnostics: &mut [Diagnostic], mut repeats: Vec<(usize, Span)>) {
    repeats.sort_unstable_by_key(|(number, span)| (*number, span.start));
    for repeats in repeats.chunk_by(|(a, _), (b, _)| a == b) {
        let number = repeats.first().map_or(0, |(number, _)| *number);
        let Some(diagnostic) = diagnostics.get_mut(number) else {
            continue;
        };
        diagnostic.repeats = repeats.iter().map(|(_, span)| *span).collect();
        let replaced = diagnostic.fix.iter().find(|f| f.span == diagnostic.span);
        if let Some(text) = replaced.map(|f| f.text.clone()) {
            let applicability = diagnostic.applicability;
            diagnostic.add_fix(repeats.iter().map(|&(_, span)| (span, text.clone())));
            diagnostic.applicability = applicability;
        }
    }
}

/// Gives each place of an error about several names a message with its own name.
fn name_repeats(d: &mut Diagnostic, src: &[u8]) {
    let first = d.span.of(src);
    if d.repeats.iter().all(|span| span.of(src) == first) {
        return;
    }
    let quoted = format!("`{}`", String::from_utf8_lossy(first));
    let Some((before, after)) = d.message.split_once(&quoted) else {
        return;
    };
    let more = |text: &str| -> Option<String> {
        let count = text.strip_prefix(" and ")?;
        let rest = count.trim_start_matches(|c: char| c.is_ascii_digit());
        Some(rest.strip_prefix(" more")?.into())
    };
    let after: String = more(after).unwrap_or_else(|| after.into());
    let own = |span: &Span| {
        let name = String::from_utf8_lossy(span.of(src));
        format!("{before}`{name}`{after}")
    };
    d.repeat_messages = d.repeats.iter().map(own).collect();
}

/// For how many functions a prototype is added, so that the cost stays linear.
const MOST_PROTOTYPES: usize = 16;

/// Names reported as undeclared that the module declares further down are used too early.
#[cold]
fn explain_late_declarations(diagnostics: &mut [Diagnostic], module: &Module, names: &Scopes) {
    let src = module.source();
    let undeclared = diagnostics
        .iter_mut()
        .filter(|d| d.code == Code::UndefinedName);
    let mut prototypes_left = MOST_PROTOTYPES;
    for d in undeclared {
        let text = d.span.of(src);
        let name = module.find_name(text);
        let Some(binding) = name.and_then(|n| names.find(n)) else {
            continue;
        };
        if binding.at > d.span.start {
            let repeats = core::mem::take(&mut d.repeats);
            *d = late_declaration(&String::from_utf8_lossy(text), d.span).with_label(
                Span::new(binding.at, binding.at + text.len() as u32),
                "declared here",
            );
            d.repeats = repeats;
            let (at, defined) = (d.span.start as usize, binding.at as usize);
            if prototypes_left > 0
                && let Some((span, text)) = missing_declaration::prototype(src, at, defined)
            {
                prototypes_left -= 1;
                d.add_fix([(span, text)]);
            }
        }
    }
}
