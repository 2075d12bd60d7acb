//! The files of a corpus: a folder with `INDEX.tsv`, whose columns `path`, `verdict` and `message` contain the verdict of ptxas on each file.

use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use anyhow::{Context as _, Result};
use test_support::corpus;

/// A file and its verdict.
pub(crate) struct Entry {
    /// The folder of its corpus.
    pub(crate) root: PathBuf,
    /// Its path in the corpus.
    pub(crate) path: String,
    pub(crate) bytes: u64,
    /// Whether ptxas accepts it.
    pub(crate) accepted: bool,
    /// The first message of ptxas.
    pub(crate) message: String,
    text: OnceLock<Vec<u8>>,
}

impl Entry {
    /// The contents of the file, which are read once.
    pub(crate) fn text(&self) -> Result<&[u8]> {
        if let Some(text) = self.text.get() {
            return Ok(text);
        }
        let path = self.root.join(&self.path);
        let text = fs::read(&path).with_context(|| format!("reading {}", path.display()))?;
        Ok(self.text.get_or_init(|| text))
    }

    /// The folder of the file: in the corpus of the repository, relative to the repository.
    pub(crate) fn folder(&self) -> String {
        let path = Path::new(&self.path).parent().unwrap_or(Path::new(""));
        // Samples must not depend on the folder that contains the repository.
        let root = if self.root == corpus::own() {
            Path::new("corpus")
        } else if self.root == corpus::shared() {
            Path::new("../shared/corpus")
        } else {
            &self.root
        };
        root.join(path).display().to_string()
    }

    /// The path of the file, with the path of its corpus.
    pub(crate) fn name(&self) -> String {
        self.root.join(&self.path).display().to_string()
    }
}

/// The folders in the arguments; without any, the repository's `corpus` and, if it exists, `../shared/corpus`.
pub(crate) fn folders(arguments: &[PathBuf]) -> Vec<PathBuf> {
    if !arguments.is_empty() {
        return arguments.to_vec();
    }
    [corpus::own(), corpus::shared()]
        .into_iter()
        .filter(|folder| folder.join("INDEX.tsv").is_file())
        .collect()
}

/// The files of some corpora, in the order of their indices.
pub(crate) fn entries(folders: &[PathBuf]) -> Result<Vec<Entry>> {
    let mut entries = Vec::new();
    for root in folders {
        let index = root.join("INDEX.tsv");
        let text =
            fs::read_to_string(&index).with_context(|| format!("reading {}", index.display()))?;
        let mut lines = text.lines();
        let header: Vec<&str> = lines.next().unwrap_or_default().split('\t').collect();
        let column = |name: &str| {
            header
                .iter()
                .position(|&c| c == name)
                .with_context(|| format!("{} has no column `{name}`", index.display()))
        };
        let (path, verdict, message) = (column("path")?, column("verdict")?, column("message")?);
        for line in lines {
            let cells: Vec<&str> = line.split('\t').collect();
            let cell = |i: usize| cells.get(i).copied().unwrap_or_default();
            let file = root.join(cell(path));
            // A test of the index reports rows without a file.
            let Ok(data) = fs::metadata(&file) else {
                continue;
            };
            entries.push(Entry {
                root: root.clone(),
                path: cell(path).to_owned(),
                bytes: data.len(),
                accepted: cell(verdict) == "ok",
                message: cell(message).to_owned(),
                text: OnceLock::new(),
            });
        }
    }
    Ok(entries)
}

/// A number that depends only on a path and a seed.
pub(crate) fn hash(path: &str, seed: u64) -> u64 {
    let mut hasher = DefaultHasher::new();
    (seed, path).hash(&mut hasher);
    hasher.finish()
}

/// A sample of `count` files of at most `largest` bytes: one of every folder and size in turn. The seed determines the choice.
pub(crate) fn sample<'e>(
    entries: &[&'e Entry],
    count: usize,
    largest: u64,
    seed: u64,
) -> Vec<&'e Entry> {
    let mut groups = std::collections::BTreeMap::<(u32, String), Vec<&'e Entry>>::new();
    for entry in entries.iter().copied().filter(|e| e.bytes <= largest) {
        let size = entry.bytes.max(1).ilog2() / 2;
        groups
            .entry((size, entry.folder()))
            .or_default()
            .push(entry);
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by_key(|((_, folder), _)| hash(folder, seed));
    for (_, group) in &mut groups {
        group.sort_by_key(|e| hash(&e.path, seed));
    }
    let rounds = groups.iter().map(|(_, g)| g.len()).max().unwrap_or(0);
    (0..rounds)
        .flat_map(|round| {
            groups
                .iter()
                .filter_map(move |(_, group)| group.get(round).copied())
        })
        .take(count)
        .collect()
}
