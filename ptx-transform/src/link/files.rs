//! Makes the numbers of `.file` directives and the labels of debug sections unique.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use ptx_analysis::internals::code_blocks;
use ptx_analysis::source_lines::file_number;
use ptx_ir::lex::{Lexer, Token, TokenKind};
use ptx_ir::raw::{Interner, TextPatches};
use ptx_ir::{Item, Module, Operand, Span};
use ptx_isa::Directive;

use super::uniquify::FreshNames;
use crate::debug;
use crate::items::ItemText;

/// The changes of the debug information of one module: old and new numbers and labels, sorted.
#[derive(Clone, Default)]
struct Changes<'m> {
    files: Vec<(i64, i64)>,
    labels: Vec<(&'m str, String)>,
}

impl Changes<'_> {
    /// Sets the new number of a file; the last call for a number counts.
    fn renumber(&mut self, old: i64, new: i64) {
        let index = self.files.partition_point(|(n, _)| *n < old);
        match self.files.get_mut(index) {
            Some(file) if file.0 == old => file.1 = new,
            _ => self.files.insert(index, (old, new)),
        }
    }

    fn file(&self, text: &[u8]) -> Option<i64> {
        let old: i64 = core::str::from_utf8(text).ok()?.parse().ok()?;
        let index = self
            .files
            .binary_search_by_key(&old, |(old, _)| *old)
            .ok()?;
        Some(self.files.get(index)?.1)
    }

    fn label(&self, text: &[u8]) -> Option<&str> {
        let index = self
            .labels
            .binary_search_by(|(old, _)| old.as_bytes().cmp(text))
            .ok()?;
        Some(&self.labels.get(index)?.1)
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
    let duplicates = renumber(modules, items, patches, &mut changes);
    rename_labels(modules, &mut changes);
    for (((module, items), change), patches) in modules.iter().zip(items).zip(&changes).zip(patches)
    {
        if !change.files.is_empty() || !change.labels.is_empty() {
            write_changes(module, items, change, patches);
        }
    }
    duplicates
}

/// A `.file` directive.
struct File {
    /// The index of the directive among the items of the module.
    item: usize,
    number: i64,
    /// The arguments after the number. Equal keys denote the same file.
    key: Vec<u8>,
}

/// The `.file` directives of a module.
fn files(input: usize, module: &Module, items: &[ItemText]) -> Vec<File> {
    let mut files = Vec::new();
    let mut embedded: Vec<i64> = debug::embedded(module).collect();
    embedded.sort_unstable();
    for (item, text) in items.iter().enumerate() {
        let Item::Directive(id) = text.item else {
            continue;
        };
        let Some((directive, number)) = module
            .directives()
            .get(id)
            .filter(|directive| directive.directive == Directive::File)
            .and_then(|directive| Some((directive, file_number(module, directive)?)))
        else {
            continue;
        };
        let mut key = Vec::new();
        for argument in module.pool().slice(directive.args).iter().skip(1) {
            match argument {
                // The bytes include the quotes.
                Operand::Str(name) => key.extend(module.name_bytes(*name)),
                operand => {
                    let value = module.pool().integer(*operand).unwrap_or(0);
                    key.push(b'#');
                    key.extend(value.to_le_bytes());
                }
            }
        }
        if embedded.binary_search(&number).is_ok() {
            // Another module may contain another text of this name.
            key.extend(input.to_le_bytes());
        }
        files.push(File { item, number, key });
    }
    files
}

