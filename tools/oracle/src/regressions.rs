//! `cargo oracle regressions`: the failures of nightly runs, which are filed in `tools/conformance/regressions`.
//!
//! A text on which the verifier and ptxas disagreed is a file; any other comparison is a line of `comparisons.tsv` with its seed and command.

use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use clap::Parser as _;

use crate::outcome::judge;
use crate::shared::Shared;

/// The most texts that one failed comparison files.
const TEXTS: usize = 20;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../conformance/regressions")
}

fn comparisons() -> PathBuf {
    folder().join("comparisons.tsv")
}

/// Checks the texts and repeats the comparisons.
pub(crate) fn run(shared: &Shared) -> Result<()> {
    let Some(assemblers) = shared.assemblers("REGRESSIONS")? else {
        return Ok(());
    };
    let mut paths: Vec<PathBuf> = fs::read_dir(folder())?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<_>>()?;
    paths.retain(|path| path.extension().is_some_and(|e| e == "ptx"));
    paths.sort();
    let mut failed = 0;
    for path in &paths {
        let outcome = judge(assemblers, &fs::read(path)?)?;
        if !outcome.crashed && outcome.accepted_by_verifier != outcome.accepted_by_ptxas {
            println!("{}: {}", path.display(), outcome.reason);
            failed += 1;
        }
    }
    let text = fs::read_to_string(comparisons()).context("reading comparisons.tsv")?;
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    for line in &lines {
        let (seed, command) = line
            .split_once('\t')
            .context("a line is a seed and a command")?;
        println!("== {command}, seed {seed}");
        let words = ["oracle", "--seed", seed]
            .into_iter()
            .chain(command.split(' '));
        let arguments = crate::Arguments::try_parse_from(words)?;
        if let Err(error) = crate::run(&arguments.command, &Shared::new(&arguments.shared)?) {
            println!("FAILED: {error:#}");
            failed += 1;
        }
    }
    println!("{} texts and {} comparisons", paths.len(), lines.len());
    if failed > 0 {
        bail!("{failed} failures");
    }
    Ok(())
}

/// Files a comparison that failed, if failures are filed.
pub(crate) fn file_comparison(shared: &Shared, command: &str) -> Result<()> {
    if !shared.files_failures() {
        return Ok(());
    }
    let line = format!("{}\t{command}", shared.seed());
    let mut text = fs::read_to_string(comparisons()).context("reading comparisons.tsv")?;
    if !text.lines().any(|filed| filed == line) {
        text += &line;
        text.push('\n');
        fs::write(comparisons(), text)?;
    }
    Ok(())
}

/// Files texts on which the verifier and ptxas disagree, if failures are filed.
pub(crate) fn file_texts<'t>(
    shared: &Shared,
    name: &str,
    texts: impl Iterator<Item = &'t [u8]>,
) -> Result<()> {
    if !shared.files_failures() {
        return Ok(());
    }
    for text in texts.take(TEXTS) {
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        fs::write(
            folder().join(format!("{name}-{:016x}.ptx", hasher.finish())),
            text,
        )?;
    }
    Ok(())
}
