//! `cargo xtask words [PATH…]`: finds banned words and phrases in all text of the repository.
//!
//! The list is `xtask/words.txt`; its first lines describe its format.

use std::collections::HashMap;
use std::fs;
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

/// Folders and files whose text is not ours, is generated, or is data.
const SKIPPED: &[&str] = &[
    ".ci/browser/node_modules",
    "Cargo.lock",
    "api",
    "conformance",
    "corpus/broken",
    "corpus/compiled",
    "corpus/src",
    "corpus/INDEX.tsv",
    "docs/messages.md",
    "editors/tree-sitter-ptx/src",
    "editors/vscode/dist",
    "editors/vscode/node_modules",
    "editors/vscode/package-lock.json",
    "fuzz/Cargo.lock",
    "fuzz/artifacts",
    "fuzz/corpus",
    "playground/dist",
    "playground/node_modules",
    "playground/package-lock.json",
    "playground/pkg",
    "ptx-build/src/generated",
    "ptx-report/src/generated",
    "ptx-isa/src/generated",
    "target",
    "xtask/src/wording.rs",
    "xtask/words.txt",
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
    found: String,
    instead: String,
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (path, line) = (self.path.display(), self.line);
        write!(f, "{path}:{line}: `{}`: write {}", self.found, self.instead)
    }
}

/// The parsed list.
struct List {
    entries: Vec<Entry>,
    /// The entries whose phrase starts with a word; those starting with a prefix are under its first letter.
    starts: HashMap<String, Vec<usize>>,
    /// Path prefixes and phrases that may be used there.
    allowed: Vec<(String, String)>,
}

impl List {
    fn read(root: &Path) -> Result<Self> {
        let path = root.join("xtask/words.txt");
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
            if let Some(rest) = line.strip_prefix("allow ") {
                let (path, phrase) = rest
                    .split_once(' ')
                    .with_context(|| format!("line {}: allow PATH PHRASE", number + 1))?;
                list.allowed
                    .push((path.to_owned(), phrase.trim().to_lowercase()));
            } else {
                list.entry(line)
                    .with_context(|| format!("xtask/words.txt:{}", number + 1))?;
            }
        }
        Ok(list)
    }

    fn entry(&mut self, line: &str) -> Result<()> {
        let (phrase, rest) = line
            .split_once("=>")
            .context("expected `PHRASE => INSTEAD`")?;
        let (instead, exceptions) = rest.split_once("; except ").unwrap_or((rest, ""));
        let prose = phrase.trim().strip_prefix("prose:");
        let words = prose.unwrap_or(phrase).split_whitespace();
        let phrase: Vec<Vec<String>> = words
            .map(|w| w.split('|').map(str::to_owned).collect())
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

    /// The banned phrases of a file, one finding per place.
    fn find(&self, path: &Path, document: &Document) -> Vec<Finding> {
        let mut found = Vec::new();
        for (at, word) in document.words.iter().enumerate() {
            let initial = word.text.get(..1).unwrap_or_default();
            let keys = [word.text.as_str(), initial];
            let keys = if word.text == initial {
                &keys[..1]
            } else {
                &keys[..]
            };
            let candidates = keys.iter().filter_map(|k| self.starts.get(*k)).flatten();
            let hit = candidates
                .filter_map(|&i| self.entries.get(i))
                .find_map(|entry| {
                    let end = entry.matches(document.words.get(at..)?)?;
                    let (start, end) = (word.start, document.words.get(at + end - 1)?.end);
                    (!self.is_allowed(path, entry, document, start, end))
                        .then_some((entry, start, end))
                });
            if let Some((entry, start, end)) = hit {
                let text = document.text.get(start..end).unwrap_or_default();
                found.push(Finding {
                    path: path.to_owned(),
                    line: document.line(start),
                    found: text.split_whitespace().collect::<Vec<_>>().join(" "),
                    instead: entry.instead.clone(),
                });
            }
        }
        found
    }

    fn is_allowed(
        &self,
        path: &Path,
        entry: &Entry,
        document: &Document,
        start: usize,
        end: usize,
    ) -> bool {
        let hit = document
            .text
            .get(start..end)
            .unwrap_or_default()
            .to_lowercase();
        let allowed =
            |(prefix, phrase): &(String, String)| path.starts_with(prefix) && *phrase == hit;
        entry
            .exceptions
            .iter()
            .any(|e| document.covers(e, start, end))
            || self.allowed.iter().any(allowed)
    }
}

