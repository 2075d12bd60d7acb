//! `ptxkit callgraph`: call graphs.

pub(crate) mod model;
mod tree;

use std::io::Write;

use anyhow::Result;
use clap::ValueEnum;
use ptx_ir::FunctionKind;

use crate::format::{FormatOptions, OutputFormat};
use crate::input::{self, Files, Source};
use crate::output::{self, Out, Status};
use model::Graph;

/// Show the call graph
///
/// The tree starts with the kernels, followed by the functions without callers. The calls of a function are shown once; `…`
/// marks further occurrences. An indirect call may call the functions of its list, or else any function whose address is taken,
/// and functions of other modules. In the format dot, these are the node `*`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  ptxkit callgraph kernel.ptx
  ptxkit callgraph --format dot kernel.ptx | dot -Tsvg > calls.svg
  ptxkit callgraph --format json kernel.ptx")]
pub(crate) struct Args {
    #[command(flatten)]
    files: Files,
    #[command(flatten)]
    format: FormatOptions<Format>,
}

#[derive(Copy, Clone, Debug, Default, ValueEnum)]
enum Format {
    /// A tree with the callees below each function
    #[default]
    #[value(alias = "text")]
    Tree,
    /// A Graphviz graph for each file
    Dot,
    /// One JSON object for each file
    Json,
}

impl OutputFormat for Format {
    const JSON: Self = Self::Json;
    const HELP: &'static str = "Output format [default: tree]";
}

pub(crate) fn run(args: &Args) -> Result<Status> {
    let mut out = Out::new();
    let mut status = Status::Ok;
    let inputs = args.files.list()?;
    let work = |source: Source| {
        let module = ptx_parse::parse_with(source.bytes, &ptx_ir::Limits::default()).module;
        let graph = Graph::new(&source.name, &module);
        let mut bytes = Vec::new();
        match args.format.format() {
            Format::Tree => tree::write(&graph, &mut bytes),
            Format::Dot => dot(&graph, &mut bytes),
            Format::Json => {
                let _ = serde_json::to_writer(&mut bytes, &graph);
                bytes.push(b'\n');
            }
        }
        let is_empty = graph.functions.is_empty();
        (bytes, is_empty.then(|| source.name.clone()))
    };
    input::in_order(
        &inputs,
        &mut out,
        &mut status,
        work,
        |out, (bytes, empty)| {
            out.write_all(&bytes)?;
            if let Some(name) = empty {
                out.flush()?;
                output::note(format_args!("ptxkit: {name}: no functions"));
            }
            Ok(Status::Ok)
        },
    )?;
    out.flush()?;
    Ok(status)
}

fn dot(graph: &Graph<'_>, out: &mut Vec<u8>) {
    let _ = writeln!(out, "digraph {:?} {{\n  node [shape=box]", graph.file);
    for node in &graph.functions {
        let mut style = Vec::new();
        if *node.kind == FunctionKind::Entry {
            style.push("bold");
        }
        if !node.defined {
            style.push("dashed");
        }
        let label = match &node.demangled {
            Some(name) => format!(", label={name:?}"),
            None => String::new(),
        };
        let _ = writeln!(
            out,
            "  {:?} [style=\"{}\"{label}]",
            node.name,
            style.join(",")
        );
        for callee in &node.calls {
            let _ = writeln!(out, "  {:?} -> {callee:?}", node.name);
        }
        if node.indirect {
            let _ = writeln!(out, "  {:?} -> \"*\" [style=dashed]", node.name);
        }
        if node.address_taken {
            let _ = writeln!(out, "  \"*\" -> {:?} [style=dashed]", node.name);
        }
    }
    let _ = writeln!(out, "}}");
}
