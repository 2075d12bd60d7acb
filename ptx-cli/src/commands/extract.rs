//! `ptxkit extract`: some functions of a file with all they need, or the rest of it.

use std::io::Write;

use anyhow::{Result, bail};
use ptx_ir::Module;
use ptx_transform::{ExtractError, Extracted};

use super::rewrite;
use crate::input::Files;
use crate::output::{self, Status};

/// Write some functions of a file with all they need, and nothing else
///
/// What they call and mention stays, directly or through variables and aliases, with its comments; every byte that stays is
/// what it was. The result goes to standard output.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  ptxkit extract --kernel axpy library.ptx > axpy.ptx
  ptxkit extract --kernel axpy --kernel dot library.ptx

In two parts that `ptxkit link` puts together again:
  ptxkit extract --kernel axpy --linkable library.ptx > part.ptx
  ptxkit extract --kernel axpy --rest library.ptx > rest.ptx
  ptxkit link part.ptx rest.ptx > library.ptx")]
pub(crate) struct Args {
    #[command(flatten)]
    files: Files,
    /// A kernel or function by its name in the file
    #[arg(long, required = true, value_name = "NAME")]
    kernel: Vec<String>,
    /// Make visible what the rest of the file needs, too, so that this part can be linked with it
    #[arg(long)]
    linkable: bool,
    /// Everything else; what it shares with the kernels is external
    #[arg(long, conflicts_with = "linkable")]
    rest: bool,
}

pub(crate) fn run(args: &Args) -> Result<Status> {
    let mut status = Status::Ok;
    let inputs = args.files.list(&mut status)?;
    if inputs.len() > 1 {
        bail!("one file at a time: the result is one module");
    }
    rewrite::each_of(&inputs, status, |out, read| {
        match part(&read.module, args) {
            Ok(part) => {
                for note in &part.notes {
                    output::note(read.report().short(note));
                }
                out.write_all(&part.rewritten.text)?;
                Ok(Status::Ok)
            }
            Err(error) => {
                output::note(format_args!("ptxkit: {}: {error}", read.source.name));
                Ok(Status::UsageError)
            }
        }
    })
}

fn part(module: &Module, args: &Args) -> Result<Extracted, ExtractError> {
    let names: Vec<&str> = args.kernel.iter().map(String::as_str).collect();
    if !args.rest && !args.linkable {
        return ptx_transform::extract(module, &names);
    }
    let split = ptx_transform::split(module, &names)?;
    if args.rest {
        return Ok(split.rest);
    }
    if !split.exported.is_empty() {
        let names = split.exported.join(" --hide ");
        output::note(format_args!(
            "ptxkit: made visible: after linking, take it back with --hide {names}"
        ));
    }
    Ok(split.part)
}