/// Renumbers the files, so that different files have different numbers. Returns the directives that an earlier module has.
fn renumber(
    modules: &[&Module],
    items: &[Vec<ItemText>],
    patches: &mut [TextPatches],
    changes: &mut [Changes<'_>],
) -> Vec<(usize, usize)> {
    let module_files: Vec<Vec<File>> = modules
        .iter()
        .zip(items)
        .enumerate()
        .map(|(input, (module, items))| files(input, module, items))
        .collect();
    let mut highest_number = module_files
        .iter()
        .flatten()
        .map(|file| file.number)
        .max()
        .unwrap_or(0);
    // The data of sections refer to files by number, so these numbers stay.
    let (mut order, without_sections): (Vec<usize>, Vec<usize>) =
        (0..modules.len()).partition(|input| {
            modules
                .get(*input)
                .is_some_and(|m| !m.sections().is_empty())
        });
    order.extend(without_sections);
    // The keys of the files of earlier modules, and their numbers in the same order.
    let (mut keys, mut numbers) = (Interner::default(), Vec::new());
    // The numbers in use, as bytes.
    let mut used_numbers = Interner::default();
    let mut duplicates = Vec::new();
    for input in order {
        let (Some(module), Some(items), Some(files)) = (
            modules.get(input),
            items.get(input),
            module_files.get(input),
        ) else {
            continue;
        };
        let (Some(change), Some(patches)) = (changes.get_mut(input), patches.get_mut(input)) else {
            continue;
        };
        let mut new_files: Vec<(&[u8], i64)> = Vec::new();
        for file in files {
            let number = file.number;
            if let Some(key) = keys.find(&file.key) {
                duplicates.push((input, file.item));
                if let Some(earlier) = numbers.get(key as usize).copied().filter(|n| *n != number) {
                    change.renumber(number, earlier);
                }
                continue;
            }
            let mut new = number;
            if !used_numbers.intern(&number.to_le_bytes()).1 {
                highest_number += 1;
                new = highest_number;
                used_numbers.intern(&new.to_le_bytes());
                change.renumber(number, new);
                if let Some(item) = items.get(file.item) {
                    let span = item.extent.statement;
                    let mut tokens = Lexer::fragment(span.of(module.source()));
                    if let Some(t) = tokens.find(|t| t.kind == TokenKind::Integer) {
                        patches.replace(t.span.shifted(span.start), new.to_string());
                    }
                }
            }
            new_files.push((&file.key, new));
        }
        // Of several numbers of one file, the last one counts.
        for (key, number) in new_files {
            let (index, is_new) = keys.intern(key);
            match numbers.get_mut(index as usize) {
                Some(last_number) if !is_new => *last_number = number,
                _ => numbers.push(number),
            }
        }
    }
    duplicates.sort_unstable();
    duplicates
}

/// Adds new names of the labels of sections that an earlier module has as well.
fn rename_labels<'m>(modules: &[&'m Module], changes: &mut [Changes<'m>]) {
    let mut fresh = FreshNames::new(modules);
    let mut seen = Interner::default();
    for (input, (module, change)) in modules.iter().zip(changes).enumerate() {
        let labels = module.sections().values().flat_map(debug::labels);
        let mut names: Vec<&str> = labels.map(|label| module.name(label)).collect();
        names.sort_unstable();
        names.dedup();
        for &name in names.iter().filter(|n| seen.find(n.as_bytes()).is_some()) {
            change.labels.push((name, fresh.name(name, input)));
        }
        for name in names {
            seen.intern(name.as_bytes());
        }
    }
}

/// Writes the new numbers and labels into `.loc`, `.loc_intermediate` and sections.
fn write_changes(
    module: &Module,
    items: &[ItemText],
    change: &Changes<'_>,
    patches: &mut TextPatches,
) {
    let source = module.source();
    let tokens = |span: Span| {
        Lexer::fragment(span.of(source))
            .filter(|token| !token.kind.is_trivia())
            .map(move |token| Token {
                kind: token.kind,
                span: token.span.shifted(span.start),
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
                        let tokens = tokens(body.source_span(stmt));
                        write_location(source, tokens, change, patches);
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

/// Writes the new numbers and the new label into a `.loc` directive: the file is the first number and the one after
/// `inlined_at`; the label follows `function_name`.
fn write_location(
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
