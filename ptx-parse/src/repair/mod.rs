//! Makes diagnostics of the errors that the parser recorded: with the likely mistake, and edits that correct it.
//!
//! The parser does not use this module. It makes [`Record`]s, which are repaired when the module and all of its names are
//! known. A source without errors costs nothing here.

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

/// The state that the repairs of the errors of a source share.
struct Repairer<'m> {
    module: &'m Module,
    undeclared: UndeclaredNames<'m>,
    choices: KnownChoices,
    suggestions: Suggestions,
}

/// The diagnostics for the records of a module, in the order of the source. `names` are those of the module.
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
        .filter(|diagnostic| diagnostic.code == Code::DuplicateName);
    repeated::remove_all(src, duplicates);
    for diagnostic in &mut diagnostics {
        if is_about_names(diagnostic.code) && !diagnostic.repeats.is_empty() {
            set_repeat_messages(diagnostic, src);
            diagnostic.message += &format!(" (used {} times)", diagnostic.repeats.len() + 1);
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
            error,
            cause,
            place,
        } = record;
        let is_in_text = matches!(cause, Cause::CharacterInText);
        let error = if error.code == Code::StrayByte && !is_in_text {
            lookalike::explain(src, error)
        } else {
            error
        };
        let error = match cause {
            Cause::Stated | Cause::CharacterInText => error,
            Cause::UnknownDirective => keyword::directive(src, error),
            Cause::UnknownType => keyword::ty(src, error),
            Cause::UnknownAttribute => keyword::attribute(src, error),
            Cause::UnknownTarget => keyword::target(src, error),
            Cause::UndottedType => specifier::undotted_type(src, error),
            Cause::MissingSpace {
                name_start,
                in_body,
            } => specifier::missing_space(src, error, name_start, in_body),
            Cause::MissingParameterType => specifier::missing_parameter_type(src, error),
            Cause::UnknownModifier { sig, start, word } => {
                let place = UnknownModifier { sig, start, word };
                unknown_modifier::explain(module, &mut self.choices, error, place)
            }
            Cause::UnknownOpcode { sig } => {
                unknown_opcode::explain(module, &mut self.suggestions, error, sig)
            }
            Cause::Undeclared(undeclared) => {
                self.undeclared.diagnostic(&undeclared).unwrap_or(error)
            }
        };
        match place {
            Some(Place::Statement(context)) => statement::explain(src, context, error, is_first),
            Some(Place::Header { start }) => statement::header(src, start, error),
            None => error,
        }
    }
}

/// Adds the further places of errors, which are given by the numbers of the diagnostics. An edit that replaces the first name
/// also replaces the others.
fn add_repeats(diagnostics: &mut [Diagnostic], mut repeats: Vec<(usize, Span)>) {
    repeats.sort_unstable_by_key(|(number, span)| (*number, span.start));
    for places in repeats.chunk_by(|(a, _), (b, _)| a == b) {
        let number = places.first().map_or(0, |(number, _)| *number);
        let Some(diagnostic) = diagnostics.get_mut(number) else {
            continue;
        };
        diagnostic.repeats = places.iter().map(|(_, span)| *span).collect();
        let edit = diagnostic
            .fix
            .iter()
            .find(|edit| edit.span == diagnostic.span);
        if let Some(text) = edit.map(|edit| edit.text.clone()) {
            let applicability = diagnostic.applicability;
            diagnostic.add_fix(places.iter().map(|&(_, span)| (span, text.clone())));
            diagnostic.applicability = applicability;
        }
    }
}

/// Sets the messages of the further places of an error about several names: each contains the name at its place.
fn set_repeat_messages(diagnostic: &mut Diagnostic, src: &[u8]) {
    let first = diagnostic.span.of(src);
    if diagnostic.repeats.iter().all(|span| span.of(src) == first) {
        return;
    }
    let quoted = format!("`{}`", String::from_utf8_lossy(first));
    let Some((prefix, suffix)) = diagnostic.message.split_once(&quoted) else {
        return;
    };
    let suffix = without_count(suffix).unwrap_or(suffix);
    diagnostic.repeat_messages = diagnostic
        .repeats
        .iter()
        .map(|span| {
            let name = String::from_utf8_lossy(span.of(src));
            format!("{prefix}`{name}`{suffix}")
        })
        .collect();
}

/// The text after ` and N more` at the beginning of `text`.
fn without_count(text: &str) -> Option<&str> {
    text.strip_prefix(" and ")?
        .trim_start_matches(|c: char| c.is_ascii_digit())
        .strip_prefix(" more")
}

/// The number of errors for which a prototype is added, so that the cost stays linear.
const MOST_PROTOTYPES: usize = 16;

/// Replaces errors about undeclared names that the module declares after their use.
#[cold]
fn explain_late_declarations(diagnostics: &mut [Diagnostic], module: &Module, names: &Scopes) {
    let src = module.source();
    let undeclared = diagnostics
        .iter_mut()
        .filter(|diagnostic| diagnostic.code == Code::UndefinedName);
    let mut prototypes_left = MOST_PROTOTYPES;
    for diagnostic in undeclared {
        let text = diagnostic.span.of(src);
        let name = module.find_name(text);
        let Some(binding) = name.and_then(|n| names.find(n)) else {
            continue;
        };
        if binding.offset > diagnostic.span.start {
            let repeats = core::mem::take(&mut diagnostic.repeats);
            *diagnostic = late_declaration(&String::from_utf8_lossy(text), diagnostic.span)
                .with_label(
                    Span::new(binding.offset, binding.offset + text.len() as u32),
                    "declared here",
                );
            diagnostic.repeats = repeats;
            let (use_offset, definition) =
                (diagnostic.span.start as usize, binding.offset as usize);
            if prototypes_left > 0
                && let Some((span, text)) =
                    missing_declaration::prototype(src, use_offset, definition)
            {
                prototypes_left -= 1;
                diagnostic.add_fix([(span, text)]);
            }
        }
    }
}
