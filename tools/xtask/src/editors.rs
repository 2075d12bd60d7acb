//! The words of the grammars under `editors`: lists from the compiled tables replace names in templates.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use ptx_codegen::{Mode, Output};
use ptx_isa::internals::{DirectivePosition, EffectKind, Ending};
use ptx_isa::{
    Directive, Modifier, Opcode, ScalarType, SpecialReg, StateSpace, Target, TargetOption,
};

/// Names in templates, and the words that replace them.
type Lists = Vec<(&'static str, Vec<&'static str>)>;

/// Patterns that the TextMate grammar uses several times.
const PATTERNS: [(&str, &str); 2] = [
    (
        "identifier",
        r"(?<![\\w$%])(?:[A-Za-z][\\w$]*|[_$%][\\w$]+)",
    ),
    (
        "selector",
        r"\\.(?:[xyzwrgba]|b[0-7]{1,4}|h[0-3]{1,2})(?![\\w$])",
    ),
];

/// The section of the PTX ISA manual on linking directives.
const LINKING: &str = "11.6";

/// Writes or compares the files.
pub(crate) fn emit(root: &Path, mode: Mode) -> Result<()> {
    let lists = lists();
    let syntaxes = root.join("bindings/editors/vscode/syntaxes");
    let mut grammar = read(&syntaxes.join("ptx.tmLanguage.in.json"))?;
    for (name, pattern) in PATTERNS {
        grammar = grammar.replace(&format!("<{name}>"), pattern);
    }
    let mut output = Output::partial();
    output.add("ptx.tmLanguage.json", fill(&grammar, &lists, word_regex)?);
    output.finish(&syntaxes, mode)?;
    let tree_sitter = root.join("bindings/editors/tree-sitter-ptx");
    let queries = tree_sitter.join("queries");
    let highlights = read(&tree_sitter.join("highlights.in.scm"))?;
    let mut output = Output::partial();
    output.add("highlights.scm", fill(&highlights, &lists, quoted_words)?);
    output.finish(&queries, mode)?;
    let mut output = Output::partial();
    output.add("words.json", words());
    output.finish(&tree_sitter, mode)?;
    Ok(())
}

/// A pattern of words without their dot or percent sign.
fn word_regex(words: &[&str]) -> String {
    Trie::new(words.iter().map(|w| w.trim_start_matches(['.', '%']))).regex()
}

fn quoted_words(words: &[&str]) -> String {
    let words: Vec<String> = words.iter().map(|w| format!("{w:?}")).collect();
    words.join(" ")
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))
}

/// Replaces the name of each list by its words.
fn fill(template: &str, lists: &Lists, write: impl Fn(&[&str]) -> String) -> Result<String> {
    let mut text = template.to_string();
    for (name, words) in lists {
        text = text.replace(&format!("<{name}>"), &write(words));
    }
    for part in text.split('<').skip(1) {
        if let Some((name, _)) = part.split_once('>') {
            let is_name =
                !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c == '-');
            ensure!(!is_name, "no list for <{name}>");
        }
    }
    Ok(text)
}

fn lists() -> Lists {
    let mut control_opcodes = Vec::new();
    let mut opcodes = Vec::new();
    for opcode in Opcode::ALL {
        if is_control(*opcode) {
            control_opcodes.push(opcode.text());
        } else {
            opcodes.push(opcode.text());
        }
    }
    let mut directives = Vec::new();
    let mut ended_directives = Vec::new();
    for directive in Directive::ALL {
        let text = directive.text();
        if StateSpace::from_text(text.as_bytes()).is_some() {
            continue;
        }
        if directive.ending() == Ending::Semicolon {
            ended_directives.push(text);
        }
        if text.starts_with('.') {
            directives.push(text);
        }
    }
    let modifiers = Modifier::ALL
        .iter()
        .filter(|m| m.scalar_type().is_none() && m.state_space().is_none());
    let targets = Target::ALL.iter().map(|t| t.text());
    let target_options = TargetOption::ALL.iter().map(|o| o.text());
    vec![
        ("control-opcodes", control_opcodes),
        ("opcodes", opcodes),
        ("modifiers", modifiers.map(|m| m.text()).collect()),
        ("types", types()),
        ("spaces", StateSpace::ALL.iter().map(|s| s.text()).collect()),
        ("declared-spaces", declared_spaces()),
        ("ended-directives", ended_directives),
        ("directives", directives),
        (
            "special-registers",
            SpecialReg::ALL.iter().map(|r| r.text()).collect(),
        ),
        ("targets", targets.chain(target_options).collect()),
    ]
}

