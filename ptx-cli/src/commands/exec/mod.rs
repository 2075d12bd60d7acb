//! `ptxkit exec`: runs CUDA programs without a GPU.

#![cfg_attr(
    not(target_os = "linux"),
    allow(
        dead_code,
        unused_imports,
        reason = "the libraries exist on Linux only"
    )
)]

#[cfg(target_os = "linux")]
mod child;
#[cfg(target_os = "linux")]
mod libraries;
mod log;
pub(crate) mod ptxas;
pub(crate) mod report;
#[cfg(target_os = "linux")]
mod shared_object;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use clap::ValueEnum;
use ptx_report::demangle::FunctionPattern;
use ptx_vm::{Asynchrony, Checker};

use super::run::{asynchrony, seconds, size};
use crate::format::{FormatOptions, OutputFormat};
use crate::output::Status;

/// Run CUDA programs without a GPU
///
/// Starts a program with the CUDA driver and runtime libraries of ptxkit, which run its kernels on the virtual machine of `ptxkit run`. The program is not changed, and
/// its memory is that of the device. What checkers find, and errors of kernels, are printed at once, and together at the end.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  ptxkit exec -- python app.py
  ptxkit exec --check memcheck,racecheck -- ./program 1000
  ptxkit exec --format sarif --report findings.sarif -- python -m pytest tests

Exit status: that of the program; 1 if the program succeeded but there are findings; 2 usage error.")]
pub(crate) struct Args {
    /// The program and its arguments
    #[arg(value_name = "PROGRAM", trailing_var_arg = true, allow_hyphen_values = true, required_unless_present_any = ["libraries", "as_ptxas"])]
    command: Vec<OsString>,
    /// The compute capability of the device, such as 9.0 [default: 8.0]
    #[arg(long, value_name = "X.Y", value_parser = capability)]
    cc: Option<String>,
    /// Enable these checkers: memcheck, initcheck, synccheck, racecheck
    #[arg(long, value_name = "CHECKER", value_delimiter = ',')]
    check: Vec<Checker>,
    #[command(flatten)]
    format: FormatOptions<Format>,
    /// Write the report to this file instead of standard error
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Count the executions of instructions, and write the counts of all launches of each kernel to this file, as JSON
    #[arg(long, value_name = "FILE")]
    profile: Option<PathBuf>,
    /// Perform asynchronous operations of kernels at another time: `immediate`, `late`, `random:SEED`
    #[arg(long = "async", value_name = "TIME", value_parser = asynchrony)]
    asynchrony: Option<Asynchrony>,
    /// Run each launch in this many orders of CTAs and warps, the usual one last, whose results remain
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    schedules: Option<u32>,
    /// Go on after undefined behavior that GPUs tolerate, such as member masks without the lane, and report it. Enables synccheck
    #[arg(long)]
    permissive: bool,
    /// Write each launch to a directory in this one, with its memory, as a script for `ptxkit run`
    #[arg(long, value_name = "DIR")]
    record: Option<PathBuf>,
    /// The directory for the libraries is this one, and no program is run: print the environment variables that programs need
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    libraries: Option<PathBuf>,
    /// The path of libptx_cuda.so [default: beside this program, or in `../lib/ptxkit`]
    #[arg(long, value_name = "FILE")]
    library: Option<PathBuf>,
    #[cfg(target_os = "linux")]
    #[command(flatten)]
    changes: libraries::Changes,
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    limits: Limits,
    /// Behave as ptxas
    #[arg(long, hide = true)]
    as_ptxas: bool,
}

/// The launches that are inspected.
#[derive(Debug, clap::Args)]
#[command(
    next_help_heading = "Launches that are checked, profiled, recorded and run in several orders"
)]
struct Selection {
    /// Only those of kernels with this name or pattern
    #[arg(long, value_name = "NAME")]
    only: Vec<FunctionPattern>,
    /// Not those of kernels with this name or pattern
    #[arg(long, value_name = "NAME")]
    skip: Vec<FunctionPattern>,
    /// The first N of each kernel
    #[arg(long, value_name = "N")]
    first: Option<u64>,
}

