//! Makes the numbers of `.file` directives and the labels of debug sections unique.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use ptx_analysis::source_lines::{code_blocks, file_number};
use ptx_ir::lex::{Lexer, Token, TokenKind};
use ptx_ir::raw::Interner;
use ptx_ir::{Item, Module, Operand, Span, TextPatches};
use ptx_isa::Directive;

use super::fresh_names::FreshNames;
use crate::debug;
use crate::items::ItemText;

/// What happens to the debug information of one module: old and new numbers and labels, sorted.
#[derive(Clone, Default)]
struct Changes<'m> {
    files: Vec<(i64, i64)>,
    labels: Vec<(&'m str, String)>,
}

impl Changes<'_> {
    /// Of several new numbers, the last one counts.
    fn renumber(&mut self, old: i64, new: i64) {
        let at = self.files.partition_point(|(n, _)| *n < old);
        match self.files.get_mut(at) {
            Some(file) if file.0 == old => file.1 = new,
            _ => self.files.insert(at, (old, new)),
        }
    }

    fn file(&self, text: &[u8]) -> Option<i64> {
        let old: i64 = core::str::from_utf8(text).ok()?.parse().ok()?;
        let at = self
            .files
            .binary_search_by_key(&old, |(old, _)| *old)
            .ok()?;
        Some(self.files.get(at)?.1)
    }

    fn label(&self, text: &[u8]) -> Option<&str> {
        let at = self
            .labels
            .binary_search_by(|(old, _)| old.as_bytes().cmp(text))
            .ok()?;
        Some(&self.labels.get(at)?.1)
    }
}

/// Renumbers conflicting files and renames conflicting labels of sections; returns the `.file` directives that an earlier
/// module already has: module and item, sorted.
pub(super) fn unite(
    modules: &[&Module],
    items: &[Vec<ItemText>],
    patches: &mut [TextPatches],
) -> Vec<(usize, usize)> {
    let mut changes = vec![Changes::default(); modules.len()];
    let dropped = renumber(modules, items, patches, &mut changes);
    rename(modules, &mut changes);
    for (((module, items), change), patches) in modules.iter().zip(items).zip(&changes).zip(patches)
    {
        if !change.files.is_empty() || !change.labels.is_empty() {
            places(module, items, change, patches);
        }
    }
    dropped
}

/// A `.file` directive.
struct File {
    /// The index of its item.
    item: usize,
    number: i64,
    /// Its other arguments.
    key: Vec<u8>,
}

/// The `.file` directives of a module.
fn files(input: usize, module: &Module, items: &[ItemText]) -> Vec<File> {
    let mut found = Vec::new();
    let mut embedded: Vec<i64> = debug::embedded(module).collect();
    embedded.sort_unstable();
    for (item, text) in items.iter().enumerate() {
        let Item::Directive(id) = text.item else {
            continue;
        };
        let directive = module.directives().get(id);
        let directive = directive.filter(|d| d.directive == Directive::File);
        let Some((d, number)) = directive.and_then(|d| Some((d, file_number(module, d)?))) else {
            continue;
        };
        let mut key = Vec::new();
        for argument in module.pool().slice(d.args).iter().skip(1) {
            match argument {
                // With its quotes.
                Operand::Str(name) => key.extend(module.name_bytes(*name)),
                other => {
                    let value = module.pool().integer(*other).unwrap_or(0);
                    key.push(b'#');
                    key.extend(value.to_le_bytes());
                }
            }
        }
        if embedded.binary_search(&number).is_ok() {
            // Another module may contain another text of this name.
            key.extend(input.to_le_bytes());
        }
        found.push(File { item, number, key });
    }
    found
}

