//! `cargo xtask codegen`: the tables of ptx-isa, then the documents and the builder's methods, which are generated from
//! the compiled tables.
//!
//! Should the tables not compile, `cargo run -p ptx-codegen` generates them without building any library.

use std::path::Path;

use anyhow::{Context as _, Result};
use ptx_codegen::Mode;

/// Arguments of `cargo xtask codegen`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Write nothing; fail when a generated file is out of date
    #[arg(long)]
    check: bool,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let mode = if args.check { Mode::Check } else { Mode::Write };
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .context("the workspace of xtask")?;
    if ptx_codegen::run(mode)? {
        return run_with_new_tables();
    }
    crate::docs::pages::emit(root, mode)?;
    let docs = root.join("docs");
    crate::docs::generate(&docs)?.finish(&docs, mode)?;
    crate::docs::generate_isa()?.finish(&docs.join("isa"), mode)?;
    crate::editors::emit(root, mode)?;
    crate::builder::generate()?.finish(&root.join("ptx-build/src/generated"), mode)?;
    Ok(())
}

/// Compiles the new tables and runs the command a second time.
fn run_with_new_tables() -> Result<()> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = std::process::Command::new(cargo)
        .args(["run", "--quiet", "--package", "xtask", "--", "codegen"])
        .status()
        .context("starting cargo")?;
    anyhow::ensure!(status.success(), "the second pass failed");
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn generated_files_are_up_to_date() {
        super::run(&super::Args { check: true }).unwrap();
    }
}
