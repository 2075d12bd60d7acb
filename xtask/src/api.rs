//! `cargo xtask api [--check]`: the public items of the libraries, as lists in `api/`.
//!
//! A change of a list is a change of the interface: it is visible in the diff of the commit that makes it. Lines that go, or
//! become others, break users and want a new minor version before 1.0, a new major one after it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use public_api::Builder;

/// The crates that others depend on.
const CRATES: &[&str] = &[
    "ptx-isa",
    "ptx-ir",
    "ptx-parse",
    "ptx-print",
    "ptx-verify",
    "ptx-analysis",
    "ptx-build",
    "ptx-transform",
];

/// Arguments of `cargo xtask api`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Compare with the lists that are there instead of writing them
    #[arg(long)]
    check: bool,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let (mut gone, mut new) = (0, 0);
    for name in CRATES {
        let list = list(&root, name)?;
        let path = root.join("api").join(format!("{name}.txt"));
        println!("{:>6} {name}", list.lines().count());
        if !args.check {
            fs::create_dir_all(root.join("api"))?;
            fs::write(&path, list)?;
            continue;
        }
        let known = fs::read_to_string(&path).unwrap_or_default();
        let (less, more) = compare(name, &known, &list);
        gone += less;
        new += more;
    }
    if gone + new > 0 {
        bail!(
            "{gone} lines were removed, which breaks users, and {new} are new: `cargo xtask api` rewrites the lists"
        );
    }
    Ok(())
}

/// A line for every public item of a crate.
fn list(root: &Path, name: &str) -> Result<String> {
    let json = describe(root, name)?;
    let api = Builder::from_rustdoc_json(&json)
        .omit_blanket_impls(true)
        .omit_auto_trait_impls(true)
        .omit_auto_derived_impls(true)
        .build()
        .with_context(|| format!("the rustdoc JSON of {name} is in an unknown format"))?;
    Ok(api.items().map(|item| format!("{item}\n")).collect())
}

/// Has rustdoc describe a crate; its JSON is not stable, so the compiler has to be told that we know.
fn describe(root: &Path, name: &str) -> Result<PathBuf> {
    let target = root.join("target/api");
    let status = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args([
            "rustdoc",
            "--quiet",
            "--locked",
            "--lib",
            "-p",
            name,
            "--target-dir",
        ])
        .arg(&target)
        .args([
            "--",
            "-Zunstable-options",
            "--output-format",
            "json",
            "--cap-lints",
            "allow",
        ])
        .env("RUSTC_BOOTSTRAP", "1")
        .env_remove("RUSTDOCFLAGS")
        .current_dir(root)
        .status()?;
    if !status.success() {
        bail!("rustdoc failed on {name}");
    }
    Ok(target
        .join("doc")
        .join(format!("{}.json", name.replace('-', "_"))))
}

/// Prints what went and what came, and counts them.
fn compare(name: &str, known: &str, now: &str) -> (usize, usize) {
    let lines = |text| std::collections::BTreeSet::from_iter(str::lines(text));
    let (known, now) = (lines(known), lines(now));
    for line in known.difference(&now) {
        println!("{name}: gone  {line}");
    }
    for line in now.difference(&known) {
        println!("{name}: new   {line}");
    }
    (
        known.difference(&now).count(),
        now.difference(&known).count(),
    )
}
