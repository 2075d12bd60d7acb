//! `cargo xtask api [--check]`: the public items of the libraries, as lists in `tools/api/`.
//!
//! A change of a list is a change of the API, visible in the diff of the commit that makes it. Removed or changed lines break users and
//! require a new minor version before 1.0, a new major version afterwards.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use public_api::Builder;
use serde_json::Value;

/// Arguments of `cargo xtask api`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Compare with the lists that are there instead of writing them
    #[arg(long)]
    check: bool,
    /// The cargo profile, in which dependencies may have been built before
    #[arg(long, default_value = "dev")]
    profile: String,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let crates = crates(&root)?;
    let folder = describe(&root, &crates, &args.profile)?;
    let (mut removed, mut added) = (0, 0);
    for name in &crates {
        let list = list(&folder, name)?;
        let path = root.join("tools/api").join(format!("{name}.txt"));
        println!("{:>6} {name}", list.lines().count());
        if !args.check {
            fs::create_dir_all(root.join("tools/api"))?;
            fs::write(&path, list)?;
            continue;
        }
        let recorded = fs::read_to_string(&path).unwrap_or_default();
        let changes = compare(name, &recorded, &list);
        removed += changes.removed;
        added += changes.added;
    }
    if removed + added > 0 {
        bail!(
            "{removed} lines were removed, which breaks users, and {added} are new: `cargo xtask api` rewrites the lists"
        );
    }
    Ok(())
}

/// The folders of the published libraries; the facade `ptxkit` only re-exports them.
fn crates(root: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(root)? {
        let entry = entry?;
        let manifest = fs::read_to_string(entry.path().join("Cargo.toml")).unwrap_or_default();
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_library = entry.path().join("src/lib.rs").is_file();
        // The interface of a C library is its header.
        let is_excluded = manifest.contains("publish = false") || manifest.contains("\"cdylib\"");
        if name.starts_with("ptx-") && is_library && !is_excluded {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

/// The public items of a crate, see [`group`].
fn list(folder: &Path, name: &str) -> Result<String> {
    let json = folder.join(format!("{}.json", name.replace('-', "_")));
    let hidden = hidden_reexports(&serde_json::from_str(&fs::read_to_string(&json)?)?);
    if !hidden.is_empty() {
        bail!(
            "{name} re-exports items of hidden modules, which the list would miss: {}; make the modules private",
            hidden.join(", ")
        );
    }
    let api = Builder::from_rustdoc_json(&json)
        .omit_blanket_impls(true)
        .omit_auto_trait_impls(true)
        .omit_auto_derived_impls(true)
        .build()
        .with_context(|| format!("the rustdoc JSON of {name} is in an unknown format"))?;
    Ok(group(api.items().map(|item| item.to_string())))
}

/// The items that a crate re-exports from its own hidden modules. rustdoc describes no item of a hidden module, so that the list would
/// name them without their fields and functions.
fn hidden_reexports(description: &Value) -> Vec<String> {
    let external_crates: BTreeSet<&str> = description["external_crates"]
        .as_object()
        .into_iter()
        .flat_map(|crates| crates.values())
        .filter_map(|external| external["name"].as_str())
        .collect();
    let index = description["index"].as_object();
    index
        .into_iter()
        .flat_map(|items| items.values())
        .filter_map(|item| item["inner"].get("use"))
        .filter(|reexport| {
            let source = reexport["source"].as_str().unwrap_or_default();
            let first_segment = source.split("::").next().unwrap_or_default();
            let id = reexport["id"].to_string();
            !external_crates.contains(first_segment)
                && index.is_some_and(|items| !items.contains_key(&id))
        })
        .filter_map(|reexport| reexport["name"].as_str())
        .map(str::to_owned)
        .collect()
}

/// Lines of items, each once. Items that differ only in the last part of their path share a line per first letter: `pub ptx_isa::Opcode::{Abs, Add}`.
fn group(items: impl Iterator<Item = String>) -> String {
    struct Group {
        prefix: String,
        names: Vec<String>,
        suffix: String,
    }
    let mut groups: Vec<Group> = Vec::new();
    let mut group_indices: HashMap<(String, String, Option<char>), usize> = HashMap::new();
    for item in items {
        // The path ends before the parameters of a function or the type of a field.
        let signature = item.split('(').next().unwrap_or_default();
        let path = signature.split(": ").next().unwrap_or_default();
        let name_start = path.rfind("::").map_or(0, |separator| separator + 2);
        let (path, suffix) = item.split_at(path.len());
        let (prefix, name) = path.split_at(name_start);
        let key = (prefix.to_owned(), suffix.to_owned(), name.chars().next());
        let index = *group_indices.entry(key).or_insert_with(|| {
            groups.push(Group {
                prefix: prefix.to_owned(),
                names: Vec::new(),
                suffix: suffix.to_owned(),
            });
            groups.len() - 1
        });
        // The functions of an implementation are listed with the type and with the trait.
        if !groups[index].names.iter().any(|listed| listed == name) {
            groups[index].names.push(name.to_owned());
        }
    }
    let mut lines = String::new();
    for Group {
        prefix,
        names,
        suffix,
    } in groups
    {
        lines += &match &names[..] {
            [name] => format!("{prefix}{name}{suffix}\n"),
            names => format!("{prefix}{{{}}}{suffix}\n", names.join(", ")),
        };
    }
    lines
}

/// Runs rustdoc with all lints of the documentation and returns the folder of its JSON descriptions of the crates. The format is unstable, hence
/// `RUSTC_BOOTSTRAP`.
fn describe(root: &Path, crates: &[String], profile: &str) -> Result<PathBuf> {
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(["doc", "--quiet", "--locked", "--lib", "--no-deps"]);
    command.args(["--profile", profile]);
    for name in crates {
        command.args(["-p", &name.replacen("ptx-", "ptxkit-", 1)]);
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

/// The numbers of changed lines of a list.
struct Changes {
    removed: usize,
    added: usize,
}

/// Prints and counts the removed and the added lines.
fn compare(name: &str, recorded: &str, current: &str) -> Changes {
    let recorded: BTreeSet<&str> = recorded.lines().collect();
    let current: BTreeSet<&str> = current.lines().collect();
    for line in recorded.difference(&current) {
        println!("{name}: removed  {line}");
    }
    for line in current.difference(&recorded) {
        println!("{name}: added    {line}");
    }
    Changes {
        removed: recorded.difference(&current).count(),
        added: current.difference(&recorded).count(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{group, hidden_reexports};

    #[test]
    fn reexports_of_hidden_items_are_found() {
        let reexport = |source: &str, id: u32| json!({ "inner": { "use": { "source": source, "name": source, "id": id } } });
        let description = json!({
            "external_crates": { "1": { "name": "core" } },
            "index": {
                "5": { "inner": { "struct": {} } },
                "6": reexport("patch::Patch", 9),
                "7": reexport("span::Span", 5),
                "8": reexport("core::ops::Range", 10),
            },
        });
        assert_eq!(hidden_reexports(&description), ["patch::Patch"]);
    }

    #[test]
    fn items_with_the_same_form_share_a_line() {
        let items = [
            "pub a::E::Add",
            "pub a::E::And",
            "pub a::E::Bar",
            "pub fn a::S<'_, N>::rn(self) -> Self",
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
