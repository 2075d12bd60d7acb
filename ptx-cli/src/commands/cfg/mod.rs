//! `ptxkit cfg`: the control-flow graph of functions, to look at.

mod dot;
mod layout;
mod model;
mod svg;

use std::io::Write;

use anyhow::{Result, bail};
use clap::ValueEnum;
use ptx_ir::facts::ModuleFacts;

use crate::input::{self, Files, Source};
use crate::output::{Out, Status};
use model::Picture;

/// Draw the control-flow graph of functions
///
/// Each block shows its instructions, each edge the guard under which it is taken. Blocks of loops are shaded, the
/// darker the deeper.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  ptxkit cfg kernel.ptx --function main --format svg > main.svg
  ptxkit cfg kernel.ptx | dot -Tpdf > all.pdf
  ptxkit cfg --format mermaid kernel.ptx")]
pub(crate) struct Args {
    #[command(flatten)]
    files: Files,
    /// Only the function of this name
    #[arg(long, value_name = "NAME")]
    function: Option<String>,
    /// What to write
    #[arg(long, value_enum, default_value_t = Format::Dot)]
    format: Format,
}

#[derive(Copy, Clone, PartialEq, Debug, ValueEnum)]
enum Format {
    /// For Graphviz, a graph for each function
    Dot,
    /// A picture of one function
    Svg,
    /// For Markdown
    Mermaid,
    /// One object for each function
    Json,
}

pub(crate) fn run(args: &Args) -> Result<Status> {
    let mut out = Out::new();
    let mut status = Status::Ok;
    let inputs = args.files.list(&mut status)?;
    let mut found = 0;
    let function = args.function.as_deref();
    let work = |source: Source| {
        let module = ptx_parse::parse_shared(source.bytes, &ptx_ir::Limits::default()).module;
        let facts = ModuleFacts::new(&module);
        let wanted = |name: &str| function.is_none_or(|f| f == name);
        let functions = module
            .definitions()
            .filter(|(_, f, _)| wanted(module.name(f.name)));
        let functions = functions.filter_map(|(id, f, _)| Some((facts.function(id)?, f.name)));
        let pictures = functions.map(|(of, name)| Picture::new(&source.name, &module, of, name));
        pictures.collect::<Vec<_>>()
    };
    input::in_order(&inputs, &mut out, &mut status, work, |out, pictures| {
        for picture in pictures {
            found += 1;
            match args.format {
                Format::Dot => dot::dot(&picture, out)?,
                Format::Mermaid => dot::mermaid(&picture, out)?,
                Format::Json => out.json(&picture)?,
                Format::Svg if found > 1 => {
                    bail!("an SVG shows one function: name it with --function")
                }
                Format::Svg => svg::svg(&picture, out)?,
            }
        }
        Ok(Status::Ok)
    })?;
    if let (0, Some(name)) = (found, function) {
        bail!("no function {name:?} with a body");
    }
    out.flush()?;
    Ok(status)
}
