//! `ptxkit cfg`: control-flow graphs of functions.

use std::io::{IsTerminal, Write};
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use clap::ValueEnum;
use ptx_analysis::function_analysis::FunctionAnalysis;
use ptx_analysis::source_lines::SourceLines;
use ptx_ir::facts::ModuleFacts;
use ptx_ir::{LineIndex, Module};
use ptx_isa::Target;
use ptx_report::control_flow::{self, Details, Graph, Theme};
use ptx_report::sass::Disassembly;

use super::check::target;
use crate::assembler::{Assembler, Depth};
use crate::format::{FormatOptions, OutputFormat, of_extension};
use crate::functions::{Chosen, Functions};
use crate::input::{self, Files, Source};
use crate::output::{self, Out, Status};
use crate::replace::replace_file;

/// Draw the control-flow graph of functions
///
/// Blocks show their instructions; edges show the guard under which they are taken. The deeper a block is nested in loops, the
/// darker it is.
///
/// SVG and HTML have a layered layout with a rectangle around each loop; it takes O(n log n) time and O(n) space for n
/// blocks and edges. docs/control-flow.md describes it and the keys of the HTML page.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  ptxkit cfg kernel.ptx -o kernel.html               a page to explore all functions
  ptxkit cfg kernel.ptx --function main -o main.svg
  ptxkit cfg kernel.ptx --ptxas ptxas -o kernel.html with the machine code of each instruction
  ptxkit cfg kernel.ptx | dot -Tpdf > all.pdf
  ptxkit cfg --format mermaid kernel.ptx")]
pub(crate) struct Args {
    #[command(flatten)]
    files: Files,
    #[command(flatten)]
    functions: Functions,
    #[command(flatten)]
    format: FormatOptions<Format>,
    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Show at most this many instructions of a block in SVG and HTML, from its start and its end; 0 shows all
    #[arg(long, value_name = "N", default_value_t = 12)]
    instructions: usize,
    /// With HTML: also compile the files with this ptxas, and show the machine code of each instruction
    #[arg(long, value_name = "PATH")]
    ptxas: Option<PathBuf>,
    /// Read the machine code with this nvdisasm [default: the one beside ptxas, else the one on PATH]
    #[arg(long, value_name = "PATH", requires = "ptxas")]
    nvdisasm: Option<PathBuf>,
    /// The target that ptxas compiles for, instead of the one in the header
    #[arg(long, value_name = "sm_XX", value_parser = target, requires = "ptxas")]
    target: Option<Target>,
}

#[derive(Copy, Clone, PartialEq, Debug, ValueEnum)]
enum Format {
    /// A Graphviz graph for each function
    Dot,
    /// An SVG picture of one function
    Svg,
    /// A page with all functions, with zoom, search and collapsible loops; works offline
    Html,
    /// A Mermaid flowchart for each function
    Mermaid,
    /// One JSON object for each function
    Json,
}

/// The extensions of output files with the formats that they select.
const EXTENSIONS: [(&str, Format); 9] = [
    ("dot", Format::Dot),
    ("gv", Format::Dot),
    ("svg", Format::Svg),
    ("html", Format::Html),
    ("htm", Format::Html),
    ("mmd", Format::Mermaid),
    ("mermaid", Format::Mermaid),
    ("json", Format::Json),
    ("ndjson", Format::Json),
];

impl OutputFormat for Format {
    const JSON: Self = Self::Json;
    const HELP: &'static str =
        "Output format [default: that of the extension of --output, else dot]";
}

impl Format {
    fn is_picture(self) -> bool {
        matches!(self, Self::Svg | Self::Html)
    }
}

/// A graph, with details for pictures.
type Drawable = (Graph, Option<Details>);

