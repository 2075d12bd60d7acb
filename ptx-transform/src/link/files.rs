//! Makes the numbers of `.file` directives and the labels of debug sections unique.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use ptx_ir::lex::{Lexer, Token, TokenKind};
use ptx_ir::{Item, Module, Operand, Span, Statement, TextPatches};
use ptx_isa::Directive;

use super::order::Piece;
use crate::debug;
use crate::item_text::ItemText;

/// What happens to the debug information of one module.
#[derive(Default)]
struct Changes {
    files: BTreeMap<i64, i64>,
    labels: BTreeMap<String, String>,
}

/// Renumbers conflicting files and renames conflicting labels of sections; returns the `.file` directives that an earlier
/// module already has.
pub(super) fn unite(
    modules: &[&Module],
    items: &[Vec<ItemText>],
    patches: &mut [TextPatches],
) -> Vec<Piece> {
    let mut dropped = Vec::new();
    let mut changes: Vec<Changes> = modules.iter().map(|_| Changes::default()).collect();
    renumber(modules, items, patches, &mut changes, &mut dropped);
    rename(modules, &mut changes);
    for (((module, items), change), patches) in modules.iter().zip(items).zip(&changes).zip(patches)
    {
        if !change.files.is_empty() || !change.labels.is_empty() {
            places(module, items, change, patches);
        }
    }
    dropped
}

/// The `.file` directives of a module: index, number, and the rest.
fn files<'m>(
    module: &'m Module,
    items: &'m [ItemText],
) -> impl Iterator<Item = (usize, i64, Vec<(i64, &'m [u8])>)> {
    items.iter().enumerate().filter_map(|(i, item)| {
        let Item::Directive(id) = item.item else {
            return None;
        };
        let d = module.directives().get(id)?;
        let number = (d.directive == Directive::File).then(|| debug::file(module, d))??;
        let rest = module.pool().slice(d.args).iter().skip(1);
        let said = rest.map(|o| match o {
            Operand::Str(name) => (0, module.name_bytes(*name)),
            other => (module.pool().integer(*other).unwrap_or(0), &[][..]),
        });
        Some((i, number, said.collect()))
    })
}

fn renumber(
    modules: &[&Module],
    items: &[Vec<ItemText>],
    patches: &mut [TextPatches],
    changes: &mut [Changes],
    dropped: &mut Vec<Piece>,
) {
    let every = || modules.iter().zip(items).enumerate();
    let numbers = every().flat_map(|(_, (m, c))| files(m, c).map(|(_, n, _)| n));
    let mut next = numbers.max().unwrap_or(0);
    // The data of sections refer to files by number, so these numbers stay.
    let (first, then): (Vec<_>, Vec<_>) = every().partition(|(_, (m, _))| !m.sections().is_empty());
    let mut known: BTreeMap<Vec<(i64, &[u8])>, i64> = BTreeMap::new();
    let mut taken: BTreeSet<i64> = BTreeSet::new();
    for (input, (module, items)) in first.into_iter().chain(then) {
        let (Some(change), Some(patches)) = (changes.get_mut(input), patches.get_mut(input)) else {
            continue;
        };
        let mut own: BTreeMap<Vec<(i64, &[u8])>, i64> = BTreeMap::new();
        for (index, number, said) in files(module, items) {
            if let Some(&other) = known.get(&said) {
                dropped.push(Piece { input, index });
                if other != number {
                    change.files.insert(number, other);
                }
                continue;
            }
            let mut new = number;
            if !taken.insert(number) {
                next += 1;
                new = next;
                taken.insert(new);
                change.files.insert(number, new);
                if let Some(item) = items.get(index) {
                    let text = item.extent.statement.of(module.source());
                    let mut tokens = Lexer::fragment(text);
                    let digits = tokens.find(|t| t.kind == TokenKind::Integer);
                    if let Some(t) = digits {
                        patches
                            .replace(t.span.shifted(item.extent.statement.start), new.to_string());
                    }
                }
            }
            own.insert(said, new);
        }
        known.extend(own);
    }
}

/// Labels of sections that an earlier module has as well.
fn rename(modules: &[&Module], changes: &mut [Changes]) {
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    for (input, (module, change)) in modules.iter().zip(changes).enumerate() {
        let labels = module.sections().values().flat_map(debug::labels);
        let own: BTreeSet<&str> = labels.map(|n| module.name(n)).collect();
        for &name in own.iter().filter(|n| seen.contains(*n)) {
            let mut number = input + 1;
            let free = |new: &str| {
                !modules
                    .iter()
                    .any(|m| m.find_name(new.as_bytes()).is_some())
            };
            let mut new = format!("{name}${number}");
            while !free(&new) {
                number += modules.len();
                new = format!("{name}${number}");
            }
            change.labels.insert(name.to_string(), new);
        }
        seen.extend(own);
    }
}

/// Writes the new numbers and labels into `.loc` and into sections.
fn places(module: &Module, items: &[ItemText], change: &Changes, patches: &mut TextPatches) {
    let source = module.source();
    let tokens = |span: Span| {
        let all = Lexer::fragment(span.of(source)).filter(|t| !t.kind.is_trivia());
        all.map(move |t| Token {
            kind: t.kind,
            span: t.span.shifted(span.start),
        })
    };
    for item in items {
        match item.item {
            Item::Section(_) if !change.labels.is_empty() => {
                for token in tokens(item.extent.statement).filter(|t| t.kind == TokenKind::Ident) {
                    let word = core::str::from_utf8(token.span.of(source));
                    if let Some(new) = word.ok().and_then(|w| change.labels.get(w)) {
                        patches.replace(token.span, new);
                    }
                }
            }
            Item::Function(id) => {
                let Some(body) = module.body(id) else {
                    continue;
                };
                for (stmt, statement) in body.statements() {
                    let Statement::Directive(id) = statement else {
                        continue;
                    };
                    let directive = body.directives().get(id);
                    if directive.is_some_and(|d| d.directive == Directive::Loc) {
                        place(source, tokens(body.source_span(stmt)), change, patches);
                    }
                }
            }
            _ => {}
        }
    }
}

/// The file is the first number and the one after `inlined_at`; the label follows `function_name`.
fn place(
    source: &[u8],
    tokens: impl Iterator<Item = Token>,
    change: &Changes,
    patches: &mut TextPatches,
) {
    let mut expected: &[u8] = b"inlined_at";
    for token in tokens {
        let text = token.span.of(source);
        match token.kind {
            TokenKind::Integer if expected == b"inlined_at" => {
                let number = core::str::from_utf8(text).ok().and_then(|t| t.parse().ok());
                if let Some(new) = number.and_then(|n: i64| change.files.get(&n)) {
                    patches.replace(token.span, new.to_string());
                }
                expected = b"";
            }
            TokenKind::Ident if expected == b"function_name" => {
                let word = core::str::from_utf8(text).ok();
                if let Some(new) = word.and_then(|w| change.labels.get(w)) {
                    patches.replace(token.span, new);
                }
                expected = b"";
            }
            TokenKind::Ident if matches!(text, b"inlined_at" | b"function_name") => expected = text,
            _ => {}
        }
    }
}
