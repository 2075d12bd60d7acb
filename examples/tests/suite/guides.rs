//! Every page with Rust code is listed in `src/guides.rs`, whose pages run as tests of the documentation.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::fs;
use std::path::{Path, PathBuf};

/// Fragments that show how names and statements are written.
const FRAGMENTS: &str = "docs/style.md";

fn pages(folder: &Path, pages: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            self::pages(&path, pages);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            pages.push(path);
        }
    }
}

#[test]
fn pages_with_rust_code_are_listed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let listed = fs::read_to_string(root.join("examples/src/guides.rs")).unwrap();
    let mut all = vec![root.join("README.md")];
    pages(&root.join("docs"), &mut all);
    let mut count = 0;
    for path in all {
        let page = fs::read_to_string(&path).unwrap();
        let blocks = page.matches("\n```rust\n").count();
        let name = path.strip_prefix(&root).unwrap().to_str().unwrap();
        if blocks > 0 && name != FRAGMENTS {
            assert!(listed.contains(&format!("\"../../{name}\"")), "{name}");
            count += blocks;
        }
    }
    assert!(count >= 45, "{count}");
}