fn types() -> Vec<&'static str> {
    ScalarType::ALL.iter().map(|t| t.text()).collect()
}

/// The state spaces without a sub-qualifier, in which variables are declared.
fn declared_spaces() -> Vec<&'static str> {
    StateSpace::ALL
        .iter()
        .map(|s| s.text())
        .filter(|text| !text.contains(':'))
        .collect()
}

/// Whether all instructions of the opcode change the control flow.
fn is_control(opcode: Opcode) -> bool {
    opcode
        .instructions()
        .iter()
        .flat_map(|instruction| instruction.forms())
        .all(|form| {
            form.effects()
                .iter()
                .any(|e| matches!(e.kind(), EffectKind::Control(_)))
        })
}

/// Whether the directive follows the parameters of a function or a prototype.
fn is_function_directive(directive: Directive) -> bool {
    let positions = [
        DirectivePosition::Entry,
        DirectivePosition::Func,
        DirectivePosition::Prototype,
    ];
    directive.ending() == Ending::Open && positions.iter().any(|p| directive.is_allowed_in(*p))
}

/// The words on which the structure of the tree-sitter grammar depends.
fn words() -> String {
    let directives = Directive::ALL.iter().copied();
    let function = directives.clone().filter(|d| is_function_directive(*d));
    let linkage = directives.filter(|d| d.section().starts_with(LINKING));
    let vectors = Modifier::ALL.iter().filter(|m| m.vector_len().is_some());
    let lists = Opcode::ALL.iter().filter(|o| o.takes_lists());
    let entries: [(&str, Vec<&str>); 6] = [
        ("types", types()),
        ("spaces", declared_spaces()),
        ("vectors", vectors.map(|m| m.text()).collect()),
        ("linkage", linkage.map(Directive::text).collect()),
        ("function", function.map(Directive::text).collect()),
        ("lists", lists.map(|o| o.text()).collect()),
    ];
    let lines: Vec<String> = entries
        .iter()
        .map(|(name, words)| format!("  {name:?}: {words:?}"))
        .collect();
    format!("{{\n{}\n}}\n", lines.join(",\n"))
}

/// A trie of words. Its pattern for a thousand words is short and fast.
#[derive(Default)]
struct Trie {
    is_word: bool,
    children: BTreeMap<char, Trie>,
}

impl Trie {
    fn new<'a>(words: impl Iterator<Item = &'a str>) -> Self {
        let mut root = Self::default();
        for word in words {
            let mut node = &mut root;
            for character in word.chars() {
                node = node.children.entry(character).or_default();
            }
            node.is_word = true;
        }
        root
    }

    /// A pattern of the longest word, escaped as in JSON.
    fn regex(&self) -> String {
        let parts: Vec<String> = self
            .children
            .iter()
            .map(|(c, child)| {
                let escape = if c.is_ascii_alphanumeric() || "_:".contains(*c) {
                    ""
                } else {
                    r"\\"
                };
                format!("{escape}{c}{}", child.regex())
            })
            .collect();
        match parts.as_slice() {
            [] => String::new(),
            [part] if !self.is_word => part.clone(),
            _ => {
                let optional = if self.is_word { "?" } else { "" };
                format!("(?:{}){optional}", parts.join("|"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_word_matches() {
        let words = ["ld", "ldu", "lds", "add"];
        assert_eq!(Trie::new(words.into_iter()).regex(), "(?:add|ld(?:s|u)?)");
    }

    #[test]
    fn unknown_lists_are_errors() {
        let error = fill("(<words>) <", &lists(), |_| String::new()).unwrap_err();
        assert_eq!(error.to_string(), "no list for <words>");
    }
}
