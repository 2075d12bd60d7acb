//! Turns `ptx-isa/isa/*.isa` into the tables under `ptx-isa/src/generated/`, and tables and pages into the documents
//! under `docs/`.

mod condition;
mod dead_defs;
mod diagnostics;
mod emit_forms;
mod emit_vocabulary;
#[cfg(test)]
mod example;
mod naming;
mod notation;
mod output;
mod perfect_hash;
mod read_block;
mod read_statement;
mod resolve;
mod resolve_rules;
mod rows;
mod source;
mod tables;
#[cfg(test)]
mod tests;
mod vocabulary;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};

use emit_forms::Counts;
pub(crate) use output::Output;
use source::Line;
use vocabulary::Vocabulary;

/// Arguments of `cargo xtask codegen`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Write nothing; fail when a generated file is not what the .isa files and pages say
    #[arg(long)]
    check: bool,
}

const VOCABULARY: &[&str] = &[
    "types.isa",
    "targets.isa",
    "registers.isa",
    "directives.isa",
    "modifiers.isa",
];

pub(crate) fn run(args: &Args) -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .context("the workspace of xtask")?;
    let (output, counts) = generate(&root.join("ptx-isa/isa"))?;
    let folder = root.join("ptx-isa/src/generated");
    let changed = output.finish(&folder, args.check)?;
    output.prune(&folder, args.check)?;
    diagnostics::emit(root, args.check)?;
    println!("{counts}");
    #[cfg(feature = "libraries")]
    if changed {
        // The documents are made from the compiled tables, and this program holds the old ones.
        return again();
    } else {
        let documents = crate::docs::generate()?;
        documents.finish(&root.join("docs"), args.check)?;
        let builder = crate::builder::generate()?;
        let folder = root.join("ptx-build/src/generated");
        builder.finish(&folder, args.check)?;
        builder.prune(&folder, args.check)?;
    }
    #[cfg(not(feature = "libraries"))]
    if changed {
        println!("`cargo xtask codegen` brings the documents up to date");
    }
    Ok(())
}

/// The tables that a folder of `.isa` files stands for.
pub(crate) fn generate(isa: &Path) -> Result<(Output, Counts)> {
    let read = |name: &str| -> Result<Vec<Line>> {
        let path = isa.join(name);
        let text =
            fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
        Ok(source::lines(&format!("ptx-isa/isa/{name}"), &text))
    };
    let mut vocabulary = Vocabulary::default();
    for name in VOCABULARY {
        vocabulary.read(&read(name)?)?;
    }
    vocabulary.finish()?;

    let mut names = Vec::new();
    for entry in fs::read_dir(isa)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name.ends_with(".isa") && !VOCABULARY.contains(&name.as_str()) {
            names.push(name);
        }
    }
    names.sort();
    let mut families = Vec::new();
    for name in &names {
        families.push(read_block::read(
            name.trim_end_matches(".isa"),
            &read(name)?,
        )?);
    }
    let blocks = families.iter().flat_map(|f| &f.blocks);
    let opcodes: BTreeSet<&str> = blocks
        .flat_map(|b| &b.names)
        .map(|name| name.split('.').next().unwrap_or_default())
        .collect();
    let opcodes: Vec<String> = opcodes.into_iter().map(str::to_string).collect();

    let mut output = Output::default();
    emit_vocabulary::emit(&vocabulary, &opcodes, &mut output)?;
    let mut counts = emit_forms::emit(&vocabulary, &families, &opcodes, &mut output)?;
    output.add_index();
    counts.opcodes = opcodes.len();
    Ok((output, counts))
}

/// Runs codegen once more, with what was generated compiled in.
#[cfg(feature = "libraries")]
fn again() -> Result<()> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = std::process::Command::new(cargo)
        .args(["run", "--quiet", "--package", "xtask", "--", "codegen"])
        .status()
        .context("starting cargo")?;
    anyhow::ensure!(status.success(), "the second pass failed");
    Ok(())
}
