//! All public names can be imported at once from the crates that are used together.
#![allow(missing_docs)]
#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::{BTreeMap, BTreeSet};

/// The public names at the root of a crate, as `tools/api/*.txt` lists them.
fn root_names(package: &str) -> BTreeSet<String> {
    let path = format!("{}/../tools/api/{package}.txt", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    let prefix = format!("{}::", package.replace('-', "_"));
    let kinds = ["struct", "enum", "trait", "type", "fn", "use", "macro"];
    let mut names = BTreeSet::new();
    for line in text.lines() {
        let line = line.strip_prefix("#[non_exhaustive] ").unwrap_or(line);
        let line = line.replace("const fn", "fn");
        let Some((kind, rest)) = line.strip_prefix("pub ").and_then(|l| l.split_once(' ')) else {
            continue;
        };
        if let Some(path) = rest.strip_prefix(&prefix).filter(|_| kinds.contains(&kind)) {
            let end = path.find(|c: char| !c.is_alphanumeric() && c != '_');
            let (name, after) = path.split_at(end.unwrap_or(path.len()));
            if !name.is_empty() && !after.starts_with("::") {
                names.insert(name.to_string());
            }
        }
    }
    names
}

#[test]
fn builder_shares_no_name_with_another_crate() {
    let own = root_names("ptx-build");
    assert!(own.contains("ModuleBuilder"), "{own:?}");
    let mut shared: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for package in [
        "ptx-isa",
        "ptx-ir",
        "ptx-parse",
        "ptx-print",
        "ptx-verify",
        "ptx-analysis",
        "ptx-transform",
    ] {
        for name in root_names(package).intersection(&own) {
            shared.entry(name.clone()).or_default().push(package);
        }
    }
    assert!(shared.is_empty(), "{shared:?}");
}
