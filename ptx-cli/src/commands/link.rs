//! `ptxkit link`: combines several modules into one.

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

/// Link several modules into one
///
/// External declarations are resolved, and private names that conflict are renamed. The result has the highest PTX version
/// and a target that supports all inputs. Undefined names stay external.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  ptxkit link kernel.ptx library.ptx > whole.ptx
  ptxkit link -o whole.ptx parts/
  ptxkit link --hide helper kernel.ptx library.ptx")]
pub(crate) struct Args {
    #[command(flatten)]
    files: Files,
    /// Write the result to this file
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Remove `.visible` from this name, which is not used outside of the result
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
    let (found, text) = match ptx_transform::link(&modules, &LinkOptions::new().with_hidden(&hide))
    {
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

/// Writes a diagnostic: a line for its location, one for each location in another file, and one for the help.
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