/// Gives files of several modules different numbers; returns those that an earlier module has.
fn renumber(
    modules: &[&Module],
    items: &[Vec<ItemText>],
    patches: &mut [TextPatches],
    changes: &mut [Changes<'_>],
) -> Vec<(usize, usize)> {
    let all: Vec<Vec<File>> = modules
        .iter()
        .zip(items)
        .enumerate()
        .map(|(input, (m, items))| files(input, m, items))
        .collect();
    let mut next = all.iter().flatten().map(|f| f.number).max().unwrap_or(0);
    // The data of sections refer to files by number, so these numbers stay.
    let (mut order, rest): (Vec<usize>, Vec<usize>) = (0..modules.len()).partition(|input| {
        modules
            .get(*input)
            .is_some_and(|m| !m.sections().is_empty())
    });
    order.extend(rest);
    // The files of earlier modules, with their numbers; and the numbers, as bytes.
    let (mut known, mut numbers) = (Interner::default(), Vec::new());
    let mut taken = Interner::default();
    let mut dropped = Vec::new();
    for input in order {
        let (Some(module), Some(items), Some(files)) =
            (modules.get(input), items.get(input), all.get(input))
        else {
            continue;
        };
        let (Some(change), Some(patches)) = (changes.get_mut(input), patches.get_mut(input)) else {
            continue;
        };
        let mut own: Vec<(&[u8], i64)> = Vec::new();
        for file in files {
            let number = file.number;
            if let Some(at) = known.find(&file.key) {
                dropped.push((input, file.item));
                if let Some(other) = numbers.get(at as usize).copied().filter(|n| *n != number) {
                    change.renumber(number, other);
                }
                continue;
            }
            let mut new = number;
            if !taken.intern(&number.to_le_bytes()).1 {
                next += 1;
                new = next;
                taken.intern(&new.to_le_bytes());
                change.renumber(number, new);
                if let Some(item) = items.get(file.item) {
                    let span = item.extent.statement;
                    let mut tokens = Lexer::fragment(span.of(module.source()));
                    if let Some(t) = tokens.find(|t| t.kind == TokenKind::Integer) {
                        patches.replace(t.span.shifted(span.start), new.to_string());
                    }
                }
            }
            own.push((&file.key, new));
        }
        // Of several numbers of one file, the last one counts.
        for (key, number) in own {
            let (at, is_new) = known.intern(key);
            match numbers.get_mut(at as usize) {
                Some(known) if !is_new => *known = number,
                _ => numbers.push(number),
            }
        }
    }
    dropped.sort_unstable();
    dropped
}

/// Labels of sections that an earlier module has as well.
fn rename<'m>(modules: &[&'m Module], changes: &mut [Changes<'m>]) {
    let mut fresh = FreshNames::new(modules);
    let mut seen = Interner::default();
    for (input, (module, change)) in modules.iter().zip(changes).enumerate() {
        let labels = module.sections().values().flat_map(debug::labels);
        let mut own: Vec<&str> = labels.map(|n| module.name(n)).collect();
        own.sort_unstable();
        own.dedup();
        for &name in own.iter().filter(|n| seen.find(n.as_bytes()).is_some()) {
            change.labels.push((name, fresh.name(name, input)));
        }
        for name in own {
            seen.intern(name.as_bytes());
        }
    }
}

/// Writes the new numbers and labels into `.loc`, `.loc_intermediate` and sections.
fn places(module: &Module, items: &[ItemText], change: &Changes<'_>, patches: &mut TextPatches) {
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
                    if let Some(new) = change.label(token.span.of(source)) {
                        patches.replace(token.span, new);
                    }
                }
            }
            Item::Function(id) => {
                let Some(body) = module.body(id) else {
                    continue;
                };
                for (stmt, statement) in body.statements() {
                    if body.directive(statement).is_some_and(Directive::is_debug) {
                        place(source, tokens(body.source_span(stmt)), change, patches);
                    }
                }
            }
            Item::Directive(_)
                if module.directive(item.item) == Some(Directive::NvIntermediateSourceSection) =>
            {
                let span = item.extent.statement;
                for block in code_blocks(span.of(source)) {
                    let file = block.file.shifted(span.start);
                    if let Some(new) = change.file(file.of(source)) {
                        patches.replace(file, new.to_string());
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
    change: &Changes<'_>,
    patches: &mut TextPatches,
) {
    let mut expected: &[u8] = b"inlined_at";
    for token in tokens {
        let text = token.span.of(source);
        match token.kind {
            TokenKind::Integer if expected == b"inlined_at" => {
                if let Some(new) = change.file(text) {
                    patches.replace(token.span, new.to_string());
                }
                expected = b"";
            }
            TokenKind::Ident if expected == b"function_name" => {
                if let Some(new) = change.label(text) {
                    patches.replace(token.span, new);
                }
                expected = b"";
            }
            TokenKind::Ident if matches!(text, b"inlined_at" | b"function_name") => expected = text,
            _ => {}
        }
    }
}
