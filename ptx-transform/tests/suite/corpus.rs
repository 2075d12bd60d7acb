//! The files of the repository's corpus that NVIDIA's assembler accepts.

use std::fs;
use std::path::Path;

/// Name and text of every file of at most this many bytes.
pub(crate) fn accepted(most: usize) -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus");
    let index = fs::read_to_string(folder.join("INDEX.tsv")).unwrap();
    let mut lines = index.lines();
    let header: Vec<&str> = lines.next().unwrap().split('\t').collect();
    let column = |name: &str| header.iter().position(|c| *c == name).unwrap();
    let (path, verdict) = (column("path"), column("verdict"));
    let mut found = Vec::new();
    for line in lines {
        let cells: Vec<&str> = line.split('\t').collect();
        if cells[verdict] == "ok" {
            let text = fs::read(folder.join(cells[path])).unwrap();
            if text.len() <= most {
                found.push((cells[path].to_owned(), text));
            }
        }
    }
    assert!(found.len() > 50, "{} files", found.len());
    found
}
