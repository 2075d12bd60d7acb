//! `ptxkit callgraph`: call graphs.

use std::collections::HashSet;
use std::io::Write;

use anyhow::Result;
use clap::ValueEnum;
use ptx_analysis::calls::{CallGraph, Target};
use ptx_ir::facts::ModuleFacts;
use ptx_ir::{FuncId, FunctionKind, Module};
use serde::Serialize;

use crate::input::{self, Files, Source};
use crate::output::{Out, Status};
use crate::render::SCHEMA;

/// Draw the call graph of files
///
/// An indirect call may call every function whose address is taken, and functions of other modules; these are the node `*`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  ptxkit callgraph kernel.ptx | dot -Tsvg > calls.svg
  ptxkit callgraph --format json kernel.ptx")]
pub(crate) struct Args {
    #[command(flatten)]
    files: Files,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Dot)]
    format: Format,
}

#[derive(Copy, Clone, Debug, ValueEnum)]
enum Format {
    /// A Graphviz graph for each file
    Dot,
    /// One JSON object for each file
    Json,
}

#[derive(Serialize)]
struct Graph<'a> {
    schema: u32,
    file: &'a str,
    functions: Vec<Node<'a>>,
}

#[derive(Serialize)]
struct Node<'a> {
    name: &'a str,
    kind: &'static str,
    defined: bool,
    calls: Vec<&'a str>,
    indirect: bool,
    address_taken: bool,
    recursive: bool,
}

pub(crate) fn run(args: &Args) -> Result<Status> {
    let mut out = Out::new();
    let mut status = Status::Ok;
    let inputs = args.files.list(&mut status)?;
    let work = |source: Source| {
        let module = ptx_parse::parse_shared(source.bytes, &ptx_ir::Limits::default()).module;
        let graph = graph(&source.name, &module);
        let mut bytes = Vec::new();
        match args.format {
            Format::Dot => dot(&graph, &mut bytes),
            Format::Json => {
                let _ = serde_json::to_writer(&mut bytes, &graph);
                bytes.push(b'\n');
            }
        }
        bytes
    };
    input::in_order(&inputs, &mut out, &mut status, work, |out, bytes| {
        out.write_all(&bytes)?;
        Ok(Status::Ok)
    })?;
    out.flush()?;
    Ok(status)
}

fn graph<'a>(file: &'a str, module: &'a Module) -> Graph<'a> {
    let facts = ModuleFacts::new(module);
    let calls = CallGraph::new(&facts);
    let name = |id: FuncId| {
        module
            .functions()
            .get(id)
            .map_or("", |f| module.name(f.name))
    };
    let mut nodes = Vec::new();
    // All declarations of a function and its definition are one node.
    let mut known: HashSet<&str> = module.definitions().map(|(id, ..)| name(id)).collect();
    for (id, function) in module.functions().iter() {
        let mut of_function = Vec::new();
        let mut indirect = false;
        if function.body.is_none() && !known.insert(name(id)) {
            continue;
        }
        for target in calls.targets(id) {
            match target {
                Target::Function(to) => of_function.push(name(to)),
                _ => indirect = true,
            }
        }
        of_function.sort_unstable();
        of_function.dedup();
        nodes.push(Node {
            name: name(id),
            kind: match function.kind {
                FunctionKind::Entry => "entry",
                FunctionKind::Func => "func",
            },
            defined: function.body.is_some(),
            calls: of_function,
            indirect,
            address_taken: calls.is_address_taken(id),
            recursive: calls.is_recursive(id),
        });
    }
    Graph {
        schema: SCHEMA,
        file,
        functions: nodes,
    }
}

fn dot(graph: &Graph<'_>, out: &mut Vec<u8>) {
    let _ = writeln!(out, "digraph {:?} {{\n  node [shape=box]", graph.file);
    for node in &graph.functions {
        let mut style = Vec::new();
        if node.kind == "entry" {
            style.push("bold");
        }
        if !node.defined {
            style.push("dashed");
        }
        let _ = writeln!(out, "  {:?} [style=\"{}\"]", node.name, style.join(","));
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
