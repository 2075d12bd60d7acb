//! The inputs of the benchmarks: files of three sizes, of which the largest one is repeated.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use ptx_ir::lex::{Lexer, TokenKind};
use ptx_ir::{Item, Module};
use ptx_isa::Directive;

/// The approximate sizes of the small and the medium text in bytes.
const SMALL: u64 = 2_000;
const MEDIUM: u64 = 200_000;
/// The minimum size of the large text in bytes.
const LARGE: usize = 5_000_000;

/// A text to measure.
#[derive(Clone, Debug)]
pub struct Input {
    /// `small`, `medium`, `large`.
    pub name: &'static str,
    /// The name of the file.
    pub file: String,
    /// The text of the file, repeated if it is too small.
    pub text: Vec<u8>,
}

/// A small, a medium and a large text of nvcc; fewer if there are no files.
#[must_use]
pub fn all() -> Vec<Input> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .unwrap_or(Path::new("."));
    let shared = root.parent().unwrap_or(root).join("shared/corpus/nvcc");
    let mut files = Vec::new();
    for folder in [root.join("corpus/compiled/nvcc"), shared] {
        files.extend(
            fs::read_dir(folder)
                .into_iter()
                .flatten()
                .flatten()
                .map(|e| e.path()),
        );
    }
    let mut files: Vec<(u64, PathBuf)> = files
        .into_iter()
        .filter(|p| p.extension().is_some_and(|e| e == "ptx") && !for_debugger(p))
        .filter_map(|p| Some((fs::metadata(&p).ok()?.len(), p)))
        .collect();
    files.sort();
    let nearest = |size: u64| files.iter().min_by_key(|(len, _)| len.abs_diff(size));
    let chosen = [
        ("small", nearest(SMALL)),
        ("medium", nearest(MEDIUM)),
        ("large", files.last()),
    ];
    chosen
        .into_iter()
        .filter_map(|(name, file)| {
            let (_, path) = file?;
            let mut text = fs::read(path).ok()?;
            if name == "large" {
                text = repeated(&text, LARGE);
            }
            let file = path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            Some(Input { name, file, text })
        })
        .collect()
}

/// Whether a file was compiled with `-G`. Such files are mostly tables of debug information.
fn for_debugger(path: &Path) -> bool {
    path.file_name()
        .is_some_and(|n| n.to_string_lossy().contains(".G"))
}

/// A text of at least `size` bytes: the items after the header are repeated, each time with other names for the functions and
/// variables of the module.
#[must_use]
pub fn repeated(text: &[u8], size: usize) -> Vec<u8> {
    if text.len() >= size {
        return text.to_vec();
    }
    let module = ptx_parse::parse(text).module;
    let start = end_of_header(&module).min(text.len());
    let pieces = split_at_names(&module, text, start);
    let mut out = Vec::with_capacity(size + text.len() * 5 / 4);
    out.extend_from_slice(text);
    let mut round = 0;
    while out.len() < size {
        round += 1;
        let suffix = format!("_{round}");
        if !out.ends_with(b"\n") {
            out.push(b'\n');
        }
        for (index, piece) in pieces.iter().enumerate() {
            if index > 0 {
                out.extend_from_slice(suffix.as_bytes());
            }
            out.extend_from_slice(piece);
        }
    }
    out
}

/// The offset of the first item after `.version`, `.target` and `.address_size`.
fn end_of_header(module: &Module) -> usize {
    let header = [
        Directive::Version,
        Directive::Target,
        Directive::AddressSize,
    ];
    let first = module.items().find(|(_, item)| match item {
        Item::Directive(d) => !header.contains(&module.directives()[*d].directive),
        _ => true,
    });
    first.map_or(usize::MAX, |(id, _)| module.span(id).start as usize)
}

/// The text from `start` on, cut after every name that the module declares.
fn split_at_names<'t>(module: &Module, text: &'t [u8], start: usize) -> Vec<&'t [u8]> {
    let names: HashSet<&[u8]> = module
        .symbols()
        .values()
        .map(|s| module.name_bytes(s.name))
        .collect();
    let text = &text[start..];
    let mut pieces = Vec::new();
    let mut start = 0;
    for token in Lexer::new(text) {
        if token.kind == TokenKind::Ident && names.contains(token.span.of(text)) {
            let end = token.span.end as usize;
            pieces.push(&text[start..end]);
            start = end;
        }
    }
    pieces.push(&text[start..]);
    pieces
}