/// What the program may use.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Limits")]
struct Limits {
    /// The memory of the device in bytes [default: 16G]
    #[arg(long, value_name = "BYTES", value_parser = size)]
    max_memory: Option<u64>,
    /// End a launch after this many seconds [default: no limit]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    timeout: Option<Duration>,
    /// The number of multiprocessors [default: 16]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    multiprocessors: Option<u32>,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug, Default, ValueEnum)]
pub(crate) enum Format {
    /// A line for each finding
    #[default]
    #[value(alias = "human", alias = "short")]
    Text,
    /// One JSON object
    Json,
    /// A SARIF 2.1.0 log, which code scanning services read
    Sarif,
}

impl OutputFormat for Format {
    const JSON: Self = Self::Json;
    const HELP: &'static str = "Format of the report [default: text]";
}

/// Checks a compute capability.
fn capability(text: &str) -> Result<String, String> {
    let is_known = text.split_once('.').is_some_and(|(major, minor)| {
        minor.len() == 1
            && format!("sm_{major}{minor}")
                .parse::<ptx_isa::Target>()
                .is_ok()
    });
    if is_known {
        Ok(text.to_owned())
    } else {
        Err("expected a compute capability such as 8.0 or 9.0".to_owned())
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn run(_: &Args) -> Result<Status> {
    anyhow::bail!(
        "`exec` needs Linux: programs find the libraries of ptxkit in the way of its loader"
    )
}

#[cfg(target_os = "linux")]
pub(crate) fn run(args: &Args) -> Result<Status> {
    if args.as_ptxas {
        return ptxas::run(&args.command);
    }
    let library = libraries::find(args.library.as_deref())?;
    if let Some(folder) = &args.libraries {
        return write_libraries(args, folder, &library);
    }
    let folder = libraries::TemporaryFolder::new()?;
    let mut variables = libraries::write(folder.path(), &library, &args.changes)?;
    let logs = folder.path().join("reports");
    std::fs::create_dir(&logs)?;
    variables.extend(args.variables());
    variables.push(("PTXKIT_CUDA_REPORT", logs.clone().into()));
    let status = child::number(child::run(&args.command, &variables)?);
    let log = log::Log::read(&logs)?;
    args.write_report(&log, status)?;
    Ok(match status {
        0 => Status::of(!log.causes.is_empty()),
        other => Status::Program(other),
    })
}

/// Writes the libraries to a folder, and prints the variables for a shell.
#[cfg(target_os = "linux")]
fn write_libraries(
    args: &Args,
    folder: &std::path::Path,
    library: &std::path::Path,
) -> Result<Status> {
    use std::io::Write as _;

    std::fs::create_dir_all(folder)?;
    let folder = std::fs::canonicalize(folder)?;
    let mut variables = libraries::write(&folder, library, &args.changes)?;
    variables.extend(args.variables());
    let mut out = crate::output::Out::new();
    for (name, value) in variables {
        writeln!(out, "export {name}={}", libraries::quoted(&value))?;
    }
    out.flush()?;
    Ok(Status::Ok)
}

impl Args {
    /// The environment variables that configure the library.
    fn variables(&self) -> Vec<(&'static str, OsString)> {
        let list = |patterns: &[FunctionPattern]| {
            let lines: Vec<String> = patterns.iter().map(ToString::to_string).collect();
            (!lines.is_empty()).then(|| lines.join("\n"))
        };
        let names: Vec<String> = self.check.iter().map(ToString::to_string).collect();
        let number = |number: Option<u64>| number.map(|number| number.to_string());
        let values = [
            ("PTXKIT_CUDA_CC", self.cc.clone()),
            (
                "PTXKIT_CUDA_CHECK",
                (!names.is_empty()).then(|| names.join(",")),
            ),
            (
                "PTXKIT_CUDA_ASYNC",
                self.asynchrony.map(|time| time.to_string()),
            ),
            (
                "PTXKIT_CUDA_SCHEDULES",
                number(self.schedules.map(u64::from)),
            ),
            (
                "PTXKIT_CUDA_PROFILE",
                self.profile.as_ref().map(|_| "1".to_owned()),
            ),
            (
                "PTXKIT_CUDA_PERMISSIVE",
                self.permissive.then(|| "1".to_owned()),
            ),
            (
                "PTXKIT_CUDA_RECORD",
                self.record
                    .as_ref()
                    .map(|path| path.to_string_lossy().into_owned()),
            ),
            ("PTXKIT_CUDA_ONLY", list(&self.selection.only)),
            ("PTXKIT_CUDA_SKIP", list(&self.selection.skip)),
            ("PTXKIT_CUDA_FIRST", number(self.selection.first)),
            ("PTXKIT_CUDA_MEMORY", number(self.limits.max_memory)),
            (
                "PTXKIT_CUDA_TIMEOUT",
                self.limits
                    .timeout
                    .map(|time| time.as_secs_f64().to_string()),
            ),
            (
                "PTXKIT_CUDA_MULTIPROCESSORS",
                number(self.limits.multiprocessors.map(u64::from)),
            ),
        ];
        values
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?.into())))
            .collect()
    }

    /// Writes the findings and the profiles, and a summary to standard error.
    fn write_report(&self, log: &log::Log, status: u8) -> Result<()> {
        use std::fs::File;
        use std::io::{self, BufWriter, Write};

        use anyhow::Context as _;

        let create = |path: &PathBuf| {
            let file = File::create(path).with_context(|| path.display().to_string())?;
            anyhow::Ok(BufWriter::new(file))
        };
        let command = self
            .command
            .iter()
            .map(|word| word.to_string_lossy().into_owned());
        let command = command.collect();
        let format = self.format.format();
        match &self.report {
            Some(path) => {
                let mut file = create(path)?;
                report::write(&mut file, log, format, command, status)?;
                file.flush()?;
            }
            None => report::write(&mut io::stderr().lock(), log, format, command, status)?,
        }
        if let Some(path) = &self.profile {
            let mut file = create(path)?;
            report::write_profile(&mut file, log)?;
            file.flush()?;
            for line in report::profile_lines(log) {
                crate::output::success(format_args!("ptxkit: {line}"));
            }
        }
        if log.processes > 0 {
            crate::output::success(report::summary(log));
        }
        Ok(())
    }
}
