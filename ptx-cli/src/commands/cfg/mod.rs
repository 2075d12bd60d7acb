//! `ptxkit cfg`: control-flow graphs of functions.

mod dot;
mod layout;
mod mermaid;
mod model;
mod svg;

use std::io::Write;

use anyhow::{Result, bail};
use clap::ValueEnum;
use ptx_analysis::source_lines::SourceLines;
use ptx_ir::facts::ModuleFacts;

use crate::input::{self, Files, Source};
use crate::output::{Out, Status};
use model::Graph;

/// Draw the control-flow graph of functions
///
/// Blocks show their instructions, edges the guard under which they are taken. The deeper a block is nested in loops, the
/// darker it is.
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
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Dot)]
    format: Format,
}

#[derive(Copy, Clone, PartialEq, Debug, ValueEnum)]
enum Format {
    /// A Graphviz graph for each function
    Dot,
    /// An SVG picture of one function, of at most 2,000 blocks and 10,000 edges
    Svg,
    /// A Mermaid flowchart for each function
    Mermaid,
    /// One JSON object for each function
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
        let lines = SourceLines::new(&module);
        let wanted = |name: &str| function.is_none_or(|f| f == name);
        let functions = module
            .definitions()
            .filter(|(_, f, _)| wanted(module.name(f.name)));
        let functions = functions.filter_map(|(id, f, _)| Some((facts.function(id)?, f.name)));
        let graphs = functions.map(|(of, name)| Graph::new(&source.name, &lines, of, name));
        graphs.collect::<Vec<_>>()
    };
    input::in_order(&inputs, &mut out, &mut status, work, |out, graphs| {
        for graph in graphs {
            found += 1;
            match args.format {
                Format::Dot => dot::dot(&graph, out)?,
                Format::Mermaid => mermaid::mermaid(&graph, out)?,
                Format::Json => out.json(&graph)?,
                Format::Svg if found > 1 => {
                    bail!("an SVG shows one function: choose it with --function")
                }
                Format::Svg => svg::svg(&graph, out)?,
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
