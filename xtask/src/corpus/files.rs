//! The files of a corpus: a folder with `INDEX.tsv`, whose columns `path` and `verdict` say what
//! the real assembler thinks of each file.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

/// A file and its verdict.
pub(crate) struct Entry {
    /// The corpus it belongs to.
    pub(crate) root: PathBuf,
    /// Its path inside the corpus.
    pub(crate) path: String,
    pub(crate) bytes: u64,
    /// Whether the assembler accepts it.
    pub(crate) accepted: bool,
    /// The assembler's first message.
    pub(crate) message: String,
}

impl Entry {
    pub(crate) fn read(&self) -> Result<Vec<u8>> {
        let path = self.root.join(&self.path);
        fs::read(&path).with_context(|| format!("reading {}", path.display()))
    }

    /// The folder it lies in, counted from the folder above the corpus.
    pub(crate) fn folder(&self) -> String {
        let path = Path::new(&self.path).parent().unwrap_or(Path::new(""));
        let above = self
            .root
            .parent()
            .and_then(Path::file_name)
            .unwrap_or_default();
        let root = Path::new(above).join(self.root.file_name().unwrap_or_default());
        root.join(path).display().to_string()
    }

    /// Path with the corpus it is of.
    pub(crate) fn name(&self) -> String {
        self.root.join(&self.path).display().to_string()
    }
}

/// The repository's own corpus and, where it exists, that of a folder `shared` beside the checkout.
pub(crate) fn folders(given: &[PathBuf]) -> Vec<PathBuf> {
    if !given.is_empty() {
        return given.to_vec();
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap_or(Path::new("."));
    let shared = root.parent().unwrap_or(root).join("shared/corpus");
    let all = [root.join("corpus"), shared];
    all.into_iter()
        .filter(|d| d.join("INDEX.tsv").is_file())
        .collect()
}

/// The files of some corpora in the order of their indices.
pub(crate) fn entries(folders: &[PathBuf]) -> Result<Vec<Entry>> {
    let mut entries = Vec::new();
    for root in folders {
        let index = root.join("INDEX.tsv");
        let text =
            fs::read_to_string(&index).with_context(|| format!("reading {}", index.display()))?;
        let mut lines = text.lines();
        let header: Vec<&str> = lines.next().unwrap_or_default().split('\t').collect();
        let column = |name: &str| {
            let at = header.iter().position(|&c| c == name);
            at.with_context(|| format!("{} has no column `{name}`", index.display()))
        };
        let (path, verdict, message) = (column("path")?, column("verdict")?, column("message")?);
        for line in lines {
            let cells: Vec<&str> = line.split('\t').collect();
            let cell = |i: usize| cells.get(i).copied().unwrap_or_default();
            let file = root.join(cell(path));
            // A row whose file is gone is reported by whoever checks the index.
            let Ok(data) = fs::metadata(&file) else {
                continue;
            };
            entries.push(Entry {
                root: root.clone(),
                path: cell(path).to_owned(),
                bytes: data.len(),
                accepted: cell(verdict) == "ok",
                message: cell(message).to_owned(),
            });
        }
    }
    Ok(entries)
}

/// A number that spreads names evenly and never changes.
pub(crate) fn hash(text: &str) -> u64 {
    let fnv = |h: u64, b: u8| (h ^ b as u64).wrapping_mul(0x0100_0000_01b3);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, fnv)
}

/// A sample of `count` files: the same ones each time, one of every folder and size in turn.
pub(crate) fn sample<'e>(entries: &[&'e Entry], count: usize, largest: u64) -> Vec<&'e Entry> {
    let mut groups = std::collections::BTreeMap::<(u32, String), Vec<&'e Entry>>::new();
    for entry in entries.iter().copied().filter(|e| e.bytes <= largest) {
        let size = (entry.bytes.max(1)).ilog2() / 2;
        groups
            .entry((size, entry.folder()))
            .or_default()
            .push(entry);
    }
    for group in groups.values_mut() {
        group.sort_by_key(|e| hash(&e.path));
    }
    let deepest = groups.values().map(Vec::len).max().unwrap_or(0);
    let rounds = (0..deepest).flat_map(|i| groups.values().filter_map(move |g| g.get(i).copied()));
    rounds.take(count).collect()
}
