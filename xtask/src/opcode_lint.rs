//! Library code must not name instructions: it asks the tables of `ptx-isa`.

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
        "ptx-analysis/src/fold/algebra.rs",
        "names the instructions that copy and that convert addresses",
    ),
    ("ptx-analysis/src/smt", "names operators of SMT-LIB"),
    (
        "ptx-transform/src/instrument/mnemonics.rs",
        "lists the instructions that instrumentation inserts",
    ),
    (
        "ptx-report/src/labels.rs",
        "names kinds of control flow and of waiting",
    ),
    ("ptx-table/src/rows/instructions.rs", "names columns"),
    (
        "ptx-lint/src/inline/write.rs",
        "writes the instructions that take the place of calls",
    ),
];

/// Adds the line and the text of all that names an instruction.
fn find(tokens: TokenStream, found: &mut Vec<(usize, String)>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut i = 0;
    while let Some(token) = tokens.get(i) {
        i += 1;
        let line = token.span().start().line;
        match token {
            TokenTree::Punct(p) if p.as_char() == '#' => {
                // Comments of documentation are attributes too.
                let inner =
                    matches!(tokens.get(i), Some(TokenTree::Punct(p)) if p.as_char() == '!');
                let Some(TokenTree::Group(attribute)) = tokens.get(i + usize::from(inner)) else {
                    continue;
                };
                i += 1 + usize::from(inner);
                if attribute.stream().to_string().replace(' ', "") == "cfg(test)" {
                    i += item(tokens.get(i..).unwrap_or_default());
                }
            }
            TokenTree::Group(group) => find(group.stream(), found),
            TokenTree::Literal(literal) => {
                let text = literal.to_string();
                let word = text.trim_start_matches(['b', 'c', 'r', '#']);
                let word = word.trim_end_matches('#').trim_matches('"');
                if text.contains('"') && is_mnemonic(word) {
                    found.push((line, word.to_string()));
                }
            }
            TokenTree::Ident(name) if name == "Opcode" => {
                let path = tokens.get(i..i + 3).unwrap_or_default();
                let path: Vec<String> = path.iter().map(ToString::to_string).collect();
                if let [a, b, variant] = &path[..]
                    && (a == ":" && b == ":")
                    && (variant == "*" || is_variant(variant))
                {
                    found.push((line, format!("Opcode::{variant}")));
                }
            }
            _ => {}
        }
    }
}

/// Whether a literal is an opcode, alone or with modifiers, which may be placeholders as in `mov{ty}`.
fn is_mnemonic(text: &str) -> bool {
    let opcode = text.split(['.', '{']).next().unwrap_or_default();
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "._:{}".contains(c);
    Opcode::from_text(opcode.as_bytes()).is_some() && text.chars().all(plain)
}

/// Variants start with a capital letter, methods do not.
fn is_variant(name: &str) -> bool {
    name.starts_with(char::is_uppercase) && name.contains(char::is_lowercase)
}

/// How many tokens the item after an attribute has.
fn item(tokens: &[TokenTree]) -> usize {
    let ends = |t: &TokenTree| match t {
        TokenTree::Punct(p) => p.as_char() == ';',
        TokenTree::Group(g) => g.delimiter() == Delimiter::Brace,
        _ => false,
    };
    tokens.iter().position(ends).map_or(tokens.len(), |i| i + 1)
}

/// All files below a folder but those of tests.
fn files(folder: &Path, all: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.file_stem().is_some_and(|name| name == "tests") {
            continue;
        }
        if path.is_dir() {
            files(&path, all);
        } else if path.extension().is_some_and(|e| e == "rs") {
            all.push(path);
        }
    }
}

#[test]
fn libraries_name_no_instruction() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut all = Vec::new();
    for entry in fs::read_dir(root).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if name.starts_with("ptx-") && !PROGRAMS.contains(&&*name) {
            files(&root.join(name).join("src"), &mut all);
        }
    }
    assert!(all.len() > 150, "{} files", all.len());
    let mut offences = Vec::new();
    for path in all {
        let name = path.strip_prefix(root).unwrap().to_str().unwrap();
        if EXCLUDED.iter().any(|(folder, _)| name.starts_with(folder)) {
            continue;
        }
        let mut found = Vec::new();
        find(
            fs::read_to_string(&path).unwrap().parse().unwrap(),
            &mut found,
        );
        offences.extend(
            found
                .into_iter()
                .map(|(line, text)| format!("{name}:{line}: {text}")),
        );
    }
    assert!(
        offences.is_empty(),
        "ask the tables instead:\n{}",
        offences.join("\n")
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
    let mut found = Vec::new();
    find(code.parse().unwrap(), &mut found);
    let found: Vec<&str> = found.iter().map(|(_, text)| text.as_str()).collect();
    assert_eq!(
        found,
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
