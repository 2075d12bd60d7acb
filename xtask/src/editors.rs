//! The words of the grammars under `editors`: templates are filled with lists from the compiled tables.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use ptx_codegen::{Mode, Output};
use ptx_isa::{
    Directive, DirectivePosition, EffectKind, Ending, Modifier, Opcode, ScalarType, SpecialReg,
    StateSpace, Target, TargetOption,
};

/// Names in templates, and patterns or words that take their place.
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
    let regex = |words: &[&str]| {
        let words = words.iter().map(|w| w.trim_start_matches(['.', '%']));
        Trie::of(words).regex()
    };
    let quoted = |words: &[&str]| {
        let words: Vec<String> = words.iter().map(|w| format!("{w:?}")).collect();
        words.join(" ")
    };
    let syntaxes = root.join("editors/vscode/syntaxes");
    let mut grammar = read(&syntaxes.join("ptx.tmLanguage.in.json"))?;
    for (name, pattern) in PATTERNS {
        grammar = grammar.replace(&format!("<{name}>"), pattern);
    }
    let mut output = Output::partial();
    output.add("ptx.tmLanguage.json", fill(&grammar, &lists, regex)?);
    output.finish(&syntaxes, mode)?;
    let tree_sitter = root.join("editors/tree-sitter-ptx");
    let queries = tree_sitter.join("queries");
    let highlights = read(&tree_sitter.join("highlights.in.scm"))?;
    let mut output = Output::partial();
    output.add("highlights.scm", fill(&highlights, &lists, quoted)?);
    output.finish(&queries, mode)?;
    let mut output = Output::partial();
    output.add("words.json", words());
    output.finish(&tree_sitter, mode)?;
    Ok(())
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))
}

/// Puts the words of each list where its name is.
fn fill(template: &str, lists: &Lists, write: impl Fn(&[&str]) -> String) -> Result<String> {
    let mut text = template.to_string();
    for (name, words) in lists {
        text = text.replace(&format!("<{name}>"), &write(words));
    }
    let rest = text.split('<').skip(1);
    let left = rest.filter_map(|t| t.split_once('>')).find(|(name, _)| {
        let lower = |c: char| c.is_ascii_lowercase() || c == '-';
        !name.is_empty() && name.chars().all(lower)
    });
    ensure!(
        left.is_none(),
        "no list for <{}>",
        left.unwrap_or_default().0
    );
    Ok(text)
}

fn lists() -> Lists {
    let (control, other) = Opcode::ALL.iter().copied().partition(|o| is_control(*o));
    let opcodes = |list: Vec<Opcode>| list.into_iter().map(Opcode::text).collect();
    let spaces = || StateSpace::ALL.iter().map(|s| s.text());
    let is_space = |d: &Directive| StateSpace::from_text(d.text().as_bytes()).is_some();
    let directives = || Directive::ALL.iter().copied().filter(|d| !is_space(d));
    let ended = directives().filter(|d| d.ending() == Ending::Semicolon);
    let dotted = |d: &Directive| d.text().starts_with('.');
    let kinds = |m: &Modifier| m.scalar_type().is_none() && m.state_space().is_none();
    let modifiers = Modifier::ALL.iter().copied().filter(kinds);
    let targets = Target::ALL.iter().map(|t| t.text());
    vec![
        ("control-opcodes", opcodes(control)),
        ("opcodes", opcodes(other)),
        ("modifiers", modifiers.map(Modifier::text).collect()),
        ("types", ScalarType::ALL.iter().map(|t| t.text()).collect()),
        ("spaces", spaces().collect()),
        (
            "declared-spaces",
            spaces().filter(|s| !s.contains(':')).collect(),
        ),
        ("ended-directives", ended.map(Directive::text).collect()),
        (
            "directives",
            directives().filter(dotted).map(Directive::text).collect(),
        ),
        (
            "special-registers",
            SpecialReg::ALL.iter().map(|r| r.text()).collect(),
        ),
        (
            "targets",
            targets
                .chain(TargetOption::ALL.iter().map(|o| o.text()))
                .collect(),
        ),
    ]
}

/// Whether all instructions of the opcode change the control flow.
fn is_control(opcode: Opcode) -> bool {
    let mut forms = opcode.instructions().iter().flat_map(|i| i.forms());
    forms.all(|f| {
        f.effects()
            .iter()
            .any(|e| matches!(e.kind(), EffectKind::Control(_)))
    })
}

/// The words on which the structure of the tree-sitter grammar depends.
fn words() -> String {
    let places = [
        DirectivePosition::Entry,
        DirectivePosition::Func,
        DirectivePosition::Prototype,
    ];
    let of_function =
        |d: &Directive| d.ending() == Ending::Open && places.iter().any(|p| d.is_allowed_in(*p));
    let function = Directive::ALL.iter().filter(|d| of_function(d));
    let linkage = Directive::ALL
        .iter()
        .copied()
        .filter(|d| d.section().starts_with(LINKING));
    let spaces = StateSpace::ALL
        .iter()
        .map(|s| s.text())
        .filter(|s| !s.contains(':'));
    let vectors = Modifier::ALL.iter().filter(|m| m.vector_len().is_some());
    let lists = Opcode::ALL.iter().filter(|o| o.takes_lists());
    let all: [(&str, Vec<&str>); 6] = [
        ("types", ScalarType::ALL.iter().map(|t| t.text()).collect()),
        ("spaces", spaces.collect()),
        ("vectors", vectors.map(|m| m.text()).collect()),
        ("linkage", linkage.map(Directive::text).collect()),
        ("function", function.map(|d| d.text()).collect()),
        ("lists", lists.map(|o| o.text()).collect()),
    ];
    let lines: Vec<String> = all
        .iter()
        .map(|(name, words)| format!("  {name:?}: {words:?}"))
        .collect();
    format!("{{\n{}\n}}\n", lines.join(",\n"))
}

/// Words by their first characters, so that the pattern of a thousand words is short and fast.
#[derive(Default)]
struct Trie {
    ends: bool,
    next: BTreeMap<char, Trie>,
}

impl Trie {
    fn of<'a>(words: impl Iterator<Item = &'a str>) -> Self {
        let mut root = Self::default();
        for word in words {
            let place = word
                .chars()
                .fold(&mut root, |t, c| t.next.entry(c).or_default());
            place.ends = true;
        }
        root
    }

    /// A pattern of the longest word, escaped as in JSON.
    fn regex(&self) -> String {
        let parts: Vec<String> = self
            .next
            .iter()
            .map(|(c, t)| {
                let escape = if c.is_ascii_alphanumeric() || "_:".contains(*c) {
                    ""
                } else {
                    r"\\"
                };
                format!("{escape}{c}{}", t.regex())
            })
            .collect();
        match (self.ends, parts.as_slice()) {
            (_, []) => String::new(),
            (false, [one]) => one.clone(),
            (false, _) => format!("(?:{})", parts.join("|")),
            (true, _) => format!("(?:{})?", parts.join("|")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_word_matches() {
        let words = ["ld", "ldu", "lds", "add"];
        assert_eq!(Trie::of(words.into_iter()).regex(), "(?:add|ld(?:s|u)?)");
    }

    #[test]
    fn unknown_lists_are_errors() {
        let error = fill("(<words>) <", &lists(), |_| String::new()).unwrap_err();
        assert_eq!(error.to_string(), "no list for <words>");
    }
}
