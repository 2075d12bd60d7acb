//! `cargo xtask api [--check]`: the public items of the libraries, as lists in `api/`.
//!
//! A change of a list is a change of the API, visible in the diff of the commit that makes it. Removed or changed lines break users and
//! require a new minor version before 1.0, a new major version afterwards.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use public_api::Builder;

/// Arguments of `cargo xtask api`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Compare with the lists that are there instead of writing them
    #[arg(long)]
    check: bool,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let crates = crates(&root)?;
    let folder = describe(&root, &crates)?;
    let (mut removed, mut added) = (0, 0);
    for name in &crates {
        let list = list(&folder, name)?;
        let path = root.join("api").join(format!("{name}.txt"));
        println!("{:>6} {name}", list.lines().count());
        if !args.check {
            fs::create_dir_all(root.join("api"))?;
            fs::write(&path, list)?;
            continue;
        }
        let known = fs::read_to_string(&path).unwrap_or_default();
        let (less, more) = compare(name, &known, &list);
        removed += less;
        added += more;
    }
    if removed + added > 0 {
        bail!(
            "{removed} lines were removed, which breaks users, and {added} are new: `cargo xtask api` rewrites the lists"
        );
    }
    Ok(())
}

/// The published libraries; the facade `ptxkit` only re-exports them.
fn crates(root: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(root)? {
        let entry = entry?;
        let manifest = fs::read_to_string(entry.path().join("Cargo.toml")).unwrap_or_default();
        let name = entry.file_name().to_string_lossy().into_owned();
        let library = entry.path().join("src/lib.rs").is_file();
        // The interface of a C library is its header.
        let hidden = ["publish = false", "\"cdylib\""];
        if name.starts_with("ptx-") && library && !hidden.iter().any(|h| manifest.contains(h)) {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

/// The public items of a crate, see [`group`].
fn list(folder: &Path, name: &str) -> Result<String> {
    let json = folder.join(format!("{}.json", name.replace('-', "_")));
    let api = Builder::from_rustdoc_json(&json)
        .omit_blanket_impls(true)
        .omit_auto_trait_impls(true)
        .omit_auto_derived_impls(true)
        .build()
        .with_context(|| format!("the rustdoc JSON of {name} is in an unknown format"))?;
    Ok(group(api.items().map(|item| item.to_string())))
}

/// A line per item; items that differ only in the last part of their path share a line per first letter: `pub ptx_isa::Opcode::{Abs, Add}`.
fn group(items: impl Iterator<Item = String>) -> String {
    let mut groups: Vec<(String, String, Vec<String>)> = Vec::new();
    let mut index: HashMap<(String, String, Option<char>), usize> = HashMap::new();
    for item in items {
        let path = item.find('(').unwrap_or(item.len());
        let path = item.get(..path).unwrap_or_default();
        let path = path.split(": ").next().unwrap_or_default();
        let name = path.rfind("::").map_or(0, |at| at + 2);
        let (before, rest) = item.split_at(name);
        let (name, after) = rest.split_at(path.len() - name);
        let key = (before.to_owned(), after.to_owned(), name.chars().next());
        let at = *index.entry(key).or_insert_with(|| {
            groups.push((before.to_owned(), after.to_owned(), Vec::new()));
            groups.len() - 1
        });
        groups[at].2.push(name.to_owned());
    }
    let lines = groups
        .into_iter()
        .map(|(before, after, names)| match &names[..] {
            [name] => format!("{before}{name}{after}\n"),
            names => format!("{before}{{{}}}{after}\n", names.join(", ")),
        });
    lines.collect()
}

/// Has rustdoc describe the crates, with all lints of the documentation; returns the folder of the descriptions. The format is unstable, hence
/// `RUSTC_BOOTSTRAP`.
fn describe(root: &Path, crates: &[String]) -> Result<PathBuf> {
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(["doc", "--quiet", "--locked", "--lib", "--no-deps"]);
    for name in crates {
        command.args(["-p", name]);
    }
    let status = command
        .env("RUSTC_BOOTSTRAP", "1")
        .env(
            "RUSTDOCFLAGS",
            "-Dwarnings -Zunstable-options --output-format json",
        )
        .current_dir(root)
        .status()?;
    if !status.success() {
        bail!("rustdoc failed");
    }
    Ok(target.join("doc"))
}

/// Prints the removed and the added lines, and counts them.
fn compare(name: &str, known: &str, now: &str) -> (usize, usize) {
    let lines = |text| std::collections::BTreeSet::from_iter(str::lines(text));
    let (known, now) = (lines(known), lines(now));
    for line in known.difference(&now) {
        println!("{name}: removed  {line}");
    }
    for line in now.difference(&known) {
        println!("{name}: added    {line}");
    }
    (
        known.difference(&now).count(),
        now.difference(&known).count(),
    )
}

#[cfg(test)]
mod tests {
    use super::group;

    #[test]
    fn items_with_the_same_form_share_a_line() {
        let items = [
            "pub a::E::Add",
            "pub a::E::And",
            "pub a::E::Bar",
            "pub fn a::S<'_, N>::rn(self) -> Self",
            "pub fn a::S<'_, N>::rz(self) -> Self",
            "pub fn a::S<'_, N>::of(self, u8) -> Self",
            "pub a::S::len: usize",
        ];
        let expected = "pub a::E::{Add, And}\npub a::E::Bar\npub fn a::S<'_, N>::{rn, rz}(self) -> Self\n\
            pub fn a::S<'_, N>::of(self, u8) -> Self\npub a::S::len: usize\n";
        assert_eq!(group(items.iter().map(ToString::to_string)), expected);
    }
}
