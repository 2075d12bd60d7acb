//! `ptxkit sass`: machine code beside PTX and source lines.

pub(crate) mod json;
mod side;
mod text;

use std::io::Write as _;
use std::path::PathBuf;

use anyhow::Result;
use clap::ValueEnum;
use ptx_ir::Limits;
use ptx_isa::Target;

use super::check::target;
use super::source::files::{Search, Sources};
use super::source::listing::Listing;
use crate::assembler::{Assembler, Depth};
use crate::format::{FormatOptions, TextOrJson};
use crate::functions::Functions;
use crate::input::{self, Files};
use crate::output::{self, Out, Status};
use side::Side;

/// Print PTX beside the machine code (SASS) that ptxas makes from it
///
/// Compiles each file with ptxas and disassembles the result with nvdisasm; both are in the CUDA toolkit, and on PyPI in the packages
/// nvidia-cuda-nvcc and nvidia-cuda-nvdisasm. A GPU is not needed. Each machine instruction is beside the PTX instruction that it comes from,
/// below the source line of that instruction. Sources are searched as by `ptxkit source`. docs/sass.md explains the output.
#[derive(Debug, clap::Args)]
#[command(mut_arg("json", |arg| arg.help("Write one JSON object per file; the same as --format json")))]
#[command(after_help = "\
Examples:
  ptxkit sass --ptxas /usr/local/cuda/bin/ptxas kernel.ptx
  ptxkit sass --ptxas ptxas --function 'gemm*' --by sass kernel.ptx
  ptxkit sass --ptxas ptxas --target sm_90a --json kernel.ptx | jq '.functions[].sass.local'")]
pub(crate) struct Args {
    #[command(flatten)]
    files: Files,
    #[command(flatten)]
    functions: Functions,
    /// The ptxas that compiles the files
    #[arg(long, value_name = "PATH", required = true)]
    ptxas: PathBuf,
    /// The nvdisasm that reads the machine code [default: the one beside ptxas, else the one on PATH]
    #[arg(long, value_name = "PATH")]
    nvdisasm: Option<PathBuf>,
    /// The target that ptxas compiles for, instead of the one in the header
    #[arg(long, value_name = "sm_XX", value_parser = target)]
    target: Option<Target>,
    /// The order of the output
    #[arg(long, value_enum, default_value_t = By::Ptx)]
    by: By,
    #[command(flatten)]
    search: Search,
    #[command(flatten)]
    format: FormatOptions<TextOrJson>,
}

#[derive(Copy, Clone, PartialEq, Debug, ValueEnum)]
enum By {
    /// In the order of the PTX file, each instruction with the machine instructions that come from it
    Ptx,
    /// In the order of the machine code, each instruction with the PTX instruction that it comes from
    Sass,
}

pub(crate) fn run(args: &Args) -> Result<Status> {
    let mut out = Out::new();
    let mut status = Status::Ok;
    let inputs = args.files.list()?;
    let assembler = Assembler {
        ptxas: Some(args.ptxas.clone()),
        nvdisasm: args.nvdisasm.clone(),
        target: args.target,
    };
    let mut sources = Sources::new(&args.search);
    let mut used = Vec::new();
    input::one_by_one(&inputs, &mut out, &mut status, |out, source| {
        let module = ptx_parse::parse_with(source.bytes.clone(), &Limits::default()).module;
        let chosen = args.functions.choose(&module);
        chosen.note(&mut used);
        let header = module.header().target.map(Target::text);
        let assembled = match assembler.assemble(header, module.source(), Depth::Code)? {
            Ok(assembled) => assembled,
            Err(refusal) => {
                out.flush()?;
                output::note(format_args!("{}: {refusal}", source.name));
                return Ok(Status::Findings);
            }
        };
        let mut listing = Listing::new(&module, &chosen);
        sources.enter(source.origin.file(), std::mem::take(&mut listing.embedded));
        let side = Side::new(&module, &listing, &assembled);
        if args.format.is_json() {
            let target = assembler.target_of(header).ok();
            out.json(&json::file(&source.name, target, &side))?;
        } else {
            match args.by {
                By::Ptx => text::by_ptx(&side, &mut sources, out)?,
                By::Sass => text::by_sass(&side, &mut sources, out)?,
            }
            text::messages(&side, out)?;
        }
        Ok(Status::Ok)
    })?;
    args.functions.check(&used)?;
    out.flush()?;
    sources.note_missing();
    Ok(status)
}
