//! `cargo oracle bench`: the speed of parsing and printing, with that of ptxas, other crates and plain copying.

mod assembler;
mod column;
mod memory;
mod others;
mod report;
mod table;
mod timing;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};

use crate::shared::Shared;
use column::Column;

/// Arguments of `cargo oracle bench`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Shorter measurements, texts up to 50 MB
    #[arg(long)]
    quick: bool,
    /// Also a text of 400 MB (takes 3 GB of memory)
    #[arg(long)]
    huge: bool,
    /// Do not build and measure other crates (building them takes minutes)
    #[arg(long)]
    no_others: bool,
}

pub(crate) fn run(args: &Args, shared: &Shared) -> Result<()> {
    if cfg!(debug_assertions) {
        return rerun_optimized();
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .context("the workspace")?;
    let target = target_folder()?;
    let assemblers = shared.assemblers("COMPARISON WITH PTXAS")?;
    let others = match args.no_others {
        false => others::Others::build(root, &target.join("bench-others")),
        true => None,
    };
    let folder = tempfile::tempdir_in(&target)?;
    let mut columns = Vec::new();
    for input in texts(args)? {
        let path = folder.path().join(format!("{}.ptx", input.name));
        fs::write(&path, &input.text)?;
        columns.push(Column::new(input, path));
    }
    let paths: Vec<PathBuf> = columns.iter().map(|c| c.path.clone()).collect();
    let memory = memory::count(root, &target, &paths)?;
    let budget = Duration::from_millis(if args.quick { 200 } else { 1500 });
    let start_up = match assemblers {
        Some(a) => assembler::start_up(a, budget)?,
        None => None,
    };
    // Two rounds, so that lasting noise affects at most one.
    for _ in 0..2 {
        for column in &mut columns {
            column.measure(budget, assemblers, others.as_ref())?;
        }
    }
    report::print(&columns, &memory, assemblers, start_up);
    if let Some(others) = others.filter(|_| !args.quick) {
        report::print_coverage(root, &others, budget)?;
    }
    Ok(())
}

/// Runs an optimized build of this program.
fn rerun_optimized() -> Result<()> {
    let status = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()))
        .args(["run", "--release", "--quiet", "--package", "oracle", "--"])
        .args(std::env::args_os().skip(1))
        .status()?;
    if !status.success() {
        bail!("the optimized build failed");
    }
    Ok(())
}

/// Where this program was built.
fn target_folder() -> Result<PathBuf> {
    let program = std::env::current_exe()?;
    let target = program.parent().and_then(Path::parent);
    Ok(target.context("the target folder")?.to_owned())
}

fn texts(args: &Args) -> Result<Vec<::bench::Input>> {
    let mut texts = ::bench::all();
    let large = texts.last().context("no files to measure")?;
    let (file, text) = (large.file.clone(), large.text.clone());
    let sizes = [
        ("50 MB", 50, true),
        ("100 MB", 100, !args.quick),
        ("200 MB", 200, !args.quick),
    ];
    let sizes = sizes.into_iter().chain([("400 MB", 400, args.huge)]);
    for (name, millions, wanted) in sizes {
        if wanted {
            let text = ::bench::repeated(&text, millions * 1_000_000);
            texts.push(::bench::Input {
                name,
                file: file.clone(),
                text,
            });
        }
    }
    Ok(texts)
}
