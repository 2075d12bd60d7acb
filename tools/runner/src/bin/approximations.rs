//! Records the results of each approximate instruction for all inputs, on the GPU of this machine. `README.md` describes the files.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use clap::Parser;
use ptx_isa::Target;
use runner::approximations::{Approximation, Table, record};
use runner::{Abilities, Device, VirtualMachine};

#[derive(Parser)]
#[command(about = "Records what approximate instructions return for all inputs")]
struct Args {
    /// The folder for the files
    #[arg(long)]
    out: Option<PathBuf>,
    /// Only instructions whose names contain this
    #[arg(long, default_value = "")]
    only: String,
    /// Only inputs of 32 bits whose lowest bits are zero: how many bits
    #[arg(long, default_value_t = 0)]
    skip: u32,
    /// Record the results of the virtual machine instead of those of a GPU
    #[arg(long)]
    ptx_vm: bool,
    /// The target of kernels for the virtual machine
    #[arg(long, default_value = "sm_90")]
    target: String,
    /// Lists the instructions
    #[arg(long)]
    list: bool,
    /// Reads files, and computes the hashes of all their results again
    #[arg(long, num_args = 1..)]
    check: Vec<PathBuf>,
}

fn main() -> Result<ExitCode> {
    let args = Args::parse();
    if !args.check.is_empty() {
        return check(&args.check);
    }
    let gpu = if args.ptx_vm { None } else { runner::gpu()? };
    let device: &dyn Device = match &gpu {
        Some(gpu) => &**gpu,
        None if args.ptx_vm => &VirtualMachine,
        None => return Ok(ExitCode::FAILURE),
    };
    let target: Target = args.target.parse().ok().context("an unknown target")?;
    let abilities = Abilities::of(device, target)?;
    let mut approximations = Approximation::all(abilities.version, abilities.target);
    approximations.retain(|a| a.name.contains(&args.only));
    if args.list {
        approximations.iter().for_each(|a| println!("{}", a.name));
        return Ok(ExitCode::SUCCESS);
    }
    let Some(out) = &args.out else {
        bail!("give a folder for the files: --out DIR");
    };
    fs::create_dir_all(out)?;
    println!(
        "{}, driver {}, {abilities:?}",
        device.name(),
        device.driver()
    );
    for approximation in &approximations {
        record_file(device, abilities, approximation, args.skip, out)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Records one instruction and writes its file.
fn record_file(
    device: &dyn Device,
    abilities: Abilities,
    approximation: &Approximation,
    skip: u32,
    out: &Path,
) -> Result<()> {
    let start = Instant::now();
    let name = &approximation.name;
    let table = record(device, abilities, approximation, skip).with_context(|| name.clone())?;
    let path = out.join(format!("{}.{name}.approx", abilities.target));
    let bytes = table.to_bytes();
    fs::write(&path, &bytes).with_context(|| path.display().to_string())?;
    println!(
        "{name} {:016x}, {} bytes, {:.1} s",
        table.hash(),
        bytes.len(),
        start.elapsed().as_secs_f64()
    );
    Ok(())
}

fn check(files: &[PathBuf]) -> Result<ExitCode> {
    let mut code = ExitCode::SUCCESS;
    for path in files {
        let bytes = fs::read(path).with_context(|| path.display().to_string())?;
        let table = Table::from_bytes(&bytes).with_context(|| path.display().to_string())?;
        match table.check()? {
            Ok(()) => println!("{}: all results have their hashes", path.display()),
            Err(block) => {
                println!("{}: the results of block {block} are wrong", path.display());
                code = ExitCode::FAILURE;
            }
        }
    }
    Ok(code)
}