impl Entry {
    /// How many words the phrase takes at the beginning of `words`, if it is there.
    fn matches(&self, words: &[Word]) -> Option<usize> {
        let count = self.phrase.len();
        let words = words.get(..count)?;
        let fits = |(i, (wanted, word)): (usize, (&Vec<String>, &Word))| {
            (i == 0 || word.joined)
                && !(self.prose_only && word.code)
                && wanted.iter().any(|w| match w.strip_suffix('*') {
                    Some(prefix) => word.text.starts_with(prefix),
                    None => word.text == *w,
                })
        };
        self.phrase
            .iter()
            .zip(words)
            .enumerate()
            .all(fits)
            .then_some(count)
    }
}

/// The files below a path, in order.
fn files(root: &Path, path: &Path, out: &mut Vec<PathBuf>) -> Result<()> {
    let full = root.join(path);
    let licence = path.file_name();
    let licence = licence.is_some_and(|n| n == "LICENSE-MIT" || n == "LICENSE-APACHE");
    if licence || SKIPPED.iter().any(|s| path.starts_with(s)) {
        return Ok(());
    }
    if !full.is_dir() {
        out.push(path.to_owned());
        return Ok(());
    }
    let entries = fs::read_dir(&full).with_context(|| format!("reading {}", full.display()))?;
    let mut names: Vec<_> = entries.map(|e| Ok(e?.file_name())).collect::<Result<_>>()?;
    names.sort();
    for name in names {
        let text = name.to_string_lossy();
        let hidden = text.starts_with('.') && !matches!(&*text, ".ci" | ".cargo");
        if !hidden && text != "target" {
            files(root, &path.join(name), out)?;
        }
    }
    Ok(())
}

/// All findings below some paths of the repository; without any, below its root.
pub(crate) fn check(root: &Path, paths: &[PathBuf]) -> Result<Vec<Finding>> {
    let list = List::read(root)?;
    let mut all = Vec::new();
    for path in paths {
        let full = fs::canonicalize(path).with_context(|| format!("reading {}", path.display()))?;
        let inside = full.strip_prefix(fs::canonicalize(root)?);
        files(root, inside.context("outside of the repository")?, &mut all)?;
    }
    if paths.is_empty() {
        files(root, Path::new(""), &mut all)?;
    }
    let mut found = Vec::new();
    for path in all {
        let name = path.display().to_string();
        found.extend(list.find(&path, &Document::name(&name)));
        // Files that are not text, such as archives, have nothing to check.
        if let Ok(text) = fs::read_to_string(root.join(&path)) {
            found.extend(list.find(&path, &Document::new(&path, text)));
        }
    }
    Ok(found)
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let found = check(&root, &args.paths)?;
    found.iter().for_each(|f| println!("{f}"));
    if !found.is_empty() {
        bail!(
            "{} banned words or phrases (see xtask/words.txt)",
            found.len()
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{Document, List, check};

    const LIST: &str = "mend|mends => fix\nis none => is not a X; except is_none\nprose:behind => after\nspoil* => poison\nallow corpus mends\n";

    fn found(path: &str, text: &str) -> Vec<(usize, String)> {
        let list = List::parse(LIST).unwrap();
        let path = Path::new(path);
        let findings = list.find(path, &Document::new(path, text.to_owned()));
        findings.into_iter().map(|f| (f.line, f.found)).collect()
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
            found("a.rs", text),
            expected.map(|(l, t)| (l, t.to_owned()))
        );
    }

    #[test]
    fn prose_entries_ignore_rust_code() {
        let text = "let behind = 1; // behind\nlet s = \"behind\"; let c = '\"'; behind()\n";
        assert_eq!(
            found("a.rs", text),
            [(1, "behind".to_owned()), (2, "behind".to_owned())]
        );
        assert_eq!(found("a.md", "behind"), [(1, "behind".to_owned())]);
    }

    #[test]
    fn allowed_phrases_depend_on_the_path() {
        assert_eq!(found("corpus/a.ptx", "mends"), []);
        assert_eq!(found("other/a.ptx", "mends").len(), 1);
    }

    #[test]
    fn repository_uses_no_banned_words() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let found = check(&root, &[]).unwrap();
        let lines: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert!(
            lines.is_empty(),
            "{}\n{} findings",
            lines.join("\n"),
            lines.len()
        );
    }
}
