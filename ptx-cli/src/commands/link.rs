//! `ptxkit link`: one module from several.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use ptx_ir::Module;
use ptx_transform::{LinkDiagnostic, LinkOptions};

use super::rewrite::{self, Read};
use crate::input::Files;
use crate::output::{self, Out, Status};
use crate::render::clean;

/// Put several modules together
///
/// Names that one module declares `.extern` and another one defines become one; private names that clash get others. The
/// result has the highest version and the target that has what all others ask for. What nobody defines stays external.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  ptxkit link kernel.ptx library.ptx > whole.ptx
  ptxkit link -o whole.ptx parts/
  ptxkit link --hide helper kernel.ptx library.ptx")]
pub(crate) struct Args {
    #[command(flatten)]
    files: Files,
    /// Write the result into this file
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// A name that nothing outside the result needs: it loses its `.visible`
    #[arg(long, value_name = "NAME")]
    hide: Vec<String>,
}

pub(crate) fn run(args: &Args) -> Result<Status> {
    let mut read: Vec<Read> = Vec::new();
    let status = rewrite::each(&args.files, |_, one| {
        read.push(one);
        Ok(Status::Ok)
    })?;
    if status != Status::Ok {
        return Ok(status);
    }
    let modules: Vec<&Module> = read.iter().map(|r| &r.module).collect();
    let hide: Vec<&str> = args.hide.iter().map(String::as_str).collect();
    let (found, text) = match ptx_transform::link(&modules, &LinkOptions { hide: &hide }) {
        Ok(linked) => (linked.notes, Some(linked.text)),
        Err(found) => (found, None),
    };
    for diagnostic in &found {
        show(&read, diagnostic);
    }
    let Some(text) = text else {
        output::note("not linked");
        return Ok(Status::Findings);
    };
    match &args.output {
        Some(path) => fs::write(path, text)
            .with_context(|| format!("writing {}", clean(&path.to_string_lossy())))?,
        None => {
            let mut out = Out::new();
            out.write_all(&text)?;
            out.flush()?;
        }
    }
    Ok(Status::Ok)
}

/// A line for the place, one for each place in another file, and one for the help.
fn show(read: &[Read], found: &LinkDiagnostic) {
    let Some(file) = read.get(found.input) else {
        return;
    };
    output::note(file.report().short(&found.diagnostic));
    for place in &found.elsewhere {
        if let Some(file) = read.get(place.input) {
            let at = file.lines.position(place.span.start);
            output::note(format_args!(
                "{}:{}:{}: note: {}",
                file.source.name,
                at.line,
                at.column,
                clean(&place.message)
            ));
        }
    }
    if let Some(help) = &found.diagnostic.help {
        output::note(format_args!("  help: {}", clean(help)));
    }
}
