//! `cargo xtask words [PATH…]`: finds banned words and phrases in all text of the repository.
//!
//! The list is `tools/xtask/words.txt`; its first lines describe its format.

use std::collections::HashMap;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

mod text;

use text::{Document, Word};

/// Arguments of `cargo xtask words`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Files or folders to check; without any, the whole repository
    paths: Vec<PathBuf>,
}

/// Folders and files whose text is third-party, generated, or data.
const SKIPPED: &[&str] = &[
    ".ci/browser/node_modules",
    "Cargo.lock",
    "tools/api",
    "tools/conformance",
    "corpus/broken",
    "corpus/compiled",
    "corpus/src",
    "corpus/INDEX.tsv",
    "docs/messages.md",
    "bindings/editors/tree-sitter-ptx/src",
    "bindings/editors/vscode/dist",
    "bindings/editors/vscode/node_modules",
    "bindings/editors/vscode/package-lock.json",
    "tools/fuzz/Cargo.lock",
    "tools/fuzz/artifacts",
    "tools/fuzz/corpus",
    "bindings/playground/dist",
    "bindings/playground/node_modules",
    "bindings/playground/package-lock.json",
    "bindings/playground/pkg",
    "ptx-build/src/generated",
    "ptx-report/src/generated",
    "ptx-isa/src/generated",
    "target",
    "tools/xtask/src/wording.rs",
    "tools/xtask/words.txt",
];

/// One line of the list.
struct Entry {
    /// The words of the phrase, each with its alternatives.
    phrase: Vec<Vec<String>>,
    instead: String,
    /// Whether identifiers in Rust code may use the phrase.
    prose_only: bool,
    /// Longer texts in which the phrase is legitimate, in lower case.
    exceptions: Vec<String>,
}

/// A banned phrase in a file.
pub(crate) struct Finding {
    path: PathBuf,
    line: usize,
    phrase: String,
    instead: String,
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (path, line) = (self.path.display(), self.line);
        write!(
            f,
            "{path}:{line}: `{}`: write {}",
            self.phrase, self.instead
        )
    }
}

/// The parsed list.
struct List {
    entries: Vec<Entry>,
    /// The entries by the first word of their phrase; the key of a prefix is its first letter.
    starts: HashMap<String, Vec<usize>>,
    /// Path prefixes and phrases that may be used there.
    allowed: Vec<(String, String)>,
}

impl List {
    fn read(root: &Path) -> Result<Self> {
        let path = root.join("tools/xtask/words.txt");
        let text =
            fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
        Self::parse(&text)
    }

    fn parse(text: &str) -> Result<Self> {
        let mut list = Self {
            entries: Vec::new(),
            starts: HashMap::new(),
            allowed: Vec::new(),
        };
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if let Some(permission) = line.strip_prefix("allow ") {
                let (path, phrase) = permission
                    .split_once(' ')
                    .with_context(|| format!("line {}: allow PATH PHRASE", number + 1))?;
                list.allowed
                    .push((path.to_owned(), phrase.trim().to_lowercase()));
            } else {
                list.add_entry(line)
                    .with_context(|| format!("tools/xtask/words.txt:{}", number + 1))?;
            }
        }
        Ok(list)
    }

    fn add_entry(&mut self, line: &str) -> Result<()> {
        let (phrase, advice) = line
            .split_once("=>")
            .context("expected `PHRASE => INSTEAD`")?;
        let (instead, exceptions) = advice.split_once("; except ").unwrap_or((advice, ""));
        let prose = phrase.trim().strip_prefix("prose:");
        let phrase: Vec<Vec<String>> = prose
            .unwrap_or(phrase)
            .split_whitespace()
            .map(|word| word.split('|').map(str::to_owned).collect())
            .collect();
        let first = phrase.first().context("an empty phrase")?;
        let number = self.entries.len();
        for word in first {
            let key = word
                .strip_suffix('*')
                .map_or(word.as_str(), |p| p.get(..1).unwrap_or(p));
            self.starts.entry(key.to_owned()).or_default().push(number);
        }
        self.entries.push(Entry {
            instead: instead.trim().to_owned(),
            prose_only: prose.is_some(),
            exceptions: exceptions
                .split(',')
                .map(|e| e.trim().to_lowercase())
                .filter(|e| !e.is_empty())
                .collect(),
            phrase,
        });
        Ok(())
    }

    /// The banned phrases of a file, at most one finding per word.
    fn find(&self, path: &Path, document: &Document) -> Vec<Finding> {
        let mut findings = Vec::new();
        for (index, word) in document.words.iter().enumerate() {
            let words = document.words.get(index..).unwrap_or_default();
            let violation = self.candidates(word).find_map(|entry| {
                let phrase = entry.find_at_start(words)?;
                let is_allowed = self.is_allowed(path, entry, document, &phrase);
                (!is_allowed).then_some((entry, phrase))
            });
            if let Some((entry, phrase)) = violation {
                let line = document.line(phrase.start);
                let text = document.text.get(phrase).unwrap_or_default();
                findings.push(Finding {
                    path: path.to_owned(),
                    line,
                    phrase: text.split_whitespace().collect::<Vec<_>>().join(" "),
                    instead: entry.instead.clone(),
                });
            }
        }
        findings
    }

    /// The entries whose phrase may start with a word.
    fn candidates(&self, word: &Word) -> impl Iterator<Item = &Entry> {
        let initial = word.text.get(..1).unwrap_or_default();
        let whole_words = self.starts.get(&word.text);
        let prefixes = self.starts.get(initial).filter(|_| word.text != initial);
        whole_words
            .into_iter()
            .chain(prefixes)
            .flatten()
            .filter_map(|&i| self.entries.get(i))
    }

    fn is_allowed(
        &self,
        path: &Path,
        entry: &Entry,
        document: &Document,
        range: &Range<usize>,
    ) -> bool {
        let text = document
            .text
            .get(range.clone())
            .unwrap_or_default()
            .to_lowercase();
        entry
            .exceptions
            .iter()
            .any(|exception| document.is_in_phrase(exception, range))
            || self
                .allowed
                .iter()
                .any(|(prefix, phrase)| path.starts_with(prefix) && *phrase == text)
    }
}

