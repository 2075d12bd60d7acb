//! Checks that library code contains no name of an instruction: facts about instructions are in the tables of `ptx-isa`.

use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use ptx_isa::Opcode;

/// Packages that are not libraries.
const PROGRAMS: &[&str] = &["ptx-cli"];

/// Files and folders that may name instructions, with the reasons.
const EXCLUDED: &[(&str, &str)] = &[
    ("ptx-isa/src/generated", "the tables"),
    ("ptx-build/src/generated", "generated from the tables"),
    (
        "ptx-semantics/src/fold/algebra.rs",
        "names the instructions that copy and that convert addresses",
    ),
    ("ptx-semantics/src/smt", "names operators of SMT-LIB"),
    (
        "ptx-transform/src/instrument/mnemonics.rs",
        "lists the instructions that instrumentation inserts",
    ),
    (
        "ptx-report/src/labels.rs",
        "names kinds of control flow and of waiting",
    ),
    (
        "ptx-report/src/report/pipeline.rs",
        "names kinds of steps of pipelines",
    ),
    ("ptx-table/src/rows/instructions.rs", "names columns"),
    (
        "ptx-lint/src/inline/write.rs",
        "writes the instructions that take the place of calls",
    ),
    (
        "ptx-memory/src/litmus/instruction.rs",
        "reads the instructions of litmus tests, which are not those of PTX",
    ),
    ("ptx-memory/src/event.rs", "names proxies"),
    (
        "ptx-memory/src/kernel/asynchronous.rs",
        "names the reduction that asynchronous ones perform",
    ),
    (
        "ptx-memory/src/kernel/repair.rs",
        "writes the fences that repairs insert",
    ),
    (
        "ptx-memory/src/kernel/story.rs",
        "names kinds of events in stories",
    ),
];

/// The name of an instruction in the source.
struct Mention {
    line: usize,
    text: String,
}

/// Adds all mentions of instructions in some tokens.
fn find(tokens: TokenStream, mentions: &mut Vec<Mention>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut i = 0;
    while let Some(token) = tokens.get(i) {
        i += 1;
        let line = token.span().start().line;
        match token {
            TokenTree::Punct(p) if p.as_char() == '#' => {
                // Comments of documentation are attributes too.
                let is_inner =
                    matches!(tokens.get(i), Some(TokenTree::Punct(p)) if p.as_char() == '!');
                let Some(TokenTree::Group(attribute)) = tokens.get(i + usize::from(is_inner))
                else {
                    continue;
                };
                i += 1 + usize::from(is_inner);
                if attribute.stream().to_string().replace(' ', "") == "cfg(test)" {
                    i += item_len(tokens.get(i..).unwrap_or_default());
                }
            }
            TokenTree::Group(group) => find(group.stream(), mentions),
            TokenTree::Literal(literal) => {
                let literal = literal.to_string();
                let text = literal
                    .trim_start_matches(['b', 'c', 'r', '#'])
                    .trim_end_matches('#')
                    .trim_matches('"');
                if literal.contains('"') && is_mnemonic(text) {
                    let text = text.to_string();
                    mentions.push(Mention { line, text });
                }
            }
            TokenTree::Ident(name) if name == "Opcode" => {
                let path: Vec<String> = tokens
                    .iter()
                    .skip(i)
                    .take(3)
                    .map(ToString::to_string)
                    .collect();
                if let [a, b, variant] = &path[..]
                    && (a == ":" && b == ":")
                    && (variant == "*" || is_variant(variant))
                {
                    let text = format!("Opcode::{variant}");
                    mentions.push(Mention { line, text });
                }
            }
            _ => {}
        }
    }
}

/// Whether a literal is an opcode, alone or with modifiers, which may be placeholders as in `mov{ty}`.
fn is_mnemonic(text: &str) -> bool {
    let opcode = text.split(['.', '{']).next().unwrap_or_default();
    Opcode::from_text(opcode.as_bytes()).is_some()
        && text
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "._:{}".contains(c))
}

/// Whether a name in the path of an enum is a variant: it starts with a capital letter, but is not a constant.
fn is_variant(name: &str) -> bool {
    name.starts_with(char::is_uppercase) && name.contains(char::is_lowercase)
}

/// The number of tokens of the item after an attribute.
fn item_len(tokens: &[TokenTree]) -> usize {
    tokens
        .iter()
        .position(|token| match token {
            TokenTree::Punct(p) => p.as_char() == ';',
            TokenTree::Group(g) => g.delimiter() == Delimiter::Brace,
            _ => false,
        })
        .map_or(tokens.len(), |i| i + 1)
}

/// Adds the source files below a folder, except those of tests.
fn add_files(folder: &Path, paths: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.file_stem().is_some_and(|name| name == "tests") {
            continue;
        }
        if path.is_dir() {
            add_files(&path, paths);
        } else if path.extension().is_some_and(|e| e == "rs") {
            paths.push(path);
        }
    }
}

#[test]
fn libraries_name_no_instruction() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .unwrap();
    let mut paths = Vec::new();
    for entry in fs::read_dir(root).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if name.starts_with("ptx-") && !PROGRAMS.contains(&&*name) {
            add_files(&root.join(name).join("src"), &mut paths);
        }
    }
    assert!(paths.len() > 150, "{} files", paths.len());
    let mut lines = Vec::new();
    for path in paths {
        let name = path.strip_prefix(root).unwrap().to_str().unwrap();
        if EXCLUDED.iter().any(|(folder, _)| name.starts_with(folder)) {
            continue;
        }
        let mut mentions = Vec::new();
        let source = fs::read_to_string(&path).unwrap();
        find(source.parse().unwrap(), &mut mentions);
        for Mention { line, text } in mentions {
            lines.push(format!("{name}:{line}: {text}"));
        }
    }
    assert!(
        lines.is_empty(),
        "ask the tables instead:\n{}",
        lines.join("\n")
    );
}

#[test]
fn opcodes_are_found() {
    let code = r##"
        /// "add" and Opcode::Add
        fn f(o: Opcode) { g(o == Opcode::Add, b"mul.lo.{ty}", "mov{}", r#"sub"#, "add.", "add it", "nothing", Opcode::ALL, Opcode::from_text); }
        #[cfg(test)] mod tests { const X: &str = "add"; }
        #[cfg(test)] mod others;
        use Opcode::*;
    "##;
    let mut mentions = Vec::new();
    find(code.parse().unwrap(), &mut mentions);
    let texts: Vec<&str> = mentions.iter().map(|m| m.text.as_str()).collect();
    assert_eq!(
        texts,
        [
            "Opcode::Add",
            "mul.lo.{ty}",
            "mov{}",
            "sub",
            "add.",
            "Opcode::*"
        ]
    );
}
