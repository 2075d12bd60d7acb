//! `ptxkit link`: combines several modules into one.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use ptx_ir::Module;
use ptx_transform::{LinkDiagnostic, LinkOptions};

use super::rewrite::{self, Read};
use crate::demangle::{self, Wanted};
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
    /// Remove `.visible` from this name, mangled or demangled, which is not used outside of the result
    #[arg(long, value_name = "NAME")]
    hide: Vec<Wanted>,
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
    let names = modules.iter().flat_map(|m| {
        let symbols = m.symbols().values();
        symbols.map(|s| m.name(s.name))
    });
    let names: Vec<&str> = names.collect();
    let mut hide = Vec::new();
    for name in &args.hide {
        let found = name.among(names.iter().copied())?;
        if found.is_empty() {
            bail!("--hide: no name `{name}`");
        }
        hide.extend(found);
    }
    let (mut found, text) =
        match ptx_transform::link(&modules, &LinkOptions::new().with_hidden(&hide)) {
            Ok(linked) => (linked.notes, Some(linked.text)),
            Err(found) => (found, None),
        };
    found.sort_by_key(|d| (d.input, d.diagnostic.span.start));
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
                clean(&demangle::in_message(&place.message))
            ));
        }
    }
    if let Some(help) = &found.diagnostic.help {
        output::note(format_args!(
            "  help: {}",
            clean(&demangle::in_message(help))
        ));
    }
}
