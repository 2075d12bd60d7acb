//! `ptxkit clean`: what a module does not need goes, what it says in a roundabout way is said plainly.

use std::io::Write;

use anyhow::Result;
use ptx_transform::clean::{Options, Pass};

use super::rewrite::{self, Read};
use crate::input::Files;
use crate::output::{Out, Status};
use crate::render::clean;

/// Remove dead and unreachable code, fold constants, read copies where they come from, name the space of generic addresses
///
/// Without a choice all of it is done, again and again until nothing changes. Every byte that is not part of a changed statement stays.
/// The result goes to standard output.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  ptxkit clean kernel.ptx > cleaned.ptx
  ptxkit clean --dead --copies kernel.ptx | ptxkit check -
  ptxkit clean --explain kernel.ptx          what would change, and why")]
pub(crate) struct Args {
    #[command(flatten)]
    files: Files,
    /// Remove what computes values that nobody reads
    #[arg(long)]
    dead: bool,
    /// Write numbers in the place of what always makes them; guards that are always true or false go
    #[arg(long)]
    fold: bool,
    /// Read copies of registers where they come from
    #[arg(long)]
    copies: bool,
    /// Remove code that control never reaches, and labels that nothing mentions
    #[arg(long)]
    unreachable: bool,
    /// Name the state space of generic addresses whose origin is known
    #[arg(long)]
    spaces: bool,
    /// List every change with its line and reason instead of writing the file
    #[arg(long)]
    explain: bool,
}

impl Args {
    fn options(&self) -> Options {
        let chosen = |pass: &Pass| match pass {
            Pass::Dead => self.dead,
            Pass::Fold => self.fold,
            Pass::Copies => self.copies,
            Pass::Unreachable => self.unreachable,
            Pass::Spaces => self.spaces,
            _ => false,
        };
        let mut options = Options::default();
        if options.passes.iter().any(chosen) {
            options.passes.retain(chosen);
        }
        options
    }
}

pub(crate) fn run(args: &Args) -> Result<Status> {
    let options = args.options();
    rewrite::each(&args.files, |out, read| {
        one(out, read, &options, args.explain)
    })
}

fn one(out: &mut Out, mut read: Read, options: &Options, explain: bool) -> Result<Status> {
    let report = ptx_transform::clean::clean(&mut read.module, options);
    if !explain {
        out.write_all(&ptx_print::verbatim(&read.module))?;
        return Ok(Status::Ok);
    }
    let (name, bytes) = (&read.source.name, &*read.source.bytes);
    let mut changes: Vec<_> = report.changes.iter().collect();
    changes.sort_by_key(|c| c.span.start);
    for change in changes {
        let line = read.lines.position(change.span.start).line;
        let text = String::from_utf8_lossy(change.span.of(bytes));
        let text: Vec<&str> = text.split_whitespace().collect();
        let (pass, why) = (change.pass, &change.why);
        writeln!(
            out,
            "{name}:{line}: {}: {pass}: {why}",
            clean(&text.join(" "))
        )?;
    }
    Ok(Status::Ok)
}