impl Entry {
    /// The range of the phrase in the document, if `words` begin with it.
    fn find_at_start(&self, words: &[Word]) -> Option<Range<usize>> {
        let words = words.get(..self.phrase.len())?;
        for (index, (alternatives, word)) in self.phrase.iter().zip(words).enumerate() {
            let is_alternative = alternatives.iter().any(|a| match a.strip_suffix('*') {
                Some(prefix) => word.text.starts_with(prefix),
                None => word.text == *a,
            });
            let is_separate = index > 0 && !word.is_joined;
            if !is_alternative || is_separate || self.prose_only && word.is_code {
                return None;
            }
        }
        Some(words.first()?.start..words.last()?.end)
    }
}

/// Adds the files below a path in alphabetical order.
fn add_files(root: &Path, path: &Path, paths: &mut Vec<PathBuf>) -> Result<()> {
    let full = root.join(path);
    let is_license = path
        .file_name()
        .is_some_and(|n| n == "LICENSE-MIT" || n == "LICENSE-APACHE");
    if is_license || SKIPPED.iter().any(|s| path.starts_with(s)) {
        return Ok(());
    }
    if !full.is_dir() {
        paths.push(path.to_owned());
        return Ok(());
    }
    let mut names = Vec::new();
    for entry in fs::read_dir(&full).with_context(|| format!("reading {}", full.display()))? {
        names.push(entry?.file_name());
    }
    names.sort();
    for name in names {
        let text = name.to_string_lossy();
        let is_hidden = text.starts_with('.') && !matches!(&*text, ".ci" | ".cargo");
        if !is_hidden && text != "target" {
            add_files(root, &path.join(name), paths)?;
        }
    }
    Ok(())
}

/// All findings below some paths of the repository; without any, below its root.
pub(crate) fn check(root: &Path, paths: &[PathBuf]) -> Result<Vec<Finding>> {
    let list = List::read(root)?;
    let mut files = Vec::new();
    for path in paths {
        let full = fs::canonicalize(path).with_context(|| format!("reading {}", path.display()))?;
        let relative = full
            .strip_prefix(fs::canonicalize(root)?)
            .context("outside of the repository")?;
        add_files(root, relative, &mut files)?;
    }
    if paths.is_empty() {
        add_files(root, Path::new(""), &mut files)?;
    }
    let mut findings = Vec::new();
    for path in files {
        let name = path.display().to_string();
        findings.extend(list.find(&path, &Document::from_path(&name)));
        // Files that are not text, such as archives, have nothing to check.
        if let Ok(text) = fs::read_to_string(root.join(&path)) {
            findings.extend(list.find(&path, &Document::new(&path, text)));
        }
    }
    Ok(findings)
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let findings = check(&root, &args.paths)?;
    for finding in &findings {
        println!("{finding}");
    }
    if !findings.is_empty() {
        bail!(
            "{} banned words or phrases (see tools/xtask/words.txt)",
            findings.len()
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{Document, List, check};

    const LIST: &str = "mend|mends => fix\nis none => is not a X; except is_none\nprose:behind => after\nspoil* => poison\nallow corpus mends\n";

    fn phrases(path: &str, text: &str) -> Vec<(usize, String)> {
        let list = List::parse(LIST).unwrap();
        let path = Path::new(path);
        let findings = list.find(path, &Document::new(path, text.to_owned()));
        findings.into_iter().map(|f| (f.line, f.phrase)).collect()
    }

    #[test]
    fn finds_phrases_across_lines_and_in_identifiers() {
        let text = "//! It mends what is\n//! none. Recommend.\nfn it_is_none() { x.is_none(); IsSpoiled }\n";
        let expected = [
            (1, "mends"),
            (1, "is //! none"),
            (3, "is_none"),
            (3, "Spoiled"),
        ];
        assert_eq!(
            phrases("a.rs", text),
            expected.map(|(l, t)| (l, t.to_owned()))
        );
    }

    #[test]
    fn prose_entries_ignore_rust_code() {
        let text = "let behind = 1; // behind\nlet s = \"behind\"; let c = '\"'; behind()\n";
        assert_eq!(
            phrases("a.rs", text),
            [(1, "behind".to_owned()), (2, "behind".to_owned())]
        );
        assert_eq!(phrases("a.md", "behind"), [(1, "behind".to_owned())]);
    }

    #[test]
    fn allowed_phrases_depend_on_the_path() {
        assert_eq!(phrases("corpus/a.ptx", "mends"), []);
        assert_eq!(phrases("other/a.ptx", "mends").len(), 1);
    }

    #[test]
    fn repository_uses_no_banned_words() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let findings = check(&root, &[]).unwrap();
        let lines: Vec<String> = findings.iter().map(ToString::to_string).collect();
        assert!(
            lines.is_empty(),
            "{}\n{} findings",
            lines.join("\n"),
            lines.len()
        );
    }
}
