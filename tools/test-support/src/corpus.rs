//! The test files: the corpus of this repository, and a larger one beside it.
#![allow(clippy::panic, reason = "tests fail by panics")]

use std::fs;
use std::path::{Path, PathBuf};

/// A row of an `INDEX.tsv`.
pub struct Entry {
    /// The file.
    pub path: PathBuf,
    /// The path in the corpus.
    pub name: String,
    /// The verdict of ptxas: `ok` or `error`.
    pub verdict: String,
    /// The first message of ptxas.
    pub message: String,
}

impl Entry {
    /// The bytes of the file.
    pub fn read(&self) -> Vec<u8> {
        fs::read(&self.path).unwrap_or_else(|e| panic!("{}: {e}", self.path.display()))
    }
}

fn repository() -> &'static Path {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.ancestors().nth(2).unwrap_or(package)
}

/// The corpus of this repository.
pub fn own() -> PathBuf {
    repository().join("corpus")
}

/// The larger corpus beside the repository.
pub fn shared() -> PathBuf {
    beside("corpus")
}

/// A file or folder in `../shared`, beside the repository. `PTXKIT_SHARED` names another place of this folder.
pub fn beside(path: &str) -> PathBuf {
    std::env::var_os("PTXKIT_SHARED")
        .map_or_else(|| repository().with_file_name("shared"), PathBuf::from)
        .join(path)
}

/// The rows of the index in `folder` whose files exist.
pub fn entries(folder: &Path) -> Vec<Entry> {
    let text = fs::read_to_string(folder.join("INDEX.tsv")).unwrap_or_default();
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().unwrap_or_default().split('\t').collect();
    let column = |name: &str| header.iter().position(|h| *h == name);
    let (Some(path), Some(verdict)) = (column("path"), column("verdict")) else {
        return Vec::new();
    };
    let message = column("message");
    lines
        .map(|line| {
            let cells: Vec<&str> = line.split('\t').collect();
            let cell = |index: usize| cells.get(index).copied().unwrap_or_default().to_string();
            let name = cell(path);
            Entry {
                path: folder.join(&name),
                name,
                verdict: cell(verdict),
                message: message.map(cell).unwrap_or_default(),
            }
        })
        .filter(|e| e.path.is_file())
        .collect()
}

/// The valid files of this repository with at most `max_bytes` bytes, in the order of the index.
pub fn small(max_bytes: u64) -> Vec<Entry> {
    let is_small =
        |entry: &Entry| fs::metadata(&entry.path).is_ok_and(|file| file.len() <= max_bytes);
    let mut entries = entries(&own());
    entries.retain(|entry| entry.verdict == "ok" && is_small(entry));
    entries
}