pub(crate) fn run(args: &Args) -> Result<Status> {
    let chosen = match args.format.choice() {
        Some(format) => Some(format),
        None => of_extension(args.output.as_deref(), &EXTENSIONS)?,
    };
    let format = chosen.unwrap_or(Format::Dot);
    if format.is_picture() && args.output.is_none() && std::io::stdout().is_terminal() {
        bail!("standard output is a terminal: write the picture to a file with --output");
    }
    if args.ptxas.is_some() && format != Format::Html {
        bail!("machine code is only shown in pages: use --output FILE.html or --format html");
    }
    let mut out = Out::new();
    let mut status = Status::Ok;
    let inputs = args.files.list()?;
    let mut pictures: Vec<Drawable> = Vec::new();
    let mut text = Vec::new();
    let (mut count, mut used) = (0, Vec::new());
    let work = |source: Source| graphs(source, args, format);
    let emit = |out: &mut Out, graphs: Result<FileGraphs>| {
        let FileGraphs {
            graphs: source_graphs,
            chosen,
            refusal,
        } = graphs?;
        chosen.note(&mut used);
        if let Some(refusal) = &refusal {
            output::note(format_args!("ptxkit: no machine code of {refusal}"));
        }
        count += source_graphs.len();
        if format == Format::Svg && count > 1 {
            bail!("an SVG shows one function: choose it with --function");
        }
        if format.is_picture() {
            pictures.extend(source_graphs);
            return Ok(Status::of(refusal.is_some()));
        }
        for (graph, _) in source_graphs {
            write_text(&graph, format, &mut text)?;
        }
        if args.output.is_none() {
            out.write_all(&text)?;
            text.clear();
        }
        Ok(Status::Ok)
    };
    input::in_order(&inputs, &mut out, &mut status, work, emit)?;
    args.functions.check(&used)?;
    if format.is_picture() {
        if count == 0 && status == Status::Ok {
            bail!("no function with a body");
        }
        if count == 0 {
            return Ok(status);
        }
        text = draw(&pictures, format, args.instructions)?;
    }
    if count == 0 && status == Status::Ok {
        output::note(format_args!("ptxkit: no function with a body"));
    }
    match &args.output {
        Some(path) => replace_file(path, &text).with_context(|| format!("{}", path.display()))?,
        None => out.write_all(&text)?,
    }
    out.flush()?;
    Ok(status)
}

/// The graphs of the selected functions of a source.
struct FileGraphs {
    graphs: Vec<Drawable>,
    chosen: Chosen,
    /// Why ptxas does not compile the file.
    refusal: Option<String>,
}

fn graphs(source: Source, args: &Args, format: Format) -> Result<FileGraphs> {
    let module = ptx_parse::parse_with(source.bytes, &ptx_ir::Limits::default()).module;
    let facts = ModuleFacts::new(&module);
    let lines = SourceLines::new(&module);
    let chosen = args.functions.choose(&module);
    let (disassembly, refusal) = match disassemble(&module, args)? {
        Ok(disassembly) => (disassembly, None),
        Err(refusal) => (None, Some(format!("{}: {refusal}", source.name))),
    };
    let line_index = disassembly
        .as_ref()
        .map(|_| LineIndex::new(module.source()));
    let graphs = module
        .definitions()
        .filter(|(id, ..)| chosen.contains(*id))
        .filter_map(|(id, function, _)| Some((facts.function(id)?, function.name)))
        .map(|(facts, name)| {
            let analysis = FunctionAnalysis::new(facts);
            let graph = Graph::new(&source.name, &lines, &analysis, name);
            let mut details = format.is_picture().then(|| Details::new(&lines, &analysis));
            if let (Some(details), Some(disassembly), Some(line_index)) =
                (&mut details, &disassembly, &line_index)
            {
                details.add_machine_code(module.name(name), disassembly, line_index);
            }
            (graph, details)
        })
        .collect();
    Ok(FileGraphs {
        graphs,
        chosen,
        refusal,
    })
}

/// The machine code of a module, if ptxas is given; or why ptxas does not compile it.
fn disassemble(module: &Module, args: &Args) -> Result<Result<Option<Disassembly>, String>> {
    if args.ptxas.is_none() {
        return Ok(Ok(None));
    }
    let assembler = Assembler {
        ptxas: args.ptxas.clone(),
        nvdisasm: args.nvdisasm.clone(),
        target: args.target,
    };
    let header = module.header().target.map(Target::text);
    let assembled = assembler.assemble(header, module.source(), Depth::Code)?;
    Ok(assembled.map(|assembled| assembled.disassembly))
}

fn write_text(graph: &Graph, format: Format, out: &mut Vec<u8>) -> Result<()> {
    match format {
        Format::Mermaid => control_flow::mermaid(graph, out)?,
        Format::Json => {
            serde_json::to_writer(&mut *out, graph)?;
            out.push(b'\n');
        }
        _ => control_flow::dot(graph, out)?,
    }
    Ok(())
}

fn draw(graphs: &[Drawable], format: Format, max_insts: usize) -> Result<Vec<u8>> {
    let max_insts = match max_insts {
        0 => usize::MAX - 1,
        max_insts => max_insts,
    };
    let graphs = graphs
        .iter()
        .filter_map(|(graph, details)| Some((graph, details.as_ref()?)));
    let mut text = Vec::new();
    if format == Format::Html {
        control_flow::html(graphs, max_insts, &mut text)?;
        return Ok(text);
    }
    for (graph, details) in graphs {
        control_flow::svg(graph, details, max_insts, Theme::default(), &mut text)?;
    }
    Ok(text)
}
